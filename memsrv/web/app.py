"""The app: routes, edge and failures around one runtime."""

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi_offline import FastAPIOffline

from memsrv import __version__
from memsrv.web import failures, handoff, mcp, messages, ops, prompts, proxy, sessions, summaries, transfer, upkeep, usage
from memsrv.web.edge import Edge
from memsrv.web.metrics import Metrics
from memsrv.wiring import Runtime


def create_app(runtime: Runtime) -> FastAPI:
    """The server as an ASGI app over parts that are open already."""
    settings, metrics = runtime.settings, Metrics()
    door = mcp.Door(access=runtime.access, max_body_bytes=settings.max_body_bytes)
    app = FastAPIOffline(
        title="memsrv",
        version=__version__,
        summary="A memory server for chat assistants.",
        redirect_slashes=False,
        redoc_url=None,
        lifespan=door.opened,
    )
    app.state.runtime, app.state.metrics = runtime, metrics
    for part in (messages, prompts, usage, summaries, handoff, sessions, transfer, proxy):
        app.include_router(part.router)
    app.include_router(ops.router)
    app.include_router(upkeep.router)
    app.router.routes.append(mcp.DoorRoute(door))
    if runtime.faults is not None:
        app.add_api_route("/_faults", ops.put_faults, methods=["PUT"], include_in_schema=False)
    failures.install(app)
    app.add_middleware(
        Edge,
        access=runtime.access,
        any_host=settings.allow_open,
        max_body_bytes=settings.max_body_bytes,
        metrics=metrics,
        rate_per_minute=settings.rate_per_minute,
        origins=settings.cors_origins,
    )
    if settings.cors_origins:  # outside of the edge: a browser asks first, without the key
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["*"],
            allow_headers=["authorization", "content-type", "idempotency-key"],
            expose_headers=["retry-after", "x-request-id", "x-context-mode", "x-context-tokens", "x-context-receipt"],
        )
    return app
