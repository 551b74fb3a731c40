"""Ranges of columns as the user states them, against the rows there are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from setpoint.errors import InputError
from setpoint.goals.errors import nearest
from setpoint.goals.goal import Goal
from setpoint.inputs.inputs import Table
from setpoint.solvers import Confidence

__all__ = ["check_ranges"]


def check_ranges(
    settings: Confidence, goal: Goal, tables: Mapping[str | None, Table], where: str = ""
) -> None:
    """Refuse ranges of columns by which nothing counts, and rows outside their range."""
    counts_by = goal.needs.measures
    known = sorted({name for columns in counts_by.values() for name in columns})
    for name, (low, high) in (settings.ranges or {}).items():
        if name not in known:
            raise InputError(
                f"`ranges`: the goal counts no rows by a column {name!r} ({nearest(name, known)})"
            )
        for dataset, table in tables.items():
            columns = counts_by.get(dataset, {})
            if name not in columns:
                continue
            if columns[name] and low < 0.0:
                raise InputError(
                    f"`ranges`: {name!r} weighs rows, and a weight is 0 or more: its range begins "
                    f"at 0 or above, got {low:g}"
                )
            values = np.asarray(table.columns[name].values, float)
            outside = np.flatnonzero((values < low) | (values > high))
            if len(outside):
                rows = where or ("" if dataset is None else f"`datasets[{dataset!r}]`: ")
                raise InputError(
                    f"{rows}row {outside[0]} has {name} = {values[outside[0]]:.6g}, and `ranges` "
                    f"says that it lies between {low:g} and {high:g} for every row there could be; "
                    "give the range that it has by its nature, not that of some rows"
                )
