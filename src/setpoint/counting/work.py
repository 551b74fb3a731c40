"""What is done to every row of a lazy frame, and its rows as they come.

The few places where an engine goes a way of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import narwhals.stable.v2 as nw

__all__ = ["Work", "streamed"]

BATCH = 2**17
"""Rows of a batch, where the engine leaves it open."""


@dataclass(frozen=True, eq=False)
class Work:
    """Expressions that need no row but their own, one step after another.

    Parameters
    ----------
    steps : tuple of (method of a frame, its expressions)
    """

    steps: tuple[tuple[str, tuple[nw.Expr, ...]], ...] = ()

    def then(self, method: Literal["select", "filter", "with_columns"], *exprs: nw.Expr) -> Work:
        """One step more."""
        return Work((*self.steps, (method, exprs)))

    def on(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """The frame after these steps."""
        if frame.implementation != nw.Implementation.DASK:
            done = self._done(frame)
        else:
            # A graph of each expression is planned more slowly than it is computed.
            done = nw.to_native(frame).map_partitions(self)
        lazy: nw.LazyFrame[Any] = nw.from_native(done)
        return lazy

    def __call__(self, rows: Any) -> Any:
        """The same for an eager frame: a partition."""
        return self._done(nw.from_native(rows, eager_only=True))

    def _done(self, frame: Any) -> Any:
        for method, exprs in self.steps:
            frame = getattr(frame, method)(*exprs)
        return nw.to_native(frame)


def streamed(frame: nw.LazyFrame[Any]) -> Iterator[nw.DataFrame[Any]]:
    """The rows as eager frames, where the engine can without having all of them at once."""
    native = nw.to_native(frame)
    implementation = frame.implementation
    if implementation == nw.Implementation.DUCKDB:
        pa: Any = import_module("pyarrow")
        reader = getattr(native, "to_arrow_reader", None) or native.fetch_record_batch
        for batch in reader(BATCH):
            yield nw.from_native(pa.Table.from_batches([batch]), eager_only=True)
    elif implementation == nw.Implementation.DASK:
        for k in range(native.npartitions):
            yield nw.from_native(native.partitions[k].compute(), eager_only=True)
    elif implementation == nw.Implementation.POLARS and hasattr(native, "collect_batches"):
        for batch in native.collect_batches(maintain_order=True):
            yield nw.from_native(batch, eager_only=True)
    else:
        whole = frame.collect()
        for start in range(0, len(whole), BATCH):
            yield whole[start : start + BATCH]
