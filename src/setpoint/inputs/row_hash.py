"""Rows as numbers: canonical bits, hashes, draws and digests."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from setpoint.array_types import Codes, Floats, Integers
from setpoint.counts import Column, Units, counted_rows, singles
from setpoint.errors import InputError, InputTypeError, nearest, quoted
from setpoint.inputs.arrays import (
    check_length,
    column_names,
    column_of,
    frame_of,
    is_missing,
    kind_of,
    levels_of,
    one_column,
    series_of,
    series_values,
)
from setpoint.inputs.columns import Dataset

if TYPE_CHECKING:
    from setpoint.inputs.inputs import GivenRows


# --- Canonical bits: every entry of a table as 64 bits, whatever holds it -------------------------


Bits: TypeAlias = NDArray[np.uint64]

_ALL = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MISSING = 0x7FF8000000000000  # the one NaN
_MARK = {"M": 0xD1B54A32D192ED03, "m": 0x8CB92BA72F3D8DD7}  # dates, durations
_NANOSECONDS = {"W": 604_800 * 10**9, "D": 86_400 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9}
_NANOSECONDS |= {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_AS_TEXT = ("UUID", "time", "Period", "Interval")


@dataclass(frozen=True)
class Pieces:
    """Rows in memory as canonical bits, a piece after the other, whatever holds them."""

    n_rows: int
    width: int
    pieces: Iterator[tuple[slice, int, Bits]]
    """Rows, the first column, and the bits (columns, rows)."""

    @classmethod
    def of(cls, X: Any, names: Sequence[str] | None, *, exact: bool) -> Pieces:
        """A frame, by the names given if any, a column or an array; not sparse."""
        frame = None if isinstance(X, np.ndarray) or series_of(X) is not None else frame_of(X)
        if frame is not None:
            names = frame.columns if names is None else names
            return cls.of_columns(
                len(frame),
                {f"column {n!r} of X": series_values(frame.get_column(n)) for n in names},
                exact,
            )
        array = rows_of(X)
        n, p = array.shape
        whole = array.dtype.kind == "i" or array.dtype.kind == "u"
        if array.dtype.kind not in "biuf" or (exact and whole and array.itemsize > 4):
            return cls.of_columns(n, {f"column {j} of X": array[:, j] for j in range(p)}, exact)
        step = max(1, _BLOCK // max(1, p))
        blocks = (slice(i, i + step) for i in range(0, n, step))
        return cls(n, p, ((rows, 0, float_bits(array[rows]).T) for rows in blocks))

    @classmethod
    def of_columns(cls, n_rows: int, columns: Mapping[str, NDArray[Any]], exact: bool) -> Pieces:
        """Columns one by one, by what messages call them."""
        bits = (entry_bits(values, name, exact=exact) for name, values in columns.items())
        every = slice(0, n_rows)
        return cls(n_rows, len(columns), ((every, j, b[None]) for j, b in enumerate(bits)))


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
        with suppress(OverflowError):  # which is said of its value below
            return float_bits(values.astype(np.float64))  # None becomes NaN
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


def units_of(given: Any, X: Any, n_rows: int, where: str = "", called: str = "") -> Units | None:
    """The units that rows belong to, by what a column says; a row that says nothing is one."""
    if given is None or isinstance(given, Units):
        return given
    what = f"{where}units"
    column = column_of(X, given, what) if isinstance(given, str) else given
    values = one_column(column, what)
    check_length(values, n_rows, what)
    levels, codes = levels_of(known := Column(values), what), known.codes
    bits = entry_bits(
        np.array(levels, None if values.dtype.kind in "iuf" else object), what, exact=True
    )
    each, place = np.unique(
        (mix(bits.copy()) >> np.uint64(1)).astype(np.int64), return_inverse=True
    )
    name = called or (given if isinstance(given, str) else getattr(given, "name", None))
    out = Units(each, place[codes], _in_plural(name) if isinstance(name, str) and name else "units")
    missing = np.flatnonzero((bits == _MISSING)[codes])
    if not len(missing):
        return out
    names = out.names
    names[missing] = singles(len(missing))
    return Units.of(names, out.called)


def _in_plural(name: str) -> str:
    """What the units are called that a column names."""
    words = name.removesuffix("_id").replace("_", " ").strip()
    return words if words.endswith("s") else f"{words}s"


# --- Digests of what was given --------------------------------------------------------------------


_BLOCK = 2**16
"""Entries whose bits are made at a time: they stay in the cache."""

_MAY_NAME = ("sensitive_features", "baseline", "units")
"""Arguments that may name columns of X, or be a model, in place of values."""

_PARTS = ("X", "y", "sample_weight", "sensitive_features", "baseline", "units")


def text_digest(text: str) -> str:
    """The SHA-256 of a text in UTF-8, in hexadecimal digits, after ``sha256:``."""
    return f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def rows_digest(rows: Any) -> str | None:
    """The digest of a table or a column; None where it holds what has no canonical bytes."""
    try:
        return f"sha256:{_digest(rows)}"
    except (TypeError, ValueError):  # lists inside, columns of different length
        return None


def digests_of(given: Mapping[str, Dataset | GivenRows]) -> dict[str, str]:
    """The digest of each part of the rows given, by the name of its argument."""
    out: dict[str, str] = {}
    for place, rows in given.items():
        for name in _PARTS:
            part = getattr(rows, name)
            if part is None or (name in _MAY_NAME and not _is_content(part)):
                continue
            found = rows_digest(part)
            if found is not None:
                out[f"{place}{name}"] = found
    return out


def _is_content(part: Any) -> bool:
    """Whether it holds values, and not names of columns or a model."""
    if isinstance(part, (str, Mapping)):
        return isinstance(part, Mapping)
    if isinstance(part, (list, tuple)) and part and all(isinstance(x, str) for x in part):
        return False
    return not hasattr(part, "predict") and (hasattr(part, "__len__") or hasattr(part, "shape"))


def _digest(rows: Any) -> str:
    if sparse.issparse(rows):
        return _of_sparse(rows)
    if isinstance(rows, Mapping):
        columns = {str(k): one_column(v, "column") for k, v in rows.items()}
        table = Pieces.of_columns(max(map(len, columns.values()), default=0), columns, exact=True)
    else:
        table = Pieces.of(rows, None, exact=True)
    hashes = [sha256() for _ in range(table.width)]
    for _, first, bits in table.pieces:
        for j, column in enumerate(np.ascontiguousarray(bits, "<u8"), start=first):
            hashes[j].update(column)
    whole = sha256(f"setpoint rows 1 {table.n_rows} {table.width}\n".encode())
    for one in hashes:
        whole.update(one.digest())
    return whole.hexdigest()


def _of_sparse(rows: Any) -> str:
    matrix = rows.tocsr().copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    n, p = matrix.shape
    places = np.repeat(np.arange(n), np.diff(matrix.indptr)) * p + matrix.indices
    whole = sha256(f"setpoint sparse rows 1 {n} {p}\n".encode())
    whole.update(places.astype("<i8").data)
    whole.update(entry_bits(matrix.data, "X", exact=True).astype("<u8").data)
    return whole.hexdigest()


# --- Reproducible draws: one number in [0, 1) for each row ----------------------------------------


_IDENTIFIERS = 0xD1B54A32D192ED03


def row_draws(
    X: Any, *, key: int, feature_names: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """A draw in [0, 1) for each row, from a keyed hash of the row's content."""
    start, end = mix(np.array([key, key ^ _GOLDEN], dtype=np.uint64))
    names = None if feature_names is None else list(feature_names)
    frame = None if sparse.issparse(X) else frame_of(X)
    if frame is None:
        X = X if sparse.issparse(X) else rows_of(X)
        if names is not None and X.shape[-1] != len(names):
            raise InputError(f"`X` has {X.shape[-1]} columns, fit saw {len(names)}")
        if sparse.issparse(X):
            return _uniform(_sparse_sum(X, start) ^ end)
    for name in names or ():
        if frame is not None and name not in frame.columns:
            near = nearest(name, frame.columns)
            raise InputError(f"`X` has no column {name!r}, seen in fit ({near})")
    table = Pieces.of(X, names, exact=False)
    constants = _constants(start, table.width)
    total = np.zeros(table.n_rows, dtype=np.uint64)
    for rows, first, bits in table.pieces:
        own = constants[first : first + len(bits), None]
        total[rows] += _parts(bits, own).sum(axis=0, dtype=np.uint64)
    return _uniform(total ^ end)


