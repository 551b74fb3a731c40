"""Evaluating decisions against a goal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes
from setpoint.blackbox.binding import measured_on
from setpoint.blackbox.blackbox import BlackBox
from setpoint.blackbox.budget import RowMetric
from setpoint.counting.opening import is_lazy
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.estimators.counted_evaluation import evaluate_lazy
from setpoint.goals.expressions import Expression
from setpoint.goals.goal import Goal, as_goal
from setpoint.goals.populations import DEFER
from setpoint.inputs.arrays import frame_of, one_column
from setpoint.inputs.frames import columns_of
from setpoint.inputs.inputs import GivenRows
from setpoint.inputs.predictions import decided_inputs
from setpoint.program.link import link
from setpoint.report import GoalReport, report_on
from setpoint.report.counting import LEVEL
from setpoint.report.heavy import heavy_tails
from setpoint.report.measured import measured_entry
from setpoint.report.paired import against_deployed, with_deployed

__all__ = ["evaluate", "value_of"]


def evaluate(
    goal: Goal | Expression | BlackBox | str,
    *rows: Any,
    y_true: Any = None,
    y_pred: Any = None,
    scores: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    sample_weight: Any = None,
    datasets: Mapping[str, Any] | None = None,
    classes: Any = None,
    pos_label: Any = None,
    level: float = LEVEL,
    defer_label: Any = DEFER,
) -> GoalReport:
    """How far some decisions reach a goal, with intervals.

    Parameters
    ----------
    goal : Goal, str, metric or BlackBox
        A BlackBox is for two classes.
    *rows : two array-likes of shape (N,), or one frame
        True labels and predicted labels; or a table, in memory or elsewhere (a DuckDB relation,
        a Polars LazyFrame, a dask DataFrame), of which the other arguments name columns. A table
        elsewhere is counted where it is.
    y_true : array-like of shape (N,), or str
        True labels.
    y_pred : array-like of shape (N,), or str
        Predicted labels.
    scores : array-like of shape (N,), optional
        Scores, higher for the positive class, for a BlackBox that takes scores; the
        decisions in `y_pred` are counted all the same.
    sensitive_features : column, dict or frame, optional
        Side information that the goal names: groups, columns by which rows count, and the
        columns of a BlackBox.
    baseline : array-like of shape (N,), optional
        The deployed model's predictions. The report compares the decisions with them, whether
        the goal refers to them or not.
    sample_weight : array-like of shape (N,), optional
    datasets : dict, optional
        Name to (y_true or None, y_pred), or a Dataset of y_pred (its X) and y_true
        (its y) with side information.
    classes : array-like, optional
        All classes; by default those in `y_true` and `y_pred`.
    pos_label : label, optional
        The positive class of two. Not needed where it is settled: the larger of two numbers,
        True, the last of an ordered category, and the second of such words as no and yes; nor
        where the goal refers to no positive class, as "maximize accuracy" does not.
    level : float
        Confidence of each limit of an interval by itself, above 0.5 and below 1. A bound
        is shown to hold, or to fail, with this confidence, or with its own where the goal says
        one.
    defer_label : label
        What stands in `y_pred` for a row that is deferred, where the goal refers to such rows.

    Returns
    -------
    GoalReport
        With status "evaluated". What has no rows is "not evaluated".

    Raises
    ------
    GoalError
        If the goal names what the data do not have.
    MetricError
        If the function of a BlackBox raises, or returns what is not a value.
    ValueError, TypeError
        If an argument is wrong, or nothing says which of two text labels is positive; the
        message names it.

    Examples
    --------
    >>> from setpoint import evaluate
    >>> report = evaluate("maximize recall subject to precision >= 0.5", [0, 1, 1, 0], [0, 1, 0, 0])
    >>> report.objective.value, report.constraints[0].satisfied
    (0.5, True)
    """
    if not 0.5 < level < 1.0:
        raise InputError(f"`level` is above 0.5 and below 1, got {level}")
    table, y_true, y_pred = _given(rows, y_true, y_pred)
    if table is not None and is_lazy(table):
        return evaluate_lazy(
            as_goal(goal),
            table,
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            baseline=baseline,
            sample_weight=sample_weight,
            datasets=datasets,
            classes=classes,
            pos_label=pos_label,
            level=level,
        )
    if table is not None:
        columns = columns_of(
            table,
            y_true=y_true,
            y_pred=y_pred,
            sample_weight=sample_weight,
            sensitive_features=sensitive_features,
            baseline=baseline,
        )
        y_true, y_pred = columns["y_true"], columns["y_pred"]
        sample_weight, baseline = columns["sample_weight"], columns["baseline"]
        sensitive_features = columns["sensitive_features"]
    metric = goal if isinstance(goal, BlackBox) else None
    of_scores = metric is not None and metric.takes == "scores"
    if scores is None and of_scores:
        raise InputError(f"`scores` is missing, which {goal} takes")
    if scores is not None and not of_scores:
        raise InputError(f"`scores` is for a BlackBox that takes scores, {goal} is of decisions")
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
        defer_label=defer_label,
    )
    first = inputs.tables[None]
    objective, both = None, None
    if metric is not None:
        given = GivenRows(inputs.n_rows[None], y_true, sample_weight, sensitive_features, baseline)
        bound = measured_on(metric, inputs.classes, given, where=None)
        second = _scores(scores, given.n_rows) if of_scores else decisions[None]
        ours = value_of(bound, second)
        objective = measured_entry(metric, bound, ours)
        if first.deployed is not None and not of_scores:
            both = ours, value_of(bound, first.deployed)
    linked, confusion = link(goal, inputs.rows.codebook), inputs.confusion(decisions)
    notes = heavy_tails(goal, first)
    report = report_on(linked, confusion, objective=objective, warnings=notes, level=level)
    against = against_deployed(goal, inputs.classes.labels, first, decisions[None], both, level)
    return with_deployed(report, against)


def _given(rows: tuple[Any, ...], y_true: Any, y_pred: Any) -> tuple[Any, Any, Any]:
    """The table, or None, and what is known of labels and decisions."""
    if len(rows) == 2 and y_true is None and y_pred is None:
        return None, *rows
    if len(rows) == 1 and (y_pred is not None) and y_true is None and not _is_frame(rows[0]):
        return None, rows[0], y_pred
    if len(rows) > 1 or (not rows and (y_true is None or y_pred is None)):
        raise InputTypeError(
            "evaluate takes the true labels and the predicted ones, or a table and the names "
            f"`y_true` and `y_pred` of its columns; found {len(rows)} beside the goal"
        )
    if not rows:
        return None, y_true, y_pred
    for name, value in (("y_true", y_true), ("y_pred", y_pred)):
        if not isinstance(value, str):
            raise InputTypeError(
                f"{quoted(name)} is the name of a column of the table, found {type(value).__name__}"
            )
    return rows[0], y_true, y_pred


def _is_frame(given: Any) -> bool:
    return is_lazy(given) or frame_of(given) is not None


def value_of(metric: RowMetric, second: Codes | NDArray[np.float64]) -> float:
    """What a metric says, in the user's units."""
    of_scores = metric.takes == "scores"
    scores = np.asarray(second if of_scores else np.where(second == 1, 1.0, -1.0), np.float64)
    return float(metric(scores[metric.kept][None])[0])


def _scores(scores: Any, n_rows: int) -> NDArray[np.float64]:
    values = np.asarray(one_column(scores, "scores"), dtype=np.float64)
    if len(values) != n_rows:
        raise InputError(f"`scores` has {len(values)} rows, `y_pred` has {n_rows}")
    if not np.isfinite(values).all():
        raise InputError("`scores` are finite numbers, found NaN or infinity")
    return values
