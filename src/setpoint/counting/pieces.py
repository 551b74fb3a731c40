"""Counting one piece of a table: a pure function of its rows.

So a piece may be counted on any machine, and again after a failure, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from setpoint.array_types import Bools, Codes, Floats
from setpoint.counting.kernel import Kinds, bins_of, count, inside, is_good, order_of, reached
from setpoint.counting.reading import family, levels_of, numbers_of
from setpoint.counting.source import GroupBy, Part, Rest
from setpoint.evidence.binning import Binning
from setpoint.evidence.counts import BAD_WEIGHT, MISSING, Counts

__all__ = [
    "Ask",
    "count_piece",
    "recount_piece",
    "sample_piece",
    "settled",
]


class Ask(NamedTuple):
    """What is asked of each piece: a function of it."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def of(self, piece: Any) -> Any:
        """The answer."""
        return self.function(piece, *self.arguments)


def count_piece(
    frame: Any, by: GroupBy, binning: Binning | None = None, parts: Sequence[Part] = ()
) -> Counts:
    """Count the rows of a piece."""
    rows = _Rows.of(frame, by)
    if parts:
        rows = rows.take(_inside(rows, parts, by.score is not None))
    if by.score is None:
        bins = np.zeros(rows.n, np.int64)
    else:
        bins = order_of(rows.score) if binning is None else bins_of(binning, rows.score)
    return rows.counted(bins, by)


def recount_piece(frame: Any, by: GroupBy, steps: Sequence[tuple[Part, Floats]]) -> Counts:
    """Count the rows of a piece by how many thresholds of their part they reach."""
    rows = _Rows.of(frame, by)
    group = np.full(rows.kinds.codes.shape[1], -1)
    for i, (part, _) in reversed(list(enumerate(steps))):
        group[_kinds_of(rows, part)] = i
    thresholds = [np.asarray(t, np.float64) for _, t in steps]
    bins = reached(rows.score, group[rows.kinds.of_row], thresholds)
    return rows.counted(bins, by)


def sample_piece(frame: Any, score: str, label: str | None, n: int) -> list[tuple[Any, Floats]]:
    """Up to `n` finite scores of each label of a piece, spread over it; no label is left out."""
    scores, _ = numbers_of(frame[score], score)
    missing = numbers_of(frame[score], score)[1]
    good = np.isfinite(scores) if missing is None else np.isfinite(scores) & ~missing
    if label is None:
        return [(None, _spread(scores[good], n))]
    levels, codes = levels_of(frame[label])
    found = [(v, scores[good & (codes == k)]) for k, v in enumerate(levels)]
    return [(v, _spread(of_label, n)) for v, of_label in found if v is not None and len(of_label)]


