"""``evaluate`` and ``goal_scorer``: decisions judged by a goal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import _num_samples

from setpoint.array_types import Codes
from setpoint.blackbox import BlackBox, RowMetric, measured_on, shifted_by
from setpoint.classifiers.base import GoalClassifier
from setpoint.counts import Confusion
from setpoint.errors import GoalError, InputError, InputTypeError, quoted
from setpoint.goals import DEFER, Expression, Goal, as_goal
from setpoint.inputs import (
    Answers,
    ClassOrder,
    GivenRows,
    Unlabelled,
    as_columns,
    classes_of,
    column_of,
    columns_of,
    decided_inputs,
    frame_of,
    one_column,
)
from setpoint.program import LinkedGoal, Linker, link
from setpoint.report import (
    LEVEL,
    Entry,
    GoalReport,
    against_deployed,
    entries_on,
    heavy_tails,
    measured_entry,
    report_on,
    with_deployed,
)
from setpoint.sources import CountedRows, frame_rows_of, is_lazy, require_formula

# --- Evaluating decisions against a goal ----------------------------------------------------------


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
    units: Any = None,
    unlabelled: Unlabelled | None = None,
) -> GoalReport:
    """How far some decisions reach a goal, with intervals.

    Parameters
    ----------
    goal : Goal, str, metric or BlackBox
        A BlackBox is for two classes.
    *rows : two array-likes of shape (N,), or one frame
        True labels and predicted labels; or a table, in memory or out of core (a DuckDB
        relation, a Polars LazyFrame, a dask DataFrame), of which the other arguments name columns.
        A table out of core is counted where it is.
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
    units : array-like of shape (N,), or str, optional
        The customer, document or case that each row belongs to; intervals then hold however the
        rows of one unit depend on each other.
    unlabelled : Unlabelled, optional
        Many more rows that were decided and not labelled, with a proxy of their labels. Values that
        are one fraction of counts, and the smallest, largest and gaps of such, are then those of
        labels and proxy together, with narrower limits.

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
    if unlabelled is not None and (is_lazy(table) or baseline is not None):
        raise InputError("`unlabelled` goes with rows in memory, and without `baseline`")
    if table is not None and is_lazy(table):  # decisions that are columns of a table out of core
        require_formula(as_goal(goal))
        beside: Any = {"decided": y_pred, "weight": sample_weight, "baseline": baseline}
        beside["units"] = units
        rows_of = frame_rows_of(table, y_true, sensitive_features, datasets, **beside)
        counted = CountedRows.first_pass(
            as_goal(goal), rows_of, classes=classes, pos_label=pos_label, decide_on=None
        )
        tables = [counted.tables[name].values(y_pred) for name in counted.inputs.tables]
        codes = counted.inputs.classes.codes
        decided = np.concatenate([codes(one, "y_pred") for one in tables])
        linked = link(as_goal(goal), counted.codebook)
        return report_on(linked, counted.confusion(decided), level=level)
    given: dict[str, Any] = {
        "y_true": y_true, "y_pred": y_pred, "sample_weight": sample_weight,
        "sensitive_features": sensitive_features, "baseline": baseline, "units": units,
    }  # fmt: skip
    if table is not None:
        given = columns_of(table, **given)
    metric = goal if isinstance(goal, BlackBox) else None
    of_scores = metric is not None and metric.takes == "scores"
    if scores is None and of_scores:
        raise InputError(f"`scores` is missing, which {goal} takes")
    if scores is not None and not of_scores:
        raise InputError(f"`scores` is for a BlackBox that takes scores, {goal} is of decisions")
    goal = as_goal(goal)
    labels: dict[str, Any] = {"classes": classes, "pos_label": pos_label}
    inputs, decisions = decided_inputs(
        goal, datasets=datasets, defer_label=defer_label, **labels, **given
    )
    first = inputs.tables[None]
    objective, both = None, None
    if metric is not None:
        n_rows = inputs.n_rows[None]
        beside = [v for k, v in given.items() if k not in ("y_pred", "units")]
        bound = measured_on(metric, inputs.classes, GivenRows(n_rows, *beside), where=None)
        ours = value_of(bound, _scores(scores, n_rows) if of_scores else decisions[None])
        objective = measured_entry(metric, bound, ours)
        if first.deployed is not None and not of_scores:
            both = ours, value_of(bound, first.deployed)
    linked, confusion = link(goal, inputs.rows.codebook), inputs.confusion(decisions)
    if unlabelled is not None:
        classes_of(given["y_true"], classes, pos_label, "y_true")  # a positive class is needed
        rest = unlabelled.X if table is None else column_of(unlabelled.X, y_pred, "y_pred")
        others = Answers.of(goal, rest, "unlabelled: X", defer_label).codes(inputs.classes)
        X, inputs = y_pred if table is None else table, replace(inputs, unlabelled=unlabelled)
        confusion = inputs.proxied(inputs.joined(decisions), X, others)
    notes = heavy_tails(goal, first)
    report = report_on(linked, confusion, objective=objective, warnings=notes, level=level)
    against = against_deployed(goal, inputs.classes.labels, first, decisions[None], both, level)
    return with_deployed(report, against)


