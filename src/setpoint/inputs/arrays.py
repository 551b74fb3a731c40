"""Arrays from outside: lists, arrays, Series and frames as plain NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing

from setpoint.array_types import Floats
from setpoint.counts import Column
from setpoint.errors import GoalError, InputError, InputTypeError, nearest, quoted, warn_caller

Array: TypeAlias = NDArray[Any]

TEXT = "UST"  # NumPy's kinds of text: fixed width, bytes, variable width


def frame_of(X: Any, name: str = "X") -> nw.DataFrame[Any] | None:
    """`X` as a narwhals frame, or None where it is not a frame."""
    with suppress(DuplicateError):
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return None
        if len(set(frame.columns)) == len(frame.columns):
            return frame
    raise InputError(f"{quoted(name)} has duplicate column names; every name must be unique")


def series_of(values: Any) -> nw.Series[Any] | None:
    """`values` as a narwhals Series, or None where it is none."""
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(values, pyarrow.Array):
        values = pyarrow.chunked_array([values])
    series = nw.from_native(values, allow_series=True, eager_only=True, pass_through=True)
    return series if isinstance(series, nw.Series) else None


def series_values(series: nw.Series[Any]) -> Array:
    """The values of a Series as an array; integers stay exact beside missing values."""
    if not series.null_count():
        array = np.asarray(series.to_numpy())
        return array.astype(object) if array.dtype.kind in TEXT else array
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if series.dtype.is_integer():
        array = np.asarray(series.fill_null(0).to_numpy()).astype(object)
    else:
        array = np.asarray(series.to_numpy())
    if array.dtype.kind == "O":
        array = array.copy()
        array[missing] = None  # to_numpy of a pyarrow dictionary puts a category there
    return array


def one_column(values: Any, name: str, *, warn: bool = False) -> Array:
    """`values` as a 1-D array; (N, 1) is taken as (N,), with a warning if `warn`."""
    if not isinstance(values, (np.ndarray, list)):
        series = series_of(values)
        if series is not None:
            return series_values(series)
    elif isinstance(values, np.ma.MaskedArray):
        refuse_masked(values, name)
    try:
        array = np.asarray(values)
        of_list = array.dtype.kind in TEXT and isinstance(values, (list, tuple))
        if of_list and not all(issubclass(t, str) for t in set(map(type, values))):
            array = np.array(values, dtype=object)  # NumPy had turned numbers into text
    except ValueError:
        raise InputError(f"{name} should be a 1d array, got a ragged list") from None
    if array.ndim == 2 and array.shape[1] == 1:
        if warn:
            from sklearn.exceptions import DataConversionWarning

            warn_caller(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                f"shape of {name} to (n_samples,), for example using ravel().",
                DataConversionWarning,
            )
        array = array.ravel()
    if array.ndim != 1:
        got = f"an array of shape {array.shape}" if array.ndim else described(values)
        many = (
            " Several labels a row are one goal each: scikit-learn's MultiOutputClassifier fits a "
            "classifier for each column."
            if name == "y" and array.ndim == 2
            else ""
        )
        raise InputError(f"{name} should be a 1d array, got {got} instead.{many}")
    return array


def refuse_masked(values: Any, name: str) -> None:
    """Refuse masked values: NumPy counts what lies under a mask as if it were there."""
    if isinstance(values, np.ma.MaskedArray) and (n_masked := int(np.sum(values.mask))):
        raise InputError(
            f"{name} is a masked array, and {n_masked} of its values are masked: fill them in, or "
            "leave these rows out"
        )


def require_numbers(X: Any) -> None:
    """Refuse features that would be taken as numbers and are not: masked values, dates."""
    refuse_masked(X, "`X`")
    frame = frame_of(X)
    if frame is not None:
        dates = [repr(c) for c, kind in frame.schema.items() if kind.is_temporal()]
    else:
        dates = ["of all columns"] * (getattr(getattr(X, "dtype", None), "kind", " ") in "mM")
    if dates:
        raise InputError(
            f"`X` holds dates or times ({', '.join(dates[:5])}), which are not numbers to learn "
            "from: make numbers of them, such as days since the first one, or leave them out"
        )


def numbers_in(array: Array, name: str, *also: str) -> Array:
    """An array of objects that are numbers or missing as floats; any other as it is."""
    kinds = {kind_of(t) for t in set(map(type, array.flat))}
    if not kinds <= {"number", "missing", *also} or kinds == {"missing"}:
        return array
    try:
        numbers = [np.nan if is_missing(v) else float(v) for v in array.flat]
    except OverflowError:
        raise InputError(f"{name} holds a number that is too large for float64") from None
    return np.array(numbers).reshape(array.shape)


def column_of(X: Any, name: str, argument: str) -> nw.Series[Any]:
    """The column `name` of the frame `X`, for the argument that names it."""
    frame = frame_of(X)
    if frame is None:
        raise InputError(
            f"{quoted(argument)} names columns of X ({name!r}), but X is {described(X)}, which has "
            "no column names; pass a frame as X, or the columns themselves, one value a row"
        )
    if name not in frame.columns:
        raise InputError(
            f"{quoted(argument)}: X has no column {name!r} ({nearest(name, frame.columns)})"
        )
    return frame.get_column(name)


def column_names(X: Any) -> list[str] | None:
    """Names of the columns of a frame; None where X is not a frame."""
    frame = frame_of(X)
    return None if frame is None else list(frame.columns)


def without(X: Any, *names: str | None) -> Any:
    """A frame without some of its columns; anything else as it is."""
    known = column_names(X)
    if known is None or not {*names}.intersection(known):
        return X
    return _safe_indexing(X, [name for name in known if name not in names], axis=1)


def check_length(values: Sequence[Any] | Array, n_rows: int, name: str) -> None:
    """Refuse a column that does not go with the rows."""
    if len(values) != n_rows:
        raise InputError(f"{quoted(name)} has {len(values)} rows, {n_rows} are expected")


def levels_of(column: Column, name: str) -> list[Any]:
    """The distinct values of a column."""
    try:
        return column.levels
    except TypeError:
        odd = next(v for v in column.values.tolist() if _unhashable(v))
        raise InputTypeError(
            f"{quoted(name)} holds values of type {type(odd).__name__}; text, numbers or booleans "
            "are expected"
        ) from None


def is_missing(value: Any) -> bool:
    """Whether `value` is None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    numeric = (float, np.floating, Decimal, np.datetime64, np.timedelta64)
    return isinstance(value, numeric) and bool(value != value)


