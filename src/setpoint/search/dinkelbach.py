"""A ratio over mixtures: Dinkelbach's method."""

from __future__ import annotations

import numpy as np

from setpoint.program.functions import Affine, Ratio
from setpoint.program.rate_table import RateTable
from setpoint.program.rows import NotLinearError
from setpoint.search.column_program import MasterResult
from setpoint.search.linear_program import TOLERANCE
from setpoint.search.master import InfeasibleMasterError
from setpoint.search.region import Region

__all__ = ["RatioSearch", "closed", "least_denominator"]

INF = float("inf")
_TINY = 1e-12
_SHORT = 1e-7
"""By so much of itself a floor may be missed, which is rounding."""
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
        self.floors: list[Affine] = []

    def step(self, gap: float) -> MasterResult | None:
        """Solve over the columns so far; `gap` is not used, each round is exact."""
        found = self._climb()
        if found is None or self.best is None or self.floors or self._has_a_row(self.best):
            return found
        # Less than one expected row decides: from now on the denominator has a floor.
        self.floors = self._floors()
        self.best = None
        return self._climb() if self.floors else found

    def _has_a_row(self, at: MasterResult) -> bool:
        """Whether one row is expected in the denominator, or the value is that at 0/0."""
        below = float(self.score.below.value(at.v))
        return below >= self.least * (1.0 - _SHORT) or self.value <= self.score.at_zero

    def _floors(self) -> list[Affine]:
        """The rows that keep the denominator off 0; none where it is not a single row."""
        try:
            return self.region.builder.floor(self.score, 1.0)
        except NotLinearError:
            return []

    def _climb(self) -> MasterResult | None:
        score = self.score
        if self.best is None:
            try:
                self.best = self.region.solve(score.below, self.floors)
            except InfeasibleMasterError:
                if not self.floors:
                    raise
                # Nobody is expected in the denominator, or less than a row.
                self.best = self.region.solve(score.below.scaled(-1.0))
                self.value = float(score.value(self.best.v))
                if float(score.below.value(self.best.v)) > _TINY:
                    raise
                return None
            self.value = float(score.value(self.best.v))
        for _ in range(_ROUNDS):
            if not np.isfinite(self.value):
                return None
            gamma = self.value - score.offset
            found = self.region.solve(score.above.plus(score.below.scaled(-gamma)), self.floors)
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


def least_denominator(weights: RateTable, below: Affine) -> float:
    """The smallest denominator above 0: one row's weight where it can vanish."""
    low = weights.range(below)[0]
    return low if low > _TINY else (weights.step(below) or 0.0)


def closed(bound: float, value: float, stretch: float) -> float:
    """The bound, or the value where only a program's rounding, stretched, parts them."""
    return value if bound - value <= min(2.0 * TOLERANCE * stretch, _ROUNDING) else bound
