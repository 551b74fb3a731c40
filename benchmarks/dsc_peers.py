"""Peers of a classifier with constraints over data sets. No command of its own.

Linear models that ignore the bound (logistic regression, a support vector machine)
with the best threshold under it; one threshold for each group, or for each decision of the
deployed model; the covariance bound of Zafar and others; a blend of the deployed model's
score and a new one. All are fitted and chosen on training rows.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cma_data import Given, quiet
from dsc_data import Found, Measured, Part, Task, accepted
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from setpoint import PlugInClassifier

Floats = np.ndarray
Models: dict[str, Callable[[], Any]] = {
    "logistic regression": lambda: LogisticRegression(max_iter=1000),
    "linear SVM": lambda: LinearSVC(C=1.0, max_iter=5000, random_state=0),
}


@dataclass(frozen=True)
class Scored:
    """Scores of one model on training and test rows."""

    name: str
    train: Floats
    test: Floats
    seconds: float
    model: Any = None


def scored(task: Task, name: str, train: Part | None = None) -> Scored:
    """A model fitted to the labels alone, on all training rows or those given."""
    part = task.train if train is None else train
    start = time.process_time()
    with quiet():
        model = Models[name]().fit(part.encoded, part.y)
    seconds = time.process_time() - start
    score = model.decision_function
    return Scored(name, score(part.encoded), score(task.test.encoded), seconds, model)


# ---------------------------------------------------------------------- thresholds
def thresholded(
    task: Task, by: Scored, goal: str, decide_on: str | None = None, train: Part | None = None
) -> Found:
    """The best threshold under a goal; with `decide_on` one for each of its values.

    That is "sex", or "deployed": what the deployed model decides. Where no threshold meets
    the goal the outcome is that of the nearest, and says so.
    """
    part = task.train if train is None else train
    start = time.process_time()
    options = {"cv": "prefit", "randomized": False, "on_infeasible": "nearest"}
    seen = None if decide_on is None else [decide_on]
    with quiet():
        clf = PlugInClassifier(Given([0, 1]), goal, decide_on=seen, **options)
        clf.fit(
            _posteriors(by.train), part.y, baseline=part.deployed,
            sensitive_features=_columns(part),
        )  # fmt: skip
        seconds = by.seconds + time.process_time() - start
        columns = {} if seen is None else {"sensitive_features": _columns(task.test)}
        here = {} if seen is None else {"sensitive_features": _columns(part)}
        found = [
            Measured.of(accepted(clf, _posteriors(s), **c), rows)
            for s, c, rows in ((by.train, here, part), (by.test, columns, task.test))
        ]
    name = by.name + (", one threshold" if seen is None else f", a threshold by {decide_on}")
    return Found(name, *found, seconds, "" if clf.goal_report_.satisfied else "not met")


def _posteriors(scores: Floats) -> Floats:
    p = expit(scores)
    return np.column_stack([1.0 - p, p])


def _columns(part: Part) -> dict[str, Floats]:
    both = {"sex": part.sex, "deployed": part.deployed}
    return {name: values for name, values in both.items() if values is not None}


def at_zero(task: Task, by: Scored, train: Part | None = None) -> Found:
    """The model as it is."""
    part = task.train if train is None else train
    found = Measured.of(by.train >= 0, part), Measured.of(by.test >= 0, task.test)
    return Found(f"{by.name} alone", *found, by.seconds)


# ---------------------------------------------------------------------- covariance
@dataclass(frozen=True)
class Covariance:
    """A model under ``|covariance of sex and score| <= bound``."""

    bound: float
    train: Measured
    test: Measured
    seconds: float


@functools.cache
def covariance_path(task: Task, n: int = 25) -> tuple[Covariance, ...]:
    """Logistic regression under bounds on the covariance, from the free one down to 0.

    The covariance is a linear function ``a @ w`` of the weights, so that the problem for a
    bound is that for its multiplier: loss plus multiplier times ``a @ w``. The multipliers
    run up to the one at which the covariance is 0.
    """
    part = task.train
    X, y, N = part.encoded, part.y, len(part.y)
    men = (part.sex == "Male").astype(float)
    a = np.append(X.T @ (men - men.mean()) / N, 0.0)
    signs = np.where(y == 1, 1.0, -1.0)

    def fitted(multiplier: float, w: Floats) -> Floats:
        def value(w: Floats) -> tuple[float, Floats]:
            z = signs * (X @ w[:-1] + w[-1])
            slope = -signs * expit(-z)
            gradient = np.append(X.T @ slope, slope.sum()) / N
            ridge = np.append(w[:-1], 0.0) / N  # as C = 1 in scikit-learn
            loss = np.logaddexp(0.0, -z).mean() + 0.5 * float(w[:-1] @ w[:-1]) / N
            return loss + multiplier * float(a @ w), gradient + ridge + multiplier * a

        return minimize(value, w, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x

    def measured(w: Floats, since: float) -> Covariance:
        found = [
            Measured.of(rows.encoded @ w[:-1] + w[-1] >= 0, rows) for rows in (part, task.test)
        ]
        return Covariance(abs(float(a @ w)), *found, time.process_time() - since)

    free = fitted(0.0, np.zeros(X.shape[1] + 1))
    low, high, w = 0.0, 0.25, free
    while a @ (w := fitted(high, w)) > 0.0:
        low, high = high, 2.0 * high
    for _ in range(12):
        middle = 0.5 * (low + high)
        w = fitted(middle, w)
        low, high = (middle, high) if a @ w > 0.0 else (low, middle)
    out, w = [], free
    for multiplier in np.linspace(0.0, high, n):
        since = time.process_time()
        w = fitted(multiplier, w)
        out.append(measured(w, since))
    return tuple(out)


def under_covariance(task: Task, ratio: float) -> Found:
    """The model of the path that errs least with at least this ratio; else the nearest one."""
    path = covariance_path(task)
    enough = [p for p in path if p.train.ratio >= ratio]
    best = min(enough, key=lambda p: p.train.error) if enough else max(
        path, key=lambda p: p.train.ratio
    )  # fmt: skip
    note = f"|cov| <= {best.bound:.4f}" + ("" if enough else ", no more to be had")
    return Found("covariance bound", best.train, best.test, best.seconds, note)


# ---------------------------------------------------------------------- blending
def blended(
    task: Task, by: Scored, goal: str, train: Part | None = None, shares: Sequence[float] = ()
) -> Found:
    """``share * deployed + (1 - share) * new``, share and threshold the best on training rows.

    Both scores are divided by their deviation there.
    """
    part = task.train if train is None else train
    start = time.process_time()
    assert part.deployed_score is not None
    old_scale, new_scale = part.deployed_score.std(), by.train.std()
    best, found, share_of_best = None, None, 0.0
    for share in shares or np.linspace(0.0, 1.0, 21):
        mixed = Scored(
            "blend",
            *(
                share * old / old_scale + (1.0 - share) * new / new_scale
                for old, new in (
                    (part.deployed_score, by.train),
                    (task.test.deployed_score, by.test),
                )
            ),
            by.seconds,
        )
        outcome = thresholded(task, mixed, goal, train=part)
        key = (outcome.note != "", outcome.train.error)
        if best is None or key < best:
            best, found, share_of_best = key, outcome, float(share)
    assert found is not None
    seconds = by.seconds + time.process_time() - start
    note = f"{share_of_best:.0%} deployed" + (f", {found.note}" if found.note else "")
    return Found("blend with the deployed score", found.train, found.test, seconds, note)
