"""Methods by shape: column generation, cutting planes, Dinkelbach, conditional gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
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
    NotLinearError,
    Program,
    RateFunction,
    RateTable,
    Ratio,
    WeightedSum,
    algebra,
)
from setpoint.search.achievable import MixtureWeights, Optimum, mixed_of
from setpoint.search.linear_program import TOLERANCE, ConcaveSum, split_terms, sum_of
from setpoint.search.master import InfeasibleMasterError, MasterResult, Pricing, Region

# --- Column generation: solve over the columns so far, ask for better ones ------------------------


INF = float("inf")
_COARSEST, _FINEST = 1e-2, 1e-10
_UNSMOOTHED = 5
"""Early multipliers are not worth going back to where a program costs little."""
_SHARE = 0.1
"""A step is solved to this share of the gap that is left."""


class MixtureSearch(ABC):
    """A way to the best mixture of the columns so far, for one shape."""

    method: str
    smooths = False
    certain = True

    def __init__(self, region: Region, score: RateFunction) -> None:
        self.region = region
        self.score = score
        self.best: MasterResult | None = None
        self.value = -INF

    @abstractmethod
    def step(self, gap: float) -> MasterResult | None:
        """Solve over the columns so far, to within about `gap`."""

    @abstractmethod
    def bound_at(self, bound: float) -> float:
        """From a bound on that program's objective to one on the score."""

    def take(self, found: MasterResult) -> None:
        """Make a mixture the best one."""
        self.best, self.value = found, float(self.score.value(found.v))

    def improves(self, found: MasterResult) -> bool:
        """Whether a mixture is better by more than rounding; if so it is the best one."""
        now = float(self.score.value(found.v))
        if now <= self.value + 1e-15 * (1 + abs(self.value)):
            return False
        self.best, self.value = found, now
        return True

    def run(
        self, gap: float = 0.0, *, traced: Program | None = None, partial: bool = True
    ) -> Optimum:
        """The best mixture of the space, to within `gap`; 0: as near as numbers allow."""
        space, master = self.region.space, self.region.master
        sure = self.certain and space.is_certain
        best: MasterResult | None = None
        value, bound = -INF, INF
        nearest: Pricing | None = None  # whose multipliers gave the bound
        inner, toward, asked = _COARSEST, None, 0
        unsmoothed = 1 if len(space.smoothing) > 1 else _UNSMOOTHED

        def keep() -> bool:
            """Keep what there is by now, if it is better; whether there is anything."""
            nonlocal best, value
            if self.best is not None and (best is None or self.value >= value):
                best, value = self.best, self.value
            return best is not None

        with space.limits.keeping(lambda: partial and keep()):
            while True:
                found = self.step(inner)
                keep()
                if found is None:
                    bound = min(bound, value)
                    break
                priced = master.price(found, toward)
                asked += 1
                if space.is_certain:
                    passed_by_none = min(self.bound_at(priced.bound), self.score.high)
                    if passed_by_none < bound:
                        bound, nearest = passed_by_none, priced
                if traced is not None and best is not None:
                    space.limits.record_rates(traced, best.v, bound)
                # Where no bound closes: nothing left to gain from the program's own objective.
                left = bound - value if sure else priced.slack
                if left <= gap and (sure or inner <= max(gap, _FINEST)):
                    break
                if not priced.grown and toward is not None:
                    toward = None  # mis-priced: ask where the program stands
                    continue
                if not priced.grown and inner <= _FINEST:
                    break
                inner = max(_FINEST, min(_SHARE * left, inner)) if priced.grown else _FINEST
                smooth = self.smooths and space.smoothing and asked >= unsmoothed
                toward = nearest if smooth else None
        assert best is not None
        v = space.features(best.choice)
        value = float(self.score.value(v))
        stopped = space.limits.stopped
        mixed = Optimum(best.choice, v, value, INF, "optimal", self.method, stopped)
        return mixed.bounded(bound, gap)


# --- Concave objectives over mixtures: linear rows where they have them ---------------------------


_ROUNDS = 300
_CLOSED = 1e-13


