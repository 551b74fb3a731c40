"""The deployed model: its decisions, and its score as one more feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.inputs.arrays import column_names, column_of, one_column, series_values
from setpoint.inputs.classes import ClassOrder
from setpoint.typing import Floats

__all__ = ["ScoreFeature", "decisions_of_scores", "score_feature"]


_SUREST = 1e-6
"""Probabilities are kept this far from 0 and 1 before their logit is taken."""
_FARTHEST = 10.0


@dataclass(frozen=True, eq=False)
class ScoreFeature:
    """The deployed model's score as a feature of mean 0 and deviation 1.

    Parameters
    ----------
    source : classifier or str
        The model, or the column of X that holds its scores.
    threshold : float
        Where the deployed model begins to decide positive, on its own scale.
    """

    source: Any
    positive: Any
    mean: float
    scale: float
    threshold: float

    def values(self, X: Any) -> Floats:
        """The feature (N,), cut off at 10 deviations."""
        raw = _raw(self.source, X, self.positive)
        return np.clip((raw - self.mean) / self.scale, -_FARTHEST, _FARTHEST)

    @property
    def cut(self) -> float:
        """Where the deployed model begins to decide positive, on the feature's scale."""
        return (self.threshold - self.mean) / self.scale


def score_feature(
    wanted: bool | str,
    given: Any,
    threshold: float | None,
    X: Any,
    positive: Any,
    weight: Floats | None = None,
) -> ScoreFeature | None:
    """The deployed model's score as a feature, where it is available at prediction.

    Parameters
    ----------
    wanted : {"auto", True, False}
        "auto": where `given` is a model, or a column of X with a threshold.
    given : None, array, str or classifier
        The baseline.
    threshold : float or None
        Of scores.
    X : rows of shape (N, d)
    weight : array of shape (N,), optional

    Raises
    ------
    ValueError
        If it is wanted and cannot be had.
    """
    if wanted is False or given is None:
        if wanted is True:
            raise ValueError("baseline_score_feature=True, and there is no baseline")
        return None
    lasting = _has_scores(given) or (isinstance(given, str) and threshold is not None)
    if not lasting:
        if wanted is True:
            raise ValueError(
                "baseline_score_feature=True needs scores of the deployed model at prediction "
                "too: pass as baseline the model (with decision_function or predict_proba), or "
                "the name of a column of X that holds its scores, and baseline_threshold"
            )
        return None
    raw = _raw(given, X, positive)
    mean = float(np.average(raw, weights=weight))
    scale = float(np.sqrt(np.average((raw - mean) ** 2, weights=weight)))
    cut = 0.0 if threshold is None else float(threshold)
    return ScoreFeature(given, positive, mean, scale if scale > 0 else 1.0, cut)


def decisions_of_scores(
    given: Any, threshold: float, classes: ClassOrder, X: Any, name: str
) -> NDArray[Any]:
    """Labels that the deployed model decides by its scores.

    Parameters
    ----------
    given : array of shape (N,), or str
        Scores, or the column of X that holds them.
    threshold : float
        Positive from here on.
    name : str
        What messages call it.

    Raises
    ------
    ValueError
        If the scores are not finite numbers, or a model is given.
    """
    if hasattr(given, "predict"):
        raise ValueError(
            f"{name} is a model, which decides by itself; baseline_threshold is for scores"
        )
    if isinstance(given, str):
        given = series_values(column_of(X, given, name))
    scores = _finite(one_column(given, name), name)
    labels = np.empty(2, dtype=classes.sorted.dtype)
    labels[:] = classes.labels
    return np.asarray(labels[(scores >= threshold).astype(np.intp)])


def _has_scores(given: Any) -> bool:
    return hasattr(given, "predict") and (
        hasattr(given, "decision_function") or hasattr(given, "predict_proba")
    )


def _raw(source: Any, X: Any, positive: Any) -> Floats:
    """Scores (N,), higher for the positive class; of probabilities the logit."""
    if isinstance(source, str):
        if source not in (column_names(X) or ()):
            raise ValueError(
                f"X has no column {source!r}, which holds the deployed model's scores, and this "
                "model uses them as a feature"
            )
        return _finite(series_values(column_of(X, source, "baseline")), f"the column {source!r}")
    place = source.classes_.tolist().index(positive)
    if hasattr(source, "decision_function"):
        scores = _finite(source.decision_function(X), "the deployed model")
        return scores if place else -scores
    p = _finite(source.predict_proba(X), "the deployed model")[:, place]
    p = np.clip(p, _SUREST, 1.0 - _SUREST)
    return np.asarray(np.log(p / (1.0 - p)))


def _finite(values: Any, who: str) -> Floats:
    """Scores as finite numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{who} gives {array.dtype} values; scores of the deployed model are numbers (its "
            "decisions go without baseline_threshold)"
        )
    bad = ~np.isfinite(array)
    if bad.any():
        raise ValueError(
            f"{who} gives {int(bad.sum())} NaN or infinite scores, the first in row "
            f"{int(np.argwhere(bad)[0][0])}"
        )
    return np.asarray(array, np.float64)
