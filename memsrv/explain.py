"""What was summarised in a session and why, and how its mode was switched, as the running server tells it.

Asked over HTTP and not read from the data folder: so it works for a server on another machine and for every tenant, obeys the
keys, and needs no lock that the server holds.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import httpx
from rich.table import Table

from memsrv.errors import CannotStart, SettingsError
from memsrv.settings import Settings

WAIT_S = 30.0
LONGEST_REASON_CHARS = 60

Body = Mapping[str, Any]


class Refused(Exception):
    """The server's answer is no."""


def client(settings: Settings, *, url: str | None, key: str | None) -> httpx.Client:
    """A client of the server that the settings describe, or of the one at `url`; of several keys the first is taken."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    known = next((secret.get_secret_value() for secret in settings.keys.values()), "")
    headers = {"authorization": f"Bearer {key or known}"} if key or known else {}
    try:
        return httpx.Client(base_url=url or f"http://{host}:{settings.port}", headers=headers, timeout=WAIT_S, trust_env=False)
    except (httpx.InvalidURL, ValueError):
        raise SettingsError("The --url or --key cannot be used.") from None


def explain(http: httpx.Client, session: str, *, last: int) -> dict[str, Any]:
    """The last summaries of a session, each with its difference and findings, oldest first, and its switches, newest first.
    Raises CannotStart when no server answers, and Refused."""
    path = f"/context/{quote(session, safe='')}"
    mode = ask(http, f"{path}/mode")
    newest = ask(http, path)["summary"]
    after = max(0, newest_version(http, path, newest) - last)
    listed = ask(http, f"{path}/summaries?after={after}&limit={last}")
    versions = [summary["version"] for summary in listed["summaries"]]
    summaries = [without_sources(ask(http, f"{path}/summaries/{version}?limit=1")) for version in versions]
    return {
        "session": mode["session"],
        "mode": mode["mode"],
        "current": newest,
        "failing": listed["failing"],
        "summaries": summaries,
        "switches": mode["switches"],
    }


def newest_version(http: httpx.Client, path: str, newest: Body | None) -> int:
    """The last version, stale ones counted."""
    after = newest["version"] if newest else 0
    while rest := ask(http, f"{path}/summaries?after={after}&limit=1000")["summaries"]:
        after = rest[-1]["version"]
    return int(after)


def without_sources(summary: Body) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if name not in ("messages", "next")}


def ask(http: httpx.Client, path: str) -> Any:
    """The body of an answer."""
    try:
        answer = http.get(path)
        body = answer.json()
    except (httpx.HTTPError, ValueError):
        raise CannotStart(
            f"No memsrv answers at {http.base_url}.", "Start it with 'memsrv serve', or name another one with --url."
        ) from None
    if answer.status_code != 200:
        raise Refused(f"{body.get('message', 'The server refuses.')} {body.get('hint', '')}")
    return body


def tables(told: Body) -> Iterator[Table]:
    """What was told, for people."""
    summaries = Table("version", "made", "covers", "why", "by", "lines", "+", "-", "~", "guard", title="Summaries")
    for summary in told["summaries"]:
        summaries.add_row(*summary_row(summary))
    yield summaries
    switches = Table("at", "from", "to", "summary", "reason", title=f"Switches (mode now: {told['mode']})")
    for switch in told["switches"]:
        version = str(switch["summary_version"] or "")
        switches.add_row(switch["at"], switch["before"], switch["after"], version, shortened(switch["reason"]))
    yield switches


def summary_row(summary: Body) -> tuple[str, ...]:
    difference = summary["difference"]
    kinds = Counter(finding.get("kind", "") for finding in summary["findings"])
    return (
        f"{summary['version']}{' (stale)' if summary['stale'] else ''}",
        summary["made_at"],
        f"{summary['covers_from']}-{summary['covers_upto']}",
        summary["reason"],
        summary["made_by"],
        str(len(summary["lines"])),
        *(str(len(difference[name])) for name in ("added", "removed", "changed")),
        ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())),
    )


def shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST_REASON_CHARS else flat[: LONGEST_REASON_CHARS - 1] + "…"
