"""Parquet files: whole, some rows at a time, or a sample of some."""

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

__all__ = ["parquet_batches", "parquet_sample", "read_parquet"]

INDEX = re.compile(r"__index_level_\d+__")
"""The column in which pandas stores an index."""


def read_parquet(data: bytes, name: str) -> Table:
    """The rows of a Parquet file.

    Parameters
    ----------
    name : str
        What messages call the file.

    Raises
    ------
    TableError
        If the file is damaged, has no rows, or has columns of lists and the like.
    """
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

_FILES = 8
"""So many files are looked at, from the first to the last: a column may be constant in each."""

Chosen = Callable[[Sequence[str], str], Sequence[str]]


def parquet_batches(
    path: str | os.PathLike[str],
    columns: Sequence[Column],
    more: Chosen = lambda _names, _name: (),
    *,
    rows: int | None = None,
) -> Iterator[Table]:
    """The rows of a Parquet file, some at a time, of some columns.

    Parameters
    ----------
    path : path
    columns : sequence of Column
        Those that have to be there, with the kinds that they are known to have.
    more : callable
        From the file's columns and its name to others that are wanted.
    rows : int, optional
        So many at a time; None: 65,536.

    Yields
    ------
    Table
        Places of rows are those in the file.

    Raises
    ------
    TableError
        If the file is damaged, lacks a column, has no rows, or holds what a table does not.
    """
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


def parquet_sample(paths: Sequence[str], name: str, rows: int = 100_000) -> tuple[Table, int]:
    """Some rows of Parquet files with the same columns, from the beginning of a few of them.

    Parameters
    ----------
    paths : sequence of path
    name : str
        What messages call them.
    rows : int
        At most so many in all.

    Returns
    -------
    sample : Table
        Without the index that pandas stored.
    n_first : int
        So many of its rows follow each other in one file.

    Raises
    ------
    TableError
        If a file is damaged, there are no rows, names of columns do not stand alone, or a column
        holds what a table does not.
    """
    pa, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    n = min(len(paths), _FILES)
    chosen = sorted({round(i * (len(paths) - 1) / max(n - 1, 1)) for i in range(n)})
    parts, path = [], ""
    try:
        for path in (paths[i] for i in chosen):
            with parquet.ParquetFile(path) as file:
                batch = next(file.iter_batches(max(rows // n, 1), use_threads=False), None)
                if batch is not None and batch.num_rows:
                    parts.append(pa.Table.from_batches([batch]).replace_schema_metadata())
        whole = pa.concat_tables(parts, promote_options="permissive") if parts else None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise TableError(
            f"{path} is not a Parquet file, is damaged, or was cut short ({reason})"
        ) from None
    if whole is None:
        raise TableError(f"{name}: {path} has columns and no rows")
    for raw in whole.column_names:
        if raw != raw.strip() or not raw:
            raise TableError(
                f"{name}: the column {raw!r} has blanks around its name, or none; rename it"
            )
    return _table_of(whole, name), parts[0].num_rows
