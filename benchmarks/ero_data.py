"""What the benchmarks after one paper share.

Peng, Travadi, He, Cui and Sun, "Exact reformulation and optimization for direct metric
optimization in binary imbalanced classification": its three problems, with .8 for the level;
binary tasks, their splits, and one training whose every method is looked at. No command of
its own.

Protocol: a stratified split of .6, .2 and .2 by scikit-learn, seeds 0, 1, 2; training on the
.6, tests on the last .2; features standardised on the training part and cut off at 10
deviations, as the classifier does by default. Nothing is chosen on test rows.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from cma_data import one_hot, require
from sklearn.model_selection import train_test_split

from setpoint import ExactPenaltyClassifier, Goal
from setpoint.classifiers import linear_scores, transformed
from setpoint.inputs import CheckedTable, two_classes
from setpoint.penalty import Tradeoff
from setpoint.penalty.classifier import prepare
from setpoint.penalty.losses import Stage
from setpoint.penalty.problem import Cut, best_cut
from setpoint.penalty.selection import Pool, TrainingPlan, TrainingRows
from setpoint.penalty.solvers import train_linear
from setpoint.search import Limits
from setpoint.solvers import solver_of

LEVEL = 0.8
PROBLEMS = {
    "FPOR": f"maximize recall subject to precision >= {LEVEL}",
    "FROP": f"maximize precision subject to recall >= {LEVEL}",
    "OFBS": "maximize f1",
}
POSITIVE: dict[str, Any] = {"satimage": 4, "page_blocks": 2}
"""The positive class, where it is not the smaller of two."""
SETS = ("wilt", "satimage", "page_blocks", "default_credit", "communities_crime")
SEEDS = (0, 1, 2)

CROSS_ENTROPY, BALANCED = "cross-entropy", "balanced cross-entropy"
LAGRANGIAN = "Lagrangian, hinge rates"
POLISH = "evolution strategy"
UNTHRESHOLDED = ("profiled threshold", POLISH)
"""Methods whose decisions are not meant to be taken at logit 0."""


# ---------------------------------------------------------------------- data
@functools.cache
def task(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features, categories one-hot, missing numbers NaN, and labels in {0, 1}."""
    X, y, _, _ = require(name).load(name)
    labels, counts = np.unique(y, return_counts=True)
    positive = POSITIVE.get(name, labels[counts.argmin()])
    return one_hot(X), np.int64(y == positive)