def _given(rows: tuple[Any, ...], y_true: Any, y_pred: Any) -> tuple[Any, Any, Any]:
    """The table, or None, and what is known of labels and decisions."""
    if len(rows) == 2 and y_true is None and y_pred is None:
        return None, *rows
    is_frame = rows and (is_lazy(rows[0]) or frame_of(rows[0]) is not None)
    if len(rows) == 1 and y_pred is not None and y_true is None and not is_frame:
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


def value_of(metric: RowMetric, second: Codes | NDArray[np.float64]) -> float:
    """What a metric says, in the user's units."""
    of_scores = metric.takes == "scores"
    scores = np.asarray(second if of_scores else np.where(second == 1, 1.0, -1.0), np.float64)
    return metric.of_rows(scores)


def _scores(scores: Any, n_rows: int) -> NDArray[np.float64]:
    values = np.asarray(one_column(scores, "scores"), dtype=np.float64)
    if len(values) != n_rows:
        raise InputError(f"`scores` has {len(values)} rows, `y_pred` has {n_rows}")
    if not np.isfinite(values).all():
        raise InputError("`scores` are finite numbers, found NaN or infinity")
    return values


# --- How far decisions fall short of a goal -------------------------------------------------------


_LEAST = 1e-3
"""Limits are taken to lie no nearer than this, as where no row could change a value."""


def shortfall_of(entry: Entry) -> float:
    """How far a constraint is missed, in units of what chance explains; NaN if not evaluated.

    Examples
    --------
    >>> near = Entry("precision >= 0.8", 0.78, 0.8, -0.02, False, 0.73, 0.82, relation=">=")
    >>> round(shortfall_of(near), 2)
    0.5
    """
    if entry.satisfied is None or entry.slack is None or entry.value is None:
        return math.nan
    if entry.satisfied:
        return 0.0
    limit = entry.high if entry.relation == ">=" else entry.low
    distance = 0.0 if limit is None else abs(limit - entry.value)
    least = _LEAST * max(1.0, abs(entry.bound or 0.0))
    return -entry.slack / max(distance, least)


def range_of_objective(linked: LinkedGoal, confusion: Confusion) -> float | None:
    """The largest value of the objective on some rows minus the smallest; None if not finite."""
    function = Linker(linked.codebook, confusion.marginals).function(linked.goal.objective)
    found = function.high - function.low
    return float(found) if math.isfinite(found) else None


