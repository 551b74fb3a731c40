"""A ratio over mixtures: Dinkelbach's method."""

from __future__ import annotations

import numpy as np

from setpoint.program.functions import Affine, Ratio
from setpoint.program.linear_forms import LinearForms
from setpoint.search.master import MasterResult
from setpoint.search.program import TOLERANCE
from setpoint.search.region import Region

__all__ = ["RatioSearch", "closed", "least_denominator"]

INF = float("inf")
_TINY = 1e-12
_ROUNDS = 100
_ROUNDING = 1e-7
"""The most that is called rounding where the least denominator is near 0."""


class RatioSearch:
    """Maximise A - gamma B, gamma <- A/B, until nothing is left to gain (Dinkelbach 1967)."""

    method = "Dinkelbach"
    smooths = False
    certain = True

    def __init__(self, region: Region, score: Ratio) -> None:
        self.region = region
        self.score = score
        self.least = least_denominator(region.forms, score.below)
        self.best: MasterResult | None = None
        self.value = -INF

    def step(self, gap: float) -> MasterResult | None:
        """Solve over the columns at hand; `gap` is not used, each round is exact."""
        score = self.score
        if self.best is None:
            self.best = self.region.solve(score.below)
            self.value = float(score.value(self.best.v))
        for _ in range(_ROUNDS):
            if not np.isfinite(self.value):
                return None
            gamma = self.value - score.offset
            found = self.region.solve(score.above.plus(score.below.scaled(-gamma)))
            now = float(score.value(found.v))
            if now <= self.value + 1e-15 * (1 + abs(self.value)):
                break
            self.best, self.value = found, now
        return found

    def bound_at(self, bound: float) -> float:
        """What is left of A - gamma B, by the smallest denominator."""
        if not self.least > 0:
            return INF
        return closed(self.value + max(bound, 0.0) / self.least, self.value, 1.0 / self.least)


def least_denominator(weights: LinearForms, below: Affine) -> float:
    """The smallest denominator above 0: one row's weight where it can vanish."""
    low = weights.range(below)[0]
    return low if low > _TINY else (weights.step(below) or 0.0)


def closed(bound: float, value: float, stretch: float) -> float:
    """The bound, or the value where only a program's rounding, stretched, parts them."""
    return value if bound - value <= min(2.0 * TOLERANCE * stretch, _ROUNDING) else bound
