"""Which black box is meant, and its value for a rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.blackbox.binding import measured_on
from setpoint.blackbox.blackbox import BlackBox
from setpoint.blackbox.budget import RowMetric
from setpoint.blackbox.smoothing import margin
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import as_goal
from setpoint.inputs.classes import ClassOrder
from setpoint.inputs.inputs import GivenRows
from setpoint.rules import PerSegment, Rule, Threshold

__all__ = ["blackbox_of", "measured_value", "rows_taken", "shifted_by"]


def blackbox_of(goal: Any) -> BlackBox | None:
    """The black box that a `goal` argument is; None for goals of the language."""
    if isinstance(goal, BlackBox):
        return goal
    named = as_goal(goal)
    if named.is_blackbox:
        raise GoalError(
            f"the goal '{named}' only names a metric; its function is wanted: "
            "goal=BlackBox(function)"
        )
    return None


def shifted_by(rule: Rule, scores: Floats, segments: Codes | None = None) -> Floats:
    """Scores (n,) minus the rule's cut-off, so that the rule decides positive from 0 on."""
    if isinstance(rule, Threshold) and rule.width == 0.0:
        return margin(scores, rule.threshold)
    if isinstance(rule, PerSegment) and segments is not None:
        cuts = [r.threshold for r in rule.rules if isinstance(r, Threshold) and r.width == 0.0]
        if len(cuts) == len(rule.rules):
            return margin(scores, np.array(cuts)[segments])
    return np.where(rule.decide(scores, segments) == 1, 1.0, -1.0)


def rows_taken(metric: RowMetric, index: Codes | None, n_rows: int) -> RowMetric:
    """The metric on some of the rows given, those of weight zero left out."""
    if index is None:
        return metric
    place = np.full(n_rows, -1)
    place[metric.kept] = np.arange(metric.n_rows)
    return metric.take(place[index][place[index] >= 0])


def measured_value(
    metric: BlackBox,
    classes: ClassOrder,
    rows: GivenRows,
    rule: Rule,
    scores: Floats,
    segments: Codes | None = None,
) -> tuple[RowMetric, float]:
    """The metric on rows with labels, and its value for a rule there."""
    bound = measured_on(metric, classes, rows, where=None)
    own = shifted_by(rule, scores, segments)[bound.kept]
    return bound, float(bound(own[None])[0])
