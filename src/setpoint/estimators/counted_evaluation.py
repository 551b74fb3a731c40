"""Evaluating decisions that are columns of a table elsewhere: one count, whatever the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from setpoint.counting.opening import source_of
from setpoint.counting.source import GroupBy, Source
from setpoint.evidence.counts import Counts
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal
from setpoint.inputs.counted_rows import CountedRows
from setpoint.inputs.dataset import Dataset
from setpoint.inputs.frames import FrameRows, as_frame_rows
from setpoint.program.link import link
from setpoint.report import GoalReport, report_on

__all__ = ["evaluate_lazy"]


def evaluate_lazy(
    goal: Goal,
    frame: Any,
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any = None,
    baseline: Any = None,
    sample_weight: Any = None,
    datasets: Mapping[str, Any] | None = None,
    classes: Any = None,
    pos_label: Any = None,
    level: float,
) -> GoalReport:
    """The report on decisions in a table; arguments as of :func:`setpoint.evaluate`.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong; the message names it.
    GoalError
        If the goal cannot be counted.
    """
    if goal.is_blackbox:
        raise GoalError(
            f"{goal.objective} has no formula, and counts are all that is known of a table "
            "elsewhere; measure it on a sample in memory"
        )
    rows: dict[str | None, FrameRows] = {}
    tables: dict[str | None, Any] = {None: frame}
    tables.update((datasets or {}).items())
    for name, given in tables.items():
        own = given if isinstance(given, Dataset) else Dataset(given)
        source = source_of(own.X)
        known = source.columns()
        first = name is None
        roles = {
            "y": y_true if first or y_true in known else None,
            "decided": y_pred,
            "weight": sample_weight if first or sample_weight in known else None,
            "baseline": baseline if first or baseline in known else None,
        }
        these = sensitive_features
        if not first and these is not None:
            these = [c for c in ([these] if isinstance(these, str) else these) if c in known]
        rows[name] = as_frame_rows(source, roles, these, "" if first else f"datasets[{name!r}]: ")

    def count(source: Source, by: GroupBy) -> Counts:
        return source.count(by)

    counted = CountedRows.first_pass(
        goal, rows, count, classes=classes, pos_label=pos_label, decide_on=None
    )
    decided = np.concatenate(
        [
            counted.classes.codes(counted.values(name, y_pred), "y_pred")
            for name in counted.inputs.tables
        ]
    )
    return report_on(link(goal, counted.codebook), counted.confusion(decided), level=level)