class ConcaveSearch(MixtureSearch):
    """One linear program a step where rows describe the objective; else tangents (Kelley 1960)."""

    method = "linear program"
    smooths = True

    def __init__(self, region: Region, score: RateFunction) -> None:
        super().__init__(region, score)
        self.rows: list[Affine] = []
        if isinstance(score, Affine):
            self.sum = ConcaveSum(score, [], float)
            return
        target = region.builder.auxiliary()
        try:
            self.rows = region.builder.bound(score, target, 1.0)
            self.sum = ConcaveSum(target, [], float)
        except NotLinearError:
            self.method = "cutting planes"
            self.sum = sum_of(score, region.builder)
            self.rows = [piece.touching(region.inner) for piece in self.sum.pieces]

    def step(self, gap: float) -> MasterResult:
        """Solve over the columns; add tangents until program and function agree within `gap`."""
        for _ in range(_ROUNDS):
            found = self.region.solve(self.sum.total, self.rows)
            now = float(self.score.value(found.v))
            if now > self.value or self.best is None or not self.sum.pieces:
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
        before = len(self.rows)
        # One tangent where the master stands, one nearer the best point: fewer rounds.
        middle = 0.5 * (found.v + best.v)
        for piece in self.sum.pieces:
            if piece.missing(found.v, found.aux) <= _CLOSED:
                continue
            self.rows += piece.cuts(found.v, found.aux, self.region.inner)
            if len(self.sum.pieces) == 1 and piece.missing(middle, found.aux) > _CLOSED:
                self.rows += piece.cuts(middle, found.aux, self.region.inner)
        return len(self.rows) > before


# --- A ratio over mixtures: Dinkelbach's method ---------------------------------------------------


_TINY = 1e-12
_SHORT = 1e-7
"""By so much of itself a floor may be missed, which is rounding."""
_DINKELBACH_ROUNDS = 100
_ROUNDING = 1e-7
"""The most that is called rounding where the least denominator is near 0."""


class RatioSearch(MixtureSearch):
    """Maximise A - gamma B, gamma <- A/B, until nothing is left to gain (Dinkelbach 1967)."""

    method = "Dinkelbach"
    score: Ratio

    def __init__(self, region: Region, score: Ratio) -> None:
        super().__init__(region, score)
        self.least = least_denominator(region.forms, score.below)
        self.floors: list[Affine] = []

    def step(self, gap: float) -> MasterResult | None:
        """Solve over the columns so far; `gap` is not used, each round is exact."""
        found = self._climb()
        if found is None or self.best is None or self.floors:
            return found
        below = float(self.score.below.value(self.best.v))
        if below >= self.least * (1.0 - _SHORT) or self.value <= self.score.at_zero:
            return found
        # Less than one expected row decides: from now on the denominator has a floor.
        with suppress(NotLinearError):
            self.floors = self.region.builder.floor(self.score, 1.0)
        self.best = None
        return self._climb() if self.floors else found

    def _climb(self) -> MasterResult | None:
        score = self.score
        if self.best is None:
            try:
                self.take(self.region.solve(score.below, self.floors))
            except InfeasibleMasterError:
                if not self.floors:
                    raise
                # Nobody is expected in the denominator, or less than a row.
                found = self.region.solve(score.below.scaled(-1.0))
                self.take(found)
                if float(score.below.value(found.v)) > _TINY:
                    raise
                return None
        for _ in range(_DINKELBACH_ROUNDS):
            if not np.isfinite(self.value):
                return None
            gamma = self.value - score.offset
            found = self.region.solve(score.above.plus(score.below.scaled(-gamma)), self.floors)
            if not self.improves(found):
                break
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


# --- The smallest of several ratios over mixtures -------------------------------------------------


