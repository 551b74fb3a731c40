"""A table from outside: its frame, schema, labels and sheets."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import nearest
from setpoint.tables.kinds import (
    KIND_MESSAGES,
    MISSING,
    Decimal,
    Kind,
    TableError,
    as_kind,
    beyond_floats,
    first_misfit,
    needed,
    pa,
    pc,
    types,
)

if TYPE_CHECKING:
    import pandas as pd


# --- A table from outside: a frame, how it was read -----------------------------------------------


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it was read.

    Examples
    --------
    >>> import pandas as pd
    >>> Table("a.csv", pd.DataFrame({"age": [31, 45]})).place(1)
    'row 2'
    """

    name: str
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    columns: Mapping[str, Any] | None = field(default=None, repr=False)
    lines: NDArray[np.int64] | None = field(default=None, repr=False)
    decimal: Decimal = field(default=".", repr=False)
    unit: str = field(default="row", repr=False)
    kinds: Mapping[str, Kind] = field(default_factory=dict, repr=False)

    def place(self, row: int) -> str:
        """Where a row is in the file: its line, or its number counted from 1."""
        return f"{self.unit} {row + 1 if self.lines is None else int(self.lines[row])}"

    def take(self, kept: NDArray[np.bool_]) -> Table:
        """Some of the rows, which keep their places in the file.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> Table("a.csv", pd.DataFrame({"x": [1, 2]})).take(np.array([False, True])).place(0)
        'row 2'
        """
        where = np.flatnonzero(kept)
        columns = self.columns
        if columns is not None:
            columns = {name: column.take(pa.array(where)) for name, column in columns.items()}
        frame = self.frame.iloc[where].reset_index(drop=True)
        lines = where + 1 if self.lines is None else self.lines[where]
        # Fewer rows may be read otherwise: whole numbers without the gaps that made them floats.
        return replace(self, frame=frame, columns=columns, lines=lines, kinds={})

    def refuse_gaps(self, gone: NDArray[np.bool_], what: str, remedy: str) -> None:
        """Refuse rows in which something is missing; the message counts them."""
        n = int(gone.sum())
        if n:
            rows, first = ("1 row has", "") if n == 1 else (f"{n:,} rows have", "the first ")
            place = self.place(int(gone.argmax()))
            raise TableError(f"{self.name}: {rows} no {what}, {first}in {place}; {remedy}")

    def refuse_infinite(self, columns: Mapping[str, Any]) -> None:
        """Refuse infinite numbers in Arrow columns of these rows: no model takes them."""
        rows = {
            name: int(pc.index(pc.is_inf(column), True).as_py())
            for name, column in columns.items()
            if types.is_floating(column.type)
        }
        rows = {name: row for name, row in rows.items() if row >= 0}
        if rows:
            name = min(rows, key=lambda name: rows[name])
            raise TableError(
                f"{self.name}, {self.place(rows[name])}: column {name!r} holds an infinite number; "
                "leave the field empty, or the row out"
            )

    def column(self, name: str) -> Any:
        """A column as it stood in the file, a pyarrow.ChunkedArray."""
        if self.columns is not None:
            return self.columns[name]
        array = pa.chunked_array([pa.array(self.frame[name], from_pandas=True)])
        return plain_column(array, name, self.name)

    def read(self, name: str, kind: Kind, why: str = "as it was in training") -> Any:
        """A column as it stood in the file, read as a kind; why it has to be so, where it is not.

        Examples
        --------
        >>> import pandas as pd
        >>> Table("a.csv", pd.DataFrame({"x": [1, 2]})).read("x", "category").to_pylist()
        ['1', '2']
        """
        stored = self.column(name)
        read = as_kind(stored, kind, self.decimal)
        if read is None:
            row = first_misfit(stored, kind, self.decimal)
            raise TableError(
                f"{self.name}: column {name!r}, {self.place(row)}: {stored[row].as_py()!r} is "
                f"{KIND_MESSAGES[kind]}, {why}"
            )
        self.refuse_infinite({name: read})
        return read


def conform(table: Table, columns: Sequence[TableColumn]) -> pd.DataFrame:
    """A table brought to the columns, order and kinds of an earlier one.

    Examples
    --------
    >>> import pandas as pd
    >>> from setpoint.tables.table import TableColumn
    >>> table = Table("new.csv", pd.DataFrame({"extra": [0, 0], "code": [1, 2]}))
    >>> conform(table, [TableColumn("code", "category")])["code"].tolist()
    ['1', '2']
    >>> conform(table, [TableColumn("codes", "category")])
    Traceback (most recent call last):
    ...
    setpoint.tables.kinds.TableError: new.csv has no column 'codes' (did you mean 'code'?)
    """
    there = set(table.frame.columns)
    missing = [c.name for c in columns if c.name not in there]
    if missing:
        raise TableError(absent(table, missing))
    if columns and all(table.kinds.get(c.name) == c.kind for c in columns):
        return table.frame[[c.name for c in columns]]
    return as_frame({c.name: table.read(c.name, c.kind) for c in columns})