def column_draws(values: Any, *, key: int) -> NDArray[np.float64]:
    """A draw in [0, 1) for each entry of a column of identifiers."""
    start = mix(np.array([key ^ _IDENTIFIERS], dtype=np.uint64))
    bits = entry_bits(one_column(values, "values"), "values", exact=True)
    return _uniform(bits ^ start)


def _uniform(z: Bits) -> NDArray[np.float64]:
    return np.ldexp((mix(z) >> np.uint64(11)).astype(np.float64), -53)


# ------------------------------------------------------------------------ sums over columns


def _constants(start: np.uint64, n: int) -> Bits:
    """One pseudo-random constant for each of `n` columns."""
    return mix(np.arange(1, n + 1, dtype=np.uint64) * np.uint64(_GOLDEN) + start)


def _parts(bits: Bits, constants: Bits) -> Bits:
    """What entries add to their row's sum."""
    parts = mix(bits + constants)
    parts *= bits != 0
    return parts


def _sparse_sum(X: Any, start: np.uint64) -> Bits:
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    bits = entry_bits(rows.data, "X")
    parts = _parts(bits, _constants(start, X.shape[1])[rows.indices])
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(parts, dtype=np.uint64)])
    total: Bits = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
    return total


# --- Whether rows were there in a fit: a sample of hashes of its rows -----------------------------


