"""Counting the rows of a piece by kind and bin: NumPy on whole columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from setpoint.array_types import Bools, Codes, Floats
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

_MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF


class Kinds(NamedTuple):
    """Combinations of the codes of some columns.

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
    return _marked(binning.of(np.where(np.isfinite(scores), scores, 0.0)), scores)


def order_of(scores: Floats) -> Codes:
    """Whole numbers in the order of scores (N,), one for each distinct one, clear of -8 to -1.

    Examples
    --------
    >>> order_of(np.array([-5e-324, -0.0, 0.0, 5e-324, np.nan]))
    array([-9,  0,  0,  1, -2])
    """
    bits = (scores + 0.0).view(np.int64)
    order = np.where(bits < 0, -(bits & _MAGNITUDE) - 8, bits)
    return _marked(order, scores)


def reached(scores: Floats, group: Codes, thresholds: Sequence[Floats]) -> Codes:
    """How many thresholds of its group each score (N,) reaches; NaN and infinity below 0."""
    out = np.zeros(len(scores), np.int64)
    for own, edges in zip(_of_groups(group, len(thresholds)), thresholds, strict=True):
        out[own] = np.searchsorted(edges, scores[own], side="right")
    return _marked(out, scores)


def inside(scores: Floats, group: Codes, ranges: Sequence[tuple[Floats, Floats]]) -> Bools:
    """Whether each score (N,) lies in a range of its group; NaN and infinity lie in none."""
    out = np.zeros(len(scores), bool)
    for own, (low, high) in zip(_of_groups(group, len(ranges)), ranges, strict=True):
        place = np.searchsorted(low, scores[own], side="right")
        # Before the first range there is none.
        out[own] = scores[own] <= np.append(high, -np.inf)[place - 1]
    return np.asarray(out & np.isfinite(scores))


def _of_groups(group: Codes, n: int) -> Iterator[Codes]:
    """The places of the rows of each of `n` groups."""
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(n + 1))
    return (order[a:b] for a, b in pairwise(ends))


def _marked(bins: Codes, scores: Floats) -> Codes:
    """The bins, those of NaN and infinity below 0."""
    bins[np.isinf(scores)] = INFINITE
    bins[np.isnan(scores)] = NO_NUMBER
    return bins


def is_good(bins: Codes) -> Bools:
    """Whether bins (N,) are of rows that count: see :data:`~setpoint.evidence.counts.MISSING`."""
    return np.asarray((bins >= 0) | (bins < BAD_WEIGHT))


def checked(counts: Counts) -> Counts:
    """The counts."""
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
    """Count rows; in bins that do not count their score and weight are 0."""
    good = is_good(bins)
    columns = list(zip(levels, kinds.codes[:, kinds.of_row], strict=True))
    w = None if weight is None else np.where(good, weight, 0.0)
    with np.errstate(over="ignore"):
        return checked(Counts.of_rows(columns, bins, np.where(good, scores, 0.0), w, scale))


def merge(parts: Sequence[Counts]) -> Counts:
    """The counts of the rows of several parts."""
    return checked(Counts.merge(parts))
