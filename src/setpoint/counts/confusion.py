"""Counts: what one decision does to the rows, by stratum, true and decided class. They add."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Bools, Codes, Floats, Integers
from setpoint.compiled import kernel
from setpoint.counts.codebook import Codebook, Marginals, combinations, compress
from setpoint.errors import InputError
from setpoint.goals import Label

# --- Units: what is drawn independently of others, a row or all rows of a customer ----------------


_CALLS = itertools.count(1)


def singles(n_rows: int) -> Codes:
    """Names (N,), below 0, of units of one row each, that no other unit has."""
    first = -next(_CALLS) << 32
    return np.arange(first, first + n_rows)


@dataclass(frozen=True, eq=False)
class Units:
    """What is drawn: the names (U,) of units, which of them each row (N,) belongs to."""

    each: NDArray[Any]
    place: Codes
    called: str = "units"

    @classmethod
    def of(cls, names: NDArray[Any], called: str = "units") -> Units:
        """From the name (N,) of the unit of each row."""
        each, place = np.unique(names, return_inverse=True)
        return cls(each, place.ravel(), called)

    @property
    def names(self) -> NDArray[Any]:
        """The name (N,) of the unit of each row."""
        return self.each[self.place]

    @cached_property
    def sizes(self) -> Codes:
        """How many rows each unit (U,) has."""
        return np.bincount(self.place, minlength=len(self.each))

    @property
    def first(self) -> Codes:
        """The first row of each unit (U,)."""
        out = np.empty(len(self.each), np.int64)
        out[self.place[::-1]] = np.arange(len(self.place))[::-1]
        return out

    def kinds(self, kinds: Integers) -> Codes:
        """For each row (N,) the kind of its unit: of its middle row, and how many it has.

        Examples
        --------
        >>> Units.of(np.array([7, 7, 7, 9])).kinds(np.array([1, 1, 0, 0]))
        array([5, 5, 5, 0])
        """
        sizes, n = self.sizes, int(kinds.max(initial=0)) + 1
        held = np.sort(self.place * n + kinds)  # by unit, and there by kind
        middle = held[np.cumsum(sizes) - sizes + sizes // 2] % n
        size = np.searchsorted(np.quantile(sizes, [1 / 3, 2 / 3]), sizes)
        return np.asarray((3 * middle + size)[self.place])

    def take(self, index: Any) -> Units:
        """Of some of the rows, by index or mask."""
        held, place = compress(self.place[index], len(self.each))
        return Units(self.each[held], place, self.called)

    @classmethod
    def concat(cls, parts: Sequence[Units | int]) -> Units | None:
        """Of the rows of several parts; of so many rows without units each is one by itself."""
        known = [part for part in parts if isinstance(part, Units)]
        names = [singles(part) if isinstance(part, int) else part.names for part in parts]
        return cls.of(np.concatenate(names), known[0].called) if known else None


@dataclass(frozen=True, eq=False)
class UnitCounts:
    """What each row weighs in which entries (plain strata, n + 1, n), and its unit."""

    units: Units | None  # None: each row by itself
    entry: Codes  # (N, k)
    weights: Floats  # (tables, N, k)

    def sums(self, added: Floats) -> Floats:
        """What each unit (units,) adds to a sum, from what its rows add by table and entry.

        Examples
        --------
        >>> rows = UnitCounts(Units.of(np.array([7, 7, 8])), np.array([[0], [1], [1]]),
        ...                   np.ones((1, 3, 1)))
        >>> rows.sums(np.array([[1.0, -3.0]]))
        array([-2., -3.])
        """
        n, place = len(self.entry), None
        if self.units is not None:
            n, place = len(self.units.each), self.units.place
        out, parts = np.zeros(n), np.ascontiguousarray(added.reshape(-1, added[0].size))
        _add_rows(place, self.entry, self.weights[: len(parts)], parts, out)
        return out

    def counts_if(self, times: Floats, like: Floats) -> Floats:
        """The counts, in the shape of some, if each row (N,) weighed so many times as much."""
        size, entry = like.size // len(self.weights), self.entry.ravel()
        each = [np.bincount(entry, (times[:, None] * w).ravel(), size) for w in self.weights]
        return np.asarray(np.stack(each).reshape(like.shape), np.float64)

    def placed(self, entry: Codes, tables: Sequence[int], n_tables: int) -> UnitCounts:
        """The same rows by the entries and tables of another codebook."""
        weights = np.zeros((n_tables, *self.entry.shape))
        weights[list(tables)] = self.weights
        return replace(self, entry=entry[self.entry], weights=weights)

    def __add__(self, other: UnitCounts) -> UnitCounts:
        parts = self, other
        most = max(part.entry.shape[1] for part in parts)
        wide = [((0, 0), (0, most - part.entry.shape[1])) for part in parts]
        return UnitCounts(
            Units.concat([part.units or len(part.entry) for part in parts]),
            np.concatenate([np.pad(p.entry, w) for p, w in zip(parts, wide, strict=True)]),
            np.concatenate(
                [np.pad(p.weights, ((0, 0), *w)) for p, w in zip(parts, wide, strict=True)], axis=1
            ),
        )


@kernel(plain=True)
def _add_rows(
    place: Codes | None, entry: Codes, weights: Floats, parts: Floats, out: Floats
) -> None:
    """Add what each row adds to the sum of its unit, or of its own."""
    n_rows, n = entry.shape
    for i in range(n_rows):
        total = 0.0
        for j in range(n):
            for k in range(len(parts)):
                total += weights[k, i, j] * parts[k, entry[i, j]]
        out[i if place is None else place[i]] += total


# --- Confusions: what counting one decision gives -------------------------------------------------


@dataclass(frozen=True, eq=False)
class Confusion:
    """Weighted counts by stratum, true class and predicted class.

    Sums and never shares, so two parts of the data, two workers or two days add.

    Parameters
    ----------
    codebook : Codebook
        Classes and strata. Strata are tables times plain strata: first rows, then a table for
        each measure, in which rows count by a column of numbers.
    counts : array of shape (strata, n + 1, n)
        Sums of weights; row n of axis 1 holds unlabelled rows.
    products : array of shape (tables, tables, plain strata, n + 1, n)
        Sums over rows of the products of what each weighs in two tables: what the variance of a
        rate needs, and the covariance of two.
    rows : array of shape (strata, n + 1)
        Numbers of rows, whatever their weight.
    smallest : array of shape (strata, n + 1)
        The smallest positive row weight; inf where there are no rows.
    units : UnitCounts, optional
        What each unit behind the counts weighs in them: for tests and limits that need the value
        of each. None: a unit is a row, and the counts say all.
    proxied : two of Confusion, optional
        With the `units` of these rows by a proxy of their labels, and of others without labels.

    Examples
    --------
    >>> one = Confusion.of_counts(("no", "yes"), [[5, 1], [2, 4], [0, 0]])
    >>> (one + one).counts[0]
    array([[10.,  2.],
           [ 4.,  8.],
           [ 0.,  0.]])
    """

    codebook: Codebook
    counts: Floats
    products: Floats
    rows: Codes
    smallest: Floats
    units: UnitCounts | None = None
    proxied: tuple[Confusion, Confusion] | None = None

    @classmethod
    def of_counts(cls, classes: tuple[Label, ...], counts: Any) -> Confusion:
        """One stratum of unit rows, from counts (n + 1, n)."""
        return cls.of_units(Codebook.of(classes), np.asarray(counts, dtype=float)[None])

    @classmethod
    def of_units(cls, codebook: Codebook, counts: Floats) -> Confusion:
        """Rows that weigh 1 and have no measures, from counts (strata, n + 1, n)."""
        rows = counts.sum(axis=2)
        smallest = np.where(rows > 0, 1.0, np.inf)
        return cls(codebook, counts, counts[None, None], rows.astype(np.int64), smallest)

    @property
    def classes(self) -> tuple[Label, ...]:
        """What is decided, and what rows are."""
        return self.codebook.classes

    @cached_property
    def marginals(self) -> Marginals:
        """The weight by stratum and true class, the same for every decision."""
        return Marginals(np.asarray(self.counts.sum(axis=2)), self.smallest)

    def __add__(self, other: Confusion) -> Confusion:
        if not isinstance(other, Confusion):
            return NotImplemented
        if self.classes != other.classes:
            raise InputError(f"classes differ: {self.classes} and {other.classes}")
        book = self.codebook
        if book.strata != other.codebook.strata:  # strata name the columns of both
            book = Codebook.of(self.classes, book.strata) | Codebook.of(
                self.classes, other.codebook.strata
            )
        place = {c: i for i, c in enumerate(book.strata)}
        tables, n = 1 + len(book.measures), book.n_classes
        shape = (len(book.strata), n + 1)
        counts, rows = np.zeros((*shape, n)), np.zeros(shape, np.int64)
        smallest = np.full(shape, np.inf)
        products = np.zeros((tables, tables, book.n_plain, n + 1, n))
        units = []
        for part in (self, other):
            own = part.codebook
            strata = [place[c] for c in own.strata]
            counts[strata] += part.counts
            rows[strata] += part.rows
            smallest[strata] = np.minimum(smallest[strata], part.smallest)
            held = [0, *(1 + book.measures.index(m) for m in own.measures)]
            plain = strata[: own.n_plain]
            products[np.ix_(held, held, plain)] += part.products
            if part.units is not None:
                entry = np.arange(book.n_plain * (n + 1) * n).reshape(-1, (n + 1) * n)[plain]
                units.append(part.units.placed(entry.ravel(), held, tables))
        both = units[0] + units[1] if len(units) == 2 else None
        return Confusion(book, counts, products, rows, smallest, both)


# --- Counting kernels: accepted weights of a threshold --------------------------------------------


# An addition waits for the last one to the same bin. With few bins that is all the
# time there is, so row i adds in lane i % 4 and the lanes are summed at the end.
_LANES = 4


def count_threshold(
    scores: Floats, threshold: float, kind: Integers, n_kinds: int, weight: Floats | None = None
) -> Floats:
    """Weight of each kind among the rows with ``score >= threshold``.

    Examples
    --------
    >>> count_threshold(np.array([0.1, 0.5, 0.9]), 0.5, np.array([1, 1, 0], dtype=np.uint8), 2)
    array([1., 1.])
    """
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if weight is None and n_kinds <= 2:
        accepted = scores >= threshold
        return np.array([np.count_nonzero(accepted & (kind == k)) for k in range(n_kinds)], float)
    return _count_kinds(scores, threshold, kind, n_kinds, weight)


def count_decisions(
    stratum: Integers | None,
    true: Integers,
    decided: NDArray[Any],
    shape: tuple[int, int, int],
    weight: Floats | None = None,
) -> Floats:
    """The weight (strata, true classes, classes) of decisions (N,), or of distributions (N, n).

    Examples
    --------
    >>> true, weight = np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0])
    >>> count_decisions(None, true, np.array([0, 1, 0]), (1, 2, 2), weight)[0]
    array([[1., 0.],
           [3., 2.]])
    >>> count_decisions(None, true[:1], np.array([[0.25, 0.75]]), (1, 2, 2))[0]
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    out = np.zeros(shape)
    if decided.ndim == 1:
        within = _count_pairs(stratum, true, decided, weight, out)
    else:
        p = np.ascontiguousarray(decided, np.float64)
        within = _count_distribution(stratum, true, p, weight, out)
    if not within:
        raise IndexError(f"a stratum, true or decided class is not within {shape}")
    return out


