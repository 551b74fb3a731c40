"""Reports: verdicts over seeds, advice followed once, and what a report costs.

Three quarters of a table are fitted and judged by the rest, with six seeds; whoever is advised to
search with a margin does so, once, and judges by the bound that was meant.

Usage: ``python benchmarks/report_figures.py``
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
from cma_data import one_hot, quiet, require, run_with_one_thread, verdict
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setpoint import Goal, GoalReport, PlugInClassifier, solve
from setpoint.report import report_on_found, stricter_goal

SEEDS = range(6)
GOALS = (
    ("adult", "maximize recall subject to precision >= 0.8"),
    ("adult", "minimize predicted_rate subject to recall >= 0.7"),
    ("default_credit", "maximize recall subject to precision >= 0.6"),
)
ROWS = 1_000_000


@cache
def rows(table: str) -> tuple[np.ndarray, np.ndarray]:
    """Features as numbers, and whether a row is of the rarer class."""
    X, y, _, _ = require(table).load(table)
    _, codes, sizes = np.unique(np.asarray(y), return_inverse=True, return_counts=True)
    return np.nan_to_num(one_hot(X)), (codes == sizes.argmin()).astype(int)


def judged(table: str, goal: str, seed: int) -> tuple[GoalReport, GoalReport | None]:
    """A fit on three quarters, its verdict on the rest, and the verdict after its advice."""
    X, y = rows(table)
    fit, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=seed, stratify=y)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    clf = PlugInClassifier(model, goal, random_state=seed).fit(X[fit], y[fit])
    first = clf.evaluate(X[test], y[test])
    meant = Goal.parse(goal)
    stricter = stricter_goal(first)
    if stricter is None:
        return first, None
    clf = PlugInClassifier(model, str(stricter), random_state=seed).fit(X[fit], y[fit])
    second = clf.evaluate(X[test], y[test], goal=meant)
    assert stricter_goal(second) is None, "a second margin was advised"
    return first, second


def main() -> int:
    """Print each figure beside its target."""
    missed = 0
    followed: Counter[str | None] = Counter()
    for table, goal in GOALS:
        with quiet():
            found = [judged(table, goal, seed) for seed in SEEDS]
        words = Counter(first.verdict for first, _ in found)
        good = not (words["shown"] and words["shown to fail"])
        missed += not good
        print(f"{verdict(good)} {table}: {goal}: {dict(words)}; never shown and fails")
        followed.update(second.verdict for _, second in found if second is not None)
        lost = [
            abs(second.objective.value - first.objective.value)
            for first, second in found
            if second is not None
        ]
        if lost:
            print(
                f"       the margin costs {statistics.median(lost):.4f} of the objective (median)"
            )
    share = followed["shown"] / max(sum(followed.values()), 1)
    good = share >= 0.6 and not followed["shown to fail"]
    missed += not good
    print(f"{verdict(good)} advice followed once: {dict(followed)}; shown in >= 60 %")
    share = cost_of_report()
    missed += share > 0.10
    print(f"{verdict(share <= 0.1)} report of {ROWS:,} rows: {share:.1%} of its solve; <= 10 %")
    return int(missed > 0)


def cost_of_report() -> float:
    """The report's share of the CPU time of a solve, in the median."""
    rng = np.random.default_rng(0)
    y = (rng.random(ROWS) < 0.2).astype(int)
    scores = rng.normal(size=ROWS) + y
    decide = sys.modules["setpoint.classifiers.opening"]
    spent = []

    def timed(*args: Any, **options: Any) -> Any:
        start = time.process_time()
        out = report_on_found(*args, **options)
        spent.append(time.process_time() - start)
        return out

    decide.report_on_found = timed
    shares = []
    for _ in range(15):
        start = time.process_time()
        solve("maximize recall subject to precision >= 0.5", scores, y)
        shares.append(spent[-1] / (time.process_time() - start))
    decide.report_on_found = report_on_found
    return statistics.median(shares[2:])


if __name__ == "__main__":
    run_with_one_thread(main)
