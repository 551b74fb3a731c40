"""Ours and its peers for a metric on clean rows. No command of its own.

Each is given the same split and metric: it trains on the training rows, chooses on the
validation rows, and its decisions are counted on the test rows. Those that need a formula get
the metric's; the others only call it.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from bbs_data import MACRO_F, Floats, Metric, Part, Split
from cma_data import quiet
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from setpoint import AdaptiveSurrogateClassifier, PlugInClassifier
from setpoint.solvers import PostShift

LOGISTIC = "logistic regression"
RAW, SMOOTHED = "post-shift, raw", "post-shift, smoothed"
ADAPTIVE, HINGE = "adaptive, sigmoid", "adaptive, hinge"
WEIGHTS = "weights, sigmoid"
RELAXED = "relaxed F, {}"
ONE_CUT, GROUP_CUTS = "formula, one cut-off", "formula, a cut-off a group"
STRATEGY, WEIGHTED = "evolution strategy", "example weights (MOEW)"


@dataclass(frozen=True)
class Found:
    """One method on one split: the metric, the share decided positive, and what it took.

    `kept` says whether ours was accepted over its baseline; None for others.
    """

    name: str
    validation: float
    test: float
    positive: float
    evaluations: int
    seconds: float
    kept: bool | None = None


Decide = Callable[[Part], np.ndarray]


def _found(
    name: str, split: Split, metric: Metric, decide: Decide, used: int, since: float,
    kept: bool | None = None,
) -> Found:  # fmt: skip
    seconds = time.process_time() - since
    decided = [np.int64(decide(part)) for part in (split.validation, split.test)]
    values = [metric.of(p, d) for p, d in zip((split.validation, split.test), decided, strict=True)]
    return Found(name, *values, float(decided[1].mean()), used, seconds, kept)


@functools.lru_cache(maxsize=1)
def model(split: Split) -> LogisticRegression:
    with quiet():
        return LogisticRegression(max_iter=1000).fit(split.train.X, split.train.y)


def logistic(split: Split, metric: Metric) -> Found:
    since = time.process_time()
    by = model(split)
    return _found(LOGISTIC, split, metric, lambda p: by.predict(p.X), 0, since)


def post_shift(split: Split, metric: Metric, smooth: Any = "auto") -> Found:
    """The cut-off of the logistic regression, by calls."""
    since = time.process_time()
    clf = _rule(split, metric.box, solver=PostShift(smooth=smooth), decide_on=None)
    name = RAW if smooth is None else SMOOTHED
    return _found(name, split, metric, lambda p: clf.predict(p.X), clf.n_oracle_calls_, since)


def by_formula(split: Split, metric: Metric, decide_on: Any = None) -> Found:
    """The cut-offs that the goal's own solver finds on the validation rows."""
    since = time.process_time()
    clf = _rule(split, metric.goal, decide_on=decide_on, randomized=False)

    def decide(part: Part) -> np.ndarray:
        columns = {} if decide_on is None else {"sensitive_features": part.columns}
        return np.asarray(clf.predict(part.X, **columns))

    return _found(ONE_CUT if decide_on is None else GROUP_CUTS, split, metric, decide, 0, since)


def _rule(split: Split, goal: Any, **options: Any) -> PlugInClassifier:
    part = split.validation
    with quiet():
        clf = PlugInClassifier(FrozenEstimator(model(split)), goal, cv="prefit", **options)
        return clf.fit(part.X, part.y, sensitive_features=part.columns or None)


def adaptive(split: Split, metric: Metric, name: str = ADAPTIVE, **options: Any) -> Found:
    """Ours, which only calls the metric."""
    since = time.process_time()
    clf = fitted(split, metric, **options)
    return _found(
        name, split, metric, lambda p: clf.predict(p.X), clf.n_evaluations_, since, clf.accepted_
    )


def fitted(split: Split, metric: Metric, **options: Any) -> AdaptiveSurrogateClassifier:
    with quiet():
        clf = AdaptiveSurrogateClassifier(metric.box, **options)
        part = split.train
        return clf.fit(
            part.X, part.y, sensitive_features=part.columns or None,
            validation=split.validation.dataset(),
        )  # fmt: skip


