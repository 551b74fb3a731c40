"""Curved functions taken apart, so that each tangent is one of few variables.

A tangent of a function of n recalls tells of one point in n dimensions, and there are many.
``g_mean >= k`` says the same as ``sum of log recall >= n log k``: with an auxiliary for each
term, tangents of n functions of one variable do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from setpoint.array_types import Floats
from setpoint.program import algebra
from setpoint.program.functions import (
    Affine,
    Log,
    PowerMean,
    Product,
    RateFunction,
    Ratio,
    WeightedSum,
)
from setpoint.program.rows import RowBuilder

__all__ = ["EpigraphTerm", "Sum", "nearest_trusted", "pieces_of_level", "sum_of", "tangent"]

_TRUSTED = 1e-9
_STEEP = 1e-6
"""A tangent where less is watched by a floor has coefficients that a program cannot hold."""


def tangent(f: RateFunction, at: Floats) -> Affine:
    """The affine function that touches `f` at a point."""
    slope = f.gradient(at)
    const = float(f.value(at)) - float(slope @ at)
    return Affine({int(j): float(slope[j]) for j in slope.nonzero()[0]}, const)


def nearest_trusted(f: RateFunction, v: Floats, inner: Floats) -> Floats:
    """The point next to v, towards `inner`, from where no floor bends the gradient of `f`."""
    share = 0.0
    while share < 1.0:
        at = (1.0 - share) * v + share * inner
        if f.smallest_floored_argument(at) >= _TRUSTED and math.isfinite(float(f.value(at))):
            return at
        share = max(1e-8, 4.0 * share)
    return inner


@dataclass(frozen=True, eq=False)
class EpigraphTerm:
    """A concave function of the features that must reach a level, ``function >= under``."""

    function: RateFunction
    under: Affine

    def missing(self, v: Floats, aux: Mapping[int, float]) -> float:
        """How far the function is below at a point."""
        return self.level(aux) - float(self.function.value(v))

    def level(self, aux: Mapping[int, float]) -> float:
        """What has to be reached at a point."""
        return self.under.const + sum(a * aux.get(j, 0.0) for j, a in self.under.terms.items())

    def touching(self, at: Floats) -> Affine:
        """The row of the tangent at a point: it holds wherever the piece does."""
        return self.under.plus(tangent(self.function, at).scaled(-1.0))

    def cuts(self, v: Floats, aux: Mapping[int, float], inner: Floats) -> list[Affine]:
        """Rows that part off a point where something is missing."""
        f, level = self.function, self.level(aux)
        points = [self._border(v, level, inner)]
        if f.smallest_floored_argument(v) >= _STEEP:
            points.append(v)
        elif not self.under.terms:
            points.append(nearest_trusted(f, v, inner))
        rows = [self.touching(at) for at in points]
        return [row for row in rows if _at(row, v, aux) > 0.0]

    def _border(self, v: Floats, level: float, inner: Floats) -> Floats:
        """Where the level begins to be reached between v and the middle."""
        out, inside = v, inner
        if float(self.function.value(inside)) <= level:
            return nearest_trusted(self.function, v, inner)
        for _ in range(40):
            middle = 0.5 * (out + inside)
            if float(self.function.value(middle)) < level:
                out = middle
            else:
                inside = middle
        return inside


def _at(row: Affine, v: Floats, aux: Mapping[int, float]) -> float:
    return row.const + sum(
        a * (float(v[j]) if j >= 0 else aux.get(j, 0.0)) for j, a in row.terms.items()
    )


@dataclass(frozen=True, eq=False)
class Sum:
    """A concave function as a sum: an affine part and pieces, each with its auxiliary."""

    total: Affine
    pieces: list[EpigraphTerm]
    back: Callable[[float], float]


def sum_of(f: RateFunction, builder: RowBuilder) -> Sum:
    """A concave function as the sum with the same best points."""
    if isinstance(f, PowerMean) and f.order < 2 and _all_affine(f):
        n = len(f.children)
        total, pieces = _total([(1.0, x) for x in _terms(f)], builder)
        if f.order == 0:
            return Sum(total, pieces, lambda b: math.exp(min(b / n, 700.0)))
        return Sum(total, pieces, lambda b: -n / b if b < 0 else math.inf)
    if isinstance(f, WeightedSum):
        total, pieces = _total(list(zip(f.coefs, f.children, strict=True)), builder)
        return Sum(total, pieces, lambda b: b)
    t = builder.auxiliary()
    return Sum(t, [EpigraphTerm(f, t)], lambda b: b)


def _total(
    terms: list[tuple[float, RateFunction]], builder: RowBuilder
) -> tuple[Affine, list[EpigraphTerm]]:
    total, pieces = Affine({}, 0.0), []
    for coef, child in terms:
        if isinstance(child, Affine):
            total = total.plus(child.scaled(coef))
            continue
        t = builder.auxiliary()
        pieces.append(EpigraphTerm(algebra.scaled(coef, child), t))
        total = total.plus(t)
    return total, pieces


def pieces_of_level(
    f: RateFunction, level: float, builder: RowBuilder
) -> tuple[list[Affine], list[EpigraphTerm]]:
    """``f >= level`` for a concave f: rows that link auxiliaries, and pieces."""
    if isinstance(f, WeightedSum) and len(f.children) > 1:
        total, pieces = _total(list(zip(f.coefs, f.children, strict=True)), builder)
        if len(pieces) > 1:
            return [Affine({}, level).plus(total.scaled(-1.0))], pieces
        plain = [(k, x) for k, x in zip(f.coefs, f.children, strict=True) if x.is_constant]
        if len(pieces) == 1 and len(plain) == len(f.children) - 1:
            level -= sum(k * x.low for k, x in plain)
            return pieces_of_level(pieces[0].function, level, builder)
    mean, sign = _mean(f)
    if mean is not None and level * sign > 0:
        n = len(mean.children)
        if mean.order == 0:
            wanted = n * math.log(level)
        else:
            wanted = -n / level if mean.order < 0 else -n * level * level
        total, pieces = _total([(1.0, x) for x in _terms(mean)], builder)
        return [Affine({}, wanted).plus(total.scaled(-1.0))], pieces
    return [], [EpigraphTerm(f, Affine({}, level))]


def _mean(f: RateFunction) -> tuple[PowerMean | None, float]:
    """A power mean of affine functions that a bound on `f` is one on, and the level's sign."""
    if isinstance(f, PowerMean) and f.order < 2 and _all_affine(f):
        return f, 1.0
    if isinstance(f, WeightedSum) and f.coefs == (-1.0,):
        child = f.children[0]
        if isinstance(child, PowerMean) and child.order == 2 and _all_affine(child):
            return child, -1.0
    return None, 1.0


def _terms(mean: PowerMean) -> list[RateFunction]:
    """The concave terms whose sum a power mean of affine functions grows with."""
    out: list[RateFunction] = []
    for x in mean.children:
        assert isinstance(x, Affine)
        if mean.order == 0:
            out.append(Log((x,)))
        elif mean.order == -1:
            out.append(Ratio(Affine({}, -1.0), x))
        else:
            out.append(WeightedSum((-1.0,), (Product((x, x)),)))
    return out


def _all_affine(mean: PowerMean) -> bool:
    return all(isinstance(x, Affine) for x in mean.children)
