"""Tallies of rows in memory: an engine without an engine, whose bins are few and coarse."""

from __future__ import annotations

import numpy as np

from setpoint.counts import BinCounts, Binning, Tally


def lines_of(evidence, bins, inside=slice(None), unit=1.0):
    """Every row a line, by the bins (N,)."""
    rows = evidence.rows
    n = rows.n_rows
    weight = np.ones(n) if rows.weight is None else rows.weight
    whole = np.rint(weight / unit).astype(np.int64)
    squares = np.rint(weight * weight / unit).astype(np.int64)
    scores = evidence.scores
    lines = BinCounts(
        (list(rows.codebook.strata), [*rows.codebook.classes, None]),
        np.array([rows.stratum, rows.true], np.int64), bins, np.ones(n, np.int64), whole, squares,
        scores, scores, weight, weight, np.zeros(n, bool),
    )  # fmt: skip
    return lines.take(inside)


def tally_of(evidence, n_bins, unit=1.0, sample=None):
    """The first pass."""
    binning = Binning.from_sample(evidence.scores if sample is None else sample, n_bins, 8)
    lines = lines_of(evidence, binning.of(evidence.scores), unit=unit)
    return Tally.of_lines(evidence.codebook, lines, unit, evidence.is_weighted)


def counted_again(evidence, *, n_bins=16, unit=1.0):
    """A further pass: by the score, or by finer bins."""

    def again(tally, ranges, by_score):
        inside = np.zeros(len(evidence.scores), bool)
        ends = []
        for s, own in ranges.items():
            bins = tally.bins[s]
            for first, last in own:
                low, high = bins.low[last], bins.high[first]
                ends.append((low, high))
                between = (evidence.scores >= low) & (evidence.scores <= high)
                inside |= between & (evidence.rows.segment == s)
        if by_score:
            number = np.unique(evidence.scores, return_inverse=True)[1].astype(np.int64)
        else:
            number = Binning.from_ranges(ends, n_bins).of(evidence.scores)
        return lines_of(evidence, number, inside, unit)

    return again