def absent(table: Table, missing: Sequence[str]) -> str:
    """What to say of columns that a table does not have."""
    message = f"{table.name} has no column {missing[0]!r} "
    message += f"({nearest(missing[0], table.frame.columns)})"
    if len(missing) > 1:
        shown = ", ".join(map(repr, missing[1:6]))
        more = f" and {len(missing) - 6} more" if len(missing) > 6 else ""
        message += f"; missing too: {shown}{more}"
    return message


def table_of(
    name: str,
    stored: Mapping[str, Any],
    notes: Sequence[str],
    known: Sequence[TableColumn] = (),
    *,
    typed: Mapping[str, Any] | None = None,
    **how: Any,
) -> Table:
    """A table of columns as they are stored, but those that are typed or of kinds that are known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table_of("a", {"x": pa.chunked_array([["1"]])}, [], [TableColumn("x", "number")]).frame
       x
    0  1
    """
    stored = {own: plain_column(column, own, name) for own, column in stored.items()}
    table = Table(name, needed("pandas").DataFrame(), tuple(notes), stored, **how)
    typed = stored if typed is None else typed
    table.refuse_infinite(typed)
    known = [column for column in known if column.name in stored]
    read = {column.name: table.read(column.name, column.kind) for column in known}
    kinds = {**table.kinds, **{column.name: column.kind for column in known}}
    return replace(table, frame=as_frame({**typed, **read}), kinds=kinds)


def plain_column(column: Any, column_name: str, name: str) -> Any:
    """A column as int64, double, bool, timestamp without zone, or string.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_column(pa.chunked_array([["b", "a"]]).dictionary_encode(), "x", "f").to_pylist()
    ['b', 'a']
    """
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    made = column.type
    if types.is_boolean(made) or types.is_string(made):
        return column
    if types.is_large_string(made) or types.is_string_view(made) or types.is_time(made):
        return column.cast(pa.string())
    if types.is_integer(made):
        with suppress(pa.ArrowInvalid):
            whole = column.cast(pa.int64())
            if not (whole.null_count and beyond_floats(whole)):
                return whole
        return column.cast(pa.string())
    if types.is_null(made) or types.is_floating(made) or types.is_decimal(made):
        column = column.cast(pa.float64())
        return pc.if_else(pc.is_nan(column), None, column)
    if types.is_date(made) or types.is_timestamp(made):
        return column.cast(pa.timestamp("ns" if getattr(made, "unit", "") == "ns" else "us"))
    raise TableError(
        f"{name}: column {column_name!r} holds values of type {made}; a table holds numbers, text, "
        "booleans and dates. Leave the column out, or take it apart into plain ones"
    )


