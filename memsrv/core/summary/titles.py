"""Which heading of a summary a title means, in the many words that language models have for it.

A Latin title is one where each of its words may stand in a title and one at least says which heading it is: "Key facts
(names, numbers)" is, "Facts that Anna told" is not. A Chinese one stands in the list.
"""

import unicodedata
from collections.abc import Mapping

import regex

from memsrv.model import Heading

LONGEST_CHARS = 80


def by_word(names: Mapping[Heading, str]) -> dict[str, Heading]:
    return {word: heading for heading, listed in names.items() for word in listed.split()}


STRONG = by_word(
    {
        Heading.GOAL: "goal goals objective objectives aim aims purpose",
        Heading.DECISIONS: "decided decision decisions agreements",
        Heading.CONSTRAINTS: "constraint constraints exclusion exclusions excluded limitation limitations restriction "
        "restrictions rejected ruled requirement requirements negations",
        Heading.QUESTIONS: "question questions todo todos pending unresolved unanswered outstanding undecided",
        Heading.FACTS: "fact facts",
        Heading.STATE: "now status progress",
    }
)
WEAK = by_word(
    {
        Heading.DECISIONS: "confirmed agreed",
        Heading.QUESTIONS: "open next steps step items item action actions issues to do dos",
        Heading.STATE: "current state where things stand",
    }
)
"""These say which heading it is where no strong word does."""
FILLERS = frozenset(
    "the a an and or of main overall key important user users s made final so far as conversation session list what was were "  # noqa: SIM905
    "is must hold out that this known project summary names numbers dates other not yet".split()
)

HAN_TITLES = by_word(
    {
        Heading.GOAL: "目标 目的 用户目标 总目标 当前目标 对话目标 任务目标 目標",
        Heading.DECISIONS: "已确认 已决定 已确定 已定 决定 决策 已确认决定 确认决定 已做决定 已做出决定 确认事项 "
        "已确认事项 决定事项 结论 已確認 決定",
        Heading.CONSTRAINTS: "约束与排除 约束和排除 约束及排除 约束 排除 限制 约束条件 限制条件 限制与排除 约束与限制 "
        "排除项 已排除 排除事项 约束与排除项 约束与排除事项 要求 約束與排除",
        Heading.QUESTIONS: "待定 待办 待解决 未解决 待确认 问题 未决 未决问题 开放问题 待定问题 待解决问题 未解决问题 "
        "待办事项 待定事项 未决事项 待定与待办 下一步 后续 疑问 待辦",
        Heading.FACTS: "事实 关键事实 重要事实 已知事实 事实信息 关键信息 重要信息 事实与数据 事實",
        Heading.STATE: "当前状态 目前状态 状态 现状 进展 当前进展 目前进展 当前情况 目前情况 当前 目前 现在 當前狀態",
    }
)

REMARK = regex.compile(r"[(（][^()（）]{0,60}[)）]")
PICTURE = regex.compile(r"[\p{So}\p{Sk}\uFE0F\u200D]+")
AROUND = "*_[]【】「」“”\"'`（）() \t#:："
LATIN_WORD = regex.compile(r"[a-z]+")


def heading_named(name: str) -> Heading | None:
    """The heading that a title means; None if it is no title."""
    if len(name) > LONGEST_CHARS:
        return None
    plain = PICTURE.sub("", REMARK.sub(" ", unicodedata.normalize("NFKC", name))).casefold().strip(AROUND)
    if not plain.isascii():
        return HAN_TITLES.get(regex.sub(r"[\s的]", "", plain))
    words = LATIN_WORD.findall(plain)
    if regex.search(r"\d", plain) or any(word not in STRONG and word not in WEAK and word not in FILLERS for word in words):
        return None
    return next((known[word] for known in (STRONG, WEAK) for word in words if word in known), None)
