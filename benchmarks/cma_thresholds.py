"""Thresholds of four groups without draws: proved best, and near a mixture.

    python cma_thresholds.py

The rows and model are those of the tables with groups, with out-of-fold scores; groups are sex
and the two largest races. "near the mixture" is what `solve` returned before branch and bound.
Prints the objective by each way, the bound over mixtures, and seconds.
"""

from __future__ import annotations

import time

import numpy as np
from cma_data import one_hot, quiet, require
from cma_groups import LEFT_OUT
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setpoint import Evidence, Goal
from setpoint.program import link
from setpoint.search import Limits, solve_exact

GOALS = (
    "maximize balanced_accuracy subject to predicted_rate.difference(race, sex) <= 0.05 "
    "and specificity.difference(race, sex) <= 0.1",
    "maximize f1 subject to predicted_rate.difference(race, sex) <= 0.05 and precision >= 0.6",
    "maximize recall subject to recall.difference(race, sex) <= 0.02 and precision >= 0.65",
)


def rows(name: str) -> tuple[np.ndarray, ...]:
    """Scores, classes, race and sex."""
    X, y, groups, _ = require(name).load(name)
    race, sex = (np.asarray(groups[g]).astype(str) for g in ("race", "sex"))
    values, counts = np.unique(race, return_counts=True)
    kept = np.flatnonzero(np.isin(race, values[np.argsort(-counts)[:2]]))[:20_000]
    features = np.nan_to_num(one_hot(X.drop(columns=LEFT_OUT.get(name, [])))[kept])
    true = np.unique(np.asarray(y)[kept], return_inverse=True)[1]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    with quiet():
        P = cross_val_predict(model, features, true, cv=5, method="predict_proba")
    return P[:, 1], true, race[kept], sex[kept]


def main() -> None:
    """Print a line for each table and goal."""
    print(f"{'table':<8}{'near':>9}{'proved':>9}{'mixture':>9}{'gap':>9}{'s':>7}{'s':>7}  goal")
    for name in ("compas", "adult"):
        scores, true, race, sex = rows(name)
        for text in GOALS:
            goal = Goal.parse(text)
            evidence = Evidence.from_arrays(
                (0, 1), scores, true, needs=goal.needs, columns={"race": race, "sex": sex},
                decide_on=("race", "sex"),
            )  # fmt: skip
            program = link(goal, evidence.codebook).at(evidence.marginals)
            found, seconds = [], []
            for limits in (None, Limits()):
                start = time.perf_counter()
                found.append(solve_exact(program, evidence, limits=limits))
                seconds.append(time.perf_counter() - start)
            near, best = (float(program.value(f.v)) for f in found)
            mixture = found[1].with_draws or best
            print(
                f"{name:<8}{near:9.5f}{best:9.5f}{mixture:9.5f}{found[1].gap:9.5f}"
                f"{seconds[0]:7.2f}{seconds[1]:7.2f}  {text[9:60]}"
            )


if __name__ == "__main__":
    main()
