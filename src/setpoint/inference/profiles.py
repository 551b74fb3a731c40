"""Profiles: fractions of counts, and what rows do to them, with amounts or without."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Bools, Floats
from setpoint.evidence import Confusion
from setpoint.goals import Expression
from setpoint.program import INF, Affine, Linker, Rate, RateFunction, RateTable, Ratio

# --- Fractions of counts: what a ratio of linear functions makes of each --------------------------


@dataclass(frozen=True, eq=False)
class Fraction:
    """``(above @ counts) / (below @ counts)``; profiles with neither weight are left out."""

    above: Floats
    below: Floats
    counts: Floats
    squares: Floats
    around: Floats
    at_zero: float

    @cached_property
    def units(self) -> Floats:
        """Weight of a typical row of each profile (profiles,)."""
        return typical_weights(self.counts, self.squares, self.around)

    @property
    def numerator(self) -> float:
        """Weight above the line."""
        return float(self.above @ self.counts) + 0.0

    @property
    def denominator(self) -> float:
        """Weight below the line."""
        return float(self.below @ self.counts) + 0.0

    @property
    def effective_rows(self) -> float:
        """``(sum w)^2 / sum w^2`` of the rows that count."""
        return effective(float(self.counts.sum()), float(self.squares.sum()))

    @cached_property
    def range(self) -> tuple[float, float]:
        """The smallest and largest value that any counts give."""
        ends = [
            float(a / b) if b > 0 else INF if a > 0 else -INF
            for a, b in zip(self.above, self.below, strict=True)
        ]
        return min(ends, default=self.at_zero), max(ends, default=self.at_zero)

    @cached_property
    def merged(self) -> Fraction:
        """The same fraction with profiles of equal weights in one."""
        pairs = np.stack([rounded(self.above), rounded(self.below)], axis=1)
        _, first, place = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        place = place.ravel()
        return Fraction(
            self.above[first],
            self.below[first],
            summed(place, self.counts, len(first)),
            summed(place, self.squares, len(first)),
            np.stack([summed(place, x, len(first)) for x in self.around]),
            self.at_zero,
        )


def effective(total: float, squares: float) -> float:
    """Effective rows of some weight (Kish 1965); equal weights count as rows."""
    return total * total / squares if squares > 0 else 0.0


def typical_weights(counts: Floats, squares: Floats, around: Floats) -> Floats:
    """Weight of a typical row of each profile (profiles,), wherever weights come from."""
    total = float(counts.sum())
    pooled = float(squares.sum()) / total if total > 0 else 1.0
    seen = around[0] > 0
    units = np.where(seen, around[1] / np.where(seen, around[0], 1.0), pooled)
    level = float(counts @ units)
    return units * (float(squares.sum()) / level) if level > 0 else units


def value_at(share: float, above: Floats, below: Floats, at_zero: float) -> float:
    """The value of a fraction of two profiles at the share of rows that have the first.

    Examples
    --------
    >>> round(value_at(0.6, np.array([2.0, 0.0]), np.array([2.0, 1.0]), 0.0), 4)
    0.75
    """
    up = above[0] * share + above[1] * (1 - share)
    down = below[0] * share + below[1] * (1 - share)
    if down > 0:
        return float(up / down)
    return math.copysign(INF, up) if up else at_zero


def rounded(x: Floats) -> Floats:
    """The array in ten digits of its largest entry, so that equal weights compare equal."""
    largest = float(np.abs(x).max(initial=0.0))
    return np.round(x / largest, 10) if largest > 0 else x


def summed(place: NDArray[np.int64], x: Floats, size: int) -> Floats:
    """Sums (size,) of the entries of x that have the same place."""
    return np.bincount(place, x, size).astype(float)


# --- Moments of rows: what rows add to several tables of counts -----------------------------------


@dataclass(frozen=True, eq=False)
class RowMoments:
    """Sums by table and profile, and the weights of some features.

    Examples
    --------
    >>> from setpoint.evidence import Confusion
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 50], [19, 81], [0, 0]])
    >>> of_yes = np.array([[[0, 0], [1, 1], [0, 0]]]).reshape(1, -1)
    >>> caught = np.array([[[0, 0], [0, 1], [0, 0]]]).reshape(1, -1)
    >>> moments_of([0], caught, of_yes, found).sums
    array([[19., 81.]])
    """

    index: list[int]
    event: Floats
    given: Floats
    sums: Floats
    products: Floats
    unit: Floats
    unit_products: Floats

    @cached_property
    def rows(self) -> Floats:
        """Effective rows (profiles,)."""
        squares = self.products[0, 0]
        seen = squares > 0
        return np.where(seen, self.sums[0] ** 2 / np.where(seen, squares, 1.0), 0.0)

    def shape_of(self, effect: Floats) -> tuple[Floats, Floats]:
        """Sums (profiles,) over rows of the cube of their effect, and of its square's variance."""
        n = np.maximum(self.rows, 1e-300)
        mean = (effect * self.sums).sum(axis=0) / n
        square = np.einsum("am,bm,abm->m", effect, effect, self.products) / n
        variance = np.maximum(square - mean**2, 0.0)
        amount = (effect[1:] * self.sums[1:]).sum(axis=0) / n
        sign, size = np.sign(amount), np.maximum(np.abs(amount), 1e-300)
        spread = np.minimum(np.sqrt(variance) / size, _MOST_SPREAD)
        skewed = sign * variance**1.5
        cubes = mean**3 + 3.0 * mean * variance + skewed * (spread**3 + 3.0 * spread)
        of_squares = 4.0 * mean**2 * variance + 8.0 * mean * skewed * spread
        of_squares += variance**2 * (2.0 + 6.0 * spread**2)
        return n * cubes * (self.rows > 0), n * np.maximum(of_squares, 0.0) * (self.rows > 0)

    @cached_property
    def populations(self) -> Bools:
        """Different sets of rows that shares are taken of (populations, profiles)."""
        return np.unique((self.given != 0).any(axis=1), axis=0)


