"""A rule and the deployed model on the same rows: the goal of both, and the difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.evidence import Confusion
from setpoint.evidence.codebook import Deferred
from setpoint.evidence.rows import Rows, counted_rows
from setpoint.goals.constraints import Constraint, Relation
from setpoint.goals.errors import GoalError
from setpoint.goals.expressions import Const
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Label
from setpoint.inputs.inputs import Table
from setpoint.program.link import link
from setpoint.report.counting import LEVEL, entries_on
from setpoint.report.counts import MOST_CLASSES
from setpoint.report.deployed import Comparison, compared
from setpoint.report.entry import Entry
from setpoint.report.report import GoalReport
from setpoint.report.sections.prices import Prices

__all__ = [
    "against_deployed",
    "differences_of_constraints",
    "measured_difference",
    "with_deployed",
]


def against_deployed(
    goal: Goal,
    classes: Sequence[Label],
    table: Table,
    decided: NDArray[Any],
    measured: tuple[float, float] | None = None,
    level: float = LEVEL,
) -> Comparison | None:
    """What changes against the deployed model on some rows; None where there is none."""
    if table.deployed is None:
        return None
    defer = len(classes) - 1 if isinstance(classes[-1], Deferred) else None
    found = compared(table.true, table.deployed, decided, table.weight, defer=defer)
    if measured is not None:
        return measured_difference(found, goal, *measured)
    if table.true is None or goal.is_blackbox:
        return found
    try:
        return _with_objective(found, goal, classes, table, decided, level)
    except GoalError:  # such as a goal that is too long with both models in it
        return found


def with_deployed(report: GoalReport, found: Comparison | None) -> GoalReport:
    """The report with the comparison, and the deployed model's price beside the others."""
    if found is None:
        return report
    sections = tuple(
        replace(s, deployed=found.objective) if isinstance(s, Prices) else s
        for s in report.sections
    )
    return replace(report, deployed=found, sections=sections)


def measured_difference(found: Comparison, goal: Goal, ours: float, todays: float) -> Comparison:
    """The comparison with the objective as it was measured, which has no interval."""
    gain = Entry(str(goal.objective), ours - todays, 0.0, relation=_better(goal))
    return replace(found, objective=todays, difference=gain)


def _with_objective(
    found: Comparison,
    goal: Goal,
    classes: Sequence[Label],
    table: Table,
    decided: NDArray[Any],
    level: float,
) -> Comparison:
    """The goal of both models, as far as it refers to the rows of X alone."""
    if replace(goal, constraints=()).needs.datasets:
        return found
    # What compares with the deployed model says nothing of that model by itself.
    needs = [replace(goal, objective=c.lhs, constraints=(c,)).needs for c in goal.constraints]
    own = [
        c
        for c, need in zip(goal.constraints, needs, strict=True)
        if not need.datasets and not need.baseline
    ]
    objective = goal.objective.baseline()
    todays = Goal(
        goal.sense,
        objective,
        tuple(replace(c, lhs=c.lhs.baseline(), rhs=c.rhs.baseline()) for c in own),
    )
    gain = Constraint(goal.objective - objective, _better(goal), Const(0.0))
    assert table.true is not None
    rows = Rows.from_arrays(
        classes, table.true, len(table.true), needs=todays.subject_to(gain).needs,
        weight=table.weight, columns=table.columns, baseline=table.deployed,
    )  # fmt: skip
    confusion = rows.confusion(decided[counted_rows(table.weight)])
    linked = link(todays.subject_to(gain), rows.codebook)
    entry, *constraints, difference = entries_on(linked, confusion, level, checked=False)
    return replace(
        found,
        objective=entry.value,
        difference=replace(difference, text=str(goal.objective)),
        constraints=tuple(replace(e, text=str(c)) for e, c in zip(constraints, own, strict=True)),
        confusion=_deployed_counts(confusion),
    )


def differences_of_constraints(
    goal: Goal,
    classes: Sequence[Label],
    table: Table,
    decided: NDArray[Any],
    level: float = LEVEL,
) -> list[Entry | None]:
    """What the left side of each constraint gains against the deployed model, with intervals."""
    assert table.true is not None
    out: list[Entry | None] = []
    for c in goal.constraints:
        needs = replace(goal, objective=c.lhs, constraints=()).needs
        if needs.datasets or needs.baseline:
            out.append(None)
            continue
        gain = Constraint(c.lhs - c.lhs.baseline(), c.relation, Const(0.0))
        try:
            pair = Goal(goal.sense, c.lhs.baseline(), (gain,))
            rows = Rows.from_arrays(
                classes, table.true, len(table.true), needs=pair.needs, weight=table.weight,
                columns=table.columns, baseline=table.deployed,
            )  # fmt: skip
            confusion = rows.confusion(decided[counted_rows(table.weight)])
            found = entries_on(link(pair, rows.codebook), confusion, level, checked=False)[1]
        except GoalError:  # such as a side that is too long with both models in it
            out.append(None)
            continue
        out.append(replace(found, text=str(c.lhs)))
    return out


def _better(goal: Goal) -> Relation:
    return ">=" if goal.sense == "maximize" else "<="


def _deployed_counts(confusion: Confusion) -> tuple[tuple[float, ...], ...]:
    """Weights by true class and what the deployed model decides, from strata that know it."""
    labels = confusion.codebook.labels
    n = len(labels)
    if n > MOST_CLASSES:
        return ()
    out = np.zeros((n + 1, n))
    for stratum, counts in zip(confusion.strata, confusion.counts, strict=True):
        if stratum.dataset is None and stratum.measure is None:
            rows = counts.sum(axis=1)
            out[:, stratum.baseline] += np.append(rows[:n], rows[-1])
    return tuple(tuple(row) for row in out.tolist())
