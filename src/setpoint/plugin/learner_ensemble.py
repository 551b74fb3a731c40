"""Learners that were trained anew for each objective: how they are weighted and asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, has_fit_parameter

from setpoint.array_types import Floats
from setpoint.errors import InputError

__all__ = ["Retrained", "answers", "weight_parameter"]


def weight_parameter(learner: Any) -> str:
    """The parameter of ``fit`` by which a learner, or the last step of a pipeline, is weighted.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> weight_parameter(make_pipeline(StandardScaler(), LogisticRegression()))
    'logisticregression__sample_weight'
    """
    if isinstance(learner, Pipeline):
        name, last = learner.steps[-1]
        inner = weight_parameter(last)
        # With metadata routing a pipeline passes on what its steps ask for.
        return inner if get_config()["enable_metadata_routing"] else f"{name}__{inner}"
    if not has_fit_parameter(learner, "sample_weight"):
        raise InputError(
            f"`oracle`: {type(learner).__name__}.fit takes no `sample_weight`, and a learner that "
            "is trained for costs receives them as weights; use one that takes them, such as "
            "LogisticRegression"
        )
    return "sample_weight"


@dataclass(frozen=True, eq=False)
class Retrained:
    """The learners that a choice draws among."""

    learners: tuple[Any, ...]
    known: tuple[NDArray[np.int64], ...]
    n_classes: int

    @property
    def n_features_in_(self) -> int:
        """Columns of X, where the learners know it."""
        return int(self._first.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns of X, where the learners know them."""
        return np.asarray(self._first.feature_names_in_)

    @property
    def _first(self) -> Any:
        if not self.learners:
            raise AttributeError("there is no learner: the rule is a constant")
        return self.learners[0]

    def scores(self, X: Any) -> Floats:
        """What each learner decides: the scores of the rule."""
        n, n_rows = self.n_classes, int(_num_samples(X))
        out = np.zeros((n_rows, max(len(self.learners), 1) * n))
        for t, (learner, known) in enumerate(zip(self.learners, self.known, strict=True)):
            out[np.arange(n_rows), t * n + answers(learner, known, X)] = 1.0
        return out


def answers(learner: Any, known: NDArray[np.int64], X: Any) -> NDArray[np.int64]:
    """Class codes (N,) that a learner predicts."""
    answer = np.asarray(learner.predict(X)).ravel()
    if answer.dtype.kind not in "iu" or not np.isin(answer, np.arange(len(known))).all():
        raise InputError(
            f"`oracle`: {type(learner).__name__} predicts a value that is not a class that it was "
            "trained on; it has to be a classifier"
        )
    return np.asarray(known[answer])
