"""The columns that a model was fitted on, and later tables brought to the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from setpoint.goals.errors import nearest
from setpoint.tables.columnar import as_frame
from setpoint.tables.errors import TableError
from setpoint.tables.kinds import KIND_MESSAGES, Kind, as_kind, first_misfit
from setpoint.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "conform", "kinds_of"]


@dataclass(frozen=True)
class Column:
    """A column's name and kind.

    Parameters
    ----------
    name : str
    kind : {"number", "boolean", "date", "category"}

    Examples
    --------
    >>> Column("age", "number")
    Column(name='age', kind='number')
    """

    name: str
    kind: Kind


def kinds_of(frame: pd.DataFrame) -> tuple[Column, ...]:
    """The columns of a frame, each with its kind.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    tuple of Column
        In the frame's order. Whatever is not a number, boolean or date is a category.

    Examples
    --------
    >>> import pandas as pd
    >>> [column.kind for column in kinds_of(pd.DataFrame({"age": [31], "city": ["Bonn"]}))]
    ['number', 'category']
    """
    kinds: dict[str, Kind] = {"b": "boolean", "M": "date", "i": "number", "u": "number"}
    kinds["f"] = "number"
    return tuple(
        Column(str(name), kinds.get(getattr(dtype, "kind", "O"), "category"))
        for name, dtype in frame.dtypes.items()
    )


def conform(table: Table, columns: Sequence[Column]) -> pd.DataFrame:
    """A table brought to the columns, order and kinds of an earlier one.

    A category whose values look like numbers in this table is the same text as before:
    it is taken from the file as it stood there.

    Parameters
    ----------
    table : Table
    columns : sequence of Column
        As of :func:`kinds_of` in training.

    Returns
    -------
    pandas.DataFrame
        Other columns of the table are left out.

    Raises
    ------
    TableError
        If a column is missing, or holds a value that is not of its kind.

    Examples
    --------
    >>> import pandas as pd
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
    return as_frame({c.name: _read(table, c) for c in columns})


def absent(table: Table, missing: Sequence[str]) -> str:
    """What to say of columns that a table does not have."""
    message = f"{table.name} has no column {missing[0]!r} "
    message += f"({nearest(missing[0], table.frame.columns)})"
    if len(missing) > 1:
        shown = ", ".join(map(repr, missing[1:6]))
        more = f" and {len(missing) - 6} more" if len(missing) > 6 else ""
        message += f"; missing too: {shown}{more}"
    return message


def _read(table: Table, column: Column) -> Any:
    stored = table.column(column.name)
    read = as_kind(stored, column.kind, table.decimal)
    if read is not None:
        table.refuse_infinite({column.name: read})
        return read
    row = first_misfit(stored, column.kind, table.decimal)
    raise TableError(
        f"{table.name}: column {column.name!r}, {table.place(row)}: "
        f"{stored[row].as_py()!r} is {KIND_MESSAGES[column.kind]}, as it was in training"
    )
