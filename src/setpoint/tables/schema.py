"""The columns of a table, their kinds, and how a text that holds them is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from setpoint.array_types import Codes
from setpoint.goals.errors import nearest
from setpoint.tables.errors import TableError
from setpoint.tables.extras import needed
from setpoint.tables.kinds import Kind, guesses_of, notes_of
from setpoint.tables.labels import Label
from setpoint.tables.numbers import Decimal, as_numbers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "Schema", "column_names", "columns_by", "kinds_of"]

ID_VALUES, ID_SHARE = 50, 0.9
"""Text with more different values than both may name its rows."""

SEPARATE = "; name another separator with `separator`"
"""The remedy where a table seems to have one column."""


@dataclass(frozen=True)
class Column:
    """A column's name and kind, and the decimal mark of its numbers where it is text.

    Parameters
    ----------
    name : str
    kind : {"number", "boolean", "date", "category"}
    decimal : {".", ","}

    Examples
    --------
    >>> Column("age", "number")
    Column(name='age', kind='number', decimal='.')
    """

    name: str
    kind: Kind
    decimal: Decimal = "."


@dataclass(frozen=True)
class Schema:
    """How a stream is read.

    Parameters
    ----------
    columns : tuple of Column
        Those that the classifier sees.
    classes : tuple of two labels
        The second is the positive one.
    left_out : tuple of str
        Columns that are not looked at.
    encoding : str or None
        None: UTF-8, or what a byte order mark says.
    """

    columns: tuple[Column, ...]
    target: str
    classes: tuple[Label, Label]
    left_out: tuple[str, ...] = ()
    separator: str = ","
    encoding: str | None = None

    def check(self, names: Sequence[str], dropped: Collection[str], name: str) -> None:
        """Refuse a source with other columns.

        Parameters
        ----------
        names : sequence of str
            Its columns, in any order.
        dropped : collection of str
            Those of them that are not to be looked at.
        name : str
            What messages call the source.

        Raises
        ------
        TableError
        """
        wanted = [column.name for column in self.columns]
        for column in (self.target, *wanted):
            if column not in names:
                remedy = "" if len(names) > 1 else SEPARATE
                raise TableError(
                    f"{name} has no column {column!r} ({nearest(column, names)}), which what was "
                    f"learnt before was learnt from{remedy}"
                )
        known = {self.target, *wanted, *self.left_out, *dropped}
        new = [column for column in names if column not in known]
        if new:
            raise TableError(
                f"{name} has a column {new[0]!r}, which was not there when the stream began; leave "
                f"it out with `drop={new[0]!r}`"
            )
        for column in dropped:
            if column in (self.target, *wanted):
                raise TableError(
                    f"`drop`: column {column!r} was learnt from; begin a new state without it"
                )


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


def columns_by(
    stored: Mapping[str, Any],
    lines: Codes,
    name: str,
    *,
    separator: str,
    decimal: str | None,
    text: Collection[str],
) -> tuple[tuple[Column, ...], dict[str, str]]:
    """Columns with the kinds that their first rows suggest.

    The parameters are those of :func:`~setpoint.tables.kinds.guesses_of`.

    Returns
    -------
    columns : tuple of Column
    notes : dict of str to str
        What there is to say of them.

    Raises
    ------
    TableError
        If a decimal mark is doubtful.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> rows = {"x": pa.chunked_array([["1,5", None]])}
    >>> columns_by(rows, np.array([2, 3]), "a.csv", separator=";", decimal=None, text=[])[0]
    (Column(name='x', kind='number', decimal=','),)
    """
    guesses, mark = guesses_of(
        stored, lines, name, separator=separator, decimal=decimal, as_text=text
    )
    columns, notes = [], notes_of(guesses, stored, lines)
    for column, guess in guesses.items():
        values = stored[column]
        empty = values.null_count == len(values)
        kind: Kind = "category" if empty else guess.kind  # whatever comes can be hashed
        own: Decimal = "."
        if kind == "number":
            # A file has one mark; but for columns that only the other one fits.
            fits = mark != "auto" and as_numbers(values, mark) is not None
            own = "," if (mark if fits else guess.decimal) == "," else "."
        if empty:
            notes[column] = f"column {column!r} is empty in the first rows, so it is taken as text"
        elif kind == "category" and not guess.why:
            n_values = needed("pyarrow.compute").count_distinct(values).as_py()
            if n_values > max(ID_VALUES, ID_SHARE * len(values)):
                notes[column] = (
                    f"column {column!r} has {n_values:,} different values in the first "
                    f"{len(values):,} rows; `drop={column!r}` leaves it out if it names them"
                )
        columns.append(Column(column, kind, own))
    return tuple(columns), notes


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