# ---------------------------------------------------------------------- relaxation
def relaxed(split: Split, kind: str, iterations: int = 100) -> Found:
    """The mean F-measure of the sexes with a loss for each indicator; the best iterate.

    F = 1 - (FN + FP) / (2 P - FN + FP) with sums of sigmoid or hinge losses for FN and FP, by
    L-BFGS from the logistic regression; the iterate that does best on validation rows.
    """
    since, part = time.process_time(), split.train
    sign = 2.0 * part.y - 1.0
    sides = [(part.columns["sex"] == s, part.y == 1) for s in (0, 1)]
    path: list[Floats] = []

    def loss(w: Floats) -> tuple[float, Floats]:
        z = sign * (part.X @ w[:-1] + w[-1])
        if kind == "sigmoid":
            u = expit(-z)
            slope = -u * (1.0 - u)
        else:
            u, slope = np.maximum(1.0 - z, 0.0), -(z < 1.0).astype(float)
        total, by_row = 0.0, np.zeros(len(z))
        for group, positive in sides:
            yes, no = group & positive, group & ~positive
            n, fn, fp = yes.sum(), u[yes].sum(), u[no].sum()
            below = max(2.0 * n - fn + fp, 1.0)
            total += (fn + fp) / below
            by_row[yes] = (below + fn + fp) / below**2
            by_row[no] = (below - fn - fp) / below**2
        r = by_row * slope * sign
        return total, np.append(part.X.T @ r, r.sum())

    start = np.append(model(split).coef_[0], model(split).intercept_[0])
    path.append(start)
    minimize(
        loss, start, jac=True, method="L-BFGS-B", callback=lambda w: path.append(w.copy()),
        options={"maxiter": iterations},
    )  # fmt: skip
    w = _best(path, split, MACRO_F)
    return _found(RELAXED.format(kind), split, MACRO_F, lambda p: _linear(p, w), len(path), since)


def _linear(part: Part, w: Floats) -> np.ndarray:
    return np.int64(part.X @ w[:-1] + w[-1] >= 0)


def _best(models: list[Floats], split: Split, metric: Metric) -> Floats:
    part, sense = split.validation, 1.0 if metric.up else -1.0
    return max(models, key=lambda w: sense * metric.of(part, _linear(part, w)))


# ---------------------------------------------------------------------- direct search
def strategy(split: Split, metric: Metric, budget: int = 2_000, seed: int = 0) -> Found:
    """Evolution of the parameters themselves: the best 5 of 20 are averaged, and so on.

    From the logistic regression with the smoothed cut-off. The deviation, at first a third of
    its scores', follows the length of the path of the means, as in CMA-ES, with one deviation
    for all directions.
    """
    since, rng, part = time.process_time(), np.random.default_rng(seed), split.validation
    sense = 1.0 if metric.up else -1.0
    cut = _rule(split, metric.box, decide_on=None).rule_.threshold
    mean = np.append(model(split).coef_[0], model(split).intercept_[0] - np.clip(logit(cut), -9, 9))
    spread = float((part.X @ mean[:-1]).std()) or 1.0
    n, parents = len(mean), 5
    sigma, path = spread / 3.0 / np.sqrt(n), np.zeros(n)
    keep, usual = (parents + 2) / (n + parents + 5), np.sqrt(n) * (1 - 1 / (4 * n))
    best, most = mean, -np.inf
    for _ in range(budget // 20):
        z = rng.normal(size=(20, n))
        gains = np.array([sense * metric.of(part, _linear(part, mean + sigma * d)) for d in z])
        order = np.argsort(-gains, kind="stable")
        if gains[order[0]] > most:
            best, most = mean + sigma * z[order[0]], gains[order[0]]
        step = z[order[:parents]].mean(axis=0)
        mean = mean + sigma * step
        path = (1 - keep) * path + np.sqrt(keep * (2 - keep) * parents) * step
        sigma *= np.exp(keep / 2.0 * (np.linalg.norm(path) / usual - 1))
    return _found(STRATEGY, split, metric, lambda p: _linear(p, best), budget, since)


def example_weights(split: Split, metric: Metric) -> Found:
    """MOEW by a grid: each example's weight is a sigmoid of two components and its label.

    Zhao, Milani Fard, Narasimhan and Gupta, "Metric-optimized example weights": the weights
    that the metric likes best on validation rows; 27 logistic regressions.
    """
    since, part = time.process_time(), split.train
    where = PCA(2, random_state=0).fit(part.X).transform(part.X)
    where /= where.std(axis=0)
    models = []
    with quiet():
        for a, b, c in _grid():
            w = expit(where @ [a, b] + c * (part.y - 0.5))
            by = LogisticRegression(tol=1e-2).fit(part.X, part.y, w / w.mean())
            models.append(np.append(by.coef_[0], by.intercept_[0]))
    w = _best(models, split, metric)
    return _found(WEIGHTED, split, metric, lambda p: _linear(p, w), len(models), since)


def _grid() -> Iterator[tuple[float, float, float]]:
    for a in (-2.0, 0.0, 2.0):
        for b in (-2.0, 0.0, 2.0):
            for c in (1.0, 2.5, 4.0):
                yield a, b, c