_MOST_SPREAD = 2.0
"""Standard deviations over the mean: beyond, the skewness of a few rows says nothing."""


def moments_of(
    index: Sequence[int], event: Floats, given: Floats, confusion: Confusion
) -> RowMoments:
    """The profiles that some features tell apart."""
    products = products_of(confusion)
    tables, shape = len(products), products.shape[2:]
    event, given = (x.reshape(len(index), tables, -1) for x in (event, given))
    sums = confusion.counts.reshape(tables, -1)
    rows = confusion.rows[: shape[0]].astype(float)
    unit, unit_products = _typical(confusion.counts.reshape(tables, *shape), products, rows)
    seen = np.flatnonzero(((event != 0) | (given != 0)).any(axis=(0, 1)))
    both = np.concatenate([event, given])[:, :, seen].reshape(-1, len(seen))
    # Line by line: an amount of 1e10 beside a price of 5 does not make that nothing.
    lines = np.stack([rounded(line) for line in both])
    _, first, place = np.unique(lines, axis=1, return_index=True, return_inverse=True)
    place, m = place.ravel(), len(first)

    def summed(x: Floats) -> Floats:
        flat = x.reshape(-1, x.shape[-1])[:, seen]
        out = np.stack([np.bincount(place, row, m) for row in flat])
        return np.asarray(out.reshape(*x.shape[:-1], m), np.float64)

    many = np.bincount(place, minlength=m)
    # Of profiles with rows in some strata alone, the typical row is of those.
    weight = np.repeat(rows[:, :, None], shape[2], axis=2).ravel()[seen]
    total = np.bincount(place, weight, m)
    share = np.where(total[place] > 0, weight / np.maximum(total[place], 1.0), 1.0 / many[place])
    scaled = np.zeros(np.prod(shape, dtype=int))
    scaled[seen] = share
    return RowMoments(
        list(index),
        event[:, :, seen[first]],
        given[:, :, seen[first]],
        summed(sums),
        summed(products.reshape(tables, tables, -1)),
        summed(unit * scaled),
        summed(unit_products * scaled),
    )


def products_of(confusion: Confusion) -> Floats:
    """The products of a confusion; where it has none, as if columns rose and fell together."""
    if confusion.products is not None:
        return confusion.products
    plain = sum(s.measure is None for s in confusion.strata)
    root = np.sqrt(confusion.squares).reshape(-1, plain, *confusion.squares.shape[1:])
    return root[:, None] * root[None]


