"""The delta method: limits of smooth functions, by what each row adds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from setpoint.array_types import Bools, Floats
from setpoint.inference.profiles import (
    CountedRates,
    Fraction,
    RowMoments,
    RowProfiles,
    products_of,
    value_at,
)
from setpoint.inference.tails import clopper_pearson, quantile
from setpoint.program import INF, RateFunction

# --- A limit on one side: a multiple of the standard error ----------------------------------------


SMOOTHING = 0.1
"""Rows added in all, in equal parts to each profile, before influences are taken."""

WORST = 0.5
"""Rows added to the profile that is worst for a limit, in each population."""

STEP = 0.1
"""Of second differences, in standard deviations."""

LEFT = 1e-9
"""The share of its rows that every profile keeps, however far counts are moved."""

_MOST_SHIFT = 0.5
"""In standard errors: a larger one does not correct, it says that there are few rows."""

_MOST_ALONE = 20
"""Populations that are looked at by themselves."""


class Variation(NamedTuple):
    """How the value varies with some profiles."""

    along: Floats
    z: float
    skewness: float
    bias: float


class OneSide(ABC):
    """The value of an expression near what was counted, for the limit on one side."""

    side: float
    seen: Bools
    populations: Bools
    base: Floats
    even: Floats
    middle: float

    def limit(self, tail: float) -> float:
        """The limit that lies on its wrong side with this chance; infinite without effects."""
        ways = [np.ones(len(self.seen), bool)]
        if not self.seen.all():
            # A way that few rows or none have begun may end soon, where a share is 0 or 1;
            # then those count that are counted, and each population by itself.
            few = self.populations[:_MOST_ALONE]
            ways += [self.seen, *(few if len(few) > 1 else [])]
        found = [self._limit(tail, way) for way in ways]
        return self.side * max(self.side * x for x in found)

    def _limit(self, tail: float, way: Bools) -> float:
        """The limit where only some profiles vary."""
        error = self._error(way)
        if not error < INF:
            return self.side * INF
        if error == 0.0:
            return self.middle
        found = self._variation(way, error, tail)
        along = found.along
        ends = [self._value(self.base + step * along) for step in (STEP, -STEP)]
        bend = (sum(ends) - 2.0 * self.middle) / (2.0 * error * STEP**2)
        shift = min(max(found.skewness + bend - found.bias, -_MOST_SHIFT), _MOST_SHIFT)
        by = self.side * found.z + shift
        skewed = found.skewness * by
        # The same to second order; the first cannot jump, the second not turn round.
        by *= 1.0 + 2.0 * skewed if skewed > 0.0 else 1.0 / (1.0 - skewed) ** 2
        end = self._value(self.base - self.even + by * along)
        return self.side * INF if math.isnan(end) else end

    @abstractmethod
    def _error(self, way: Bools) -> float:
        """The standard error where only some profiles vary."""

    @abstractmethod
    def _variation(self, way: Bools, error: float, tail: float) -> Variation:
        """How the value varies with these profiles."""

    @abstractmethod
    def _value(self, moved: Floats) -> float:
        """The value at other counts, or sums."""


# --- Limits of expressions in which rows count by columns of numbers ------------------------------


_MANY = 1e6
_LEAST_DEGREES = 3.0


def by_moments(
    x: RateFunction, moments: RowMoments, v: Floats, low: float, high: float
) -> tuple[float, float]:
    """Limits of a smooth expression, by influence, corrected to second order."""
    value = float(x.value(v))
    if moments.sums[0].sum() <= 0 or not math.isfinite(value):
        return -INF, INF
    first = _SumSide(x, moments, v, -1.0).limit(low)
    last = _SumSide(x, moments, v, 1.0).limit(high)
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


class _SumSide(OneSide):
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


# --- Limits of one expression: of a proportion in disguise, or by influence -----------------------


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
    first = _CountSide(x, profiles, counted.v, -1.0).limit(low)
    last = _CountSide(x, profiles, counted.v, 1.0).limit(high)
    return min(first, value), max(last, value)


class _CountSide(OneSide):
    """The value of an expression near some counts, for the limit on one side."""

    def __init__(self, x: RateFunction, profiles: RowProfiles, v: Floats, side: float) -> None:
        self.x, self.profiles, self.v, self.side = x, profiles, v, side
        self.seen = profiles.counts > 0
        held = {rows.tobytes(): rows for rows in profiles.given != 0}
        self.populations = np.array([held[key] for key in sorted(held)])
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
