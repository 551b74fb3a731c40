"""Isotonic calibration: curves, and the mean of models that go through them."""

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
    "calibrated_in_parts",
    "curves_of",
    "mean_of",
    "through",
]


class CalibratedModel(ClassifierMixin, BaseEstimator):
    """The mean of fitted models whose probabilities go through increasing curves.

    Parameters
    ----------
    models : sequence of classifier
        Fitted, each without one fold.
    curves : sequence of sequence of IsotonicRegression
        Fitted, for each model on the rows of its fold: of two classes one, for the probability
        of `positive`; of more one for each, in the order of ``classes_``, and then rows are
        divided by their sums.
    positive : int
        Place of the class in ``classes_`` that an only curve is for.
    """

    def __init__(self, models: Sequence[Any], curves: Sequence[Any], positive: int = 1) -> None:
        self.models = models
        self.curves = curves
        self.positive = positive

    def fit(self, X: Any, y: Any) -> CalibratedModel:
        """Nothing is learnt."""
        return self

    @property
    def classes_(self) -> Any:
        """Those of the models."""
        return self.models[0].classes_

    @property
    def n_features_in_(self) -> int:
        """As the models say."""
        return int(self.models[0].n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """As the models say."""
        return self.models[0].feature_names_in_

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probabilities of shape (N, n), in the order of ``classes_``."""
        found = [
            self._one(model, own, X) for model, own in zip(self.models, self.curves, strict=True)
        ]
        return np.asarray(sum(found[1:], found[0]) / len(found))

    def predict(self, X: Any) -> Any:
        """The class with the largest calibrated probability."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _one(self, model: Any, curves: Sequence[Any], X: Any) -> Floats:
        found = np.asarray(model.predict_proba(X))
        if found.shape[1] > 2:
            return _through(curves, found)
        high = curves[0].predict(found[:, self.positive])
        columns = (1.0 - high, high) if self.positive else (high, 1.0 - high)
        return np.column_stack(columns)


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


def calibrated_in_parts(scores: Floats, part: Codes, true: Codes, weight: Floats | None) -> Floats:
    """Scores of one model, each part's through curves that the other parts are the rows of.

    Parameters
    ----------
    scores : array of shape (N,) or (N, n)
        Of rows that the model did not see.
    part : int array of shape (N,)
    true, weight
        As of :func:`curves_of`.
    """
    out = np.empty_like(scores)
    for k in np.unique(part):
        own = part == k
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


def mean_of(models: Sequence[Any], curves: Sequence[Any], classes: ClassOrder) -> CalibratedModel:
    """The mean of fitted models through their curves.

    Parameters
    ----------
    models : sequence of classifier
    curves : sequence of list of IsotonicRegression
        Those of :func:`curves_of`, for each model.
    classes : ClassOrder
    """
    if len(curves[0]) == 1:
        return CalibratedModel(models, curves, int(classes.order[1]))
    places = np.argsort(classes.order)  # from the models' order to the library's
    return CalibratedModel(models, [[own[i] for i in places] for own in curves])


def _curve(scores: Floats, hit: Any, weight: Floats | None) -> Any:
    made = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    return made.fit(scores, hit.astype(float), sample_weight=weight)


def _through(curves: Sequence[Any], scores: Floats) -> Floats:
    out = np.column_stack([c.predict(scores[:, j]) for j, c in enumerate(curves)])
    total = out.sum(axis=1, keepdims=True)
    even = np.full_like(out, 1.0 / out.shape[1])
    return np.where(total > 0.0, out / np.where(total > 0.0, total, 1.0), even)
