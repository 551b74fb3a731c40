"""A goal as a scorer, for model selection: feasible first."""

from __future__ import annotations

import math
from typing import Any, Self

from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import _num_samples

from setpoint.estimators.base import GoalClassifier
from setpoint.evidence import Evidence
from setpoint.goals.errors import GoalError
from setpoint.goals.expressions import Expression
from setpoint.goals.goal import Goal, as_goal
from setpoint.inputs.columns import as_columns
from setpoint.inputs.decided import decided
from setpoint.inputs.inputs import deployed_decisions
from setpoint.report import report_on

__all__ = ["GoalScorer", "goal_scorer"]

_ROUTED = ("sample_weight", "sensitive_features", "baseline")


class GoalScorer:
    """A callable ``scorer(estimator, X, y)``; see :func:`goal_scorer`."""

    def __init__(
        self,
        goal: Goal | Expression | str,
        sensitive_features: Any = None,
        baseline: Any = None,
        pos_label: Any = None,
    ) -> None:
        self.goal = str(as_goal(goal))
        self.sensitive_features = sensitive_features
        self.baseline = baseline
        self.pos_label = pos_label
        self._requests: dict[str, Any] = {}
        datasets = Goal.parse(self.goal).needs.datasets
        if datasets:
            raise GoalError(
                f"the goal speaks of the data sets {list(datasets)}, and a scorer sees X alone"
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
        goal = Goal.parse(self.goal)
        evidence = decided(
            goal,
            y,
            estimator.predict(X),
            sensitive_features=self._columns(goal, estimator, X, sensitive_features),
            baseline=self._deployed(goal, estimator, X, baseline),
            sample_weight=sample_weight,
            classes=getattr(estimator, "classes_", None),
            pos_label=self.pos_label,
        )
        return _score(goal, evidence)

    def _columns(self, goal: Goal, estimator: Any, X: Any, given: Any) -> Any:
        names = goal.needs.names
        if not names:
            return None
        for known in (self.sensitive_features, getattr(estimator, "sensitive_features", None)):
            given = known if given is None else given
        n_rows = int(_num_samples(X))
        return as_columns(given, n_rows=n_rows, X=X, wanted=names, free=names)

    def _deployed(self, goal: Goal, estimator: Any, X: Any, given: Any) -> Any:
        given = self.baseline if given is None else given
        if given is None and None in goal.needs.baseline and isinstance(estimator, GoalClassifier):
            # With scores and a threshold in its constructor it gives decisions.
            given = estimator._rows(X, None, None, None, None, None)[None].baseline
        return deployed_decisions(given, X, "baseline")

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Ask for metadata, with metadata routing, as other scorers do.

        Parameters
        ----------
        **requests
            For `sample_weight`, `sensitive_features` and `baseline`: True, False, None
            or another name.
        """
        unknown = sorted(set(requests) - set(_ROUTED))
        if unknown:
            raise TypeError(f"set_score_request takes {list(_ROUTED)}, got {unknown}")
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


def _score(goal: Goal, evidence: Evidence) -> float:
    report = report_on(goal, evidence.confusion(evidence.scores))
    value = report.objective.value
    if value is None or any(c.satisfied is None for c in report.constraints):
        return math.nan
    missed = [-float(c.slack or 0.0) for c in report.constraints if not c.satisfied]
    sense = 1.0 if goal.sense == "maximize" else -1.0
    if not missed:
        return sense * float(value)
    lowest = min(sense * bound for bound in goal.bind(evidence.schema).range)
    # Below every score of a feasible model, the less violated the better.
    return (min(lowest, -1.0) if math.isfinite(lowest) else -1e6) - 1.0 - max(missed)


def goal_scorer(
    goal: Goal | Expression | str,
    *,
    sensitive_features: Any = None,
    baseline: Any = None,
    pos_label: Any = None,
) -> GoalScorer:
    """A scorer for ``GridSearchCV`` and ``cross_validate``: feasible first, then objective.

    Where every constraint holds the score is the objective (minus it for a goal that
    minimises). Otherwise it is less than that of every model which meets them, by the
    largest violation: ``-2 - violation`` for an objective in [-1, 1]. NaN where
    something the goal speaks of has no rows.

    Parameters
    ----------
    goal : Goal, str or metric
    sensitive_features : str or list of str, optional
        Names of columns of X; by default the estimator's own parameter of this name.
    baseline : str or classifier, optional
        A column of X with the deployed model's predictions, or the model; by default the
        `baseline` of an estimator of this library.
    pos_label : label, optional

    Raises
    ------
    GoalError
        If the goal speaks of data sets beside X.

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
