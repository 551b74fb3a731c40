"""What becomes of bounds on new rows where a model was trained for them, plain and certified.

``python benchmarks/guarantees_trained.py [--splits 10] [--families penalty,ramp,surrogates]``.
Stratified halves of real tables: one to fit on, one to test on, seeds 0, 1, ... For precision
and recall at .8 (maximize the other): the share of splits in which the bound is broken on the
test half, and the objective there, as fitted plainly and with ``confidence=0.95``. With it a
split is certified, or refused, which breaks nothing; the objective is the mean of the splits
that are certified, beside that of the plain fit in the same splits. A split counts as broken
where the test half's own value misses the bound: half of the rules that lie just on it do.
The share of all splits that are certified and broken is promised to be .05 at most.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from cma_data import run_with_one_thread
from ero_data import PROBLEMS, task
from sklearn.model_selection import train_test_split

from setpoint import (
    AdaptiveSurrogateClassifier,
    ExactPenaltyClassifier,
    InfeasibleError,
    NotCertifiable,
    RampClassifier,
    SearchLimits,
)

SETS = ("page_blocks", "satimage", "default_credit", "wilt")
GOALS = ("FPOR", "FROP")
FEW = SearchLimits(evaluations=400)
FAMILIES: dict[str, Any] = {
    "penalty": ExactPenaltyClassifier,
    "ramp": RampClassifier,
    "surrogates": lambda goal, **how: AdaptiveSurrogateClassifier(goal, limits=FEW, **how),
}
LEVEL = 0.95


def halves(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X and y to fit on, X and y to test on; medians of the former for what is missing."""
    X, y = task(name)
    a, b, y_a, y_b = train_test_split(X, y, train_size=0.5, stratify=y, random_state=seed)
    median = np.nanmedian(a, axis=0)
    return np.where(np.isnan(a), median, a), y_a, np.where(np.isnan(b), median, b), y_b


def reached(
    family: str, goal: str, name: str, seed: int, confidence: float | None
) -> tuple[str, float, float]:
    """What came of a fit: "kept", "broken" or "refused"; objective and bound on the test half."""
    X, y, X_new, y_new = halves(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            clf = FAMILIES[family](goal, confidence=confidence).fit(X, y)
        except NotCertifiable:
            return "refused", np.nan, np.nan
        except InfeasibleError:
            return "infeasible", np.nan, np.nan
        report = clf.evaluate(X_new, y_new)
    (bound,) = report.constraints
    kept = "kept" if bound.satisfied else "broken"
    return kept, report.objective.value, bound.value


def share(found: list[str], what: str) -> float:
    return float(np.mean([x == what for x in found]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--sets", default=",".join(SETS))
    args = parser.parse_args()
    print(f"{'':<34}plain               confidence={LEVEL}")
    print(
        f"{'family':<11}{'task':<16}{'goal':<7}{'broken':<8}{'objective':<12}"
        f"{'refused':<9}{'broken':<8}{'objective':<11}{'plain there':<13}{'seconds'}"
    )
    every: dict[str, list[str]] = {"plain": [], "certified": []}
    for family in args.families.split(","):
        for name in args.sets.split(","):
            for problem in GOALS:
                started, goal = time.perf_counter(), PROBLEMS[problem]
                seeds = range(args.splits)
                plain = [reached(family, goal, name, seed, None) for seed in seeds]
                sure = [reached(family, goal, name, seed, LEVEL) for seed in seeds]
                states, certified = [p[0] for p in plain], [s[0] for s in sure]
                both = [
                    (s[1], p[1])
                    for s, p in zip(sure, plain, strict=True)
                    if not np.isnan(s[1] + p[1])
                ]
                own, there = np.mean(both, axis=0) if both else (np.nan, np.nan)
                every["plain"] += states
                every["certified"] += certified
                refused = share(certified, "refused") + share(certified, "infeasible")
                some = [p[1] for p in plain if not np.isnan(p[1])]
                print(
                    f"{family:<11}{name:<16}{problem:<7}{share(states, 'broken'):<8.2f}"
                    f"{np.mean(some) if some else np.nan:<12.3f}{refused:<9.2f}"
                    f"{share(certified, 'broken'):<8.2f}{own:<11.3f}{there:<13.3f}"
                    f"{time.perf_counter() - started:.0f}",
                    flush=True,
                )
    print(
        f"all: broken {share(every['plain'], 'broken'):.3f} plain, "
        f"{share(every['certified'], 'broken'):.3f} certified, "
        f"refused {share(every['certified'], 'refused'):.3f}"
    )


if __name__ == "__main__":
    run_with_one_thread(main)