_KINDS: dict[Any, str] = {
    np.timedelta64: "other",  # an integer to NumPy
    str: "text",
    (bool, np.bool_): "boolean",
    (int, float, np.integer, np.floating): "number",
}


def kind_of(t: type) -> str:
    """Sort a type: "text", "boolean", "number", "missing" or "other"."""
    missing = t is type(None) or t.__name__ in ("NAType", "NaTType")
    known = (kind for types, kind in _KINDS.items() if issubclass(t, types))
    return next(known, "missing" if missing else "other")


# -------------------------------------------------------------------------------- for messages


def described(value: Any) -> str:
    """A scalar as it is written, else the type."""
    return repr(value) if value is None or np.isscalar(value) else f"a {type(value).__name__}"


def first_bad(bad: NDArray[np.bool_], what: str) -> str:
    """How many rows are bad, and where the first is."""
    n = int(bad.sum())
    return f"{n} {what} value{'' if n == 1 else 's'}, the first at row {int(bad.argmax())}"


def refuse(bad: NDArray[np.bool_], where: str, what: str, why: str) -> None:
    """Refuse a column if some of its values are bad: how many, where the first is, and why."""
    if bad.any():
        raise InputError(f"{where} has {first_bad(bad, what)}; {why}")


def some(values: Sequence[Any], most: int = 8) -> str:
    """The first few values, and how many more there are."""
    text = ", ".join(repr(v) for v in values[:most])
    return text if len(values) <= most else f"{text} and {len(values) - most} more"


def _unhashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return True
    return False


# --- Columns of numbers by which rows count: amounts, credit lines, minutes -----------------------


_LARGEST = 1e100


def in_frame(X: Any, name: str) -> bool:
    """Whether X is a frame with a column of that name."""
    frame = frame_of(X)
    return frame is not None and name in frame.columns


def number_columns(
    wanted: Mapping[str, bool],
    known: Mapping[str, Column],
    X: Any,
    where: str = "",
    who: str = "the goal counts rows by",
) -> dict[str, Column]:
    """The columns by which rows count, from the side information or else from X."""
    out = {}
    for name, weighs in wanted.items():
        if name in known:
            source, values = f"`sensitive_features[{name!r}]`", known[name].values
        elif in_frame(X, name):
            source = f"the column {name!r} of X"
            values = one_column(column_of(X, name, "X"), source)
        else:
            names = [*known, *(getattr(frame_of(X), "columns", None) or ())]
            raise GoalError(
                f"{where}{who} the column {name!r}, and neither `sensitive_features` nor X has it "
                f"({nearest(name, names)})"
            )
        out[name] = Column(numbers_of(values, f"{where}{source}"))
        low = out[name].values.min(initial=0.0)
        if weighs and low < 0.0:
            first = int(np.argmax(out[name].values < 0.0))
            raise InputError(
                f"{where}{source} weighs rows, and a weight is 0 or more: row {first} has "
                f"{out[name].values[first]:.6g}"
            )
    return out


def numbers_of(values: Any, where: str) -> Floats:
    """Values as finite numbers (N,)."""
    array = np.asarray(values)
    if array.dtype == object:
        array = numbers_in(array, where)
    if array.dtype.kind not in "iuf":
        held = f"of type {array.dtype}"
        if array.dtype.kind in "OU":
            held = f"such as {some(list(dict.fromkeys(array.tolist()))[:1])}"
        raise InputError(
            f"{where}: rows count by it, and it holds values {held}; it may hold numbers"
        )
    numbers = array.astype(np.float64, copy=False)
    where = f"{where}: rows count by it, and it"
    refuse(np.isnan(numbers), where, "missing", "it may hold finite numbers")
    refuse(np.isinf(numbers), where, "infinite", "it may hold finite numbers")
    within = f"values lie within {_LARGEST:g} of 0, where they can be added: divide the column"
    refuse(np.abs(numbers) > _LARGEST, where, "huge", within)
    return numbers


# --- How many rows a rule has to accept before its precision says anything ------------------------


_LEAST_ROWS, _LEAST_SHARE = 20.0, 0.02


def row_unit(weight: NDArray[np.float64] | None) -> float:
    """The weight of one row: weights below 1 on average are shares, not numbers of rows."""
    return 1.0 if weight is None else min(float(weight.mean()), 1.0)


def least_accepted(wanted: Any, positives: float, unit: float = 1.0) -> float:
    """The weight of rows that have to be predicted positive."""
    if wanted != "auto":
        return float(wanted)
    return min(max(_LEAST_ROWS * unit, _LEAST_SHARE * positives), 0.5 * positives)


# --- What is asked of a model before its fit ------------------------------------------------------


class UnfittedError(InputError, NotFittedError):
    """A model that was not fitted is asked for what only a fit knows."""
