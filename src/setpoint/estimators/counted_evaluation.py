"""Evaluating decisions that are columns of a table elsewhere: one count, whatever the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from setpoint.goals.goal import Goal
from setpoint.inputs.counted_rows import CountedRows
from setpoint.inputs.frames import frame_rows_of, require_formula
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
    """The report on decisions in a table; arguments as of :func:`setpoint.evaluate`."""
    require_formula(goal)
    rows = frame_rows_of(
        frame,
        y_true,
        sensitive_features,
        datasets,
        decided=y_pred,
        weight=sample_weight,
        baseline=baseline,
    )
    counted = CountedRows.first_pass(
        goal, rows, classes=classes, pos_label=pos_label, decide_on=None
    )
    decided = np.concatenate(
        [
            counted.classes.codes(counted.values(name, y_pred), "y_pred")
            for name in counted.inputs.tables
        ]
    )
    return report_on(link(goal, counted.codebook), counted.confusion(decided), level=level)
