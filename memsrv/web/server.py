"""Run the app: bind, tell where, serve until told to stop, close in order."""

import asyncio
import contextlib
import gc
import ipaddress
import signal
import socket
import sys
from collections.abc import Iterator

import structlog
import uvicorn

from memsrv.errors import CannotStart, SettingsError
from memsrv.memory import bound_arenas
from memsrv.ports import Embedder
from memsrv.settings import Settings
from memsrv.web.app import create_app
from memsrv.web.logs import configure
from memsrv.wiring import opened
from memsrv.wiring.vendors import access_for

SWITCH_S = 0.001  # a request waits no longer for the indexer's Python to let go (the interpreter's own 5 ms add up)
DRAIN_S = 10  # requests in hand may take so long after SIGTERM
LAST_WORDS_S = 5  # and those that are cut off then, to store what had come
GARBAGE = 50_000  # objects made, less those let go, until Python looks for cycles among them
KEEP_ALIVE_S = 75  # longer than clients keep an idle connection: who closes first must not cross with the next request


class Server(uvicorn.Server):
    """uvicorn, with the signals left to us: the parts are closed after it has stopped, before the process ends."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for what in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(what, self.handle_exit, what, None)
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if cut_off := set(self.server_state.tasks):
            await asyncio.wait(cut_off, timeout=LAST_WORDS_S)


async def run(settings: Settings, *, embedder: Embedder | None = None) -> None:
    """Serve until SIGTERM or SIGINT, with the embedder that is given, if one is. Raises CannotStart (also DataDirLocked) or
    SettingsError."""
    configure(settings.log_format, settings.log_level)
    sys.setswitchinterval(SWITCH_S)
    bound_arenas()
    wanted = access_for(settings).wanted
    refuse_open_door(settings, keys=wanted)
    with bound(settings.host, settings.port) as listener:
        async with opened(settings, embedder=embedder) as runtime:
            config = uvicorn.Config(
                create_app(runtime),
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=DRAIN_S,
                timeout_keep_alive=KEEP_ALIVE_S,
                server_header=False,
            )
            address = address_of(listener)
            keys = "keys are wanted" if wanted else "no keys, open" if settings.allow_open else "no keys, loopback only"
            structlog.get_logger().info("listening", url=address, data_dir=str(settings.data_dir), access=keys)
            page = "" if wanted else f"; API page {address}/docs"
            place = "PostgreSQL" if settings.database_url.get_secret_value() else settings.data_dir
            print(f"memsrv listens on {address} ({keys}); data in {place}{page}", file=sys.stderr)
            spare_collections()
            await Server(config).serve(sockets=[listener])


def spare_collections() -> None:
    """Look for garbage in cycles less often, and not among what lives as long as the server: with Python's own thresholds it is
    looked for some dozen times while a prompt is made, which costs a tenth of its time."""
    gc.freeze()
    gc.set_threshold(GARBAGE, *gc.get_threshold()[1:])


def refuse_open_door(settings: Settings, *, keys: bool) -> None:
    """Beyond loopback only with keys, or when asked for by name."""
    if keys or settings.allow_open or is_loopback(settings.host):
        return
    raise SettingsError(
        f"Listening on {settings.host} without keys would let anyone in.",
        "Make one with 'memsrv keys create' or set MEMSRV_KEYS; or MEMSRV_ALLOW_OPEN=true if something else guards the port.",
    )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bound(host: str, port: int) -> socket.socket:
    """A listening socket, or CannotStart."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # named TCP, or asyncio leaves Nagle's algorithm on and every second answer waits 40 ms for an acknowledgement
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise CannotStart(
            f"Cannot listen on {host}:{port}: {error.strerror}.", "Choose another one with --port or --host."
        ) from None
    return listener


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
