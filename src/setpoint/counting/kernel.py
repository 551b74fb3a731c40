"""Counting rows by kind and bin: compiled, into a table of all kinds and bins, or by sorting.

The table gives what :meth:`Counts.of_rows` and :meth:`Counts.grouped` give, to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from setpoint.array_types import Bools, Codes, Floats
from setpoint.compiled import kernel
from setpoint.counting.source import MOST_LINES, TooManyLinesError
from setpoint.evidence.binning import Binning
from setpoint.evidence.columns import compress
from setpoint.evidence.counts import BAD_WEIGHT, INFINITE, NO_NUMBER, Counts

__all__ = [
    "Kinds",
    "bins_of",
    "checked",
    "count",
    "inside",
    "is_good",
    "merge",
    "order_of",
    "reached",
]

_MOST_CELLS = 4_000_000
"""A table has at most so many cells: some 250 MB with weights, 100 MB without."""

_FEW_CELLS = 1 << 16
"""A table of so few cells costs nothing, however few the rows."""

_LARGEST = 2.0**62
"""A weight beyond it, in units, counts as it; :attr:`Counts.most` shows that there was one."""

_MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF


class Kinds(NamedTuple):
    """Combinations of the codes of some columns.

    Parameters
    ----------
    of_row : int array of shape (N,)
        The kind of each row.
    codes : int array of shape (columns, kinds)
        What it consists of; kinds are in the order of these.

    Examples
    --------
    >>> Kinds.of([np.array([1, 0, 1]), np.array([0, 2, 0])], [2, 3], 3)
    Kinds(of_row=array([3, 2, 3]), codes=array([[0, 0, 0, 1, 1, 1],
           [0, 1, 2, 0, 1, 2]]))
    """

    of_row: Codes
    codes: Codes

    @classmethod
    def of(cls, columns: Sequence[Codes], sizes: Sequence[int], n: int) -> Kinds:
        """The kinds of `n` rows, from their codes by column and the number of levels of each."""
        of_row, codes = np.zeros(n, np.int64), np.zeros((0, 1), np.int64)
        for column, size in zip(columns, sizes, strict=True):
            n_kinds = codes.shape[1] * size
            if codes.shape[1] == 1:
                of_row = column
            else:
                of_row = of_row * size + column
            present = np.arange(n_kinds) if n_kinds <= 64 else None
            if present is None:  # many combinations, of which few may occur
                present, of_row = compress(of_row, n_kinds)
            codes = np.vstack([codes[:, present // max(size, 1)], present % max(size, 1)])
        return cls(of_row, codes)


def bins_of(binning: Binning, scores: Floats) -> Codes:
    """The bins of scores (N,), as :meth:`Binning.of` has them; NaN and infinity below 0.

    Examples
    --------
    >>> binning = Binning(np.array([0.0, 0.5, 1.0]), np.array([2, 1]))
    >>> bins_of(binning, np.array([0.3, 7.0, np.nan, np.inf]))
    array([ 1,  3, -2, -3])
    """
    edges = np.asarray(binning.edges, np.float64)
    pieces = len(edges) - 1
    # As many as a power of two, so that the search needs no comparison of places.
    starts = np.full(1 << (pieces - 1).bit_length(), np.inf)
    starts[:pieces] = edges[:-1]
    out = np.empty(len(scores), np.int64)
    _bins(np.ascontiguousarray(scores), starts, edges[-1], binning.first, binning.scale, out)
    return out


def order_of(scores: Floats) -> Codes:
    """Whole numbers in the order of scores (N,), one for each distinct one, clear of -8 to -1.

    NaN and infinity are given the bins that they have.

    Examples
    --------
    >>> order_of(np.array([-5e-324, -0.0, 0.0, 5e-324, np.nan]))
    array([-9,  0,  0,  1, -2])
    """
    bits = (scores + 0.0).view(np.int64)
    order = np.where(bits < 0, -(bits & _MAGNITUDE) - 8, bits)
    order[np.isinf(scores)] = INFINITE
    order[np.isnan(scores)] = NO_NUMBER
    return np.asarray(order, np.int64)


def reached(scores: Floats, group: Codes, thresholds: Sequence[Floats]) -> Codes:
    """How many thresholds of its group each score (N,) reaches; NaN and infinity below 0.

    Parameters
    ----------
    scores : array of shape (N,)
    group : int array of shape (N,)
        Place among `thresholds`; below 0: of none, and the answer is 0.
    thresholds : sequence of arrays, each ascending
    """
    starts = np.append(0, np.cumsum([len(t) for t in thresholds])).astype(np.int64)
    together = np.concatenate([np.zeros(0), *thresholds]).astype(np.float64)
    out = np.empty(len(scores), np.int64)
    _reached(np.ascontiguousarray(scores), np.ascontiguousarray(group), together, starts, out)
    return out


def inside(scores: Floats, group: Codes, ranges: Sequence[tuple[Floats, Floats]]) -> Bools:
    """Whether each score (N,) lies in a range of its group; NaN and infinity lie in none.

    Parameters
    ----------
    scores : array of shape (N,)
    group : int array of shape (N,)
        Place among `ranges`.
    ranges : sequence of (lowest, highest)
        Arrays, ascending and without overlaps; both ends belong.
    """
    starts = np.append(0, np.cumsum([len(low) for low, _ in ranges])).astype(np.int64)
    low = np.concatenate([np.zeros(0), *(low for low, _ in ranges)])
    high = np.concatenate([np.zeros(0), *(high for _, high in ranges)])
    out = np.empty(len(scores), bool)
    _inside(np.ascontiguousarray(scores), np.ascontiguousarray(group), low, high, starts, out)
    return out


def is_good(bins: Codes) -> Bools:
    """Whether bins (N,) are of rows that count: see :data:`~setpoint.evidence.counts.MISSING`."""
    return np.asarray((bins >= 0) | (bins < BAD_WEIGHT))


def checked(counts: Counts) -> Counts:
    """The counts.

    Raises
    ------
    TooManyLinesError
        If they have more lines than a client should hold.
    """
    if counts.n_lines > MOST_LINES:
        raise TooManyLinesError(
            f"grouping gives more than {MOST_LINES:,} lines: group by columns of fewer values, "
            "or count scores by fewer bins"
        )
    return counts


def count(
    levels: tuple[list[object], ...],
    kinds: Kinds,
    bins: Codes,
    scores: Floats,
    weight: Floats | None = None,
    scale: float = 1.0,
) -> Counts:
    """Count rows; in bins that do not count their score is 0, and their weight, if there are any.

    Parameters
    ----------
    levels : tuple of lists
        What `kinds.codes` are places of.
    kinds : Kinds
    bins : int array of shape (N,)
    scores : array of shape (N,)
    weight : array of shape (N,), optional
        Above 0 and finite where the bin counts.
    scale : float
        ``2**q``.
    """
    n, n_kinds = len(bins), kinds.codes.shape[1]
    first, n_bins = _range_of(bins)
    if not _in_table(n, n_bins * n_kinds):
        return checked(_sorted(levels, kinds, bins, scores, weight, scale))
    floats, sums = _tables(n_bins * n_kinds, weight is not None)
    kind = np.ascontiguousarray(kinds.of_row)
    scores = np.ascontiguousarray(scores)
    if weight is None:
        _add(bins, first, kind, n_kinds, scores, floats)
    else:
        weight = np.ascontiguousarray(weight)
        _add_weighted(bins, first, kind, n_kinds, scores, weight, scale, floats, sums)
    return checked(_lines_of(levels, kinds.codes, first, floats, sums))


def merge(parts: Sequence[Counts]) -> Counts:
    """:meth:`Counts.merge` of a few parts, by a table where that is quicker."""
    if len(parts) == 1:
        return checked(parts[0])
    parts = Counts.aligned(parts)
    levels = parts[0].levels
    sizes = [len(values) for values in levels]
    n_kinds = prod(sizes)
    ranges = [_range_of(part.bin) for part in parts if part.n_lines]
    first = min((low for low, _ in ranges), default=0)
    n_bins = max((low + n for low, n in ranges), default=0) - first
    if not _in_table(sum(part.n_lines for part in parts), n_bins * n_kinds):
        return checked(Counts.merge(parts))
    floats, sums = _tables(n_bins * n_kinds, True)
    for part in parts:
        kind = np.zeros(part.n_lines, np.int64)
        for size, codes in zip(sizes, part.codes, strict=True):
            kind = kind * size + codes
        _add_lines(
            part.bin, first, kind, n_kinds, part.rows, part.weight, part.squares, part.rounded,
            part.low, part.high, part.least, part.most, floats, sums,
        )  # fmt: skip
    codes = np.indices(sizes).reshape(len(sizes), n_kinds)
    return checked(_lines_of(levels, codes, first, floats, sums))


def _range_of(bins: Codes) -> tuple[int, int]:
    """The lowest bin, and how many there are up to the highest."""
    if not len(bins):
        return 0, 0
    low, high = int(bins.min()), int(bins.max())
    return low, high - low + 1


def _in_table(n: int, n_cells: int) -> bool:
    return n_cells <= _MOST_CELLS and n_cells <= max(16 * n, _FEW_CELLS)


def _tables(n_cells: int, weighted: bool) -> tuple[Floats, Codes]:
    # What belongs to a cell lies together: one place in memory to wait for.
    floats = np.zeros((n_cells, 5 if weighted else 3))
    floats[:, 1::2], floats[:, 2::2] = np.inf, -np.inf
    return floats, np.zeros((n_cells, 3) if weighted else (0, 3), np.int64)


def _lines_of(
    levels: tuple[list[object], ...], codes: Codes, first: int, floats: Floats, sums: Codes
) -> Counts:
    cells = np.flatnonzero(floats[:, 0])
    bins, kind = np.divmod(cells, codes.shape[1])
    bins += first
    found = floats[cells]
    rows = found[:, 0].astype(np.int64)
    if len(sums):
        weight, squares, rounded = sums[cells].T.copy()
        least, most = found[:, 3:].T.copy()
    else:
        weight = squares = rows
        least = most = np.ones(len(rows))
        rounded = np.zeros(len(rows), np.int64)
    low, high = found[:, 1:3].T.copy()
    return Counts(
        levels, codes[:, kind], bins, rows, weight, squares, low, high, least, most, rounded > 0
    )


def _sorted(
    levels: tuple[list[object], ...],
    kinds: Kinds,
    bins: Codes,
    scores: Floats,
    weight: Floats | None,
    scale: float,
) -> Counts:
    good = is_good(bins)
    columns = list(zip(levels, kinds.codes[:, kinds.of_row], strict=True))
    w = None if weight is None else np.where(good, weight, 0.0)
    with np.errstate(over="ignore"):
        return Counts.of_rows(columns, bins, np.where(good, scores, 0.0), w, scale)


@kernel(error_model="numpy")
def _bins(
    scores: Floats, starts: Floats, last: float, first: Codes, scale: Floats, out: Codes
) -> None:
    lowest = starts[0]
    half = starts.size // 2
    for i in range(scores.size):
        s = scores[i]
        # These comparisons are false for NaN, too.
        if not (-np.inf < s < np.inf):
            out[i] = NO_NUMBER if s != s else INFINITE
            continue
        x = min(max(s, lowest), last)
        j = 0
        step = half
        while step > 0:
            j += step * (starts[j + step] <= x)
            step //= 2
        out[i] = first[j] + np.int64(np.floor((x - starts[j]) * scale[j]))


@kernel(error_model="numpy")
def _place(s: float, values: Floats, low: int, high: int) -> int:
    """Where the values above a score begin, between two places."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] <= s:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(error_model="numpy")
