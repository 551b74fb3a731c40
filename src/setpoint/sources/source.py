"""A source of rows: its columns and its batches; and the counter of rows by groups and bins.

A source knows neither goal nor solver, a solver no engine. A pass is a question whose answer
does not depend on the order of rows, on batches or on retries.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import partial
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Bools, Codes, Floats
from setpoint.counts import BAD_WEIGHT, MISSING, BinCounts, Binning, compress
from setpoint.errors import InputError, InputTypeError, nearest
from setpoint.packages import needed_by

MOST_LINES = 3 * 2**21
"""A count of more lines is refused: the client would have to hold them."""

FAN_IN = 8
"""So many counts are merged at once: few are held."""


class Rest(Enum):
    """The value of a column for rows whose own is not among those that matter."""

    REST = "rest"


class Key(NamedTuple):
    """A column that rows are grouped by."""

    name: str
    only: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class GroupBy:
    """What a pass counts."""

    keys: tuple[Key, ...]
    score: str | None = None
    weight: str | None = None
    q: int = 20

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read."""
        others = [name for name in (self.score, self.weight) if name is not None]
        return tuple(dict.fromkeys([*(key.name for key in self.keys), *others]))


class RowFilter(NamedTuple):
    """Some of the rows: of some combinations of values, and with scores in some ranges."""

    keys: tuple[int, ...]
    values: tuple[tuple[Any, ...], ...]
    ranges: tuple[tuple[float, float], ...]


class TooManyLinesError(InputError):
    """Grouping gives more lines than can be taken."""


def too_large(name: str) -> ValueError:
    """The error about whole numbers that a float64 does not distinguish."""
    return InputError(
        f"the column {name!r} holds whole numbers beyond 2**53, which float64 cannot tell apart; "
        "use their ranks"
    )


# --- Sources: what every engine can do ------------------------------------------------------------


Batch: TypeAlias = Mapping[str, Any]
"""Columns of some rows: Arrow arrays, or NumPy's of Python objects."""


class Source(ABC):
    """Rows on an engine, counted batch by batch."""

    engine: str

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @abstractmethod
    def schema(self) -> Mapping[str, str]:
        """The columns and their kinds: "number", "boolean", "text" or "other"."""

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """All rows, some columns; at least one batch."""

    def rows(self) -> int | None:
        """Number of rows; None where that takes a pass to find out."""
        return None

    def sample(self, score: str, label: str | None, n: int) -> Floats:
        """About `n` finite scores of any part of the rows, with as many of each label as can be."""
        names = [score] if label is None else [score, label]
        self._check(names)
        found: dict[Any, list[Floats]] = {}
        for batch in self._some(names):
            for value, scores in sampled(batch, score, label, n):
                found.setdefault((type(value), value), []).append(scores)
            sizes = [sum(map(len, scores)) for scores in found.values()]
            if len(found) > (label is not None) and min(sizes) * len(found) >= n:
                break
        out, left = [np.zeros(0)], n
        of_labels = sorted((np.concatenate(scores) for scores in found.values()), key=len)
        for i, scores in enumerate(of_labels):
            out.append(_spread(scores, left // (len(of_labels) - i)))
            left -= len(out[-1])
        return np.concatenate(out)

    def count(
        self, by: GroupBy, binning: Binning | None = None, parts: Sequence[RowFilter] = ()
    ) -> BinCounts:
        """One pass: rows by their groups and the bin of their score, or by the score itself."""
        self._check(by.names)
        schema = self.schema()
        kinds = tuple(schema[key.name] for key in by.keys)
        function = partial(count_batch, by=by, kinds=kinds, binning=binning, parts=tuple(parts))
        counts = self._merged(function, by.names or tuple(schema)[:1])
        return settled(counts, by_score=binning is None and by.score is not None)

    def _some(self, names: Sequence[str]) -> Iterable[Batch]:
        """Batches to take a sample of, as long as it is too small."""
        return self.batches(names)

    def _merged(self, function: Callable[[Batch], BinCounts], names: Sequence[str]) -> BinCounts:
        """What a function counts in all batches."""
        counts: list[BinCounts] = []
        for batch in self.batches(names):
            counts.append(function(batch))
            if len(counts) == FAN_IN:
                counts = [merged(counts)]
        return merged(counts)

    def _check(self, names: Sequence[str]) -> None:
        schema = self.schema()
        for name in names:
            if name not in schema:
                raise InputError(
                    f"the table has no column {name!r} ({nearest(name, list(schema))})"
                )


# --- Columns of a batch: kinds, numbers, levels ---------------------------------------------------


def package(name: str) -> Any:
    """A module of the packages that tables in batches need."""
    return needed_by("Tables in pieces", "scale", name)


def kind_of(dtype: Any) -> str:
    """The kind of a column of an Arrow type."""
    types = package("pyarrow").types
    if types.is_dictionary(dtype):
        dtype = dtype.value_type
    if types.is_boolean(dtype):
        return "boolean"
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype):
        return "number"
    text = types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype)
    return "text" if text else "other"