@kernel()
def _count_kinds(
    scores: Floats, threshold: float, kind: Integers, n_kinds: int, weight: Floats | None
) -> Floats:
    # Rejected rows are added too, in a bin of their own: no branch to mispredict.
    bins = np.zeros((_LANES, 2 * n_kinds))
    for i in range(scores.size):
        at = 2 * np.int64(kind[i]) + (scores[i] >= threshold)
        bins[i % _LANES, at] += 1.0 if weight is None else weight[i]
    accepted: Floats = bins.sum(axis=0)[1::2].copy()
    return accepted


@kernel(plain=True)
def _count_pairs(
    stratum: Integers | None, true: Integers, pred: Integers, weight: Floats | None, out: Floats
) -> bool:
    n_strata, n_true, n_pred = out.shape
    for i in range(true.size):
        c = 0 if stratum is None else stratum[i]
        t, j = true[i], pred[i]
        if not (0 <= c < n_strata and 0 <= t < n_true and 0 <= j < n_pred):
            return False
        out[c, t, j] += 1.0 if weight is None else weight[i]
    return True


@kernel(plain=True)
def _count_distribution(
    stratum: Integers | None, true: Integers, p: Floats, weight: Floats | None, out: Floats
) -> bool:
    """Columns of `out` beyond those of `p` stay as they are."""
    n_strata, n_true = out.shape[:2]
    n_rows, n = p.shape
    for i in range(n_rows):
        c = 0 if stratum is None else stratum[i]
        t = true[i]
        if not (0 <= c < n_strata and 0 <= t < n_true):
            return False
        line, row = out[c, t], p[i]
        w = 1.0 if weight is None else weight[i]
        for j in range(n):
            line[j] += w * row[j]
    return True


