"""The two samples: surrogates on training rows, the metric on rows that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from setpoint.array_types import Floats
from setpoint.blackbox.binding import RowMetric, rows_taken
from setpoint.errors import InputError
from setpoint.estimators.linear_rule import folds_of
from setpoint.solvers import FirstModel
from setpoint.surrogates.features import FeatureMatrix, FrozenBody, Matrix, fit_body
from setpoint.surrogates.losses import Back, Losses, RowGroup, losses_on

_MEMORY = 10
"""Past steps that the quasi-Newton method remembers."""

_FLAT = 1e-6
"""Mean slope of the surrogates below which no method finds a way."""

_HALVINGS = 60


@dataclass(frozen=True, eq=False)
class Fold:
    """A model's training rows with their surrogates, and the metric's rows that it scores."""

    train: FeatureMatrix
    losses: Losses
    held: FeatureMatrix | None
    index: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sample:
    """One model a fold, moved in step: all share one path through the surrogates' space."""

    folds: Sequence[Fold]
    n_rows: int
    on_metric: Losses | None = None
    own: NDArray[np.int64] | None = None

    @cached_property
    def judged(self) -> list[int]:
        """The folds that score rows of the metric."""
        return [i for i, fold in enumerate(self.folds) if fold.held is not None]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the surrogates."""
        return self.folds[0].losses.names

    @property
    def n_parameters(self) -> int:
        """Of one model."""
        return self.folds[0].train.shape[1] + 1

    @cached_property
    def length(self) -> float:
        """The root mean square of the norms of the metric's rows."""
        squares = 0.0
        for i in self.judged:
            held = self.folds[i].held
            assert held is not None
            squares += held.length() ** 2 * held.shape[0]
        return float(np.sqrt(squares / self.n_rows))

    def scores(self, models: Floats) -> Floats:
        """Scores of the metric's rows: (n,) at (folds, d + 1), (m, n) at (folds, m, d + 1)."""
        out = np.empty((*models.shape[1:-1], self.n_rows))
        for i in self.judged:
            held = self.folds[i].held
            assert held is not None
            out[..., self.folds[i].index] = held.scores(models[i])
        return out

    def own_scores(self, models: Floats) -> Floats | None:
        """Scores (n,) of the metric's rows by the model that is kept, where it trains on them."""
        if self.own is None:
            return None
        return self.folds[-1].train.scores(models[-1])[self.own]

    def values(self, models: Floats) -> Floats:
        """Surrogates (m, K) at perturbed models (folds, m, d + 1): means over the folds."""
        return np.asarray(np.mean([self._losses(i, models[i]) for i in self.judged], axis=0))

    def _losses(self, i: int, models: Floats) -> Floats:
        fold = self.folds[i]
        return fold.losses.values(fold.train.scores(models))

    def stepped(self, models: Floats, step: Floats, iterations: int) -> tuple[Floats, Floats]:
        """Models whose surrogates have gone down by `step` (K,), as far as that can be."""
        out = np.empty_like(models)
        above = np.zeros(len(self.names))
        for i, fold in enumerate(self.folds):
            u, back = fold.losses.at(fold.train.scores(models[i]))
            target = u - step
            out[i] = _projected(fold, _rescale_saturated(fold, models[i], back), target, iterations)
            above += np.maximum(fold.losses.at(fold.train.scores(out[i]))[0] - target, 0.0)
        if not above.any():
            above = np.maximum(step, 0.0)
        total = above.sum()
        return out, above / total if total > 0 else above

    def weighed(self, start: Floats, weights: Floats, iterations: int) -> Floats:
        """Models of the least weighted sum of the surrogates."""
        out = np.empty_like(start)
        for i, fold in enumerate(self.folds):

            def total(w: Floats, fold: Fold = fold) -> tuple[float, Floats]:
                u, back = fold.losses.at(fold.train.scores(w))
                return float(weights @ u), fold.train.pull(back(weights))

            back = fold.losses.at(fold.train.scores(start[i]))[1]
            out[i] = _minimized(total, _rescale_saturated(fold, start[i], back), iterations)
        return out


def _rescale_saturated(fold: Fold, w: Floats, back: Back) -> Floats:
    """The same decisions from smaller scores, where sigmoids of larger ones have no slope."""
    each = np.ones(len(fold.losses))
    for _ in range(_HALVINGS):
        if np.abs(back(each)).sum() > _FLAT * len(each):
            break
        w = w / 2.0
        back = fold.losses.at(fold.train.scores(w))[1]
    return w


def _projected(fold: Fold, start: Floats, target: Floats, iterations: int) -> Floats:
    def excess(w: Floats) -> tuple[float, Floats]:
        u, back = fold.losses.at(fold.train.scores(w))
        above = np.maximum(u - target, 0.0)
        return float(above @ above) / 2.0, fold.train.pull(back(above))

    return _minimized(excess, start, iterations)


