"""From a frame to the source that counts it."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from setpoint.counting.source import Source
from setpoint.errors import InputTypeError

__all__ = ["is_lazy", "source_of"]


def is_lazy(frame: Any) -> bool:
    """Whether something is a frame whose rows lie elsewhere: a relation, a lazy or a dask frame.

    Examples
    --------
    >>> is_lazy([0.2, 0.7])
    False
    """
    if isinstance(frame, (list, tuple, str, dict)) or hasattr(frame, "__array_interface__"):
        return False
    return isinstance(nw.from_native(frame, pass_through=True), nw.LazyFrame)


def source_of(frame: Any) -> Source:
    """The source of a lazy frame, or a source as it is."""
    if hasattr(frame, "recount"):
        source: Source = frame
        return source
    from setpoint.counting.frames import ENGINES, LazyFrames

    lazy = nw.from_native(frame, pass_through=True)
    if isinstance(lazy, nw.LazyFrame) and lazy.implementation.is_dask():
        from setpoint.counting.partitions import Partitions

        return Partitions(nw.to_native(lazy))
    if not isinstance(lazy, nw.LazyFrame) or lazy.implementation not in ENGINES:
        raise InputTypeError(
            f"a lazy frame is wanted (a DuckDB relation, a Polars LazyFrame, a dask DataFrame), "
            f"found {type(frame).__name__}"
        )
    return LazyFrames(lazy.to_native())
