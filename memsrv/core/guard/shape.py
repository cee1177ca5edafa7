"""What may not stand in a line of a summary whatever it says: reasoning, talk about the summary, echoes of the instructions,
orders to a model, our own tags, loops.
"""

from collections import Counter
from collections.abc import Iterable

import regex

from memsrv.core.claims.identifiers import folded
from memsrv.core.summary.summary import TITLES
from memsrv.core.text.marks import defused

REASONING = regex.compile(
    r"</?\s*(?:think|thinking|thought|reasoning|reflection|scratchpad)\b|^\s*(?:okay|ok|alright|hmm|so|first|now"
    r"|wait)?[,.]?\s*(?:let\s+me\s+(?:think|see|start|check|re-?read|analy[sz]e|summari[sz]e)|"
    r"i\s+(?:need|have|should|must|am\s+going|will|['’]ll)\s+(?:to\s+)?(?:summari[sz]e|write|produce|create|analy[sz]e"
    r"|list|extract|fold|update)\b)|\bthe\s+user\s+wants?\s+me\s+to\s+(?:summari[sz]e|write|fold)|\bstep\s+by\s+step\b|"
    r"^\s*(?:首先|好的?|嗯)?[，,]?\s*(?:我需要(?:总结|写|分析|提取)|让我(?:想想|看看|分析|总结|来)|我来(?:总结|分析))",
    regex.IGNORECASE,
)
TALK = regex.compile(
    r"^\s*(?:(?:sure|certainly|of\s+course|okay|ok|absolutely)\b[,.!]?\s*)?(?:here(?:['’]s|\s+is|\s+are"
    r"|\s+you\s+go)\b[^.]{0,40}\b(?:summary|recap|overview|notes?|list|updated)\b|(?:below|the\s+following)\s+is\b"
    r"|in\s+(?:summary|conclusion|short)\b|to\s+(?:sum\s+up|summari[sz]e)\b|"
    r"(?:(?:the|this|updated|new|final|rolling|previous)\s+)?(?:summary|recap)(?:\s+of\s+[^:]{1,40})?\s*(?::|$))"
    r"|\bas\s+an\s+ai\b|\bi\s+(?:hope\s+this\s+helps|cannot\s+assist|can['’]t\s+(?:assist|help\s+with))"
    r"|\blet\s+me\s+know\s+if\b|"
    r"\b(?:this|the)\s+(?:summary|conversation|dialogue|chat)\s+(?:is\s+about|covers|captures|above|includes|contains"
    r"|provided)\b|^\s*(?:以下是|下面是|总结如下|综上|总之|根据(?:以上|上述|对话)|摘要[:：]|总结[:：]|好的，以下)"
    r"|希望(?:这|以上).{0,8}帮助|作为(?:一个)?(?:AI|人工智能)",
    regex.IGNORECASE,
)
ECHO = regex.compile(
    r"\b(?:write|produce|return|output|keep|use)\b[^.]{0,40}\b(?:summary|headings?|format|bullet\s+points?|tokens)\b"
    r"|\b(?:at\s+most|no\s+more\s+than|within|under|maximum(?:\s+of)?)\s+\d+\s+(?:tokens|words)\b|\bdo\s+not\s+(?:invent"
    r"|make\s+up|add\s+(?:any\s+)?(?:new\s+)?(?:facts|information))\b|"
    r"\b(?:previous|existing|old)\s+summary\s*:|\bnew\s+messages?\s*:|<[a-z][a-z _-]{2,30}>|\[(?:insert|your|goal|topic"
    r"|name|date|list|decision|none|n/a|todo)[^\]]{0,40}\]|"
    r"(?:请|务必)?(?:写|输出|生成|给出)[^。]{0,16}(?:摘要|总结)|不(?:要|得)(?:编造|虚构)|不超过\s*\d+\s*(?:个)?(?:字|词"
    r"|token)|(?:之前|先前|上一?次)的?(?:摘要|总结)[:：]|新消息[:：]",
    regex.IGNORECASE,
)
ORDER = regex.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|the|your|of|my)\s+)*(?:previous|prior|above|earlier"
    r"|preceding|existing|system|other)?\s*(?:instructions?|prompts?|rules|directives?|guidelines|context)\b|"
    r"\byou\s+are\s+now\s+(?:an?\b|in\b|no\b|free|un)|\bnew\s+(?:system\s+)?instructions?\s*:|\b(?:reveal|print|repeat"
    r"|leak|show)\s+(?:your|the)\s+(?:system\s+)?(?:prompt|instructions)\b|"
    r"\b(?:assistant|model|ai|llm|you)\s+(?:must|should|shall|has\s+to|have\s+to|is\s+(?:required"
    r"|instructed)\s+to)\s+(?:now\s+|always\s+|only\s+)*(?:obey|ignore|comply|reveal|disregard|pretend)\b|"
    r"\bdo\s+anything\s+now\b|<\|[a-z_]{2,20}\|>|\[/?INST\]|<</?SYS>>|^\s*(?:system|developer)\s*[:：]\s"
    r"|^\s*#{2,}\s*(?:system|instruction)|"
    r"(?:忽略|无视|忘记|忘掉|跳过)(?:掉)?(?:之前|以上|上述|前面|先前|此前|所有|一切|你的|全部)[^。，,]{0,10}(?:指令|指示"
    r"|提示|规则|要求|设定|命令)|你现在是(?:一|没)|系统(?:提示词|指令)[:：是]|(?:助手|模型|AI)(?:必须|应当|务必)(?:服从"
    r"|忽略|假装)|泄露.{0,8}提示",
    regex.IGNORECASE,
)
WISH = regex.compile(
    r"\bfrom\s+now\s+on,?\s+you\b|\b(?:you|the\s+(?:assistant|model|ai|llm))\s+(?:must|should|shall|have\s+to"
    r"|has\s+to)\s+(?:now\s+|always\s+|never\s+|only\s+)*(?:respond|reply|answer|output|act|say|call)\b|"
    r"\b(?:pretend|act)\s+(?:to\s+be|as\s+(?:if\s+you|an?\s))|\b(?:system|developer)\s+(?:prompt|override)\b"
    r"|(?:从现在(?:起|开始)|现在开始)[，,]?你|(?:你|助手|模型|AI)(?:必须|应当|务必|只能)(?:总是|永远|只)?(?:回答|回复|输出|说)",
    regex.IGNORECASE,
)
NOTHING = regex.compile(
    r"^\s*\(?(?:none|n/a|nothing|unknown|not\s+(?:applicable|specified|mentioned|provided|stated)"
    r"|no\s+(?:open\s+)?(?:questions?|constraints?|decisions?|facts?|exclusions?)(?:\s+(?:yet|so\s+far|mentioned"
    r"|were\s+made|made|stated))?)"
    r"\s*(?:yet|mentioned|stated|so\s+far)?\)?\s*\.?\s*$|^\s*[（(]?(?:无|暂无|没有|未提及|不适用|未知)[)）]?\s*。?\s*$",
    regex.IGNORECASE,
)
MEMORY_TAG = regex.compile(r"memory\s*:", regex.IGNORECASE)
TOKEN = regex.compile(r"\p{Han}|[\p{L}\p{N}]+")
TITLE_LINES = frozenset(folded(title) for titles in TITLES.values() for title in titles.values())
LOOP_TOKENS = 12
ECHOED_CHARS = 24


