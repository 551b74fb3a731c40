"""Ratios over mixtures: one of them, the smallest of several, and their sums."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from setpoint.exact.concave import maximize_concave
from setpoint.exact.master import InfeasibleMasterError
from setpoint.exact.mixed import Mixed, mixed_of
from setpoint.exact.problem import Choice, Floats
from setpoint.exact.region import Region
from setpoint.goals import algebra
from setpoint.goals.atoms import Affine, Bound, Ratio
from setpoint.goals.composites import Absolute, Extremes, Largest, Root, Smallest, Total
from setpoint.goals.errors import ShapeError
from setpoint.goals.weights import Weights

__all__ = ["maximize_ratio", "maximize_smallest", "maximize_sum"]

INF = float("inf")
_TINY = 1e-12
_ONE = Affine({}, 1.0)
_ROUNDS = 100
_ROUNDING = 1e-7
"""What a division by a least denominator near 0 makes of the rounding of a linear program."""


# -- one ratio ------------------------------------------------------------------------------


def maximize_ratio(region: Region, score: Ratio) -> Mixed:
    """Maximise A - gamma B, gamma <- A/B, until nothing is left to gain (Dinkelbach 1967)."""
    best = region.maximize(score.below)
    value, bound = float(score.value(best.v)), INF
    least = _least(region.problem.program.weights, score.below)
    for _ in range(_ROUNDS):
        if not np.isfinite(value):
            break
        gamma = value - score.offset
        found = region.maximize(score.above.plus(score.below.scaled(-gamma)))
        if least > 0:
            bound = min(bound, value + max(found.bound, 0.0) / least)
        now = float(score.value(found.v))
        if now <= value + 1e-15 * (1 + abs(value)):
            break
        best, value = found, now
    return mixed_of(region.problem, score, best.choice, _closed(bound, value), "Dinkelbach")


def _least(weights: Weights, below: Affine) -> float:
    """The smallest denominator above 0: one row's weight where it can vanish."""
    low = weights.range(below)[0]
    return low if low > _TINY else (weights.step(below) or 0.0)


def _closed(bound: float, value: float) -> float:
    return value if bound - value <= _ROUNDING else bound


# -- the smallest of several ----------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """One of several ratios ``above / below``: `size` is the denominator at features v."""

    above: Affine
    below: Affine
    size: Bound
    least: float
    at_zero: float = INF


def maximize_smallest(region: Region, score: Bound) -> Mixed:
    """The largest smallest ratio: Dinkelbach's method for several at once.

    The largest s with ``A_i - gamma B_i >= s B_i(v)`` for all i, v the point at hand, leads
    to a better point or proves that there is none (Crouzeix, Ferland and Schaible 1986).

    Raises
    ------
    ShapeError
        If the function is no smallest of ratios.
    """
    splitter = _Splitter(region)
    parts = splitter.split(score, 1.0, 0.0)
    best = region.maximize(Affine({}, 0.0))
    value, bound = float(score.value(best.v)), INF
    for _ in range(_ROUNDS):
        margin = region.builder.auxiliary()
        rows = list(splitter.rows)
        stretch = 1.0
        for p in parts:
            size = max(float(p.size.value(best.v)), p.least)
            stretch = max(stretch, size / p.least)
            level = p.below.scaled(value).plus(p.above.scaled(-1.0))
            rows.append(level.plus(margin.scaled(size)))
            if p.at_zero < value + _TINY:
                rows.append(Affine({}, p.least).plus(p.below.scaled(-1.0)))
        try:
            found = region.maximize(margin, rows)
        except InfeasibleMasterError:
            # Some denominator is 0 in every mixture allowed.
            bound = value
            break
        bound = min(bound, value + max(found.bound, 0.0) * stretch)
        now = float(score.value(found.v))
        if now <= value + 1e-15 * (1 + abs(value)):
            break
        best, value = found, now
    return mixed_of(region.problem, score, best.choice, _closed(bound, value), "Dinkelbach")


