"""Columns of text as a matrix of fixed width: numbers in places of their own, text hashed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import murmurhash3_32

from setpoint.array_types import Floats
from setpoint.tables.extras import needed
from setpoint.tables.kinds import KIND_MESSAGES, as_kind
from setpoint.tables.schema import Column
from setpoint.tables.transformers import date_parts

__all__ = ["HASHED", "StreamEncoder"]


HASHED = 2**16
"""Places that values of text share."""

_WIDTHS = {"number": 1, "boolean": 1, "date": 3, "category": 0}
_ZONE = r"[T ].*(Z|[+-]\d{2}(:?\d{2})?)$"

_LARGEST = 2**53  # integers from here on are not distinct in float64
_CODE = r"^(0\d|[+-]?\d{16,}$)"


class StreamEncoder:
    """From columns to features, the same for every row of a stream and in every process.

    A number has a place of its own, and one that is 1 where it is missing; so has a column
    of true and false. A date has three (days since 1970, month, weekday) and one for
    missing. A value of a text column, or its being missing, is hashed by MurmurHash3 into
    65,536 places that all text columns share; two values may meet there.

    Attributes
    ----------
    codes : dict of int to str
        Rows of the last ones with a number that looks like a code, and what it is: the
        first one that this encoder met, to be noted once.

    Examples
    --------
    >>> import pyarrow as pa
    >>> encoder = StreamEncoder([Column("age", "number")])
    >>> X, misfits = encoder.encode({"age": pa.chunked_array([["31", None, "x"]])})
    >>> X
    array([[31.,  0.],
           [ 0.,  1.],
           [ 0.,  1.]])
    >>> misfits
    {2: "column 'age': 'x' is not a number, as it was in the first rows"}
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        self._hashed = [column.name for column in columns if column.kind == "category"]
        self._width = sum(_WIDTHS[c.kind] + 1 for c in columns if c.kind != "category")
        self.n_features = self._width + (HASHED if self._hashed else 0)
        self.codes: dict[int, str] = {}
        self._has_met_codes = False

    def encode(
        self, text: Mapping[str, Any]
    ) -> tuple[Floats | sparse.csr_array[np.float64], dict[int, str]]:
        """The features of some rows.

        Parameters
        ----------
        text : mapping of str to pyarrow.ChunkedArray
            Null where missing.

        Returns
        -------
        X : array or csr_array of shape (N, n_features)
            Sparse where there are columns of text.
        misfits : dict of int to str
            Rows with a value that is not of its column's kind, and what is wrong with the
            first one; it counts as missing in `X`.
        """
        n_rows = len(next(iter(text.values()))) if text else 0
        misfits: dict[int, str] = {}
        self.codes = {}
        own, at = np.zeros((n_rows, self._width)), 0
        for column in self.columns:
            if column.kind == "category":
                continue
            values, wrong = _values(text[column.name], column)
            for row, what in wrong.items():
                misfits.setdefault(row, what)
            if column.kind == "number" and not self._has_met_codes:
                self.codes = _codes(text[column.name], values[:, 0], column.name)
                self._has_met_codes = bool(self.codes)
            stop = at + values.shape[1]
            gone = np.isnan(values[:, 0])
            own[:, at:stop] = np.where(gone[:, None], 0.0, values)
            own[:, stop] = gone
            at = stop + 1
        if not self._hashed:
            return own, misfits
        places = np.stack([_places(text[name], name) for name in self._hashed], axis=1)
        ends = np.arange(n_rows + 1, dtype=np.int64) * places.shape[1]
        shape = (n_rows, HASHED)
        hashed = sparse.csr_array((np.ones(places.size), places.ravel(), ends), shape=shape)
        X = sparse.hstack([sparse.csr_array(own), hashed], format="csr")
        X.sum_duplicates()  # sorts too: a row is the same in every batch
        return X, misfits


