"""Sums of ratios over mixtures: conditional gradients, to a stationary point.

Along a line towards the mixture that the gradient likes best the sum itself is looked at, so
each program is a linear one over the region as it is, and what it finds stays a corner to mix
with (Frank and Wolfe 1956; the exchange of two corners as in Lacoste-Julien and Jaggi 2015).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from setpoint.goals.errors import ShapeError
from setpoint.program import algebra
from setpoint.program.functions import Affine, Ratio, WeightedSum
from setpoint.search.concave import concave_search
from setpoint.search.generation import generate
from setpoint.search.master import MasterResult
from setpoint.search.nearest import coin_of
from setpoint.search.ratios import RatioSearch, least_denominator
from setpoint.search.region import Region
from setpoint.search.space import Choice, Floats
from setpoint.tolerances import SATISFIED

__all__ = ["SumSearch", "bound_of_sum"]

INF = float("inf")
_STEPS, _EXCHANGES = 500, 50
_CLIMB, _COARSEST = 1e-7, 1e-4
"""What a step gains at least, relative to the value, and while little is known yet."""
_SHARE = 0.1
_CORNERS = 60
"""More than so many corners are cut down to those in use."""
_ENDS = 2.0 ** -np.arange(1, 21)
_LINE = np.concatenate([_ENDS[::-1], 1.0 - _ENDS[1:], [1.0]])
"""Where a line is looked at first: closely at its ends, for ratios change fast there."""
_ZOOM, _ZOOMS = np.linspace(0.0, 1.0, 17), 3


class SumSearch:
    """Climb along lines between mixtures of the region, as the gradient of the sum points.

    It ends at a stationary point.
    """

    method = "conditional gradients"
    smooths = False
    certain = False

    def __init__(self, region: Region, score: WeightedSum) -> None:
        self.region = region
        self.score = score
        self.slopes = _Slopes(region, score)
        self.corners: list[Choice] = []
        self.known: Floats = np.zeros((0, region.space.d))
        self.weights: Floats = np.zeros(0)
        self.best: MasterResult | None = None
        self.value = -INF

    def step(self, gap: float) -> MasterResult:
        """Climb over the columns at hand."""
        if not self.corners:
            self._start()
        near = min(max(_CLIMB, _SHARE * gap), _COARSEST)
        for _ in range(_STEPS):
            v, before = self.weights @ self.known, self.value
            slopes = self.slopes(v)
            found = self._toward(slopes)
            near_by = near * (1 + abs(before))
            if slopes @ (found.v - v) <= near_by:
                break
            self._join(found.choice, found.v)
            self._move(self.known[-1] - v, self.weights, np.eye(len(self.weights))[-1])
            self._exchange(near_by)
            if self.value <= before + near_by:
                break
        self.best = replace(found, choice=self._choice(), v=self.weights @ self.known)
        return found

    def bound_at(self, bound: float) -> float:
        """The sum is not concave: what bounds its gradient says nothing of it."""
        return INF

    def _toward(self, slopes: Floats) -> MasterResult:
        """The best mixture for the gradient."""
        return self.region.solve(Affine(dict(enumerate(slopes.tolist())), 0.0))

    def _start(self) -> None:
        """Begin in the middle, where no denominator is 0, or where the gradient there points."""
        space, v = self.region.space, self.region.inner
        choice: Choice = coin_of(space.constants())
        if float(self.region.program.violation(v)) > SATISFIED:
            found = self._toward(self.slopes(v))
            choice, v = found.choice, found.v
        self._join(choice, v)
        self.weights[0] = 1.0
        self.value = float(self.score.value(v))

    def _join(self, choice: Choice, v: Floats) -> None:
        if len(self.corners) > _CORNERS:
            held = np.flatnonzero(self.weights)
            self.corners = [self.corners[k] for k in held]
            self.known, self.weights = self.known[held], self.weights[held]
        self.corners.append(choice)
        self.known = np.concatenate([self.known, v[None]])
        self.weights = np.append(self.weights, 0.0)

    def _move(self, direction: Floats, away: Floats, to: Floats) -> float:
        """Go where the sum is largest along a line; what that gains.

        The whole line takes the weights `away` from the corners, and puts `to` on them.
        """
        v, share, value = self.weights @ self.known, 0.0, self.value
        shares = _LINE
        for _ in range(1 + _ZOOMS):
            values = np.nan_to_num(
                np.asarray(self.score.value(v + shares[:, None] * direction)), nan=-INF
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
            worth = self.known @ self.slopes(self.weights @ self.known)
            held = np.flatnonzero(self.weights)
            up, down = int(np.argmax(worth)), int(held[np.argmin(worth[held])])
            if worth[up] - worth[down] <= near:
                return
            one = np.eye(len(worth)) * self.weights[down]
            gained = self._move(one[up] @ self.known - one[down] @ self.known, one[down], one[up])
            if gained <= _SHARE * near:
                return

    def _choice(self) -> Choice:
        out: list[dict[int, float]] = [{} for _ in range(self.region.space.n_blocks)]
        for p, corner in zip(self.weights.tolist(), self.corners, strict=True):
            if p > 0.0:
                for part, own in zip(out, corner, strict=True):
                    for k, q in own.items():
                        part[k] = part.get(k, 0.0) + p * q
        return out


class _Slopes:
    """The gradient of a sum of ratios.

    A denominator counts as no less than that of one row: where it vanishes, so does the ratio.
    """

    def __init__(self, region: Region, score: WeightedSum) -> None:
        affine, ratios = terms_of(region, score)
        d, forms = region.space.d, region.forms
        self.affine = _coefs(affine, d)
        self.factor = np.array([k for k, _, _ in ratios])
        self.above = np.array([_coefs(above, d) for _, above, _ in ratios]).reshape(-1, d)
        self.below = np.array([_coefs(below, d) for _, _, below in ratios]).reshape(-1, d)
        self.consts = np.array([(a.const, b.const) for _, a, b in ratios]).reshape(-1, 2)
        self.least = np.array([least_denominator(forms, b) or 1.0 for _, _, b in ratios])

    def __call__(self, v: Floats) -> Floats:
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
