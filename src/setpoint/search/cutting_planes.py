"""Concave objectives over mixtures: linear rows where they have them, else tangents."""

from __future__ import annotations

import numpy as np

from setpoint.program.functions import Affine, RateFunction
from setpoint.program.rows import NotLinearError
from setpoint.search.column_program import MasterResult
from setpoint.search.epigraph import sum_of
from setpoint.search.region import Region

__all__ = ["ConcaveSearch", "LinearSearch", "concave_search"]

INF = float("inf")
_ROUNDS = 300
_CLOSED = 1e-13


class LinearSearch:
    """An affine objective, or one that linear rows describe: one linear program a step."""

    method = "linear program"
    smooths = True
    certain = True

    def __init__(self, region: Region, score: RateFunction) -> None:
        self.region = region
        self.score = score
        self.best: MasterResult | None = None
        self.value = -INF
        self.rows: list[Affine] = []
        if isinstance(score, Affine):
            self.target = score
            return
        self.target = region.builder.auxiliary()
        self.rows = region.builder.bound(score, self.target, 1.0)

    def step(self, gap: float) -> MasterResult:
        """Solve the program over the columns so far."""
        self.best = self.region.solve(self.target, self.rows)
        self.value = float(self.score.value(self.best.v))
        return self.best

    def bound_at(self, bound: float) -> float:
        """The program's objective is the score itself."""
        return bound


class ConcaveSearch:
    """Cutting planes: tangents bound a concave objective from above (Kelley 1960)."""

    method = "cutting planes"
    smooths = True
    certain = True

    def __init__(self, region: Region, score: RateFunction) -> None:
        self.region = region
        self.score = score
        self.sum = sum_of(score, region.builder)
        self.cuts = [piece.touching(region.inner) for piece in self.sum.pieces]
        self.best: MasterResult | None = None
        self.value = -INF

    def step(self, gap: float) -> MasterResult:
        """Add tangents until the program and the function agree to within `gap`."""
        for _ in range(_ROUNDS):
            found = self.region.solve(self.sum.total, self.cuts)
            now = float(self.score.value(found.v))
            if now > self.value or self.best is None:
                self.best, self.value = found, now
            near = gap * (1 + abs(self.value))
            if np.isfinite(self.value) and self.sum.back(found.value) - self.value <= near:
                break
            if not self._cut(found, self.best):
                break
        return found

    def bound_at(self, bound: float) -> float:
        """Tangents bound the sum that the score is a function of."""
        return self.sum.back(bound)

    def _cut(self, found: MasterResult, best: MasterResult) -> bool:
        before = len(self.cuts)
        # One tangent where the master stands, one nearer the best point: fewer rounds.
        middle = 0.5 * (found.v + best.v)
        for piece in self.sum.pieces:
            if piece.missing(found.v, found.aux) <= _CLOSED:
                continue
            self.cuts += piece.cuts(found.v, found.aux, self.region.inner)
            if len(self.sum.pieces) == 1 and piece.missing(middle, found.aux) > _CLOSED:
                self.cuts += piece.cuts(middle, found.aux, self.region.inner)
        return len(self.cuts) > before


def concave_search(region: Region, score: RateFunction) -> LinearSearch | ConcaveSearch:
    """The search for a concave score: by rows where it has them."""
    try:
        return LinearSearch(region, score)
    except NotLinearError:
        return ConcaveSearch(region, score)