def is_hostile(text: str, *, users: str = "") -> bool:
    """Whether a line gives orders to a model or holds a tag like one of ours. How the assistant should answer may be told if
    the user said so: `users` is what they said, folded."""
    flat = " ".join(text.split())
    if ORDER.search(flat) or defused(text) != text or ("<" in text and MEMORY_TAG.search(text)):
        return True
    wish = WISH.search(flat)
    return wish is not None and folded(wish[0]) not in users


def is_empty(text: str) -> bool:
    """Whether a line only says that there is nothing under its heading, or is a heading itself."""
    return (
        not TOKEN.search(text)
        or NOTHING.search(" ".join(text.split())) is not None
        or folded(text).strip(" :：-*#.") in TITLE_LINES
    )


def is_off_shape(text: str, *, instructions: Iterable[str] = (), said: str = "") -> bool:
    """Whether a line is no statement: reasoning, talk about the summary, an echo of what the summariser was told, or a loop.
    `said`: the sources, folded; what stands in them is no talk of the summariser's own."""
    flat = " ".join(text.split())
    marks = (found[0] for pattern in (REASONING, TALK, ECHO) if (found := pattern.search(flat)))
    return loops(text) or any(folded(mark) not in said for mark in marks) or any(echoes(text, told) for told in instructions)


def loops(text: str) -> bool:
    """Whether a text says the same few words over and over: half of its runs of three words came before."""
    tokens = TOKEN.findall(text.casefold())
    if len(tokens) < LOOP_TOKENS:
        return False
    runs = Counter(zip(tokens, tokens[1:], tokens[2:], strict=False))
    return 2 * len(runs) <= len(tokens) - 2


def echoes(text: str, told: str) -> bool:
    """Whether a line of some length stands in the instructions."""
    line = folded(text)
    return len(line) >= ECHOED_CHARS // (1 if line.isascii() else 2) and line in folded(told)
