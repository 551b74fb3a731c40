"""Read a table: CSV, plain or gzipped, or Parquet, from a file or from stdin."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from setpoint.tables.columnar import as_frame, read_parquet
from setpoint.tables.delimited import Cells, read_cells
from setpoint.tables.encodings import as_utf8
from setpoint.tables.errors import TableError
from setpoint.tables.extras import needed
from setpoint.tables.kinds import Guess, guessed
from setpoint.tables.numbers import Decimal, has_mark, is_ambiguous
from setpoint.tables.sources import is_parquet, read_source, refuse_empty, refuse_other_files
from setpoint.tables.table import Table

if TYPE_CHECKING:
    from setpoint.tables.schema import Column

__all__ = ["column_names", "decimal_mark_of", "read_table"]


def read_table(
    source: str | os.PathLike[str],
    *,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    columns: Sequence[Column] | None = None,
    stdin: BinaryIO | None = None,
) -> Table:
    r"""Read a table from outside, without changing a value silently.

    Numbers with leading zeros, or with more digits than a number keeps, stay text. So does
    a column with a word among its numbers; a note says where. ISO dates become dates,
    other dates stay text. Missing is an empty field, ``NA``, ``N/A``, ``#N/A``, ``NaN``,
    ``nan``, ``null`` or ``NULL``, and nothing else.

    Parameters
    ----------
    source : path
        CSV, gzipped or not, or Parquet, known by its first bytes. "-" is stdin.
    encoding : str, optional
        None: UTF-8, or what a byte order mark says.
    separator : str, optional
        None: the comma, semicolon, tab or bar that fits the first lines best.
    decimal : {".", ","}, optional
        None: a point; or a comma, in columns where that fits every value and the separator
        is another. With a comma, dots may set thousands apart.
    columns : sequence of Column, optional
        Kinds that are known, as from training; the values decide on others.
    stdin : binary stream, optional
        What "-" reads; None: the process's own.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If the file is not a table; the message names the line or column and the remedy.
    ImportError
        If pandas or pyarrow is missing.

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
    name, data = read_source(source, stdin)
    if is_parquet(data):
        names, arrays, notes = read_parquet(data, name)
        stored = dict(zip(column_names(names, name, notes), arrays, strict=True))
        table = Table(name, as_frame(stored), tuple(notes), stored)
        table.refuse_infinite(stored)
    else:
        table = _delimited(data, name, encoding, separator, decimal, columns or ())
    return table if columns is None else _of_known_kinds(table, columns)


def _delimited(
    data: bytes,
    name: str,
    encoding: str | None,
    separator: str | None,
    decimal: str | None,
    columns: Sequence[Column],
) -> Table:
    refuse_other_files(data, name)
    data, encoded = as_utf8(data, name, encoding)
    refuse_empty(data, name)
    refuse_other_files(data[:1000], name)
    cells = read_cells(data, name, separator)
    del data
    notes = [encoded] if encoded else []
    if len(cells.names) > 1 and cells.separator != ",":
        notes.append(
            "tabs between fields" if cells.separator == "\t" else f"separator {cells.separator!r}"
        )
    names = column_names(cells.names, name, notes)
    stored = dict(zip(names, cells.columns, strict=True))
    mark: Decimal = "," if decimal == "," else "."
    if decimal is None and cells.separator != ",":
        mark = "auto"
    kinds = {column.name: column.kind for column in columns}
    guesses = {
        name: guessed(column, mark) if kinds.get(name, "number") == "number" else Guess(column)
        for name, column in stored.items()
    }
    if mark == "auto":
        mark = decimal_mark_of(name, stored, guesses, cells)
    if mark != ".":
        notes.append("decimal comma")
    # Kinds that are known are read from the text as it stands.
    guesses |= {name: Guess(stored[name]) for name in kinds if name in stored}
    typed = {column_name: guess.column for column_name, guess in guesses.items()}
    draft = Table(name, as_frame(typed), tuple(notes), stored, cells.lines, mark)
    draft.refuse_infinite(typed)
    for column_name, guess in guesses.items():
        if guess.why:
            first = ""
            if guess.row is not None:
                value = stored[column_name][guess.row].as_py()
                first = f" (first: {value!r} in {draft.place(guess.row)})"
            notes.append(f"column {column_name!r} has {guess.why}{first}, so it was read as text")
    return Table(name, draft.frame, tuple(notes), stored, cells.lines, mark)


def column_names(found: list[str], name: str, notes: list[str]) -> list[str]:
    """Names of columns, stripped, no two alike; a nameless column is called by its place."""
    names = [column.strip() for column in found]
    for i, column in enumerate(names):
        if not column:
            names[i] = f"column {i + 1}"
            notes.append(f"column {i + 1} has no name and is called {names[i]!r}")
    twice = [column for column, n in Counter(names).items() if n > 1]
    if twice:
        more = f" and {len(twice) - 5} more" if len(twice) > 5 else ""
        shown = ", ".join(map(repr, twice[:5]))
        raise TableError(
            f"{name} has more than one column named {shown}{more}; names have to differ"
        )
    return names


def decimal_mark_of(
    name: str, stored: dict[str, Any], guesses: dict[str, Guess], cells: Cells
) -> Decimal:
    """The decimal mark of a file; "auto" where columns differ.

    Raises
    ------
    TableError
        If '1.234' or '1,234' may be a thousand or a little over one, and no other value
        tells.
    """
    numbers = {column: guess for column, guess in guesses.items() if guess.decimal}
    doubtful = {c: row for c in numbers if (row := is_ambiguous(stored[c])) is not None}
    settled = {g.decimal for c, g in numbers.items() if c not in doubtful and has_mark(stored[c])}
    for column, row in doubtful.items():
        if settled == {numbers[column].decimal}:
            continue
        value = stored[column][row].as_py()
        whole = value.replace(",", "").replace(".", "")
        raise TableError(
            f"{name}, line {int(cells.lines[row])}: {value!r} in column {column!r} may be {whole} "
            "or have decimals; say which with --decimal ',' or --decimal '.'"
        )
    if settled == {",", "."}:
        return "auto"
    return "," if "," in settled else "."


def _of_known_kinds(table: Table, columns: Sequence[Column]) -> Table:
    from dataclasses import replace

    from setpoint.tables.schema import conform

    there = [column for column in columns if column.name in table.frame]
    known = conform(table, there)
    frame = table.frame.copy()
    frame[known.columns] = known
    return replace(table, frame=frame)