_ONE = Affine({}, 1.0)


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
        self.rows: list[Affine] = []
        self.parts = self._split(score, 1.0, 0.0)
        self.margin = region.builder.auxiliary()
        self.stretch = 1.0

    def step(self, gap: float) -> MasterResult | None:
        """Solve over the columns so far; `gap` is not used, each round is exact."""
        if self.best is None:
            self.take(self.region.solve(Affine({}, 0.0)))
        for _ in range(_DINKELBACH_ROUNDS):
            assert self.best is not None
            rows, self.stretch = self._rows_at(self.best)
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

    def _rows_at(self, at: MasterResult) -> tuple[list[Affine], float]:
        """Rows of the margin at the present value, and how much a margin can be worth."""
        rows = list(self.rows)
        stretch = 1.0
        for p in self.parts:
            size = max(float(p.size.value(at.v)), p.least)
            stretch = max(stretch, size / p.least)
            level = p.below.scaled(self.value).plus(p.above.scaled(-1.0))
            rows.append(level.plus(self.margin.scaled(size)))
            if p.at_zero < self.value + _TINY:
                rows.append(Affine({}, p.least).plus(p.below.scaled(-1.0)))
        return rows, stretch

    def _split(self, x: RateFunction, k: float, c: float) -> list[_RatioPart]:
        """The ratios whose smallest is ``k x + c``."""
        forms = self.region.forms
        if isinstance(x, Affine):
            return [_RatioPart(x.scaled(k).plus(c), _ONE, _ONE, 1.0)]
        if isinstance(x, Ratio):
            above = x.above.scaled(k).plus(x.below.scaled(k * x.offset + c))
            least = least_denominator(forms, x.below) or 1.0
            at_zero = k * x.at_zero + c if forms.range(x.below)[0] <= _TINY else INF
            return [_RatioPart(above, x.below, x.below, least, at_zero)]
        if isinstance(x, Min if k > 0 else Max):
            return [p for child in x.children for p in self._split(child, k, c)]
        if isinstance(x, Absolute) and k < 0:
            return [p for sign in (1.0, -1.0) for p in self._split(x.children[0], sign * k, c)]
        if isinstance(x, MinOverMax) and k > 0:
            return self._extremes(x, k, c)
        if isinstance(x, WeightedSum):
            terms = list(zip(x.coefs, x.children, strict=True))
            moving = [(a, child) for a, child in terms if not child.is_constant]
            fixed = sum(a * child.low for a, child in terms if child.is_constant)
            if len(moving) == 1:
                return self._split(moving[0][1], k * moving[0][0], c + k * fixed)
        raise ShapeError(
            f"{self.region.program.goal.objective}: no exact method for mixtures "
            f"takes this quasiconcave shape; {self.region.space.otherwise}"
        )

    def _extremes(self, x: MinOverMax, k: float, c: float) -> list[_RatioPart]:
        """Smallest over largest: x_i / t for all i, where t is at least each of them."""
        forms, t = self.region.forms, self.region.builder.auxiliary()
        children = [child for child in x.children if isinstance(child, Affine)]
        self.rows += [child.plus(t.scaled(-1.0)) for child in children]
        largest = Max(children)
        least = max(forms.range(child)[0] for child in children)
        vanishes = least <= _TINY
        if vanishes:
            least = min((s for y in children if (s := forms.step(y))), default=1.0)
        at_zero = c if vanishes else INF
        return [
            _RatioPart(y.scaled(k).plus(t.scaled(c)), t, largest, least, at_zero) for y in children
        ]


# --- Sums of ratios over mixtures: conditional gradients ------------------------------------------


_STEPS, _EXCHANGES = 500, 50
_CLIMB, _COARSEST_STEP = 1e-7, 1e-4
"""What a step gains at least, relative to the value, and while little is known yet."""


_STEP_ROUNDING = 1e-9
"""Of what one row weighs in a denominator."""
_TRIES, _STARTS, _SWEEPS = 2, 6, 20
"""How often a search that has ended starts again, and near how many constants."""
_MOST_NUMBERS = 5_000_000
"""Columns times features up to which blocks are exchanged."""
_CORNERS = 60
"""More than so many corners are cut down to those in use."""
_ENDS = 2.0 ** -np.arange(1, 21)
_LINE = np.concatenate([_ENDS[::-1], 1.0 - _ENDS[1:], [1.0]])
"""Where a line is looked at first: closely at its ends, for ratios change fast there."""
_ZOOM, _ZOOMS = np.linspace(0.0, 1.0, 17), 3


