"""Limits of one expression: of a proportion in disguise, or by influence.

A row of weight w moves the value by w times its influence, so the variance is the sum of
``w^2 influence^2``: the squares of a confusion are all that is needed (the delta method,
or infinitesimal jackknife). Limits that lie a multiple of its root away are right on both
sides together and wrong on each: estimates are skewed, biased, and bend. Therefore the
multiple is corrected for all three, and the counts themselves are moved along the
influence, and not the value: DiCiccio and Efron's approximate bootstrap (ABC), which
draws nothing. One side alone is then wrong as often as said, to second order.

What no expansion sees is that counts are whole, and that at full marks nobody is certain.
There half a row of the worst sort in each population draws each limit outwards. For one
proportion the two together are the limits of Clopper and Pearson, nearly.

References
----------
T. J. DiCiccio and B. Efron (1992), More accurate confidence intervals in exponential
families. B. Efron and R. J. Tibshirani (1993), An introduction to the bootstrap, chapter
22. L. Kish (1965), Survey sampling.
"""

from __future__ import annotations

import math

import numpy as np

from setpoint.array_types import Bools, Floats
from setpoint.inference.fraction import Fraction, value_at
from setpoint.inference.moments import products_of
from setpoint.inference.profiles import CountedRates, RowProfiles
from setpoint.inference.proportions import clopper_pearson, quantile
from setpoint.inference.sides import LEFT, SMOOTHING, STEP, WORST, OneSide, Variation
from setpoint.program.functions import RateFunction

__all__ = ["by_influence", "influence_of", "influence_of_entries", "of_two_profiles", "unsmoothed"]

_AT_ONCE = 2_000_000
"""Rates that are computed together."""

_BORROWED = 10.0
"""Rows of average weight that a profile's own mean weight is drawn to."""


def of_two_profiles(fraction: Fraction, low: float, high: float) -> tuple[float, float] | None:
    """Exact limits of a fraction that tells two profiles apart; None if it has more."""
    two = fraction.merged
    if len(two.counts) > 2:
        return None
    if len(two.counts) < 2 or two.counts.sum() <= 0:
        return two.range
    unit = two.units
    weight = (two.squares + _BORROWED * unit * unit) / (two.counts + _BORROWED * unit)
    rows = two.counts / weight
    a, b = two.above * weight, two.below * weight
    rising = a[0] * b[1] >= a[1] * b[0]
    tails = (low, high) if rising else (high, low)
    ends = clopper_pearson(float(rows[0]), float(rows.sum()), *tails)

    first, last = (value_at(p, a, b, two.at_zero) for p in ends)
    return (first, last) if rising else (last, first)


def influence_of(
    x: RateFunction, profiles: RowProfiles, counts: Floats, v: Floats
) -> tuple[float, Floats]:
    """Value and influence (profiles,) of each unit of weight, marginals moving."""
    norms = profiles.given @ counts
    own = (profiles.event @ counts) / norms
    at = v.copy()
    at[profiles.index] = own
    slope = x.gradient(at)[profiles.index] / norms
    return float(x.value(at)), slope @ profiles.event - (slope * own) @ profiles.given


def influence_of_entries(x: RateFunction, counted: CountedRates) -> Floats:
    """What one more unit of weight in each entry (strata, n + 1, n) adds to the value."""
    profiles, place = counted.profile_of_entries(x.features)
    _, own = influence_of(x, profiles, profiles.counts, counted.v)
    return np.where(place >= 0, own[place], 0.0)


def by_influence(
    x: RateFunction, counted: CountedRates, low: float, high: float
) -> tuple[float, float]:
    """Limits of a smooth expression, by influence, corrected to second order."""
    profiles = counted.profiles(x.features)
    value = counted.value(x)
    if profiles.counts.sum() <= 0 or not math.isfinite(value):
        bottom, top = counted.range(x)
        return min(bottom, value), max(top, value)
    first = _Side(x, profiles, counted.v, -1.0).limit(low)
    last = _Side(x, profiles, counted.v, 1.0).limit(high)
    return min(first, value), max(last, value)


