"""Tables that are not shuffled, balanced and clean, on which every classifier is fitted."""

from types import SimpleNamespace

import numpy as np

from conformance.cases import rows

__all__ = ["TABLES"]

N = 60


def table(order=slice(None), *, change=lambda X: X, y=None, weight=None):
    """The rows of all cases in some order, of which one thing is changed."""
    s = rows(N, seed=2)
    y = s.y if y is None else y
    found = {"X": change(s.X), "y": y, "g": s.g, "weight": np.ones(N) if weight is None else weight}
    return SimpleNamespace(**{name: values[order] for name, values in found.items()})


def spread(X):
    """Values of one magnitude in each column, and of sixteen in all."""
    return X * 10.0 ** np.array([-8, -3, 3, 8])


def one_in_a_fold():
    """One positive, so that of two folds one has none."""
    return (np.arange(N) == N // 2).astype(int)


S = rows(N, seed=2)
TABLES = {
    "sorted by class": table(np.argsort(S.y, kind="stable")),
    "sorted by group": table(np.argsort(S.g, kind="stable")),
    "sorted by a feature": table(np.argsort(-S.X[:, 0])),
    "rare heavy weights": table(weight=np.where(np.arange(N) % 20 == 3, 100.0, 1.0)),
    "rows four times": table(np.arange(N) // 4),
    "a class of one row": table(y=one_in_a_fold()),
    "all rows equal": table(change=np.zeros_like),
    "nearly all positive": table(y=1 - (np.arange(N) % 20 == 3)),
    "few kinds of rows": table(change=np.sign),
    "wide magnitudes": table(change=spread),
    "a constant feature": table(change=lambda X: np.where([1, 0, 0, 0], 7.0, X)),
    "labels of noise": table(y=np.random.default_rng(0).integers(0, 2, N)),
    "a handful of rows": table(np.r_[np.flatnonzero(S.y)[:3], np.flatnonzero(S.y == 0)[:5]]),
}
