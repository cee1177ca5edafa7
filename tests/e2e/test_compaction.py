"""Summaries of the real server: over kills and restarts, and as the command line explains them."""

import json

from tests.command import memsrv
from tests.patience import wait_until

TALK = [{"role": ("user", "assistant")[n % 2], "content": f"We decided on part P-{n:04d} for bike {n}."} for n in range(20)]


def until_summarised(served, session: str, least: int = 1) -> list[dict]:
    def enough() -> list[dict]:
        found = served.http.get(f"/context/{session}/summaries").json()["summaries"]
        return found if len(found) >= least else []

    return wait_until(enough)


def test_a_kill_in_the_midst_of_a_compaction_neither_loses_nor_doubles_it(serve):
    served = serve(MEMSRV_FAULTS='{"summarizer": "delay:600000"}')
    assert served.http.post("/context/s/messages", json={"messages": TALK}).status_code == 201
    failing = wait_until(lambda: served.http.get("/context/s/summaries").json()["failing"])
    assert failing["tries"] == 1
    served.kill()
    served = serve()
    [made] = until_summarised(served, "s")
    assert (made["version"], made["covers_from"], made["covers_upto"]) == (1, 1, 12)
    served.stop()
    served = serve()
    served.http.post("/context/later/messages", json={"messages": TALK})
    until_summarised(served, "later")  # what was due at the start was looked at before
    assert [one["version"] for one in until_summarised(served, "s")] == [1]


def test_explain_tells_compactions_and_switches(open_server):
    served = open_server
    served.http.post("/context/tour%2Fa/messages", json={"messages": TALK})
    until_summarised(served, "tour%2Fa")
    served.http.post("/context/tour%2Fa/mode", json={"mode": "window", "reason": "to compare"})
    told = json.loads(memsrv("explain", "tour/a", "--url", served.address, "--json").stdout)
    assert (told["mode"], told["current"]["covers_upto"]) == ("window", 12)
    assert [(one["version"], one["reason"]) for one in told["summaries"]] == [(1, "messages")]
    assert told["switches"][0]["reason"] == "to compare"
    shown = memsrv("explain", "tour/a", "--url", served.address)
    assert shown.returncode == 0
    assert "to compare" in shown.stdout
    assert "1-12" in shown.stdout
    missing = memsrv("explain", "nobody", "--url", served.address)
    assert missing.returncode == 1
    assert "no session" in missing.stderr


def test_explain_says_when_no_server_answers():
    done = memsrv("explain", "s", "--url", "http://127.0.0.1:9")
    assert done.returncode == 3
    assert "memsrv serve" in done.stderr
