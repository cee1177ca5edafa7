"""The providers behind memsrv."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol


class ModelList(Protocol):
    """What a provider tells of its models."""

    @property
    def name(self) -> str:
        """The provider's."""
        ...

    async def windows(self) -> Mapping[str, int]:
        """Context windows in tokens by the name of the model, of those that it tells. Raises UpstreamDown."""
        ...


class Reply(Protocol):
    """What an upstream answers, as it answers it."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Those that are for the client, by their names in lower case."""
        ...

    def content(self) -> AsyncIterator[bytes]:
        """The body, piece by piece as it comes. Raises UpstreamDown where it breaks off."""
        ...

    async def close(self) -> None:
        """Let go of it, read or not; the upstream then stops."""
        ...


class Upstream(Protocol):
    """An endpoint that requests are passed on to unchanged."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str:
        """The model that is asked where a request names none; may be empty."""
        ...

    async def ask(self, body: Mapping[str, Any]) -> Reply:
        """The answer to a chat completion request, whatever its status, once its headers are there. Raises UpstreamDown."""
        ...

    async def models(self) -> list[dict[str, Any]]:
        """What it lists, each with its `id`. Raises UpstreamDown."""
        ...
