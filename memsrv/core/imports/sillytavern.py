"""SillyTavern's chats: JSON Lines, a header and a message a line.

`mes` is what is shown; the other `swipes` are skipped. Messages that a user hid from the model are talk and are kept; the
app's own notes are not. Messages have no ids: one that is changed in the file is a new one here.
"""

from collections.abc import Mapping
from typing import Any

from memsrv.core.imports.drafts import NOT_A_MESSAGE, NOTE, OTHER_ANSWER, Gathering, hashed
from memsrv.core.imports.fields import first, mapping, text
from memsrv.core.imports.moments import moment_of

SOURCE = "sillytavern"
NOTES = frozenset(
    {"comment", "help", "welcome", "slash_commands", "formatting", "hotkeys", "macros", "assistant_note", "generic"}
)
NOBODY = ("", "unused")

Raw = Mapping[str, Any]


def is_header(data: Raw) -> bool:
    return "mes" not in data and ("chat_metadata" in data or ("user_name" in data and "character_name" in data))


def is_line(data: Raw) -> bool:
    return isinstance(data.get("mes"), str) and ("is_user" in data or "name" in data)


class Lines:
    """The messages of a chat, line by line. Without a header the chat has no id of its own."""

    def __init__(self, header: Raw):
        character = first(header, "character_name")
        began = first(header, "create_date")
        notes = mapping(header.get("chat_metadata"))
        id, forked = first(notes, "integrity"), first(notes, "main_chat")  # a fork keeps the id of the chat that it comes from
        if forked or (began and not id):
            id = hashed([id, forked, character, first(header, "user_name"), began])
        title = "" if character in NOBODY else character
        self.gathering = Gathering(SOURCE, id, title, moment_of(began))

    def add(self, data: Any, place: str) -> None:
        """One line."""
        if not isinstance(data, dict) or not is_line(data):
            self.gathering.skip(NOT_A_MESSAGE, place)
            return
        extra, name = mapping(data.get("extra")), first(data, "name").strip()
        kind = text(extra.get("type"))
        if data.get("is_system") is True and (kind in NOTES or name == "SillyTavern System"):
            self.gathering.skip(NOTE, place)
            return
        by_user = data.get("is_user") is True
        role = "system" if kind == "narrator" else "user" if by_user else "assistant"
        self.gathering.say(
            role,
            data["mes"] or chosen(data),
            at=moment_of(data.get("send_date")) or moment_of(data.get("gen_finished")),
            place=place,
            name=name,
            reasoning_content="" if by_user else text(extra.get("reasoning")),
            metadata={"model": "" if by_user else text(extra.get("model"))},
        )
        for other in others(data):
            self.gathering.skip(OTHER_ANSWER, f"{place}, swipe {other}")


def chosen(data: Raw) -> str:
    """The swipe that is shown."""
    swipes, number = data.get("swipes"), data.get("swipe_id")
    if isinstance(swipes, list) and isinstance(number, int) and 0 <= number < len(swipes):
        return text(swipes[number])
    return ""


def others(data: Raw) -> list[int]:
    """The numbers (from 1) of the swipes that say something else than what is shown."""
    swipes = data.get("swipes")
    said = (data["mes"] or chosen(data)).strip()
    listed = swipes if isinstance(swipes, list) else []
    return [place for place, swipe in enumerate(listed, start=1) if text(swipe).strip() not in ("", said)]
