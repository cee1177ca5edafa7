"""Requests made from the OpenAPI document, good and bad: no server error, and no answer that the document does not tell.

So many by default as take less than a minute. `FUZZ_REQUESTS=20000 pytest tests/fuzz -s` makes so many, others each time.
"""

import os
import random
from collections import Counter
from urllib.parse import quote

import httpx
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import FailureGroup, not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "300"))
SEED = 1 if REQUESTS < 2000 else random.randrange(2**32)
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
SESSIONS = ("fuzz one", "fuzz two", "模糊")
LONGEST_WAIT_MS = 20


def seeded(http: httpx.Client, session: str) -> list[str]:
    """Put something of everything into the session; the ids of its messages and pins."""
    path = f"/context/{quote(session, safe='')}"
    said = [{"role": "user", "content": f"We decided on route {n}.", "id": f"m{n}"} for n in range(4)]
    http.put(path, json={"owner": "ada", "window": {"size": 2, "keep": 1}})
    http.post(f"{path}/messages", json={"messages": said})
    http.post(f"{path}/compact", json={"keep": 1})
    return [*(message["id"] for message in said), http.post(f"{path}/pins", json={"text": "No chrome."}).json()["id"]]


def aimed(case: Case, ids: list[str], draw: st.DataObject) -> None:
    """Let most requests be about what is there, and none wait long."""
    known = {"session": SESSIONS, "id": ids, "version": ["1", "2", "3"]}
    for name in case.path_parameters or {}:
        if draw.draw(st.integers(0, 9)) < 8:
            case.path_parameters[name] = draw.draw(st.sampled_from(known[name]))
    if "wait_ms" in (case.query or {}) and str(case.query["wait_ms"]).isdigit():
        case.query["wait_ms"] = min(int(case.query["wait_ms"]), LONGEST_WAIT_MS)


def forgotten(case: Case, status: int) -> tuple[str, ...]:
    """The sessions that may lack something now."""
    if case.method != "DELETE" or status != 200:
        return ()
    named = (case.path_parameters or {}).get("session")
    return SESSIONS if named is None else (named,) if named in SESSIONS else ()


def test_every_answer_is_one_that_the_document_tells(serve, upstream):
    server = serve(MEMSRV_LOG_LEVEL="error", MEMSRV_UPSTREAM_URL=upstream.url, MEMSRV_UPSTREAM_MODEL="small")
    schema = schemathesis.openapi.from_url(f"{server.address}/openapi.json")
    operations = [result.ok() for result in schema.get_all_operations()]
    limited = settings(
        max_examples=-(-REQUESTS // len(operations)),
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    ids = [id for session in SESSIONS for id in seeded(server.http, session)]
    statuses: Counter[int] = Counter()
    wrong: dict[str, str] = {}

    def ask(case: Case, draw: st.DataObject) -> None:
        aimed(case, ids, draw)
        answer = case.call()
        statuses[answer.status_code] += 1
        try:
            case.validate_response(answer, checks=CHECKS)
        except FailureGroup as failures:
            for failure in failures.exceptions:
                what = f"{case.method} {case.operation.path} {answer.status_code} {failure.title}"
                wrong.setdefault(what, f"{failure}\n{case.as_curl_command()}\n{answer.text[:500]}")
        for session in forgotten(case, answer.status_code):
            seeded(server.http, session)

    for operation in operations:
        cases = st.one_of(operation.as_strategy(mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE))
        seed(SEED)(limited(given(case=cases, draw=st.data())(ask)))()
    print(sum(statuses.values()), "requests:", dict(sorted(statuses.items())))
    assert not wrong, "\n\n".join(f"{what}\n{how}" for what, how in wrong.items())
    assert statuses.keys() >= {200, 201, 404, 422}
