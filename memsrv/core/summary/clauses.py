"""A message as sentences, a sentence as clauses, and either without what carries nothing.

(1) Every piece is a stretch of the text as it was said, in order; none is reworded.
(2) Code, quoted lines, our own memory blocks and list marks are left out.
(3) Only clauses are dropped that hold no number, no name, no negation and no condition.
"""

from collections.abc import Iterator

import regex

from memsrv.core.summary.acts import CONDITION, DECIDES, REQUIRES, folded, negated
from memsrv.core.text.marks import without_blocks
from memsrv.core.text.sentences import ABBREVIATIONS, NUMBER_WORDS

FENCED = regex.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", regex.DOTALL | regex.MULTILINE)
QUOTED_LINE = regex.compile(r"^[ \t]*>.*$", regex.MULTILINE)
LIST_MARK = regex.compile(
    r"^[ \t]*(?:[-*+•·](?=[ \t])|\d{1,2}[.](?=[ \t]|\p{Han})|\d{1,2}[)、]|[(（]\d{1,2}[)）]|#{1,6}(?=[ \t])|"
    r"[一二三四五六七八九十]+、)[ \t]*(?:\[[ xX]\][ \t]*)?(?=\S)"
)
EMPHASIS = regex.compile(r"\*\*|__|`")
STOP = regex.compile(
    r"(?P<wide>[。！？；…]+[”’」』）)\"~～]*)|(?P<mark>[.!?]+[\"'”’)\]]*)(?=\s|$|(?<=[!?][\"'”’)\]]*)(?=\p{Han}))|[;](?=\s)|\n+"
)
LAST_WORD = regex.compile(r"[\p{L}\p{M}.]+$")
LONGEST = 2_000  # characters of one message that are read sentence by sentence, from its beginning, and so many from its end

CLAUSE = regex.compile(r"[，；]|[,;](?=[\s\p{Han}])|\s+[-–—]+\s+|——|—(?=\S)|(?<=\p{Han}),|\s(?=\(but\s)|\s(?=but\s)")
OPENERS = regex.compile(
    r"""^(?:(?:ok(?:ay)?|well|so|hm+|uh+m?|um+|oh|ah+|aha|hey|hi|btw|by\ the\ way|also|and|but|anyway|anyways|right|
    alright|fyi|one\ more\ thing|another\ thing|last\ thing|one\ last\ thing|to\ be\ honest|tbh|honestly|look|
    listen|basically|sorry|
        great|perfect|cool|nice|thanks|thank\ you|got\ it|noted|understood|sure|great\ news|good\ (?:news|catch|
        point|question|idea|call|thinking)|yes|yeah|yep|please|actually|wait|no\ wait|hold\ on|true|fine|good|exactly|
        indeed|of\ course|absolutely|agreed|lol|haha+|ha|quick\ (?:one|question|note)|
        just\ (?:so\ you\ know|to\ be\ clear|to\ confirm)|to\ be\ clear|for\ the\ record|in\ that\ case|
        i\ (?:think|mean|guess|suppose)|you\ know|done|updated|corrected|clear|makes\ sense|fair\ enough|sounds\ good|
        no\ problem|next|first(?:ly)?|second(?:ly)?|finally|then|back)[\s]*[,.:;!–—-]+\s+
      |(?:hm+|uh+m?|um+|oh|ah|btw|haha+|lol|ok|okay|yeah|yep|yup|so|well|and|but|also|then|plus|ok\ so)\s+(?=\p{L}))+""",
    regex.VERBOSE | regex.IGNORECASE,
)
WIDE_OPENERS = regex.compile(
    r"^(?:(?:好的?[呀啊吧嘞]?|嗯+|哦+|啊|哎|唉|那个?|对了|对|另外|还有|然后|其实|说实话|老实说|我觉得|话说|行|"
    r"可以|没问题|等等|等一下|哈+|呃|额|嘛|明白了?|收到|了解|记下了?|记住了|知道了|好嘞|是的|OK|ok|谢谢|不过|"
    r"但是|而且|所以|顺便|顺便说一?下|首先|其次|最后|接着|当然|确实|没错|抱歉|不好意思|算了|哎呀|哎哟|"
    r"这样)[，,、。.：:！!～~\s]+|(?:对了|另外|然后|还有就是|就是说|话说|那就|那么))+"
)
CLOSERS = regex.compile(
    r"(?:[\s,]*(?<![\p{Latin}\p{N}_-])(?:please|pls|then|noted|got\ it|understood|thanks?|thank\ you|thx|right|ok(?:ay)?|lol|"
    r"haha+|btw|though|or\ so|i\ (?:think|guess)|you\ know|so\ far|cheers|sorry(?:\ in\ advance)?)|"
    r"[\s,，]*(?:谢谢|记下了?|收到|哈+|好吧)|\s*[:;][-']?[()DPp]|\s*[\p{So}\p{Sk}\ufe0f]+)[\s.!。！~～]*$",
    regex.VERBOSE | regex.IGNORECASE,
)
PARTICLES = regex.compile(r"(?<=\p{Han}|[a-zA-Z0-9])[吧啊哦呀哈嘛啦呢哟噢咯]+$")
END_MARKS = regex.compile(r"[\s.。!！;；,，、~～:：]+$")
REASON = regex.compile(
    r"^(?:because|since|as\ (?:it|we|i|the|that)|so\ that|which\ (?:is|was|would|should|makes)|and\ that's|"
    r"that's\ (?:what|why|how)|it's\ (?:just|been)|you\ know|i\ mean|i\ think|as\ you|like\ i|to\ be|因为|"
    r"毕竟|反正|这样|你知道|主要是|省得|免得|以防)",
    regex.VERBOSE | regex.IGNORECASE,
)
INNER_REASON = regex.compile(
    r"\s(?:because|since(?=\s(?:it|we|i|he|she|they|the|that|this)\b)|so\s(?:that|we\scan|i\scan)|as\s(?:it|they)(?:'s|\s))",
    regex.IGNORECASE,
)
HAN = regex.compile(r"\p{Han}")
WORDS = regex.compile(r"[\p{L}\p{N}_'’.-]+")
LONG_TEXT = 14  # words; a Han character counts as half of one
NAME = regex.compile(r"(?<!^)(?<![.!?]\s)\b\p{Lu}\p{L}+|\d|[《「『\"“]")


