"""Samples that several tests share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

GOALS = [
    "f1",
    "maximize recall subject to precision >= 0.6",
    "maximize g_mean subject to predicted_rate <= 0.4",
    "maximize accuracy subject to recall.difference(g) <= 0.1",
    "minimize error_rate subject to recall.on(g='b') >= 0.7",
    "maximize f1 subject to churn <= 0.4",
]


@dataclass
class Sample:
    """Scores with labels, weights, a group and the deployed model's predictions."""

    scores: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    g: np.ndarray
    deployed: np.ndarray

    def take(self, index):
        return Sample(*(v[index] for v in vars(self).values()))

    def options(self, weighted=True):
        given = {"sensitive_features": {"g": self.g}, "baseline": self.deployed}
        return {**given, "sample_weight": self.weight} if weighted else given


def sample(n=400, seed=0, positives=0.4, digits=2):
    """Ties, whole weights from 1 to 3, two groups of which one is harder."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < positives).astype(int)
    g = np.where(rng.random(n) < 0.4, "b", "a").astype(object)
    shift = np.where(g == "a", 1.5, 0.9)
    scores = np.round(rng.normal(size=n) + shift * y, digits)
    deployed = np.where(rng.random(n) < 0.8, y, 1 - y)
    return Sample(scores, y, rng.integers(1, 4, n).astype(float), g, deployed)


def table(n=600, seed=0):
    """A frame with numbers, text, gaps, a group and a customer number; and labels."""
    s = sample(n, seed)
    rng = np.random.default_rng(seed + 1)
    X = pd.DataFrame(
        {
            "score": s.scores,
            "noise": rng.normal(size=n),
            "g": s.g,
            "id": rng.permutation(n) + 1000,
            "deployed": s.deployed,
        }
    )
    X.loc[rng.random(n) < 0.1, "noise"] = np.nan
    return X, s.y


def same(one, two, tol=1e-12):
    """Whether two reports say the same of the same goal."""
    assert one.goal == two.goal
    entries = zip((one.objective, *one.constraints), (two.objective, *two.constraints), strict=True)
    for a, b in entries:
        assert a.value == b.value or abs(a.value - b.value) <= tol, (a, b)
        assert a.satisfied == b.satisfied