def plain(value: Any) -> Any:
    """A value as Python's own, None for what is missing.

    Examples
    --------
    >>> plain(Decimal("2.00")), plain(Decimal("0.5")), plain(np.int8(3)), plain(float("nan"))
    (2, 0.5, 3, None)
    """
    if isinstance(value, np.generic):
        value = value.item()
    if _is_missing(value) or (isinstance(value, float | Decimal) and math.isnan(value)):
        return None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime) and hasattr(value, "to_pydatetime"):
        return value.to_pydatetime()
    return value + 0.0 if isinstance(value, float) else value


def fits(value: Any, kind: str) -> bool:
    """Whether a column of a kind can hold a plain value."""
    types: dict[str, Any] = {"boolean": bool, "text": str, "number": (int, float)}
    return kind == "other" or isinstance(value, types[kind])


def numbers_of(column: Any, name: str) -> tuple[Floats, Bools | None]:
    """The numbers (N,) of a column, and which are NULL; None: none are."""
    if isinstance(column, np.ndarray):
        return _numbers_of_objects(column, name)
    pa, pc = package("pyarrow"), package("pyarrow.compute")
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if pa.types.is_null(column.type):
        return np.zeros(len(column)), missing
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kind_of(column.type) not in ("number", "boolean"):
        raise InputTypeError(f"column {name!r} holds {column.type}, not numbers")
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    whole = pa.types.is_integer(column.type) or pa.types.is_decimal(column.type)
    column = column.cast(pa.float64(), safe=False)
    if whole and (pc.max(pc.abs(column)).as_py() or 0.0) > 2.0**53:
        raise too_large(name)
    if missing is not None:
        column = pc.fill_null(column, 0.0)
    return column.to_numpy(zero_copy_only=False), missing


def levels_of(column: Any) -> tuple[list[Any], Codes]:
    """The distinct values of a column, each once as a plain one, and each row's place (N,)."""
    if isinstance(column, np.ndarray):
        # By type as well: 1, 1.0 and True are equal, and which comes first must not matter.
        known: dict[Any, int] = {}
        codes = np.array(
            [known.setdefault((type(v), v), len(known)) for v in column.tolist()], np.int64
        )
        found = [v for _, v in known]
    else:
        pa = package("pyarrow")
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        found, codes = [*column.dictionary.to_pylist(), None], column.indices
        if codes.null_count:
            codes = codes.cast(pa.int64()).fill_null(len(found) - 1)
        codes = codes.to_numpy(zero_copy_only=False).astype(np.int64)
    present, codes = compress(codes, max(len(found), 1))
    return _joined([plain(found[k]) for k in present.tolist()], codes)


def among(levels: list[Any], codes: Codes, only: Sequence[Any], kind: str) -> Any:
    """The levels that matter, and one for all others."""
    wanted = [value for value in map(plain, only) if fits(value, kind)]

    def of(own: Any) -> Any:
        return None if own is None else next((v for v in wanted if v == own), Rest.REST)

    return _joined([of(own) for own in levels], codes)


def _joined(levels: list[Any], codes: Codes) -> tuple[list[Any], Codes]:
    """The same with each level once."""
    place: dict[Any, int] = {}
    moved = [place.setdefault((type(v), v), len(place)) for v in levels]
    if len(place) == len(levels):
        return levels, codes
    return [v for _, v in place], np.array(moved, np.int64)[codes]


def _is_missing(value: Any) -> bool:
    # Of NA and NaT, neither of which is equal to itself, pandas need not be asked.
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _numbers_of_objects(column: NDArray[Any], name: str) -> tuple[Floats, Bools | None]:
    rows = column.tolist()
    missing = np.fromiter(map(_is_missing, rows), bool, len(rows))
    for value in rows:
        if not _is_missing(value) and not isinstance(value, int | float | Decimal | np.generic):
            raise InputTypeError(f"column {name!r} holds {value!r}, not only numbers")
    numbers = (0.0 if no else float(v) for v, no in zip(rows, missing.tolist(), strict=True))
    return np.fromiter(numbers, np.float64, len(rows)), missing


