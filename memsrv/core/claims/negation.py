"""What a text negates: cues, how far each reaches, and whether a term comes out affirmed; English, Chinese and mixed.

(1) A scope stays within one clause, lists included ("no nuts, eggs or milk"); the cue itself is no part of it.
(2) Two scopes over the same words undo each other: "don't cancel the tour" affirms the tour.
(3) Phrases that only look like a negation ("not only", "no problem", 不仅, 没问题) have no scope.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import regex

from memsrv.core.remembering import remembered
from memsrv.model import Span


@dataclass(frozen=True, slots=True)
class Negation:
    """A cue, where it stands, and the stretches of text that it negates: none if it stands alone ("I'd rather not").
    `excludes`: it rules a thing out (no, instead of, cancel, 不要, 取消) rather than denies a predicate (doesn't, 没)."""

    cue: str
    span: Span
    scope: tuple[Span, ...]
    excludes: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of a text with one reading: `negated` or not; `excluded` if a cue that rules out did it."""

    span: Span
    negated: bool
    excluded: bool = False


# --- what is no negation --------------------------------------------------------------------------------------------

REMEMBERED = 4096  # texts whose reading is kept: one compaction reads the same sentences again and again
HARMLESS_EN = (
    r"not\s+only|not\s+just|not\s+merely|no\s+problem|no\s+worries|no\s+doubt|no\s+matter|no\s+wonder|no\s+idea"
    r"|no\s+one\s+knows|not\s+bad"
    r"|no\s+(?:more|less|fewer|later|earlier|sooner|longer)\s+than|not\s+(?:more|less|fewer|later|earlier|sooner|longer"
    r"|before|until|till)\b"
    r"|not\s+(?:sure|certain)|(?:do|did)n['’]?t\s+know|do\s+not\s+know"
    r"|why\s+(?:not|don['’]?t)|whether\s+or\s+not|or\s+not\b|if\s+not\b|not\s+to\s+mention|last\s+but\s+not\s+least"
    r"|can['’]?t\s+wait"
    r"|(?:can['’]?t|cannot|could\s*n['’]?t)\s+help|nothing\s+but|(?:do|does|did|would)(?:n['’]?t|\s+not)\s+(?:mind|matter"
    r"|hesitate)"
    r"|(?:do|did)(?:n['’]?t|\s+not)\s+(?:you\s+)?forget|never\s+(?:mind|forget)|is\s*n['’]?t\s+it|are\s*n['’]?t\s+(?:you"
    r"|we|they)|no\s*\.\s*\d"
    r"|(?:non[- ])?stop(?:s|ped)?\s+(?:by|at|in|over|for)\b|non-?stop|bus\s+stop|drop(?:ped|s|ping)?\s+(?:off|by|in|me"
    r"|it\s+off)|not\s+least|any\s+(?:old\s+)?time\s+now"
    r"|no\s+later\s+than|could\s*n['’]?t\s+agree\s+more|(?:ca|could)n['’]?t\s+(?:be\s+)?(?:better|happier)"
    r"|not\s+that\s+\w+\s+matters"
    r"|except\s+(?:if|when)|skip\s+to|without\s+(?:a\s+)?(?:doubt|fail|question)|remove\s+(?:from|the\s+lid)"
    r"|no\s+need\s+to\s+(?:worry|thank)"
    r"|against\s+the\s+(?:wall|clock)"
)
HARMLESS_ZH = (
    "不仅|不但|不只|不光|不单|不错|没问题|没关系|没事|不客气|不好意思|不得不|不能不|不可不|不会不|不过|不久|不断|不管"
    "|不论|不然|要不然|要不|不妨|不至于|不由|不止|不愧"
    "|不可思议|不得了|不料|不见不散|不见得|不一定|不确定|不清楚|不知道|不太确定|不太清楚|拿不准|没准|说不定|差不多|了不起"
    "|不少|没想到|不如|不用谢|不必客气|不必担心|不用担心|别担心|别急|不急|不着急"
    "|别忘[了记]?|不要忘[了记]?|不超过|不多于|不少于|不低于|不高于|不晚于|不早于|不迟于|不大于|不小于|不同|不等于|不变"
    "|除非|无论|无线|无所谓|无比|无数|无法想象"
    "|别超|不要超|不能超|不可超|不得超|未来|未免|未必|从未来|别的|别人|别名|别墅|别处|别致|特别|分别|区别|级别|类别|性别"
    "|告别|差别|个别|识别|辨别|鉴别|非常|并非常|莫名|(?<=[\\p{Han}])没(?=[有]?[?？]|$)"
    "|是不是|能不能|会不会|要不要|好不好|对不对|行不行|可不可以|可以不可以|有没有|想不想|用不用|需不需要|需要不需要"
    "|去不去|该不该|吃不吃|买不买|做不做|来不来|在不在|(\\p{Han})不\\1"
    "|不好说|没错|不对劲|不再犹豫|无妨|无碍|毫无疑问|不成问题|巴不得|恨不得|免费|避免不了|不可避免|难免|免得|停止符"
    "|不锈钢|不动产|不等式|不倒翁"
)
REPLY = r"(?:^|(?<=[.!?。！？\n]))\s*(?:no|nope|nah|不|没有|不是)(?=\s*[,，.。!！…]|\s+[-–—])"
HARMLESS = regex.compile(rf"\b(?=[a-z])(?:{HARMLESS_EN})|(?=\p{{Han}})(?:{HARMLESS_ZH})|{REPLY}", regex.IGNORECASE)

# --- cues -----------------------------------------------------------------------------------------------------------

NT = r"(?:ca|wo|do|does|did|is|are|was|were|has|have|had|would|should|could|must|need|ai|sha|might)n['’]?t\b|\bcannot\b"
WISH = (
    r"(?:want|need|like|use|take|include|choose|pick|go\s+(?:with|for)|consider|"
    r"support|accept|allow|have|buy|add|do|plan\s+on|invite|book|order|get)"
)
BARE_NOT = (  # without an auxiliary: "not Rome"
    r"(?=not)(?<!\b(?:is|are|was|were|am|be|been|do|does|did|has|have|had|will|would|should|could|can|must|may|might|or|why"
    r"|['’]m|['’]re|['’]s)\s)not"
)
EXCLUDING_EN = (
    r"no\s+longer|not\s+any\s*more|without|instead\s+of|in\s+place\s+of|rather\s+than|as\s+opposed\s+to|other\s+than"
    r"|except(?:\s+for)?|excluding|apart\s+from|aside\s+from"
    r"|(?:exclud|avoid|reject|refus|declin|forbid|forbidd|prohibit|ban|banning|bann|bar|barr|veto|cancel|cancell|scrap"
    r"|scrapp|abandon|eliminat|omit|omitt|discard|dismiss|dump|oppos)(?:e?s|ed|es|ing|e)?"
    r"|avoid(?:s|ed|ing|ance)?|forbidden|forbade|stop(?:s|ped|ping)?|quit(?:s|ting)?|skip(?:s|ped|ping)?|drop(?:s|ped"
    r"|ping)?|ditch(?:es|ed|ing)?"
    r"|remov(?:e|es|ed|ing)|steer(?:s|ing)?\s+clear\s+of|stay(?:s|ing)?\s+away\s+from|keep(?:s|ing)?\s+away\s+from"
    r"|give(?:s)?\s+up(?:\s+on)?|gave\s+up(?:\s+on)?|giving\s+up(?:\s+on)?"
    r"|rul(?:e|es|ed|ing)\s+out|turn(?:s|ed|ing)?\s+down|call(?:s|ed|ing)?\s+off|get(?:ting)?\s+rid\s+of|say(?:s"
    r"|ing)?\s+no\s+to|said\s+no\s+to|leav(?:e|es|ing)\s+out|left\s+out"
    r"|cut(?:s|ting)?\s+out|free\s+(?:of|from)|against|allerg(?:y|ies|ic)\s+to|intoleran(?:t|ce)\s+(?:to|of)|hat(?:e|es"
    r"|ed)|dislik(?:e|es|ed)|can['’]?t\s+stand|replac(?:e|es|ed|ing)(?!\s+(?:by|with))"
    rf"|(?:{NT}|not|never)(?=\s+(?:really\s+|even\s+|to\s+|be\s+|going\s+to\s+|gonna\s+|want\s+(?:to\s+|any\s+)?"
    rf"|need\s+to\s+|have\s+to\s+)*{WISH})"
    rf"|(?:^|(?<=[.!?;:,\n]\s{{0,2}}))(?:please\s+|just\s+)?(?:do\s?n['’]?t|do\s+not|never)|{BARE_NOT}|no|none\s+of|neither|nor"
)
DENYING_EN = (
    rf"{NT}|not|never|hardly|fail(?:s|ed)?\s+to|unable\s+to|nobody|no\s+one|nothing|nowhere|"
    r"dont|doesnt|didnt|wont|cant|isnt|arent|wasnt|lack(?:s|ed|ing)?"
)
POSSIBLE = (
    r"(?:an?\s+)?(?:option|possible|allowed|acceptable|needed|required|necessary|wanted|okay|ok|good|feasible|permitted"
    r"|available|suitable|going\s+to\s+(?:work|happen)|"
    r"happening|on\s+the\s+table)"
)
GONE = (
    r"(?:ruled\s+out|off\s+the\s+(?:table|menu|list)|out\s+of\s+the\s+question|off[- ]limits|out(?=\s*(?:[.,;!]|$|for\b"
    r"|because\b|as\b))|excluded|cancell?ed|called\s+off|rejected|dropped|"
    r"scrapped|skipped|avoided|banned|barred|forbidden|prohibited|removed|vetoed|declined|refused|dismissed|discarded"
    r"|abandoned|omitted|turned\s+down|left\s+out|crossed\s+off|"
    r"a\s+no[- ]go|no[- ]go|a\s+deal[- ]?breaker|unacceptable)"
)
ADVERBS = r"(?:now\s+|all\s+|both\s+|explicitly\s+|officially\s+|also\s+|completely\s+|to\s+be\s+)*"
BACKWARD_EN = (
    rf"(?:is|are|was|were|be|been|being|got|get|gets|has\s+been|have\s+been|['’]s|['’]re)\s+{ADVERBS}{GONE}"
    rf"|(?:(?:is|are|was|were|['’]s|['’]re)\s+)?(?:not|no\s+longer|never)\s+{ADVERBS}{POSSIBLE}(?!\s+to\b)|(?:is|are|was"
    rf"|were)n['’]t\s+{ADVERBS}{POSSIBLE}(?!\s+to\b)"
    r"|(?:will\s+)?go(?:es)?\s+away|(?:is|are|be|being)\s+phased\s+out"
    r"|(?:does|do|did|will|would|wo)(?:n['’]?t|\s+not)\s+work(?:\s+for\b)?|ruled\s+out|off\s+the\s+table|no\s+thanks?"
    r"|not\s+any\s*more"
    r"|(?:must|may|can|should)\s+(?:not|never)\s+be\s+\w+|(?:ca|should|must)n['’]?t\s+be\s+\w+|to\s+be\s+avoided"
)
NEGATED_ADJECTIVE = (
    r"(?:excluded|excepted|rejected|declined|cancell?ed|banned|forbidden|prohibited|vetoed|scrapped|dropped|skipped|barred)"
    r"(?=\s*(?:[.,;!)]|$|(?:since|because|due|for|as|from|by|on|at|in|until)\b))"
)

FORWARD_ZH = (
    "而不是|而非|除了|除去|除开|除|不再|不要再|不要|不需要|不用|不必|不想|不能|不可以|不可|不许|不准|不得|不喜欢|不考虑"
    "|不接受|不同意|不支持|不允许|不打算|不愿意?"
    "|无需|无须|不含|避免|禁止|严禁|禁用|取消|拒绝|排除|放弃|去掉|删掉|删除|停止|停用|停掉|暂停|反对|讨厌|忌口?|勿|切勿"
    "|别再|别|谢绝|否决|剔除|戒掉?|代替|替代|取代|不(?!会|是)"
)
DENY_ZH = "没有|没|不会|不是|并非|未曾|从未|尚未|还未|未|无(?=\\p{Han})|毫无|缺乏"
BACKWARD_ZH = (
    "不行|不可行|不合适|不方便|不可以|不考虑|不要了?|不用了?|不需要|不能用|不喜欢|不去了|作罢|算了|免了|免谈|取消|排除"
    "|否决|放弃|作废|过敏|不允许|不接受|不能接受|拒绝|被拒|被否|不采用|不在考虑范围|不在范围内?|不纳入|不安排|不包括"
    "|不包含|除外|禁止|停用|不行了"
    "|没了|没戏|行不通|免"
)
TAIL_ZH = "(?=[了吧啦的啊呀哦掉过]{0,2}\\s*(?:[,，.。;；!！?？、)）:：\\n]|$))"

CHANGING = "mov|chang|switch|reschedul|rais|lower|push|shift|postpon|cut|increas|reduc|bump|brought|bring|migrat|went|go"
CHOOSING = r"prefer\w*|chos\w+|choos\w+|pick\w*|went\s+with|going\s+with|go\s+with|select\w*|favou?r\w*|win\w*|won"
LABEL = (
    r"(?:^|(?<=[\s(（,，;；。.]))(?:rejected|excluded|ruled\s+out|dropped|cancel+ed|declined|not\s+wanted|avoid"
    r"|exclusions?|without|no|not|不采用|排除|不要|否决|取消|放弃|拒绝|禁止|避免|不用|不考虑)"
    r"\s*[:：]"
)
CUES = regex.compile(
    rf"(?P<label>{LABEL})"
    rf"|(?P<changed>(?=from)(?<=\b(?:{CHANGING})\w*\b[^.;!?\n]{{0,40}}?)\bfrom(?=\s+[^.;!?\n]{{1,40}}?\bto\b)"
    rf"|从(?=[^,，。;；\n]{{1,20}}?(?:改|换|调|推迟|提前|挪|移|降|升|提高|增加|减少|延)[到成为至]))"
    rf"|(?P<between>(?=over)(?<=\b(?:{CHOOSING})\b[^.,;!?\n]{{1,60}}?)\bover(?=\s))"
    rf"|(?P<free>(?=[- ])(?<=\w)(?:-free|[- ]allerg(?:y|ies)|[- ]intoleran(?:t|ce))\b(?!\s+to\b))"
    rf"|(?P<backward>\b(?:{BACKWARD_EN})|(?=[bcdefprsv])(?<!\b(?:we|i|they|he|she|you|and|have|has|had)\s)\b{NEGATED_ADJECTIVE}"
    rf"|(?:{BACKWARD_ZH}){TAIL_ZH})"
    rf"|(?P<excluding>\b(?:{EXCLUDING_EN})\b|(?:{FORWARD_ZH}))"
    rf"|(?P<denying>\b(?:{DENYING_EN})\b|(?:{DENY_ZH}))",
    regex.IGNORECASE,
)

# --- clauses --------------------------------------------------------------------------------------------------------

HARD = r"[.!?](?=[\s\"'”’)\]]|$)|[;:。！？；：\n\r]|\s[-–—]{1,3}\s|[—–]+|…|[()（）\[\]]"
TURN = (
    r"\b(?:but|however|though|although|because|since|so|yet|unless|until|whereas|while|when|which|who|instead(?!\s+of)"
    r"|then|just|only|if|"
    r"as\s+(?:it|they|we|he|she|that)|that['’]s\s+why)\b"
    r"|但是?|可是|不过|然而|因为|所以|因此|而是|而(?!且|不|非)|就(?=[用选去买做改是])|改用|改成|改为|换成|如果|虽然"
    r"|只(?=[用选要能])|还是"
)
EDGE = regex.compile(rf"(?P<hard>{HARD})|(?P<turn>{TURN})|(?P<comma>[,，])", regex.IGNORECASE)
NO_ITEM = (
    "i|we|you|they|he|she|it|let|let's|lets|please|use|make|go|take|keep|book|try|choose|pick|buy|do|have|get|send|set"
    "|maybe|that|this|"
    "there|thanks|ok|okay|yes|actually|right|sure|both|all|everything|everyone|fine|no|not|don't|never|without"
)
ITEM = rf"(?!(?:{NO_ITEM})\b)[\p{{L}}\p{{N}}'’-]+(?:\s+(?!(?:and|or|nor)\b)[\p{{L}}\p{{N}}'’-]+){{0,2}}"
LIST_REST = regex.compile(rf"(?:,\s*{ITEM}){{0,12}}\s*,?\s*(?:and|or|nor)\s+{ITEM}(?=\s*(?:[,.;!?)]|$))", regex.IGNORECASE)
LIST_HEAD = regex.compile(rf"{ITEM}\s*", regex.IGNORECASE)
LEADING = regex.compile(r"(?:instead\s+of|rather\s+than|except|apart|aside|without|other\s+than|not|除)", regex.IGNORECASE)
JOINER = regex.compile(r"(?:\b(?:and|or|nor)|[和与或及、,，/])\s*$", regex.IGNORECASE)
CHANGED_END = regex.compile(r"\bto\b|改|换|调|推迟|提前|挪|移|降|升|提高|增加|减少|延", regex.IGNORECASE)
EXCEPT_ZH = regex.compile("除[了去开]?")
EXCEPT_END_ZH = regex.compile("以外|之外|外|都|全")
INCLUDING_ZH = regex.compile("还|也|另")
SHORT_TAIL_ZH = regex.compile(r"再?\p{Han}?[了吧啦的啊呀哦]?\s*(?=[,，.。;；!！、)）\n]|$)")
BARE_LIST = "不要 不用 不能 不可以 不可 不许 不准 别 勿 不想 不需要 不必 无需 不要再 别再 不"
BARE_ZH = frozenset(BARE_LIST.split())
STATES_ZH = frozenset("来去在会知懂变错同是行够想敢爱好")
"""After 不 they say something of a person or thing, and rule nothing out: 王磊不来."""
"""Before a verb of one character they speak of what stands first: 香菜不要放."""
WORD_BEFORE = regex.compile(r"(?r)[\p{L}\p{N}'’]+")
HINT = regex.compile(
    "n['’]t|[不没别无未非勿免禁除取拒排放去删停暂反讨忌谢否剔戒代替作算过从缺被行而避严切毫并]|-free", regex.IGNORECASE
)
HINT_WORD = regex.compile("[a-z]+")
HINT_LIST = """
goes go will phased
no not never without instead place rather opposed other except excluding apart aside exclude avoid reject refuse
decline forbid forbade prohibit ban banned bans barred bar bars veto cancel scrap abandon eliminate omit discard
dismiss dump oppose stop quit skip drop ditch remove steer stay keep give gave giving rule ruling turn call get say
saying said leave leaving left cut free against allergy intolerant hate hating dislike stand replace neither nor none
nobody nothing nowhere hardly fail unable dont doesnt didnt wont cant cannot isnt arent wasnt lack out off crossed
unacceptable from over deal won work
"""
HINT_WORDS = frozenset(word[:4] for word in HINT_LIST.split())
"""The first letters of the words without which there is no cue: most sentences have none, and looking is dear."""
LONGEST_SCOPE = 240
BLANKED = "\0"


@remembered(REMEMBERED)
def negations(text: str) -> tuple[Negation, ...]:
    """The negations of a text, in order. Offsets are the text's own. Linear time."""
    if not may_negate(text):
        return ()
    masked = HARMLESS.sub(lambda found: BLANKED * len(found[0]), text)
    cues = list(CUES.finditer(masked))
    if not cues:
        return ()
    return tuple(_negations(masked, cues, [Edge(found) for found in EDGE.finditer(masked)]))


@remembered(REMEMBERED)
def may_negate(text: str) -> bool:
    """Whether it is worth looking for negations. What has none has none in its parts either."""
    return HINT.search(text) is not None or not HINT_WORDS.isdisjoint(word[:4] for word in HINT_WORD.findall(text.lower()))


class Edge:
    """An end of a clause, or a comma, which may be one."""

    def __init__(self, found: regex.Match[str]) -> None:
        self.start, self.end = found.span()
        self.kind = str(found.lastgroup)


def _negations(text: str, cues: Sequence[regex.Match[str]], edges: Sequence[Edge]) -> Iterator[Negation]:
    starts = [edge.start for edge in edges]
    reached = 0  # how far the forward scope of the cues before goes
    for cue, follower in zip(cues, (*cues[1:], None), strict=True):
        at = bisect_left(starts, cue.start())
        under = reached > cue.start()
        begin = clause_start(text, edges, at, cue.start())
        end = clause_end(text, edges, at, cue, begin)
        if follower and follower.start() < end and begins_anew(text, follower):
            end = follower.start()
        spans = scope(text, cue, begin, end, under=under, over=follower is not None and follower.start() < end)
        reached = max([reached, *(span.end for span in spans if span.start >= cue.end())])
        yield Negation(cue[0], Span(*cue.span()), spans, cue.lastgroup != "denying")


def begins_anew(text: str, cue: regex.Match[str]) -> bool:
    """Whether a cue stands beside the one before it, not under it: "no nuts and no eggs"."""
    return cue[0].casefold() == "nor" or JOINER.search(text, max(0, cue.start() - 8), cue.start()) is not None


def scope(text: str, cue: regex.Match[str], begin: int, end: int, *, under: bool, over: bool) -> tuple[Span, ...]:
    """What a cue negates. One that is negated itself ("isn't ruled out") has nothing before it, nor has one that negates
    another."""
    kind = cue.lastgroup
    if kind == "free":
        word = WORD_BEFORE.search(text, begin, cue.start())
        return filled(text, word.start(), cue.start()) if word else ()
    before = () if under else filled(text, begin, cue.start())
    if kind == "backward":
        return before
    if kind == "changed":
        until = CHANGED_END.search(text, cue.end(), end)
        return filled(text, cue.end(), until.start() if until else end)
    if EXCEPT_ZH.fullmatch(cue[0]):
        return except_scope(text, cue.end(), end)
    after = filled(text, cue.end(), end)
    if kind == "label":
        return after
    verb = cue[0] != "不" or text[cue.end() : cue.end() + 1] not in STATES_ZH
    topic_first = verb and not over and cue[0] in BARE_ZH and SHORT_TAIL_ZH.match(text, cue.end())
    return (*before, *after) if topic_first else after


def except_scope(text: str, start: int, end: int) -> tuple[Span, ...]:
    """What 除了 takes out; with 还 or 也 after it, it takes nothing out."""
    if INCLUDING_ZH.search(text, end, end + 24) or INCLUDING_ZH.search(text, start, end):
        return ()
    until = EXCEPT_END_ZH.search(text, start, end)
    return filled(text, start, until.start() if until else end)


def filled(text: str, start: int, end: int) -> tuple[Span, ...]:
    """A span, if there is anything in it."""
    return (Span(start, end),) if text[start:end].strip(f" ,，{BLANKED}") else ()


def clause_start(text: str, edges: Sequence[Edge], at: int, start: int) -> int:
    """Where the clause before a cue begins: after the last edge, but a list is taken whole."""
    end = start
    for edge in reversed(edges[max(0, at - 12) : at]):
        if edge.kind != "comma" or (end != start and not LIST_HEAD.fullmatch(text, edge.end, end)):
            return edge.end
        if end == start and not regex.search(r"\b(?:and|or)\b", text[edge.end : start], regex.IGNORECASE):
            return edge.end
        end = edge.start
    return max(0, start - LONGEST_SCOPE) if at else 0


def clause_end(text: str, edges: Sequence[Edge], at: int, cue: regex.Match[str], begin: int) -> int:
    """Where the clause after a cue ends: at a turn or a mark; at a comma too, unless a list goes on ("no nuts, eggs or milk")."""
    limit = min(len(text), cue.end() + LONGEST_SCOPE)
    leads = LEADING.match(cue[0]) is not None and not text[begin : cue.start()].strip()
    for edge in edges[at : at + 40]:
        if edge.start < cue.end():
            continue
        if edge.start > limit:
            break
        if edge.kind != "comma" or leads:
            return edge.start
        listed = LIST_REST.match(text, edge.start, limit)
        return listed.end() if listed else edge.start
    return limit


# --- readings -------------------------------------------------------------------------------------------------------


@remembered(REMEMBERED)
def stretches(text: str) -> tuple[Stretch, ...]:
    """The whole text in pieces, each negated or not; two scopes over the same words undo each other, the words of a cue
    belong to no piece."""
    found = negations(text)
    scopes = [(span, negation.excludes) for negation in found for span in negation.scope]
    cues = sorted((negation.span for negation in found), key=lambda span: span.start)
    marks = {0, len(text)} | {edge for span in (*cues, *(span for span, _ in scopes)) for edge in (span.start, span.end)}
    return tuple(_stretches(sorted(marks), scopes, cues))


def _stretches(marks: Sequence[int], scopes: Sequence[tuple[Span, bool]], cues: Sequence[Span]) -> Iterator[Stretch]:
    opening, closing = sorted(scopes, key=lambda one: one[0].start), sorted(scopes, key=lambda one: one[0].end)
    opened = closed = covering = excluding = cue = 0
    for start, end in pairwise(marks):
        while opened < len(opening) and opening[opened][0].start <= start:
            covering, excluding, opened = covering + 1, excluding + opening[opened][1], opened + 1
        while closed < len(closing) and closing[closed][0].end <= start:
            covering, excluding, closed = covering - 1, excluding - closing[closed][1], closed + 1
        while cue < len(cues) and cues[cue].end <= start:
            cue += 1
        if cue == len(cues) or start < cues[cue].start:
            yield Stretch(Span(start, end), covering % 2 == 1, excluding > 0)


def polarity(text: str, term: str) -> bool | None:
    """Whether a text affirms (True) or negates (False) a term, by the last place where it does either; None if it has none.

    Latin words are compared by their stems, other scripts as they are.
    """
    said: bool | None = None
    for stretch in stretches(text):
        if mentions(text[stretch.span.start : stretch.span.end], term):
            said = not stretch.negated
    return said


def mentions(text: str, term: str) -> bool:
    """Whether a text has a term, word by word, in whatever ending."""
    wanted = [stem(word) for word in LATIN_WORD.findall(term)]
    if not wanted:
        return term.casefold() in text.casefold()
    return f" {' '.join(wanted)} " in f" {' '.join(stem(word) for word in LATIN_WORD.findall(text))} "


LATIN_WORD = regex.compile(r"[\p{L}\p{N}--\p{Han}]+(?:['’][\p{L}]+)?", regex.V1)
ENDINGS = regex.compile(r"(?<=\w{3})(?:ing|ed|es|s|e|ly)$|(?<=\w{2})(?:['’]s)$")


def stem(word: str) -> str:
    """A word without its commonest endings: uses, used, using, use are one."""
    short = ENDINGS.sub("", ENDINGS.sub("", word.casefold()))
    if short.endswith("i"):
        return short[:-1] + "y"
    return short[:-1] if len(short) > 3 and short[-1] == short[-2] and short[-1] not in "aeiouls" else short


# --- certainty ------------------------------------------------------------------------------------------------------

HEDGES = regex.compile(
    r"\b(?:maybe|perhaps|probably|possibly|presumably|tentative(?:ly)?|might|unsure|undecided|unconfirmed|hopefully"
    r"|not\s+(?:entirely\s+|quite\s+|yet\s+)?(?:sure|certain|decided|confirmed|settled|final)|tbd|tbc|"
    r"(?:have|has)(?:n['’]t|\s+not)\s+(?:yet\s+)?(?:decided|made\s+up|settled|confirmed|chosen)|(?:do"
    r"|does)n['’]t\s+know\s+(?:yet|if|whether)|"
    r"(?:am|are|is|was|were|['’]m|['’]re|['’]s|been|still)\s+(?:also\s+|still\s+|just\s+)?(?:considering|thinking\s+(?:of"
    r"|about)|debating|leaning|wondering|torn)|leaning\s+towards?|considering|we['’]ll\s+see|let['’]s\s+see|"
    r"what\s+if|(?:wonder|see|check|ask|know|sure|find\s+out|decide)\s+(?:if|whether)|(?:we|you|i|it|they|he|she"
    r"|one)\s+could|up\s+in\s+the\s+air|i\s+guess|i\s+suppose|likely|open\s+question|pending)\b"
    r"|\b(?-i:may)\s+(?:be|have|not|need|want|also|go|take|use|come|do|work|change)\b"
    r"|(?<![不尽])可能|也许|大概|或许|说不定|不确定|不太确定|不一定|没准|拿不准|(?<![不])考虑(?![了过])|再看看|再说|再议"
    r"|待定|待确认|没想好|没定|没决定|未定|估计|好像|似乎|暂定|初步|犹豫|倾向|还在想|要不要|是否",
    regex.IGNORECASE,
)
CONDITIONS = regex.compile(
    r"\b(?<!\b(?:what|as|even|wonder|see|check|ask|know|sure|whether\s+or|wondering|decide)\s)if\b(?!\s+(?:not|any"
    r"|possible|you\s+(?:like|want|don['’]t\s+mind)|i\s+(?:recall|remember))\b)"
    r"|\b(?:unless|provided(?:\s+that)?|as\s+long\s+as|in\s+case|depend(?:s|ing)\s+on|assuming|subject\s+to"
    r"|on\s+(?:the\s+)?condition|contingent|only\s+when|in\s+the\s+event|otherwise)\b"
    r"|如果|要是|假如|倘若|除非|只要|万一|一旦|取决于|的话|前提|若(?!干)|(?<![不例比假])如(?![何此今下同上果])"
    r"|(?<![否原规法守细])则(?![是而])|视.{1,8}而定",
    regex.IGNORECASE,
)


@remembered(REMEMBERED)
def hedged(text: str) -> bool:
    """Whether a text says that it is not sure or not settled."""
    return HEDGES.search(text) is not None


@remembered(REMEMBERED)
def conditional(text: str) -> bool:
    """Whether what a text says hangs on a condition."""
    return CONDITIONS.search(text) is not None
