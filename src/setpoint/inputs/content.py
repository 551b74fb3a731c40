"""Digests of what was given: the same wherever it is computed and whatever holds the rows.

A column is digested as the SHA-256 of its entries, 8 bytes each, little-endian, in the order of
the rows, as :mod:`setpoint.inputs.entry_bits` has them: the float64 of a number, 64 bits of the
BLAKE2b digest of a text. A table is digested as the SHA-256 of ``setpoint rows 1``, its number of
rows and of columns as decimals after a blank each, a line end, and the digests of its columns,
32 bytes each, in their order. A sparse matrix has the line ``setpoint sparse rows 1`` and, in
place of columns, its places (row by row, ascending, int64) and its entries other than zero.

Names of columns do not count, so that an array and a frame of the same entries agree, nor does
the width of a number. The order of the rows counts: folds and splits go by it, so that the same
rows in another order are another fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from setpoint.inputs.arrays import frame_of, one_column, series_of, series_values
from setpoint.inputs.dataset import Dataset
from setpoint.inputs.entry_bits import Bits, entry_bits, float_bits, rows_of

if TYPE_CHECKING:
    from setpoint.inputs.inputs import GivenRows

__all__ = ["digests_of", "rows_digest", "text_digest"]

_BLOCK = 2**16
"""Entries whose bits are made at a time: they stay in the cache."""

_MAY_NAME = ("sensitive_features", "baseline")
"""Arguments that may name columns of X, or be a model, in place of values."""

_PARTS = ("X", "y", "sample_weight", "sensitive_features", "baseline")


def text_digest(text: str) -> str:
    """The SHA-256 of a text in UTF-8, in hexadecimal digits, after ``sha256:``.

    Examples
    --------
    >>> text_digest("maximize recall")
    'sha256:a255d1adef492bfc40d077b53fa804e0e25ff3c78eb22934512e00829281f126'
    """
    return f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def rows_digest(rows: Any) -> str | None:
    """The digest of a table or a column; None where it holds what has no canonical bytes.

    Examples
    --------
    >>> import pandas as pd
    >>> X = [[1.0, 2.5], [0.0, -1.0]]
    >>> rows_digest(X) == rows_digest(pd.DataFrame(X, columns=["age", "gain"], dtype="float32"))
    True
    >>> rows_digest(X) == rows_digest(X[::-1])
    False
    """
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
    n, columns = _columns(rows)
    whole = sha256(f"setpoint rows 1 {n} {len(columns)}\n".encode())
    for digest in columns:
        whole.update(digest)
    return whole.hexdigest()


def _columns(rows: Any) -> tuple[int, list[bytes]]:
    """The number of rows, and the digest of each column."""
    if isinstance(rows, Mapping):
        found = [_column(one_column(values, "column")) for values in rows.values()]
        sizes = {n for n, _ in found}
        return max(sizes, default=0), [digest for _, digest in found]
    frame = None if series_of(rows) is not None else frame_of(rows)
    if frame is not None:
        values = (series_values(frame.get_column(name)) for name in frame.columns)
        return len(frame), [_column(v)[1] for v in values]
    array = rows_of(rows)
    if array.dtype.kind not in "bf" and not (array.dtype.kind in "iu" and array.itemsize <= 4):
        return len(array), [_column(array[:, j])[1] for j in range(array.shape[1])]
    hashes = [sha256() for _ in range(array.shape[1])]
    for bits in _blocks(array):
        for one, column in zip(hashes, bits, strict=True):
            one.update(column)
    return len(array), [one.digest() for one in hashes]


def _blocks(array: NDArray[Any]) -> Iterator[Bits]:
    """The canonical bits of numbers (p, rows of a block), a column each line."""
    step = max(1, _BLOCK // max(1, array.shape[1]))
    for start in range(0, len(array), step):
        block = np.ascontiguousarray(float_bits(array[start : start + step]).T)
        yield block.astype("<u8", copy=False)


def _column(values: NDArray[Any]) -> tuple[int, bytes]:
    bits = entry_bits(values, "column", exact=True)
    return len(bits), sha256(np.ascontiguousarray(bits, "<u8").data).digest()


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
