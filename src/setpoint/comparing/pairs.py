"""Two models on the same rows: the difference of each part of the goal, and what changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from setpoint.comparing.better import CANDIDATE, TODAY, Part, which_is_better
from setpoint.comparing.judged import JudgedModel
from setpoint.goals.goal import Goal
from setpoint.inputs.inputs import Table
from setpoint.report.counting import LEVEL
from setpoint.report.deployed import Comparison, compared
from setpoint.report.entry import Entry
from setpoint.report.paired import against_deployed, differences_of_constraints

__all__ = ["ChangedGroup", "Pair", "pair_of"]

_MOST_GROUPS = 40


@dataclass(frozen=True)
class ChangedGroup:
    """What changes in one group."""

    column: str
    value: Any
    changes: Comparison


@dataclass(frozen=True, eq=False)
class Pair:
    """A model against the one that is in use, on the same rows."""

    today: str
    candidate: str
    parts: Sequence[Part]
    changes: Comparison
    groups: Sequence[ChangedGroup]
    verdict: str
    why: str
    level: float

    @property
    def rows_needed(self) -> int | None:
        """About how many rows like these would show a difference of the objective."""
        return self.parts[0].rows_needed


def pair_of(
    goal: Goal,
    today: JudgedModel,
    candidate: JudgedModel,
    *,
    apart: bool = False,
    level: float = LEVEL,
    names: tuple[str, str] = (TODAY, CANDIDATE),
) -> Pair:
    """Compare two models that were judged on the same rows."""
    # Pairs are those of decisions as they are made: against the other model's.
    table = replace(candidate.seen.tables[None], deployed=today.codes)
    shares = candidate.shares[None]
    labels = candidate.seen.classes.labels
    changes = against_deployed(goal, labels, table, shares, level=level)
    assert changes is not None
    if apart and replace(goal, constraints=()).needs.baseline:
        changes = replace(changes, objective=None, difference=None)
    gains = [
        changes.difference,
        *differences_of_constraints(goal, labels, table, shares, level),
    ]
    texts = [goal.objective, *(c.lhs for c in goal.constraints)]
    one, other = today.report, candidate.report
    parts = [
        Part(a, b, gain, side, _rows_needed(gain, other.counts.n_rows))
        for a, b, gain, side in zip(one.entries, other.entries, gains, texts, strict=True)
    ]
    verdict, why = which_is_better(one, other, parts, changes.changed, names)
    groups = _groups(goal, table, shares)
    return Pair(today.name, candidate.name, parts, changes, groups, verdict, why, level)


def _rows_needed(gain: Entry | None, n_rows: int) -> int | None:
    """How many rows like these would show a difference as large as this one."""
    if gain is None or not gain.value or gain.low is None or gain.high is None:
        return None
    # An interval shrinks with the root of the number of rows.
    past = gain.low if gain.value > 0.0 else gain.high
    times = ((past - gain.value) / gain.value) ** 2
    return math.ceil(times * n_rows) if times > 1.0 else None


def _groups(goal: Goal, table: Table, shares: Any) -> list[ChangedGroup]:
    """The decisions that change, in each group of the columns that the goal names."""
    assert table.deployed is not None
    out = []
    for name in sorted(goal.needs.columns.get(None, {})):
        values = table.columns[name].values
        for value in sorted(set(values.tolist()), key=str)[:_MOST_GROUPS]:
            rows = np.flatnonzero(values == value)
            weight = None if table.weight is None else table.weight[rows]
            if weight is not None and not weight.any():
                continue
            changes = compared(table.labels[rows], table.deployed[rows], shares[rows], weight)
            out.append(ChangedGroup(name, value, changes))
    return out
