"""New rows go to the best of a search: decisions, posteriors, verdicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from setpoint.choosing.search_result import SearchResult
from setpoint.estimators.evaluation import evaluate
from setpoint.goals.goal import Goal
from setpoint.report import GoalReport

__all__ = ["BestOnNewRows"]

F = TypeVar("F", bound=Callable[..., Any])


def _if_best_has(name: str) -> Callable[[F], F]:
    """A method that is there where the best classifier has it."""

    def has(self: Any) -> bool:
        if hasattr(self, "best_estimator_"):
            getattr(self.best_estimator_, name)
        elif not isinstance(self.estimator, dict):
            getattr(self.estimator, name)
        return True

    decorate: Callable[[F], F] = available_if(has)
    return decorate


class BestOnNewRows:
    """What a fitted search does with rows: it passes them on to the best."""

    best_estimator_: Any
    best_index_: int
    search_: SearchResult
    pos_label: Any
    refit: bool
    _checked_goal: Callable[[], Goal]

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Decide each row by the best.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, p)
        sensitive_features : column, dict or frame, optional
            The columns that its rule looks at, where they are not columns of X.

        Returns
        -------
        array of shape (N,)
            Labels.
        """
        given = {} if sensitive_features is None else {"sensitive_features": sensitive_features}
        return np.asarray(self._best().predict(X, **given))

    @_if_best_has("predict_proba")
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The posterior (N, n) of the best, untouched by its rule."""
        return np.asarray(self._best().predict_proba(X))

    @_if_best_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of the posterior (N, n) of the best."""
        return np.asarray(self._best().predict_log_proba(X))

    @_if_best_has("decision_function")
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The decision function of the best, (N,) or (N, n), untouched by its rule."""
        return np.asarray(self._best().decision_function(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right decisions of the best.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, p)
        y : array-like of shape (N,)
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        float
        """
        return float(self._best().score(X, y, sample_weight=sample_weight))

    def evaluate(self, X: Any, y: Any, **rows: Any) -> GoalReport:
        """How far the best reaches the goal of the search on new rows, which do not flatter it.

        Parameters
        ----------
        X, y
            Rows that took no part in ``fit``.
        **rows
            `sample_weight`, `sensitive_features` and `baseline`, as in ``fit``.

        Returns
        -------
        GoalReport
            With status "evaluated".
        """
        best, goal = self._best(), self._checked_goal()
        if hasattr(best, "evaluate"):
            return best.evaluate(X, y, goal=goal, **rows)  # type: ignore[no-any-return]
        return evaluate(
            goal, y, best.predict(X), classes=self.classes_, pos_label=self.pos_label, **rows
        )

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of the best."""
        return np.asarray(self._best().classes_)

    @property
    def n_features_in_(self) -> int:
        """The number of features of the best."""
        try:
            best = self._best()
        except AttributeError as error:  # NotFittedError is one
            raise AttributeError(str(error)) from error
        return int(best.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features of the best, where these were text."""
        return np.asarray(self._best().feature_names_in_)

    def _best(self) -> Any:
        check_is_fitted(self, "search_")
        if not hasattr(self, "best_estimator_"):
            name = self.search_.candidates[self.best_index_].name
            why, do = "`refit` is False", "or say `refit=True`"
            if self.refit:
                why, do = "the last fit of all rows failed", "or say what the error asks for"
            raise AttributeError(
                f"{why}: no candidate was fitted on all rows; fit {name} by itself, {do}"
            )
        return self.best_estimator_
