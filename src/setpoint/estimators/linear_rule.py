"""What binary classifiers share that train a model and accept by a cut-off on its score."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from setpoint.estimators.base import GoalClassifier
from setpoint.rules import Threshold
from setpoint.typing import Floats

__all__ = ["TrainedClassifier", "linear_scores"]


def linear_scores(X: Any, w: Floats) -> Floats:
    """Scores (N,) at the coefficients and, last, the intercept.

    Examples
    --------
    >>> linear_scores(np.array([[1.0, 2.0]]), np.array([3.0, 4.0, -1.0]))
    array([10.])
    """
    return np.asarray(X @ w[:-1] + w[-1], np.float64)


class TrainedClassifier(GoalClassifier):
    """A family sets ``parameters_``, which for linear models are coefficients and intercept."""

    parameters_: Any

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
        """How far the scores lie above the threshold.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, d)

        Returns
        -------
        array of shape (N,)
            At least 0 where the last of ``classes_`` is decided; where that is the negative
            class, with the opposite sign. A rule that draws accepts with a probability that
            rises with it.
        """
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