def settled(counts: Counts, numbered: bool = False) -> Counts:
    """The counts in an order that depends on them alone."""
    bins = counts.bin.copy()
    if numbered:
        good = is_good(bins)
        bins[good] = np.unique(bins[good], return_inverse=True)[1].ravel()
    levels, codes = [], np.empty_like(counts.codes)
    for k, values in enumerate(counts.levels):
        order = sorted(range(len(values)), key=lambda i: _sort_key(values[i]))
        place = np.empty(len(values), np.int64)
        place[order] = np.arange(len(values))
        levels.append([values[i] for i in order])
        codes[k] = place[counts.codes[k]]
    lines = Counts(
        tuple(levels), codes, bins, counts.rows, counts.weight, counts.squares,
        counts.low, counts.high, counts.least, counts.most, counts.rounded,
    )  # fmt: skip
    return lines.take(np.lexsort((*codes[::-1], bins)))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a piece; those of weight 0 are left out."""

    levels: tuple[list[Any], ...]
    kinds: Kinds
    score: Floats
    no_score: Bools | None
    weight: Floats | None
    bad_weight: Bools | None

    @property
    def n(self) -> int:
        return len(self.score)

    @classmethod
    def of(cls, frame: Any, by: GroupBy) -> _Rows:
        n = len(frame)
        columns = [levels_of(frame[key.name], key.only) for key in by.keys]
        kinds = Kinds.of([c for _, c in columns], [len(v) for v, _ in columns], n)
        score, no_score = np.zeros(n), None
        if by.score is not None:
            score, no_score = numbers_of(frame[by.score], by.score)
        rows = cls(tuple(v for v, _ in columns), kinds, score, no_score, None, None)
        if by.weight is None:
            return rows
        weight, no_weight = numbers_of(frame[by.weight], by.weight)
        bad = ~((weight >= 0.0) & (weight < np.inf))
        if no_weight is not None:
            bad |= no_weight
        rows = cls(rows.levels, kinds, score, no_score, weight, bad)
        return rows.take(bad | (weight != 0.0))

    def take(self, keep: Bools) -> _Rows:
        if keep.all():
            return self
        kinds = Kinds(self.kinds.of_row[keep], self.kinds.codes)
        others = (self.score, self.no_score, self.weight, self.bad_weight)
        score, *rest = (None if x is None else x[keep] for x in others)
        return _Rows(self.levels, kinds, score, *rest)  # type: ignore[arg-type]

    def values(self, kind: int, keys: Sequence[int]) -> tuple[Any, ...]:
        """The values of some keys that a kind has, to compare with others."""
        return tuple(_tagged(self.levels[k][self.kinds.codes[k, kind]]) for k in keys)

    def counted(self, bins: Codes, by: GroupBy) -> Counts:
        if self.no_score is not None:
            bins[self.no_score] = MISSING
        if self.bad_weight is not None:
            bins[self.bad_weight & is_good(bins)] = BAD_WEIGHT
        return count(self.levels, self.kinds, bins, self.score, self.weight, 2.0**by.q)


def _tagged(value: Any) -> tuple[str, Any]:
    # 1 and True are equal, and are not the same group.
    return family(value), value


def _kinds_of(rows: _Rows, part: Part) -> Bools:
    """Which kinds are of a part."""
    n_kinds = rows.kinds.codes.shape[1]
    if not part.keys:
        return np.ones(n_kinds, bool)
    wanted = {tuple(_tagged(v) for v in values) for values in part.values}
    return np.array([rows.values(k, part.keys) in wanted for k in range(n_kinds)], bool)


def _inside(rows: _Rows, parts: Sequence[Part], by_score: bool) -> Bools:
    """Which rows (N,) are of a part."""
    of_kind = np.array([_kinds_of(rows, part) for part in parts])
    if not by_score:
        return np.asarray(of_kind.any(axis=0))[rows.kinds.of_row]
    # Kinds of the same parts are of the same ranges.
    patterns, group = np.unique(of_kind, axis=1, return_inverse=True)
    ranges = [
        _union([r for part, has in zip(parts, pattern, strict=True) if has for r in part.ranges])
        for pattern in patterns.T
    ]
    keep = inside(rows.score, group.ravel()[rows.kinds.of_row], ranges)
    return keep if rows.no_score is None else keep & ~rows.no_score


def _union(ranges: Sequence[tuple[float, float]]) -> tuple[Floats, Floats]:
    """Ranges without overlaps, ascending."""
    low: list[float] = []
    high: list[float] = []
    for a, b in sorted(ranges):
        if high and a <= high[-1]:
            high[-1] = max(high[-1], b)
        else:
            low.append(a)
            high.append(b)
    return np.array(low, np.float64), np.array(high, np.float64)


def _spread(values: Floats, n: int) -> Floats:
    """At most `n` of the values, at equal steps."""
    if len(values) <= n:
        return values
    return values[np.linspace(0, len(values) - 1, n).astype(np.int64)]


def _sort_key(value: Any) -> tuple[int, str, Any, str]:
    if value is None:
        return 0, "", 0, ""
    if isinstance(value, Rest):
        return 2, "", 0, ""
    kind = family(value)
    # Numbers of several types compare; of other types nothing is known.
    known = kind in ("boolean", "number", "text")
    return 1, kind, value if known else repr(value), type(value).__name__
