"""The columns of a table and their kinds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from setpoint.tables.errors import TableError
from setpoint.tables.kinds import Kind
from setpoint.tables.numbers import Decimal

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "column_names", "kinds_of"]

ID_VALUES, ID_SHARE = 50, 0.9
"""Text with more different values than both may name its rows."""


@dataclass(frozen=True)
class Column:
    """A column's name and kind, and the decimal mark of its numbers where it is text.

    Examples
    --------
    >>> Column("age", "number")
    Column(name='age', kind='number', decimal='.')
    """

    name: str
    kind: Kind
    decimal: Decimal = "."


def kinds_of(frame: pd.DataFrame) -> tuple[Column, ...]:
    """The columns of a frame, each with its kind.

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
