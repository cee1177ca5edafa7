"""What a question says about whose words hold its answer: a speaker's name, "I" or "you"."""

import unicodedata
from collections.abc import Collection

import regex

FIRST_PERSON = regex.compile(r"\b(?:i|my|me|we|our|mine)\b|我|咱")
SECOND_PERSON = regex.compile(r"\b(?:you|your|yours)\b|[你您]")
ADDRESS = regex.compile(
    r"\b(?:do|can|could|would|will|did)\s+you\s+(?:still\s+|please\s+)?(?:remember|recall|know|tell|remind)(?:\s+me)?\b"
    r"|\byou\s+(?:still\s+)?remember\b|\b(?:tell|remind)\s+me\b|\b(?:to|with|for|from|told|asked|gave|give|ask)\s+(?:you|me)\b"
    r"|[你您]还?(?:记得|知道)|[你您]能?(?:告诉|提醒)我|请问|告诉我|[和跟与向给对][你您我]"
)
"""Words to the one who is asked, which do not say who spoke back then."""
QUESTION_ENDS = ("?", "？")


def asked_role(question: str) -> str | None:
    """Whose words are asked for: "user" where the asker speaks of themselves, "assistant" where of the one they ask, None
    where the question does not tell. The first pronoun counts that is left without words of address."""
    text = ADDRESS.sub(" ", unicodedata.normalize("NFKC", question).lower())
    first, second = FIRST_PERSON.search(text), SECOND_PERSON.search(text)
    if first and (not second or first.start() < second.start()):
        return "user"
    return "assistant" if second else None


def named(question: str, speakers: Collection[str]) -> set[str]:
    """The speakers whose name, or first word of it, the question holds; none if it holds all of them."""
    text = unicodedata.normalize("NFKC", question).casefold()
    found = {speaker for speaker in speakers if any(holds(text, form) for form in forms(speaker))}
    return found if len(found) < len(speakers) else set()


def forms(speaker: str) -> set[str]:
    """How a speaker may be called: in full, or by the first word, of two letters at least."""
    whole = unicodedata.normalize("NFKC", speaker).casefold().strip()
    return {form for form in (whole, *whole.split()[:1]) if len(form) > 1}


def holds(text: str, name: str) -> bool:
    """Whether a name stands in a text; a Latin one as a word of its own."""
    if not name.isascii():
        return name in text
    return regex.search(rf"(?<![a-z0-9]){regex.escape(name)}(?![a-z0-9])", text) is not None


def is_question(text: str) -> bool:
    """Whether a text ends as a question: such a piece seldom holds an answer."""
    return text.rstrip().endswith(QUESTION_ENDS)