def plain(text: str) -> str:
    """The talk in a message: without memory blocks, code, quoted lines and emphasis."""
    text = QUOTED_LINE.sub("", FENCED.sub("", without_blocks(text)))
    if len(text) > 2 * LONGEST:
        text = text[:LONGEST] + "\n" + text[-LONGEST:]
    return EMPHASIS.sub("", text)


def sentences(text: str) -> Iterator[str]:
    """The sentences of plain talk, with their end marks, without list marks; never blank. A line ends a sentence."""
    for line in text.splitlines():
        mark = LIST_MARK.match(line)
        yield from pieces(line[mark.end() :] if mark else line)


def pieces(line: str) -> Iterator[str]:
    """The sentences of one line."""
    start = 0
    for stop in STOP.finditer(line):
        if stop["mark"] == "." and not ends(line, start, stop.start()):
            continue
        piece = line[start : stop.end()].strip()
        start = stop.end()
        if piece:
            yield piece
    if rest := line[start:].strip():
        yield rest


def ends(line: str, start: int, at: int) -> bool:
    """Whether the point at `at` ends a sentence, and not an abbreviation or initial. Chats write small letters after points."""
    found = LAST_WORD.search(line, start, at)
    if found is None:
        return True
    word = found[0].casefold()
    return not (
        word in ABBREVIATIONS
        or (word.endswith("str") and line[at + 1 :].lstrip()[:1].isdigit())
        or (len(word) == 1 and word != "i" and line[at + 1 : at + 3].strip()[:1].isupper())
        or (word in NUMBER_WORDS and line[at + 1 :].lstrip()[:1].isdigit() and word != "no")
        or ("." in word and all(len(part) <= 2 for part in word.split(".")))
    )


def clauses(sentence: str) -> list[str]:
    """The clauses of a sentence, each with the mark that ends it; a comma inside a number is none."""
    found, start = [], 0
    for mark in CLAUSE.finditer(sentence):
        if not inside(sentence, mark.start()):
            found.append(sentence[start : mark.end()])
            start = mark.end()
    found.append(sentence[start:])
    return [clause for clause in found if clause.strip()]


def inside(text: str, at: int) -> bool:
    """Whether a place lies inside brackets."""
    before = text[:at]
    return sum(before.count(mark) for mark in "(（[「『《“") > sum(before.count(mark) for mark in ")）]」』》”")


def bare(sentence: str) -> str:
    """A sentence without fillers at its beginning and end, polite words, particles and the end mark (a `?` stays)."""
    text = sentence.strip()
    for opener in (OPENERS, WIDE_OPENERS):
        found = opener.match(text)
        if found and len(text) - found.end() > 1:
            text = text[found.end() :]
    before = None
    while before != text:
        before = text
        text = PARTICLES.sub("", END_MARKS.sub("", CLOSERS.sub("", text)))
    return text.strip()


def weight(text: str) -> float:
    """The length of a text in words, a Han character as half a word."""
    return len(WORDS.findall(HAN.sub(" ", text))) + len(HAN.findall(text)) / 2


def shortened(text: str) -> str:
    """A long statement without clauses that only give a reason or fill; see (3). Short ones stay as they are."""
    if weight(text) <= LONG_TEXT / 3:
        return text
    parts = [piece for part in clauses(text) for piece in split_reason(part)]
    hard = weight(text) > LONG_TEXT
    kept = [part for index, part in enumerate(parts) if index == 0 or not drops(part, hard)]
    return END_MARKS.sub("", "".join(kept)) if len(kept) < len(parts) else text


def split_reason(clause: str) -> list[str]:
    """A clause, and the reason that it ends with as a clause of its own."""
    found = INNER_REASON.search(clause)
    return [clause[: found.start()], clause[found.start() :]] if found and found.start() > 8 else [clause]


def drops(clause: str, hard: bool) -> bool:
    """Whether a clause can go: it carries nothing to hold on to, and gives a reason or stands in a long sentence."""
    text = folded(clause).strip()
    if NAME.search(clause) or negated(text) or CONDITION.search(text):
        return False
    return REASON.match(text) is not None or (hard and not DECIDES.search(text) and not REQUIRES.search(text))
