"""What every engine can do: group rows by columns and a bin of the score, and count them.

A source knows neither goal nor solver, a solver no engine. A pass is a question whose answer
does not depend on the order of rows, on partitions or on retries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple, Protocol

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Bools, Codes, Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.evidence import BinCounts, Binning, compress, factorize
from setpoint.packages import needed_by

MOST_LINES = 3 * 2**21
"""A count of more lines is refused: the client would have to hold them."""


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


LARGEST_WHOLE = 2.0**53
"""Up to it float64 distinguishes whole numbers."""


def too_large(name: str) -> ValueError:
    """The error about whole numbers that a float64 does not distinguish."""
    return InputError(
        f"the column {name!r} holds whole numbers beyond 2**53, which float64 cannot tell apart; "
        "use their ranks"
    )


class TooManyLinesError(InputError):
    """Grouping gives more lines than can be taken."""


class Source(Protocol):
    """Rows on an engine."""

    engine: str

    def columns(self) -> Mapping[str, str]:
        """The columns and their kinds: "number", "boolean", "text" or "other"."""
        ...

    def rows(self) -> int | None:
        """Number of rows; None where that takes a pass to find out."""
        ...

    def sample(self, score: str, label: str | None, n: int) -> Floats:
        """About `n` finite scores of any part of the rows, with as many of each label as can be."""
        ...

    def count(
        self, by: GroupBy, binning: Binning | None = None, parts: Sequence[RowFilter] = ()
    ) -> BinCounts:
        """One pass."""
        ...

    def recount(self, by: GroupBy, steps: Sequence[tuple[RowFilter, Floats]]) -> BinCounts:
        """One pass, in which a row's bin is how many thresholds its score reaches."""
        ...


# --- Columns of a pandas frame, of NumPy or of Arrow ----------------------------------------------


def package(name: str) -> Any:
    """A module of the packages that tables in pieces need."""
    return needed_by("Tables in pieces", "scale", name)


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


def family(value: Any) -> str:
    """What a value can be compared with: values of one family."""
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, int | float | Decimal | np.number):
        return "number"
    return "text" if isinstance(value, str) else type(value).__name__


def kind_of_arrow(dtype: Any) -> str:
    """The kind of a column of an Arrow type, as a source names it."""
    types = package("pyarrow").types
    if types.is_dictionary(dtype):
        dtype = dtype.value_type
    if types.is_boolean(dtype):
        return "boolean"
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype):
        return "number"
    text = types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype)
    return "text" if text else "other"


def kind_of_pandas(dtype: Any) -> str:
    """The kind of a column of a pandas type, as a source names it."""
    if (arrow := getattr(dtype, "pyarrow_dtype", None)) is not None:
        return kind_of_arrow(arrow)
    if (categories := getattr(dtype, "categories", None)) is not None:
        return kind_of_pandas(categories.dtype)
    kind = getattr(dtype, "kind", "O")
    if kind == "b":
        return "boolean"
    if kind in "iuf":
        return "number"
    return "text" if getattr(dtype, "name", "").startswith(("str", "string")) else "other"


def numbers_of(column: Any, name: str) -> tuple[Floats, Bools | None]:
    """The numbers (N,) of a column, and which are NULL; None: none are."""
    column = _plain(column)
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "fiub":
            out = np.asarray(column, np.float64)
            if column.dtype.kind in "iu" and np.abs(out).max(initial=0.0) > LARGEST_WHOLE:
                raise too_large(name)
            return out, None
        return _numbers_of_objects(column, name)
    pa, pc = package("pyarrow"), package("pyarrow.compute")
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if pa.types.is_null(column.type):
        return np.zeros(len(column)), missing
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kind_of_arrow(column.type) not in ("number", "boolean"):
        raise InputTypeError(f"column {name!r} holds {column.type}, not numbers")
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    whole = pa.types.is_integer(column.type) or pa.types.is_decimal(column.type)
    column = column.cast(pa.float64(), safe=False)
    if whole and (pc.max(pc.abs(column)).as_py() or 0.0) > LARGEST_WHOLE:
        raise too_large(name)
    if missing is not None:
        column = pc.fill_null(column, 0.0)
    return column.to_numpy(zero_copy_only=False), missing


def levels_of(column: Any, only: Sequence[Any] | None = None) -> tuple[list[Any], Codes]:
    """The distinct values of a column as plain Python values, and each row's place (N,)."""
    column = _plain(column)
    if not isinstance(column, np.ndarray):
        return _tidy(*_levels_of_arrow(column), only)
    if column.dtype.kind in "biu":
        return _tidy(*factorize(column), only)
    if column.dtype.kind == "O":
        return _tidy(*_levels_of_objects(column), only)
    pandas = package("pandas")
    codes, found = pandas.factorize(column, use_na_sentinel=True)
    levels = [*pandas.Index(found).astype(object).tolist(), None]
    return _tidy(levels, np.where(codes < 0, len(found), codes).astype(np.int64), only)