def _reached(scores: Floats, group: Codes, thresholds: Floats, starts: Codes, out: Codes) -> None:
    for i in range(scores.size):
        s = scores[i]
        if not (-np.inf < s < np.inf):
            out[i] = NO_NUMBER if s != s else INFINITE
            continue
        if group[i] < 0:
            out[i] = 0
            continue
        begin = starts[group[i]]
        out[i] = _place(s, thresholds, begin, starts[group[i] + 1]) - begin


@kernel(error_model="numpy")
def _inside(
    scores: Floats, group: Codes, low: Floats, high: Floats, starts: Codes, out: Bools
) -> None:
    for i in range(scores.size):
        s = scores[i]
        begin = starts[group[i]]
        place = _place(s, low, begin, starts[group[i] + 1])
        out[i] = -np.inf < s < np.inf and place > begin and s <= high[place - 1]


@kernel(error_model="numpy")
def _add(
    bins: Codes, first: int, kind: Codes, n_kinds: int, scores: Floats, floats: Floats
) -> None:
    for i in range(bins.size):
        cell = (bins[i] - first) * n_kinds + kind[i]
        bad = BAD_WEIGHT <= bins[i] < 0
        s = 0.0 if bad else scores[i] + 0.0  # a zero of either sign is one score
        floats[cell, 0] += 1.0
        if s < floats[cell, 1]:
            floats[cell, 1] = s
        if s > floats[cell, 2]:
            floats[cell, 2] = s


