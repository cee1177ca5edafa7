"""What does each part of recall bring? Share of the labelled evidence that the best hits hold, with parts left out.

    python -m bench.ablation FILE... [--budgets 500,1000,2000,4000] [--conversations N] [--questions N] [--json OUT]

Each FILE is a JSON list of conversations: `{"id", "messages": [...], "questions": [{"question", "evidence": [message ids]}]}`,
with messages as they are posted to the server, each with an id. Hits are shown as "[time] name: text" and fill the budget
(o200k_base); evidence is found when its text stands in what is shown, of a message of more than 300 characters any stretch of
120. Everything runs in this process over the server's own parts with the bundled embedder; only weights are changed.

The last table asks each conversation the questions of the next one too: tokens of recalled text in prompts of 2000 tokens.
"""

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import structlog
from rich.progress import track

from bench.machine import show
from memsrv.adapters.embedder_bundled import BundledEmbedder
from memsrv.core.recall import bm25, ranking
from memsrv.model import Draft, PromptRequest, RegionName, Session, SessionKey
from memsrv.settings import load
from memsrv.web.schemas import MessageIn
from memsrv.wiring import Runtime, opened
from memsrv.wiring.vendors import token_counter

ALONE = (bm25.OFFSETS[0],)
HITS = 200
LONG_CHARS, STRETCH, STEP = 300, 120, 40
PROMPT_TOKENS = 2000


@dataclass(frozen=True)
class Variant:
    """A name, the weights that differ, and how far a word reaches."""

    name: str
    weights: Mapping[str, float]
    offsets: Sequence[tuple[int, float]] = bm25.OFFSETS


NOTHING = dict.fromkeys(ranking.WEIGHTS, 0.0)
VARIANTS = (
    Variant("words of the piece alone", NOTHING | {"words": 1.0}, ALONE),
    Variant("words over the window", NOTHING | {"words": 1.0}),
    Variant("dense", NOTHING | {"dense": 1.0}),
    Variant("z(words) + z(dense)", NOTHING | {"words": 1.0, "dense": 1.0}),
    Variant("all of it", {}),
    *(Variant(f"all but {name}", {name: 0.0}) for name in ranking.WEIGHTS if name not in ("words", "dense")),
    Variant("all but dense and around", {"dense": 0.0, "around": 0.0}),
)


class Remembering(BundledEmbedder):
    """The bundled embedder, which embeds a question once for all variants."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._queries: dict[str, np.ndarray] = {}

    async def query(self, text: str) -> np.ndarray:
        if text not in self._queries:
            self._queries[text] = await super().query(text)
        return self._queries[text]


@contextmanager
def in_force(variant: Variant) -> Iterator[None]:
    """Rank as the variant says."""
    weights, offsets = ranking.WEIGHTS, bm25.OFFSETS
    ranking.WEIGHTS, bm25.OFFSETS = {**weights, **variant.weights}, tuple(variant.offsets)
    try:
        yield
    finally:
        ranking.WEIGHTS, bm25.OFFSETS = weights, offsets


@dataclass(frozen=True)
class Asked:
    """A conversation that is stored, and what is asked of it."""

    session: Session
    texts: Mapping[str, str]
    questions: Sequence[Mapping[str, Any]]


async def stored(runtime: Runtime, name: str, conversation: Mapping[str, Any]) -> Asked:
    """Post a conversation and wait for its vectors."""
    drafts: list[Draft] = [MessageIn.model_validate(message).draft() for message in conversation["messages"]]
    key = SessionKey("default", name)
    for start in range(0, len(drafts), 100):
        appended = await runtime.ingest.append(key, drafts[start : start + 100])
    while await runtime.ingest.wait_indexed(appended.session, 10_000):
        pass
    texts = {message["id"]: message["content"] for message in conversation["messages"]}
    return Asked(appended.session, texts, conversation["questions"])


def plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()


def found(text: str, shown: str) -> bool:
    """Whether a piece of evidence stands in what is shown, both compared without layout."""
    wanted = plain(text)
    if len(text) <= LONG_CHARS:
        return bool(wanted) and wanted in shown
    return any(wanted[at : at + STRETCH] in shown for at in range(0, max(1, len(wanted) - STRETCH + 1), STEP))


async def shares(runtime: Runtime, asked: Asked, question: Mapping[str, Any], budgets: Sequence[int], count: Any) -> list[float]:
    """The share of a question's evidence at each budget."""
    hits = (await runtime.assembler.recall(asked.session, question["question"], k=HITS)).hits
    lines = [f"[{hit.chunk.sent_at:%Y-%m-%dT%H:%M:%SZ}] {hit.chunk.name or hit.chunk.role}: {hit.chunk.text}" for hit in hits]
    spent = np.cumsum([count(line, None) for line in lines])
    evidence = [asked.texts[id] for id in question["evidence"]]
    answer = []
    for budget in budgets:
        shown = plain("\n".join(hit.chunk.text for hit in hits[: int(np.searchsorted(spent, budget, side="right"))]))
        answer.append(sum(found(text, shown) for text in evidence) / len(evidence))
    return answer


