"""Read a table: CSV, plain or gzipped, Parquet or a workbook, from a file or from stdin."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO

from setpoint.tables.errors import TableError
from setpoint.tables.excel import read_excel
from setpoint.tables.extras import needed
from setpoint.tables.kinds import Guess, guesses_of, notes_of
from setpoint.tables.parquet import read_parquet
from setpoint.tables.reader import Reader
from setpoint.tables.records import FILL_UP, Rows
from setpoint.tables.schema import Column
from setpoint.tables.table import Table, as_frame, read_column
from setpoint.tables.text import Source

__all__ = ["read_table"]


def read_table(
    source: str | os.PathLike[str],
    *,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    columns: Sequence[Column] | None = None,
    stdin: BinaryIO | None = None,
) -> Table:
    r"""Read a table from outside, without changing a value silently.

    Examples
    --------
    >>> import io
    >>> table = read_table("-", stdin=io.BytesIO(b"zip;rate\n01067;1,5\n80331;\n"))
    >>> table.frame["zip"].tolist(), table.frame["rate"].tolist()
    (['01067', '80331'], [1.5, nan])
    >>> for note in table.notes:
    ...     note
    "separator ';'"
    'decimal comma'
    "column 'zip' has leading zeros, so it was read as text"
    """
    for package in ("pandas", "pyarrow"):
        needed(package)
    if decimal not in (None, ".", ","):
        raise TableError(f"the decimal mark is '.' or ',', got {decimal!r}")
    opened = Source(source, stdin=stdin)
    if sheet is not None and not opened.is_excel:
        raise TableError(f"`sheet` is one of an Excel workbook, and {opened.name} is not one")
    if opened.is_parquet:
        table = _as_known(read_parquet(opened.read(), opened.name), columns or ())
    elif opened.is_excel:
        table = _as_known(read_excel(opened.read(), opened.name, sheet), columns or ())
    else:
        reader = Reader(opened, encoding=encoding, separator=separator)
        table = _table_of(reader, decimal, columns or ())
    return table


def _as_known(table: Table, columns: Sequence[Column]) -> Table:
    """A table with some of its columns read as kinds that are known."""
    known = [column for column in columns if column.name in table.frame]
    if not known:
        return table
    read = {column.name: read_column(table, column) for column in known}
    frame = as_frame({**(table.columns or {}), **read})
    return replace(table, frame=frame, kinds={column.name: column.kind for column in known})


def _table_of(reader: Reader, decimal: str | None, columns: Sequence[Column]) -> Table:
    known = [column for column in columns if column.name in reader.names]
    # Kinds that are known are read as such below; until then numbers only tell the decimal mark.
    settled = decimal is not None or reader.separator == ","
    points = settled and decimal != ","
    numbers = {column.name for column in known if points and column.kind == "number"}
    rows, stored = reader.rows(numbers)
    _refuse_bad(rows, reader.name)
    floats = dict(zip(reader.names, rows.columns, strict=True))
    types = needed("pyarrow.types")
    floats = {name: found for name, found in floats.items() if types.is_floating(found.type)}
    guesses, mark = guesses_of(
        {name: stored[name] for name in reader.names if name not in floats},
        rows.lines,
        reader.name,
        separator=reader.separator,
        decimal=decimal,
        as_text=[column.name for column in known if settled or column.kind != "number"],
    )
    guesses |= {c.name: Guess(stored[c.name]) for c in known if c.name not in floats}
    notes = [*reader.notes, *(["decimal comma"] if mark != "." else [])]
    notes += notes_of(guesses, stored, rows.lines)
    typed = {name: guess.column for name, guess in guesses.items()}
    bare = needed("pandas").DataFrame(index=range(len(rows.lines)))
    table = Table(reader.name, bare, tuple(notes), stored, rows.lines, mark)
    table.refuse_infinite(typed)
    for column in known:
        if column.name in floats:
            table.refuse_infinite({column.name: floats[column.name]})
            typed[column.name] = floats[column.name]
        else:
            typed[column.name] = read_column(table, column)
    kinds = {name: guess.kind for name, guess in guesses.items() if guess.decimal in ("", mark)}
    kinds |= {column.name: column.kind for column in known}
    frame = as_frame({name: typed[name] for name in reader.names})
    return replace(table, frame=frame, kinds=kinds)


def _refuse_bad(rows: Rows, name: str) -> None:
    """Refuse a table in which a record is not a row."""
    if not rows.bad:
        return
    first, n_more = rows.bad[0], len(rows.bad) - 1
    if not first.n_fields:
        raise TableError(f"{name}, {first}")
    more = f" (and so in {n_more} more rows)" if n_more else ""
    remedy = first.remedy
    if remedy == FILL_UP and not n_more and not (rows.lines > first.line).any():
        remedy = "the file may be cut short"
    raise TableError(
        f"{name}, line {first.line}: {first.what}{more}; {remedy}, or name another separator with "
        "`separator`"
    )
