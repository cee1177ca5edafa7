"""The page of promises names tests that are there."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "promises.md").read_text(encoding="utf-8")
ROWS = [row for row in re.findall(r"^\|(.*)\|$", PAGE, re.MULTILINE) if not re.match(r"-|\s*promise\b", row)]
NAMED = re.findall(r"`([^`]+\.py)::([^`]+)`", PAGE)


def names_in(path: str) -> set[str]:
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("path", sorted({path for path, _ in NAMED}))
def test_every_test_that_is_named_is_there(path):
    named = {name for other, name in NAMED if other == path}
    assert named <= names_in(path)
    assert all(name.startswith("test_") for name in named)


def test_every_promise_names_a_test():
    assert len(ROWS) > 40
    assert [row for row in ROWS if "::test_" not in row] == []