def _plain(column: Any) -> Any:
    """A NumPy array where a column is one, else an Arrow array in one piece."""
    pa = package("pyarrow")
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy()
    arrow = pa.array(column.array)
    return arrow.combine_chunks() if isinstance(arrow, pa.ChunkedArray) else arrow


def _is_missing(value: Any) -> bool:
    # Of NA and NaT, neither of which is equal to itself, pandas need not be asked.
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _numbers_of_objects(column: NDArray[Any], name: str) -> tuple[Floats, Bools | None]:
    rows = column.tolist()
    missing = np.fromiter(map(_is_missing, rows), bool, len(rows))
    for value in rows:
        if not _is_missing(value) and family(value) not in ("number", "boolean"):
            raise InputTypeError(f"column {name!r} holds {value!r}, not only numbers")
    numbers = (0.0 if no else float(v) for v, no in zip(rows, missing.tolist(), strict=True))
    return np.fromiter(numbers, np.float64, len(rows)), missing


def _levels_of_arrow(column: Any) -> tuple[list[Any], Codes]:
    pa = package("pyarrow")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices
    levels = [*column.dictionary.to_pylist(), None]
    if codes.null_count:
        codes = codes.fill_null(pa.scalar(len(levels) - 1).cast(codes.type))
    return levels, codes.to_numpy(zero_copy_only=False).astype(np.int64)


def _levels_of_objects(column: NDArray[Any]) -> tuple[list[Any], Codes]:
    # By type as well: 1, 1.0 and True are equal, and which comes first must not matter.
    place: dict[Any, int] = {}
    codes = [place.setdefault((type(v), v), len(place)) for v in column.tolist()]
    return [v for _, v in place], np.array(codes, np.int64)


def _tidy(levels: list[Any], codes: Codes, only: Sequence[Any] | None) -> tuple[list[Any], Codes]:
    """Levels that occur, each once, as plain values."""
    present, codes = compress(codes, max(len(levels), 1))
    wanted: dict[Any, Any] = {}
    for value in map(plain, only or ()):
        wanted.setdefault((family(value), value), value)
    place: dict[Any, int] = {}
    moved = []
    for own in (plain(levels[k]) for k in present.tolist()):
        matters = only is None or own is None
        value = own if matters else wanted.get((family(own), own), Rest.REST)
        moved.append(place.setdefault((type(value), value), len(place)))
    return [v for _, v in place], np.array(moved, np.int64)[codes]


# --- Columns of a pass: their kinds, their names in it --------------------------------------------


def kind_of(dtype: nw.dtypes.DType) -> str:
    """The kind of a column: "number", "boolean", "text" or "other"."""
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "boolean"
    return "text" if dtype in (nw.String, nw.Categorical, nw.Enum) else "other"


class Field(NamedTuple):
    """A column that rows are grouped by, under the name it has in a pass."""

    name: str
    dtype: nw.dtypes.DType
    only: tuple[Any, ...] | None

    @property
    def levels(self) -> list[Any]:
        """What the codes of a column with `only` stand for."""
        return [*(self.only or ()), Rest.REST, None]


class Marks(NamedTuple):
    """Names of a pass's columns, unlike all of the table's."""

    score: str
    weight: str
    state: str
    bin: str
    whole: str
    squares: str
    off: str
    rows: str
    low: str
    high: str
    least: str
    most: str
    key: str

    @classmethod
    def beside(cls, names: Sequence[str]) -> Marks:
        """Names that begin unlike all of these, whatever their case."""
        prefix = "setpoint_"
        while any(name.lower().startswith(prefix) for name in names):
            prefix += "_"
        return cls(*(prefix + name for name in cls._fields))


def numbers(lines: nw.DataFrame[Any], name: str) -> Floats:
    """A column as floats."""
    return np.array(lines[name].to_numpy(), np.float64)


def whole(lines: nw.DataFrame[Any], name: str) -> Codes:
    """A column as integers."""
    return np.array(lines[name].to_numpy(), np.int64)


def field_levels(column: nw.Series[Any], field: Field) -> tuple[list[Any], Codes]:
    """The values that occur, ascending, and each line's place among them."""
    if field.only is not None:
        used, codes = np.unique(np.array(column.to_numpy(), np.int64), return_inverse=True)
        return [plain(field.levels[k]) for k in used], codes.astype(np.int64)
    places: dict[Any, int] = {}
    seen: dict[Any, int] = {}  # as the engine has them: equal ones are looked at once
    raw = list[int]()
    for value in column.to_list():
        place = seen.get(value)
        if place is None:
            place = seen[value] = places.setdefault(plain(value), len(places))
        raw.append(place)
    levels = sorted(places, key=_order)
    rank = np.empty(len(levels), np.int64)
    rank[[places[v] for v in levels]] = np.arange(len(levels))
    return levels, rank[np.array(raw, np.int64)]


def _order(value: Any) -> tuple[bool, str, Any]:
    """Numbers among themselves, others by type; what is missing last."""
    if value is None:
        return (True, "", 0)
    return (False, "" if isinstance(value, int | float) else type(value).__name__, value)
