"""Profiles: what an expression can tell apart among the units that were counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from setpoint.array_types import Bools, Codes, Floats
from setpoint.counts import Confusion
from setpoint.goals import Expression
from setpoint.inference.means import Proxied
from setpoint.program import INF, Affine, Linker, Node, RateFunction, RateTable, Ratio

# --- Units of counting: what those of a profile add up to -----------------------------------------


_TINY = 1e-12


class Sums:
    """What the rows of each profile add up to, by table of a confusion."""

    def __init__(self, lines: Floats, tables: int) -> None:
        """Lines (..., profiles): counts, products; both of all of their strata and true classes."""
        products, around = lines[tables : tables + tables**2], lines[tables + tables**2 :]
        self.counts = lines[:tables]  # (tables, profiles)
        # Sums over units, of what each adds in two tables.
        self.products = products.reshape(tables, tables, -1)
        self.around = around[0], around[1:].reshape(self.products.shape)
        self.amounts = tables > 1

    @cached_property
    def typical(self) -> tuple[Floats, Floats]:
        """What a unit drawn by weight adds (tables, profiles), and the products of that."""
        counted, varied = self.around
        seen, squares = counted > 0, float(self.products[0, 0].sum())
        if seen.all():  # drawn from the units of the same strata and true classes, or from all
            mean = varied / counted
        else:
            mean = varied / np.where(seen, counted, 1.0)
            unit = np.zeros(self.products.shape[:2])
            unit[0, 0] = 1.0
            total = self.counts[0].sum()
            every = self.products.sum(axis=-1) / total if total > 0 else unit
            mean = np.where(seen, mean, every[..., None])
        level = float(self.counts[0] @ mean[0, 0])
        scale = squares / level if level > 0 else 1.0
        return mean[0] * scale, mean * mean[0, 0] * scale**2


class Sizes(NamedTuple):
    """How much a value rests on; the sums are those of a fraction that is 0 at 0/0."""

    rows: int
    effective: float
    numerator: float | None = None
    denominator: float | None = None


def rounded(x: Floats) -> Floats:
    """The array in ten digits of its largest entry, so that equal weights compare equal."""
    largest = float(np.abs(x).max(initial=0.0))
    return np.round(x / largest, 10) if largest > 0 else x


def summed(place: Codes, x: Floats, size: int) -> Floats:
    """Sums (lines, size) of the entries of each line of x that have the same place."""
    at = place + size * np.arange(len(x))[:, None]
    out = np.bincount(at.ravel(), x.ravel(), size * len(x)).reshape(len(x), size)
    return np.asarray(out, np.float64)


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

        parts = [
            np.array([e.terms.get(j, 0.0) for j in self.features]) @ self.event + e.const * given
            for e in ((x,) if isinstance(x, Affine) else (x.above, x.below))
        ]
        if isinstance(x, Affine):
            return parts[0], given
        above, below = parts
        if (below < -_TINY).any():
            return None
        return above + x.offset * below, np.maximum(below, 0.0)


@dataclass(frozen=True, eq=False)
class Profiles:
    """Units that some features tell apart, and the weights of these features."""

    weights: Weights  # by table and profile
    units: Sums
    place: Codes  # of each entry (plain strata * (n + 1) * n) its profile, -1 where none looks

    def __len__(self) -> int:
        return int(self.units.counts.shape[1])

    @cached_property
    def populations(self) -> Bools:
        """Different sets of units that shares are taken of (populations, profiles)."""
        given = self.weights.given.reshape(-1, *self.units.counts.shape)
        held = {rows.tobytes(): rows for rows in (given != 0).any(axis=1)}
        return np.array([held[key] for key in sorted(held)])  # np.unique is slow for many


# --- Fractions of counts: what a ratio of linear functions makes of each --------------------------


@dataclass(frozen=True, eq=False)
class Fraction:
    """``(above @ counts) / (below @ counts)``; entries of equal weights are one."""

    above: Floats  # (tables, entries with a weight, by it)
    below: Floats
    units: Sums
    at_zero: float
    entries: tuple[Floats, Floats]  # above and below by entry (strata, n + 1, n)

    @cached_property
    def range(self) -> tuple[float, float]:
        """The smallest and largest value that any counts of rows give."""
        ends = [
            float(a / b) if b > 0 else INF if a > 0 else -INF
            for a, b in zip(self.above[0], self.below[0], strict=True)
        ]
        return min(ends, default=self.at_zero), max(ends, default=self.at_zero)


# --- The rates of some expressions on one confusion -----------------------------------------------


_AT_ONCE = 2_000_000
"""Weights of features that are looked at together."""

MOST_WEIGHTS = 30_000_000
"""Beyond so many weights (features times entries) profiles are not distinguished."""


class FractionForm(NamedTuple):
    """Weights above and below, and the entries of each, one group after the other."""

    above: Floats
    below: Floats
    order: Codes
    starts: Codes
    entries: tuple[Floats, Floats]


class KnownWeights(NamedTuple):
    """What is the same for all confusions of one table, by features and by expression."""

    profiles: dict[frozenset[int], tuple[Weights, Codes]]
    # Expressions are kept with their fractions: their ids stay their own.
    fractions: dict[int, tuple[RateFunction, FractionForm | None]]


Largest: TypeAlias = Callable[[Bools], float]
"""From entries (strata, n + 1, n) that count to the most that one unit could weigh in them."""


class CountedRates:
    """The rates of some expressions on one confusion, entry by entry."""

    def __init__(
        self,
        table: RateTable,
        confusion: Confusion,
        known: KnownWeights | None = None,
        largest: Largest | None = None,
    ) -> None:
        """What is `known` is shared; `largest` where units are not rows that weigh the same."""
        self.largest = largest
        self.table = table
        self.features = table.rates
        self.confusion = confusion
        self.n_plain = confusion.codebook.n_plain
        self.v = table.of(confusion.counts)
        # Profiles of thousands of features and classes would take too much memory.
        self.is_large = len(self.features) * confusion.counts.size > MOST_WEIGHTS
        measured = [any(c >= self.n_plain for c in f.strata) for f in table.rates]
        self._amounts = frozenset(j for j, own in enumerate(measured) if own)
        self._lines: dict[int, Floats] = {}
        self._known = KnownWeights({}, {}) if known is None else known
        self._profiles: dict[frozenset[int], Profiles] = {}
        self._fractions: dict[int, Fraction | None] = {}
        self._of_units: dict[bytes, Floats] = {}
        self._proxied: dict[int, tuple[RateFunction, Proxied | None]] = {}

    @cached_property
    def truth(self) -> Bools:
        """Whose rows (features, strata, n + 1) are the population of each feature."""
        n = len(self.confusion.classes)
        out = np.zeros((len(self.features), len(self.confusion.codebook.strata), n + 1), bool)
        for j, f in enumerate(self.features):
            out[j, list(f.strata if f.share_of is None else f.share_of)] = f.given_rows != 0
        return out

    def weights(self, index: list[int]) -> Weights:
        """What some features look at by entry, events not divided by any norm."""
        given = self.truth[index].reshape(len(index), -1).astype(float)
        event = self.table.masks(index).reshape(len(index), -1)
        return Weights(index, event, np.repeat(given, self.table.n, axis=1))

    @cached_property
    def row_weights(self) -> Floats:
        """The weight (entries,) of a typical row of each entry's stratum and true class."""
        n, tables = len(self.confusion.classes), range(len(self.confusion.products))
        total = np.repeat(self.confusion.marginals.weights.ravel(), n)
        squares = np.repeat(self.confusion.products[tables, tables].sum(axis=-1).ravel(), n)
        return np.where(total > 0, squares / np.where(total > 0, total, 1.0), 1.0)

    def value(self, x: RateFunction) -> float:
        """The value of a bound expression here, of labels and proxy where that is of use."""
        parts = self.sharpened(x)
        if not parts:
            return float(x.value(self.v)) + 0.0
        if isinstance(x, Node) and self.proxied(x) is None:
            return float(x.interval(*((self.value(c),) * 2 for c in x.children))[0]) + 0.0
        return float(np.clip(parts[0].value, *self.range(x)))

    def sharpened(self, x: RateFunction) -> list[Proxied]:
        """The fractions that a proxy sharpens and the value is made of."""
        own = self.proxied(x)
        if own is not None or self.confusion.proxied is None:
            return [] if own is None else [own]
        by_parts = x.has_kinks or sum(bool(c.features) for c in x.children) == 1
        return [found for c in x.children if by_parts for found in self.sharpened(c)]

    def proxied(self, x: RateFunction) -> Proxied | None:
        """The expression as a fraction that a proxy sharpens, if it is one and there is one."""
        if id(x) not in self._proxied:
            found = self.fraction(x) if self.confusion.proxied else None
            of_it = None if found is None else Proxied.of(found.entries, self.confusion)
            self._proxied[id(x)] = x, of_it
        return self._proxied[id(x)][1]

    # ------------------------------------------------------------------ profiles and fractions
    def looks_at_amounts(self, x: RateFunction) -> bool:
        """Whether an expression counts rows by a column of numbers."""
        return not self._amounts.isdisjoint(x.features)

    def profiles(self, features: Iterable[int]) -> Profiles:
        """The profiles that these features tell apart, in the tables that they look at."""
        key = frozenset(features)
        if key not in self._profiles:
            lines, tables = self._entries(key)
            if key not in self._known.profiles:
                self._known.profiles[key] = self._grouping(sorted(key), tables)
            weights, place = self._known.profiles[key]
            used, size = place >= 0, weights.event.shape[1] // tables
            units = Sums(summed(place[used], lines[:, used], size), tables)
            self._profiles[key] = Profiles(weights, units, place)
        return self._profiles[key]

    def _entries(self, features: Iterable[int]) -> tuple[Floats, int]:
        """Lines of units by entry (plain strata * (n + 1) * n) of so many tables: one, or all."""
        tables = 1 if self._amounts.isdisjoint(features) else len(self.confusion.products)
        if tables not in self._lines:
            products = self.confusion.products[:tables, :tables]
            shape, n = products.shape[2:], products.shape[-1]
            counts = self.confusion.counts.reshape(-1, *shape)[:tables]
            lines = np.concatenate([counts, products.reshape(-1, *shape)])
            around = np.repeat(lines.sum(axis=-1)[[0, *range(tables, len(lines))]], n, axis=-1)
            lines, around = (x.reshape(len(x), -1) for x in (lines, around))
            self._lines[tables] = np.concatenate([lines, around])
        return self._lines[tables], tables

    def _grouping(self, index: list[int], tables: int) -> tuple[Weights, Codes]:
        size = self.confusion.products[0, 0].size
        # A part of the features at a time: all their weights would fill the memory.
        at_once = max(1, _AT_ONCE // self.confusion.counts.size)
        parts = [index[i : i + at_once] for i in range(0, len(index), at_once)]
        known = [self.weights(index)] if len(parts) == 1 else None
        mixed, seen = np.zeros(size), np.zeros(size, bool)
        coefs = _weights(len(index) * tables).reshape(2, len(index), tables)
        for i, (_, *both) in enumerate(known or map(self.weights, parts)):
            for entries, each in zip(both, coefs[:, i * at_once : (i + 1) * at_once], strict=True):
                own = entries[:, : tables * size].reshape(-1, tables, size)
                seen |= (own != 0).any(axis=(0, 1))
                if tables > 1:  # an amount of 1e10 beside a price of 5 does not make that nothing
                    each = each / np.maximum(np.abs(own).max(axis=2), 1e-300)  # noqa: PLW2901
                mixed += each.ravel() @ own.reshape(-1, size)
        looked = np.flatnonzero(seen)
        _, first_of, at = np.unique(rounded(mixed[looked]), return_index=True, return_inverse=True)
        held = (np.arange(tables)[:, None] * size + looked[first_of]).ravel()
        weights = [[x[:, held] for x in both] for _, *both in known or map(self.weights, parts)]
        event, given = (np.concatenate(each) for each in zip(*weights, strict=True))
        place = np.full(size, -1, np.int64)
        place[looked] = at.ravel()
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
        if id(x) not in self._fractions:
            known, index = self._known.fractions, sorted(x.features)
            if id(x) not in known:
                known[id(x)] = x, self._form(x, index)
            found, form = None, known[id(x)][1]
            if form is not None:
                lines, tables = self._entries(index)
                units = Sums(np.add.reduceat(lines[:, form.order], form.starts, axis=1), tables)
                at_zero = x.at_zero if isinstance(x, Ratio) else 0.0
                found = Fraction(form.above, form.below, units, at_zero, form.entries)
            self._fractions[id(x)] = found
        return self._fractions[id(x)]

    def _form(self, x: RateFunction, index: list[int]) -> FractionForm | None:
        """What is the same of a fraction for all confusions of one table."""
        # Shares of different rows are none: of hundreds of classes, weights fill the memory.
        same_rows = index and (self.truth[index] == self.truth[index[0]]).all()
        parts = self.weights(index).above_and_below(x) if same_rows else None
        if parts is None:
            return None
        lines, tables = self._entries(index)
        above, below = (part[: tables * lines.shape[1]].reshape(tables, -1) for part in parts)
        order = np.flatnonzero(((np.abs(above) > _TINY) | (below > _TINY)).any(axis=0))
        starts = np.arange(len(order))
        if tables == 1:  # each amount differs
            up, down = rounded(above[0, order]), rounded(below[0, order])
            rank, begins = np.lexsort((down, up)), np.ones(len(order), bool)
            up, down = up[rank], down[rank]
            begins[1:] = (up[1:] != up[:-1]) | (down[1:] != down[:-1])
            order, starts = order[rank], np.flatnonzero(begins)
        first = order[starts]
        top, bottom = (part.reshape(self.confusion.counts.shape) for part in parts)
        return FractionForm(above[:, first], below[:, first], order, starts, (top, bottom))

    # ------------------------------------------------------------------ what units change
    @cached_property
    def is_clustered(self) -> bool:
        """Whether units are of several rows, so that counts do not say how values vary."""
        return self.confusion.units is not None and self.confusion.units.units is not None

    def most_of_unit(self, *weights: Floats) -> float:
        """The most that one unit could weigh in entries with some weight."""
        used = np.any([w != 0.0 for w in weights], axis=0).reshape(self.confusion.counts.shape)
        return 1.0 if self.largest is None else self.largest(used)

    def of_units(self, x: RateFunction) -> tuple[Floats, Floats]:
        """What each unit (units,) adds above and below the line of a fraction."""
        fraction = self.fraction(x)
        assert fraction is not None
        above, below = map(self.by_unit, fraction.entries)
        return above, below

    def by_unit(self, entries: Floats) -> Floats:
        """What each unit (units,) adds to a sum over entries (strata * (n + 1) * n)."""
        units, key = self.confusion.units, entries.tobytes()
        assert units is not None
        if key not in self._of_units:
            table = entries.reshape(-1, *self.confusion.products.shape[2:])
            self._of_units[key] = units.sums(table)
        return self._of_units[key]

    def unit_effects(self, xs: Sequence[RateFunction]) -> tuple[Floats, float]:
        """What leaving out each unit does (len(xs), units) to some values; units, effective."""
        index = sorted(frozenset[int]().union(*(x.features for x in xs)))
        _, event, given = self.weights(index)
        above, below = (np.stack([self.by_unit(line) for line in part]) for part in (event, given))
        least = (below.sum(axis=1) ** 2 / np.maximum((below**2).sum(axis=1), 1e-300)).min()
        used = (below > 0.0).any(axis=0) | (above != 0.0).any(axis=0)
        above, below = above[:, used], below[:, used]
        out, size = np.empty((len(xs), above.shape[1])), max(1, _AT_ONCE // len(self.v))
        above, below = (part.sum(axis=1, keepdims=True) - part for part in (above, below))
        for first in range(0, above.shape[1], size):
            part = slice(first, first + size)
            at = np.repeat(self.v[None], out[:, part].shape[1], axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                at[:, index] = (above[:, part] / below[:, part]).T
                for own, x in zip(out, xs, strict=True):
                    own[part] = x.value(at) - self.value(x)
        return out, float(least)

    # ------------------------------------------------------------------ what is said of it
    def range(self, x: RateFunction) -> tuple[float, float]:
        """The range of the expression whatever the data: what limits are clipped to."""
        if not x.features:
            value = self.value(x)
            return value, value
        fraction = self.fraction(x)
        if fraction is not None:
            amounts = fraction.units.amounts
            known = self._range_of_amounts(x, fraction) if amounts else fraction.range
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
        return x.low if low == -INF else float(low), x.high if high == INF else float(high)

    def _range_of_amounts(self, x: RateFunction, found: Fraction) -> tuple[float, float] | None:
        """Of a mean of an amount no more than on what side of 0 it is: None."""
        above, below = (part.reshape(len(found.above), -1) for part in found.entries)
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

    def sizes_of(self, x: RateFunction) -> Sizes:
        """Rows of the populations of an expression, effective rows, and the sums of a fraction."""
        seen, tables = self.truth[sorted(x.features)].any(axis=0), len(self.confusion.products)
        plain = seen.reshape(tables, self.n_plain, -1).any(axis=0)
        rows, sums = int(self.confusion.rows[: self.n_plain][plain].sum()), list[float]()
        if not x.features:
            return Sizes(rows, 0.0)
        if self.is_large:
            units, n = Sums(*self._entries(x.features)), len(self.confusion.classes)
            used = np.repeat(seen.ravel(), n)[: units.counts.size].reshape(units.counts.shape)
        elif (fraction := self.fraction(x)) is not None:
            units = fraction.units
            used = np.asarray((np.abs(fraction.above) > _TINY) | (fraction.below > _TINY))
            if fraction.at_zero == 0.0:
                weights = fraction.above.ravel(), fraction.below.ravel()
                sums = [float(own @ units.counts.ravel()) + 0.0 for own in weights]
        else:
            _, event, given = (profiles := self.profiles(x.features)).weights
            units, looked = profiles.units, ((event != 0) | (given != 0)).any(axis=0)
            used = np.asarray(looked.reshape(units.counts.shape))
        # Kish's (sum m)^2 / sum m^2 of what counts, by the table in which that is least.
        held = [
            (own[use].sum(), units.products[a, a, use].sum())
            for a, (own, use) in enumerate(zip(units.counts, used, strict=True))
        ]
        each = [total**2 / squares if squares > 0 else 0.0 for total, squares in held if total > 0]
        return Sizes(rows, float(min(each, default=0.0)), *sums)

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
