"""Which of two models serves a goal better: by its objective, subject to its constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from setpoint.goals.expressions import Expression
from setpoint.inference.verdicts import FAILS, OPEN, SHOWN

if TYPE_CHECKING:
    from setpoint.report import Entry, GoalReport

__all__ = ["BETTER", "CANDIDATE", "TODAY", "WORSE", "Part", "less_sure", "which_is_better"]

BETTER, WORSE = "shown to be better", "shown to be worse"

TODAY, CANDIDATE = "the model of today", "the candidate"
"""What the two are called that have no names."""

_DOUBT = {SHOWN: 0, OPEN: 1, None: 1, FAILS: 2}


@dataclass(frozen=True)
class Part:
    """The objective or a constraint, of two models."""

    today: Entry
    candidate: Entry
    difference: Entry | None
    side: Expression
    rows_needed: int | None = None

    @property
    def verdict(self) -> str | None:
        """What the difference shows of the candidate; None where it is not known."""
        gain = self.difference
        if gain is None or gain.low is None or gain.high is None:
            return None
        if gain.low <= 0.0 <= gain.high:  # equal is not better
            return OPEN
        return {SHOWN: BETTER, FAILS: WORSE}.get(gain.verdict or OPEN, OPEN)


def which_is_better(
    today: GoalReport,
    candidate: GoalReport,
    parts: Sequence[Part],
    changed: float,
    names: tuple[str, str] = (TODAY, CANDIDATE),
) -> tuple[str, str]:
    """What the rows show of the candidate, and why."""
    old, new = today.verdict, candidate.verdict
    first, second = names
    meets = "is shown to meet the goal"
    fails = "is shown to fail it"
    if new == SHOWN and old == FAILS:
        return BETTER, _sentence(f"{second} {meets}, and {first} {fails}.")
    if new == FAILS and old == SHOWN:
        return WORSE, _sentence(f"{first} {meets}, and {second} {fails}.")
    if new == FAILS and old == FAILS:
        by = parts[0].verdict
        more = f"; by {parts[0].today.text} {second} is {by}" if by in (BETTER, WORSE) else ""
        return OPEN, f"Both models are shown to fail the goal{more}."
    if changed == 0.0:
        return OPEN, "Both models decide every row alike."
    gain = parts[0].verdict
    name = parts[0].today.text
    if gain is None:
        return OPEN, f"The difference in {name} was not measured on these rows."
    if gain == OPEN:
        return OPEN, f"The difference in {name} is too close to call."
    ahead = gain == BETTER
    flattered = candidate if ahead else today
    who = second if ahead else first
    its = f"Its {name}" if second == CANDIDATE else f"The {name} of {second}"
    if flattered.counts.seen > 0.0:
        share = f"{100 * flattered.counts.seen:.3g} %"
        return OPEN, f"{share} of these rows are rows of the fit of {who}, which flatter it."
    doubted = less_sure(parts, ahead)
    if doubted:
        return OPEN, f"{its} is {gain}, but {doubted} is less sure to hold for {who}."
    more = ", and every constraint holds as surely" if len(parts) > 1 else ""
    return gain, f"{its} is {gain}{more if ahead else ''}."


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def less_sure(parts: Sequence[Part], ahead: bool) -> str:
    """The constraint that holds less surely for the one ahead than for the other; "" if none."""
    for part in parts[1:]:
        one, other = part.candidate.verdict, part.today.verdict
        if not ahead:
            one, other = other, one
        lost = _DOUBT[one] > _DOUBT[other]
        if lost or (one != SHOWN and part.verdict == (WORSE if ahead else BETTER)):
            return part.today.text
    return ""