@functools.lru_cache(maxsize=8)
def split(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X and y to train on, X and y to test on; medians of the former for what is missing."""
    X, y = task(name)
    a, rest, y_a, y_rest = train_test_split(X, y, train_size=0.6, stratify=y, random_state=seed)
    _, b, _, y_b = train_test_split(rest, y_rest, test_size=0.5, stratify=y_rest, random_state=seed)
    median = np.nanmedian(a, axis=0)
    return np.where(np.isnan(a), median, a), y_a, np.where(np.isnan(b), median, b), y_b


# ---------------------------------------------------------------------- one training
@dataclass
class Watched(Pool):
    """A pool that also keeps the last iterate of each method, and when it came."""

    last: dict[str, Any] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)

    def offer(self, method: str, scores: np.ndarray, parameters: Any) -> Cut | None:
        cut = super().offer(method, scores, parameters)
        if method != POLISH:
            self.last[method] = parameters()
        self.ended[method] = time.perf_counter()
        return cut


@dataclass(frozen=True)
class Measured:
    """What decisions reach on some rows."""

    value: float
    violation: float
    precision: float
    recall: float
    f1: float

    @property
    def feasible(self) -> bool:
        return self.violation <= 0.0


@dataclass(frozen=True)
class Reached:
    """The same decisions on the rows that chose, as a rule the training rows, and on test.

    An objective that breaks the constraint where it was chosen is not a solution: `objective`
    is 0 there, and `on_test` too.
    """

    chosen: Measured
    test: Measured

    @property
    def feasible(self) -> bool:
        return self.chosen.feasible

    @property
    def objective(self) -> float:
        return self.chosen.value * self.feasible

    @property
    def on_test(self) -> float:
        return self.test.value * self.feasible

    @property
    def holds_on_test(self) -> bool:
        return self.feasible and self.test.feasible


@dataclass(frozen=True)
class Found:
    """A method: decided at 0 by its last iterate, that adjusted, and the best adjusted one."""

    raw: Reached | None
    last: Reached | None
    best: Reached
    seconds: float


def outcomes(
    goal: str,
    a: Any,
    y_a: np.ndarray,
    b: Any,
    y_b: np.ndarray,
    stages: tuple[Stage, ...] | None = None,
    **options: Any,
) -> dict[str, Found]:
    """Every method of one fit, "all" for what the classifier takes, on train and on test.

    `stages` are run in place of the solver's own.
    """
    estimator = ExactPenaltyClassifier(goal, **options)
    data = CheckedTable(y_a, None, {}, None, a)
    started = time.perf_counter()
    solver = solver_of(estimator.solver, "penalty")
    given = SimpleNamespace(
        goal=Goal.parse(goal), solver=solver, trained_on=data, key=0,
        classes=two_classes(y_a, pos_label=1),
    )  # fmt: skip
    plan, preprocessor, _ = prepare(estimator, given, Limits())
    pool = Watched(**{f.name: getattr(plan.pool, f.name) for f in fields(Pool)})
    plan = replace(plan, pool=pool, stages=stages or plan.stages)
    train_linear(plan, getattr(solver, "polish", False) and stages is None)
    seconds = time.perf_counter() - started
    if POLISH in pool.ended:  # it comes last, and offers only what is better
        pool.ended[POLISH] = started + seconds
    test = TrainingRows(transformed(preprocessor, b), y_b == 1)
    measured = functools.partial(reached, goal, pool.rows, test)
    out, before = {}, started
    for name, candidate in pool.best.items():
        raw = last = None
        if name in pool.last:
            theta = pool.last[name]
            last = measured(theta, _adjusted(plan, theta))
            raw = None if name in UNTHRESHOLDED else measured(theta, 0.0)
        best = measured(candidate.parameters, candidate.cut.threshold)
        out[name] = Found(raw, last, best, pool.ended[name] - before)
        before = pool.ended[name]
    champion = pool.champion
    best = measured(champion.parameters, champion.cut.threshold)
    out["all"] = Found(None, None, best, seconds)
    return out


def _adjusted(plan: TrainingPlan, theta: np.ndarray) -> float:
    """The best threshold on the rows that choose."""
    pool, rows = plan.pool, plan.pool.rows
    scores = linear_scores(rows.X, theta)
    return best_cut(pool.goal, scores, pool.true, None, pool.least).threshold


def reached(
    goal: str, chooser: TrainingRows, test: TrainingRows, theta: np.ndarray, threshold: float
) -> Reached:
    """The goal, precision, recall and F1 of a linear model's decisions."""
    return Reached(*(_measured(goal, rows, theta, threshold) for rows in (chooser, test)))


def _measured(goal: str, rows: TrainingRows, theta: np.ndarray, threshold: float) -> Measured:
    decided, true = linear_scores(rows.X, theta) >= threshold, rows.positive
    A, B, P = float(np.sum(decided & true)), float(np.sum(decided & ~true)), float(true.sum())
    bound = Tradeoff(Goal.parse(goal), len(true) - P, P)
    violation = float(bound.violation(A, B))
    return Measured(
        value=float(bound.score(A, B)),
        violation=violation if violation > 1e-9 else 0.0,
        precision=A / max(A + B, 1.0),
        recall=A / P,
        f1=2.0 * A / (P + A + B),
    )


# ---------------------------------------------------------------------- lines
def mean(runs: list[Found], which: Callable[[Found], float | None]) -> float:
    """Over runs; NaN where the method has no such number."""
    values = [which(run) for run in runs]
    known = [float(v) for v in values if v is not None]
    return float(np.mean(known)) if known else np.nan


def cell(value: float, width: int = 7) -> str:
    return f"{'-':>{width}}" if np.isnan(value) else f"{value:{width}.3f}"