def as_frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Plain columns as a pandas frame; booleans beside missing values are nullable.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_frame({"x": pa.chunked_array([[1, None]])})["x"].tolist()
    [1.0, nan]
    """
    table = pa.table(list(columns.values()), names=list(columns))
    frame: pd.DataFrame = table.to_pandas(date_as_object=False)
    gaps = [n for n, c in columns.items() if types.is_boolean(c.type) and c.null_count]
    return frame.astype(dict.fromkeys(gaps, "boolean")) if gaps else frame


# --- The columns of a table and their kinds -------------------------------------------------------


_KINDS: dict[str, Kind] = {"b": "boolean", "i": "number", "u": "number", "f": "number", "M": "date"}
"""Kinds by the letters that NumPy has for types."""

ID_VALUES, ID_SHARE = 50, 0.9
"""Text with more different values than both may name its rows."""


@dataclass(frozen=True)
class TableColumn:
    """A column's name and kind.

    Examples
    --------
    >>> TableColumn("age", "number")
    TableColumn(name='age', kind='number')
    """

    name: str
    kind: Kind


def kinds_of(frame: pd.DataFrame) -> tuple[TableColumn, ...]:
    """The columns of a frame, each with its kind.

    Examples
    --------
    >>> import pandas as pd
    >>> [column.kind for column in kinds_of(pd.DataFrame({"age": [31], "city": ["Bonn"]}))]
    ['number', 'category']
    """
    return tuple(
        TableColumn(str(name), _KINDS.get(getattr(dtype, "kind", "O"), "category"))
        for name, dtype in frame.dtypes.items()
    )


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


# --- Labels in the columns of tables: of known classes, or as they were read ----------------------


Array = NDArray[Any]


def labels_of(
    table: Table, target: str, classes: Array | None = None, *, deployed: bool = False
) -> Array:
    """The labels in a column of a table.

    Examples
    --------
    >>> import pandas as pd
    >>> labels_of(Table("a.csv", pd.DataFrame({"y": [1, 0]})), "y", np.array(["0", "1"]))
    array(['1', '0'], dtype=object)
    """
    what, remedy, more = "label", "label them", ""
    if deployed:
        what, remedy = "decision of the deployed model", "fill them in"
        more = "; it holds the deployed model's decisions"
    if target not in table.frame:
        raise TableError(absent(table, [target]) + more)
    gone = np.asarray(table.frame[target].isna(), dtype=bool)
    table.refuse_gaps(gone, f"{what} in column {target!r}", f"leave such rows out, or {remedy}")
    if classes is None:
        if table.frame[target].dtype.kind == "M":
            raise TableError(
                f"{table.name}: column {target!r} holds dates; labels are text, whole numbers or "
                "booleans"
            )
        return _plain(table.frame[target])
    stored = table.column(target)
    kind = _KINDS.get(classes.dtype.kind, "category")
    read = as_kind(stored, kind, table.decimal)
    if read is None:
        row = first_misfit(stored, kind, table.decimal)
    else:
        column = as_frame({target: read})[target]
        known = np.asarray(column.isin(classes.tolist()), dtype=bool)
        row = -1 if known.all() else int((~known).argmax())
    if row >= 0:
        label = stored[row].as_py()
        raise TableError(
            f"{table.name}, {table.place(row)}: the {what} {label!r} in column {target!r} is not a "
            f"class of the model ({nearest(label, classes.tolist())})"
        )
    return _plain(column).astype(object if kind == "category" else classes.dtype)


def _plain(column: pd.Series[Any]) -> Array:
    """NumPy's types for numbers and booleans, objects for text."""
    return np.asarray(column.to_numpy(dtype=None if column.dtype.kind in "biuf" else object))


def scores_of(table: Table, name: str) -> Floats:
    """The scores of a deployed model in a column of a table.

    Examples
    --------
    >>> import pandas as pd
    >>> scores_of(Table("a.csv", pd.DataFrame({"old": [0.5, 1]})), "old")
    array([0.5, 1. ])
    """
    what = "the deployed model's scores"
    if name not in table.frame:
        raise TableError(f"{absent(table, [name])}; it holds {what}")
    read = table.read(name, "number", f"and the column holds {what}")
    scores = np.asarray(as_frame({name: read})[name], np.float64)
    table.refuse_gaps(
        np.isnan(scores),
        f"score of the deployed model in column {name!r}",
        "leave such rows out, or fill them in",
    )
    return scores


# --- A sheet of an Excel workbook as a table ------------------------------------------------------


FIRST = "read the first of the sheets"
"""How the note on a sheet that nobody named begins."""

_DAMAGED = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, IndexError, ValueError, TypeError,
    AttributeError, SyntaxError,
)  # fmt: skip
"""What zip, XML and openpyxl raise at files that they cannot read."""


def read_excel(
    data: bytes, name: str, sheet: str | None = None, known: Sequence[TableColumn] = ()
) -> Table:
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
        cells = getattr(sheets.get(title), "values", ())
        rows = [[None if cell in MISSING else cell for cell in row] for row in cells]
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
    filled = [i for i, row in enumerate(rows) if any(value is not None for value in row)]
    if len(filled) < 2:
        raise TableError(f"{name}: the sheet {title!r} has no rows below its column names")
    cut = (column[filled[0] : filled[-1] + 1] for column in zip_longest(*rows))
    columns = [column for column in cut if any(value is not None for value in column)]
    names = column_names(["" if c[0] is None else str(c[0]) for c in columns], name, notes)
    stored = {
        own: _typed(column[1:], own, notes) for own, column in zip(names, columns, strict=True)
    }
    lines = np.arange(filled[0] + 2, filled[-1] + 2)
    return table_of(name, stored, notes, known, lines=lines)


def _typed(values: Sequence[Any], name: str, notes: list[str]) -> Any:
    """Values of one type as an Arrow column; those of several as text."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1:
        made: Any = float if kinds == {int, float} else str
        if made is str:
            notes.append(f"column {name!r} has cells of several types, so it was read as text")
        values = [None if value is None else made(value) for value in values]
    return pa.chunked_array([pa.array(values)])
