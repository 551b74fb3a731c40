"""Reproducible draws: one number in [0, 1) for each row, from what the row holds.

A randomised rule needs a draw for each row. Drawn from a keyed hash of the row's
content, it is the same whatever batch the row comes in and on every machine, and it
cannot be foreseen without the key.

Every entry becomes 64 bits, see :mod:`setpoint.inputs.entry_bits`. The entry in column j is
mixed with that column's constant and the results are added modulo 2^64, a zero adding nothing,
so that sparse and dense agree; then the sum is mixed once more. The mixer is the finaliser of
SplitMix64 (Steele, Lea and Flood, 2014; Stafford's variant 13).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from setpoint.errors import InputError
from setpoint.goals.errors import nearest
from setpoint.inputs.arrays import frame_of, one_column, series_values
from setpoint.inputs.entry_bits import Bits, entry_bits, float_bits, mix, rows_of

__all__ = ["column_draws", "row_draws"]

_ALL = 2**64 - 1
_IDENTIFIERS = 0xD1B54A32D192ED03
_GOLDEN = 0x9E3779B97F4A7C15
_BLOCK = 2**16  # entries mixed at a time: they stay in the cache


def row_draws(
    X: Any, *, key: int, feature_names: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """A draw in [0, 1) for each row, from a keyed hash of the row's content.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.5, -1.0], [1.0, 0.0]])
    >>> u = row_draws(X, key=7)
    >>> bool(u[0] == u[2] != u[1])
    True
    >>> bool(row_draws([[1, 0]], key=7)[0] == u[0])
    True
    """
    start, end = mix(np.array([_checked(key), _checked(key) ^ _GOLDEN], dtype=np.uint64))
    frame = frame_of(X)
    if frame is not None:
        total = _frame_sum(frame, start, feature_names)
    elif sparse.issparse(X):
        matrix: Any = X
        _check_width(matrix.shape, feature_names)
        total = _sparse_sum(matrix, start)
    else:
        array = rows_of(X)
        _check_width(array.shape, feature_names)
        total = _array_sum(array, start)
    return _uniform(total ^ end)


def column_draws(values: Any, *, key: int) -> NDArray[np.float64]:
    """A draw in [0, 1) for each entry of a column of identifiers.

    Examples
    --------
    >>> u = column_draws(["ann", "bob", "ann"], key=1)
    >>> bool(u[0] == u[2] != u[1])
    True
    """
    start = mix(np.array([_checked(key) ^ _IDENTIFIERS], dtype=np.uint64))
    bits = entry_bits(one_column(values, "values"), "values", exact=True)
    return _uniform(bits ^ start)


def _checked(key: int) -> int:
    number = operator.index(key)
    if not 0 <= number <= _ALL:
        raise InputError(f"key must be in [0, 2**64), found {number}")
    return number


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


def _array_sum(array: NDArray[Any], start: np.uint64) -> Bits:
    n, p = array.shape
    constants = _constants(start, p)
    total = np.zeros(n, dtype=np.uint64)
    if array.dtype.kind in "biuf":
        step = max(1, _BLOCK // max(1, p))
        for i in range(0, n, step):
            bits = float_bits(array[i : i + step])
            total[i : i + step] = _parts(bits, constants).sum(axis=1, dtype=np.uint64)
    else:
        for j in range(p):
            total += _parts(entry_bits(array[:, j], f"column {j} of X"), constants[j : j + 1])
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
        total += _parts(entry_bits(values, f"column {name!r} of X"), constants[j : j + 1])
    return total


def _sparse_sum(X: Any, start: np.uint64) -> Bits:
    if X.ndim != 2:
        raise InputError(f"`X` is sparse of shape {X.shape}; rows and columns are expected")
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    bits = entry_bits(rows.data, "X")
    parts = _parts(bits, _constants(start, X.shape[1])[rows.indices])
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(parts, dtype=np.uint64)])
    total: Bits = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
    return total


def _check_width(shape: tuple[int, ...], feature_names: Sequence[str] | None) -> None:
    if feature_names is not None and shape[-1] != len(feature_names):
        raise InputError(f"`X` has {shape[-1]} columns, fit saw {len(feature_names)}")
