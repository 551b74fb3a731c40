"""Rows that the tests of promises share, and how often a promise may break by chance."""

import math

import numpy as np
from sklearn.linear_model import LogisticRegression

LEVEL = 0.05


def most(draws):
    """So large a share of the draws breaks, where one of .05 does, in one run of 100."""
    return LEVEL + 2.33 * math.sqrt(LEVEL * (1 - LEVEL) / draws)


def rows(n, seed=0):
    """Three features of which two say something, labels, and a group."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.35).astype(int)
    X = rng.normal(0.0, 1.0, (n, 3)) + 1.6 * y[:, None] * [1.0, 0.3, 0.0]
    return X, y, rng.integers(0, 2, n)


class Unfit(LogisticRegression):
    """Fails if it is fitted."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("a model was fitted")
