"""A question is embedded once, ahead of whoever asks for its vector, and nothing of it stays."""

import asyncio
import gc

import numpy as np
import pytest

from memsrv.errors import EmbedderDown
from memsrv.services.ahead import Ahead
from tests.fakes import HashingEmbedder


class Gated(HashingEmbedder):
    """Answers queries when it is let; remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.let = asyncio.Event()
        self.down = False

    async def query(self, text: str) -> np.ndarray:
        self.asked.append(text)
        await self.let.wait()
        if self.down:
            raise EmbedderDown("It is down.")
        return await super().query(text)


async def test_what_was_begun_is_embedded_once_and_no_longer_kept_than_the_request():
    embedder = Gated()
    ahead = Ahead(embedder)
    embedder.let.set()
    with ahead.request() as begin:
        begin("a question")
        vectors = [await ahead.query("a question") for _ in range(2)]
        assert embedder.asked == ["a question"]
    again = await ahead.query("a question")
    assert embedder.asked == ["a question"] * 2
    assert all(np.array_equal(vector, again) for vector in vectors)


async def test_it_begins_before_anybody_asks_and_another_text_is_embedded_as_ever():
    embedder = Gated()
    ahead = Ahead(embedder)
    with ahead.request() as begin:
        begin("a question")
        await asyncio.sleep(0)
        assert embedder.asked == ["a question"]
        embedder.let.set()
        await ahead.query("another")
    assert embedder.asked == ["a question", "another"]


async def test_an_error_is_that_of_who_asks_and_nobody_s_where_nobody_does(caplog):
    embedder = Gated()
    ahead = Ahead(embedder)
    embedder.down = True
    embedder.let.set()
    with ahead.request() as begin:
        begin("a question")
        with pytest.raises(EmbedderDown):
            await ahead.query("a question")
        begin("unheard")
        await asyncio.sleep(0)
    gc.collect()  # a task whose error nobody took would tell of it when it goes
    assert embedder.asked == ["a question", "unheard"]
    assert not caplog.records


async def test_neither_who_gives_up_waiting_nor_the_end_of_the_request_takes_it_from_another_who_waits():
    embedder = Gated()
    ahead = Ahead(embedder)
    with ahead.request() as begin:
        begin("a question")
        with ahead.request() as begin_too:  # the same question of another client
            begin_too("a question")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await ahead.query("a question")
        waiting = asyncio.create_task(ahead.query("a question"))
        await asyncio.sleep(0)
    embedder.let.set()
    assert np.isfinite(await waiting).all()
    assert embedder.asked == ["a question"]
