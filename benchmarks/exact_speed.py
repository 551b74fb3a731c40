"""The exact solver against its peers, side by side in one run.

Ratios of medians; every figure is printed beside its target. Run it alone:
``python benchmarks/exact_speed.py [--rows N]``.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

warnings.simplefilter("ignore")


def median_time(run: Callable[[], Any], repeats: int) -> float:
    """Median wall time of some runs, after one that warms up."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def line(what: str, measured: float, target: str, good: bool, unit: str = "x") -> None:
    print(f"{'ok  ' if good else 'MISS'} {what:<78} {measured:9.3f} {unit}   target {target}")


def scored(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of a fair model, labels with one positive in five, and two groups."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.2).astype(int)
    group = (rng.random(n) < 0.4).astype(int)
    logit = rng.normal(2.0 * y - 1.5 + 0.5 * group, 1.0)
    return 1.0 / (1.0 + np.exp(-logit)), y, group


def against_tuned_threshold(n: int) -> None:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.model_selection import TunedThresholdClassifierCV

    from setpoint import solve

    scores, y, _ = scored(n)

    class Given(ClassifierMixin, BaseEstimator):
        """A fitted model whose scores are given."""

        def fit(self, X: Any, y: Any) -> Given:
            return self

        def __sklearn_is_fitted__(self) -> bool:
            return True

        classes_ = np.array([0, 1])

        def predict_proba(self, X: Any) -> np.ndarray:
            return np.column_stack([1.0 - X[:, 0], X[:, 0]])

    X = scores[:, None]
    peer = TunedThresholdClassifierCV(Given(), scoring="f1", cv="prefit", refit=False)
    start = time.perf_counter()
    peer.fit(X, y)
    peer_time = time.perf_counter() - start
    sort = median_time(lambda: np.argsort(scores), 7)
    ours = median_time(lambda: solve("f1", scores, y), 7)
    best = solve("f1", scores, y).report.objective.value
    print(
        f"{n:,} rows: argsort {sort * 1e3:.0f} ms, F1 {ours * 1e3:.0f} ms, peer {peer_time:.1f} s"
    )
    ratio = peer_time / ours
    line("F1: TunedThresholdClassifierCV(prefit), time over ours", ratio, ">= 150", ratio >= 150)
    line("F1: whole solve over one np.argsort of the scores", ours / sort, "<= 1", ours <= sort)
    ahead = best - peer.best_score_
    line("F1: ours minus the peer's best", ahead, ">= 0", ahead >= -1e-12, " ")
    goal = "maximize recall subject to precision >= 0.9"
    for randomized, kind in ((False, "threshold"), ("auto", "mixture")):
        floor = median_time(lambda r=randomized: solve(goal, scores, y, randomized=r), 7)
        what = f"recall s.t. precision >= .9, {kind}: whole solve over one np.argsort"
        line(what, floor / sort, "<= 1", floor <= sort)


def against_fairlearn(n: int) -> None:
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.base import BaseEstimator, ClassifierMixin

    from setpoint import evaluate, solve

    scores, y, group = scored(n, seed=1)

    class Given(ClassifierMixin, BaseEstimator):
        def fit(self, X: Any, y: Any) -> Given:
            self.classes_ = np.array([0, 1])
            return self

        def predict_proba(self, X: Any) -> np.ndarray:
            return np.column_stack([1.0 - X[:, 0], X[:, 0]])

        def predict(self, X: Any) -> np.ndarray:
            return (X[:, 0] >= 0.5).astype(int)

    X = scores[:, None]
    peer = ThresholdOptimizer(
        estimator=Given().fit(X, y),
        constraints="demographic_parity",
        objective="accuracy_score",
        prefit=True,
        predict_method="predict_proba",
    )
    peer_time = median_time(lambda: peer.fit(X, y, sensitive_features=group), 3)
    goal = "maximize accuracy subject to predicted_rate.difference(group) <= 0.0"
    columns = {"group": group}
    ours = median_time(lambda: solve(goal, scores, y, sensitive_features=columns), 7)
    found = solve(goal, scores, y, sensitive_features=columns).report
    p = peer._pmf_predict(X, sensitive_features=group)[:, 1]
    peer_accuracy = float(np.mean(np.where(y == 1, p, 1 - p)))
    rates = [p[group == g].mean() for g in (0, 1)]
    print(f"{n:,} rows, two groups: ours {ours * 1e3:.0f} ms, peer {peer_time:.2f} s")
    print(f"     the peer's own gap is {abs(rates[0] - rates[1]):.2e}")
    ratio = peer_time / ours
    line("parity: ThresholdOptimizer, time over ours", ratio, ">= 50", ratio >= 50)
    ahead = found.objective.value - peer_accuracy
    line("parity: accuracy, ours minus the peer's", ahead, ">= 0", ahead >= -1e-9, " ")
    gap = found.constraints[0].value
    line("parity: gap of the expected decisions", gap, "<= 1e-9", gap <= 1e-9, " ")
    loose = "maximize accuracy subject to predicted_rate.difference(group) <= 0.05"
    ours = median_time(lambda: solve(loose, scores, y, sensitive_features=columns), 7)
    ratio = peer_time / ours
    line(
        "parity <= .05: ThresholdOptimizer(parity = 0), time over ours", ratio, ">= 50", ratio >= 50
    )
    decisions = (scores >= 0.5).astype(int)
    start = time.perf_counter()
    evaluate(loose, y, decisions, sensitive_features=columns)
    print(f"     evaluate on the same rows: {(time.perf_counter() - start) * 1e3:.0f} ms")


PARITY = (
    ("accuracy", "predicted_rate", "demographic_parity", "accuracy_score"),
    ("accuracy", "recall", "true_positive_rate_parity", "accuracy_score"),
    ("f1", "predicted_rate", "", ""),
    ("balanced_accuracy", "recall", "true_positive_rate_parity", "balanced_accuracy_score"),
)
"""Objectives and rates, and what fairlearn calls them where it has them."""


def without_draws(n: int, groups: int) -> None:
    """Parity by thresholds alone, beside rules that draw and fairlearn, whose rules draw, too."""
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.dummy import DummyClassifier

    from setpoint import solve

    rng = np.random.default_rng(n + groups)
    group = rng.integers(0, groups, n)
    y = (rng.random(n) < 0.15 + 0.3 * group / max(groups - 1, 1)).astype(int)
    logit = rng.normal(1.5 * y + 1.2 * group / max(groups - 1, 1) - 1.5, 1.0)
    scores = 1.0 / (1.0 + np.exp(-logit))

    class Given(DummyClassifier):
        def predict_proba(self, X: Any) -> np.ndarray:
            return np.column_stack([1.0 - X[:, 0], X[:, 0]])

    X = scores[:, None]
    for objective, rate, constraint, name in PARITY:
        goal = f"maximize {objective} subject to {rate}.difference(group) <= 0.05"

        def ours(randomized: bool, goal: str = goal) -> Any:
            columns = {"group": group}
            return solve(goal, scores, y, sensitive_features=columns, randomized=randomized)

        draws, none = (median_time(lambda r=r: ours(r), 7) for r in (True, False))
        gap = ours(False).report.certificate.gap
        what = f"{n:,} rows, {groups} groups, {objective}, {rate}"
        most = 1.5 if n <= 3000 else 3.0
        line(f"{what}: time over that with draws", none / draws, f"<= {most}", none <= most * draws)
        line(f"{what}: gap", gap, "<= 1e-4", gap <= 1e-4, " ")
        if constraint:
            peer = ThresholdOptimizer(
                estimator=Given().fit(X, y),
                constraints=constraint,
                objective=name,
                prefit=True,
                predict_method="predict_proba",
            )
            spent = median_time(lambda p=peer: p.fit(X, y, sensitive_features=group), 3)
            line(f"{what}: ThresholdOptimizer over ours", spent / none, ">= 1", spent >= none)


def import_time() -> None:
    code = "import time; t = time.perf_counter(); import setpoint; print(time.perf_counter() - t)"
    run = [sys.executable, "-c", code]
    times = [subprocess.run(run, capture_output=True, text=True, check=True) for _ in range(5)]
    seconds = statistics.median(float(t.stdout) for t in times)
    line("import setpoint", seconds, "< 0.3", seconds < 0.3, "s")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    import_time()
    against_tuned_threshold(rows)
    against_fairlearn(3 * rows // 10)
    for n, groups in ((3 * rows // 1000, 2), (3 * rows // 1000, 4), (3 * rows // 10, 2)):
        without_draws(n, groups)


if __name__ == "__main__":
    main()
