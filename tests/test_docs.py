"""What the documents for users show works as it stands, against a real server."""

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from memsrv.cli import app
from memsrv.client.methods import Methods, Verb, Walk
from memsrv.mcp.resources import RESOURCES
from memsrv.mcp.tools import TOOLS
from memsrv.settings import Settings, variable
from memsrv.web.proxy import complete
from tests.adapters.upstream_server import UpstreamServer
from tests.served import Served

ROOT = Path(__file__).parent.parent
PAGES = sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))
ADDRESS = "http://127.0.0.1:8000"


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def examples() -> list[str]:
    """The Python of the README and of docs/client.md."""
    section = text_of("README.md").split("\n## From Python\n")[1].split("\n## ")[0]
    lines = [line.removeprefix("    ") for line in section.splitlines() if not line or line.startswith("    ")]
    return ["\n".join(lines), *re.findall(r"```python\n(.*?)```", text_of("docs/client.md"), re.DOTALL)]


def recipes() -> list[str]:
    return re.findall(r"```python\n(.*?)```", text_of("docs/recipes.md"), re.DOTALL)


@pytest.mark.parametrize("example", examples(), ids=lambda example: re.sub(r"\W+", " ", example)[:60])
def test_an_example_runs(open_server, example):
    code = example.replace(ADDRESS, open_server.address)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def proxying(tmp_path_factory) -> Iterator[Served]:
    """A server in front of a scripted upstream."""
    upstream = UpstreamServer()
    served = Served(tmp_path_factory.mktemp("recipes"), MEMSRV_UPSTREAM_URL=upstream.url)
    yield served
    served.stop()
    upstream.close()


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: re.sub(r"\W+", " ", recipe)[:60])
def test_a_recipe_runs(proxying, recipe):
    code = recipe.replace(ADDRESS, proxying.address)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["README.md", *PAGES])
def test_settings_and_commands_that_are_named_exist(name):
    text = text_of(name)
    settings = set(re.findall(r"\bMEMSRV_(?!TEST_)[A-Z_]+\b", text))
    assert settings <= {variable(field) for field in Settings.model_fields}
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    commands = re.findall(r"(?:^ {4}|`|\b[A-Z_]+=\S+ )memsrv ((?!serve\b)[a-z]+)", text, re.MULTILINE)
    assert set(commands) <= set(root.list_commands(None))


def test_headers_that_recipes_name_are_those_that_the_proxy_reads():
    told = set(re.findall(r"\bx-memory-[a-z]+\b", text_of("docs/recipes.md")))
    assert {"x-memory-session"} < told
    assert told <= {name.replace("_", "-") for name in inspect.signature(complete).parameters}


def test_every_tool_and_resource_is_told():
    mcp = text_of("docs/mcp.md")
    assert set(re.findall(r"^\| `(\w+)` \|", mcp, re.MULTILINE)) == set(TOOLS)
    assert set(re.findall(r"^\| `(memsrv://\S+)` \|", mcp, re.MULTILINE)) == {one.uri("{session}") for one in RESOURCES}
    for name, arguments in re.findall(r"^\| `(\w+)` \| (.*?) ?\|", mcp, re.MULTILINE):
        assert set(re.findall(r"`(\w+)`", arguments)) == set(TOOLS[name].asked.model_fields)


def test_every_call_of_a_session_is_told():
    told = set(re.findall(r"`(\w+)\(", text_of("docs/client.md").split("## A session's calls")[1].split("\n## ")[0]))
    assert {name for name, verb in vars(Methods).items() if isinstance(verb, Verb | Walk)} <= told


@pytest.mark.parametrize("name", ["README.md", "docs/mcp.md"])
def test_a_configuration_for_mcp_clients_is_json(name):
    snippets = re.findall(r'^ *\{\s*"mcpServers".*?(?:\n\}|\}\}\}$)', text_of(name), re.DOTALL | re.MULTILINE)
    assert len(snippets) == 2
    for snippet in snippets:
        (entry,) = json.loads(snippet)["mcpServers"].values()
        assert entry.get("command", "memsrv") == "memsrv"
