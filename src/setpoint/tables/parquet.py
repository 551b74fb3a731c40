"""Parquet files: whole, or some rows at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setpoint.tables.errors import TableError
from setpoint.tables.extras import needed
from setpoint.tables.schema import column_names
from setpoint.tables.table import Table, absent, as_frame, plain_column

if TYPE_CHECKING:
    from setpoint.tables.schema import Column

__all__ = ["parquet_batches", "read_parquet"]

INDEX = re.compile(r"__index_level_\d+__")
"""The column in which pandas stores an index."""


def read_parquet(data: bytes, name: str) -> Table:
    """The rows of a Parquet file."""
    pa, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    with _undamaged(name):
        # In this thread: others that are still busy after an error abort a process that ends,
        # and on bytes in memory they save no time.
        whole = parquet.read_table(pa.BufferReader(data), use_threads=False, pre_buffer=False)
    if not whole.num_rows:
        raise TableError(f"{name} has columns and no rows")
    return _table_of(whole, name)


def _table_of(whole: Any, name: str) -> Table:
    """An Arrow table without the index that pandas stored."""
    own = [raw for raw in whole.column_names if not INDEX.fullmatch(raw)]
    notes = ["without the index that pandas stored"] * (whole.num_columns - len(own))
    columns = [
        plain_column(column, raw, name)
        for raw, column in zip(whole.column_names, whole.columns, strict=True)
        if not INDEX.fullmatch(raw)
    ]
    stored = dict(zip(column_names(own, name, notes), columns, strict=True))
    table = Table(name, as_frame(stored), tuple(notes), stored)
    table.refuse_infinite(stored)
    return table


@contextmanager
def _undamaged(name: str) -> Iterator[None]:
    pa = needed("pyarrow")
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise TableError(
            f"{name} is a damaged Parquet file, or was cut short ({reason}); copy it again"
        ) from None


_ROWS = 1 << 16
"""Rows at a time."""

Chosen = Callable[[Sequence[str], str], Sequence[str]]


def parquet_batches(
    path: str | os.PathLike[str],
    columns: Sequence[Column],
    more: Chosen = lambda _names, _name: (),
    *,
    rows: int | None = None,
) -> Iterator[Table]:
    """The rows of a Parquet file, some at a time, of some columns."""
    name = Path(path).name
    with _undamaged(name), needed("pyarrow.parquet").ParquetFile(path) as file:
        raw, notes = list(file.schema_arrow.names), list[str]()
        names = dict(zip(column_names(raw, name, notes), raw, strict=True))
        missing = [c.name for c in columns if c.name not in names]
        if missing:
            frame = needed("pandas").DataFrame(columns=list(names))
            raise TableError(absent(Table(name, frame), missing))
        if not file.metadata.num_rows:
            raise TableError(f"{name} has columns and no rows")
        wanted = dict.fromkeys([*(c.name for c in columns), *more(list(names), name)])
        first = 0
        # Without threads: those of a file left half-way abort a process that ends.
        for batch in file.iter_batches(
            rows or _ROWS, columns=[names[own] for own in wanted], use_threads=False
        ):
            if batch.num_rows:
                yield _table(batch, {own: names[own] for own in wanted}, name, notes, first)
                first += batch.num_rows


def _table(batch: Any, names: dict[str, str], name: str, notes: list[str], first: int) -> Table:
    pa = needed("pyarrow")
    place = {raw: i for i, raw in enumerate(batch.schema.names)}
    stored = {
        own: plain_column(pa.chunked_array([batch.column(place[raw])]), own, name)
        for own, raw in names.items()
    }
    table = Table(name, as_frame(stored), tuple(notes), stored, first=first)
    table.refuse_infinite(stored)
    return table