class SumSearch(MixtureSearch):
    """Climb along lines between mixtures of the region, as the gradient of the sum points."""

    method = "conditional gradients"
    certain = False

    def __init__(self, region: Region, score: WeightedSum) -> None:
        super().__init__(region, score)
        self.sum = _Sum(region, score)
        self.climb: _Climb | None = None
        self.tries = 0

    def step(self, gap: float) -> MasterResult:
        """Climb over the columns so far."""
        near = min(max(_CLIMB, _SHARE * gap), _COARSEST_STEP)
        if self.climb is None:
            space = self.region.space
            self.climb = _Climb(self, space.uniform(), self.region.inner)
        try:
            found = self.climb.up(near)
            if gap <= _CLIMB and self.tries < _TRIES:
                self.tries += 1
                for choice, v in self._starts(self.climb.choice()):
                    other = _Climb(self, choice, v)
                    end = other.up(near)
                    if other.value > self.climb.value + near * (1 + abs(other.value)):
                        self.climb, found = other, end
        finally:
            # Also where a limit ends it half way up.
            now = self.climb
            if now.seen is not None:
                self.best = replace(now.seen, choice=now.choice(), v=now.v)
                self.value = now.value
        return found

    def bound_at(self, bound: float) -> float:
        """The sum is not concave: what bounds its gradient says nothing of it."""
        return INF

    def toward(self, slopes: Floats) -> MasterResult:
        """The best mixture for a gradient."""
        return self.region.solve(Affine(dict(enumerate(slopes.tolist())), 0.0))

    def _starts(self, now: MixtureWeights) -> list[tuple[MixtureWeights, Floats]]:
        """Mixtures without draws near the best constants and the mixture so far."""
        space = self.region.space
        constants, v = space.constants(), space.features_of_constants()
        order = np.argsort(-np.asarray(self.sum.value(v)), kind="stable")[:_STARTS]
        begun = (now, *(constants[k] for k in order))
        # A search may have begun with fewer columns than it uses by now.
        numbers = [
            list(dict.fromkeys([*space.initial_columns(b), *(k for c in begun for k in c[b])]))
            for b in range(space.n_blocks)
        ]
        if sum(map(len, numbers)) * space.d > _MOST_NUMBERS:
            return [(constants[k], v[k]) for k in order.tolist()]
        columns = [space.columns(b, own) for b, own in enumerate(numbers)]
        return [self._exchanged(choice, numbers, columns) for choice in begun]

    def _exchanged(
        self, choice: MixtureWeights, numbers: list[list[int]], columns: list[Floats]
    ) -> tuple[MixtureWeights, Floats]:
        """Each block's likeliest column, then changed block by block while that helps."""
        at = [numbers[b].index(max(part, key=lambda k: part[k])) for b, part in enumerate(choice)]
        total = np.sum([c[k] for c, k in zip(columns, at, strict=True)], axis=0)
        for _ in range(_SWEEPS):
            before = list(at)
            for b, own in enumerate(columns):
                v = total - own[at[b]] + own
                allowed = np.asarray(self.region.program.violation(v)) <= SATISFIED
                worth = np.where(allowed, np.nan_to_num(self.sum.value(v), nan=-INF), -INF)
                k = int(np.argmax(worth))
                if worth[k] > worth[at[b]]:
                    at[b], total = k, v[k]
            if at == before:
                break
        return [{numbers[b][k]: 1.0} for b, k in enumerate(at)], total


class _Climb:
    """A mixture of corners of the region, on its way up."""

    def __init__(self, search: SumSearch, choice: MixtureWeights, v: Floats) -> None:
        self.search = search
        self.sum = search.sum
        self.seen: MasterResult | None = None
        if float(search.region.program.violation(v)) > SATISFIED:
            found = search.toward(search.sum.slopes(v))
            choice, v = found.choice, found.v
        self.corners = [choice]
        self.known: Floats = v[None]
        self.weights: Floats = np.ones(1)
        self.value = float(self.sum.value(v))

    @property
    def v(self) -> Floats:
        """The features of the mixture (d,)."""
        return np.asarray(self.weights @ self.known)

    def choice(self) -> MixtureWeights:
        """The mixture over the columns of the blocks."""
        held = np.flatnonzero(self.weights)
        return mixed_of([self.corners[k] for k in held], self.weights[held].tolist())

    def up(self, near: float) -> MasterResult:
        """Climb until a step gains no more than `near`; the last program."""
        for _ in range(_STEPS):
            v, before = self.v, self.value
            slopes = self.search.sum.slopes(v)
            found = self.seen = self.search.toward(slopes)
            little = near * (1 + abs(before))
            if slopes @ (found.v - v) <= little:
                break
            self._join(found.choice, found.v)
            self._move(self.known[-1] - v, self.weights, np.eye(len(self.weights))[-1])
            self._exchange(little)
            if self.value <= before + little:
                break
        return found

    def _join(self, choice: MixtureWeights, v: Floats) -> None:
        if len(self.corners) > _CORNERS:
            held = np.flatnonzero(self.weights)
            self.corners = [self.corners[k] for k in held]
            self.known, self.weights = self.known[held], self.weights[held]
        self.corners.append(choice)
        self.known = np.concatenate([self.known, v[None]])
        self.weights = np.append(self.weights, 0.0)

    def _move(self, direction: Floats, away: Floats, to: Floats) -> float:
        """Go where the sum is largest along a line; what that gains."""
        v, share, value = self.v, 0.0, self.value
        shares = _LINE
        for _ in range(1 + _ZOOMS):
            values = np.nan_to_num(
                np.asarray(self.sum.value(v + shares[:, None] * direction)), nan=-INF
            )
            at = int(np.argmax(values))
            if values[at] > value:
                share, value = float(shares[at]), float(values[at])
            if at == len(shares) - 1:
                break
            low = shares[at - 1] if at else 0.0
            shares = low + (shares[at + 1] - low) * _ZOOM
        gained = value - self.value
        if share:
            # The whole way leaves nothing behind.
            left = self.weights - share * away
            self.weights = np.where(left > 0.0, left, 0.0) + share * to
            self.value = value
        return gained

    def _exchange(self, near: float) -> None:
        """Move weight from the worst corner in use to the best one known, while that helps."""
        for _ in range(_EXCHANGES):
            worth = self.known @ self.search.sum.slopes(self.v)
            held = np.flatnonzero(self.weights)
            up, down = int(np.argmax(worth)), int(held[np.argmin(worth[held])])
            if worth[up] - worth[down] <= near:
                return
            one = np.eye(len(worth)) * self.weights[down]
            gained = self._move(one[up] @ self.known - one[down] @ self.known, one[down], one[up])
            if gained <= _SHARE * near:
                return


