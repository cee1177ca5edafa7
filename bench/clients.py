"""Many clients at once: do prompts stay fair and fast while messages come in?

    python -m bench.clients [--clients 16] [--seconds 20] [--messages 300]

A real server with the bundled embedder, a session for each client. Each asks for a prompt, posts a message, and so on. Told are
the prompts a second, the latencies, how even they are from client to client, what the embedder alone could do on two cores (each
round needs one query and the passages of one message embedded), and the processor time that a round took: of the server, of the
process beside it that writes summaries, and of the clients, who share the machine with them. The latter tell more than rates do
where others use the machine too.
"""

import argparse
import asyncio
import time

import httpx

from bench.machine import SERVER, percentiles, server, show
from bench.talk import Talk
from bench.writes import passages, query_ms, raw_rate

SAMPLE = 300  # messages whose passages are embedded to see what the embedder alone can do


async def client(http: httpx.AsyncClient, number: int, until: float, spent: list[float], posted: list[float]) -> None:
    """Ask and post in turn until the time is over."""
    talk = Talk(100 + number)
    while time.perf_counter() < until:
        began = time.perf_counter()
        answer = await http.get(f"/context/client{number}/prompt", params={"query": talk.question()})
        answer.raise_for_status()
        spent.append((time.perf_counter() - began) * 1000)
        [message] = talk.messages(1)
        began = time.perf_counter()
        (await http.post(f"/context/client{number}/messages", json=message)).raise_for_status()
        posted.append((time.perf_counter() - began) * 1000)


async def run(base_url: str, clients: int, seconds: float) -> tuple[list[list[float]], list[list[float]]]:
    """The latencies of prompts and posts, client by client."""
    prompts: list[list[float]] = [[] for _ in range(clients)]
    posts: list[list[float]] = [[] for _ in range(clients)]
    async with httpx.AsyncClient(base_url=base_url, timeout=60) as http:
        until = time.perf_counter() + seconds
        await asyncio.gather(*(client(http, n, until, prompts[n], posts[n]) for n in range(clients)))
    return prompts, posts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--messages", type=int, default=300, help="in each session before it begins")
    options = parser.parse_args()
    with server(SERVER) as running:
        for number in range(options.clients):
            body = {"messages": list(Talk(number).messages(options.messages))}
            running.http.post(f"/context/client{number}/messages", json=body).raise_for_status()
        for number in range(options.clients):
            running.indexed(f"client{number}")
        before, own_s = running.processor_s(), time.process_time()
        prompts, posts = asyncio.run(run(str(running.http.base_url), options.clients, options.seconds))
        own_s = time.process_time() - own_s
        server_s, beside_s = (after - at for after, at in zip(running.processor_s(), before, strict=True))
    every = [ms for one in prompts for ms in one]
    medians = sorted(percentiles(one)["p50"] for one in prompts)
    rate = len(every) / options.seconds
    texts = passages(list(Talk(5).messages(SAMPLE)))
    passages_s, query_s = len(texts) / SAMPLE / raw_rate(texts), query_ms() / 1000
    rows = [
        ["prompts", rate, "a second"],
        *([f"prompt, {name}", value, "ms"] for name, value in percentiles(every).items()),
        *([f"POST, {name}", value, "ms"] for name, value in percentiles([ms for one in posts for ms in one]).items()),
        ["slowest client's median : fastest's", medians[-1] / medians[0], ""],
        ["rounds the embedder alone allows", 1 / (passages_s + query_s / 2), "a second"],
        *(
            [f"processor time of a round, {name}", 1000 * spent_s / len(every), "ms"]
            for name, spent_s in (("server", server_s), ("summaries", beside_s), ("clients", own_s))
        ),
    ]
    show(f"{options.clients} clients", ("", "", ""), rows)


if __name__ == "__main__":
    main()
