"""Evaluating decisions against a goal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setpoint.goals.expressions import Expression
from setpoint.goals.goal import Goal, as_goal
from setpoint.inputs.decided import decided_inputs
from setpoint.inputs.inputs import Rows, baseline_codes
from setpoint.report import GoalReport, compared, report_on

__all__ = ["evaluate"]


def evaluate(
    goal: Goal | Expression | str,
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any = None,
    baseline: Any = None,
    sample_weight: Any = None,
    datasets: Mapping[str, Any] | None = None,
    classes: Any = None,
    pos_label: Any = None,
) -> GoalReport:
    """How far some decisions reach a goal, with intervals.

    Parameters
    ----------
    goal : Goal, str or metric
    y_true : array-like of shape (N,)
        True labels.
    y_pred : array-like of shape (N,)
        Predicted labels.
    sensitive_features : column, dict or frame, optional
        Side information that the goal names.
    baseline : array-like of shape (N,), optional
        The deployed model's predictions. The report compares the decisions with them, whether
        the goal speaks of them or not.
    sample_weight : array-like of shape (N,), optional
    datasets : dict, optional
        Name to (y_true or None, y_pred), or a Dataset of y_pred (its X) and y_true
        (its y) with side information.
    classes : array-like, optional
        All classes; by default those in `y_true` and `y_pred`.
    pos_label : label, optional
        The positive class of two; by default the last in sorted order.

    Returns
    -------
    GoalReport
        With status "evaluated". What has no rows is "not evaluated".

    Raises
    ------
    GoalError
        If the goal names what the data do not have.
    ValueError, TypeError
        If an argument is wrong; the message names it.

    Examples
    --------
    >>> from setpoint import evaluate
    >>> report = evaluate("maximize recall subject to precision >= 0.5", [0, 1, 1, 0], [0, 1, 0, 0])
    >>> report.objective.value, report.constraints[0].satisfied
    (0.5, True)
    """
    goal = as_goal(goal)
    inputs, decisions = decided_inputs(
        goal,
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        baseline=baseline,
        sample_weight=sample_weight,
        datasets=datasets,
        classes=classes,
        pos_label=pos_label,
    )
    rows = inputs.parts[None]
    deployed = rows.baseline
    if deployed is None:
        given = Rows(inputs.n_rows[None], y_true, baseline=baseline)
        deployed = baseline_codes(given, inputs.classes, "baseline")
    against = None
    if deployed is not None:
        against = compared(rows.true, deployed, decisions[None], rows.weight)
    evidence = inputs.evidence(decisions)
    return report_on(goal, evidence.confusion(evidence.scores), deployed=against)