class _Splitter:
    """Takes a quasiconcave function apart into ratios of which it is the smallest."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.weights = region.problem.program.weights
        self.rows: list[Affine] = []

    def split(self, x: Bound, k: float, c: float) -> list[_Part]:
        """The ratios whose smallest is ``k x + c``."""
        if isinstance(x, Affine):
            return [_Part(x.scaled(k).plus(c), _ONE, _ONE, 1.0)]
        if isinstance(x, Ratio):
            above = x.above.scaled(k).plus(x.below.scaled(k * x.offset + c))
            vanishes = self.weights.range(x.below)[0] <= _TINY
            at_zero = k * x.at_zero + c if vanishes else INF
            return [_Part(above, x.below, x.below, _least(self.weights, x.below) or 1.0, at_zero)]
        if isinstance(x, Smallest if k > 0 else Largest):
            return [p for child in x.children for p in self.split(child, k, c)]
        if isinstance(x, Absolute) and k < 0:
            return [p for sign in (1.0, -1.0) for p in self.split(x.children[0], sign * k, c)]
        if isinstance(x, Extremes) and k > 0:
            return self._extremes(x, k, c)
        if isinstance(x, Total):
            terms = list(zip(x.coefs, x.children, strict=True))
            moving = [(a, child) for a, child in terms if not child.is_constant]
            fixed = sum(a * child.low for a, child in terms if child.is_constant)
            if len(moving) == 1:
                return self.split(moving[0][1], k * moving[0][0], c + k * fixed)
        raise ShapeError(
            f"{self.region.problem.program.goal.objective}: no exact method for mixtures of "
            "thresholds takes this quasiconcave shape; with one slot and randomized=False every "
            "cut-off is tried"
        )

    def _extremes(self, x: Extremes, k: float, c: float) -> list[_Part]:
        """Smallest over largest: x_i / t for all i, where t is at least each of them."""
        t = self.region.builder.auxiliary()
        children = [child for child in x.children if isinstance(child, Affine)]
        self.rows += [child.plus(t.scaled(-1.0)) for child in children]
        largest = Largest(children)
        least = max(self.weights.range(child)[0] for child in children)
        vanishes = least <= _TINY
        if vanishes:
            least = min((s for y in children if (s := self.weights.step(y))), default=1.0)
        return [
            _Part(y.scaled(k).plus(t.scaled(c)), t, largest, least, c if vanishes else INF)
            for y in children
        ]


_STEPS, _TANGENTS, _CLIMB = 60, 25, 1e-7

# -- sums -----------------------------------------------------------------------------------


def maximize_sum(region: Region, score: Total) -> Mixed:
    """Alternate y = sqrt(A)/B and the concave sum of 2 y sqrt(A) - y^2 B (Shen and Yu 2018).

    It ends at a stationary point; the bound is the sum of the largest values of the terms.
    """
    affine, ratios = _terms(region, score)
    bound = region.maximize(affine).bound
    bound += sum(k * maximize_ratio(region, Ratio(a, b)).bound for k, a, b in ratios)
    v: Floats = region.inner
    choice: Choice | None = None
    value = -INF
    for _ in range(_STEPS):
        # A step need only climb: the next one starts from a new surrogate.
        surrogate = _surrogate(affine, ratios, v)
        found = maximize_concave(region, surrogate, gap=_CLIMB, rounds=_TANGENTS)
        now = float(score.value(found.v))
        v = found.v
        if choice is not None and now <= value + _CLIMB * (1 + abs(value)):
            break
        value, choice = now, found.choice
        if bound - value <= _CLIMB * (1 + abs(value)):
            break
    assert choice is not None
    mixed = mixed_of(region.problem, score, choice, bound, "quadratic transform")
    return replace(mixed, status="stationary")


def _terms(region: Region, score: Total) -> tuple[Affine, list[tuple[float, Affine, Affine]]]:
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
                    f"{region.problem.program.goal.objective}: a ratio in this sum has no bound"
                )
            above = child.below.scaled(m).plus(above.scaled(-1.0)).scaled(1.0 if k < 0 else -1.0)
            affine = affine.plus(k * m)
            k = abs(k)
        ratios.append((k, above, child.below))
    return affine, ratios


def _surrogate(affine: Affine, ratios: list[tuple[float, Affine, Affine]], v: Floats) -> Bound:
    """The concave function that touches the sum at v from below."""
    terms: list[tuple[float, Bound]] = [(1.0, affine)]
    for k, above, below in ratios:
        a, b = float(above.value(v)), max(float(below.value(v)), _TINY)
        # A term at 0 would stay there for ever.
        y = np.sqrt(a) / b if a > 1e-9 else 1.0 / np.sqrt(b)
        terms += [(2.0 * k * y, Root((above,))), (-k * y * y, below)]
    return algebra.add(terms)
