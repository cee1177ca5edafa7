"""Named OpenAI-compatible endpoints, as MEMSRV_PROVIDERS tells them.

(1) `${NAME}` in a base URL, a key or a header is what the environment says; what it says is not looked into again.
(2) An error names the provider, the field and the variable, never a value.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from memsrv.errors import BadRequest, SettingsError

SETTING = "MEMSRV_PROVIDERS"
HINT = 'Write it as a JSON object: {"name": {"base_url": "https://host/v1", "api_key": "${VARIABLE}", "model": "..."}}.'
FIELDS = ("base_url", "api_key", "headers", "model", "timeout_s")
TIMEOUT_S = 120.0
LONGEST_TIMEOUT_S = 3600.0

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
REFERENCE = re.compile(r"\$\{([^}]*)\}?")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SENDABLE = re.compile(r"[\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class Provider:
    """An endpoint. `base_url` has its `/v1`; `model` is taken where none is named; `headers` go with every request."""

    name: str
    base_url: str
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    model: str = ""
    timeout_s: float = TIMEOUT_S


def providers(value: str | Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Provider]:
    """The providers by name, references resolved. Raises SettingsError; nothing given is no provider."""
    given = read(value) if isinstance(value, str) else value
    return {name: provider(name, fields, environ) for name, fields in given.items()}


def chosen(known: Mapping[str, Provider], name: object) -> Provider:
    """The provider of this name, as a session's settings give it; BadRequest with the names there are."""
    if isinstance(name, str) and name in known:
        return known[name]
    names = ", ".join(sorted(known)) or "none"
    raise BadRequest("There is no provider of this name.", f"Providers of this server: {names}; they are set in {SETTING}.")


def read(value: str) -> Mapping[str, Any]:
    """The setting as an object, in which no name stands twice."""
    if not value.strip():
        return {}
    try:
        given = json.loads(value, object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise SettingsError(f"{SETTING} is no JSON.", HINT) from None
    if not isinstance(given, dict):
        raise SettingsError(f"{SETTING} is no JSON object.", HINT)
    return given


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dict; a name that stands twice would hide what it said first."""
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SettingsError(f"{SETTING}: {twice[:64]!r} stands there twice.", HINT)
    return dict(pairs)


def provider(name: str, fields: object, environ: Mapping[str, str]) -> Provider:
    """One provider, checked."""
    if not NAME.fullmatch(name):
        raise SettingsError(f"{SETTING}: a name has 1 to 64 letters, digits, dots, dashes or underscores.", HINT)
    if not isinstance(fields, Mapping):
        raise wrong(name, "is no JSON object")
    refuse_unknown(name, fields)
    return Provider(
        name=name,
        base_url=base_url(name, resolved(name, "base_url", fields.get("base_url"), environ)),
        api_key=sendable(name, "api_key", resolved(name, "api_key", fields.get("api_key"), environ)),
        headers=headers(name, fields.get("headers"), environ),
        model=text(name, "model", fields.get("model")),
        timeout_s=seconds(name, fields.get("timeout_s")),
    )


def refuse_unknown(name: str, fields: Iterable[str]) -> None:
    for unknown in fields:
        if unknown not in FIELDS:
            near = get_close_matches(unknown, FIELDS, n=1)
            raise wrong(name, f"has no field {unknown[:64]!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def resolved(name: str, where: str, value: object, environ: Mapping[str, str]) -> str:
    """A text with its references replaced. A variable that is not set, or empty, is an error: a key would be missing."""

    def said(reference: re.Match[str]) -> str:
        if not (reference[0].endswith("}") and VARIABLE.fullmatch(reference[1])):
            raise wrong(name, f"has a reference in {where!r} that is not of the form ${{NAME}}")
        if not (found := environ.get(reference[1], "").strip()):
            raise wrong(
                name,
                f"takes {where!r} from the environment variable {reference[1]}, which is not set",
                f"Set {reference[1]} for the server's process, or write the value into {SETTING}.",
            )
        return found

    return REFERENCE.sub(said, text(name, where, value))


def text(name: str, where: str, value: object) -> str:
    """A text without blanks around it; nothing given is empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise wrong(name, f"has a {where!r} that is no text")
    return value.strip()


def base_url(name: str, url: str) -> str:
    """An address that requests can go to; secrets have a field of their own."""
    if not url:
        raise wrong(name, "has no 'base_url'")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or not SENDABLE.fullmatch(url) or " " in url:
        raise wrong(name, "has a 'base_url' that is no http:// or https:// address")
    if parts.username is not None or parts.password is not None:
        raise wrong(name, "has a name or password in its 'base_url'; a key belongs into 'api_key' or 'headers'")
    if parts.query or parts.fragment:
        raise wrong(name, "has a query or fragment in its 'base_url'")
    return url.rstrip("/")


def headers(name: str, given: object, environ: Mapping[str, str]) -> dict[str, str]:
    """Headers that HTTP can carry."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise wrong(name, "has 'headers' that are no JSON object")
    if any(not isinstance(header, str) or not HEADER.fullmatch(header) for header in given):
        raise wrong(name, "has a header with a name that HTTP does not know")
    return {
        header: sendable(name, f"headers.{header}", resolved(name, f"headers.{header}", value, environ))
        for header, value in given.items()
    }


def sendable(name: str, where: str, value: str) -> str:
    """A text that may stand in a header."""
    if not SENDABLE.fullmatch(value):
        raise wrong(name, f"has a {where!r} with characters that no header can hold")
    return value


def seconds(name: str, value: object) -> float:
    """A time limit."""
    if value is None:
        return TIMEOUT_S
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_TIMEOUT_S:
        raise wrong(name, f"has a 'timeout_s' that is no number of seconds up to {LONGEST_TIMEOUT_S:.0f}")
    return float(value)


def wrong(name: str, what: str, hint: str = HINT) -> SettingsError:
    """The error about one provider."""
    return SettingsError(f"{SETTING}: provider {name!r} {what}.", hint)
