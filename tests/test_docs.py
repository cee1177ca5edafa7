"""What the documents for users show works as it stands, against a real server."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memsrv.client.blocking import Session, Verb, Walk
from memsrv.mcp.resources import RESOURCES
from memsrv.mcp.tools import TOOLS

ROOT = Path(__file__).parent.parent
ADDRESS = "http://127.0.0.1:8000"


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def examples() -> list[str]:
    """The Python of the README and of docs/client.md."""
    section = text_of("README.md").split("\n## From Python\n")[1].split("\n## ")[0]
    lines = [line.removeprefix("    ") for line in section.splitlines() if not line or line.startswith("    ")]
    return ["\n".join(lines), *re.findall(r"```python\n(.*?)```", text_of("docs/client.md"), re.DOTALL)]


@pytest.mark.parametrize("example", examples(), ids=lambda example: re.sub(r"\W+", " ", example)[:60])
def test_an_example_runs(open_server, example):
    code = example.replace(ADDRESS, open_server.address)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_every_tool_and_resource_is_told():
    mcp = text_of("docs/mcp.md")
    assert set(re.findall(r"^\| `(\w+)` \|", mcp, re.MULTILINE)) == set(TOOLS)
    assert set(re.findall(r"^\| `(memsrv://\S+)` \|", mcp, re.MULTILINE)) == {one.uri("{session}") for one in RESOURCES}
    for name, arguments in re.findall(r"^\| `(\w+)` \| (.*?) ?\|", mcp, re.MULTILINE):
        assert set(re.findall(r"`(\w+)`", arguments)) == set(TOOLS[name].asked.model_fields)


def test_every_call_of_a_session_is_told():
    told = set(re.findall(r"`(\w+)\(", text_of("docs/client.md").split("## A session's calls")[1].split("\n## ")[0]))
    assert {name for name, verb in vars(Session).items() if isinstance(verb, Verb | Walk)} <= told


@pytest.mark.parametrize("name", ["README.md", "docs/mcp.md"])
def test_a_configuration_for_mcp_clients_is_json(name):
    snippets = re.findall(r'^ *\{\s*"mcpServers".*?(?:\n\}|\}\}\}$)', text_of(name), re.DOTALL | re.MULTILINE)
    assert len(snippets) == 2
    for snippet in snippets:
        (entry,) = json.loads(snippet)["mcpServers"].values()
        assert entry.get("command", "memsrv") == "memsrv"
