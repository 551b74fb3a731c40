"""Sums of ratios over mixtures: the quadratic transform, to a stationary point."""

from __future__ import annotations

import numpy as np

from setpoint.goals.errors import ShapeError
from setpoint.program import algebra
from setpoint.program.functions import Affine, RateFunction, Ratio, Sqrt, WeightedSum
from setpoint.search.achievable_set import Floats
from setpoint.search.column_generation import generate
from setpoint.search.cutting_planes import ConcaveSearch, concave_search
from setpoint.search.dinkelbach import RatioSearch
from setpoint.search.master import MasterResult
from setpoint.search.region import Region

__all__ = ["SumSearch", "bound_of_sum"]

INF = float("inf")
_TINY = 1e-12
_STEPS, _TANGENTS, _CLIMB = 60, 25, 1e-7


class SumSearch:
    """Alternate y = sqrt(A)/B and the concave sum of 2 y sqrt(A) - y^2 B (Shen and Yu 2018).

    It ends at a stationary point.
    """

    method = "quadratic transform"
    smooths = False
    certain = False

    def __init__(self, region: Region, score: WeightedSum) -> None:
        self.region = region
        self.score = score
        self.affine, self.ratios = terms_of(region, score)
        self.v: Floats = region.inner
        self.best: MasterResult | None = None
        self.value = -INF

    def step(self, gap: float) -> MasterResult:
        """Climb over the columns so far."""
        for _ in range(_STEPS):
            # A step need only climb: the next one starts from a new surrogate.
            search = concave_search(self.region, self._surrogate())
            if isinstance(search, ConcaveSearch):
                search.rounds = _TANGENTS
            found = search.step(_CLIMB)
            assert search.best is not None
            self.v = search.best.v
            value = float(self.score.value(self.v))
            first, before = self.best is None, self.value
            if first or value > before:
                self.best, self.value = search.best, value
            if not first and value <= before + _CLIMB * (1 + abs(value)):
                break
        return found

    def bound_at(self, bound: float) -> float:
        """A surrogate lies below the sum: its bounds say nothing."""
        return INF

    def _surrogate(self) -> RateFunction:
        """The concave function that touches the sum at v from below."""
        terms: list[tuple[float, RateFunction]] = [(1.0, self.affine)]
        for k, above, below in self.ratios:
            a, b = float(above.value(self.v)), max(float(below.value(self.v)), _TINY)
            # A term at 0 would stay there for ever.
            y = np.sqrt(a) / b if a > 1e-9 else 1.0 / np.sqrt(b)
            terms += [(2.0 * k * y, Sqrt((above,))), (-k * y * y, below)]
        return algebra.add(terms)


def bound_of_sum(region: Region, score: WeightedSum, gap: float) -> float:
    """The sum of the largest values of the terms: no mixture of the region has more."""
    affine, ratios = terms_of(region, score)
    bound = generate(region, concave_search(region, affine), gap).bound
    for k, above, below in ratios:
        search = RatioSearch(region, Ratio(above, below))
        bound += k * generate(region, search, gap).bound
    return bound


def terms_of(
    region: Region, score: WeightedSum
) -> tuple[Affine, list[tuple[float, Affine, Affine]]]:
    """A sum as an affine function and ratios ``k A/B`` with k > 0 and A >= 0."""
    affine = algebra.constant(0.0)
    ratios: list[tuple[float, Affine, Affine]] = []
    for coef, child in zip(score.coefs, score.children, strict=True):
        if isinstance(child, Affine):
            affine = affine.plus(child.scaled(coef))
            continue
        assert isinstance(child, Ratio)
        k, above = coef, child.above
        affine = affine.plus(k * child.offset)
        if k < 0 or above.low < 0:
            # -A/B = (m B - A)/B - m with m the largest value of A/B, and likewise from below.
            m = (child.high if k < 0 else child.low) - child.offset
            if not np.isfinite(m):
                raise ShapeError(
                    f"{region.program.goal.objective}: a ratio in this sum has no bound"
                )
            above = child.below.scaled(m).plus(above.scaled(-1.0)).scaled(1.0 if k < 0 else -1.0)
            affine = affine.plus(k * m)
            k = abs(k)
        ratios.append((k, above, child.below))
    return affine, ratios
