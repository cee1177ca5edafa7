"""The app: routes, edge and failures around one runtime."""

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from memsrv import __version__
from memsrv.web import failures, handoff, mcp, messages, ops, prompts, sessions, summaries, transfer, upkeep, usage
from memsrv.web.edge import Edge
from memsrv.web.metrics import Metrics
from memsrv.wiring import Runtime


def create_app(runtime: Runtime) -> FastAPI:
    """The server as an ASGI app over parts that are open already."""
    settings, metrics = runtime.settings, Metrics()
    keys = {tenant: key.get_secret_value() for tenant, key in settings.keys.items()}
    any_host = settings.allow_open or bool(keys)
    door = mcp.Door(keyed=bool(keys), any_host=any_host, max_body_bytes=settings.max_body_bytes)
    app = FastAPIOffline(
        title="memsrv",
        version=__version__,
        summary="A memory server for chat assistants.",
        redirect_slashes=False,
        redoc_url=None,
        lifespan=door.opened,
    )
    app.state.runtime, app.state.metrics = runtime, metrics
    for part in (messages, prompts, usage, summaries, handoff, sessions, transfer):
        app.include_router(part.router)
    app.include_router(ops.router)
    app.include_router(upkeep.router)
    app.router.routes.append(mcp.DoorRoute(door))
    if runtime.faults is not None:
        app.add_api_route("/_faults", ops.put_faults, methods=["PUT"], include_in_schema=False)
    failures.install(app)
    app.add_middleware(Edge, keys=keys, any_host=any_host, max_body_bytes=settings.max_body_bytes, metrics=metrics)
    return app
