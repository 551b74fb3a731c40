"""Sums of ratios over mixtures: conditional gradients, to a stationary point.

Along a line towards the mixture that the gradient likes best the sum itself is looked at, so
each program is a linear one over the region as it is, and what it finds stays a corner to mix
with (Frank and Wolfe 1956; the exchange of two corners as in Lacoste-Julien and Jaggi 2015).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from setpoint.array_types import Floats
from setpoint.goals.errors import ShapeError
from setpoint.program import algebra
from setpoint.program.functions import Affine, Ratio, WeightedSum
from setpoint.search.achievable_set import MixtureWeights, mixed_of
from setpoint.search.column_generation import generate
from setpoint.search.column_program import MasterResult
from setpoint.search.cutting_planes import concave_search
from setpoint.search.dinkelbach import RatioSearch, least_denominator
from setpoint.search.region import Region
from setpoint.tolerances import SATISFIED

__all__ = ["SumSearch", "bound_of_sum"]

INF = float("inf")
_STEPS, _EXCHANGES = 500, 50
_CLIMB, _COARSEST = 1e-7, 1e-4
"""What a step gains at least, relative to the value, and while little is known yet."""
_SHARE = 0.1
_ROUNDING = 1e-9
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


class SumSearch:
    """Climb along lines between mixtures of the region, as the gradient of the sum points."""

    method = "conditional gradients"
    smooths = False
    certain = False

    def __init__(self, region: Region, score: WeightedSum) -> None:
        self.region = region
        self.score = score
        self.sum = _Sum(region, score)
        self.climb: _Climb | None = None
        self.tries = 0
        self.best: MasterResult | None = None
        self.value = -INF

    def step(self, gap: float) -> MasterResult:
        """Climb over the columns so far."""
        near = min(max(_CLIMB, _SHARE * gap), _COARSEST)
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
        self.const, self.affine = affine.const, _coefs(affine, d)
        self.factor = np.array([r.factor for r in ratios])
        self.zero = np.array([r.zero for r in ratios])
        self.above = np.array([_coefs(r.above, d) for r in ratios]).reshape(-1, d)
        self.below = np.array([_coefs(r.below, d) for r in ratios]).reshape(-1, d)
        self.consts = np.array([(r.above.const, r.below.const) for r in ratios]).reshape(-1, 2)
        self.least = np.array([least_denominator(forms, r.below) or 1.0 for r in ratios])

    def value(self, v: Floats) -> Floats:
        """The sum (...,) at features (..., d)."""
        above = v @ self.above.T + self.consts[:, 0]
        below = v @ self.below.T + self.consts[:, 1]
        nothing = _ROUNDING * self.least
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


def _coefs(x: Affine, d: int) -> Floats:
    out = np.zeros(d)
    out[list(x.terms)] = list(x.terms.values())
    return out


def bound_of_sum(region: Region, score: WeightedSum, gap: float) -> float:
    """The sum of the largest values of the terms: no mixture of the region has more."""
    affine, ratios = terms_of(region, score)
    bound = generate(region, concave_search(region, affine), gap, partial=False).bound
    for r in ratios:
        search = RatioSearch(region, Ratio(r.above, r.below))
        bound += r.factor * generate(region, search, gap, partial=False).bound
    return bound


class _Term(NamedTuple):
    """A ratio ``factor * above / below`` with factor > 0 and above >= 0; `zero` at 0/0."""

    factor: float
    above: Affine
    below: Affine
    zero: float


def terms_of(region: Region, score: WeightedSum) -> tuple[Affine, list[_Term]]:
    """A sum as an affine function and ratios."""
    affine = algebra.constant(0.0)
    ratios: list[_Term] = []
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
        ratios.append(_Term(k, above, child.below, zero))
    return affine, ratios
