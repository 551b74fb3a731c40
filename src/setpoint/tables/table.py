"""A table from outside: a frame, how it was read, and what stood in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from setpoint.goals.errors import nearest
from setpoint.tables.errors import TableError
from setpoint.tables.extras import needed
from setpoint.tables.kinds import KIND_MESSAGES, Kind, as_kind, first_misfit
from setpoint.tables.numbers import Decimal, beyond_floats

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from setpoint.tables.schema import Column

__all__ = ["Table", "absent", "as_frame", "conform", "plain_column", "read_column"]


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
    first: int = field(default=0, repr=False)
    unit: str = field(default="line", repr=False)
    kinds: Mapping[str, Kind] = field(default_factory=dict, repr=False)

    def place(self, row: int) -> str:
        """Where a row is in the file: its line, or its number counted from 1."""
        at = self.first + row + 1
        return f"row {at}" if self.lines is None else f"{self.unit} {int(self.lines[row])}"

    def take(self, kept: NDArray[np.bool_]) -> Table:
        """Some of the rows, which keep their places in the file.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> Table("a.csv", pd.DataFrame({"x": [1, 2]})).take(np.array([False, True])).place(0)
        'row 2'
        """
        import numpy as np

        pa = needed("pyarrow")
        where = np.flatnonzero(kept)
        places = self.first + 1 + where if self.lines is None else self.lines[where]
        columns = self.columns
        if columns is not None:
            columns = {name: column.take(pa.array(where)) for name, column in columns.items()}
        frame = self.frame.iloc[where].reset_index(drop=True)
        unit = "row" if self.lines is None else self.unit
        # Fewer rows may be read otherwise: whole numbers without the gaps that made them floats.
        return replace(self, frame=frame, columns=columns, lines=places, unit=unit, kinds={})

    def refuse_gaps(self, gone: NDArray[np.bool_], what: str, remedy: str) -> None:
        """Refuse rows in which something is missing; the message counts them."""
        n = int(gone.sum())
        if n:
            rows, first = ("1 row has", "") if n == 1 else (f"{n:,} rows have", "the first ")
            place = self.place(int(gone.argmax()))
            raise TableError(f"{self.name}: {rows} no {what}, {first}in {place}; {remedy}")

    def refuse_infinite(self, columns: Mapping[str, Any]) -> None:
        """Refuse infinite numbers in Arrow columns of these rows: no model takes them."""
        pc, types = needed("pyarrow.compute"), needed("pyarrow.types")
        first: list[tuple[int, str]] = []
        for name, column in columns.items():
            if types.is_floating(column.type):
                infinite = pc.is_inf(column)
                if pc.any(infinite).as_py():
                    first.append((int(pc.index(infinite, True).as_py()), name))
        if first:
            row, name = min(first, key=lambda found: found[0])
            raise TableError(
                f"{self.name}, {self.place(row)}: column {name!r} holds an infinite number; leave "
                "the field empty, or the row out"
            )

    def column(self, name: str) -> Any:
        """A column as it stood in the file, a pyarrow.ChunkedArray."""
        if self.columns is not None:
            return self.columns[name]
        pa = needed("pyarrow")
        array = pa.chunked_array([pa.array(self.frame[name], from_pandas=True)])
        return plain_column(array, name, self.name)

    def read(self, name: str, kind: Kind) -> tuple[Any | None, int]:
        """A column as it stood in the file, read as a kind."""
        stored = self.column(name)
        read = as_kind(stored, kind, self.decimal)
        return read, first_misfit(stored, kind, self.decimal) if read is None else -1


def conform(table: Table, columns: Sequence[Column]) -> pd.DataFrame:
    """A table brought to the columns, order and kinds of an earlier one.

    Examples
    --------
    >>> import pandas as pd
    >>> from setpoint.tables.schema import Column
    >>> table = Table("new.csv", pd.DataFrame({"extra": [0, 0], "code": [1, 2]}))
    >>> conform(table, [Column("code", "category")])["code"].tolist()
    ['1', '2']
    >>> conform(table, [Column("codes", "category")])
    Traceback (most recent call last):
    ...
    setpoint.tables.errors.TableError: new.csv has no column 'codes' (did you mean 'code'?)
    """
    there = set(table.frame.columns)
    missing = [c.name for c in columns if c.name not in there]
    if missing:
        raise TableError(absent(table, missing))
    there = {c.name for c in columns if table.kinds.get(c.name) == c.kind}
    if columns and len(there) == len(columns):
        return table.frame[[c.name for c in columns]]
    return as_frame({c.name: read_column(table, c) for c in columns})


def absent(table: Table, missing: Sequence[str]) -> str:
    """What to say of columns that a table does not have."""
    message = f"{table.name} has no column {missing[0]!r} "
    message += f"({nearest(missing[0], table.frame.columns)})"
    if len(missing) > 1:
        shown = ", ".join(map(repr, missing[1:6]))
        more = f" and {len(missing) - 6} more" if len(missing) > 6 else ""
        message += f"; missing too: {shown}{more}"
    return message


def read_column(table: Table, column: Column) -> Any:
    """A column of a table as a kind that is known, as an Arrow array."""
    read, row = table.read(column.name, column.kind)
    if read is None:
        raise TableError(
            f"{table.name}: column {column.name!r}, {table.place(row)}: "
            f"{table.column(column.name)[row].as_py()!r} is {KIND_MESSAGES[column.kind]}, as it "
            "was in training"
        )
    table.refuse_infinite({column.name: read})
    return read


def plain_column(column: Any, column_name: str, name: str) -> Any:
    """A column as int64, double, bool, timestamp without zone, or string.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_column(pa.chunked_array([["b", "a"]]).dictionary_encode(), "x", "f").to_pylist()
    ['b', 'a']
    """
    pa, pc, types = needed("pyarrow"), needed("pyarrow.compute"), needed("pyarrow.types")
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    made = column.type
    if types.is_boolean(made) or types.is_string(made):
        return column
    if types.is_null(made):
        return column.cast(pa.float64())
    if types.is_large_string(made) or types.is_string_view(made) or types.is_time(made):
        return column.cast(pa.string())
    if types.is_integer(made):
        return _plain_integers(column)
    if types.is_floating(made) or types.is_decimal(made):
        column = column.cast(pa.float64())
        return pc.if_else(pc.is_nan(column), None, column)
    if types.is_date(made):
        return column.cast(pa.timestamp("s")).cast(pa.timestamp("us"))
    if types.is_timestamp(made):
        return column.cast(pa.timestamp("ns" if made.unit == "ns" else "us"))
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
    pa, types = needed("pyarrow"), needed("pyarrow.types")
    table = pa.table(list(columns.values()), names=list(columns))
    frame: pd.DataFrame = table.to_pandas(date_as_object=False)
    gaps = [
        name
        for name, column in columns.items()
        if types.is_boolean(column.type) and column.null_count
    ]
    return frame.astype(dict.fromkeys(gaps, "boolean")) if gaps else frame


def _plain_integers(column: Any) -> Any:
    pa = needed("pyarrow")
    try:
        whole = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column.cast(pa.string())
    if whole.null_count and beyond_floats(whole):
        return column.cast(pa.string())
    return whole
