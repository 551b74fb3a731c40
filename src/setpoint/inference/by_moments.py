"""Limits of expressions in which rows count by columns of numbers.

A row that adds ``m_a`` to the table a moves the value by ``sum_a c_a m_a``, so the variance is
the sum over profiles of ``sum_ab c_a c_b products_ab``: the delta method over rows, whatever
columns the rates look at. As in :mod:`setpoint.inference.delta`, limits are corrected for
skewness, bias and bend, and tables are moved along the influence, and not the value.

What a table of counts does not keep is how skewed a column is. It is taken for lognormal, of
the mean and the spread that it has in each profile: without that, limits of sums of amounts
from some hundred rows lie on the wrong side twice as often as said, on the side of the rare
large amounts.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from setpoint.array_types import Bools, Floats
from setpoint.inference.moments import RowMoments
from setpoint.inference.proportions import quantile
from setpoint.inference.sides import LEFT, SMOOTHING, STEP, WORST, OneSide, Variation
from setpoint.program.functions import INF, RateFunction

__all__ = ["by_moments", "influence_by_table"]

_MANY = 1e6
_LEAST_DEGREES = 3.0


def by_moments(
    x: RateFunction, moments: RowMoments, v: Floats, low: float, high: float
) -> tuple[float, float]:
    """Limits of a smooth expression, by influence, corrected to second order."""
    value = float(x.value(v))
    if moments.sums[0].sum() <= 0 or not math.isfinite(value):
        return -INF, INF
    first = _Side(x, moments, v, -1.0).limit(low)
    last = _Side(x, moments, v, 1.0).limit(high)
    return min(first, value), max(last, value)


def influence_by_table(
    x: RateFunction, moments: RowMoments, sums: Floats, v: Floats
) -> tuple[float, Floats]:
    """The value, and what one more in each table and profile adds to it."""
    norms = (moments.given * sums).sum(axis=(1, 2))
    own = (moments.event * sums).sum(axis=(1, 2)) / norms
    at = v.copy()
    at[moments.index] = own
    slope = x.gradient(at)[moments.index] / norms
    effect = np.tensordot(slope, moments.event, 1) - np.tensordot(slope * own, moments.given, 1)
    return float(x.value(at)), effect


class _Side(OneSide):
    """The value of an expression near some sums, for the limit on one side."""

    def __init__(self, x: RateFunction, moments: RowMoments, v: Floats, side: float) -> None:
        self.x, self.moments, self.v, self.side = x, moments, v, side
        self.seen, self.populations = moments.sums[0] > 0, moments.populations
        even = np.full(moments.sums.shape[1], SMOOTHING / moments.sums.shape[1])
        added = even + self._worst(self._effect(moments.sums + even * moments.unit)[1])
        self.even, self.base = even * moments.unit, moments.sums + added * moments.unit
        self.products = moments.products + added * moments.unit_products
        self.middle, self.effect = self._effect(self.base)
        self.curved = self._bias(moments.products + even * moments.unit_products)

    def _along(self, way: Bools) -> Floats:
        """The way of the largest effect (tables, profiles), times the standard error."""
        return np.asarray(np.einsum("abm,bm->am", self.products * way, self.effect))

    def _error(self, way: Bools) -> float:
        return math.sqrt(max(float((self._along(way) * self.effect).sum()), 0.0))

    def _variation(self, way: Bools, error: float, tail: float) -> Variation:
        cubes, of_squares = (float(x[way].sum()) for x in self.moments.shape_of(self.effect))
        z = _quantile(tail, 2.0 * error**4 / of_squares if of_squares > 0.0 else INF)
        bias = float(self.curved[way].sum()) / (2.0 * error)
        return Variation(self._along(way) / error, z, cubes / (6.0 * error**3), bias)

    def _worst(self, effect: Floats) -> Floats:
        """Typical rows (profiles,) for the profiles that lie furthest to the side."""
        row = self.side * (effect * self.moments.unit).sum(axis=0)
        out = np.zeros(len(row))
        for rows in self.moments.populations:
            held = np.flatnonzero(rows)
            if len(held):
                out[held[np.argmax(row[held])]] = WORST
        return out

    def _bias(self, products: Floats) -> Floats:
        """Twice what each profile's (profiles,) variation adds to the mean of the value."""
        sizes, ways = np.linalg.eigh(np.moveaxis(products, 2, 0))
        out = np.zeros(len(sizes))
        for k in range(sizes.shape[1]):
            by = STEP * np.sqrt(np.maximum(sizes[:, k], 0.0)) * ways[:, :, k].T
            ends = self._moved(self.base, by) + self._moved(self.base, -by)
            out += (ends - 2.0 * self.middle) / STEP**2
        return np.where(np.isfinite(out), out, 0.0)

    def _value(self, sums: Floats) -> float:
        moments, at = self.moments, self.v.copy()
        sums = np.maximum(sums, LEFT * self.base)
        below = (moments.given * sums).sum(axis=(1, 2))
        at[moments.index] = (moments.event * sums).sum(axis=(1, 2)) / below
        return float(self.x.value(at))

    def _moved(self, sums: Floats, by: Floats) -> Floats:
        """The value (profiles,) where the sums of one profile after the other are moved."""
        moments, m = self.moments, by.shape[1]
        by = np.maximum(by, -0.5 * sums)
        up = (moments.event * sums).sum(axis=(1, 2))[:, None] + (moments.event * by).sum(axis=1)
        down = (moments.given * sums).sum(axis=(1, 2))[:, None] + (moments.given * by).sum(axis=1)
        at = np.repeat(self.v[None], m, axis=0)
        at[:, moments.index] = (up / down).T
        return np.asarray(self.x.value(at))

    def _effect(self, sums: Floats) -> tuple[float, Floats]:
        """The value, and what one more in each table does; no more than a whole row does."""
        unit = self.moments.unit
        middle, effect = influence_by_table(self.x, self.moments, sums, self.v)
        row, line = self._moved(sums, unit) - middle, (effect * unit).sum(axis=0)
        ends_early = np.abs(row) < 0.5 * np.abs(line)
        return middle, effect * np.where(ends_early, row / np.where(ends_early, line, 1.0), 1.0)


def _quantile(tail: float, degrees: float) -> float:
    """Student's quantile: the spread is estimated too, from rows with long tails."""
    if degrees > _MANY:
        return quantile(tail)
    return -float(stdtrit(max(degrees, _LEAST_DEGREES), tail))
