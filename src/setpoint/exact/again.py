"""What the next pass counts: ranges of bins, by finer bins or by the score itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setpoint.evidence.tally import Tally

__all__ = ["COLLECTED", "Ranges", "asked_again", "ranges_of", "rows_in"]

MOST_RANGES = 16
"""Ranges of scores that one pass asks for, or one for each segment."""

Ranges = dict[int, list[tuple[int, int]]]
"""For each segment ranges of its bins, first and last."""

COLLECTED = 2_000_000
"""Up to so many rows are counted again by the score itself."""


def asked_again(
    tally: Tally, kept: list[NDArray[np.int64]], most: int, finer: bool
) -> tuple[Ranges, bool]:
    """What to count again, and whether by the score itself."""
    if rows_in(tally, kept) <= most:
        return ranges_of(tally, kept), True
    if finer:
        return ranges_of(tally, kept), False
    rows = [tally.bins[s].counts[0][:, at].sum(axis=0) for s, at in enumerate(kept)]
    sizes = np.concatenate(rows)
    order = np.argsort(sizes, kind="stable")
    chosen = np.zeros(len(sizes), bool)
    chosen[order[np.cumsum(sizes[order]) <= most]] = True
    by_score = bool(chosen.any())
    if not by_score:
        chosen[order[:MOST_RANGES]] = True
    ends = np.cumsum([0, *map(len, kept)])
    parts = [at[chosen[a:b]] for at, a, b in zip(kept, ends[:-1], ends[1:], strict=True)]
    if by_score:
        return ranges_of(tally, parts), True
    return {s: [(j, j) for j in at.tolist()] for s, at in enumerate(parts) if len(at)}, False


def ranges_of(tally: Tally, kept: list[NDArray[np.int64]]) -> Ranges:
    """Bins as ranges, no more than an engine is to be asked for at once."""
    out: Ranges = {}
    joints: list[tuple[int, int, int]] = []
    for s, at in enumerate(kept):
        if not len(at):
            continue
        breaks = np.flatnonzero(np.diff(at) > 1)
        first, last = at[np.append(0, breaks + 1)], at[np.append(breaks, len(at) - 1)]
        out[s] = list(zip(first.tolist(), last.tolist(), strict=True))
        rows = np.append(0, np.cumsum(tally.bins[s].counts[0].sum(axis=0)))
        between = rows[first[1:]] - rows[last[:-1] + 1]
        joints += [(int(n), s, k) for k, n in enumerate(between.tolist())]
    excess = sum(map(len, out.values())) - max(MOST_RANGES, len(out))
    joined = {(s, k) for _, s, k in sorted(joints)[: max(excess, 0)]}
    for s, ranges in out.items():
        merged = [ranges[0]]
        for k, (first, last) in enumerate(ranges[1:]):
            if (s, k) in joined:
                merged[-1] = (merged[-1][0], last)
            else:
                merged.append((first, last))
        out[s] = merged
    return out


def rows_in(tally: Tally, kept: list[NDArray[np.int64]]) -> int:
    """Rows in some bins of each segment."""
    return sum(int(bins.counts[0][:, at].sum()) for bins, at in zip(tally.bins, kept, strict=True))
