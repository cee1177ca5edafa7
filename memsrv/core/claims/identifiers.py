"""What a text spells out and must be repeated to the letter: quotes, code, paths, addresses, ids, names of program parts."""

import unicodedata

import regex

from memsrv.core.remembering import remembered

REMEMBERED = 4096  # texts whose reading is kept: one compaction reads the same sentences again and again
LONGEST_QUOTE = 120
QUOTED = (
    rf"`(?P<code>[^`\n]{{1,{LONGEST_QUOTE}}})`"
    rf"|[“「『《〈](?P<quote>[^”」』》〉\n]{{1,{LONGEST_QUOTE}}})[”」』》〉]"
    rf"|(?<![\w\"])\"(?P<quote>[^\"\n]{{1,{LONGEST_QUOTE}}})\"(?!\w)"
    rf"|(?<![\w'’])[‘'](?P<quote>[^'’‘\n]{{2,{LONGEST_QUOTE}}})['’](?![\w'’])"
)
CODES = (
    r"(?:https?|ftp|ssh|wss?)://[^\s<>\"'`，。；、）】」]{1,500}"
    r"|(?<![\w.+-])[A-Za-z0-9_.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}"
    r"|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    r"|\b0x[0-9a-fA-F]{2,64}\b|\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,64}\b"
    r"|(?<![\w/.~])(?:~|\.{1,2})?(?:/[A-Za-z0-9_.@+-]{1,255}){2,32}/?|(?<![\w/])/[a-z][\w.-]{2,64}\b"
    r"|\b[A-Za-z]:\\[\w.\\ -]{1,255}"
    r"|(?<![\w/.])(?:[A-Za-z0-9_.@-]{1,64}/){1,16}[A-Za-z0-9_@-]{1,64}\.[A-Za-z0-9]{1,6}\b"
    r"|\b[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){0,3}"
    r"\.(?:py|js|ts|tsx|jsx|json|ya?ml|toml|md|txt|csv|sql|sh|go|rs|java|cpp|html?|css|pdf|docx?|xlsx?|pptx?|png|jpe?g"
    r"|svg|zip|ini|cfg|env|log)\b"
    r"|(?<![\w-])[A-Z][A-Z0-9]{0,9}-[0-9]{2,8}(?![\w-])|(?<!\w)#[0-9]{2,8}\b|(?<![\w-])[A-Z]{2,6}[0-9]{3,10}(?!\w)"
    r"|\b[A-Za-z0-9]{1,64}(?:_[A-Za-z0-9]{1,64}){1,16}\b|(?<!\w)[a-z]{2,64}(?:[A-Z][a-z0-9]{1,64}){1,16}(?!\w)"
    r"|(?<!\w)--[a-z][a-z-]{1,64}"
)
QUOTE_SCAN = regex.compile(QUOTED)
CODE_SCAN = regex.compile(CODES)
HINT = regex.compile(r"[/@\\_#0-9]|\.[A-Za-z]|[a-z][A-Z]|--|[a-fA-F]{8}-")
"""Some of every code: most sentences have none, and looking is dear."""
EDGES = " \t.,;:!?，。；：！？、"


@remembered(REMEMBERED)
def identifiers(text: str) -> frozenset[str]:
    """Quoted strings and codes, folded (see `folded`). Linear time."""
    text = unicodedata.normalize("NFKC", text)
    quotes = (found["code"] or found["quote"] for found in QUOTE_SCAN.finditer(text))
    codes = (found[0] for found in CODE_SCAN.finditer(text)) if HINT.search(text) else ()
    return frozenset(kept for found in (*quotes, *codes) if (kept := folded(found).strip(EDGES)))


def folded(text: str) -> str:
    """Text in which a quote can be looked for: compatibility forms, small letters, single blanks, straight quotation marks."""
    return " ".join(unicodedata.normalize("NFKC", text).replace("’", "'").replace("‘", "'").casefold().split())


def without_codes(text: str) -> str:
    """The text with blanks for its codes (not its quotes), so that the digits inside are not taken for numbers."""
    return CODE_SCAN.sub(" ", text) if HINT.search(text) else text
