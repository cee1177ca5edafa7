"""ports.Summarizer over any language model.

(1) No source is left out: what does not fit into one question is told in several, each folded into the summary so far. Only
    a single message that is too long for a question of its own is cut, visibly.
(2) An answer that is blank, off-shape, foreign, too long or cut off is asked for once more, with a word about what was wrong.
    One that is merely too long then stands (the guard shortens it); any other is SummarizerDown.
(3) What a call cost is told to `on_usage`, also where its answer was of no use.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

import regex

from memsrv.core.summary.asking import Completion, Question, Trouble, Usage, block, is_foreign, messages, written
from memsrv.core.summary.parsing import summary_of
from memsrv.core.summary.summary import rendered
from memsrv.core.text.cuts import Count, cut_tokens, fits, left_out
from memsrv.errors import SummarizerDown, UpstreamDown
from memsrv.model import Line, Source, Summary, Task

MAX_INPUT_TOKENS = 6000
LEAST_INPUT_TOKENS = 512
LEAST_SOURCE_TOKENS = 256
"""Sources get so much whatever the instruction and the summary so far cost."""
MESSAGE_TOKENS = 8
"""What a provider may add for each message."""
OUTPUT_ROOM = 2
OUTPUT_EXTRA_TOKENS = 256
THINKING_TOKENS = 8192
"""An answer has room for twice its limit and the numbers of messages; one that was cut off, for a long thought."""
PARAMETERS: Mapping[str, Any] = {"temperature": 0.2}
TERM = regex.compile(r"\p{Han}{2}|(?<![\p{L}\p{N}])(?:[\p{L}--\p{Han}]{3,}|\p{N}+)", regex.V1)
TELLS_NOTHING = frozenset(
    ["the", "and", "for", "not", "but", "you", "are", "was", "has", "have", "had", "that", "this", "with", "from"]
)
USABLE = (None, Trouble.LENGTH, Trouble.CUT)


class ChatModel(Protocol):
    """A language model that answers a chat. It belongs to whoever opened it; several may ask it at the same time."""

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], *, model: str | None, parameters: Mapping[str, Any], max_tokens: int
    ) -> Completion:
        """One whole answer. `model` None takes the provider's own. Raises UpstreamDown, with `too_long` if the input is."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """The session's `summary` settings over those of the server."""

    provider: str
    model: str | None
    parameters: Mapping[str, Any]
    prompt: str
    update_prompt: str
    max_input_tokens: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one call."""

    summary: Summary | None
    trouble: Trouble | None

    @property
    def usable(self) -> bool:
        return self.summary is not None and self.trouble in USABLE


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line may come from: a message, or a line of the summary before."""

    position: int
    sent_at: datetime | None
    text: str


class ChatSummarizer:
    """Summaries by a language model. `models` are the providers by name; `defaults` the server's `summary` settings."""

    name = "chat"

    def __init__(
        self,
        models: Mapping[str, ChatModel],
        *,
        count: Count,
        defaults: Mapping[str, Any] | None = None,
        on_usage: Callable[[Usage], None] = lambda usage: None,
    ):
        self._models = models
        self._count = count
        self._defaults = dict(defaults or {})
        self._on_usage = on_usage

    async def summarise(self, task: Task) -> Summary:
        """The new summary, in place of `task.previous`. SummarizerDown if the model gives none that can be used."""
        options = self._options(task)
        if not task.said and task.previous is None:
            return Summary(language=task.language)
        summary, left, limit = task.previous, task.said, options.max_input_tokens
        while left or summary is task.previous:
            question = question_of(task, summary, options)
            part, rest = taken(left, self._room(question, limit), self._count)
            try:
                summary = await self._step(replace(question, said=part), options)
            except UpstreamDown as error:
                if not error.too_long or limit <= LEAST_INPUT_TOKENS:
                    raise SummarizerDown(error.message) from None
                limit = max(LEAST_INPUT_TOKENS, limit // 2)
                continue
            left = rest
        assert summary is not None, "a step made it"
        return summary

    async def close(self) -> None:
        """Nothing: the models belong to whoever opened them, for others ask them too."""

    def _options(self, task: Task) -> Options:
        said = {name: value for name, value in task.options.items() if value is not None}
        found = self._defaults | said
        provider = found.get("provider") or (next(iter(self._models)) if len(self._models) == 1 else "")
        if provider not in self._models:
            raise SummarizerDown("The summary settings name no provider that this server has.")
        return Options(
            provider=provider,
            model=found.get("model") or None,
            parameters={**PARAMETERS, **(self._defaults.get("parameters") or {}), **(said.get("parameters") or {})},
            prompt=found.get("prompt") or "",
            update_prompt=found.get("update_prompt") or "",
            max_input_tokens=max(LEAST_INPUT_TOKENS, found.get("max_input_tokens") or MAX_INPUT_TOKENS),
        )

    def _room(self, question: Question, limit_tokens: int) -> int:
        """Tokens that a question has for what was said, also where it is asked again with the longest correction."""
        sent = [message["content"] for message in messages(question, Trouble.SHAPE)]
        around = sum(MESSAGE_TOKENS + self._count(text) for text in [*sent, block("messages", "", question.language)])
        return max(LEAST_SOURCE_TOKENS, limit_tokens - around)

    async def _step(self, question: Question, options: Options) -> Summary:
        """One question, asked twice at most. Raises UpstreamDown, or SummarizerDown if neither answer can be used."""
        first = await self._asked(question, options, None)
        if first.trouble is None and first.summary is not None:
            return first.summary
        try:
            second = await self._asked(question, options, first.trouble)
        except UpstreamDown:
            if not first.usable:
                raise
            second = first
        usable = [answer for answer in (second, first) if answer.usable]
        if not usable:
            raise SummarizerDown(f"The model {named(options)} answered twice, at last {second.trouble}.")
        best = min(usable, key=lambda answer: USABLE.index(answer.trouble))
        assert best.summary is not None, "it is usable"
        return best.summary

    async def _asked(self, question: Question, options: Options, trouble: Trouble | None) -> Answer:
        sent = messages(question, trouble)
        room = OUTPUT_ROOM * question.max_tokens + OUTPUT_EXTRA_TOKENS + (THINKING_TOKENS if trouble is Trouble.CUT else 0)
        completion = await self._models[options.provider].complete(
            sent, model=options.model, parameters=options.parameters, max_tokens=room
        )
        self._on_usage(self._usage(sent, completion, options))
        return answer_of(completion, question, self._count)

    def _usage(self, sent: Sequence[Mapping[str, str]], completion: Completion, options: Options) -> Usage:
        """What the provider counted, or where it tells nothing, what we do."""
        asked = completion.prompt_tokens or sum(MESSAGE_TOKENS + self._count(message["content"]) for message in sent)
        answered = completion.completion_tokens or self._count(completion.text) + self._count(completion.reasoning)
        return Usage(options.provider, completion.model, asked, answered)


def named(options: Options) -> str:
    return f"{options.model[:64]!r} of {options.provider!r}" if options.model else f"of {options.provider!r}"


def question_of(task: Task, summary: Summary | None, options: Options) -> Question:
    """The question for the next step, without sources. A user's own prompt that has no second one for updates serves for
    both: what it is not given by a placeholder follows it."""
    own = options.prompt if summary is None else options.update_prompt or options.prompt
    return Question(summary, (), task.max_tokens, task.language, task.keep, own)


def taken(said: Sequence[Source], room_tokens: int, count: Count) -> tuple[tuple[Source, ...], tuple[Source, ...]]:
    """As many of the first sources as fit, one at least, and the rest. One that does not fit alone is cut."""
    part: list[Source] = []
    left = room_tokens
    for source in said:
        row = written(source) + "\n"
        if not fits(row, left, count):
            break
        left -= count(row)
        part.append(source)
    if said and not part:
        part = [shortened(said[0], room_tokens, count)]
    return tuple(part), tuple(said[len(part) :])


def shortened(source: Source, room_tokens: int, count: Count) -> Source:
    """A source cut so that it fits, its middle left out visibly."""

    def cost(text: str) -> int:
        return count(written(replace(source, text=text)) + "\n")

    cut = cut_tokens(source.text, room_tokens, cost)
    return replace(source, text=left_out(len(source.text)) if cut is None else cut)


def answer_of(completion: Completion, question: Question, count: Count) -> Answer:
    """The summary in an answer, and what is wrong with it. Of one that was cut off, the last row is not trusted: half a
    statement can be its opposite."""
    cut = completion.finish_reason == "length"
    found = summary_of(completion.text.rpartition("\n")[0] if cut else completion.text)
    if found is None:
        return Answer(None, Trouble.CUT if cut else Trouble.SHAPE if completion.text.strip() else Trouble.BLANK)
    if is_foreign((line.text for line in found.lines), question.language):
        return Answer(found, Trouble.LANGUAGE)
    summary = settled(found, question)
    long = count(rendered(summary)) > question.max_tokens
    return Answer(summary, Trouble.CUT if cut else Trouble.LENGTH if long else None)


def settled(summary: Summary, question: Question) -> Summary:
    """The summary in the language that was asked for, its lines with the messages that they come from: those that the model
    names, where that can be so, else those of the same line before."""
    before = question.previous.lines if question.previous else ()
    places = [Place(line.position, line.sent_at, line.text) for line in before]
    places += [Place(source.position, source.sent_at, source.text) for source in question.said]
    return Summary(tuple(located(line, places) for line in summary.lines), question.language)


def located(line: Line, places: Sequence[Place]) -> Line:
    """The line at the place that it names, if they have a word in common (a model copies the example's number, too), or at
    the place of its very text."""
    terms = terms_of(line.text)
    found = (
        place
        for place in places
        if place.position and (place.text == line.text or (place.position == line.position and terms & terms_of(place.text)))
    )
    place = next(found, None)
    return replace(line, position=place.position if place else 0, sent_at=place.sent_at if place else None)


def terms_of(text: str) -> set[str]:
    """Words of some length, figures, and pairs of Han characters."""
    return set(TERM.findall(text.casefold(), overlapped=True)) - TELLS_NOTHING
