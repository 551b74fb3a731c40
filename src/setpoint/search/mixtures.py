"""The best mixture of any goal: which method takes it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import ShapeError
from setpoint.parameters import SATISFIED
from setpoint.program import (
    Absolute,
    Affine,
    Max,
    Min,
    MinOverMax,
    Program,
    RateFunction,
    Ratio,
    WeightedSum,
)
from setpoint.search.achievable import AchievableSet, Optimum, mixed_of
from setpoint.search.linear_program import MasterResult, UnfinishedError
from setpoint.search.master import (
    InfeasibleMasterError,
    Master,
    Region,
    solve_and_recount,
    worked_with,
)
from setpoint.search.methods import (
    MixtureSearch,
    RatioSearch,
    SumSearch,
    bound_of_sum,
    closed,
    concave_search,
    generate,
    least_denominator,
)

# --- The smallest of several ratios over mixtures -------------------------------------------------


INF = float("inf")
_TINY = 1e-12
_ONE = Affine({}, 1.0)
_ROUNDS = 100


@dataclass(frozen=True)
class _RatioPart:
    """One of several ratios ``above / below``: `size` is the denominator at features v."""

    above: Affine
    below: Affine
    size: RateFunction
    least: float
    at_zero: float = INF


class SmallestSearch(MixtureSearch):
    """The largest smallest ratio."""

    method = "Dinkelbach"

    def __init__(self, region: Region, score: RateFunction) -> None:
        super().__init__(region, score)
        self.splitter = _Splitter(region)
        self.parts = self.splitter.split(score, 1.0, 0.0)
        self.margin = region.builder.auxiliary()
        self.stretch = 1.0

    def step(self, gap: float) -> MasterResult | None:
        """Solve over the columns so far; `gap` is not used, each round is exact."""
        if self.best is None:
            self.take(self.region.solve(Affine({}, 0.0)))
        for _ in range(_ROUNDS):
            assert self.best is not None
            rows, self.stretch = self._rows(self.best)
            try:
                found = self.region.solve(self.margin, rows)
            except InfeasibleMasterError:
                # Some denominator is 0 in every mixture allowed.
                return None
            if not self.improves(found):
                break
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

    def split(self, x: RateFunction, k: float, c: float) -> list[_RatioPart]:
        """The ratios whose smallest is ``k x + c``."""
        if isinstance(x, Affine):
            return [_RatioPart(x.scaled(k).plus(c), _ONE, _ONE, 1.0)]
        if isinstance(x, Ratio):
            above = x.above.scaled(k).plus(x.below.scaled(k * x.offset + c))
            vanishes = self.weights.range(x.below)[0] <= _TINY
            at_zero = k * x.at_zero + c if vanishes else INF
            return [
                _RatioPart(
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

    def _extremes(self, x: MinOverMax, k: float, c: float) -> list[_RatioPart]:
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
            _RatioPart(y.scaled(k).plus(t.scaled(c)), t, largest, least, c if vanishes else INF)
            for y in children
        ]


# --- The best mixture, by the shape of the objective ----------------------------------------------


_MOVES = 3
"""Times that bounds are moved by twice what they were missed by."""
_NUDGES = (1e-10, 1e-9, 1e-8, 1e-7)


def best_mixture(
    space: AchievableSet, program: Program, gap: float = 0.0, master: Master | None = None
) -> Optimum:
    """The mixture with the best objective among those that meet the constraints."""
    constraints = program.constraints

    def solve(inwards: Floats) -> Optimum:
        mixed = _search(Region(space, worked_with(program, inwards), master), program, gap)
        past = float(program.violation(mixed.v)) > SATISFIED
        return _nudge_inside(space, program, mixed) if past else mixed

    def excess(mixed: Optimum) -> Floats:
        return np.array([float(c.violation(mixed.v)) for c in constraints])

    def missed(mixed: Optimum) -> Floats:
        past = excess(mixed)
        return np.where(past > SATISFIED, 2.0 * past, 0.0)

    found = solve_and_recount(solve, missed, len(constraints), _MOVES)
    left = float(excess(found[-1]).max(initial=0.0))
    if left > SATISFIED:
        raise UnfinishedError(
            f"{program.goal}: the constraints were met to within {left:.2g} and not "
            f"{SATISFIED:g}; move a bound a little"
        )
    # Bounds that were moved allow less: only the first search bounds all mixtures.
    return _against_constants(space, program, found[-1].bounded(found[0].bound, gap))


def _nudge_inside(space: AchievableSet, program: Program, mixed: Optimum) -> Optimum:
    """Move slightly towards the constant rules, if that meets the constraints better."""
    uniform = space.uniform()
    least, best = float(program.violation(mixed.v)), mixed
    for share in _NUDGES:
        choice = mixed_of([mixed.choice, uniform], [1.0 - share, share])
        v = space.features(choice)
        violation = float(program.violation(v))
        if violation < least:
            least, best = violation, replace(mixed, choice=choice, v=v, value=program.score_at(v))
        if least <= SATISFIED:
            break
    return best


def _against_constants(space: AchievableSet, program: Program, mixed: Optimum) -> Optimum:
    """A constant classifier where it is better: the value at 0/0 is not a limit of others."""
    v = space.features_of_constants()
    values = np.where(program.violation(v) <= SATISFIED, program.scores(v), -INF)
    k = int(np.argmax(values))
    if not values[k] > mixed.value:
        return mixed
    value = float(values[k])
    choice, bound = space.constants()[k], max(mixed.bound, value)
    return replace(mixed, choice=choice, v=v[k], value=value, bound=bound)


def search_for(region: Region, score: RateFunction) -> MixtureSearch:
    """The search that takes a score's shape."""
    if score.shape.concave:
        return concave_search(region, score)
    if isinstance(score, Ratio):
        return RatioSearch(region, score)
    if score.shape.quasiconcave:
        return SmallestSearch(region, score)
    if score.shape.ratios and isinstance(score, WeightedSum):
        return SumSearch(region, score)
    program = region.program
    raise ShapeError(
        f"{program.goal.objective}: no exact method for mixtures takes this shape "
        f"({program.objective.shape_name}); {region.space.otherwise}"
    )


def _search(region: Region, meant: Program, gap: float) -> Optimum:
    score = meant.score
    search = search_for(region, score)
    found = generate(region, search, gap, traced=meant)
    if isinstance(score, WeightedSum) and isinstance(search, SumSearch):
        bound = INF
        if not found.stopped and region.space.is_certain:
            limits = region.space.limits
            with limits.keeping(found):
                bound = bound_of_sum(region, score, gap)
                # What is best for one term alone may lead the sum further.
                search.tries = 0
                found = generate(region, search, gap, traced=meant)
            found = replace(found, stopped=limits.stopped)
        return replace(found, bound=bound, status="stationary")
    return found
