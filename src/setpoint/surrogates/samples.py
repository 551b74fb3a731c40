"""From what ``fit`` is given to the two samples: which rows train a model, which judge it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from setpoint.array_types import Floats
from setpoint.blackbox.budget import RowMetric
from setpoint.blackbox.measuring import rows_taken
from setpoint.errors import InputError
from setpoint.estimators.splitting import folds_of
from setpoint.solvers import FirstModel
from setpoint.surrogates.features import FeatureMatrix, Matrix
from setpoint.surrogates.groups import RowGroup, losses_on
from setpoint.surrogates.network_features import FrozenBody, fit_body
from setpoint.surrogates.problem import Fold, Sample

__all__ = ["Prepared", "Training", "of_folds", "of_validation", "splits_of"]

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
class Prepared:
    """The two samples."""

    sample: Sample
    metric: RowMetric
    first: Floats
    body: FrozenBody | None
    index: Rows
    folds: int | None


def of_validation(training: Training, held: Any, metric: RowMetric) -> Prepared:
    """Surrogates on the training rows, the metric on others."""
    everything = np.arange(metric.n_rows)
    fold, first, body = training.fold(training.rows, held[metric.kept], everything)
    sample = Sample([fold], metric.n_rows)
    return Prepared(sample, metric, first[None], body, metric.kept, None)


def of_folds(
    training: Training, metric: RowMetric, splits: list[tuple[Rows, Rows]], both: bool
) -> Prepared:
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
    return Prepared(sample, judged, first, made[-1][2], index, len(splits))


def splits_of(cv: Any, X: Any, y: Any, weight: Floats | None, seed: int) -> list[tuple[Rows, Rows]]:
    """Rows to train on and rows to judge on, those of weight zero left out."""
    folds = folds_of(cv, X, y, seed)
    out = [(_weighty(train, weight), _weighty(test, weight)) for train, test in folds]
    if not out or any(len(train) == 0 or len(test) == 0 for train, test in out):
        raise InputError("`cv`: a fold has no rows of positive weight to train or to judge on")
    return out


def _weighty(rows: Rows, weight: Floats | None) -> Rows:
    return rows if weight is None else rows[weight[rows] > 0]
