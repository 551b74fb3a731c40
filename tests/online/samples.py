"""Streams that several tests share, and how to tell two states apart."""

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from setpoint import OnlineFClassifier

SOLVERS = ["sketch", "fofo", "ofo", "ofo-rb", "half"]
LEARNERS = ["nag", "sgd", "adagrad"]

KINDS = {
    **{f"{solver} nag": {"solver": solver} for solver in SOLVERS},
    "sgd": {"learner": "sgd"},
    "adagrad": {"learner": "adagrad"},
    "nag tracking": {"constant_step": True},
    "sgd tracking": {"learner": "sgd", "constant_step": True},
    "adagrad tracking": {"learner": "adagrad", "constant_step": True},
    "window": {"window": 60},
    "fofo as printed": {"solver": "fofo", "n": 500},
    "another goal": {"goal": "maximize recall subject to precision >= 0.5"},
    "window, another goal": {"goal": "maximize g_mean", "window": 60},
}
"""Options of the constructor: every learner, every solver, and what changes either."""

LOG = SGDClassifier(loss="log_loss", random_state=0)
HINGE = SGDClassifier(loss="hinge", random_state=0)
OWN = {
    "own": {"learner": LOG},
    "own, scores": {"learner": HINGE},
    "own, fofo": {"learner": GaussianNB(), "solver": "fofo"},
}


def stream(n=400, d=5, seed=0):
    """Features of different scales, many values zero; one row in five is positive.

    The last but one is never zero, and the last is from the middle on only.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 2.0 ** np.arange(-2, d - 2)
    zero = rng.random((n, d)) < 0.3
    zero[:, -2] = zero[: n // 2, -1] = False
    X[zero] = 0.0
    z = X @ (2.0 ** -np.arange(-2.0, d - 2)) - 1.5
    X[:, -2] += 20.0
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-z))).astype(int)
    return X, y


def online(**options):
    return OnlineFClassifier(**{"classes": [0, 1], **options})


def numbers(clf):
    """The numbers of its state, to the bit: those of the learner, the threshold and the counts."""
    state = clf.engine_.state
    return [a.tobytes() for a in (state.record, state.weights, state.ring)]


def fingerprint(clf):
    """All that it keeps: its numbers, rows that wait, names of features and labels."""
    state = clf.engine_.waiting.__getstate__()
    waiting = [
        (i, x.tobytes() if hasattr(x, "tobytes") else repr((x.data.tolist(), x.indices)), decided)
        for i, (x, decided) in clf.engine_.waiting.rows.items()
    ]
    names = getattr(clf, "feature_names_in_", np.array([])).tolist()
    rest = (state["n_expired"], state["gone"], state["why"], clf.n_features_in_, names)
    return (*numbers(clf), waiting, *rest, clf.classes_.tolist())


class Known:
    """A learner that knows: the first feature is the posterior."""

    classes_ = np.array([0, 1])

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return self

    def predict_proba(self, X):
        p = np.asarray(X, dtype=float)[:, 0]
        return np.column_stack([1.0 - p, p])
