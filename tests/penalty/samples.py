"""Rows, goals and classifiers that the tests of the family share."""

import numpy as np

from setpoint import ExactPenaltyClassifier, Goal
from setpoint.penalty import Tradeoff
from setpoint.solvers import Minibatches, solvers_of

FPOR = "maximize recall subject to precision >= 0.7"
SOLVERS = solvers_of("penalty")


def goal_of(text, positive, weight=None, scale=(1.0, 1.0)):
    """A goal on the totals of some rows."""
    w = np.ones(len(positive)) if weight is None else weight
    positive = np.asarray(positive) == 1
    return Tradeoff(Goal.parse(text), scale[0] * w[~positive].sum(), scale[1] * w[positive].sum())


def scored(seed=0, n=80, share=0.35):
    """Scores that tell the classes apart a little."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    positive[:2] = True, False
    return 2.0 * rng.normal(size=n) + positive - 0.3, positive


def imbalanced(n=2000, d=4, seed=0, share=0.2):
    """Overlapping classes, of which the positive one is rare."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    X = rng.normal(size=(n, d))
    X[:, 0] += 1.6 * y
    X[:, 1] += 0.9 * y * (rng.random(n) < 0.6)
    return X, y


def ring(n=600, seed=0):
    """Positives lie outside of an ellipse, with noise; about a fifth of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] ** 2 + X[:, 1] + 0.5 * rng.normal(size=n) > 1.9).astype(int)


def penalty(goal="f1", **options):
    """A classifier that trains in a moment: by one solver, without polish."""
    return ExactPenaltyClassifier(goal, **{"solver": "profiled", **options})


def network(goal=FPOR, module="mlp", schedule=None, **options):
    """A classifier that trains a module for a few epochs on all rows, as they are."""
    known = {"max_epochs": 6, "batch_size": 64, "learning_rate": 1e-2, "weight_decay": 1e-2}
    plain = {"preprocessor": None, "validation_fraction": 0, "min_positives": 5}
    training = Minibatches(**known | (schedule or {}))
    return penalty(goal, module=module, training=training, **plain | options)
