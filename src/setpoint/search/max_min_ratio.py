"""The smallest of several ratios over mixtures: Dinkelbach's method for several at once."""

from __future__ import annotations

from dataclasses import dataclass

from setpoint.goals.errors import ShapeError
from setpoint.program.functions import (
    Absolute,
    Affine,
    Max,
    Min,
    MinOverMax,
    RateFunction,
    Ratio,
    WeightedSum,
)
from setpoint.search.column_program import MasterResult
from setpoint.search.dinkelbach import closed, least_denominator
from setpoint.search.master import InfeasibleMasterError
from setpoint.search.region import Region

__all__ = ["SmallestSearch"]

INF = float("inf")
_TINY = 1e-12
_ONE = Affine({}, 1.0)
_ROUNDS = 100


@dataclass(frozen=True)
class _Part:
    """One of several ratios ``above / below``: `size` is the denominator at features v."""

    above: Affine
    below: Affine
    size: RateFunction
    least: float
    at_zero: float = INF


class SmallestSearch:
    """The largest smallest ratio."""

    method = "Dinkelbach"
    smooths = False
    certain = True

    def __init__(self, region: Region, score: RateFunction) -> None:
        self.region = region
        self.score = score
        self.splitter = _Splitter(region)
        self.parts = self.splitter.split(score, 1.0, 0.0)
        self.margin = region.builder.auxiliary()
        self.best: MasterResult | None = None
        self.value = -INF
        self.stretch = 1.0

    def step(self, gap: float) -> MasterResult | None:
        """Solve over the columns so far; `gap` is not used, each round is exact."""
        if self.best is None:
            self.best = self.region.solve(Affine({}, 0.0))
            self.value = float(self.score.value(self.best.v))
        for _ in range(_ROUNDS):
            rows, self.stretch = self._rows(self.best)
            try:
                found = self.region.solve(self.margin, rows)
            except InfeasibleMasterError:
                # Some denominator is 0 in every mixture allowed.
                return None
            now = float(self.score.value(found.v))
            if now <= self.value + 1e-15 * (1 + abs(self.value)):
                break
            self.best, self.value = found, now
        return found

    def bound_at(self, bound: float) -> float:
        """What a margin can be worth at most."""
        return closed(self.value + max(bound, 0.0) * self.stretch, self.value, self.stretch)

    def _rows(self, at: MasterResult) -> tuple[list[Affine], float]:
        """Rows of the margin at the present value, and how much a margin can be worth."""
        rows = list(self.splitter.rows)
        stretch = 1.0
        for p in self.parts:
            size = max(float(p.size.value(at.v)), p.least)
            stretch = max(stretch, size / p.least)
            level = p.below.scaled(self.value).plus(p.above.scaled(-1.0))
            rows.append(level.plus(self.margin.scaled(size)))
            if p.at_zero < self.value + _TINY:
                rows.append(Affine({}, p.least).plus(p.below.scaled(-1.0)))
        return rows, stretch


class _Splitter:
    """Takes a quasiconcave function apart into ratios of which it is the smallest."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.weights = region.forms
        self.rows: list[Affine] = []

    def split(self, x: RateFunction, k: float, c: float) -> list[_Part]:
        """The ratios whose smallest is ``k x + c``."""
        if isinstance(x, Affine):
            return [_Part(x.scaled(k).plus(c), _ONE, _ONE, 1.0)]
        if isinstance(x, Ratio):
            above = x.above.scaled(k).plus(x.below.scaled(k * x.offset + c))
            vanishes = self.weights.range(x.below)[0] <= _TINY
            at_zero = k * x.at_zero + c if vanishes else INF
            return [
                _Part(
                    above,
                    x.below,
                    x.below,
                    least_denominator(self.weights, x.below) or 1.0,
                    at_zero,
                )
            ]
        if isinstance(x, Min if k > 0 else Max):
            return [p for child in x.children for p in self.split(child, k, c)]
        if isinstance(x, Absolute) and k < 0:
            return [p for sign in (1.0, -1.0) for p in self.split(x.children[0], sign * k, c)]
        if isinstance(x, MinOverMax) and k > 0:
            return self._extremes(x, k, c)
        if isinstance(x, WeightedSum):
            terms = list(zip(x.coefs, x.children, strict=True))
            moving = [(a, child) for a, child in terms if not child.is_constant]
            fixed = sum(a * child.low for a, child in terms if child.is_constant)
            if len(moving) == 1:
                return self.split(moving[0][1], k * moving[0][0], c + k * fixed)
        raise ShapeError(
            f"{self.region.program.goal.objective}: no exact method for mixtures "
            f"takes this quasiconcave shape; {self.region.space.otherwise}"
        )

    def _extremes(self, x: MinOverMax, k: float, c: float) -> list[_Part]:
        """Smallest over largest: x_i / t for all i, where t is at least each of them."""
        t = self.region.builder.auxiliary()
        children = [child for child in x.children if isinstance(child, Affine)]
        self.rows += [child.plus(t.scaled(-1.0)) for child in children]
        largest = Max(children)
        least = max(self.weights.range(child)[0] for child in children)
        vanishes = least <= _TINY
        if vanishes:
            least = min((s for y in children if (s := self.weights.step(y))), default=1.0)
        return [
            _Part(y.scaled(k).plus(t.scaled(c)), t, largest, least, c if vanishes else INF)
            for y in children
        ]
