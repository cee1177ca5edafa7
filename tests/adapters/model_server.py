"""A small server on loopback that lists models as it is told."""

from collections.abc import Callable

from tests.loopback import Handling, Loopback

Answer = tuple[int, bytes]


class ModelServer(Loopback):
    """Answers every GET as it is told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: Callable[[], Answer] = lambda: (200, b"{}")
        self.asked: list[tuple[str, str, str]] = []
        super().__init__(self._handler())

    def _handler(self) -> type[Handling]:
        server = self

        class Handler(Handling):
            def do_GET(self) -> None:
                server.asked.append((self.path, self.headers.get("authorization", ""), self.headers.get("x-team", "")))
                status, body = server.answers()
                self.whole(status, body)

        return Handler
