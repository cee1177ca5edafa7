"""Things that a number tells apart: flat 3 and flat 5, order 1201 and order 1202, 3号楼 and 5号楼, PR-12 and PR-13.

What is said of one of them corrects nothing that was said of the other. So it is with what stands in a numbered list
("fact 20:", "#21:"), whatever it is called.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

import regex

NOUNS = (
    "flat|apartment|apt|room|unit|house|building|block|floor|gate|platform|track|line|bus|train|tram|flight|route|order"
    "|invoice|ticket|issue|case|bug|task|request|step|phase|stage|chapter|section|lesson|unit|episode|question|item|option"
    "|plan|team|group|table|seat|row|lot|batch|box|server|node|machine|printer|warehouse|zone|lane|exit|door|sample|patient"
    "|bay|locker|shelf|rack|desk|drawer|slot|booth|stall|stand|berth|cabin|tent|bed|ward|court|pitch|pump|tank|fact|note|rule"
    "|account|contract|policy|claim|shift|truck|van|car|camera|sensor|site|store|branch|class|grade|sprint|milestone|quarter"
)
HAN_NOUNS = "订单|工单|单号|房间|机器|项目|任务|方案|问题|病人|合同|航班|车次|阶段|章节|仓库|门店|班级|小组|设备|车间|教室|会议室"
HAN_PLACES = "楼|房|院|桌|线|店|仓|机|库|门|站|台|柜|床|车|厅|馆|井|炉|窗|船|会议室|教室|车间|服务器|项目|方案|订单"
SCAN = regex.compile(
    rf"(?<!\p{{L}})(?P<noun>{NOUNS})s?\s*(?:no\.?|number|nr\.?|\#)?\s*(?P<number>\d+[a-z]?)(?![\d.,:/%]*\d|\s*%|\p{{L}})"
    rf"|(?<![\p{{L}}\d])(?P<noun>[a-uw-z]{{1,6}})-(?P<number>\d+)(?![\d.])"
    rf"|(?P<noun>{HAN_NOUNS})\s*(?P<number>\d+|[一二三四五六七八九十]+)(?![\d.]|[个名台件次天元])"
    rf"|(?P<number>\d+|[一二三四五六七八九十]+)\s*号?(?P<noun>{HAN_PLACES})",
    regex.IGNORECASE,
)
LISTED = regex.compile(r"^\s*(?P<noun>\p{L}{1,20}|)[\s#№]*(?P<number>\d{1,6})\s*[:：)）]\s*(?=\D)")
"""The place in a list that a text begins with. A clock has digits after its colon."""
OPENING = regex.compile(
    r"^(?:[^:：]{1,30}[:：]\s*)?(?:(?:and|but|so|for|in|the|our|my|那|那么|至于|我们的?)\s*)*", regex.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Numbered:
    """The numbers by what they number, and what of that a text begins with: such a text speaks of that very thing."""

    numbers: dict[str, frozenset[str]]
    first: str | None


@lru_cache(maxsize=20_000)
def numbered(text: str) -> Numbered:
    """The numbered things in a text. Linear time."""
    found: dict[str, set[str]] = defaultdict(set)
    begin = OPENING.match(text)
    first = None
    if place := LISTED.match(text):
        first = place["noun"].casefold() or "#"
        found[first].add(place["number"])
    for match in SCAN.finditer(text):
        noun = match["noun"].casefold()
        found[noun].add(match["number"].casefold())
        if begin and match.start() <= begin.end():
            first = noun
    return Numbered({noun: frozenset(numbers) for noun, numbers in found.items()}, first)


def apart(one: str, other: str) -> frozenset[str]:
    """What the two texts have under different numbers, by its noun."""
    mine, theirs = numbered(one).numbers, numbered(other).numbers
    return frozenset(noun for noun in mine.keys() & theirs.keys() if mine[noun].isdisjoint(theirs[noun]))
