"""One smallest instance of each classifier, the rows they share, and what differs by design."""

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier

from setpoint import (
    AdaptiveSurrogateClassifier,
    ExactPenaltyClassifier,
    OnlineFClassifier,
    PlugInClassifier,
    RampClassifier,
    SearchLimits,
)
from setpoint.errors import InputError
from setpoint.solvers import AdaptiveSurrogates, CrossEntropy

__all__ = [
    "ALL",
    "COLUMNS",
    "LATER",
    "SMALLEST",
    "STREAMS",
    "TRAINED",
    "VARIANTS",
    "Refusal",
    "fitted",
    "fitted_whole",
    "new",
    "rows",
    "rows_of",
]

SHORT, FEW = AdaptiveSurrogates(max_iter=1), SearchLimits(evaluations=300)
HINGE = SGDClassifier(loss="hinge", random_state=0)
SMALLEST = {
    "plug-in": PlugInClassifier(LogisticRegression(), "f1", cv=2),
    "penalty": ExactPenaltyClassifier("f1", solver="ero"),
    "ramp": RampClassifier("minimize error_rate"),
    "adaptive": AdaptiveSurrogateClassifier("f1", cv=2, limits=FEW, solver=SHORT),
    # A stream's rows come in three ways: to a compiled learner that knows the largest value of
    # each feature, to one that takes plain steps, and to one of scikit-learn, here without
    # posteriors.
    "online": OnlineFClassifier("f1"),
    "online half": OnlineFClassifier("f1", solver="half", learner="sgd"),
    "online own": OnlineFClassifier("f1", learner=HINGE),
}
ALL = list(SMALLEST)
STREAMS = [name for name in ALL if name.startswith("online")]
TRAINED = [name for name in ALL if name not in STREAMS]
COLUMNS = ["plug-in", "ramp", "adaptive"]
"""Those whose fit takes sensitive_features and baseline."""

VARIANTS = [
    PlugInClassifier(
        LogisticRegression(), "maximize accuracy subject to recall >= 0.5", cv=3, randomized=False
    ),
    PlugInClassifier(LogisticRegression(), "accuracy", cv=3),
    PlugInClassifier(
        LogisticRegression(),
        "maximize g_mean subject to predicted_rate.max() <= 0.7",
        cv=3,
        randomized=False,
    ),
    PlugInClassifier(LogisticRegression(), "f1", cv=3, solver="post-shift"),
    ExactPenaltyClassifier("accuracy", solver=CrossEntropy(balanced=True)),
    ExactPenaltyClassifier("f1", solver="profiled"),
    ExactPenaltyClassifier("f1", solver="sigmoid"),
    ExactPenaltyClassifier("f1", solver="profiled", preprocessor=None, min_positives=0),
    RampClassifier("minimize error_rate subject to predicted_rate <= 0.9", preprocessor=None),
    RampClassifier("minimize error_rate", randomized=True),
    RampClassifier("minimize error_rate", solver="cutting-plane", start="zero"),
    AdaptiveSurrogateClassifier("f1", cv=3, limits=FEW, solver=AdaptiveSurrogates(max_iter=5)),
    AdaptiveSurrogateClassifier("f1", cv=3, limits=FEW, solver="surrogate-weights"),
    *(OnlineFClassifier(solver=solver) for solver in ("fofo", "ofo", "ofo-rb", "half")),
    OnlineFClassifier(solver="half", learner="adagrad"),
    OnlineFClassifier("accuracy"),
    OnlineFClassifier("maximize recall subject to precision >= 0.5", window=100),
    OnlineFClassifier(constant_step=True),
    OnlineFClassifier(learner=SGDClassifier(loss="log_loss", random_state=0)),
]
"""Other options, which scikit-learn's checks go through in the long run."""


class Refusal(NamedTuple):
    """What is given in the place of good options and rows, and what the error says."""

    message: str  # as it is, without a pattern
    options: dict[str, Any] = {}  # noqa: RUF012
    given: Callable[[Any], dict[str, Any]] = (
        lambda s: {}
    )  # of the rows s: s.X, s.y, s.g, s.old, s.n
    error: type[Exception] = InputError


def rows(n, seed=0):
    """Four features of which the third is often zero, labels, a group, a deployed model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 2] *= rng.random(n) < 0.5
    y = (X @ [1.0, 0.8, 0.4, -0.3] + rng.normal(size=n) > 0.6).astype(int)
    g = np.where(rng.random(n) < 0.4, "b", "a")
    return SimpleNamespace(n=n, X=X, y=y, g=g, old=(X[:, 0] > 0.3).astype(int))


LATER = rows(100, seed=1)
"""Rows to be decided, and held out."""


@cache
def rows_of(name):
    """Rows to be learnt; few where a learner of scikit-learn sees them one at a time."""
    return rows(25 if name == "online own" else 100)


def new(name, **options):
    """A case that has seen nothing."""
    return clone(SMALLEST[name]).set_params(**options)


@cache
def fitted(name):
    """A case on its rows; to be looked at only, since tests share it."""
    s = rows_of(name)
    return new(name).fit(s.X, s.y)


def fitted_whole(name, X, y, **weight):
    """A fit without folds: what a fold holds depends on how rows are written down."""
    if name == "plug-in":
        s = rows_of(name)
        inner = FrozenEstimator(LogisticRegression().fit(s.X, s.y))
        return new(name, estimator=inner).fit(X, y, **weight)
    if name == "adaptive":
        model = new(name, cv=None, surrogates="logistic")
        return model.fit(X, y, validation=(LATER.X, LATER.y), **weight)
    return new(name).fit(X, y, **weight)
