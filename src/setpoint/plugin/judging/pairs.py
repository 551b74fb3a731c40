"""Two candidates on the same rows: the difference of a goal's sides, by the pairs of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from setpoint.goals.constraints import Relation
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Label
from setpoint.inference.verdicts import FAILS
from setpoint.inputs.inputs import Table
from setpoint.report import Entry
from setpoint.report.paired import against_deployed, differences_of_constraints
from setpoint.typing import Codes

__all__ = ["difference_of", "is_worse", "side_difference_of", "standard_error_of"]

_ONE_ERROR = 0.8413447460685429
"""A one-sided limit of this confidence lies one standard error away."""


def difference_of(
    goal: Goal, classes: Sequence[Label], table: Table, one: Codes, other: Codes, level: float
) -> Entry | None:
    """The objective of some decisions minus that of others.

    Parameters
    ----------
    goal : Goal
    classes : sequence of labels
    table : Table
        Its rows weigh something.
    one, other : int array of shape (N,)
        Class codes.
    level : float
        Confidence of each limit by itself.

    Returns
    -------
    Entry or None
        Its bound is 0, on the side of the better. None where the objective refers to other data
        sets, or to the deployed model.
    """
    goal = replace(goal, constraints=())
    if goal.needs.datasets or goal.needs.baseline:
        return None
    if np.array_equal(one, other):
        return _none(goal, str(goal.objective))
    found = against_deployed(goal, classes, replace(table, deployed=other), one, None, level)
    return None if found is None else found.difference


def standard_error_of(
    goal: Goal, classes: Sequence[Label], table: Table, one: Codes, other: Codes
) -> float | None:
    """The standard error of the difference of the objectives; None where that is not known.

    Half of what lies between the limits that are each right in 84 % of samples.
    """
    found = difference_of(goal, classes, table, one, other, _ONE_ERROR)
    if found is None or found.low is None or found.high is None:
        return None
    return (found.high - found.low) / 2.0


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
    if np.array_equal(one, other):
        return None
    table = replace(table, deployed=other)
    return differences_of_constraints(alone, classes, table, one, level)[0]


def is_worse(difference: Entry | None) -> bool:
    """Whether a difference shows the first of two candidates to be worse; equal is not."""
    if difference is None or difference.low is None or difference.high is None:
        return False
    return difference.verdict == FAILS and not difference.low <= 0.0 <= difference.high


def _none(goal: Goal, text: str) -> Entry:
    relation: Relation = ">=" if goal.sense == "maximize" else "<="
    return Entry(text, 0.0, 0.0, 0.0, True, 0.0, 0.0, "exact", relation=relation)
