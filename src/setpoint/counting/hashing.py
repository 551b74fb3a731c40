"""A hash of all that a row holds, by the engine that has the row: it says on which side rows lie.

All columns count, also those that nobody asked for: an identifier among them distinguishes rows
that are alike otherwise. NULL and NaN are values like others. The order of the columns is part of
the hash, that of the rows and how an engine cuts them is not.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from setpoint.array_types import Floats
from setpoint.counting.source import no_hash

__all__ = ["hash_below", "hashes_of"]

_ALL = 2**64


def hash_below(
    frame: nw.LazyFrame[Any], engine: str, share: float, key: int
) -> tuple[nw.LazyFrame[Any], nw.LazyFrame[Any]]:
    """The rows whose hash lies below a share, and all others.

    Parameters
    ----------
    frame : narwhals LazyFrame
    engine : str
        What messages call it.
    share : float
        In (0, 1).
    key : int
        In [0, 2^63).

    Raises
    ------
    TypeError
        If the engine does not hash rows.
    """
    native, limit = nw.to_native(frame), _limit(share)
    if frame.implementation == nw.Implementation.DUCKDB:
        below = f"{_in_sql(frame, key)} < CAST({limit} AS UBIGINT)"
        parts = native.filter(below), native.filter(f"NOT ({below})")
    else:
        hashed = _in_polars(frame, engine, key)
        parts = native.filter(hashed < limit), native.filter(hashed >= limit)
    first, second = (nw.from_native(part) for part in parts)
    return first, second


def hashes_of(frame: nw.LazyFrame[Any], engine: str, below: float, key: int) -> Floats:
    """The hashes, in any order, of all rows whose hash lies below a number, as parts of 1.

    Raises
    ------
    TypeError
        If the engine does not hash rows.
    """
    native = nw.to_native(frame)
    if frame.implementation == nw.Implementation.DUCKDB:
        found = native.project(f"{_in_sql(frame, key)} AS h")
        if below < 1.0:
            found = found.filter(f"h < CAST({_limit(below)} AS UBIGINT)")
        values = found.fetchnumpy()["h"]
    else:
        hashed = _in_polars(frame, engine, key)
        chosen = native.select(h=hashed)
        if below < 1.0:
            chosen = native.filter(hashed < _limit(below)).select(h=hashed)
        values = chosen.collect()["h"].to_numpy()
    return np.asarray(values, np.float64) / float(_ALL)


def _limit(share: float) -> int:
    return min(int(share * _ALL), _ALL - 1)


def _in_sql(frame: nw.LazyFrame[Any], key: int) -> str:
    quoted = ['"' + name.replace('"', '""') + '"' for name in frame.collect_schema()]
    # Once more: a hash of several values is less mixed than that of one.
    return f"hash(hash({', '.join([str(key), *quoted])}))"


def _in_polars(frame: nw.LazyFrame[Any], engine: str, key: int) -> Any:
    if frame.implementation != nw.Implementation.POLARS:
        raise no_hash(engine)
    polars: Any = import_module("polars")
    return polars.struct(polars.all()).hash(key)
