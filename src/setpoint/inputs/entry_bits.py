"""Canonical bits: every entry of a table as 64 bits, whatever holds it.

A number is its float64 (-0 as 0), whatever is missing one NaN, a text the BLAKE2b digest of its
UTF-8, a date or duration its nanoseconds under a mark of its own. Draws by row and digests of
rows are made of these.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.evidence.columns import Column
from setpoint.inputs.arrays import is_missing, kind_of, levels_of, series_of, series_values

__all__ = ["Bits", "entry_bits", "float_bits", "mix", "rows_of"]

Bits: TypeAlias = NDArray[np.uint64]

_ALL = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MISSING = 0x7FF8000000000000  # the one NaN
_MARK = {"M": 0xD1B54A32D192ED03, "m": 0x8CB92BA72F3D8DD7}  # dates, durations
_NANOSECONDS = {"W": 604_800 * 10**9, "D": 86_400 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9}
_NANOSECONDS |= {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_AS_TEXT = ("UUID", "time", "Period", "Interval")


def rows_of(X: Any) -> NDArray[Any]:
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


def mix(z: Bits) -> Bits:
    """SplitMix64's finaliser, in place: a bijection that lets every bit change every bit."""
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def entry_bits(array: NDArray[Any], name: str, *, exact: bool = False) -> Bits:
    """The canonical bits of a 1-D array; `exact` keeps integers beyond 2^53 apart."""
    kind = array.dtype.kind
    if kind in "biuf" and array.ndim == 1:
        bits = float_bits(array)
        return bits + _residue(array, bits) if exact and kind in "iu" else bits
    if kind in "mM":
        return _time_bits(array, name)
    if kind in "OUST":
        return _object_bits(array.astype(object, copy=False), name, exact)
    raise InputTypeError(
        f"{quoted(name)} holds {array.dtype}; text, numbers, booleans or dates are expected"
    )


def float_bits(array: NDArray[Any]) -> Bits:
    """The canonical bits of numbers, as many as there are; integers count as their float64."""
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
    bits = mix(ticks * scale + np.uint64(_MARK[array.dtype.kind]))
    bits[np.isnat(array)] = _MISSING
    return bits


def _object_bits(values: NDArray[Any], name: str, exact: bool) -> Bits:
    types = set(map(type, values.tolist()))
    numbers = all(kind_of(t) in ("number", "boolean") or t is type(None) for t in types)
    if numbers and not exact:
        try:
            return float_bits(values.astype(np.float64))  # None becomes NaN
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
    bits = int(float_bits(np.array([number]))[0])
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
