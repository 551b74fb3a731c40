"""Infinite numbers in tables: no model takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setpoint.data.errors import TableError
from setpoint.data.extras import needed
from setpoint.data.table import Table

__all__ = ["check_finite"]


def check_finite(table: Table, columns: Mapping[str, Any]) -> None:
    """Refuse infinite numbers.

    Parameters
    ----------
    table : Table
        For the message.

    Raises
    ------
    TableError
        It names the first line and column.
    """
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
            f"{table.name}, {table.place(row)}: column {name!r} holds an infinite number; leave "
            "the field empty, or the row out"
        )
