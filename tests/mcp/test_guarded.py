"""What breaks in our own code, met through the SDK's client in this process."""

import pytest
from mcp import Client, MCPError

from memsrv.mcp.serving import server


def broken(request):
    raise RuntimeError("the password is swordfish")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_breaks_is_told_without_its_text(mode):
    async with Client(server(broken), mode=mode) as client:
        with pytest.raises(MCPError, match="Something went wrong") as told:
            await client.call_tool("list_pins", {"session": "x"})
        assert "swordfish" not in str(told.value)
