"""Where the search for a model begins."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from setpoint.array_types import Floats
from setpoint.estimators.linear_rule import linear_scores

__all__ = ["STARTS", "logistic", "normed", "of_score"]


STARTS = ("auto", "logistic", "zero", "baseline")
_MOST = 60_000
"""Rows that the logistic regression of a start looks at."""
_MIDDLE = 0.5


def logistic(X: Any, true: NDArray[Any], weight: Floats | None, rng: np.random.Generator) -> Floats:
    """Coefficients and intercept (d + 1,) of a logistic regression."""
    index: Any = slice(None)
    if len(true) > _MOST:
        picked = [
            rng.choice(np.flatnonzero(true == side), size, replace=False)
            for side in (False, True)
            for size in [_share(int((true == side).sum()), len(true))]
        ]
        index = np.sort(np.concatenate(picked))
    if len(np.unique(true[index])) < 2:
        return np.zeros(X.shape[1] + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is a start only
        model = LogisticRegression(C=1.0, max_iter=100)
        model.fit(X[index], true[index], None if weight is None else weight[index])
    return np.append(model.coef_[0], model.intercept_[0])


def _share(count: int, total: int) -> int:
    return min(count, max(_MOST * count // total, 1000))


def of_score(n_features: int, cut: float) -> Floats:
    """The deployed model itself, its score being the last of the features."""
    w = np.zeros(n_features + 1)
    w[-2], w[-1] = 1.0, -cut
    return w


def normed(w: Floats, X: Any, weight: Floats | None = None) -> Floats:
    """The same decisions with scores of which half lie within 1/2 of 0."""
    far = np.abs(linear_scores(X, w))
    order = np.argsort(far, kind="stable")
    held = np.cumsum(np.ones(len(far)) if weight is None else weight[order])
    middles = [np.searchsorted(held, 0.5 * held[-1], side) for side in ("left", "right")]
    middle = float(far[order[middles]].mean())
    return w * (_MIDDLE / middle) if middle > 0 else w
