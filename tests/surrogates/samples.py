"""Rows, metrics and samples that several tests of the family use."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from setpoint import AdaptiveSurrogateClassifier, BlackBox, SearchLimits
from setpoint.solvers import SOLVERS
from setpoint.surrogates.losses import RowGroup, losses_on
from setpoint.surrogates.problem import Fold, Matrix, Sample


def island(n=300, seed=0, share=0.25):
    """Positives in the middle of two clouds of negatives: no line is good at both ends."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    centre = np.where(y, 0, rng.choice([-1.0, 1.0], n))
    return centre[:, None] + 0.35 * rng.normal(size=(n, 2)), y


def two_groups(n=300, seed=0):
    """Three features, labels, and a group in which the labels follow another feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    g = np.where(rng.random(n) < 0.3, "b", "a")
    z = np.where(g == "a", X[:, 0], X[:, 1]) + 0.5 * rng.normal(size=n)
    return X, (z > 0.6).astype(int), g


def profit(y_true, y_pred):
    """Four for a hit, minus one for a miss, in multiples of the rows."""
    return float(np.mean(np.where(y_true == 1, 4.0, -1.0) * y_pred))


def squares(scores, y, sample_weight):
    """A surrogate of a user's."""
    w = sample_weight / sample_weight.sum()
    return w @ (scores - y) ** 2, 2.0 * w * (scores - y)


def adaptive(goal=None, *, solver="adaptive-surrogates", **options):
    """A small search; parameters of solver and limits stand beside those of the classifier."""
    made = SOLVERS[solver]
    own = {f.name: options.pop(f.name) for f in fields(made) if f.name in options}
    if solver == "adaptive-surrogates":
        own = {"max_iter": 6} | own
    limits = SearchLimits(
        seconds=options.pop("seconds", None), evaluations=options.pop("budget", 250)
    )
    options = {"limits": limits, "cv": 3, "solver": made(**own)} | options
    return AdaptiveSurrogateClassifier(BlackBox(profit) if goal is None else goal, **options)


def steps(solver, n):
    """Steps of the search that has them, as a parameter of `adaptive`."""
    return {"max_iter": n} if solver == "adaptive-surrogates" else {}


class Counted:
    """A metric that notes its calls, and raises at one of them."""

    def __init__(self, function=profit, stop=None, error=KeyboardInterrupt):
        self.function, self.stop, self.error, self.calls = function, stop, error, 0

    def __call__(self, y_true, y_pred):
        self.calls += 1
        if self.calls == self.stop:
            raise self.error
        return self.function(y_true, y_pred)


def terms(kinds, true, weight=None, groups=None):
    """Losses of some kinds on all rows, or on each of the bool arrays in `groups`."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    named = {"": np.ones(len(true), bool)} if groups is None else groups
    made = [RowGroup(name, np.asarray(rows)) for name, rows in named.items()]
    return losses_on(kinds, made, true, weight, (0, 1))


def sample_of(X, true, kinds="sigmoid", **options):
    """Surrogates and metric on the same rows."""
    losses = terms(kinds, true, **options)
    fold = Fold(Matrix(X), losses, Matrix(X), np.arange(len(true)))
    return Sample([fold], len(true), losses)


@dataclass(frozen=True, eq=False)
class Smooth:
    """A metric's loss that is a known function of the surrogates: what is otherwise unknown."""

    psi: Any
    sample: Sample
    name: str = "psi"
    sense: float = -1.0
    takes: str = "scores"
    one_by_one: bool = False

    @property
    def n_rows(self):
        return self.sample.n_rows

    def __call__(self, scores):
        return self.psi(self.sample.on_metric.values(scores))