_KEY = 0x5E7B01D5
_MOST = 4096
"""Hashes that are kept: all of so many rows, and a random sample of more."""

_LEAST = 0.02
"""A smaller share makes no difference, and some rows are equal by chance."""

_FEWEST = 20
"""Fewer rows among the sample say nothing."""

_COPIES = 10
"""Rows that stand in a table more often than so are mostly equal by nature."""

_APART = 0.2
"""Equal rows whose labels differ by so much of what chance gives are not copies."""


@dataclass(frozen=True, eq=False)
class RowDigest:
    """Hashes of the rows of a fit below a limit: each row has the same chance."""

    hashes: Floats
    limit: float
    repeated: float
    names: tuple[str, ...] | None

    @classmethod
    def of(
        cls,
        X: Any,
        names: list[str] | None,
        weight: Floats | None = None,
        labels: Codes | None = None,
    ) -> RowDigest | None:
        """The digest of the rows of a fit; None where they hold what cannot be hashed."""
        try:
            drawn = row_draws(X, key=_KEY, feature_names=names)
        except TypeError:
            return None
        there = counted_rows(weight)
        drawn = drawn[there]
        limit = 1.0 if len(drawn) <= _MOST else _MOST / len(drawn)
        below = drawn < limit
        kept = drawn[below]
        hashes, times = np.unique(kept, return_counts=True)
        repeated = float(times[times > 1].sum() / max(len(kept), 1))
        if labels is not None and _are_copies(kept, times, labels[there][below]):
            repeated = 0.0
        return cls(hashes, limit, repeated, None if names is None else tuple(names))

    def __or__(self, other: RowDigest | None) -> RowDigest:
        """The digest of the rows of both."""
        if other is None:
            return self
        limit = min(self.limit, other.limit)
        both = np.union1d(self.hashes, other.hashes)
        return replace(self, hashes=both[both < limit], limit=limit)

    def share_of(self, X: Any, weight: Floats | None = None) -> float:
        """The share of rows that were there in the fit, beyond what repeats by nature."""
        names = None if self.names is None else list(self.names)
        drawn = row_draws(X, key=_KEY, feature_names=names)
        drawn = drawn[counted_rows(weight)]
        known = drawn[drawn < self.limit]
        if len(known) < _FEWEST:
            return 0.0
        share = float(np.isin(known, self.hashes).mean())
        # Twice what repeats: distinct people with equal rows are not yet a leak.
        return share if share > max(2.0 * self.repeated, _LEAST) else 0.0


def _are_copies(drawn: Floats, times: Codes, labels: Codes) -> bool:
    """Whether rows that repeat are copies, as a join makes them: few of each, labels and all."""
    order = np.argsort(drawn, kind="stable")
    pair = np.flatnonzero(np.diff(drawn[order]) == 0.0)
    one, other = labels[order][pair], labels[order][pair + 1]
    shares = np.bincount(one) / max(len(pair), 1)
    by_chance = 1.0 - float((shares**2).sum())
    again = np.repeat(times, times)[np.repeat(times, times) > 1]
    enough = len(pair) * by_chance >= _FEWEST and float(np.median(again)) <= _COPIES
    return enough and float((one != other).mean()) < _APART * by_chance


# --- What identifies rows -------------------------------------------------------------------------


_CONTENT_KEY = 0x5EA1ED


def rows_key(content: Floats | None, kinds: Integers) -> bytes:
    """What identifies some rows, in any order."""
    found = np.sort(kinds) if content is None else np.sort(content)
    return blake2b(found.tobytes(), digest_size=16).digest()


def content_of(X: Any) -> Floats | None:
    """A number for the content of each row."""
    if X is None:
        return None
    try:
        return row_draws(X, key=_CONTENT_KEY, feature_names=column_names(X))
    except TypeError:
        return None
