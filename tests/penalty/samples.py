"""Rows and classifiers that several tests of the family use."""

import numpy as np

from setpoint import ExactPenaltyClassifier
from setpoint.solvers import solvers_of

FPOR = "maximize recall subject to precision >= 0.7"
FROP = "maximize precision subject to recall >= 0.7"
SOLVERS = solvers_of("penalty")
GOALS = (FPOR, FROP, "maximize f1")

__all__ = ["FPOR", "FROP", "GOALS", "SOLVERS", "imbalanced", "penalty"]


def imbalanced(n=2000, d=4, seed=0, share=0.2):
    """Overlapping classes, of which the positive one is rare."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    X = rng.normal(size=(n, d))
    X[:, 0] += 1.6 * y
    X[:, 1] += 0.9 * y * (rng.random(n) < 0.6)
    return X, y


def penalty(goal="f1", **options):
    """A classifier that trains in a moment: by one solver, without polish."""
    return ExactPenaltyClassifier(goal, **{"solver": "profiled", **options})