@kernel(error_model="numpy")
def _add_weighted(
    bins: Codes,
    first: int,
    kind: Codes,
    n_kinds: int,
    scores: Floats,
    weight: Floats,
    scale: float,
    floats: Floats,
    sums: Codes,
) -> None:
    for i in range(bins.size):
        cell = (bins[i] - first) * n_kinds + kind[i]
        bad = BAD_WEIGHT <= bins[i] < 0
        s = 0.0 if bad else scores[i] + 0.0
        w = 0.0 if bad else weight[i]
        floats[cell, 0] += 1.0
        if s < floats[cell, 1]:
            floats[cell, 1] = s
        if s > floats[cell, 2]:
            floats[cell, 2] = s
        if w < floats[cell, 3]:
            floats[cell, 3] = w
        if w > floats[cell, 4]:
            floats[cell, 4] = w
        sums[cell, 0] += np.int64(min(np.floor(w * scale + 0.5), _LARGEST))
        sums[cell, 1] += np.int64(min(np.floor(w * w * scale + 0.5), _LARGEST))
        sums[cell, 2] += np.floor(w * scale) != w * scale


@kernel(error_model="numpy")
def _add_lines(
    bins: Codes,
    first: int,
    kind: Codes,
    n_kinds: int,
    rows: Codes,
    weight: Codes,
    squares: Codes,
    rounded: Bools,
    low: Floats,
    high: Floats,
    least: Floats,
    most: Floats,
    floats: Floats,
    sums: Codes,
) -> None:
    for i in range(bins.size):
        cell = (bins[i] - first) * n_kinds + kind[i]
        floats[cell, 0] += rows[i]
        floats[cell, 1] = min(floats[cell, 1], low[i])
        floats[cell, 2] = max(floats[cell, 2], high[i])
        floats[cell, 3] = min(floats[cell, 3], least[i])
        floats[cell, 4] = max(floats[cell, 4], most[i])
        sums[cell, 0] += weight[i]
        sums[cell, 1] += squares[i]
        sums[cell, 2] += rounded[i]
