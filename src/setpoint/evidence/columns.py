"""Columns of side information: distinct values and a code a row, found once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes

__all__ = ["Column", "compress", "factorize"]


_DENSE = 1_000_000
"""Up to this many combinations are compressed by counting instead of by sorting."""


class Column:
    """A column with its distinct values and each row's place among them.

    Examples
    --------
    >>> column = Column(np.array(["bb", "a", "bb"]))
    >>> column.levels, column.codes
    (['bb', 'a'], array([0, 1, 0]))
    >>> column.take(np.array([1])).values.tolist()
    ['a']
    """

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @property
    def levels(self) -> list[Any]:
        """The distinct values; after :meth:`take` some may belong to no row."""
        return self._factored[0]

    @property
    def codes(self) -> Codes:
        """For each row (N,) the place of its value among the levels."""
        return self._factored[1]

    @cached_property
    def _factored(self) -> tuple[list[Any], Codes]:
        return factorize(self.values)

    def take(self, rows: NDArray[Any]) -> Column:
        """Some of the rows, by index or mask."""
        out = Column(self.values[rows])
        if "_factored" in vars(self):
            vars(out)["_factored"] = (self.levels, self.codes[rows])
        return out


def factorize(values: NDArray[Any]) -> tuple[list[Any], Codes]:
    """The distinct values of a column, and each row's place among them.

    Examples
    --------
    >>> factorize(np.array(["b", "a", "b"], dtype=object))
    (['b', 'a'], array([0, 1, 0]))
    """
    kind = values.dtype.kind
    if kind == "U" and values.itemsize == 4 and values.dtype.isnative:
        # One character a row is a number: that of the character, 0 for no character.
        letters, codes = compress(np.ascontiguousarray(values).view(np.uint32).astype(np.int64))
        return [chr(c) if c else "" for c in letters.tolist()], codes
    if kind in "biu":
        codes = values.astype(np.int64)
        low = int(codes.min()) if codes.size else 0
        if codes.size and int(codes.max()) - low < _DENSE:
            present, codes = compress(codes - low, int(codes.max()) - low + 1)
            levels = (present + low).astype(values.dtype)
            return levels.tolist(), codes
    if kind in "OU":
        place: dict[Any, int] = {}
        rows = values.tolist()
        for v in dict.fromkeys(rows):
            place[v] = len(place)
        return list(place), np.fromiter(map(place.__getitem__, rows), np.int64, len(rows))
    found, inverse = np.unique(values, return_inverse=True)
    return found.tolist(), inverse.astype(np.int64).ravel()


def compress(codes: Codes, size: int | None = None) -> tuple[Codes, Codes]:
    """The codes that occur, ascending, and each row's place among them."""
    if size is None:
        size = int(codes.max(initial=0)) + 1
    if size == 1:
        return codes[:1], codes
    if size > _DENSE:
        present, inverse = np.unique(codes, return_inverse=True)
        return present, inverse.astype(np.int64).ravel()
    seen = np.bincount(codes, minlength=size) > 0
    if seen.all():
        return np.arange(size), codes
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[codes]
