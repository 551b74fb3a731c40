"""Rows in pieces: counted by NumPy, on dask by its workers, and merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from setpoint.array_types import Bools, Codes, Floats
from setpoint.counting.source import (
    MOST_LINES,
    GroupBy,
    Rest,
    RowFilter,
    Source,
    TooManyLinesError,
    family,
    kind_of_pandas,
    levels_of,
    numbers_of,
)
from setpoint.errors import InputError, InputTypeError
from setpoint.evidence import BAD_WEIGHT, INFINITE, MISSING, NO_NUMBER, BinCounts, Binning, compress
from setpoint.packages import needed_by

# --- Counting the rows of a piece by kind and bin: NumPy on whole columns -------------------------


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
    """Whether bins (N,) are of rows that count."""
    return np.asarray((bins >= 0) | (bins < BAD_WEIGHT))


def checked(counts: BinCounts) -> BinCounts:
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
) -> BinCounts:
    """Count rows; in bins that do not count their score and weight are 0."""
    good = is_good(bins)
    columns = list(zip(levels, kinds.codes[:, kinds.of_row], strict=True))
    w = None if weight is None else np.where(good, weight, 0.0)
    with np.errstate(over="ignore"):
        return checked(BinCounts.of_rows(columns, bins, np.where(good, scores, 0.0), w, scale))


def merge(parts: Sequence[BinCounts]) -> BinCounts:
    """The counts of the rows of several parts."""
    return checked(BinCounts.merge(parts))


# --- Counting one piece of a table: a pure function of its rows -----------------------------------


class Ask(NamedTuple):
    """What is asked of each piece: a function of it."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def of(self, piece: Any) -> Any:
        """The answer."""
        return self.function(piece, *self.arguments)


def count_piece(
    frame: Any, by: GroupBy, binning: Binning | None = None, parts: Sequence[RowFilter] = ()
) -> BinCounts:
    """Count the rows of a piece."""
    rows = _PieceRows.of(frame, by)
    if parts:
        rows = rows.take(_inside(rows, parts, by.score is not None))
    if by.score is None:
        bins = np.zeros(rows.n, np.int64)
    else:
        bins = order_of(rows.score) if binning is None else bins_of(binning, rows.score)
    return rows.counted(bins, by)


def recount_piece(frame: Any, by: GroupBy, steps: Sequence[tuple[RowFilter, Floats]]) -> BinCounts:
    """Count the rows of a piece by how many thresholds of their part they reach."""
    rows = _PieceRows.of(frame, by)
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


def settled(counts: BinCounts, numbered: bool = False) -> BinCounts:
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
    lines = BinCounts(
        tuple(levels), codes, bins, counts.rows, counts.weight, counts.squares,
        counts.low, counts.high, counts.least, counts.most, counts.rounded,
    )  # fmt: skip
    return lines.take(np.lexsort((*codes[::-1], bins)))


@dataclass(frozen=True, eq=False)
class _PieceRows:
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
    def of(cls, frame: Any, by: GroupBy) -> _PieceRows:
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

    def take(self, keep: Bools) -> _PieceRows:
        if keep.all():
            return self
        kinds = Kinds(self.kinds.of_row[keep], self.kinds.codes)
        others = (self.score, self.no_score, self.weight, self.bad_weight)
        score, *rest = (None if x is None else x[keep] for x in others)
        return _PieceRows(self.levels, kinds, score, *rest)  # type: ignore[arg-type]

    def values(self, kind: int, keys: Sequence[int]) -> tuple[Any, ...]:
        """The values of some keys that a kind has, to compare with others."""
        return tuple(_tagged(self.levels[k][self.kinds.codes[k, kind]]) for k in keys)

    def counted(self, bins: Codes, by: GroupBy) -> BinCounts:
        if self.no_score is not None:
            bins[self.no_score] = MISSING
        if self.bad_weight is not None:
            bins[self.bad_weight & is_good(bins)] = BAD_WEIGHT
        return count(self.levels, self.kinds, bins, self.score, self.weight, 2.0**by.q)


def _tagged(value: Any) -> tuple[str, Any]:
    # 1 and True are equal, and are not the same group.
    return family(value), value


def _kinds_of(rows: _PieceRows, part: RowFilter) -> Bools:
    """Which kinds are of a part."""
    n_kinds = rows.kinds.codes.shape[1]
    if not part.keys:
        return np.ones(n_kinds, bool)
    wanted = {tuple(_tagged(v) for v in values) for values in part.values}
    return np.array([rows.values(k, part.keys) in wanted for k in range(n_kinds)], bool)


def _inside(rows: _PieceRows, parts: Sequence[RowFilter], by_score: bool) -> Bools:
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


# --- Rows in partitions of dask: each is counted by its worker ------------------------------------


_PIECES_OF_A_SAMPLE = 4
_FAN_IN = 8
"""So many counts are merged in one task: a worker holds few, and the tree is low."""