def _minimized(function: Any, start: Floats, iterations: int) -> Floats:
    found = minimize(
        function,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": _MEMORY, "ftol": 1e-12, "gtol": 1e-10},
    )
    return np.asarray(found.x)


# --- From what ``fit`` is given to the two samples: which rows train a model ----------------------


Rows = NDArray[np.int64]


def _logistic(X: Any, true: NDArray[np.int64], weight: Floats | None, C: float) -> Floats:
    """Coefficients and intercept (d + 1,) of a logistic regression."""
    model = LogisticRegression(C=C, max_iter=1000).fit(X, true, weight)
    return np.append(model.coef_[0], model.intercept_[0])


@dataclass(frozen=True, eq=False)
class Training:
    """The rows that surrogates are counted on, and how models are made of them."""

    features: Any
    true: NDArray[np.int64]
    weight: Floats | None
    groups: Sequence[RowGroup]
    kinds: tuple[Any, ...]
    labels: tuple[Any, ...]
    first: FirstModel
    module: Any
    seed: int

    @property
    def rows(self) -> Rows:
        """Those of positive weight."""
        if self.weight is None:
            return np.arange(len(self.true))
        return np.flatnonzero(self.weight)

    def fold(
        self, rows: Rows, held: Any, index: Rows, where: str = ""
    ) -> tuple[Fold, Floats, FrozenBody | None]:
        """A fold, the model that it begins with, and the body of a network."""
        X, true = self.features[rows], self.true[rows]
        weight = None if self.weight is None else self.weight[rows]
        groups = [group.take(rows) for group in self.groups]
        losses = losses_on(self.kinds, groups, true, weight, self.labels, where)
        if isinstance(self.module, str) and self.module == "linear":
            first, body = _logistic(X, true, weight, float(self.first.C)), None
        else:
            body = fit_body(
                self.module,
                X,
                true,
                weight,
                epochs=int(self.first.epochs),
                device=self.first.device,
                seed=self.seed,
            )
            first = body.head
        judged = None if held is None else self._matrix(held, body)
        return Fold(self._matrix(X, body), losses, judged, index), first, body

    def _matrix(self, X: Any, body: FrozenBody | None) -> FeatureMatrix:
        return Matrix(X) if body is None else body.matrix(X, self.first.device)


@dataclass(frozen=True, eq=False)
class PreparedSamples:
    """The two samples."""

    sample: Sample
    metric: RowMetric
    first: Floats
    body: FrozenBody | None
    index: Rows
    folds: int | None


def of_validation(training: Training, held: Any, metric: RowMetric) -> PreparedSamples:
    """Surrogates on the training rows, the metric on others."""
    everything = np.arange(metric.n_rows)
    fold, first, body = training.fold(training.rows, held[metric.kept], everything)
    sample = Sample([fold], metric.n_rows)
    return PreparedSamples(sample, metric, first[None], body, metric.kept, None)


def of_folds(
    training: Training, metric: RowMetric, splits: list[tuple[Rows, Rows]], both: bool
) -> PreparedSamples:
    """Each row's metric from a model that was not trained on it, and a model of all rows."""
    pooled = np.concatenate([test for _, test in splits])
    # In the order that they were given in: a function may know its rows by their place.
    order = np.argsort(pooled, kind="stable")
    index = pooled[order]
    judged = rows_taken(metric, index, len(training.true))
    places = np.split(np.argsort(order), np.cumsum([len(test) for _, test in splits])[:-1])
    made = []
    for i, ((train, test), place) in enumerate(zip(splits, places, strict=True)):
        where = f" in the training rows of fold {i + 1}"
        made.append(training.fold(train, training.features[test], place, where))
    made.append(training.fold(training.rows, None, np.empty(0, np.int64)))
    on_metric = None
    if both:
        groups = [group.take(index) for group in training.groups]
        on_metric = losses_on(
            training.kinds, groups, judged.true, judged.weight, training.labels, " that are judged"
        )
    own = np.searchsorted(training.rows, index)
    sample = Sample([fold for fold, _, _ in made], judged.n_rows, on_metric, own)
    first = np.stack([w for _, w, _ in made])
    return PreparedSamples(sample, judged, first, made[-1][2], index, len(splits))


def splits_of(cv: Any, X: Any, y: Any, weight: Floats | None, seed: int) -> list[tuple[Rows, Rows]]:
    """Rows to train on and rows to judge on, those of weight zero left out."""
    folds = folds_of(cv, X, y, seed)
    out = [(_weighty(train, weight), _weighty(test, weight)) for train, test in folds]
    if not out or any(len(train) == 0 or len(test) == 0 for train, test in out):
        raise InputError("`cv`: a fold has no rows of positive weight to train or to judge on")
    return out


def _weighty(rows: Rows, weight: Floats | None) -> Rows:
    return rows if weight is None else rows[weight[rows] > 0]