def _values(text: Any, column: Column) -> tuple[Floats, dict[int, str]]:
    """Numbers of shape (N, k), NaN where missing or wrong; and what is wrong, by row."""
    wrong: dict[int, str] = {}
    read = _read(text, column)
    if read is None:
        rows = _misfits(text, column, 0, len(text))
        wrong = {
            row: f"column {column.name!r}: {text[row].as_py()!r} is {KIND_MESSAGES[column.kind]}, "
            "as it was in the first rows"
            for row in rows
        }
        pa, pc = needed("pyarrow"), needed("pyarrow.compute")
        mask = np.zeros(len(text), dtype=bool)
        mask[rows] = True
        text = pc.if_else(pa.array(mask), pa.scalar(None, pa.string()), text)
        read = _read(text, column)
        assert read is not None
    if column.kind == "date":
        return date_parts(read), wrong
    infinite = np.isinf(read)
    for row in np.flatnonzero(infinite).tolist():
        wrong[row] = f"column {column.name!r} holds an infinite number, {text[row].as_py()!r}"
    return np.where(infinite, np.nan, read)[:, None], wrong


def _codes(text: Any, numbers: Floats, name: str) -> dict[int, str]:
    """The first row of a column of numbers whose value a number does not hold as it is."""
    pc = needed("pyarrow.compute")
    zeros = np.asarray(pc.fill_null(pc.starts_with(text, "0"), False))
    # Most that begin with 0 are below 1; that "00" is let pass with them saves most of the time.
    rows = np.flatnonzero((zeros & (numbers >= 1)) | (np.abs(numbers) >= _LARGEST))
    if not len(rows):
        return {}
    at = int(pc.index(pc.match_substring_regex(text.take(rows), _CODE), True).as_py())
    if at < 0:
        return {}
    row = int(rows[at])
    return {
        row: f"column {name!r}: {text[row].as_py()!r} looks like a code and is learnt as a number, "
        f"as in the first rows; `text={name!r}` keeps it as text, from the beginning of "
        "a stream on"
    }


def _read(text: Any, column: Column) -> NDArray[Any] | None:
    """A column as floats or times, or None where a value is not of its kind."""
    if column.kind == "date":
        return _times(text)
    pa, pc = needed("pyarrow"), needed("pyarrow.compute")
    if column.kind == "number" and column.decimal == ".":
        # The plain case on a short way: of a stream every batch comes by here.
        with suppress(pa.ArrowInvalid):
            plain = pc.cast(text, "double").to_numpy()
            if np.count_nonzero(np.isnan(plain)) == text.null_count:
                return np.asarray(plain)
    read = as_kind(text, column.kind, column.decimal)
    return None if read is None else np.asarray(read.cast(pa.float64(), safe=False).to_numpy())


def _times(text: Any) -> NDArray[Any] | None:
    """Dates, those with a zone in UTC: a column may hold both, as its batches may."""
    pa, pc = needed("pyarrow"), needed("pyarrow.compute")
    zoned = pc.fill_null(pc.match_substring_regex(text, _ZONE), False)
    times = np.full(len(text), np.datetime64("NaT", "us"))
    for chosen in (zoned, pc.invert(zoned)):
        read = as_kind(text.filter(chosen), "date")
        if read is None:
            return None
        times[np.asarray(chosen)] = read.cast(pa.timestamp("us"), safe=False).to_numpy()
    return times


def _misfits(text: Any, column: Column, start: int, stop: int) -> list[int]:
    """The rows of a column that are not of its kind: by halving."""
    if _read(text.slice(start, stop - start), column) is not None:
        return []
    if stop - start == 1:
        return [start]
    middle = (start + stop) // 2
    return [*_misfits(text, column, start, middle), *_misfits(text, column, middle, stop)]


def _places(text: Any, name: str) -> NDArray[np.int64]:
    """Where the values of a column are hashed to."""
    seed = murmurhash3_32(name.encode(), positive=True)
    coded = text.combine_chunks().dictionary_encode()
    # No value is the empty text: that is missing.
    values = [*coded.dictionary.to_pylist(), ""]
    places = [murmurhash3_32(v.encode(), seed=seed, positive=True) % HASHED for v in values]
    index = coded.indices.fill_null(len(values) - 1).to_numpy()
    found: NDArray[np.int64] = np.array(places)[index]
    return found
