"""Rows and classifiers that several tests of the family use."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from setpoint import Dataset, RampClassifier

COVERAGE = "minimize error_rate subject to predicted_rate <= 0.3"
FAIR = "minimize error_rate subject to predicted_rate.difference(g) <= 0.05"


def sample(n=1500, d=4, seed=0):
    """Rows whose group shows in the second feature, and a deployed model on two features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    g = np.where(X[:, 1] + rng.normal(size=n) > 0, "a", "b")
    y = (X @ np.resize([1.0, 0.8, 0.4, -0.3], d) + rng.normal(size=n) > 0.3).astype(int)
    old = (X[:, 0] + 0.2 * X[:, 2] > 0.2).astype(int)
    return SimpleNamespace(X=X, y=y, g=g, old=old, frame=pd.DataFrame(X, columns=list("abcd")[:d]))


def dataset(s, labels=True):
    """The rows as a further data set."""
    y = s.y if labels else None
    return Dataset(s.X, y, sensitive_features={"g": s.g}, baseline=s.old)


def ramp(goal=COVERAGE, **options):
    return RampClassifier(goal, **options)
