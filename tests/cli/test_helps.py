"""What the command line tells of itself."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from memsrv.cli import app
from tests.patience import PATIENCE_S

WITHOUT_JSON = {"serve", "chat", "mcp", "export"}
"""These talk or write a format of their own."""
WIDTH = 80


def commands(group: TyperGroup, path: str = "") -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield f"{path}{name}", command
        if isinstance(command, TyperGroup):
            yield from commands(command, f"{path}{name} ")


def all_of_them() -> dict[str, Any]:
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    return dict(commands(root))


@pytest.mark.parametrize("name", all_of_them())
def test_every_command_and_option_says_what_it_is_for(name):
    command = all_of_them()[name]
    assert command.help
    helps = {one.name: getattr(one, "help", None) for one in command.params}
    assert all(helps.values()), helps


def test_every_command_that_answers_answers_in_json():
    ends = {name: command for name, command in all_of_them().items() if not isinstance(command, TyperGroup)}
    assert {name for name, one in ends.items() if "--json" not in [text for p in one.params for text in p.opts]} == WITHOUT_JSON


@pytest.mark.parametrize("group", ["", "keys", "eval"])
def test_no_line_of_an_overview_is_cut(group):
    words = [sys.executable, "-m", "memsrv", *group.split(), "--help"]
    shown = subprocess.run(
        words, capture_output=True, text=True, timeout=PATIENCE_S, check=True, env={"COLUMNS": str(WIDTH)}
    ).stdout
    assert "..." not in shown.partition("Commands:")[2]


def test_a_command_loads_nothing_that_only_the_server_needs():
    asked = "import sys, memsrv.cli; print([name for name in sys.argv[1:] if name in sys.modules])"
    words = [sys.executable, "-c", asked, "memsrv.cli.asking", "memsrv.evaluate", "memsrv.core.guard", "chromadb", "fastapi"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "['memsrv.cli.asking']\n"


def test_a_shell_can_be_taught_the_commands():
    shown = subprocess.run(
        [sys.executable, "-m", "memsrv", "--help"], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    ).stdout
    assert "--install-completion" in shown
