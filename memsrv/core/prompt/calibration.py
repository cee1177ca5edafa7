"""What a provider really counted against our own count, and what a budget comes to by it.

(1) The factor in force is within 0.5 and 5, whatever is reported.
(2) What is remembered is bounded, and one report is no more than an eighth of it: a provider that counts otherwise from now on
    is believed after a while, a single report against many never.
(3) The factor rises at once and falls only when it is worth it: a budget does not move with every report, and rather leaves
    a little room than runs over.
(4) A budget that was given as a number is kept in both counts: a factor below 1 makes it no larger, for it is an average and
    a promise is not. Only a model's window, which is in the provider's tokens to begin with, may hold more of ours.

All is in whole numbers, so that (4) holds to the token; a factor is told in hundredths.
"""

from dataclasses import dataclass, replace

NEUTRAL = 100
LEAST_PERCENT = 50
MOST_PERCENT = 500
STEADY_PERCENT = 2
"""A factor in force stays while it is no more than so far above what was found."""
LEAST_TOKENS = 200
"""With less of our tokens reported on, the frame of a single prompt would speak for all."""
MEMORY_TOKENS = 400_000
MOST_WEIGHT_TOKENS = MEMORY_TOKENS // 8
SETTLED_TOKENS = 20_000
SETTLED_REPORTS = 5
LEAP = 2
"""Once settled, a report counts as at most so many times what was found, or as this part of it."""
CREDIBLE = 20
"""A report that is so many times what we counted, or less than this part of it, is not about the prompt."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was reported for a model, recent reports first in weight: `reported_tokens` by the provider for prompts of
    `counted_tokens` in our count. `percent` is the factor in force, `reports` how many were believed."""

    counted_tokens: int = 0
    reported_tokens: int = 0
    percent: int = NEUTRAL
    reports: int = 0

    @property
    def factor(self) -> float:
        """The factor in force."""
        return self.percent / 100


def is_credible(counted_tokens: int, reported_tokens: int) -> bool:
    """Whether a report can be about a prompt that we counted so."""
    most, least = max(counted_tokens, reported_tokens), min(counted_tokens, reported_tokens)
    return least > 0 and most <= CREDIBLE * least


def reported(old: Calibration, counted_tokens: int, reported_tokens: int) -> Calibration:
    """The calibration after one more report; as it was after one that is not credible."""
    if not is_credible(counted_tokens, reported_tokens):
        return old
    least, most = believed(old)
    theirs = min(max(100 * reported_tokens, least * counted_tokens), most * counted_tokens) // 100
    weight = min(counted_tokens, MOST_WEIGHT_TOKENS)
    kept = faded(old, MEMORY_TOKENS - weight)
    return in_force(
        replace(
            kept,
            counted_tokens=kept.counted_tokens + weight,
            reported_tokens=kept.reported_tokens + theirs * weight // counted_tokens,
            reports=old.reports + 1,
        )
    )


def believed(old: Calibration) -> tuple[int, int]:
    """The least and the most, in percent of our count, that one report is taken for."""
    if old.counted_tokens < SETTLED_TOKENS or old.reports < SETTLED_REPORTS:
        return LEAST_PERCENT, MOST_PERCENT
    found = found_percent(old)
    return max(LEAST_PERCENT, found // LEAP), min(MOST_PERCENT, found * LEAP)


def faded(old: Calibration, most_tokens: int) -> Calibration:
    """The same ratio with the weight of at most so many tokens."""
    if old.counted_tokens <= most_tokens:
        return old
    theirs = old.reported_tokens * most_tokens // old.counted_tokens
    return replace(old, counted_tokens=most_tokens, reported_tokens=theirs)


def found_percent(calibration: Calibration) -> int:
    """What was reported in percent of what we counted, rounded up, within the bounds."""
    found = -(-100 * calibration.reported_tokens // calibration.counted_tokens)
    return min(max(found, LEAST_PERCENT), MOST_PERCENT)


def in_force(calibration: Calibration) -> Calibration:
    """With the factor that is to hold from now on; see (3)."""
    if calibration.counted_tokens < LEAST_TOKENS:
        return calibration
    found = found_percent(calibration)
    stays = found <= calibration.percent <= found + STEADY_PERCENT
    return calibration if stays else replace(calibration, percent=found)


def within(budget_tokens: int, percent: int, *, of_window: bool = False) -> int:
    """What our count of a prompt may come to, so that the provider's comes to no more than the budget; see (4)."""
    ours = budget_tokens * 100 // percent
    return ours if of_window else min(budget_tokens, ours)


def needed(counted_tokens: int, percent: int) -> int:
    """The smallest budget, given as a number, within which our count may come to so much."""
    return max(counted_tokens, -(-counted_tokens * percent // 100))
