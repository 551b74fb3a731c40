"""Where decisions turn, as arrays: what of each row's score is moved, how far, and to what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from setpoint.array_types import Bools, Codes, Floats
from setpoint.errors import InputError
from setpoint.rules.base import Rule

__all__ = ["Decide", "TurningPoints", "never_turning", "unknown_rule"]

Decide: TypeAlias = Callable[[Floats], Codes]
"""The decisions of some rows where their scores are others."""


@dataclass(frozen=True, eq=False)
class TurningPoints:
    """Where the decision of each row turns; all arrays have one entry a row.

    Parameters
    ----------
    decided : int array
        The class that is decided.
    column, other : int array
        The score that moves, and the one that moves as far the other way; -1: no other one.
        Where there is one score a row, `column` is 0.
    score : array
        That score.
    above, below : array
        The nearest value above and below it at which the decision turns; NaN: at none.
    above_to, below_to : int array
        What is decided there; -1: nothing else.
    at_above, at_below : bool array
        Whether the decision has turned at that value itself, and not only past it.
    """

    decided: Codes
    column: Codes
    other: Codes
    score: Floats
    above: Floats
    below: Floats
    above_to: Codes
    below_to: Codes
    at_above: Bools
    at_below: Bools

    @property
    def rises(self) -> Bools:
        """Whether the nearer of both lies above (N,); of equally near ones the one above."""
        with np.errstate(invalid="ignore", over="ignore"):
            up, down = self.above - self.score, self.score - self.below
        return np.asarray(np.isnan(self.below) | (~np.isnan(self.above) & ~(down < up)))

    @property
    def at(self) -> Floats:
        """The nearer of both (N,); NaN where no value of the score turns the decision."""
        return np.where(self.rises, self.above, self.below)

    @property
    def change(self) -> Floats:
        """The least change of the score that turns the decision (N,), signed; NaN: none does.

        0 where the score is its cut-off: anything beyond turns the decision.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            return np.where(np.isnan(self.at), np.nan, self.at - self.score)

    @property
    def to(self) -> Codes:
        """What is decided then (N,); -1: nothing else."""
        return np.where(self.rises, self.above_to, self.below_to)

    @property
    def at_itself(self) -> Bools:
        """Whether the decision has turned at `at`, and not only past it (N,)."""
        return np.where(self.rises, self.at_above, self.at_below)


def never_turning(decided: Codes) -> TurningPoints:
    """What never turns, to be filled."""
    n = len(decided)
    none, never, no = np.full((3, n), -1), np.full((3, n), np.nan), np.zeros((2, n), np.bool_)
    return TurningPoints(
        decided,
        column=np.zeros(n, np.int64),
        other=none[0],
        score=never[0],
        above=never[1],
        below=never[2],
        above_to=none[1],
        below_to=none[2],
        at_above=no[0],
        at_below=no[1],
    )


def unknown_rule(rule: Rule) -> InputError:
    """The error for a rule of one's own, which may decide in any way."""
    return InputError(
        f"`rule`: a rule of type {type(rule).__name__} does not say where its decisions turn"
    )
