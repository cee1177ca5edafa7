"""Proper names in a text: capitalised words, @handles, Latin words inside Chinese, and Chinese people by surname.

What is not sure is left out: a name that is missed is still a word, and words are compared too.
"""

import unicodedata
from collections.abc import Iterator

import regex

from memsrv.core.claims.days import MONTHS
from memsrv.core.claims.identifiers import without_codes
from memsrv.core.remembering import remembered

REMEMBERED = 4096  # texts whose reading is kept: one compaction reads the same sentences again and again
HANDLE = regex.compile(r"(?<![\w.])@[A-Za-z0-9_-]{2,64}")
WORD = regex.compile(r"\p{Latin}[\p{Latin}\p{M}\p{N}]*(?:['’.&-][\p{Latin}\p{N}]+)*\+{0,2}#?")
SENTENCE_START = regex.compile(r"(?:^|[.!?。！？:：;；…\n\"“”(（\[•|>]|[-–—*]\s|\d[.)])[\s\"'“‘*_(-]*$")
TITLED = regex.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|Rev|Sr|Jr)\.\s*$")
LISTED = regex.compile(r"(?:,\s|\s(?:and|or|&)\s)\p{Lu}")
LOOK_BACK = 8
POSSESSIVE = regex.compile(r"['’]s?$")

DAY_WORDS = "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur fri sat sun"
CALENDAR = frozenset((*MONTHS, *DAY_WORDS.split()))
PLAIN_LIST = """
i i'm i'll i've i'd im ok okay yes no nope yeah hi hello hey dear thanks thank please sorry mr mrs ms dr prof sir madam
am pm tbd tba todo asap fyi eta eur usd gbp cny rmb jpy chf n/a vs etc e.g i.e ps re faq a an the this that these those
it its he she we you they my our your his her their and or but so if when while user assistant customer client system
agent bot team human ai note goal decided decision decisions constraints open facts now summary
"""
PLAIN = frozenset(PLAIN_LIST.split())
GIVEN_LIST = """
aaron adam alan albert alex alexander alice alicia amanda amy andrea andrew angela ann anna anne annie anthony anton
antonio arthur ashley barbara ben benjamin beth bob brandon brian bruce carl carla carlos carol caroline catherine
charles charlie charlotte chloe chris christina christine christopher claire clara claudia colin daniel daniela dave
david deborah dennis derek diana diane diego dmitri donna dora dorothy douglas edward elena elizabeth ella ellen emily
emma eric erica erik ethan eva evelyn felix fiona frances francesca francis frank fred gabriel gary george gerald gina
gloria greg gregory hannah harold harry heather helen henry howard hugo ian igor ingrid irene isaac isabel isabella ivan
jack jackie jacob james jamie jan jane janet jason jean jeff jeffrey jen jennifer jenny jeremy jerry jess jessica jill
jim jimmy joan joanna joe joel johanna john johnny jon jonas jonathan jordan jose joseph josh joshua joyce juan judith
judy julia julian julie justin karen karl kate katherine kathleen kathy katie keith kelly ken kenneth kevin kim klaus
kyle larry laura lauren lena leo leon leonard linda lisa liz lori lucas lucia lucy luis luke maggie manuel marco
margaret maria marie marina mario mark martha martin martina mary matt matthew max maya megan melanie melissa mia
michael michelle miguel mike mila mohammed molly monica nadia nancy naomi natalie nathan neil nicholas nicole nick nina
noah nora olga oliver olivia omar oscar otto pablo pam pamela pat patricia patrick paul paula pedro peter phil philip
priya rachel ralph raymond rebecca richard rita rob robert robin roger roland ron ronald rosa rosie ruth ryan sally sam
samantha samuel sandra sara sarah scott sean sergio sharon simon sofia sonia sophia sophie stefan stella stephanie
stephen steve steven susan susanna sven sylvia tanya ted teresa theo theresa thomas tim timothy tina todd tom tommy tony
tracy ursula valerie vanessa vera veronica victor victoria vincent virginia walter wendy werner william yuki yusuf zoe
"""
GIVEN = frozenset(GIVEN_LIST.split()) - {
    "mark",
    "max",
    "pat",
    "rob",
    "frank",
    "joyce",
    "grace",
    "jean",
    "jack",
    "kim",
    "jan",
    "robin",
    "jordan",
}

SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金"
    "陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文欧"
)
COMPOUND = "欧阳|司马|上官|诸葛|司徒|东方|独孤|南宫|夏侯|慕容"
NAME = rf"(?:(?:{COMPOUND})|[{SURNAMES}])"
TITLES = (
    "先生|女士|小姐|老师|经理|总监|主任|医生|大夫|教授|同学|工程师|律师"
    "|阿姨|叔叔|师傅|总|工|姐|哥|老板|博士|护士|警官|队长|组长|部长"
)
AFTER = (
    "负责|说|表示|认为|觉得|建议|提出|提议|同意|反对|希望|喜欢|不|要|会|来|去|将|已|在|住|和|与|跟|的|是|、|,|，|。|;|；"
    "|:|：|\\)|）|撰|编|审|画|拍|运|送|开|想|做|对|也|都|没|写|参加|出席|主持|"
    "确认|决定|推荐|完成|提供|联系|处理|审核|安排|带|买|订|接|过敏|今年|一起|生日|爱|吃|请假|出差|$"
)
BEFORE = (
    "叫做|名叫|叫|联系人|负责人|联系|找|由|让|给|跟|和|与|同|请|问|是|对|向|、|@|姓名|邀请|通知|派|换成|改成|为|陪|接|见|约|^"
)
HAN_NAMES = (
    regex.compile(rf"(?P<name>{NAME})(?={TITLES})(?P<title>{TITLES})"),
    regex.compile(rf"(?<![\p{{Han}}])(?P<name>{NAME}\p{{Han}}{{1,2}}?)(?={AFTER})"),
    regex.compile(rf"(?<=(?:{BEFORE}))(?P<name>{NAME}\p{{Han}}{{1,2}}?)(?={AFTER}|{TITLES})"),
    regex.compile(rf"(?<![大最很太更较{SURNAMES}])(?P<name>[小老阿][{SURNAMES}])(?={AFTER}|{TITLES})"),
)
NO_NAME_LIST = """
高兴 高铁 高度 高级 高中 高温 高效 方案 方便 方式 方法 方向 方面 时间 程序 程度 金额 金属 任务 任何 任意 白色 白天 白菜
江苏 江西 黄色 黄油 黄金 黄瓜 马上 马路 马拉 何时 何必 何况 何地 于是 于此 万一 万元 许多 许可 常用 常见 常规 常常 文件
文档 文字 文化 文章 石头 田野 夏天 夏季 康复 龙虾 雷雨 钱包 毛衣 毛病 武器 易用 金融 余额 余下 余量 史上 段落 周末 周一
周二 周三 周四 周五 周六 周日 周天 周期 周年 周边 周围 周会 周报 周内 张开 张贴 马来 林业 高峰 石油 孔雀 金牌 白酒 白糖
白班 苏打 苏州 杭州 江南 江边 汤面 汤底 唐人 丁香 万科 万里 万能 万分 万事 万圣 常州 常温 武汉 武术 郑州 徐州 金华 金山
温度 龙井 熊猫 马桶 马甲 马达 牛奶 高速 高层 高端 高价 高清 高考 高压 高血 高血压 田园 钟点 钟头 姜汁 姜茶 叶子 叶片
夏令 夏令营 黄豆 黄昏 安排 成本 段时 段时间 顾客 顾问 顾虑 曾经 曾在 方才 任职 任期 对于 关于 石材 毛利 毛巾 毛坯 史料
贺卡 陆续 陆地 白板 白名 白名单 白纸 金色 文本 文员 文科 易于 易懂 易碎 应该 和平 宋体 蒋介 汪汪 唐装 朱红 胡同 胡椒
胡萝 胡萝卜 胡说 罗马 谢谢 谢绝 傅里 沈阳 彭博 吕梁 苏醒 蔡国 贾宝 魏晋 欧元 欧洲 欧盟 欧美 龙门 汤圆 黎明 黎巴 乔迁
赖床 任选 任一 何处 何种 黄山 林间 马力 马虎 高原 高低 高达 高于 高手 高数 方块 方形
"""
NO_NAMES = frozenset(NO_NAME_LIST.split())
NAMELESS_END = frozenset("的了是在和与不要会来去将已住也都没说想做对写")
HAN = regex.compile(r"\p{Han}")


@remembered(REMEMBERED)
def names(text: str) -> frozenset[str]:
    """Names in small letters, each word of a sequence by itself too ("anna schmidt", "anna", "schmidt"). Linear time."""
    plain = unicodedata.normalize("NFKC", text)
    text = without_codes(HANDLE.sub(" ", plain))
    found = {handle[0].lower() for handle in HANDLE.finditer(plain)} | set(latin_names(text))
    if HAN.search(text):
        found.update(han_names(text))
    return frozenset(found)


def latin_names(text: str) -> Iterator[str]:
    """Capitalised words that are not only the beginning of a sentence, their sequences, handles, and any Latin word that
    stands in Chinese."""
    sequence: list[str] = []
    end = -1
    for match in WORD.finditer(text):
        name = bare(match[0])
        if sequence and text[end : match.start()] != " ":
            yield from joined(sequence)
            sequence = []
        if is_name(text, match, name, bool(sequence)):
            yield name
            sequence.append(name)
        else:
            yield from joined(sequence)
            sequence = []
        end = match.end()
    yield from joined(sequence)


def joined(sequence: list[str]) -> Iterator[str]:
    if 2 <= len(sequence) <= 4:
        yield " ".join(sequence)


def bare(word: str) -> str:
    """A word in small letters without a possessive ending."""
    return POSSESSIVE.sub("", word).replace("’", "'").lower()


def is_name(text: str, match: regex.Match[str], name: str, follows: bool) -> bool:
    """Whether a Latin word is a name where it stands."""
    if len(name) < 2 or name in PLAIN or name.removesuffix("s") in CALENDAR or "'" in name.removeprefix("o'"):
        return False
    if in_han(text, match):
        return True
    if not match[0][0].isupper():
        return False
    inner_capitals = any(letter.isupper() for letter in match[0][1:])
    listed = LISTED.match(text, match.end()) is not None
    return follows or inner_capitals or listed or name in GIVEN or not starts_sentence(text, match.start())


def starts_sentence(text: str, at: int) -> bool:
    before = text[max(0, at - LOOK_BACK) : at]
    return not at or (SENTENCE_START.search(before) is not None and not TITLED.search(before))


def in_han(text: str, match: regex.Match[str]) -> bool:
    """Whether the nearest character beside a word, over blanks, is Han."""
    before, after = text[max(0, match.start() - 2) : match.start()].rstrip(), text[match.end() : match.end() + 2].lstrip()
    return bool(HAN.match(before[-1:]) or HAN.match(after[:1]))


def han_names(text: str) -> Iterator[str]:
    """Chinese people: a surname with a title, or with a given name where the words around say that it is one."""
    for pattern in HAN_NAMES:
        for match in pattern.finditer(text):
            name = match["name"]
            if len(name) > 1 and (name[:2] in NO_NAMES or name in NO_NAMES or name[-1] in NAMELESS_END):
                continue
            yield name + (match.groupdict().get("title") or "")
