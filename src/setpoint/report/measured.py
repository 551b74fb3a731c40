"""The line of a metric that was measured, and not counted."""

from __future__ import annotations

from setpoint.blackbox import BlackBox
from setpoint.blackbox.budget import RowMetric
from setpoint.goals.goal import Goal, as_goal
from setpoint.report.entry import Entry

__all__ = ["measured_entry"]


def measured_entry(goal: Goal | BlackBox, metric: RowMetric, value: float) -> Entry:
    """The objective's line in a report, as measured."""
    w = metric.weight
    effective = float(metric.n_rows) if w is None else float(w.sum() ** 2 / (w @ w))
    text = str(as_goal(goal).objective)
    return Entry(text, value, rows=metric.n_rows, effective_rows=effective)