class Partitions(Source):
    """The partitions of a dask DataFrame: each is counted by a compiled kernel."""

    engine = "dask"

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._kinds = {str(name): kind_of_pandas(dtype) for name, dtype in frame.dtypes.items()}

    def columns(self) -> Mapping[str, str]:
        """The columns and their kinds."""
        return dict(self._kinds)

    def rows(self) -> None:
        """Not known without a pass."""
        return

    def sample(self, score: str, label: str | None, n: int) -> Floats:
        """About `n` finite scores of a few pieces, with as many of each label as can be."""
        pieces = self._pieces([score] if label is None else [score, label])
        asked = _dask().delayed(_answer, pure=False)
        ask = _dask().delayed(Ask(sample_piece, (score, label, n)), traverse=False)
        # From one end of the table to the other: it may be in an order.
        m = min(len(pieces), _PIECES_OF_A_SAMPLE)
        chosen = np.unique(np.linspace(0, len(pieces) - 1, m).astype(np.int64)).tolist()
        found: dict[Any, list[Floats]] = {}
        for i in chosen:
            for value, scores in _computed(asked(pieces[i], ask)):
                found.setdefault((type(value), value), []).append(scores)
            sizes = [sum(map(len, scores)) for scores in found.values()]
            enough = len(found) > (label is not None) and min(sizes) * len(found) >= n
            if enough:
                break
        return _balanced([np.concatenate(scores) for scores in found.values()], n)

    def count(
        self, by: GroupBy, binning: Binning | None = None, parts: Sequence[RowFilter] = ()
    ) -> BinCounts:
        """One pass: see :meth:`Source.count`."""
        counts = self._counted(count_piece, by, binning, tuple(parts))
        return settled(counts, numbered=binning is None and by.score is not None)

    def recount(self, by: GroupBy, steps: Sequence[tuple[RowFilter, Floats]]) -> BinCounts:
        """One pass: see :meth:`Source.recount`."""
        return settled(self._counted(recount_piece, by, tuple(steps)))

    def _counted(
        self, function: Callable[..., BinCounts], by: GroupBy, *arguments: Any
    ) -> BinCounts:
        asked = _dask().delayed(_answer, pure=False)
        ask = _dask().delayed(Ask(function, (by, *arguments)), traverse=False)
        counts = [asked(piece, ask) for piece in self._pieces(by.names)]
        merged = _dask().delayed(merge, pure=False)
        while len(counts) > 1:
            counts = [merged(counts[i : i + _FAN_IN]) for i in range(0, len(counts), _FAN_IN)]
        total: BinCounts = _computed(counts[0])
        return total

    def _pieces(self, names: Iterable[str]) -> Sequence[Any]:
        """The partitions, of some columns."""
        wanted = set(names)
        if unknown := [name for name in names if name not in self._kinds]:
            raise InputError(
                f"there is no column {', '.join(map(repr, unknown))}: the columns are "
                f"{', '.join(map(repr, self._kinds))}"
            )
        delayed: Sequence[Any] = self._frame[[n for n in self._kinds if n in wanted]].to_delayed()
        return delayed


def _answer(piece: Any, ask: Ask) -> Any:
    return ask.of(piece)


def _computed(delayed: Any) -> Any:
    # An interrupt goes through; the client then lets go of its futures, and tasks not begun
    # are dropped.
    return _dask().compute(delayed)[0]


def _dask() -> Any:
    return needed_by("Clusters", "scale", "dask")


def _balanced(of_labels: Sequence[Floats], n: int) -> Floats:
    """At most `n` scores, as many of each label as can be."""
    chosen = [np.zeros(0)]
    left = n
    for i, scores in enumerate(sorted(of_labels, key=len)):
        share = left // (len(of_labels) - i)
        places = np.linspace(0, len(scores) - 1, share).astype(np.int64)
        chosen.append(scores if len(scores) <= share else scores[places])
        left -= len(chosen[-1])
    return np.concatenate(chosen)


# --- From a frame to the source that counts it ----------------------------------------------------


def is_lazy(frame: Any) -> bool:
    """Whether something is a frame whose rows lie elsewhere: a relation, a lazy or a dask frame.

    Examples
    --------
    >>> is_lazy([0.2, 0.7])
    False
    """
    if isinstance(frame, (list, tuple, str, dict)) or hasattr(frame, "__array_interface__"):
        return False
    return isinstance(nw.from_native(frame, pass_through=True), nw.LazyFrame)


def source_of(frame: Any) -> Source:
    """The source of a lazy frame, or a source as it is."""
    if hasattr(frame, "recount"):
        source: Source = frame
        return source
    from setpoint.counting.frames import ENGINES, LazyFrames

    lazy = nw.from_native(frame, pass_through=True)
    if isinstance(lazy, nw.LazyFrame) and lazy.implementation.is_dask():
        return Partitions(nw.to_native(lazy))
    if not isinstance(lazy, nw.LazyFrame) or lazy.implementation not in ENGINES:
        raise InputTypeError(
            f"a lazy frame is wanted (a DuckDB relation, a Polars LazyFrame, a dask DataFrame), "
            f"found {type(frame).__name__}"
        )
    return LazyFrames(lazy.to_native())
