"""What can be checked in a statement: its numbers, days, names, quotes and codes, what it negates, how sure it is, and its
content words. Pure, linear, English, Chinese and mixed; one door to the modules that know each of them.
"""

from collections.abc import Callable

from memsrv.core.claims.days import dates, meant
from memsrv.core.claims.figures import numbers
from memsrv.core.claims.identifiers import identifiers
from memsrv.core.claims.names import names
from memsrv.core.claims.negation import Negation, Stretch, conditional, hedged, negations, polarity, stretches

__all__ = [
    "Negation",
    "Stretch",
    "Terms",
    "conditional",
    "content_terms",
    "dates",
    "hedged",
    "identifiers",
    "meant",
    "names",
    "negations",
    "numbers",
    "polarity",
    "stretches",
]

Terms = Callable[[str], list[str]]
"""Text to search terms, as `ports.Analyzer.terms` makes them: segmented, folded, stemmed, without stop words."""

FRAMING_LIST = """
user assistant client custom bot agent speaker convers chat discuss talk said say says ask mention state note decid
decis agre agreement confirm conclud conclus settl final want need would like prefer plan intend go goal aim current now
today still also pleas let us get make use will shall may might must should need everyth someth thing one ok okay yes
sure sound good great fine thank well realli just instead use 用户 助手 客户 对话 讨论 提到 表示 说 决定 确认 同意 确定
需要 希望 想要 打算 计划 目前 当前 现在 已经 已 想 说到 认为 觉得 一下 进行 使用
"""
FRAMING = frozenset(FRAMING_LIST.split())
"""Stems that frame a statement and tell nothing of it: two statements are not alike because both were said."""


def content_terms(text: str, terms: Terms) -> tuple[str, ...]:
    """The words that matter for comparing two statements, each once, in order; all of them if there are no others."""
    found = tuple(dict.fromkeys(terms(text)))
    return tuple(term for term in found if term not in FRAMING) or found