class _Side(OneSide):
    """The value of an expression near some counts, for the limit on one side."""

    def __init__(self, x: RateFunction, profiles: RowProfiles, v: Floats, side: float) -> None:
        self.x, self.profiles, self.v, self.side = x, profiles, v, side
        self.seen = profiles.counts > 0
        self.populations = np.unique(profiles.given != 0, axis=0)
        even = SMOOTHING / len(profiles.counts) * profiles.units
        added = even + self._worst(self._effect(profiles.counts + even)[1])
        self.even, self.base = even, profiles.counts + added
        self.squares = profiles.squares + added * profiles.units
        self.middle, self.effect = self._effect(self.base)
        by = np.minimum(STEP * np.sqrt(profiles.squares + even), 0.5 * self.base)
        ends = self._moved(self.base, by) + self._moved(self.base, -by)
        self.curvature = (ends - 2.0 * self.middle) / by**2

    def _error(self, way: Bools) -> float:
        squares = np.where(way, self.squares, 0.0)
        return math.sqrt(float(squares @ self.effect**2))

    def _variation(self, way: Bools, error: float, tail: float) -> Variation:
        squares = np.where(way, self.squares, 0.0)
        skewness = float(squares**2 / self.base @ self.effect**3) / (6.0 * error**3)
        counted = np.where(way, self.profiles.squares, 0.0)
        bias = float(counted @ self.curvature) / (2.0 * error)
        return Variation(squares * self.effect / error, quantile(tail), skewness, bias)

    def _worst(self, effect: Floats) -> Floats:
        """Weight (profiles,) for the profiles that lie furthest to the side."""
        out = np.zeros(len(effect))
        for rows in self.populations:
            seen = np.flatnonzero(rows)
            worst = seen[np.argmax(self.side * effect[seen])]
            out[worst] = WORST * self.profiles.units[worst]
        return out

    def _value(self, counts: Floats) -> float:
        profiles, at = self.profiles, self.v.copy()
        counts = np.maximum(counts, LEFT * self.base)
        at[profiles.index] = (profiles.event @ counts) / (profiles.given @ counts)
        return float(self.x.value(at))

    def _moved(self, counts: Floats, by: Floats) -> Floats:
        """The value (profiles,) where the count of one profile after the other is moved."""
        profiles, out = self.profiles, np.empty(len(by))
        above, below = profiles.event @ counts, profiles.given @ counts
        size = max(1, _AT_ONCE // len(self.v))
        for first in range(0, len(by), size):
            part = slice(first, first + size)
            at = np.repeat(self.v[None], len(out[part]), axis=0)
            up = above[:, None] + profiles.event[:, part] * by[part]
            down = below[:, None] + profiles.given[:, part] * by[part]
            at[:, profiles.index] = (up / down).T
            out[part] = self.x.value(at)
        return out

    def _effect(self, counts: Floats) -> tuple[float, Floats]:
        """The value, and what a unit of weight of each profile adds to it."""
        middle, influence = influence_of(self.x, self.profiles, counts, self.v)
        row = (self._moved(counts, self.profiles.units) - middle) / self.profiles.units
        return middle, np.where(np.abs(row) < 0.5 * np.abs(influence), row, influence)


def unsmoothed(
    x: RateFunction, counted: CountedRates, low: float, high: float
) -> tuple[float, float]:
    """Plain delta limits without profiles, for thousands of classes."""
    table, confusion = counted.table, counted.confusion
    value = counted.value(x)
    slope = x.gradient(counted.v)
    influence = table.tensor(slope)
    moved = np.einsum("j,jct->ct", slope * counted.v / table.norms, counted.truth)
    influence = influence - moved[:, :, None]
    if counted.is_measured(x):
        products = products_of(confusion)
        flat = products.reshape(len(products), len(products), -1)
        each = influence.reshape(len(products), -1)
        error = math.sqrt(max(float(np.einsum("am,bm,abm->", each, each, flat)), 0.0))
    else:
        error = math.sqrt(float((confusion.squares * influence * influence).sum()))
    first = value - quantile(low) * error
    return max(first, x.low), min(value + quantile(high) * error, x.high)