class _Sum:
    """A sum of ratios as arrays: its values and its gradient."""

    def __init__(self, region: Region, score: WeightedSum) -> None:
        affine, ratios = terms_of(region, score)
        d, forms = region.space.d, region.forms
        self.const, self.affine = affine.const, split_terms(affine, d)[0]
        self.factor = np.array([factor for factor, _ in ratios])
        self.zero = np.array([r.at_zero for _, r in ratios])
        self.above = np.array([split_terms(r.above, d)[0] for _, r in ratios]).reshape(-1, d)
        self.below = np.array([split_terms(r.below, d)[0] for _, r in ratios]).reshape(-1, d)
        self.consts = np.array([(r.above.const, r.below.const) for _, r in ratios]).reshape(-1, 2)
        self.least = np.array([least_denominator(forms, r.below) or 1.0 for _, r in ratios])

    def value(self, v: Floats) -> Floats:
        """The sum (...,) at features (..., d)."""
        above = v @ self.above.T + self.consts[:, 0]
        below = v @ self.below.T + self.consts[:, 1]
        nothing = _STEP_ROUNDING * self.least
        held = below > nothing
        ratios = np.where(held, above / np.where(held, below, 1.0), self.zero)
        ratios = np.where(~held & (above > nothing), INF, ratios)
        return np.asarray(v @ self.affine + self.const + ratios @ self.factor)

    def slopes(self, v: Floats) -> Floats:
        """The gradient (d,)."""
        above = self.above @ v + self.consts[:, 0]
        below = np.maximum(self.below @ v + self.consts[:, 1], self.least)
        up = self.factor / below
        return np.asarray(self.affine + up @ self.above - (up * above / below) @ self.below)


def bound_of_sum(region: Region, score: WeightedSum, gap: float) -> float:
    """The sum of the largest values of the terms: no mixture of the region has more."""
    affine, ratios = terms_of(region, score)
    bound = ConcaveSearch(region, affine).run(gap, partial=False).bound
    for factor, r in ratios:
        search = RatioSearch(region, Ratio(r.above, r.below))
        bound += factor * search.run(gap, partial=False).bound
    return bound


def terms_of(region: Region, score: WeightedSum) -> tuple[Affine, list[tuple[float, Ratio]]]:
    """A sum as an affine function and ratios above / below, each with a factor > 0, above >= 0."""
    affine = algebra.constant(0.0)
    ratios: list[tuple[float, Ratio]] = []
    for coef, child in zip(score.coefs, score.children, strict=True):
        if isinstance(child, Affine):
            affine = affine.plus(child.scaled(coef))
            continue
        assert isinstance(child, Ratio)
        k, above, zero = coef, child.above, child.at_zero - child.offset
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
            zero = (zero - m) * (1.0 if k > 0 else -1.0)
            k = abs(k)
        ratios.append((k, Ratio(above, child.below, at_zero=zero)))
    return affine, ratios
