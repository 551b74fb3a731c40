"""Profiles: what an expression can tell apart among the units that were counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from setpoint.array_types import Bools, Codes, Floats
from setpoint.evidence import Confusion
from setpoint.goals import Expression
from setpoint.program import (
    INF,
    Affine,
    Linker,
    RateFunction,
    RateTable,
    Ratio,
)

# --- Units of counting: what those of a profile add up to -----------------------------------------


_TINY = 1e-12


class Typical(NamedTuple):
    """What a typical unit of each profile adds, and the products of that."""

    unit: Floats  # (tables, profiles)
    products: Floats  # (tables, tables, profiles)


@dataclass(frozen=True, eq=False)
class Units:
    """What the units of each profile add up to, by table of a confusion; today a unit is a row."""

    counts: Floats  # (tables, profiles)
    products: Floats  # (tables, tables, profiles): sums over units, of what each adds in two tables
    around: tuple[Floats, Floats]  # counts[0] and products of all of their strata and true classes

    @classmethod
    def of(cls, confusion: Confusion, tables: int) -> Units:
        """A profile for each entry (plain strata, n + 1, n) of the first tables of a confusion."""
        n = len(confusion.classes)
        products = confusion.products[:tables, :tables]
        counts = confusion.counts.reshape(len(confusion.products), *products.shape[2:])[:tables]
        counted, varied = (
            np.repeat(x.sum(axis=-1), n).reshape(*x.shape[:-3], -1) for x in (counts[0], products)
        )
        flat = counts.reshape(tables, -1), products.reshape(tables, tables, -1)
        return cls(*flat, (counted, varied))

    @property
    def amounts(self) -> bool:
        """Whether units count by amounts too, which differ from one to the next."""
        return len(self.counts) > 1

    @property
    def total(self) -> float:
        """The weight of all."""
        return float(self.counts[0].sum())

    def __getitem__(self, profiles: Codes) -> Units:
        return self._each(lambda x: x[..., profiles])

    def grouped(self, place: Codes, size: int, used: Codes | slice = slice(None)) -> Units:
        """The units of those profiles that are used, those that have the same place as one."""
        return self._each(lambda x: summed(place, x[..., used], size))

    def _each(self, of: Callable[[Floats], Floats]) -> Units:
        return Units(of(self.counts), of(self.products), (of(self.around[0]), of(self.around[1])))

    @cached_property
    def typical(self) -> Typical:
        """Drawn by weight from the units of the same strata and true classes, or from all."""
        counted, varied = self.around
        total, squares = self.total, float(self.products[0, 0].sum())
        all_of_them = self.products.sum(axis=-1) / total if total > 0 else _one(len(self.counts))
        seen = counted > 0
        mean = np.where(seen, varied / np.where(seen, counted, 1.0), all_of_them[..., None])
        level = float(self.counts[0] @ mean[0, 0])
        scale = squares / level if level > 0 else 1.0
        return Typical(mean[0] * scale, mean * mean[0, 0] * scale**2)

    def effective(self, used: Bools) -> float:
        """``(sum m)^2 / sum m^2`` of what counts, by the table in which that is least."""
        each = [
            effective(float(own[held].sum()), float(self.products[a, a, held].sum()))
            for a, (own, held) in enumerate(zip(self.counts, used, strict=True))
            if own[held].sum() > 0
        ]
        return min(each, default=0.0)


def _one(tables: int) -> Floats:
    """The products of a unit that counts once."""
    out = np.zeros((tables, tables))
    out[0, 0] = 1.0
    return out


def effective(total: float, squares: float) -> float:
    """Effective rows of some weight (Kish 1965); equal weights count as rows."""
    return total * total / squares if squares > 0 else 0.0


def rounded(x: Floats) -> Floats:
    """The array in ten digits of its largest entry, so that equal weights compare equal."""
    largest = float(np.abs(x).max(initial=0.0))
    return np.round(x / largest, 10) if largest > 0 else x


def summed(place: Codes, x: Floats, size: int) -> Floats:
    """Sums (..., size) of the entries of x that have the same place."""
    flat = [np.bincount(place, row, size) for row in x.reshape(-1, len(place))]
    return np.array(flat, np.float64).reshape(*x.shape[:-1], size)


class Weights(NamedTuple):
    """Weights (features, entries) of some features, in whatever entries are distinguished."""

    features: list[int]
    event: Floats
    given: Floats

    def above_and_below(self, x: RateFunction) -> tuple[Floats, Floats] | None:
        """What one more in each entry adds above and below the line of a fraction."""
        if not isinstance(x, (Affine, Ratio)) or not x.features:
            return None
        place = [self.features.index(j) for j in sorted(x.features)]
        given = self.given[place[0]]
        if not (self.given[place] == given).all():
            return None

        def weights(e: Affine) -> Floats:
            coefs = np.array([e.terms.get(j, 0.0) for j in self.features])
            return np.asarray(coefs @ self.event + e.const * given)

        if isinstance(x, Affine):
            return weights(x), given
        below = weights(x.below)
        if (below < -_TINY).any():
            return None
        return weights(x.above) + x.offset * below, np.maximum(below, 0.0)


@dataclass(frozen=True, eq=False)
class Profiles:
    """Units that some features tell apart, and the weights of these features."""

    weights: Weights  # by table and profile
    units: Units
    place: Codes  # of each entry (plain strata * (n + 1) * n) its profile, -1 where none looks

    def __len__(self) -> int:
        return int(self.units.counts.shape[1])

    @cached_property
    def used(self) -> Bools:
        """In which table and profile (tables, profiles) something is looked at."""
        either = ((self.weights.event != 0) | (self.weights.given != 0)).any(axis=0)
        return np.asarray(either.reshape(self.units.counts.shape))

    @cached_property
    def populations(self) -> Bools:
        """Different sets of units that shares are taken of (populations, profiles)."""
        given = self.weights.given.reshape(-1, *self.units.counts.shape)
        held = {rows.tobytes(): rows for rows in (given != 0).any(axis=1)}
        return np.array([held[key] for key in sorted(held)])  # np.unique is slow for many


# --- Fractions of counts: what a ratio of linear functions makes of each --------------------------


@dataclass(frozen=True, eq=False)
class Fraction:
    """``(above @ counts) / (below @ counts)``; profiles with neither weight are left out."""

    above: Floats  # (tables, profiles)
    below: Floats
    units: Units
    at_zero: float

    @property
    def numerator(self) -> float:
        """Weight above the line."""
        return float(self.above.ravel() @ self.units.counts.ravel()) + 0.0

    @property
    def denominator(self) -> float:
        """Weight below the line."""
        return float(self.below.ravel() @ self.units.counts.ravel()) + 0.0

    @property
    def used(self) -> Bools:
        """In which table and profile (tables, profiles) something counts."""
        return np.asarray((np.abs(self.above) > _TINY) | (self.below > _TINY))

    @cached_property
    def range(self) -> tuple[float, float]:
        """The smallest and largest value that any counts give."""
        ends = [
            float(a / b) if b > 0 else INF if a > 0 else -INF
            for a, b in zip(self.above[0], self.below[0], strict=True)
        ]
        return min(ends, default=self.at_zero), max(ends, default=self.at_zero)

    @cached_property
    def sorts(self) -> Fraction:
        """The same fraction with profiles of equal weights in one."""
        pairs = np.concatenate([rounded(self.above), rounded(self.below)]).T
        _, first, place = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        units = self.units.grouped(place.ravel(), len(first))
        return Fraction(self.above[:, first], self.below[:, first], units, self.at_zero)

    @property
    def n_sorts(self) -> float:
        """How many sorts of units it tells apart; of amounts each unit is a sort of its own."""
        return INF if self.units.amounts else len(self.sorts.above[0])


# --- The rates of some expressions on one confusion -----------------------------------------------


_AT_ONCE = 2_000_000
"""Weights of features that are looked at together."""

MOST_WEIGHTS = 30_000_000
"""Beyond so many weights (features times entries) profiles are not distinguished."""


Grouping: TypeAlias = dict[frozenset[int], tuple[Weights, Codes]]
"""Weights of some features by table and profile, and of each entry its profile."""


class CountedRates:
    """The rates of some expressions on one confusion, entry by entry."""

    def __init__(
        self, table: RateTable, confusion: Confusion, groupings: Grouping | None = None
    ) -> None:
        """`groupings` are shared by the confusions of one table: their profiles are the same."""
        self.table = table
        self.features = table.rates
        self.confusion = confusion
        self.n_plain = confusion.codebook.n_plain
        self.v = table.of(confusion.counts)
        # Profiles of thousands of features and classes would take too much memory.
        self.is_large = len(self.features) * confusion.counts.size > MOST_WEIGHTS
        self._units: dict[int, Units] = {}
        self._groupings: Grouping = {} if groupings is None else groupings
        self._profiles: dict[frozenset[int], Profiles] = {}
        self._fractions: dict[int, tuple[RateFunction, Fraction | None]] = {}

    @cached_property
    def truth(self) -> Bools:
        """Whose rows (features, strata, n + 1) are the population of each feature."""
        n = len(self.confusion.classes)
        out = np.zeros((len(self.features), len(self.confusion.strata), n + 1), bool)
        for j, f in enumerate(self.features):
            out[j, list(f.strata if f.share_of is None else f.share_of)] = f.given_rows != 0
        return out

    def weights(self, index: list[int]) -> Weights:
        """What some features look at by entry, events not divided by any norm."""
        strata, n = self.confusion.strata, len(self.confusion.classes)
        event = np.zeros((len(index), *self.confusion.counts.shape))
        for i, j in enumerate(index):
            f, known = self.features[j], dict[int | None, Floats]()
            for c in f.strata:
                baseline = strata[c].baseline
                if baseline not in known:
                    known[baseline] = f.matrix(baseline)
                event[i, c] = known[baseline]
        given = np.repeat(self.truth[index].reshape(len(index), -1), n, axis=1).astype(float)
        return Weights(index, event.reshape(len(index), -1), given)

    @cached_property
    def row_weights(self) -> Floats:
        """The weight (entries,) of a typical row of each entry's stratum and true class."""
        n, tables = len(self.confusion.classes), range(len(self.confusion.products))
        total = np.repeat(self.confusion.marginals.weights.ravel(), n)
        squares = np.repeat(self.confusion.products[tables, tables].sum(axis=-1).ravel(), n)
        return np.where(total > 0, squares / np.where(total > 0, total, 1.0), 1.0)

    def value(self, x: RateFunction) -> float:
        """The value of a bound expression here."""
        return float(x.value(self.v)) + 0.0

    # ------------------------------------------------------------------ profiles and fractions
    def profiles(self, features: Iterable[int]) -> Profiles:
        """The profiles that these features tell apart, in the tables that they look at."""
        key = frozenset(features)
        if key not in self._profiles:
            if key not in self._groupings:
                self._groupings[key] = self._grouping(sorted(key))
            weights, place = self._groupings[key]
            units, used = self._units_of_entries(self._tables(key)), np.flatnonzero(place >= 0)
            size = int(place.max(initial=-1)) + 1
            self._profiles[key] = Profiles(weights, units.grouped(place[used], size, used), place)
        return self._profiles[key]

    def _tables(self, features: Iterable[int]) -> int:
        """How many tables features look at: that of rows, or all."""
        strata = (max(self.features[j].strata, default=-1) for j in features)
        return len(self.confusion.products) if max(strata, default=-1) >= self.n_plain else 1

    def looks_at_amounts(self, x: RateFunction) -> bool:
        """Whether an expression counts rows by a column of numbers."""
        return self._tables(x.features) > 1

    def _units_of_entries(self, tables: int) -> Units:
        if tables not in self._units:
            self._units[tables] = Units.of(self.confusion, tables)
        return self._units[tables]

    def _grouping(self, index: list[int]) -> tuple[Weights, Codes]:
        tables, size = self._tables(index), self.confusion.products[0, 0].size

        def lines(part: list[int]) -> tuple[Floats, Floats]:
            _, *both = self.weights(part)
            event, given = (x[:, : tables * size].reshape(len(part), tables, size) for x in both)
            return event, given

        # A part of the features at a time: all their weights would fill the memory.
        at_once = max(1, _AT_ONCE // self.confusion.counts.size)
        parts = [index[i : i + at_once] for i in range(0, len(index), at_once)]
        mixed, seen = np.zeros(size), np.zeros(size, bool)
        coefs = _weights(len(index) * tables).reshape(2, len(index), tables)
        for first, part in zip(range(0, len(index), at_once), parts, strict=True):
            for own, each in zip(lines(part), coefs[:, first : first + at_once], strict=True):
                seen |= (own != 0).any(axis=(0, 1))
                if tables > 1:  # an amount of 1e10 beside a price of 5 does not make that nothing
                    each = each / np.maximum(np.abs(own).max(axis=2), 1e-300)  # noqa: PLW2901
                mixed += each.ravel() @ own.reshape(-1, size)
        entries = np.flatnonzero(seen)
        _, first_of, at = np.unique(rounded(mixed[entries]), return_index=True, return_inverse=True)
        at, held = at.ravel(), entries[first_of]
        weights = [[x[:, :, held].reshape(len(x), -1) for x in lines(part)] for part in parts]
        event, given = (np.concatenate(each) for each in zip(*weights, strict=True))
        place = np.full(size, -1, np.int64)
        place[entries] = at
        return Weights(index, event, given), place

    def of_entries(self, each: Floats, profiles: Profiles) -> Floats:
        """Something of profiles (tables, profiles) as that of entries (strata, n + 1, n)."""
        shape = self.confusion.counts.shape
        out = np.zeros((len(self.confusion.products), profiles.place.size))
        each = each.reshape(profiles.units.counts.shape)
        out[: len(each)] = np.where(profiles.place >= 0, each[:, profiles.place], 0.0)
        return out.reshape(shape)

    def fraction(self, x: RateFunction) -> Fraction | None:
        """The expression as one fraction of linear functions of the counts, if it is one."""
        held = self._fractions.get(id(x))
        if held is None:
            # The expression is kept with its fraction: its id stays its own.
            held = self._fractions[id(x)] = (x, self._fraction(x))
        return held[1]

    def _fraction(self, x: RateFunction) -> Fraction | None:
        if not isinstance(x, (Affine, Ratio)) or not x.features:
            return None
        profiles = self.profiles(x.features)
        parts = profiles.weights.above_and_below(x)
        if parts is None:
            return None
        above, below = (part.reshape(profiles.units.counts.shape) for part in parts)
        used = np.flatnonzero(((np.abs(above) > _TINY) | (below > _TINY)).any(axis=0))
        at_zero = x.at_zero if isinstance(x, Ratio) else 0.0
        units = profiles.units if len(used) == len(profiles) else profiles.units[used]
        return Fraction(above[:, used], below[:, used], units, at_zero)

    def fraction_of_entries(self, x: RateFunction) -> tuple[Floats, Floats] | None:
        """What one more in each entry (strata, n + 1, n) adds above and below the line."""
        profiles = self.profiles(x.features)
        parts = profiles.weights.above_and_below(x)
        if parts is None:
            return None
        above, below = (self.of_entries(part, profiles) for part in parts)
        return above, below

    # ------------------------------------------------------------------ what is said of it
    def sums_of(self, x: RateFunction) -> tuple[float, float] | None:
        """What is above and below the line of a fraction that is 0 at 0/0; None if it is none."""
        if self.is_large or (isinstance(x, Ratio) and x.at_zero != 0.0):
            return None
        fraction = self.fraction(x)
        return None if fraction is None else (fraction.numerator, fraction.denominator)

    def range(self, x: RateFunction) -> tuple[float, float]:
        """The range of the expression whatever the data: what limits are clipped to."""
        if not x.features:
            value = self.value(x)
            return value, value
        fraction = self.fraction(x)
        known = None if fraction is None else self._range_of_fraction(x, fraction)
        if known is not None:
            return known
        if isinstance(x, Affine):
            low = high = x.const
            for j, a in x.terms.items():
                ends = sorted(a * end if end else 0.0 for end in self._range_of_rate(x, j))
                low, high = low + ends[0], high + ends[1]
            return low, high
        interval = getattr(x, "interval")  # noqa: B009  (every atom but Affine has it)
        low, high = interval(*(self.range(c) for c in x.children))
        return (x.low if low == -INF else low), (x.high if high == INF else high)

    def _range_of_fraction(self, x: RateFunction, found: Fraction) -> tuple[float, float] | None:
        """Of a mean of an amount no more than on what side of 0 it is: None."""
        if not found.units.amounts:
            return found.range
        above, below = self.fraction_of_entries(x) or (found.above, found.below)
        above, below = (part.reshape(len(found.above), -1) for part in (above, below))
        one = (below != 0).any(axis=1).sum() == 1 and (below[above != 0] > 0).all()
        if not one or any(self.features[j].share_of for j in x.features):
            return None
        inside = above[below > 0] / below[below > 0]
        at_zero = [x.at_zero] if isinstance(x, Ratio) and (below == 0).any() else []
        return min([float(inside.min()), *at_zero]), max([float(inside.max()), *at_zero])

    def _range_of_rate(self, x: RateFunction, j: int) -> tuple[float, float]:
        profiles = self.profiles(x.features)
        i = profiles.weights.features.index(j)
        event = profiles.weights.event[i]
        if self.features[j].share_of is not None and profiles.units.amounts:
            return (-INF if event.min() < 0 else 0.0), (INF if event.max() > 0 else 0.0)
        inside = event[profiles.weights.given[i] != 0]
        return float(inside.min()), float(inside.max())

    def rows_of(self, x: RateFunction) -> tuple[int, float]:
        """Rows of the populations of an expression, and the effective rows it rests on."""
        seen = self.truth[sorted(x.features)].any(axis=0)
        plain = seen.reshape(-1, self.n_plain, seen.shape[1]).any(axis=0)
        rows = int(self.confusion.rows[: self.n_plain][plain].sum())
        if not x.features:
            return rows, 0.0
        if self.is_large:
            units = self._units_of_entries(self._tables(x.features))
            used = np.repeat(seen.ravel(), len(self.confusion.classes))
            return rows, units.effective(used[: units.counts.size].reshape(units.counts.shape))
        profiles, fraction = self.profiles(x.features), self.fraction(x)
        if fraction is None:
            return rows, profiles.units.effective(profiles.used)
        return rows, fraction.units.effective(fraction.used)

    def weight_of_rows(self, x: RateFunction) -> float | None:
        """The one weight of all rows of an expression's populations; None if they differ."""
        if self.looks_at_amounts(x):
            return None
        seen = self.truth[sorted(x.features), : self.n_plain].any(axis=0)
        rows = self.confusion.rows[: self.n_plain][seen]
        total = self.confusion.counts[: self.n_plain].sum(axis=2)[seen]
        squares = self.confusion.products[0, 0].sum(axis=2)[seen]
        if rows.sum() == 0:
            return 1.0
        weight = float(total.sum() / rows.sum())
        # The squares of weights with this mean are no smaller, and equal only where all are it.
        spread = float(squares.sum()) - weight * float(total.sum())
        return weight if abs(spread) <= 1e-9 * weight * float(total.sum()) else None


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
