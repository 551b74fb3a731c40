"""A learner retrained at each oracle call: Table 8 of the paper.

``python benchmarks/cma_retraining.py [--splits 3]``. H-mean loss on test after 20 oracle
calls. "plug-in" weights the posteriors of one logistic regression, "retrained" fits a
weighted logistic regression at each call; both count on the training rows, as the paper
does. Its three algorithms are there for the plug-in oracle; retraining goes with column
generation. Nothing is tuned.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from cma_data import (
    H_MEAN,
    SETS,
    TABLE_8,
    features,
    mean_and_error,
    on_test,
    quiet,
    run_with_one_thread,
    split,
)
from sklearn.linear_model import LogisticRegression

from setpoint import PlugInClassifier, SearchLimits
from setpoint.solvers import ColumnGeneration

CALLS = 20
AT_ODDS = 0.02
"""A mean farther than this from the paper's did not reproduce."""
PLUG_IN = {
    "column generation, soft": {"evidence": "soft"},
    "column generation, label": {"evidence": "label"},
    "frank-wolfe": {"solver": "frank-wolfe", "evidence": "soft"},
    "gda": {"solver": "gda", "evidence": "soft"},
    "gda, 9 times 20 calls": {
        "solver": "gda",
        "evidence": "soft",
        "limits": SearchLimits(calls=9 * CALLS),
    },
    "ellipsoid": {"solver": "ellipsoid", "evidence": "soft"},
}
"""The paper runs GDA with nine pairs of steps and keeps the best; here they share one budget."""
THERE = {
    "frank-wolfe": "FW",
    "gda": "GDA",
    "gda, 9 times 20 calls": "GDA",
    "ellipsoid": "ellipsoid",
}


def retrained(name: str, seed: int, **options: Any) -> float:
    """H-mean loss on test with a learner retrained at each call."""
    X, y, X_test, y_test = features(name, seed)
    learner = LogisticRegression(tol=1e-3, max_iter=300)
    with quiet():
        clf = PlugInClassifier(
            learner,
            H_MEAN,
            solver=ColumnGeneration(oracle=learner),
            limits=SearchLimits(calls=CALLS),
            random_state=0,
            **options,
        ).fit(X, y)
        return 1.0 - clf.evaluate(X_test, y_test).objective.value


def plugged_in(name: str, seed: int, options: dict[str, Any]) -> float:
    options = {"limits": SearchLimits(calls=CALLS)} | options
    report = on_test(H_MEAN, split(name, seed), **options)[1]
    return 1.0 - report.objective.value


def line(what: str, losses: list[float], paper: float, best: bool, seconds: float) -> None:
    apart = float(np.mean(losses)) - paper
    odd = "" if abs(apart) <= AT_ODDS else "better" if apart < 0 else "WORSE"
    print(
        f"       {what:<34} {mean_and_error(losses):>14} {paper:7.3f}"
        f"{' (its best)' if best else '':<12} {odd:<6} {seconds:6.1f} s a split"
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=3)
    n = parser.parse_args().splits
    print(f"Table 8: H-mean loss on test after {CALLS} oracle calls; {n} splits, ten in the paper")
    print(f"no targets; 'better' and 'WORSE' are more than {AT_ODDS} from the paper")
    for name in SETS:
        print(f"\n     {name:<36} {'ours':>14} {'paper':>7}")
        plug, again = (min(v[k] for v in TABLE_8[name].values()) for k in (0, 1))
        for what, options in PLUG_IN.items():
            start = time.process_time()
            losses = [plugged_in(name, i, options) for i in range(n)]
            seconds = (time.process_time() - start) / n
            paper = TABLE_8[name][THERE[what]][0] if what in THERE else plug
            line(f"plug-in, {what}", losses, paper, what not in THERE, seconds)
        for what, more in {"retrained": {}, "retrained, 30% set apart": {"cv": 0.3}}.items():
            start = time.process_time()
            losses = [retrained(name, i, **more) for i in range(n)]
            line(what, losses, again, True, (time.process_time() - start) / n)
    return 0


if __name__ == "__main__":
    run_with_one_thread(main)
