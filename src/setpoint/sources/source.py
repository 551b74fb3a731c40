"""A source of rows: its columns, its batches and its counts.

A source knows neither goal nor solver, a solver no engine. A pass is a question whose answer
does not depend on the order of rows, on batches or on retries.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import Enum
from os import PathLike
from typing import Any, NamedTuple, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np

from setpoint.array_types import Bools, Codes, Floats
from setpoint.counts import BAD_WEIGHT, BinCounts, Binning, compress
from setpoint.errors import InputError, InputTypeError
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

    def and_by(self, name: str | None) -> GroupBy:
        """By one more column, if one is named."""
        return self if name is None else replace(self, keys=(*self.keys, Key(name)))


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
"""Columns of some rows, as Arrow arrays."""


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

    @abstractmethod
    def count(
        self, by: GroupBy, binning: Binning | None = None, parts: Sequence[RowFilter] = ()
    ) -> BinCounts:
        """One pass: rows by their groups and the bin of their score, or by the score itself."""

    def _some(self, names: Sequence[str]) -> Iterable[Batch]:
        """Batches to take a sample of, as long as it is too small."""
        return self.batches(names)


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
    if isinstance(value, float | Decimal) and math.isnan(value):
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


def levels_of(column: Any) -> tuple[list[Any], Codes]:
    """The distinct values of a column, each once as a plain one, and each row's place (N,)."""
    pa = package("pyarrow")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    found, codes = [*column.dictionary.to_pylist(), None], column.indices
    if codes.null_count:
        codes = codes.cast(pa.int64()).fill_null(len(found) - 1)
    codes = codes.to_numpy(zero_copy_only=False).astype(np.int64)
    present, codes = compress(codes, max(len(found), 1))
    levels = [plain(found[k]) for k in present.tolist()]
    # By type as well: 1, 1.0 and True are equal, and which comes first must not matter.
    place: dict[Any, int] = {}
    moved = [place.setdefault((type(v), v), len(place)) for v in levels]
    if len(place) == len(levels):
        return levels, codes
    return [v for _, v in place], np.array(moved, np.int64)[codes]


# --- Counts: merged, in an order of their own -----------------------------------------------------


_MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF


def merged(counts: Sequence[BinCounts]) -> BinCounts:
    """The counts of the rows of several batches."""
    return few(BinCounts.merge(counts))


def few(counts: BinCounts) -> BinCounts:
    """The counts, if they can be held."""
    if counts.n_lines > MOST_LINES:
        raise TooManyLinesError(
            f"grouping the rows gives {MOST_LINES + 1:,} lines or more: group the column, or "
            "name in the goal the groups that matter; of more units, read the rows into memory"
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
    """Whole numbers in the order of finite scores (N,), clear of -8 to -1.

    Examples
    --------
    >>> order_of(np.array([-5e-324, -0.0, 0.0, 5e-324]))
    array([-9,  0,  0,  1])
    """
    bits = (scores + 0.0).view(np.int64)
    return np.where(bits < 0, -(bits & _MAGNITUDE) - 8, bits)


def is_good(bins: Codes) -> Bools:
    """Whether bins (N,) are of rows that count."""
    return np.asarray((bins >= 0) | (bins < BAD_WEIGHT))


def sampled(batch: Batch, score: str, label: str | None, n: int) -> list[tuple[Any, Floats]]:
    """Up to `n` finite scores of each label of a batch, spread over it; no label is left out."""
    column = batch[score].cast(package("pyarrow").float64(), safe=False).fill_null(np.nan)
    scores = column.to_numpy(zero_copy_only=False)
    good = np.isfinite(scores)
    if label is None:
        return [(None, _spread(scores[good], n))]
    levels, codes = levels_of(batch[label])
    found = [(v, scores[good & (codes == k)]) for k, v in enumerate(levels)]
    return [(v, _spread(of_label, n)) for v, of_label in found if v is not None and len(of_label)]


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
