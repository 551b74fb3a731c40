"""What binary classifiers share that train a model and accept by a cut-off on its score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from setpoint.array_types import Floats
from setpoint.deciding import Certification, Decision, FitData, Found, Tries, open_fit
from setpoint.errors import InputError
from setpoint.estimators.base import GoalClassifier, atomic_fit
from setpoint.estimators.features import checked_features, without_column
from setpoint.estimators.row_order import order_in_words
from setpoint.evidence import Evidence
from setpoint.goals.goal import Goal
from setpoint.inputs.arrays import column_names, one_column
from setpoint.inputs.classes import ClassOrder, two_classes
from setpoint.rules import Threshold
from setpoint.solvers import Confidence, Solver

__all__ = ["TrainedClassifier", "linear_scores", "most_models"]

_MOST_MODELS = 20
_SCORES = 40_000_000
"""In all, of the models that are certified, on the rows that choose."""


def most_models(n_rows: int) -> int:
    """How many models are tried on rows that certify: fewer where very many rows choose.

    Examples
    --------
    >>> most_models(1_000), most_models(5_000_000)
    (20, 8)
    """
    return max(min(_MOST_MODELS, _SCORES // max(n_rows, 1)), 3)


def linear_scores(X: Any, w: Floats) -> Floats:
    """Scores (N,) at the coefficients and, last, the intercept.

    Examples
    --------
    >>> linear_scores(np.array([[1.0, 2.0]]), np.array([3.0, 4.0, -1.0]))
    array([10.])
    """
    return np.asarray(X @ w[:-1] + w[-1], np.float64)


def check_confidence(classifier: TrainedClassifier) -> None:
    """Refuse promises that no model of a training can be given."""
    asked, name = Confidence.of(classifier.confidence), type(classifier).__name__
    if asked.guarantee == "approximate":
        raise InputError(
            f"`confidence`: `guarantee='approximate'` tries rules on cross-validated scores, which "
            f"{name} has none of: its training looks at the goal itself; leave it out, and rows "
            "are kept apart that certify"
        )
    if asked.for_next is not None:
        raise InputError(
            f"`confidence`: `for_next={asked.for_next}` promises the next rows for thresholds of "
            f"one model, and {name} certifies several models of its training: leave it out, and "
            "the promise is for the population"
        )


class TrainedClassifier(GoalClassifier):
    """A family trains in ``_train``, and sets ``parameters_`` there."""

    parameters_: Any
    pos_label: Any
    preprocessor: Any

    @atomic_fit
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        certify_on: Any = None,
    ) -> Self:
        """Train the model and settle the threshold."""
        data = open_fit(
            self,
            X,
            y,
            sample_weight=sample_weight,
            sensitive_features=sensitive_features,
            baseline=baseline,
            datasets=datasets,
            certify_on=certify_on,
        )
        self._close(data, self._train(data))
        order = order_in_words(self._scores(data.X), data.true)
        if order:
            report = self.goal_report_
            self.goal_report_ = replace(report, warnings=(*report.warnings, order))
        self._sign(data.digests)
        return self

    def _train(self, data: FitData) -> Decision:
        """Train the model on checked rows, and decide on its rule."""
        raise NotImplementedError

    def _check_fit(self, goal: Goal, X: Any, solver: Solver) -> None:
        super()._check_fit(goal, X, solver)
        check_confidence(self)

    def _scores_by(self, model: Any, X: Any, column: str | None) -> Floats:
        """Scores (N,) of rows by a model of the training."""
        raise NotImplementedError

    def _scores(self, X: Any) -> Floats:
        return self._scores_by(self.parameters_, X, self.baseline_column_)

    def _certification(
        self,
        data: FitData,
        models: Callable[[Found], Sequence[Found]],
        allowed: Callable[[Floats], NDArray[np.bool_]] | None = None,
    ) -> Certification | None:
        """How models of the training are certified; None where nothing is promised."""
        rows, settings = data.certifying, data.promised
        if rows is None or settings is None:
            return None

        def scored(found: Found) -> Evidence:
            return rows.evidence(lambda X: self._scores_by(found.model, X, data.column))

        draws, names = None, column_names(data.X)
        if getattr(self, "randomized", False):
            draws = rows.draws(lambda X: self._draws_of(X, data.key, names))
        return Certification(
            settings,
            scored,
            draws=draws,
            models=models,
            tries=Tries.of(self),
            key=rows.key,
            note=rows.copies,
            table=rows.judged.tables[None],
            allowed=allowed,
        )

    def _features(self, X: Any, column: str | None, reset: bool = False) -> Any:
        if column is not None:
            X = without_column(X, column)
        return checked_features(self, X, reset=reset)

    def _classes_for(self, goal: Goal, y: Any, weight: Floats | None) -> ClassOrder:
        used = y if weight is None or weight.all() else one_column(y, "y")[weight > 0]
        return two_classes(used, None, self.pos_label, goal=goal, category=y)

    @property
    def threshold_(self) -> float:
        """On the model's scores: rows with at least this are decided positive."""
        self._check_there("threshold_")
        rule = self.rule_
        assert isinstance(rule, Threshold)
        return rule.threshold

    @property
    def coef_(self) -> Floats:
        """Coefficients (1, d) of a linear model, for features as preprocessed."""
        return self._linear("coef_")[None, :-1]

    @property
    def intercept_(self) -> Floats:
        """The intercept (1,) of a linear model; the threshold is not in it."""
        return self._linear("intercept_")[-1:]

    def decision_function(self, X: Any) -> Floats:
        """How far the scores lie above the threshold."""
        check_is_fitted(self)
        above = self._scores(X) - self.threshold_
        return -above if self._classes.positive_first else above

    def _linear(self, name: str) -> Floats:
        self._check_there(name)
        if not isinstance(self.parameters_, np.ndarray):
            raise AttributeError(f"{name} is there for linear models only")
        return self.parameters_

    def _check_there(self, name: str) -> None:
        if not hasattr(self, "parameters_"):
            raise AttributeError(f"{name} is there after fit")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
