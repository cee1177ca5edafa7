"""Changing settings in place."""

from collections.abc import Mapping
from typing import Any


def merged(old: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """`old` with `change` put over it, level by level; a null takes its key out."""
    result = dict(old)
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping):
            before = result.get(name)
            result[name] = merged(before if isinstance(before, Mapping) else {}, value)
        else:
            result[name] = value
    return result
