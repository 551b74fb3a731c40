"""Two candidates on the same rows: the difference of a goal's sides, by the pairs of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from setpoint.array_types import Codes
from setpoint.evidence.codebook import Deferred
from setpoint.evidence.rows import Rows
from setpoint.goals.constraints import Relation
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Label
from setpoint.inference.delta import influence_of_entries
from setpoint.inference.profiles import bind_counted
from setpoint.inference.proportions import quantile
from setpoint.inference.verdicts import FAILS
from setpoint.inputs.inputs import Table
from setpoint.report import Entry
from setpoint.report.paired import against_deployed, differences_of_constraints

__all__ = ["difference_of", "is_worse", "side_difference_of"]


def difference_of(
    goal: Goal, classes: Sequence[Label], table: Table, one: Codes, other: Codes, level: float
) -> Entry | None:
    """The objective of some decisions minus that of others."""
    goal = replace(goal, constraints=())
    if goal.needs.datasets:
        return None
    if np.array_equal(one, other):
        return Entry(
            str(goal.objective), 0.0, 0.0, 0.0, True, 0.0, 0.0, "exact", relation=_better(goal)
        )
    if goal.needs.baseline or isinstance(classes[-1], Deferred):
        # A stratum for each decision of the other is not there: that is who the deployed model is,
        # or deferring is none of its classes.
        return _by_influence(goal, classes, table, one, other, level)
    found = against_deployed(goal, classes, replace(table, deployed=other), one, None, level)
    return None if found is None else found.difference


def _by_influence(
    goal: Goal, classes: Sequence[Label], table: Table, one: Codes, other: Codes, level: float
) -> Entry | None:
    """The difference with limits by the influence of each row on both values: the delta method."""
    assert table.true is not None
    if goal.needs.measures:
        return None
    rows = Rows.from_arrays(
        classes, table.true, len(table.true), needs=goal.needs, weight=table.weight,
        columns=table.columns, baseline=table.deployed,
    )  # fmt: skip
    values, moved = [], np.zeros(rows.n_rows)
    for decided, sign in ((one, 1.0), (other, -1.0)):
        try:
            (x,), counted = bind_counted([goal.objective], rows.confusion(decided))
        except GoalError:  # such as a population without rows
            return None
        values.append(counted.value(x))
        moved += sign * influence_of_entries(x, counted)[rows.stratum, rows.true, decided]
    moved = moved if rows.weight is None else moved * rows.weight
    gain = values[0] - values[1]
    reach = float(quantile(1.0 - level) * np.sqrt((moved * moved).sum()))
    slack = gain if goal.sense == "maximize" else -gain
    return Entry(
        str(goal.objective), gain, 0.0, slack, slack >= 0.0, gain - reach, gain + reach, "delta",
        rows.n_rows, relation=_better(goal),
    )  # fmt: skip


def side_difference_of(
    goal: Goal,
    place: int,
    classes: Sequence[Label],
    table: Table,
    one: Codes,
    other: Codes,
    level: float,
) -> Entry | None:
    """The left side of one constraint of some decisions minus that of others; as above."""
    alone = replace(goal, constraints=(goal.constraints[place],))
    if np.array_equal(one, other) or isinstance(classes[-1], Deferred):
        return None
    table = replace(table, deployed=other)
    return differences_of_constraints(alone, classes, table, one, level)[0]


def is_worse(difference: Entry | None) -> bool:
    """Whether a difference shows the first of two candidates to be worse; equal is not."""
    if difference is None or difference.low is None or difference.high is None:
        return False
    return difference.verdict == FAILS and not difference.low <= 0.0 <= difference.high


def _better(goal: Goal) -> Relation:
    return ">=" if goal.sense == "maximize" else "<="
