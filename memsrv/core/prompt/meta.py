"""Profile and pins within a share of the budget: the newest pins stay; what alone is longer than its share is cut, visibly."""

from memsrv.core.prompt.regions import Material, pins_text, profile_text
from memsrv.core.prompt.required import LEAST_CUT_TOKENS, framed
from memsrv.core.prompt.sizes import MESSAGE_TOKENS, Sizes
from memsrv.core.text.cuts import cut_tokens, fits
from memsrv.core.text.marks import block

PIN_TOKENS = 3
"""What the dash and the line end of a pin may cost."""
MOST_PASSED = 20
"""So many pins that do not fit are passed over to see whether an older one does."""


def meta_cost(profile: str, pins: tuple[str, ...], sizes: Sizes) -> int:
    """Tokens of profile and pins beside the system prompt."""
    return framed(profile_text(profile), sizes) + framed(pins_text(pins), sizes)


def fit_meta(material: Material, limit_tokens: int, sizes: Sizes) -> tuple[str, tuple[str, ...], int]:
    """Profile and pins within a limit. The newest pins stay; half is the profile's, more if the pins leave it."""
    wanted = pins_cost(material.pins, limit_tokens, sizes)
    room = limit_tokens - min(wanted, limit_tokens // 2) - MESSAGE_TOKENS
    profile = cut_tokens(material.profile, room, lambda text: sizes.text(profile_text(text))) if material.profile else ""
    left = limit_tokens - framed(profile_text(profile or ""), sizes)
    pins = fit_pins(material.pins, left, sizes)
    while pins and framed(pins_text(pins), sizes) > left:
        pins = pins[1:]
    return profile or "", pins, meta_cost(profile or "", pins, sizes)


def fit_pins(pins: tuple[str, ...], limit_tokens: int, sizes: Sizes) -> tuple[str, ...]:
    """The newest pins whose lines, each counted by itself, are within a limit. It looks past a few that do not fit."""
    room = limit_tokens - framed(block("pins", ""), sizes)
    kept: list[str] = []
    passed = 0
    for pin in reversed(pins):
        if room <= PIN_TOKENS or passed > MOST_PASSED:
            break
        form = pin if fits(pin, room - PIN_TOKENS, sizes.text) else cut_pin(pin, min(limit_tokens // 2, room - PIN_TOKENS), sizes)
        if form is None or pin_cost(form, sizes) > room:
            passed += 1
            continue
        kept.append(form)
        room -= pin_cost(form, sizes)
    return tuple(kept[::-1])


def pins_cost(pins: tuple[str, ...], limit_tokens: int, sizes: Sizes) -> int:
    """Tokens of the pins, line by line from the newest; a little over a limit it stops counting."""
    total = framed(block("pins", ""), sizes) if pins else 0
    for pin in reversed(pins):
        if total > limit_tokens or not fits(pin, limit_tokens, sizes.text):
            return max(total, limit_tokens + 1)
        total += pin_cost(pin, sizes)
    return total


def pin_cost(pin: str, sizes: Sizes) -> int:
    """Tokens of a pin's line."""
    return sizes.text(pin) + PIN_TOKENS


def cut_pin(pin: str, limit_tokens: int, sizes: Sizes) -> str | None:
    """A pin that is longer than a limit, cut to it; None for any other, and where a cut would leave nothing to read."""
    if limit_tokens < LEAST_CUT_TOKENS:
        return None
    shown = cut_tokens(pin, limit_tokens, sizes.text)
    return shown if shown != pin else None
