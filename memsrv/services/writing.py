"""Write one summary from the one before and what was said since, and let no bad one through.

(1) What is answered went through the guard and is within its length. A blank one is none.
(2) Every message goes in: what is too much for one call is folded in part after part, in order.
(3) The session's summarizer goes first; when it fails, or the guard refuses what it wrote, the built-in one takes its place.
(4) Log events are counted, in one part whatever their length, and not guarded: no source says how many there are.
(5) If no summary of a part holds, none is answered: half a summary would cover what it does not tell.
(6) A message in which nothing is said (no word, or one over and over) is shown to no summarizer, and the findings name it.
"""

import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any

from memsrv.core.claims.claims import Terms
from memsrv.core.guard.check import check
from memsrv.core.prompt.policy import Policy
from memsrv.core.summary import compacting
from memsrv.core.summary.asking import language_of
from memsrv.core.summary.compacting import parts
from memsrv.core.summary.summary import Count, Source, Summary, Task, rendered, within
from memsrv.errors import SummarizerDown
from memsrv.ports import Summarizer, TokenCounter
from memsrv.threads import aside

LEAST_INPUT_TOKENS = 128
MOST_FINDINGS = 200
"""Kept with a snapshot; all are counted."""

Finding = Mapping[str, Any]
Checked = tuple[Summary | None, Sequence[Finding]]
Guard = Callable[[Summary, Task, Count], Awaitable[Checked]]
"""Checks a summary against what it was made of: the summary, mended where it must be, or None; and what was found. A finding
has a `kind`."""


@dataclass(frozen=True, slots=True)
class Written:
    """A summary, who wrote it (the last part of it), and what the guard found."""

    summary: Summary
    text: str
    made_by: str
    findings: tuple[Finding, ...]


class SummaryWriter:
    """Summarizers under a guard. `providers`: the summarizer for sessions whose settings name a provider; `events`: the built-in
    one for sessions that hold log events. `counted` are the findings since the start, by kind."""

    def __init__(
        self,
        builtin: Summarizer,
        guard: Guard,
        counter: TokenCounter,
        *,
        providers: Summarizer | None = None,
        events: Summarizer | None = None,
    ):
        self.counted: Counter[str] = Counter()
        self._builtin = builtin
        self._events = events
        self._providers = providers
        self._guard = guard
        self._counter = counter

    async def write(self, previous: Summary | None, said: Sequence[Source], *, keep: Sequence[str], policy: Policy) -> Written:
        """Fold what was said into the previous summary. Raises SummarizerDown."""

        count = partial(self._counter.count, model=policy.model)
        findings: list[Finding] = []
        said = self._telling(said, policy, findings)
        talk = [source.text for source in said if source.role != "tool"]
        language = await aside(language_of, talk) if talk or not previous else previous.language
        summarizers = self._summarizers(policy)
        limit = max(LEAST_INPUT_TOKENS, policy.summary.max_input_tokens - policy.summary.max_tokens)
        if summarizers[0] is self._events:
            limit = sys.maxsize
        waiting = list(await aside(lambda: list(parts(said, limit, count))))[::-1]
        made_by = ""
        while waiting:
            part = waiting.pop()
            task = Task(previous, part, policy.summary.max_tokens, language, tuple(keep), policy.summary.options)
            try:
                previous, made_by = await self._fold(task, summarizers, count, findings)
            except SummarizerDown as error:
                if not error.too_long or len(part) < 2:
                    raise
                waiting += [part[len(part) // 2 :], part[: len(part) // 2]]
        kept = previous or Summary((), language)
        return Written(kept, rendered(kept), made_by or self._builtin.name, tuple(findings[:MOST_FINDINGS]))

    def _telling(self, said: Sequence[Source], policy: Policy, findings: list[Finding]) -> list[Source]:
        """The messages that say anything; see (6). Events are counted whatever they say."""
        if policy.holds_events:
            return list(said)
        mute = [source for source in said if not compacting.tells(source)]
        if mute:
            self._note(findings, self._builtin, passed_over(mute, "nothing is said in it"))
        return [source for source in said if source not in mute]

    def _summarizers(self, policy: Policy) -> tuple[Summarizer, ...]:
        own = self._events if self._events and policy.holds_events else self._builtin
        if self._providers is None or not policy.summary.options.get("provider"):
            return (own,)
        return (self._providers, own)

    async def _fold(
        self, task: Task, summarizers: Sequence[Summarizer], count: Count, findings: list[Finding]
    ) -> tuple[Summary, str]:
        """One part folded in, by the first summarizer whose summary holds."""
        too_long, answered = False, True
        for summarizer in summarizers:
            try:
                summary = await summarizer.summarise(task)
            except SummarizerDown as error:
                too_long, answered = too_long or error.too_long, False
                self._note(findings, summarizer, {"kind": "down", "text": error.message})
                continue
            checked = await self._checked(summarizer, summary, task, count, findings)
            if checked is None and summarizer is self._builtin:  # word for word: what no fault was found in can be told
                faults = {finding.get("line") for finding in findings}
                sound = tuple(line for line in summary.lines if line.text not in faults)
                if 0 < len(sound) < len(summary.lines):
                    checked = await self._checked(summarizer, replace(summary, lines=sound), task, count, findings)
            if checked is not None:
                return checked, summarizer.name
            self._note(findings, summarizer, {"kind": "refused"})
        raise SummarizerDown("No summary was made that holds.", too_long=too_long, nothing_holds=answered)

    async def _checked(
        self, summarizer: Summarizer, summary: Summary, task: Task, count: Count, findings: list[Finding]
    ) -> Summary | None:
        """What the guard lets through, within its length; None if that is nothing."""
        checked: Summary | None = summary
        found: Sequence[Finding] = ()
        if summarizer is not self._events:
            checked, found = await self._guard(summary, task, count)
        for finding in found:
            self._note(findings, summarizer, finding)
        fitted = within(checked, task.max_tokens, count) if checked else None
        return fitted if fitted and any(line.text.strip() for line in fitted.lines) else None

    def _note(self, findings: list[Finding], summarizer: Summarizer, finding: Finding) -> None:
        self.counted[str(finding["kind"])] += 1
        findings.append({**finding, "made_by": summarizer.name})


def passed_over(said: Sequence[Source], why: str) -> Finding:
    """The finding that names messages which no summary tells of."""
    return {"kind": "passed_over", "line": "", "positions": [source.position for source in said][:MOST_FINDINGS], "detail": why}


def checked(terms: Terms, summary: Summary, task: Task, count: Count) -> Checked:
    """What `core.guard` says of a summary, by an analyzer's search terms."""
    judged = check(summary, task, count=count, terms=terms)
    return judged.summary, [written_finding(finding) for finding in judged.findings]


def written_finding(finding: Any) -> Finding:
    """A finding as JSON values."""
    return {name: str(value) if isinstance(value, StrEnum) else value for name, value in asdict(finding).items()}