async def recalled_tokens(runtime: Runtime, asked: Asked, questions: Sequence[Mapping[str, Any]]) -> float:
    """Mean tokens of recalled text in prompts for these questions."""
    spent = []
    for question in questions:
        request = PromptRequest(query=question["question"], budget_tokens=PROMPT_TOKENS)
        made = await runtime.assembler.prompt(asked.session.key, request)
        spent += [region.tokens for region in made.receipt.regions if region.name is RegionName.RECALL]
    return float(np.mean(spent))


async def measure(file: Path, conversations: Sequence[Mapping[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    """Every variant's shares, and the tokens recalled for the right and for another conversation."""
    budgets = [int(budget) for budget in options.budgets.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        settings = load({"data_dir": Path(folder)})
        embedder = await asyncio.to_thread(Remembering.open, Path(folder) / "models")
        count = token_counter(settings).count
        async with opened(settings, embedder=embedder) as runtime:
            every = [await stored(runtime, str(n), one) for n, one in enumerate(track(conversations, f"{file.stem}: indexing"))]
            report: dict[str, Any] = {}
            for variant in track(VARIANTS, f"{file.stem}: asking"):
                with in_force(variant):
                    rows = [
                        await shares(runtime, asked, question, budgets, count)
                        for asked in every
                        for question in asked.questions[: options.questions or None]
                    ]
                report[variant.name] = np.mean(rows, axis=0).round(3).tolist()
            some = slice(0, options.questions or 40)
            right = [await recalled_tokens(runtime, one, one.questions[some]) for one in every]
            other = [
                await recalled_tokens(runtime, one, after.questions[some])
                for one, after in zip(every, [*every[1:], *every[:1]], strict=True)
                if after is not one
            ]
            report["recalled tokens"] = {"right": float(np.mean(right)), "other": float(np.mean(other)) if other else None}
            return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--budgets", default="500,1000,2000,4000")
    parser.add_argument("--conversations", type=int, default=0, help="at most so many of each file")
    parser.add_argument("--questions", type=int, default=0, help="at most so many of each conversation")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    reports = {}
    for file in options.files:
        conversations = json.loads(file.read_text())[: options.conversations or None]
        reports[file.stem] = asyncio.run(measure(file, conversations, options))
    written = [[variant.name, *(" ".join(map(share, one[variant.name])) for one in reports.values())] for variant in VARIANTS]
    show(f"share of the evidence at {options.budgets} tokens", ("ranking", *reports), written)
    tokens = [[which, *(one["recalled tokens"][which] or "-" for one in reports.values())] for which in ("right", "other")]
    show(f"tokens recalled in prompts of {PROMPT_TOKENS}, for questions of", ("conversation", *reports), tokens)
    if options.json:
        options.json.write_text(json.dumps(reports, indent=1))


def share(value: float) -> str:
    """.823"""
    return f"{value:.3f}".removeprefix("0")


if __name__ == "__main__":
    main()
