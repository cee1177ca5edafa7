"""The list of models of an OpenAI-compatible server, for the context windows that many tell in it.

Neither key, header nor address stands in an error; retries and limits are those of `openai_http`.
"""

import httpx

from memsrv.adapters.openai_http import Endpoint, EndpointError
from memsrv.core.prompt.windows import listed
from memsrv.core.relay.providers import Provider
from memsrv.errors import UpstreamDown

TIMEOUT_S = 20.0


class OpenAIModels:
    """ports.ModelList over HTTP, one for each provider. `name` is the provider's."""

    def __init__(self, provider: Provider, *, wait_s: float = 0.5, transport: httpx.AsyncBaseTransport | None = None):
        self.name = provider.name
        self._endpoint = Endpoint(
            provider.base_url,
            name=f"The provider {provider.name}",
            key=provider.api_key,
            headers=provider.headers,
            timeout_s=min(provider.timeout_s, TIMEOUT_S),
            wait_s=wait_s,
            transport=transport,
        )

    async def windows(self) -> dict[str, int]:
        """The windows that the list tells, in tokens by the name of the model; those it does not tell are not in it. Raises
        UpstreamDown."""
        try:
            return await self._endpoint.get("models", listed)
        except EndpointError as error:
            raise UpstreamDown(error.message) from None

    async def close(self) -> None:
        await self._endpoint.close()