def score_without_cliff(
    sense: float, value: float, constraints: Iterable[Entry], spread: float | None, weight: float
) -> float:
    """The objective, higher is better, less what the worst miss costs; NaN if not evaluated.

    Examples
    --------
    >>> near = Entry("precision >= 0.8", 0.78, 0.8, -0.02, False, 0.73, 0.82, relation=">=")
    >>> round(score_without_cliff(1.0, 0.6, [near], 1.0, 0.25), 3)
    0.475
    """
    past = [shortfall_of(c) for c in constraints]
    if any(math.isnan(p) for p in past):
        return math.nan
    size = 1.0 + abs(value) if spread is None else spread
    return sense * value - weight * size * max(past, default=0.0)


# --- A goal as a scorer, for model selection: feasible first --------------------------------------


_WEIGHT = 0.25
"""Of the objective's range, for the largest miss of a bound that chance explains on one fold."""

_ROUTED = ("sample_weight", "sensitive_features", "baseline")


class GoalScorer:
    """A callable ``scorer(estimator, X, y)``; see :func:`goal_scorer`."""

    def __init__(
        self,
        goal: Goal | Expression | BlackBox | str,
        sensitive_features: Any = None,
        baseline: Any = None,
        pos_label: Any = None,
    ) -> None:
        self.goal = str(as_goal(goal))
        self.metric = goal if isinstance(goal, BlackBox) else None
        self.sensitive_features = sensitive_features
        self.baseline = baseline
        self.pos_label = pos_label
        self._requests: dict[str, Any] = {}
        if self.metric is None and as_goal(goal).is_blackbox:
            raise GoalError(
                f"{self.goal}: a scorer needs the function: goal_scorer(BlackBox(function))"
            )
        datasets = Goal.parse(self.goal).needs.datasets
        if datasets:
            raise GoalError(
                f"the goal refers to the data sets {list(datasets)}, and a scorer sees X alone"
            )

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
    ) -> float:
        """The score of a fitted classifier on some rows."""
        if self.metric is not None:
            return self._called(self.metric, estimator, X, y, sample_weight, sensitive_features)
        goal, columns = Goal.parse(self.goal), None
        deployed, names = None in goal.needs.baseline, goal.needs.names
        decided, n_rows = estimator.predict(X), int(_num_samples(X))
        if names:
            given = self._of("sensitive_features", estimator, sensitive_features)
            columns = as_columns(given, n_rows=n_rows, X=X, wanted=names, free=names)
        own = isinstance(estimator, GoalClassifier)
        inputs, decisions = decided_inputs(
            goal, y, decided, sensitive_features=columns, sample_weight=sample_weight, X=X,
            baseline=self._of("baseline", estimator, baseline) if deployed else None,
            classes=getattr(estimator, "classes_", None),
            pos_label=self._of("pos_label", estimator),
            defer_label=estimator._answers.defer_label if own else DEFER,
        )  # fmt: skip
        return _score(link(goal, inputs.rows.codebook), inputs.confusion(decisions))

    def _of(self, name: str, estimator: Any, given: Any = None) -> Any:
        """What was routed, else what the scorer was made with, else the estimator's own."""
        known = (given, getattr(self, name), getattr(estimator, name, None))
        return next((value for value in known if value is not None), None)

    def _called(
        self, metric: BlackBox, estimator: Any, X: Any, y: Any, weight: Any, given: Any
    ) -> float:
        """The value of a metric without a formula, higher is better."""
        known, n_rows = getattr(estimator, "classes_", None), int(_num_samples(X))
        classes = classes_of(y, known, self._of("pos_label", estimator))
        columns = self._of("sensitive_features", estimator, given)
        rows = GivenRows(n_rows, y, weight, columns, None, X)
        bound = measured_on(metric, classes, rows, where=None)
        if metric.takes == "predictions":
            second: Any = classes.codes(estimator.predict(X), "predict(X)", n_rows)
        else:
            second = _scorer_scores(estimator, X, classes)
        return bound.sense * value_of(bound, second)

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Ask for metadata, with metadata routing, as other scorers do."""
        unknown = sorted(set(requests) - set(_ROUTED))
        if unknown:
            raise InputTypeError(f"set_score_request takes {list(_ROUTED)}, got {unknown}")
        self._requests.update(requests)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """What is asked for, with metadata routing."""
        request = MetadataRequest(owner=self)
        for name in _ROUTED:
            request.score.add_request(param=name, alias=self._requests.get(name))
        return request

    def __repr__(self) -> str:
        return f"goal_scorer({self.goal!r})"


def _scorer_scores(estimator: Any, X: Any, classes: ClassOrder) -> NDArray[np.float64]:
    """Scores of the positive class of two."""
    if isinstance(estimator, GoalClassifier):  # how far they lie above the cut-off
        rule, scores = estimator.rule_, estimator._scores(X)
        segments = estimator._segments(X, None)
        if rule.randomized:
            above = np.asarray(rule.distribution(scores, segments)[:, 1] - 0.5)
        else:
            above = shifted_by(rule, scores, segments)
        return above if estimator.positive_ == classes.labels[1] else -above
    if hasattr(estimator, "decision_function"):
        values = np.asarray(estimator.decision_function(X), dtype=np.float64)
        return -values if classes.positive_first else values
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X), np.float64)[:, classes.order[1]] - 0.5
    raise InputTypeError(
        f"{type(estimator).__name__} has neither decision_function nor predict_proba, and the "
        "metric takes scores"
    )


def _score(linked: LinkedGoal, confusion: Confusion) -> float:
    objective, *constraints = entries_on(linked, confusion, level=None)
    if objective.value is None or any(c.satisfied is None for c in constraints):
        return math.nan
    sense = 1.0 if linked.goal.sense == "maximize" else -1.0
    if all(c.satisfied for c in constraints):
        return sense * float(objective.value)
    _, *constraints = entries_on(linked, confusion)
    spread = range_of_objective(linked, confusion)
    return score_without_cliff(sense, float(objective.value), constraints, spread, _WEIGHT)


def goal_scorer(
    goal: Goal | Expression | BlackBox | str,
    *,
    sensitive_features: Any = None,
    baseline: Any = None,
    pos_label: Any = None,
) -> GoalScorer:
    """A scorer for ``GridSearchCV`` and ``cross_validate``: the objective, less what misses cost.

    Where every constraint holds the score is the objective (minus it for a goal that
    minimises). Otherwise it is less by ``range * miss / (4 * chance)``: the range of the objective
    on these rows, times by how much the worst constraint is missed, over the largest miss that
    chance explains, the distance from the value to its one-sided limit at 95 % confidence. So
    there is no jump at a bound, which a rule that just meets it misses on half of all samples; a
    miss that the rows begin to show as real costs a quarter of the range, and four times as large
    a one puts the model below every model that meets the goal. NaN where something the goal refers
    to has no rows.

    One fold knows little of a bound, and a mean over folds no more: judge all folds together where
    you can.

    A metric without a formula is called on what the classifier predicts, or on its scores:
    how far they lie above the cut-off for a classifier of this library, else those of
    ``decision_function``, or the probability of the positive class less one half. It is for two
    classes. Its columns come from `sensitive_features`, or from X by their names.

    Parameters
    ----------
    goal : Goal, str, metric or BlackBox
    sensitive_features : str or list of str, optional
        Names of columns of X; by default the estimator's own parameter of this name.
    baseline : str or classifier, optional
        A column of X with the deployed model's predictions, or the model; by default the
        `baseline` of an estimator of this library.
    pos_label : label, optional
        The positive class of two; by default the estimator's own parameter of this name. Needed
        as in :func:`setpoint.evaluate`.

    Raises
    ------
    GoalError
        If the goal refers to data sets beside X, or names a black box without its function.
    MetricError
        When called, if the function of a BlackBox raises, or returns what is not a value.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from setpoint import goal_scorer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> scorer = goal_scorer("maximize recall subject to precision >= 0.9")
    >>> 0.9 < scorer(RidgeClassifier().fit(X, y), X, y) <= 1.0
    True
    """
    return GoalScorer(goal, sensitive_features, baseline, pos_label)
