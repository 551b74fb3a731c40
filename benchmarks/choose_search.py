"""Which candidate a search chooses, by what it then reaches on rows that took no part.

`python benchmarks/choose_search.py [--splits 10] [--rows 2000]`: recall at a floor of 0.7 on
precision. On each table a random sample of rows chooses among eight candidates, cross-validated
in five folds: three of logistic regression, three of gradient boosting, naive Bayes and a tree.
All others are held out. Every candidate is a model with the best rule over its scores, as fitted
on all rows of the sample; what a candidate is worth is its recall on the held-out rows at the
cut-off that meets the floor there exactly, so that luck with the cut-off does not count. Ways:

- by chance: the mean of all candidates
- old scorer: the mean over folds of the objective, or of -2 - violation where the floor is missed
- new scorer: the mean over folds of `goal_scorer`
- feasible first: all folds together, those that meet the floor first, then the objective
- GoalSearchCV: all folds together, as it ranks; and the same with halving

The regret is what the chosen one is worth less than the best, by hindsight; means over the splits
and their standard errors.
"""

from __future__ import annotations

import argparse
import functools
import time
from typing import Any

import numpy as np
from cma_data import one_hot, quiet, require
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid, StratifiedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from setpoint import Goal, GoalSearchCV, evaluate, goal_scorer
from setpoint.inputs.classes import classes_of
from setpoint.inputs.inputs import CheckedData, GivenRows
from setpoint.plugin.judging import Judge, JudgedRows

FLOOR, FOLDS = 0.7, 5
GOAL = f"maximize recall subject to precision >= {FLOOR}"
MODELS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "boosting": HistGradientBoostingClassifier(random_state=0),
    "bayes": make_pipeline(StandardScaler(), GaussianNB()),
    "tree": DecisionTreeClassifier(min_samples_leaf=20, random_state=0),
}
GRID = {
    "logistic": {"logisticregression__C": [0.001, 0.03, 1.0]},
    "boosting": {"learning_rate": [0.03, 0.1, 0.3], "max_iter": [60]},
}


@functools.cache
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y, _, _ = require(name).load(name)
    labels = np.asarray(y)
    if name == "covtype_100k":
        labels = labels == 2
    return one_hot(X), np.asarray(labels == np.max(labels), np.int64)


def worth(score: np.ndarray, y: np.ndarray) -> float:
    """The largest recall at which precision is the floor."""
    order = np.argsort(-score, kind="stable")
    s, right = score[order], np.cumsum(y[order])
    ends = np.append(s[1:] != s[:-1], True)
    met = ends & (right >= FLOOR * np.arange(1, len(y) + 1))
    return float(right[met].max(initial=0) / y.sum())


def candidates() -> list[Any]:
    return [
        clone(model).set_params(**params)
        for name, model in MODELS.items()
        for params in ParameterGrid(GRID.get(name, {}))
    ]


def chosen(X: np.ndarray, y: np.ndarray) -> dict[str, int]:
    """The place of the candidate that each way takes."""
    goal = Goal.parse(GOAL)
    splits = list(StratifiedKFold(FOLDS).split(X, y))
    inputs = CheckedData.check(goal, classes_of(y), {None: GivenRows(len(y), y)}, None)
    judge = Judge(inputs, JudgedRows.of(splits, inputs.kinds(None)))
    judged, new, old = [], [], []
    for k, model in enumerate(candidates()):
        scores = np.empty(len(y))
        for train, test in splits:
            scores[test] = clone(model).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        judged.append(judge.of_scores(str(k), scores))
        parts = [(y[i], judged[-1].decided[None][i]) for _, i in splits]
        new.append(np.mean([goal_scorer(GOAL)(Decided(d), d[:, None], t) for t, d in parts]))
        old.append(np.mean([_old(evaluate(GOAL, t, d, classes=[0, 1])) for t, d in parts]))
    halved = GoalSearchCV(MODELS, GRID, GOAL, cv=FOLDS, halving=True, refit=False, random_state=0)
    return {
        "old scorer": int(np.argmax(old)),
        "new scorer": int(np.argmax(new)),
        "feasible first": int(np.argmax([_old(one.report) for one in judged])),
        "GoalSearchCV": judge.standing(judged).best,
        "with halving": halved.fit(X, y).best_index_,
    }


class Decided:
    """Gives decisions that were made before: what a scorer asks."""

    classes_ = np.array([0, 1])

    def __init__(self, decisions: np.ndarray) -> None:
        self.decisions = decisions

    def predict(self, X: Any) -> np.ndarray:
        return self.decisions


def _old(report: Any) -> float:
    """The score with the cliff."""
    if report.satisfied:
        return float(report.objective.value)
    return -2.0 - max(-c.slack for c in report.constraints)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--tables", nargs="*", default=["adult", "default_credit", "covtype_100k"])
    args = parser.parse_args()
    for name in args.tables:
        X, y = table(name)
        regrets: dict[str, list[float]] = {}
        started = time.perf_counter()
        for seed in range(args.splits):
            own, rest = train_test_split(
                np.arange(len(y)), train_size=args.rows, random_state=seed, stratify=y
            )
            with quiet():
                fitted = [clone(model).fit(X[own], y[own]) for model in candidates()]
                found = chosen(X[own], y[own])
            worths = [worth(one.predict_proba(X[rest])[:, 1], y[rest]) for one in fitted]
            regrets.setdefault("by chance", []).append(max(worths) - float(np.mean(worths)))
            for way, k in found.items():
                regrets.setdefault(way, []).append(max(worths) - worths[k])
        seconds = time.perf_counter() - started
        print(f"{name}: {args.rows:,} rows choose, {args.splits} splits, {seconds:.0f} s")
        for way, values in regrets.items():
            error = np.std(values, ddof=1) / np.sqrt(len(values))
            print(f"  {way:<16} {np.mean(values):.4f} ± {error:.4f}")


if __name__ == "__main__":
    main()
