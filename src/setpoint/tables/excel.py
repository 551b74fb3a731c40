"""A sheet of an Excel workbook as a table."""

from __future__ import annotations

import io
import zipfile
import zlib
from importlib.util import find_spec
from typing import Any

from setpoint.goals.errors import nearest
from setpoint.tables.errors import TableError
from setpoint.tables.extras import needed
from setpoint.tables.numbers import MISSING
from setpoint.tables.schema import column_names
from setpoint.tables.table import Table, as_frame, plain_column

__all__ = ["FIRST", "read_excel"]

FIRST = "read the first of the sheets"
"""How the note on a sheet that nobody named begins."""

_DAMAGED = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, IndexError, ValueError, TypeError,
    AttributeError, SyntaxError,
)  # fmt: skip
"""What zip, XML and openpyxl raise at files that they cannot read."""


def read_excel(data: bytes, name: str, sheet: str | None = None) -> Table:
    """A sheet, whose first row that is not empty holds the names of the columns."""
    if find_spec("openpyxl") is None:
        raise TableError(
            f"{name} is not a table: it looks like an Excel file; save it as CSV, or have it read "
            "with pip install openpyxl"
        )
    try:
        book = needed("openpyxl").load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheets = {one.title: one for one in book.worksheets}
        title = next(iter(sheets)) if sheet is None else sheet
        rows = [[_value(cell) for cell in row] for row in getattr(sheets.get(title), "values", ())]
    except _DAMAGED as error:
        reason = " ".join(str(error).split())
        raise TableError(
            f"{name} is a damaged Excel file, or was cut short ({reason}); save it as CSV"
        ) from None
    if title not in sheets:
        raise TableError(f"`sheet`: {name} has no sheet {title!r} ({nearest(title, sheets)})")
    notes = []
    if sheet is None and len(sheets) > 1:
        notes.append(f"{FIRST} {', '.join(map(repr, sheets))}; `sheet` names another")
    head = next((i for i, row in enumerate(rows) if any(v is not None for v in row)), 0)
    body = rows[head + 1 :]
    while body and all(value is None for value in body[-1]):
        body.pop()
    if not body:
        raise TableError(f"{name}: the sheet {title!r} has no rows below its column names")
    width = max(len(row) for row in rows)
    columns = [[row[i] if i < len(row) else None for row in rows[head:]] for i in range(width)]
    columns = [column[: len(body) + 1] for column in columns if any(v is not None for v in column)]
    names = column_names(["" if c[0] is None else str(c[0]) for c in columns], name, notes)
    stored = {
        own: plain_column(_typed(column[1:], own, notes), own, name)
        for own, column in zip(names, columns, strict=True)
    }
    table = Table(name, as_frame(stored), tuple(notes), stored, first=head + 1)
    table.refuse_infinite(stored)
    return table


def _value(cell: Any) -> Any:
    return None if isinstance(cell, str) and cell in MISSING else cell


def _typed(values: list[Any], name: str, notes: list[str]) -> Any:
    """Values of one type as an Arrow column; those of several as text."""
    pa = needed("pyarrow")
    kinds = {bool if isinstance(v, bool) else type(v) for v in values if v is not None}
    if len(kinds) < 2 or kinds == {int, float}:
        if kinds == {int, float}:
            values = [None if v is None else float(v) for v in values]
        return pa.chunked_array([pa.array(values)])
    notes.append(f"column {name!r} has cells of several types, so it was read as text")
    return pa.chunked_array(
        [pa.array([None if v is None else str(v) for v in values], pa.string())]
    )
