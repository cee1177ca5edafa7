"""The parts of a prompt that are given up last: the newest user message, the system prompt, then goal and state.

(1) Whole if they fit. If not, the state is held to a quarter, then images become marks, then texts lose their middle,
    visibly; a system prompt of up to a third stays whole beside a longer user message.
(2) From `least_tokens` on they always fit, and cost no more than they are given.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memsrv.core.prompt.regions import Material, state_text
from memsrv.core.prompt.sending import lightened, plain_text
from memsrv.core.prompt.sizes import MESSAGE_TOKENS, Sizes
from memsrv.core.text.cuts import cut_tokens, fits
from memsrv.model import Payload, RegionName

LEAST_CUT_TOKENS = 24
"""A cut text keeps at least this much: its mark, and a few words on both sides."""

Notes = Mapping[RegionName, list[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Required:
    """The parts as they will stand, and the tokens of each."""

    system_prompt: str = ""
    user: Payload | None = None
    state: str = ""
    tokens: Mapping[RegionName, int] = field(default_factory=dict)

    @property
    def total_tokens(self) -> int:
        return sum(self.tokens.values())


def required(material: Material, left: int, sizes: Sizes, notes: Notes) -> Required | None:
    """The required parts within what is left; None if they cannot be."""
    spare = left - least_tokens(material, sizes)
    if spare < 0:
        return None
    user, prompt = newest_user(material), material.system_prompt
    whole = whole_tokens(user, prompt, left, sizes)
    stated = fit_state(material.state, max(min(spare, left // 4), left - whole), sizes)
    if stated != material.state:
        notes[RegionName.STATE].append({"what": "goal and task state", "why": "cut to the budget" if stated else "budget"})
    state_tokens = framed(state_text(stated), sizes)
    if whole > left - state_tokens:
        user, prompt = squeezed(user, prompt, left - state_tokens, sizes)
    if user != newest_user(material):
        notes[RegionName.WINDOW].append({"what": "newest user message", "why": "cut to the budget"})
    if prompt != material.system_prompt:
        notes[RegionName.META].append({"what": "system prompt", "why": "cut to the budget"})
    tokens = {
        RegionName.META: framed(prompt, sizes),
        RegionName.WINDOW: sizes.message(user) if user else 0,
        RegionName.STATE: state_tokens,
    }
    return Required(prompt, user, stated, tokens)


def newest_user(material: Material) -> Payload | None:
    """The newest user message."""
    unit = material.turns[-1].user if material.turns else None
    return unit.messages[0].payload if unit else None


def least_tokens(material: Material, sizes: Sizes) -> int:
    """What the newest user message and the system prompt cost at their shortest."""
    user = newest_user(material)
    return (least_user(user, sizes) if user else 0) + least_text(material.system_prompt, sizes)


def least_user(user: Payload, sizes: Sizes) -> int:
    """Tokens of a user message at its shortest."""
    most = frame(user, sizes) + LEAST_CUT_TOKENS
    costs = [sizes.within((form,), most) for form in (user, lightened(user))]
    return min((cost for cost in costs if cost is not None), default=most)


def least_text(text: str, sizes: Sizes) -> int:
    """Tokens of a system message at its shortest."""
    if not text:
        return 0
    return MESSAGE_TOKENS + (sizes.text(text) if fits(text, LEAST_CUT_TOKENS, sizes.text) else LEAST_CUT_TOKENS)


def whole_tokens(user: Payload | None, prompt: str, left: int, sizes: Sizes) -> int:
    """Tokens of both as they are; more than what is left if one of them is."""
    asked = sizes.within((user,), left) if user else 0
    if asked is None or not fits(prompt, left, sizes.text):
        return left + 1
    return asked + framed(prompt, sizes)


def framed(text: str, sizes: Sizes) -> int:
    """Tokens of a text as a message; none for no text."""
    return MESSAGE_TOKENS + sizes.text(text) if text else 0


def frame(user: Payload, sizes: Sizes) -> int:
    """Tokens of a message but for its content."""
    return sizes.message({**user, "content": None})


def fit_state(state: str, limit_tokens: int, sizes: Sizes) -> str:
    """Goal and state within a limit, cut if they must be, else nothing."""
    if not state:
        return ""
    return cut_tokens(state, limit_tokens - MESSAGE_TOKENS, lambda text: sizes.text(state_text(text))) or ""


def squeezed(user: Payload | None, prompt: str, left: int, sizes: Sizes) -> tuple[Payload | None, str]:
    """Both within what is left, which is at least their least."""
    if user is None:
        return None, cut_prompt(prompt, left, sizes)
    least = least_text(prompt, sizes)
    room = max(left // 3, least)
    wanted = framed(prompt, sizes) if fits(prompt, room, sizes.text) else room
    user = cut_user(user, max(left - min(wanted, room), least_user(user, sizes)), sizes)
    return user, cut_prompt(prompt, left - sizes.message(user), sizes)


def cut_user(user: Payload, limit_tokens: int, sizes: Sizes) -> Payload:
    """A user message within a limit: as it is, with marks for its images, or with its text cut."""
    for form in (user, lightened(user)):
        if sizes.within((form,), limit_tokens) is not None:
            return form
    text = cut_tokens(plain_text(user["content"]), limit_tokens - frame(user, sizes), sizes.text)
    assert text is not None, "the limit leaves room for a cut"
    return {**user, "content": text}


def cut_prompt(prompt: str, limit_tokens: int, sizes: Sizes) -> str:
    """A system prompt within a limit."""
    if not prompt:
        return ""
    text = cut_tokens(prompt, limit_tokens - MESSAGE_TOKENS, sizes.text)
    assert text is not None, "the limit leaves room for a cut"
    return text
