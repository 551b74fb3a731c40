"""A limit on one side: a multiple of the standard error, corrected for skew, bias and bend.

What varies (counts of profiles, or sums over rows) is moved along the influence, and not the
value: DiCiccio and Efron's approximate bootstrap (ABC), see :mod:`setpoint.inference.delta`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from setpoint.array_types import Bools, Floats
from setpoint.program.functions import INF

__all__ = ["LEFT", "SMOOTHING", "STEP", "WORST", "OneSide", "Variation"]

SMOOTHING = 0.1
"""Rows added in all, in equal parts to each profile, before influences are taken."""

WORST = 0.5
"""Rows added to the profile that is worst for a limit, in each population."""

STEP = 0.1
"""Of second differences, in standard deviations."""

LEFT = 1e-9
"""The share of its rows that every profile keeps, however far counts are moved."""

_MOST_SHIFT = 0.5
"""In standard errors: a larger one does not correct, it says that there are few rows."""

_MOST_ALONE = 20
"""Populations that are looked at by themselves."""


class Variation(NamedTuple):
    """How the value varies with some profiles."""

    along: Floats
    z: float
    skewness: float
    bias: float


class OneSide(ABC):
    """The value of an expression near what was counted, for the limit on one side."""

    side: float
    seen: Bools
    populations: Bools
    base: Floats
    even: Floats
    middle: float

    def limit(self, tail: float) -> float:
        """The limit that lies on its wrong side with this chance; infinite without effects."""
        ways = [np.ones(len(self.seen), bool)]
        if not self.seen.all():
            # A way that few rows or none have begun may end soon, where a share is 0 or 1;
            # then those count that are counted, and each population by itself.
            few = self.populations[:_MOST_ALONE]
            ways += [self.seen, *(few if len(few) > 1 else [])]
        found = [self._limit(tail, way) for way in ways]
        return self.side * max(self.side * x for x in found)

    def _limit(self, tail: float, way: Bools) -> float:
        """The limit where only some profiles vary."""
        error = self._error(way)
        if not error < INF:
            return self.side * INF
        if error == 0.0:
            return self.middle
        found = self._variation(way, error, tail)
        along = found.along
        ends = [self._value(self.base + step * along) for step in (STEP, -STEP)]
        bend = (sum(ends) - 2.0 * self.middle) / (2.0 * error * STEP**2)
        shift = min(max(found.skewness + bend - found.bias, -_MOST_SHIFT), _MOST_SHIFT)
        by = self.side * found.z + shift
        skewed = found.skewness * by
        # The same to second order; the first cannot jump, the second not turn round.
        by *= 1.0 + 2.0 * skewed if skewed > 0.0 else 1.0 / (1.0 - skewed) ** 2
        end = self._value(self.base - self.even + by * along)
        return self.side * INF if math.isnan(end) else end

    @abstractmethod
    def _error(self, way: Bools) -> float:
        """The standard error where only some profiles vary."""

    @abstractmethod
    def _variation(self, way: Bools, error: float, tail: float) -> Variation:
        """How the value varies with these profiles."""

    @abstractmethod
    def _value(self, moved: Floats) -> float:
        """The value at other counts, or sums."""
