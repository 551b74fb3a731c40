"""Reproducible draws: one number in [0, 1) for each row, from what the row holds.

A randomised rule needs a draw for each row. Drawn from a keyed hash of the row's
content, it is the same whatever batch the row comes in and on every machine, and it
cannot be foreseen without the key.

Every entry becomes 64 bits: a number its float64 (-0 as 0), whatever is missing one NaN,
a text the BLAKE2b digest of its UTF-8, a date or duration its nanoseconds under a mark of
its own. The entry in column j is mixed with that column's constant and the results are
added modulo 2^64, a zero adding nothing, so that sparse and dense agree; then the sum is
mixed once more. The mixer is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014;
Stafford's variant 13).
"""

from __future__ import annotations

import datetime as dt
import math
import operator
from collections.abc import Sequence
from decimal import Decimal
from hashlib import blake2b
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.evidence.columns import Column
from setpoint.goals.errors import nearest
from setpoint.inputs.arrays import (
    frame_of,
    is_missing,
    kind_of,
    levels_of,
    one_column,
    series_of,
    series_values,
)

__all__ = ["column_draws", "row_draws"]

Bits: TypeAlias = NDArray[np.uint64]

_ALL = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MISSING = 0x7FF8000000000000  # the one NaN
_MARK = {"M": 0xD1B54A32D192ED03, "m": 0x8CB92BA72F3D8DD7}  # dates, durations
_BLOCK = 2**16  # entries mixed at a time: they stay in the cache
_NANOSECONDS = {"W": 604_800 * 10**9, "D": 86_400 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9}
_NANOSECONDS |= {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_AS_TEXT = ("UUID", "time", "Period", "Interval")


def row_draws(
    X: Any, *, key: int, feature_names: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """A draw in [0, 1) for each row, from a keyed hash of the row's content.

    The draw depends on `key` and the row alone: not on the batch, the order of the rows,
    the memory layout, the width of the number type, or whether the row is stored dense
    or sparse. Columns count by their place in fit order, so that a frame and the array of
    the same numbers agree.

    Parameters
    ----------
    X : array-like or sparse of shape (N, p), frame, or 1-D array-like of length N
        Numbers, text, booleans, dates, durations and missing values, mixed at will. A
        category counts as its value. Integers count as their float64. The number 1 and
        the text "1" differ.
    key : int
        In [0, 2^64). Different keys give independent draws.
    feature_names : sequence of str, optional
        The columns in fit order. A frame's columns are put in this order and others left
        out; an array must have as many columns.

    Returns
    -------
    ndarray of float64, shape (N,)
        Multiples of 2^-53. Two rows that differ have the same draw with probability 2^-53.

    Raises
    ------
    ValueError
        If a column named is missing from the frame, names repeat, an array has another
        number of columns, or `key` is out of range.
    TypeError
        If an entry is a list, a dict or another object without canonical bits.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.5, -1.0], [1.0, 0.0]])
    >>> u = row_draws(X, key=7)
    >>> bool(u[0] == u[2] != u[1])
    True
    >>> bool(row_draws([[1, 0]], key=7)[0] == u[0])
    True
    """
    start, end = _mix(np.array([_checked(key), _checked(key) ^ _GOLDEN], dtype=np.uint64))
    frame = frame_of(X)
    if frame is not None:
        total = _frame_sum(frame, start, feature_names)
    elif sparse.issparse(X):
        matrix: Any = X
        _check_width(matrix.shape, feature_names)
        total = _sparse_sum(matrix, start)
    else:
        array = _table(X)
        _check_width(array.shape, feature_names)
        total = _array_sum(array, start)
    return _uniform(total ^ end)


def column_draws(values: Any, *, key: int) -> NDArray[np.float64]:
    """A draw in [0, 1) for each entry of a column of identifiers.

    Parameters
    ----------
    values : array-like of shape (N,)
        Integers, text, or anything that `row_draws` takes. An integer and its float64 are
        one identifier; integers beyond 2^53 stay apart. The number 1 and the text "1"
        differ. All missing identifiers share one draw.
    key : int
        In [0, 2^64). Different keys give independent draws.

    Returns
    -------
    ndarray of float64, shape (N,)
        Multiples of 2^-53.

    Raises
    ------
    ValueError
        If `values` is not one-dimensional or `key` is out of range.
    TypeError
        If an entry is a list, a dict or another object without canonical bits.

    Examples
    --------
    >>> u = column_draws(["ann", "bob", "ann"], key=1)
    >>> bool(u[0] == u[2] != u[1])
    True
    """
    start = _mix(np.array([_checked(key) ^ _MARK["M"]], dtype=np.uint64))
    bits = _bits(one_column(values, "values"), "values", exact=True)
    return _uniform(bits ^ start)


def _checked(key: int) -> int:
    number = operator.index(key)
    if not 0 <= number <= _ALL:
        raise InputError(f"key must be in [0, 2**64), found {number}")
    return number


def _uniform(z: Bits) -> NDArray[np.float64]:
    return np.ldexp((_mix(z) >> np.uint64(11)).astype(np.float64), -53)


def _mix(z: Bits) -> Bits:
    """SplitMix64's finaliser, in place: a bijection that lets every bit change every bit."""
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


# ------------------------------------------------------------------------ sums over columns


def _constants(start: np.uint64, n: int) -> Bits:
    """One pseudo-random constant for each of `n` columns."""
    return _mix(np.arange(1, n + 1, dtype=np.uint64) * np.uint64(_GOLDEN) + start)


def _parts(bits: Bits, constants: Bits) -> Bits:
    """What entries add to their row's sum."""
    parts = _mix(bits + constants)
    parts *= bits != 0
    return parts


def _array_sum(array: NDArray[Any], start: np.uint64) -> Bits:
    n, p = array.shape
    constants = _constants(start, p)
    total = np.zeros(n, dtype=np.uint64)
    if array.dtype.kind in "biuf":
        step = max(1, _BLOCK // max(1, p))
        for i in range(0, n, step):
            bits = _float_bits(array[i : i + step])
            total[i : i + step] = _parts(bits, constants).sum(axis=1, dtype=np.uint64)
    else:
        for j in range(p):
            total += _parts(_bits(array[:, j], f"column {j} of X"), constants[j : j + 1])
    return total


def _frame_sum(
    frame: nw.DataFrame[Any], start: np.uint64, feature_names: Sequence[str] | None
) -> Bits:
    names = frame.columns if feature_names is None else list(feature_names)
    there = set(frame.columns)
    for name in names:
        if name not in there:
            near = nearest(name, frame.columns)
            raise InputError(f"`X` has no column {name!r}, seen in fit ({near})")
    if len(set(names)) != len(names):
        raise InputError("`feature_names` holds a name twice")
    constants = _constants(start, len(names))
    total = np.zeros(len(frame), dtype=np.uint64)
    for j, name in enumerate(names):
        values = series_values(frame.get_column(name))
        total += _parts(_bits(values, f"column {name!r} of X"), constants[j : j + 1])
    return total


def _sparse_sum(X: Any, start: np.uint64) -> Bits:
    if X.ndim != 2:
        raise InputError(f"`X` is sparse of shape {X.shape}; rows and columns are expected")
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    bits = _bits(rows.data, "X")
    parts = _parts(bits, _constants(start, X.shape[1])[rows.indices])
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(parts, dtype=np.uint64)])
    total: Bits = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
    return total


def _table(X: Any) -> NDArray[Any]:
    """A 2-D array; a single column stands up, further axes of numbers lie down."""
    series = series_of(X)
    if series is not None:
        return series_values(series)[:, None]
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US" and not hasattr(X, "dtype"):
            array = np.array(X, dtype=object)  # NumPy had turned numbers beside text into text
    except ValueError:
        raise InputError("`X` is a ragged list: its rows differ in length") from None
    if array.ndim == 0:
        raise InputError(f"`X` must have rows; found a {type(X).__name__}")
    return array.reshape(len(array), math.prod(array.shape[1:]))


def _check_width(shape: tuple[int, ...], feature_names: Sequence[str] | None) -> None:
    if feature_names is not None and shape[-1] != len(feature_names):
        raise InputError(f"`X` has {shape[-1]} columns, fit saw {len(feature_names)}")


# ---------------------------------------------------------------------------- canonical bits


def _bits(array: NDArray[Any], name: str, *, exact: bool = False) -> Bits:
    """The canonical bits of a 1-D array; `exact` keeps integers beyond 2^53 apart."""
    kind = array.dtype.kind
    if kind in "biuf" and array.ndim == 1:
        bits = _float_bits(array)
        return bits + _residue(array, bits) if exact and kind in "iu" else bits
    if kind in "mM":
        return _time_bits(array, name)
    if kind in "OUST":
        return _object_bits(array.astype(object, copy=False), name, exact)
    raise InputTypeError(
        f"{quoted(name)} holds {array.dtype}; text, numbers, booleans or dates are expected"
    )


def _float_bits(array: NDArray[Any]) -> Bits:
    with np.errstate(invalid="ignore", over="ignore"):
        numbers = np.array(array, dtype=np.float64, order="C")
        numbers += 0.0  # -0 becomes 0
    bits = numbers.view(np.uint64)
    bits[np.isnan(numbers)] = _MISSING
    return bits


def _residue(integers: NDArray[Any], bits: Bits) -> Bits:
    """The integers less their float64, modulo 2^64, spread over the bits; 0 up to 2^53."""
    numbers = bits.view(np.float64)
    high = np.floor(numbers / 2.0**32)
    low = numbers - high * 2.0**32
    rounded = (high.astype(np.int64).astype(np.uint64) << np.uint64(32)) + low.astype(np.uint64)
    return (integers.astype(np.uint64) - rounded) * np.uint64(_GOLDEN)


def _time_bits(array: NDArray[Any], name: str) -> Bits:
    unit, count = np.datetime_data(array.dtype)
    if unit in ("Y", "M") and array.dtype.kind == "M":
        array, unit, count = array.astype("datetime64[D]"), "D", 1
    elif unit in ("ps", "fs", "as"):
        array, unit, count = array.astype(f"{array.dtype.kind}8[ns]"), "ns", 1
    if unit not in _NANOSECONDS:
        raise InputTypeError(
            f"{quoted(name)} holds {array.dtype}, which has no length in nanoseconds"
        )
    ticks = array.astype(np.int64).astype(np.uint64)
    scale = np.uint64(_NANOSECONDS[unit] * count & _ALL)
    bits = _mix(ticks * scale + np.uint64(_MARK[array.dtype.kind]))
    bits[np.isnat(array)] = _MISSING
    return bits


def _object_bits(values: NDArray[Any], name: str, exact: bool) -> Bits:
    types = set(map(type, values.tolist()))
    numbers = all(kind_of(t) in ("number", "boolean") or t is type(None) for t in types)
    if numbers and not exact:
        try:
            return _float_bits(values.astype(np.float64))  # None becomes NaN
        except OverflowError:
            raise InputError(
                f"{quoted(name)} holds an integer beyond the range of float64"
            ) from None
    column = Column(values)
    distinct, codes = levels_of(column, name), column.codes
    return np.array([_one(v, name, exact) for v in distinct], dtype=np.uint64)[codes]


def _one(value: Any, name: str, exact: bool) -> int:
    """The canonical bits of a single value of any type."""
    if is_missing(value):
        return _MISSING
    if type(value).__name__ in _AS_TEXT:
        value = str(value)
    if isinstance(value, (str, bytes)):
        raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
        digest = blake2b(raw, digest_size=8, usedforsecurity=False).digest()
        return int.from_bytes(digest, "little")
    time = _time(value)
    if time is not None:
        return int(_time_bits(np.array([time]), name)[0])
    if not isinstance(value, (int, float, Decimal, np.integer, np.floating, np.bool_)):
        raise InputTypeError(
            f"{quoted(name)} holds values of type {type(value).__name__}; text, numbers, booleans "
            "or dates are expected"
        )
    try:
        number = float(value)
    except OverflowError:
        raise InputError(f"{quoted(name)} holds an integer beyond the range of float64") from None
    bits = int(_float_bits(np.array([number]))[0])
    if exact and isinstance(value, (int, np.integer)):
        bits += (int(value) - int(number)) * _GOLDEN
    return bits & _ALL


def _time(value: Any) -> np.datetime64 | np.timedelta64 | None:
    for convert in ("to_datetime64", "to_timedelta64"):  # pandas' scalars, in UTC
        if hasattr(value, convert):
            scalar: np.datetime64 | np.timedelta64 = getattr(value, convert)()
            return scalar
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return value
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    if isinstance(value, dt.date):
        return np.datetime64(value)
    return np.timedelta64(value) if isinstance(value, dt.timedelta) else None