# --- Counts: what grouping rows by some columns and a bin of their score --------------------------


MISSING, NO_NUMBER, INFINITE, BAD_WEIGHT = -1, -2, -3, -4
"""Numbers of the bins of rows that do not count: their score is NULL, NaN or infinite, or their
weight is NULL, negative or not finite."""


@dataclass(frozen=True, eq=False)
class BinCounts:
    """Lines of a count; a line is one combination of values and a bin."""

    levels: tuple[list[Any], ...]
    codes: Codes
    bin: Codes
    rows: Codes
    weight: Codes
    squares: Codes
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    rounded: Bools

    @property
    def n_lines(self) -> int:
        """Number of lines."""
        return len(self.rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.sum())

    def take(self, lines: NDArray[Any]) -> BinCounts:
        """Some of the lines, by index or mask."""
        per_line = (getattr(self, name)[lines] for name in _PER_LINE)
        return BinCounts(self.levels, self.codes[:, lines], *per_line)

    def column(self, k: int) -> NDArray[Any]:
        """The values (lines,) of a column that was grouped by."""
        values = np.empty(len(self.levels[k]), object)
        values[:] = self.levels[k]
        return np.asarray(values[self.codes[k]])

    @classmethod
    def merge(cls, parts: Sequence[BinCounts]) -> BinCounts:
        """The counts of the rows of several parts."""
        if len(parts) == 1:
            return parts[0]
        parts = cls.aligned(parts)
        joined = (np.concatenate([getattr(p, name) for p in parts]) for name in _PER_LINE)
        codes = np.concatenate([p.codes for p in parts], axis=1)
        return cls(parts[0].levels, codes, *joined).grouped()

    @classmethod
    def aligned(cls, parts: Sequence[BinCounts]) -> list[BinCounts]:
        """The parts by levels that are the same in all."""
        places: list[dict[Any, int]] = []
        for k in range(len(parts[0].levels)):
            values = {(type(v), v): None for part in parts for v in part.levels[k]}
            places.append({v: i for i, v in enumerate(values)})
        levels = tuple([v for _, v in place] for place in places)
        out = []
        for part in parts:
            codes = part.codes.copy()
            for k, place in enumerate(places):
                at = np.array([place[type(v), v] for v in part.levels[k]], np.int64)
                codes[k] = at[codes[k]]
            out.append(replace(part, levels=levels, codes=codes))
        return out

    def grouped(self) -> BinCounts:
        """Lines of the same values and bin as one."""
        if not self.n_lines:
            return self
        first, last = int(self.bin.min()), int(self.bin.max())
        bins = (
            self.bin - first
            if last - first < _MOST
            else np.unique(self.bin, return_inverse=True)[1]
        )
        codes = [(bins, int(bins.max()) + 1), *zip(self.codes, map(len, self.levels), strict=True)]
        one, at = combinations(codes, self.n_lines)
        found = {name: getattr(self, name)[one] for name in _PER_LINE}
        for name, join in _JOINED.items():
            if join is np.add:
                found[name][:] = 0
            join.at(found[name], at, getattr(self, name))
        found["rounded"][at[self.rounded]] = True
        return BinCounts(self.levels, self.codes[:, one], **found)


_MOST = 2.0**62
_JOINED: dict[str, np.ufunc] = dict.fromkeys(("rows", "weight", "squares"), np.add)
_JOINED |= {"low": np.minimum, "high": np.maximum, "least": np.minimum, "most": np.maximum}
_PER_LINE = ("bin", *_JOINED, "rounded")
