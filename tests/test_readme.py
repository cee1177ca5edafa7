"""The README says only what is true."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memsrv import errors
from memsrv.settings import Settings, shown, variable

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
NOT_OVER_HTTP = (
    errors.SettingsError,
    errors.CannotStart,
    errors.KeyNotFound,
    errors.EmbedderDown,
    errors.IndexDown,
    errors.SessionMoved,
)


def table(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading."""
    section = README.split(f"\n## {heading}\n")[1]
    lines = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def kinds(root: type[errors.MemsrvError]) -> Iterator[type[errors.MemsrvError]]:
    for kind in root.__subclasses__():
        if not issubclass(kind, NOT_OVER_HTTP):
            yield kind
            yield from kinds(kind)


def test_every_setting_is_told_with_its_default_and_meaning():
    told = {name: (default, meaning) for name, default, meaning in table("Settings")}
    expected = {}
    for name, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True)
        value = "" if default is None else shown(default)
        expected[f"`{variable(name)}`"] = (f"`{value}`" if value else "", field.description)
    assert told == expected


def test_every_error_is_told_with_its_status():
    told = {code: status for code, status, _ in table("Errors")}
    assert told == {f"`{kind.code}`": str(kind.status) for kind in kinds(errors.MemsrvError)}


async def test_every_route_is_told(http):
    told = {route.strip("`") for route, _ in table("Routes")}
    paths = (await http.get("/openapi.json")).json()["paths"]
    assert told == {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


async def test_the_example_works(http):
    posted, asked = re.findall(r"curl -s '?http://127\.0\.0\.1:8000([^\s']+)", README)[:2]
    body = re.search(r"-d '(\{.*?\})'", README)[1]
    stored = await http.post(f"{posted}?wait_ms=30000", content=body, headers={"content-type": "application/json"})
    assert stored.status_code == 201
    prompt = (await http.get(asked)).json()
    assert "blue flowerpot" in prompt["messages"][-1]["content"]


@pytest.mark.parametrize("path", re.findall(r"\]\((?!http)([^)#]+)\)", README))
def test_links_lead_somewhere(path):
    assert (Path(__file__).parent.parent / path).exists()


def test_files_named_in_the_source_tour_exist():
    tour = README.split("## How to read the source")[1]
    for name in re.findall(r"`((?:memsrv|web|services|core|adapters|tests)/[\w/.]*)`", tour):
        root = Path(__file__).parent.parent
        assert (root / name).exists() or (root / "memsrv" / name).exists(), name
