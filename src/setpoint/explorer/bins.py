"""Bins of a curve: which cut-offs a page holds, and what is counted between them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.evidence.curve import Curve
from setpoint.explorer.arrays import packed
from setpoint.explorer.scored import ScoredRows
from setpoint.program.accepted_rates import Kind

__all__ = ["Bins", "chosen_cuts", "short_thresholds"]

_STEEP = 1.5
"""Bins hold more scores the lower these are: where few are accepted each one counts."""


def chosen_cuts(m: int, most: int, always: Iterable[int] = ()) -> Codes:
    """The cut-offs of m distinct scores that a page holds, ascending, both ends among them.

    Examples
    --------
    >>> chosen_cuts(4, 8).tolist()
    [0, 1, 2, 3, 4]
    >>> chosen_cuts(1000, 8, [500]).tolist()
    [0, 1, 69, 193, 354, 500, 545, 761, 1000]
    """
    if m <= most:
        return np.arange(m + 1)
    first = most // 8
    way = np.linspace(0.0, 1.0, most - first)
    rest = first + np.rint((m - first) * way**_STEEP).astype(np.int64)
    kept = np.concatenate([np.arange(first + 1), rest, np.fromiter(always, np.int64)])
    return np.unique(np.clip(kept, 0, m))


def short_thresholds(curve: Curve, cuts: Codes) -> Floats:
    """A threshold for each cut-off, with as few digits as tell its two neighbours apart.

    Examples
    --------
    >>> values = np.array([0.91237, 0.5123, 0.5122])
    >>> short_thresholds(Curve(values, np.zeros((1, 4)), ((0, 1),)), np.arange(4)).tolist()
    [inf, 0.7, 0.51225, -inf]
    """
    out = curve.thresholds(cuts)
    inside = np.flatnonzero((cuts > 0) & (cuts < len(curve.values)))
    upper = curve.values[cuts[inside] - 1]
    lower = curve.values[cuts[inside]]
    middle = out[inside]
    with np.errstate(all="ignore"):
        size = np.where(middle == 0.0, 0.0, np.floor(np.log10(np.abs(middle))))
    left = np.ones(len(inside), bool)
    for digits in range(1, 17):
        place = (digits - 1 - size).astype(np.int64)
        fine = left & (place >= -22) & (place <= 22)
        with np.errstate(all="ignore"):
            up = 10.0 ** np.abs(place).astype(float)
            rounded = np.where(place >= 0, np.rint(middle * up) / up, np.rint(middle / up) * up)
        good = fine & (lower < rounded) & (rounded <= upper)
        out[inside[good]] = rounded[good]
        left &= ~good
        if not left.any():
            break
    return out


class Bins:
    """A curve at some of its cut-offs."""

    def __init__(self, curve: Curve, cuts: Codes, kinds: tuple[Kind, ...]) -> None:
        self.cuts, self.kinds = cuts, kinds
        self.thresholds = short_thresholds(curve, cuts)
        place = {kind: i for i, kind in enumerate(curve.kinds)}
        self.counts: Floats = np.zeros((len(kinds), len(cuts)))
        for k, kind in enumerate(kinds):
            if kind in place:
                self.counts[k] = curve.counts[place[kind], cuts]

    @property
    def m(self) -> int:
        """Number of bins."""
        return len(self.cuts) - 1

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Which bins (m,) join several distinct scores."""
        return np.asarray(np.diff(self.cuts) > 1)

    def place(self, cut: int) -> int:
        """Where a cut-off of the curve stands among those held; it is one of them."""
        return int(np.searchsorted(self.cuts, cut))

    def of(self, scores: Floats) -> Codes:
        """The bin of each score: the first one whose cut-off accepts it."""
        return np.searchsorted(-self.thresholds[1:], -scores, side="left").astype(np.int64)

    def counted(self, rows: ScoredRows) -> Floats:
        """The weight (K, m) of each kind in each bin, of these or other rows."""
        own = rows.evidence.rows
        bin_of = self.of(rows.evidence.scores)
        n, plain = own.codebook.n_classes + 1, own.codebook.n_plain
        out = np.zeros((len(self.kinds), self.m))
        tables = (rows.weight, *own.by_measure)
        kind_of = own.kind.astype(np.int64)
        for copy, weight in enumerate(tables):
            code = np.full(plain * n, -1)
            for k, (c, t) in enumerate(self.kinds):
                if c // plain == copy:
                    code[(c % plain) * n + t] = k
            held = code[kind_of]
            inside = held >= 0
            sums = np.bincount(
                held[inside] * self.m + bin_of[inside],
                weight[inside],
                len(self.kinds) * self.m,
            )
            out += sums.reshape(out.shape)
        return out

    def columns(self, rows: ScoredRows) -> list[Floats]:
        """For each column of groups the weight (values * 3, m) by value, true class and bin."""
        bin_of = self.of(rows.evidence.scores)
        true = rows.evidence.rows.true.astype(np.int64)
        out: list[Floats] = []
        for group in rows.groups:
            code = (group.codes * 3 + true) * self.m + bin_of
            size = 3 * len(group.values)
            sums: Floats = np.bincount(code, rows.weight, size * self.m).astype(np.float64)
            out.append(sums.reshape(size, self.m))
        return out

    def payload(self, columns: list[Floats]) -> dict[str, Any]:
        """What the page reads."""
        return {
            "thresholds": packed(self.thresholds),
            "open": packed(self.is_open) if self.is_open.any() else None,
            **self.tally(np.diff(self.counts, axis=1), columns),
        }

    def tally(self, counts: Floats, columns: list[Floats]) -> dict[str, Any]:
        """What is counted in the bins: of other rows nothing else is written."""
        return {
            "m": self.m,
            "counts": packed(counts),
            "columns": [packed(c) for c in columns],
        }