# --- The counter: the rows of a batch by groups and bins ------------------------------------------


_MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF


class Groups(NamedTuple):
    """Each row's group, and the codes (columns, groups) of each.

    Examples
    --------
    >>> Groups.of([np.array([1, 0, 1]), np.array([0, 2, 0])], [2, 3], 3)
    Groups(of_row=array([3, 2, 3]), codes=array([[0, 0, 0, 1, 1, 1],
           [0, 1, 2, 0, 1, 2]]))
    """

    of_row: Codes
    codes: Codes

    @classmethod
    def of(cls, columns: Sequence[Codes], sizes: Sequence[int], n: int) -> Groups:
        """The groups of `n` rows, from their codes by column and the number of levels of each."""
        of_row, codes = np.zeros(n, np.int64), np.zeros((0, 1), np.int64)
        for column, size in zip(columns, sizes, strict=True):
            n_groups = codes.shape[1] * size
            of_row = column if codes.shape[1] == 1 else of_row * size + column
            present = np.arange(n_groups) if n_groups <= 64 else None
            if present is None:  # many combinations, of which few may occur
                present, of_row = compress(of_row, n_groups)
            codes = np.vstack([codes[:, present // max(size, 1)], present % max(size, 1)])
        return cls(of_row, codes)


def count_batch(
    batch: Batch,
    by: GroupBy,
    kinds: Sequence[str],
    binning: Binning | None = None,
    parts: Sequence[RowFilter] = (),
) -> BinCounts:
    """Count the rows of a batch; those of weight 0 are left out."""
    n = len(next(iter(batch.values())))
    columns = [levels_of(batch[key.name]) for key in by.keys]
    for k, (key, kind) in enumerate(zip(by.keys, kinds, strict=True)):
        if key.only is not None:
            columns[k] = among(*columns[k], key.only, kind)
    levels = tuple(values for values, _ in columns)
    groups = Groups.of([codes for _, codes in columns], [len(v) for v in levels], n)
    bins, score, keep = np.zeros(n, np.int64), np.zeros(n), np.ones(n, bool)
    if by.score is not None:
        score, missing = numbers_of(batch[by.score], by.score)
        bins = order_of(score) if binning is None else binning.of(score)
        if missing is not None:
            bins[missing] = MISSING
    weight = None
    if by.weight is not None:
        weight, missing = numbers_of(batch[by.weight], by.weight)
        bad = ~((weight >= 0.0) & (weight < np.inf))
        if missing is not None:
            bad |= missing
        keep = bad | (weight != 0.0)
    if parts:
        keep &= _inside(groups, levels, bins, score, parts, by.score is not None)
    if by.weight is not None:
        bins[bad & is_good(bins)] = BAD_WEIGHT
    if not keep.all():
        groups, bins, score = Groups(groups.of_row[keep], groups.codes), bins[keep], score[keep]
        weight = None if weight is None else weight[keep]
    return counted(levels, groups, bins, score, weight, 2.0**by.q)


def counted(
    levels: tuple[list[Any], ...],
    groups: Groups,
    bins: Codes,
    score: Floats,
    weight: Floats | None = None,
    scale: float = 1.0,
) -> BinCounts:
    """Count rows; in bins that do not count their score and weight are 0."""
    good = is_good(bins)
    if not good.all():
        score = np.where(good, score, 0.0)
        weight = None if weight is None else np.where(good, weight, 0.0)
    every = [(list(range(groups.codes.shape[1])), groups.of_row)]
    with np.errstate(over="ignore"):
        lines = BinCounts.of_rows(every, bins, score, weight, scale)
    return few(replace(lines, levels=levels, codes=groups.codes[:, lines.codes[0]]))


def merged(counts: Sequence[BinCounts]) -> BinCounts:
    """The counts of the rows of several batches."""
    return few(BinCounts.merge(counts))


def few(counts: BinCounts) -> BinCounts:
    """The counts, if they can be held."""
    if counts.n_lines > MOST_LINES:
        raise TooManyLinesError(
            f"grouping the rows gives {MOST_LINES + 1:,} lines or more: group the column, or "
            "name in the goal only the groups that matter"
        )
    return counts


def settled(counts: BinCounts, by_score: bool = False) -> BinCounts:
    """The counts in an order that depends on them alone; scores themselves are numbered."""
    bins = counts.bin.copy()
    if by_score:
        good = is_good(bins)
        bins[good] = np.unique(counts.low[good], return_inverse=True)[1].ravel()
    levels, codes = [], np.empty_like(counts.codes)
    for k, values in enumerate(counts.levels):
        order = sorted(range(len(values)), key=lambda i: _sort_key(values[i]))
        place = np.empty(len(values), np.int64)
        place[order] = np.arange(len(values))
        levels.append([values[i] for i in order])
        codes[k] = place[counts.codes[k]]
    return replace(counts, levels=tuple(levels), codes=codes, bin=bins).grouped()


def order_of(scores: Floats) -> Codes:
    """Whole numbers in the order of scores (N,), clear of -8 to -1; faults as of a binning.

    Examples
    --------
    >>> order_of(np.array([-5e-324, -0.0, 0.0, 5e-324, np.nan]))
    array([-9,  0,  0,  1, -2])
    """
    bits = (scores + 0.0).view(np.int64)
    order = np.where(bits < 0, -(bits & _MAGNITUDE) - 8, bits)
    bad = ~np.isfinite(scores)
    order[bad] = Binning.default(1).of(scores[bad])
    return order


def is_good(bins: Codes) -> Bools:
    """Whether bins (N,) are of rows that count."""
    return np.asarray((bins >= 0) | (bins < BAD_WEIGHT))


def sampled(batch: Batch, score: str, label: str | None, n: int) -> list[tuple[Any, Floats]]:
    """Up to `n` finite scores of each label of a batch, spread over it; no label is left out."""
    scores, missing = numbers_of(batch[score], score)
    good = np.isfinite(scores) if missing is None else np.isfinite(scores) & ~missing
    if label is None:
        return [(None, _spread(scores[good], n))]
    levels, codes = levels_of(batch[label])
    found = [(v, scores[good & (codes == k)]) for k, v in enumerate(levels)]
    return [(v, _spread(of_label, n)) for v, of_label in found if v is not None and len(of_label)]


def _inside(
    groups: Groups,
    levels: Sequence[list[Any]],
    bins: Codes,
    score: Floats,
    parts: Sequence[RowFilter],
    by_score: bool,
) -> Bools:
    """Which rows (N,) are of a part; those whose score is at fault are of none."""
    of_group = np.array([_groups_of(groups, levels, part) for part in parts])
    if not by_score:
        return np.asarray(of_group.any(axis=0))[groups.of_row]
    # Groups of the same parts are of the same ranges.
    patterns, pattern = np.unique(of_group, axis=1, return_inverse=True)
    of_row = pattern.ravel()[groups.of_row]
    order = np.argsort(of_row, kind="stable")
    ends = np.searchsorted(of_row[order], np.arange(patterns.shape[1] + 1))
    out = np.zeros(len(score), bool)
    for has, (a, b) in zip(patterns.T, pairwise(ends), strict=True):
        ranges = [r for part, own in zip(parts, has, strict=True) if own for r in part.ranges]
        low, high = _union(ranges)
        rows = order[a:b]
        place = np.searchsorted(low, score[rows], side="right")
        # Before the first range there is none.
        out[rows] = score[rows] <= np.append(high, -np.inf)[place - 1]
    return out & is_good(bins)


def _groups_of(groups: Groups, levels: Sequence[list[Any]], part: RowFilter) -> Bools:
    """Which groups are of a part; 1 and True are equal, and are not the same value."""
    if not part.keys:
        return np.ones(groups.codes.shape[1], bool)
    wanted = {tuple((type(v), v) for v in values) for values in part.values}
    own = [
        [(type(levels[k][c]), levels[k][c]) for c in groups.codes[k].tolist()] for k in part.keys
    ]
    return np.array([values in wanted for values in zip(*own, strict=True)], bool)


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
    # Numbers of several types compare; of other types nothing is known.
    number = isinstance(value, int | float) and not isinstance(value, bool)
    known = number or isinstance(value, bool | str)
    kind = "number" if number else type(value).__name__
    return 1, kind, value if known else repr(value), type(value).__name__


# --- Frames whose rows lie elsewhere --------------------------------------------------------------


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


def require_memory(X: Any) -> None:
    """Refuse tables that lie elsewhere, where a model takes the rows themselves."""
    if isinstance(X, (str, PathLike)) or (not hasattr(X, "to_numpy") and is_lazy(X)):
        raise InputTypeError(
            f"`X` is rows in memory, found {type(X).__name__}: take a sample, or let the engine "
            "train and score; solve and evaluate take scores where the rows are"
        )
