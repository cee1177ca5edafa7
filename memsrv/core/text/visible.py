"""Text without what nobody can see.

Controls, bidirectional marks, fillers, tags and selectors hide text from people that a model still reads, or show it in another
order. They go, but for those that a script or an emoji needs to look right, each of these at most once in a place: joined
emoji, national flags, Persian and Indic joiners, Mongolian selectors stay as they are.
"""

import regex

LINE_ENDS = regex.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

HIDDEN = r"[[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]--[\t\n\r\p{Prepended_Concatenation_Mark}]]"
EMOJI = r"[\p{Emoji}--[\x00-\x7f]]"
JOINING = (
    r"[\p{Arabic}\p{Syriac}\p{Nko}\p{Mongolian}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}\p{Oriya}\p{Tamil}\p{Telugu}"
    r"\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Tibetan}\p{Myanmar}\p{Khmer}\p{Balinese}\p{Javanese}]"
)
"""Scripts in which a joiner between two letters changes how they look. Between others it only hides something."""
VIRAMA = "[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]"
FLAGS = "|".join("".join(chr(0xE0000 + ord(letter)) for letter in flag) for flag in ("gbeng", "gbsct", "gbwls"))
NEEDED = "|".join(
    (
        rf"(?<={JOINING})[\u200c\u200d](?={JOINING})",
        rf"(?<={VIRAMA})[\u200c\u200d]",
        rf"(?<={EMOJI}\ufe0f?)\u200d(?={EMOJI})",
        rf"(?<={EMOJI})[\ufe0e\ufe0f]",
        r"(?<=[#*0-9])\ufe0f(?=\u20e3)",
        r"(?<=[\u1820-\u18aa])[\u180b-\u180f]",
        rf"(?<=\U0001f3f4)(?:{FLAGS})\U000e007f",
    )
)
SUSPECT = regex.compile(HIDDEN, regex.V1)
SORTED = regex.compile(rf"({NEEDED})|{HIDDEN}", regex.V1)


def visible(text: str) -> str:
    """The text without what nobody can see. Linear time."""
    if (text.isascii() and text.isprintable()) or not SUSPECT.search(text):
        return text
    return SORTED.sub(lambda found: found[1] or "", text)
