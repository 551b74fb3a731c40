"""Columns of numbers that a goal counts rows by, such as amounts, as tables have them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from setpoint.errors import InputError
from setpoint.goals.errors import nearest
from setpoint.goals.goal import Goal

if TYPE_CHECKING:
    from setpoint.tables import Column, Table

__all__ = ["check_values", "values_of"]


def check_values(
    table: Table, goal: Goal, target: str, dropped: Collection[str]
) -> tuple[Column, ...]:
    """The columns by which a goal counts the rows that the model is fitted on."""
    there = [str(name) for name in table.frame]
    for name in goal.needs.measures.get(None, {}):
        if name not in there:
            raise InputError(
                f"the goal counts rows by the column {name!r}, and {table.name} has none "
                f"({nearest(name, there)})"
            )
        if name == target:
            raise InputError(f"the goal counts rows by {name!r}, and that is the target")
        if name in dropped:
            raise InputError(
                f"`drop`: the goal counts rows by {name!r}; name it with `sensitive` to keep it "
                "from the model, and `decide_on=none` keeps the rule from looking at it"
            )
    return values_of(table, goal)


def values_of(table: Table, goal: Goal, dataset: str | None = None) -> tuple[Column, ...]:
    """The columns by which a goal counts the rows of a table, checked.

    Examples
    --------
    >>> import pandas as pd
    >>> from setpoint import Goal
    >>> from setpoint.tables import Table
    >>> goal = Goal.parse("maximize recall.weighted(amount)")
    >>> [c.name for c in values_of(Table("a.csv", pd.DataFrame({"amount": [3.5, 2]})), goal)]
    ['amount']
    >>> values_of(Table("a.csv", pd.DataFrame({"amount": [3.5, -2]})), goal)
    Traceback (most recent call last):
    ...
    setpoint.tables.errors.TableError: a.csv: column 'amount', row 2: -2 is below 0, and the \
goal weighs rows by it
    """
    from setpoint.tables import Column, TableError, absent

    out = []
    for name, weighs in goal.needs.measures.get(dataset, {}).items():
        if name not in table.frame:
            raise TableError(f"{absent(table, [name])}; the goal counts rows by it")
        numbers, row = table.read(name, "number")
        if numbers is None:
            found = table.column(name)[row].as_py()
            raise TableError(
                f"{table.name}: column {name!r}, {table.place(row)}: {found!r} is not a number, "
                "and the goal counts rows by it; write plain numbers, without units"
            )
        table.refuse_infinite({name: numbers})
        table.refuse_gaps(
            numbers.is_null().to_numpy(),
            f"value in column {name!r}, which the goal counts rows by",
            "fill them in, or leave such rows out",
        )
        values = numbers.to_numpy()
        if weighs and len(values) and values.min() < 0:
            row = int((values < 0).argmax())
            raise TableError(
                f"{table.name}: column {name!r}, {table.place(row)}: {values[row]:g} is below 0, "
                "and the goal weighs rows by it"
            )
        out.append(Column(name, "number"))
    return tuple(out)