def _typical(counts: Floats, products: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """What a row adds on average, and the mean products, by table and entry."""
    sums, squares, n = counts.sum(axis=-1), products.sum(axis=-1), rows
    for axis in ((), (-2,), (-2, -1)):
        wider = n.sum(axis=axis, keepdims=True)
        some = wider > 0
        means = [
            x.sum(axis=axis, keepdims=True) / np.where(some, wider, 1.0) for x in (sums, squares)
        ]
        if axis == ():
            known, (unit, both) = some, means
        else:
            unit, both = (np.where(known, x, y) for x, y in zip((unit, both), means, strict=True))
            known = known | some
    out = [np.repeat(x[..., None], counts.shape[-1], axis=-1) for x in (unit, both)]
    tables = len(counts)
    return out[0].reshape(tables, -1), out[1].reshape(tables, tables, -1)


# --- Expressions in which rows count by columns of numbers: sums ----------------------------------


_TINY = 1e-12


def sums_of(x: RateFunction, moments: RowMoments) -> tuple[float, float] | None:
    """What is above and below the line, if the expression is one fraction of sums."""
    parts = _above_and_below(x, moments)
    if parts is None:
        return None
    return float((parts[0] * moments.sums).sum()) + 0.0, float((parts[1] * moments.sums).sum())


def effective_rows(x: RateFunction, moments: RowMoments) -> float:
    """``(sum m)^2 / sum m^2`` of what rows count, by the table in which that is least."""
    parts = _above_and_below(x, moments)
    if parts is None:
        used = ((moments.event != 0) | (moments.given != 0)).any(axis=0)
    else:
        used = (np.abs(parts[0]) > _TINY) | (parts[1] > _TINY)
    each = [
        effective(float(moments.sums[a, held].sum()), float(moments.products[a, a, held].sum()))
        for a, held in enumerate(used)
        if moments.sums[a, held].sum() > 0
    ]
    return min(each, default=0.0)


def range_of(x: Affine | Ratio, moments: RowMoments, rates: Sequence[Rate]) -> tuple[float, float]:
    """The range whatever the data: of a mean of a column, no more than on what side of 0 it is."""
    parts = _above_and_below(x, moments)
    if parts is not None and not any(rates[j].share_of for j in x.features):
        above, below = parts
        one = ((below != 0).sum(axis=1) > 0).sum() == 1
        if one and (below[above != 0] > 0).all():
            inside = above[below > 0] / below[below > 0]
            at_zero = [x.at_zero] if isinstance(x, Ratio) and (below == 0).any() else []
            return min([float(inside.min()), *at_zero]), max([float(inside.max()), *at_zero])
    if isinstance(x, Ratio):
        low, high = x.interval(*(range_of(c, moments, rates) for c in (x.above, x.below)))
        low, high = float(low), float(high)
        return (-INF if math.isnan(low) else low), (INF if math.isnan(high) else high)
    low = high = x.const
    for j, a in x.terms.items():
        first, last = _range_of_rate(moments, moments.index.index(j), rates[j])
        ends = (a * first if first else 0.0), (a * last if last else 0.0)
        low, high = low + min(ends), high + max(ends)
    return low, high


def _range_of_rate(moments: RowMoments, i: int, rate: Rate) -> tuple[float, float]:
    event, given = moments.event[i], moments.given[i]
    if rate.share_of is None:
        inside = event[given != 0]
        return float(inside.min()), float(inside.max())
    return (-INF if event.min() < 0 else 0.0), (INF if event.max() > 0 else 0.0)


def _above_and_below(x: RateFunction, moments: RowMoments) -> tuple[Floats, Floats] | None:
    """What one more in each table and profile adds above and below the line."""
    return fraction_in(x, moments.index, moments.event, moments.given)


def fraction_in(
    x: RateFunction, index: Sequence[int], event: Floats, given: Floats
) -> tuple[Floats, Floats] | None:
    """What one more in each entry of some tables adds above and below the line."""
    if not isinstance(x, (Affine, Ratio)) or not x.features:
        return None
    place = [list(index).index(j) for j in sorted(x.features)]
    same = given[place[0]]
    if not (given[place] == same).all():
        return None

    def weights(e: Affine) -> Floats:
        coefs = np.array([e.terms.get(j, 0.0) for j in index])
        return np.asarray(np.tensordot(coefs, event, 1) + e.const * same)

    if isinstance(x, Affine):
        return weights(x), same
    below = weights(x.below)
    if (below < -_TINY).any():
        return None
    return weights(x.above) + x.offset * below, np.maximum(below, 0.0)


# --- Profiles of rows: what an expression can tell apart in a confusion ---------------------------


_AT_ONCE = 2_000_000
"""Weights of features that are looked at together."""

MOST_WEIGHTS = 30_000_000
"""Beyond so many weights (features times entries) profiles are not distinguished."""


@dataclass(frozen=True, eq=False)
class RowProfiles:
    """Counts by profile, and the weights of some features."""

    index: list[int]
    event: Floats
    given: Floats
    counts: Floats
    squares: Floats
    around: Floats

    @cached_property
    def units(self) -> Floats:
        """Weight of a typical row of each profile (profiles,)."""
        return typical_weights(self.counts, self.squares, self.around)


class CountedRates:
    """The rates of some expressions on one confusion, entry by entry."""

    def __init__(self, table: RateTable, confusion: Confusion) -> None:
        self.table = table
        self.features = table.rates
        self.confusion = confusion
        n = len(confusion.classes)
        truth = np.zeros((len(self.features), len(confusion.strata), n + 1), bool)
        for j, f in enumerate(self.features):
            truth[j, list(f.strata if f.share_of is None else f.share_of)] = f.given_rows(n) != 0
        self.truth: Bools = truth
        self.n_plain = sum(s.measure is None for s in confusion.strata)
        self.counts = confusion.counts.ravel()
        self.squares = confusion.squares.ravel()
        self.v = table.sums(confusion.counts)
        # Profiles of thousands of features and classes would take too much memory.
        self.is_large = len(self.features) * self.counts.size > MOST_WEIGHTS
        self._profiles: dict[frozenset[int], tuple[RowProfiles, NDArray[np.int64]]] = {}
        self._moments: dict[frozenset[int], RowMoments] = {}
        self._fractions: dict[int, tuple[RateFunction, Fraction | None]] = {}

    def is_measured(self, x: RateFunction) -> bool:
        """Whether an expression counts rows by a column of numbers."""
        rates = (self.features[j] for j in x.features)
        return any(max(r.strata, default=-1) >= self.n_plain for r in rates)

    def moments(self, features: Iterable[int]) -> RowMoments:
        """What rows add by columns of numbers to what these features look at."""
        key = frozenset(features)
        if key not in self._moments:
            index = sorted(key)
            weights = self.event(index), self.given(index)
            self._moments[key] = moments_of(index, *weights, self.confusion)
        return self._moments[key]

    def event(self, index: Sequence[int]) -> Floats:
        """Weights (k, entries) of some features' events, not divided by any norm."""
        strata, n = self.confusion.strata, len(self.confusion.classes)
        out = np.zeros((len(index), *self.confusion.counts.shape))
        for i, j in enumerate(index):
            f, known = self.features[j], dict[int | None, Floats]()
            for c in f.strata:
                baseline = strata[c].baseline
                if baseline not in known:
                    known[baseline] = f.matrix(baseline, n)
                out[i, c] = known[baseline]
        return out.reshape(len(index), -1)

    def given(self, index: Sequence[int]) -> Floats:
        """1 for the entries (k, entries) of some features' populations, else 0."""
        n = len(self.confusion.classes)
        return np.repeat(self.truth[index].reshape(len(index), -1), n, axis=1).astype(float)

    @cached_property
    def _around(self) -> Floats:
        """Sums of w and of w squared (2, entries) over each entry's stratum and true class."""
        n = len(self.confusion.classes)
        tables = (self.confusion.counts, self.confusion.squares)
        return np.stack([np.repeat(t.sum(axis=2).ravel(), n) for t in tables])

    @cached_property
    def row_weights(self) -> Floats:
        """The weight (entries,) of a typical row of each entry's stratum and true class."""
        total, squares = self._around
        return np.where(total > 0, squares / np.where(total > 0, total, 1.0), 1.0)

    def value(self, x: RateFunction) -> float:
        """The value of a bound expression here."""
        return float(x.value(self.v)) + 0.0

    def profiles(self, features: Iterable[int]) -> RowProfiles:
        """The profiles that these features tell apart."""
        return self._grouped(features)[0]

    def profile_of_entries(self, features: Iterable[int]) -> tuple[RowProfiles, NDArray[np.int64]]:
        """The profiles, and the profile of each entry (strata, n + 1, n), -1 where none looks."""
        profiles, place = self._grouped(features)
        return profiles, place.reshape(self.confusion.counts.shape)

    def _grouped(self, features: Iterable[int]) -> tuple[RowProfiles, NDArray[np.int64]]:
        """The profiles, and for each entry its profile, -1 where no feature looks."""
        key = frozenset(features)
        if key not in self._profiles:
            index = sorted(key)
            n = len(self.confusion.classes)
            seen = np.flatnonzero(np.repeat(self.truth[index].any(axis=0).ravel(), n))
            # A part of the features at a time: all their weights would fill the memory.
            size = max(1, _AT_ONCE // self.counts.size)
            parts = [index[i : i + size] for i in range(0, len(index), size)]
            if len(parts) == 1:
                own = np.concatenate([self.event(index)[:, seen], self.given(index)[:, seen]])
                mixed = _weights(len(index)) @ own
            else:
                mixed = self._mixed(index)[seen]
            _, first, place = np.unique(rounded(mixed), return_index=True, return_inverse=True)
            place = place.ravel()
            event = np.concatenate([self.event(part)[:, seen[first]] for part in parts])
            given = np.concatenate([self.given(part)[:, seen[first]] for part in parts])
            profiles = RowProfiles(
                index,
                event,
                given,
                summed(place, self.counts[seen], len(first)),
                summed(place, self.squares[seen], len(first)),
                np.stack([summed(place, x, len(first)) for x in self._around[:, seen]]),
            )
            of_entry = np.full(self.counts.shape, -1, np.int64)
            of_entry[seen] = place
            self._profiles[key] = profiles, of_entry
        return self._profiles[key]

    def _mixed(self, index: list[int]) -> Floats:
        """A random sum of the weights of some features, for each entry."""
        of_event, of_given = _weights(len(index)).reshape(2, -1)
        coefs = np.zeros(len(self.features))
        coefs[index] = of_event * self.table.norms[index]
        given = np.tensordot(of_given, self.truth[index], axes=1)
        return np.asarray(self.table.tensor(coefs) + given[:, :, None]).ravel()

    def fraction(self, x: RateFunction) -> Fraction | None:
        """The expression as one fraction of linear functions of the counts, if it is one."""
        held = self._fractions.get(id(x))
        if held is None:
            # The expression is kept with its fraction: its id stays its own.
            held = self._fractions[id(x)] = (x, self._fraction(x))
        return held[1]

    def _fraction(self, x: RateFunction) -> Fraction | None:
        if not isinstance(x, (Affine, Ratio)) or not x.features or self.is_measured(x):
            return None
        profiles = self.profiles(x.features)
        parts = above_and_below(x, profiles)
        if parts is None:
            return None
        above, below = parts
        used = (np.abs(above) > _TINY) | (below > _TINY)
        return Fraction(
            above[used],
            below[used],
            profiles.counts[used],
            profiles.squares[used],
            profiles.around[:, used],
            x.at_zero if isinstance(x, Ratio) else 0.0,
        )

    def sums_of(self, x: RateFunction) -> tuple[float, float] | None:
        """What is above and below the line of a fraction that is 0 at 0/0; None if it is none."""
        if self.is_large or (isinstance(x, Ratio) and x.at_zero != 0.0):
            return None
        if self.is_measured(x):
            return sums_of(x, self.moments(x.features))
        fraction = self.fraction(x)
        return None if fraction is None else (fraction.numerator, fraction.denominator)

    def fraction_of_entries(self, x: RateFunction) -> tuple[Floats, Floats] | None:
        """What a row of each entry (strata, n + 1, n) adds above and below the line."""
        if self.is_measured(x):
            return None
        profiles, place = self._grouped(x.features)
        parts = above_and_below(x, profiles)
        if parts is None:
            return None
        seen, shape = place >= 0, self.confusion.counts.shape
        above, below = (np.where(seen, part[place], 0.0).reshape(shape) for part in parts)
        return above, below

    def range(self, x: RateFunction) -> tuple[float, float]:
        """The range of the expression whatever the data: what limits are clipped to."""
        if not x.features:
            value = self.value(x)
            return value, value
        fraction = self.fraction(x)
        if fraction is not None:
            return fraction.range
        if isinstance(x, (Affine, Ratio)) and self.is_measured(x):
            return range_of(x, self.moments(x.features), self.features)
        if isinstance(x, Affine):
            low = high = x.const
            profiles = self.profiles(x.features)
            for j, a in x.terms.items():
                i = profiles.index.index(j)
                inside = profiles.event[i][profiles.given[i] != 0]
                ends = sorted((a * float(inside.min()), a * float(inside.max())))
                low, high = low + ends[0], high + ends[1]
            return low, high
        interval = getattr(x, "interval")  # noqa: B009  (every atom but Affine has it)
        low, high = interval(*(self.range(c) for c in x.children))
        return (x.low if low == -INF else low), (x.high if high == INF else high)

    def rows_of(self, x: RateFunction) -> tuple[int, float]:
        """Rows of the populations of an expression, and the effective rows it rests on."""
        seen = self.truth[sorted(x.features)].any(axis=0)
        if self.is_measured(x):
            plain = seen.reshape(-1, self.n_plain, seen.shape[1]).any(axis=0)
            rows = int(self.confusion.rows[: self.n_plain][plain].sum())
            return rows, effective_rows(x, self.moments(x.features))
        rows = int(self.confusion.rows[seen].sum())
        fraction = None if self.is_large else self.fraction(x)
        if fraction is not None:
            return rows, fraction.effective_rows
        total, squares = self.confusion.counts[seen].sum(), self.confusion.squares[seen].sum()
        return rows, effective(float(total), float(squares))

    def weight_of_rows(self, x: RateFunction) -> float | None:
        """The one weight of all rows of an expression's populations; None if they differ."""
        if self.is_measured(x):
            return None
        seen = self.truth[sorted(x.features)].any(axis=0)
        rows = self.confusion.rows[seen]
        total = self.confusion.counts.sum(axis=2)[seen]
        squares = self.confusion.squares.sum(axis=2)[seen]
        if rows.sum() == 0:
            return 1.0
        weight = float(total.sum() / rows.sum())
        # The squares of weights with this mean are no smaller, and equal only where all are it.
        spread = float(squares.sum()) - weight * float(total.sum())
        return weight if abs(spread) <= 1e-9 * weight * float(total.sum()) else None


def above_and_below(x: RateFunction, profiles: RowProfiles) -> tuple[Floats, Floats] | None:
    """What a row of each profile (profiles,) adds above and below the line."""
    if not isinstance(x, (Affine, Ratio)) or not x.features:
        return None
    place = [profiles.index.index(j) for j in sorted(x.features)]
    given = profiles.given[place[0]]
    if not (profiles.given[place] == given).all():
        return None

    def weights(e: Affine) -> Floats:
        coefs = np.array([e.terms.get(j, 0.0) for j in profiles.index])
        return np.asarray(coefs @ profiles.event + e.const * given)

    if isinstance(x, Affine):
        return weights(x), given
    below = weights(x.below)
    if (below < -_TINY).any():
        return None
    return weights(x.above) + x.offset * below, np.maximum(below, 0.0)


@lru_cache(maxsize=64)
def _weights(n: int) -> Floats:
    """Random weights that give different columns different sums."""
    out = np.random.default_rng(n).uniform(1.0, 2.0, 2 * n)
    out.flags.writeable = False
    return out


def bind_counted(
    expressions: Sequence[Expression], confusion: Confusion
) -> tuple[list[RateFunction], CountedRates]:
    """Expressions bound to a confusion, and the counts they are measured on."""
    linker = Linker(confusion.codebook, confusion.marginals, fixed=False)
    bounds = [linker.function(e) for e in expressions]
    return bounds, CountedRates(linker.table, confusion)
