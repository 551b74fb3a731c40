"""Isotonic calibration by scores that are out of fold already: no model is fitted for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.isotonic import IsotonicRegression

from setpoint.inputs.classes import ClassOrder
from setpoint.typing import Codes, Floats

__all__ = [
    "CalibratedModel",
    "calibrated_out_of_fold",
    "curves_of",
    "fitted_calibrated",
    "through",
]


class CalibratedModel(ClassifierMixin, BaseEstimator):
    """A fitted model whose probabilities go through increasing curves.

    Parameters
    ----------
    model : classifier
        Fitted.
    curves : sequence of IsotonicRegression
        Fitted: of two classes one, for the probability of `positive`; of more one for each, in
        the order of ``classes_``, and then rows are divided by their sums.
    positive : int
        Place of the class in ``classes_`` that the only curve is for.
    """

    def __init__(self, model: Any, curves: Sequence[Any], positive: int = 1) -> None:
        self.model = model
        self.curves = curves
        self.positive = positive

    def fit(self, X: Any, y: Any) -> CalibratedModel:
        """Nothing is learnt."""
        return self

    @property
    def classes_(self) -> Any:
        """Those of the model."""
        return self.model.classes_

    @property
    def n_features_in_(self) -> int:
        """As the model says."""
        return int(self.model.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """As the model says."""
        return self.model.feature_names_in_

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probabilities of shape (N, n), in the order of ``classes_``."""
        found = np.asarray(self.model.predict_proba(X))
        if found.shape[1] > 2:
            return _through(self.curves, found)
        high = self.curves[0].predict(found[:, self.positive])
        columns = (1.0 - high, high) if self.positive else (high, 1.0 - high)
        return np.column_stack(columns)

    def predict(self, X: Any) -> Any:
        """The class with the largest calibrated probability."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_is_fitted__(self) -> bool:
        return True


def curves_of(scores: Floats, true: Codes, weight: Floats | None) -> list[Any]:
    """The curve of the last of two classes, or one for each of more.

    Parameters
    ----------
    scores : array of shape (N,) or (N, n)
        Probabilities of the last class, or of each.
    true : int array of shape (N,)
        Class codes in the same order.
    weight : array of shape (N,) or None

    Examples
    --------
    >>> [curve] = curves_of(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 1, 0, 1]), None)
    >>> curve.predict([0.05, 0.25, 0.9]).tolist()
    [0.0, 0.5, 1.0]
    """
    if scores.ndim == 2 and scores.shape[1] == 2:
        scores = scores[:, 1]
    if scores.ndim == 1:
        return [_curve(scores, true == 1, weight)]
    return [_curve(scores[:, j], true == j, weight) for j in range(scores.shape[1])]


def calibrated_out_of_fold(
    scores: Floats, fold: Codes, true: Codes, weight: Floats | None
) -> Floats:
    """Each fold's scores through curves that the other folds are the rows of.

    Parameters
    ----------
    scores : array of shape (N,) or (N, n)
        Out of fold.
    fold : int array of shape (N,)
    true, weight
        As of :func:`curves_of`.
    """
    out = np.empty_like(scores)
    for k in np.unique(fold):
        own = fold == k
        rest = None if weight is None else weight[~own]
        out[own] = through(curves_of(scores[~own], true[~own], rest), scores[own])
    return out


def through(curves: Sequence[Any], scores: Floats) -> Floats:
    """Scores of one class (N,), or of all (N, n), through their curves."""
    if scores.ndim == 1:
        return np.asarray(curves[0].predict(scores))
    if scores.shape[1] == 2:
        high = curves[0].predict(scores[:, 1])
        return np.column_stack((1.0 - high, high))
    return _through(curves, scores)


def fitted_calibrated(
    model: Any, scores: Floats, true: Codes, weight: Floats | None, classes: ClassOrder
) -> CalibratedModel:
    """A fitted model with the curves of all out-of-fold scores.

    Parameters
    ----------
    model : classifier
        Fitted.
    scores : array of shape (N,) or (N, n)
        In the order of the library, as `true`.
    true, weight
        As of :func:`curves_of`.
    classes : ClassOrder
    """
    curves = curves_of(scores, true, weight)
    if len(curves) == 1:
        return CalibratedModel(model, curves, int(classes.order[1]))
    places = np.argsort(classes.order)  # from the model's order to the library's
    return CalibratedModel(model, [curves[i] for i in places])


def _curve(scores: Floats, hit: Any, weight: Floats | None) -> Any:
    made = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    return made.fit(scores, hit.astype(float), sample_weight=weight)


def _through(curves: Sequence[Any], scores: Floats) -> Floats:
    out = np.column_stack([c.predict(scores[:, j]) for j, c in enumerate(curves)])
    total = out.sum(axis=1, keepdims=True)
    even = np.full_like(out, 1.0 / out.shape[1])
    return np.where(total > 0.0, out / np.where(total > 0.0, total, 1.0), even)
