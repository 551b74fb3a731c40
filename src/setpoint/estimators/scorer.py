"""A goal as a scorer, for model selection: feasible first, without a jump at a bound."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import _num_samples

from setpoint.blackbox.binding import measured_on
from setpoint.blackbox.blackbox import BlackBox
from setpoint.blackbox.measuring import shifted_by
from setpoint.errors import InputTypeError
from setpoint.estimators.base import GoalClassifier
from setpoint.estimators.evaluation import value_of
from setpoint.estimators.shortfall import range_of_objective, score_without_cliff
from setpoint.evidence import Confusion
from setpoint.goals.errors import GoalError
from setpoint.goals.expressions import Expression
from setpoint.goals.goal import Goal, as_goal
from setpoint.goals.populations import DEFER
from setpoint.inputs.classes import ClassOrder, classes_of
from setpoint.inputs.columns import as_columns
from setpoint.inputs.inputs import GivenRows
from setpoint.inputs.predictions import decided_inputs
from setpoint.program.link import link
from setpoint.program.program import LinkedGoal
from setpoint.report.counting import entries_on

__all__ = ["GoalScorer", "goal_scorer"]

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
        goal = Goal.parse(self.goal)
        inputs, decisions = decided_inputs(
            goal,
            y,
            estimator.predict(X),
            sensitive_features=self._columns(goal, estimator, X, sensitive_features),
            baseline=self._deployed(goal, estimator, baseline),
            sample_weight=sample_weight,
            classes=getattr(estimator, "classes_", None),
            pos_label=self._positive(estimator),
            X=X,
            defer_label=_defer_label(estimator),
        )
        linked = link(goal, inputs.rows.codebook)
        return _score(linked, inputs.confusion(decisions))

    def _columns(self, goal: Goal, estimator: Any, X: Any, given: Any) -> Any:
        names = goal.needs.names
        if not names:
            return None
        given = self._given(estimator, given)
        n_rows = int(_num_samples(X))
        return as_columns(given, n_rows=n_rows, X=X, wanted=names, free=names)

    def _positive(self, estimator: Any) -> Any:
        return getattr(estimator, "pos_label", None) if self.pos_label is None else self.pos_label

    def _given(self, estimator: Any, given: Any) -> Any:
        for known in (self.sensitive_features, getattr(estimator, "sensitive_features", None)):
            given = known if given is None else given
        return given

    def _called(
        self, metric: BlackBox, estimator: Any, X: Any, y: Any, weight: Any, given: Any
    ) -> float:
        """The value of a metric without a formula, higher is better."""
        classes = classes_of(y, getattr(estimator, "classes_", None), self._positive(estimator))
        rows = GivenRows(int(_num_samples(X)), y, weight, self._given(estimator, given), None, X)
        bound = measured_on(metric, classes, rows, where=None)
        if metric.takes == "predictions":
            second: Any = classes.codes(estimator.predict(X), "predict(X)", rows.n_rows)
        else:
            second = _scores(estimator, X, classes)
        return bound.sense * value_of(bound, second)

    def _deployed(self, goal: Goal, estimator: Any, given: Any) -> Any:
        if None not in goal.needs.baseline:
            return None
        for known in (self.baseline, getattr(estimator, "baseline", None)):
            given = known if given is None else given
        return given

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


def _defer_label(estimator: Any) -> Any:
    """What predict returns for a row that is deferred."""
    return estimator._answers.defer_label if isinstance(estimator, GoalClassifier) else DEFER


def _scores(estimator: Any, X: Any, classes: ClassOrder) -> NDArray[np.float64]:
    """Scores of the positive class of two."""
    if isinstance(estimator, GoalClassifier):
        above = _above(estimator, X)
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


def _above(clf: GoalClassifier, X: Any) -> NDArray[np.float64]:
    """How far scores lie above the cut-off of a classifier of this library."""
    rule, scores, segments = clf.rule_, clf._scores(X), clf._segments(X, None)
    if rule.randomized:
        return np.asarray(rule.distribution(scores, segments)[:, 1] - 0.5)
    return shifted_by(rule, scores, segments)


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
