"""A million rows: goals with values of rows, and with deferral, against plain solves.

``python benchmarks/stakes_speed.py [--rows 1000000] [--repeats 3]``. Ratios of medians of runs
that take turns in one process, each goal beside a plain one over the same scores and under the
same bound. Targets: a value goal at most 2 plain solves, deferral at most 3. Run it alone.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from cma_data import quiet, run_with_one_thread, verdict

VALUE, DEFERRAL = 2.0, 3.0
"""Times a plain solve."""
CAP = " subject to predicted_rate <= 0.1"


class Case(NamedTuple):
    what: str
    plain: str
    goal: str
    target: float | None
    soft: bool = False
    """Over posteriors, two columns, instead of one score."""
    weighted: bool = False
    """Beside a plain solve with the same numbers as `sample_weight`."""
    by_score: bool = False
    """Values by the score alone; else the columns are looked at, too."""


CASES = (
    Case(
        "values, threshold",
        "minimize cost({(1, 0): 20, (0, 1): 5})" + CAP,
        "maximize profit(tp=amount - 5, fp=-5)" + CAP,
        VALUE,
        by_score=True,
    ),
    Case(
        "a weighted rate, threshold",
        "maximize recall subject to precision >= 0.6",
        "maximize recall.weighted(amount) subject to precision >= 0.6",
        VALUE,
        by_score=True,
    ),
    Case(
        "the same, beside a weighted solve",
        "maximize recall subject to precision >= 0.6",
        "maximize recall.weighted(amount) subject to precision >= 0.6",
        VALUE,
        weighted=True,
        by_score=True,
    ),
    Case(
        "values, threshold or value-aware, chosen",
        "minimize cost({(1, 0): 20, (0, 1): 5})" + CAP,
        "maximize profit(tp=amount - 5, fp=-5)" + CAP,
        None,
    ),
    Case(
        "values, value-aware",
        "minimize cost({(1, 0): 20, (0, 1): 5})" + CAP,
        "maximize profit(tp=amount - 5, fp=-5)" + CAP,
        VALUE,
        soft=True,
    ),
    Case(
        "deferral, two cut-offs",
        "maximize recall subject to precision >= 0.6",
        "minimize deferral_rate subject to accuracy.decided >= 0.95",
        DEFERRAL,
    ),
    Case(
        "deferral by group, two cut-offs a group",
        "maximize recall subject to precision >= 0.6 and recall.difference(group) <= 0.05",
        "minimize deferral_rate subject to accuracy.decided >= 0.95 "
        "and deferral_rate.difference(group) <= 0.05",
        DEFERRAL,
    ),
)


def rows(n: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Calibrated scores, labels, two groups, and amounts with a long tail."""
    rng = np.random.default_rng(0)
    group = (rng.random(n) < 0.4).astype(np.int64)
    p = 1 / (1 + np.exp(-rng.normal(-2.0 + 0.5 * group, 1.5, n)))
    columns = {"group": group, "amount": np.round(rng.lognormal(3.0, 1.0, n), 2)}
    return p, (rng.random(n) < p).astype(np.int64), columns


def in_turns(runs: list[Callable[[], Any]], repeats: int) -> list[float]:
    """Median seconds of each, after a run of each that warms up."""
    times: list[list[float]] = [[] for _ in runs]
    for k in range(repeats + 1):
        for run, taken in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            if k:
                taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def measured(case: Case, n: int, repeats: int) -> bool:
    from setpoint import solve

    p, y, columns = rows(n)
    scores = np.column_stack([1 - p, p]) if case.soft else p
    options: dict[str, Any] = {"evidence": "soft"} if case.soft else {}

    def run(goal: str) -> Callable[[], Any]:
        named = {c: v for c, v in columns.items() if c in goal}
        given = {"sensitive_features": named} if named else {}
        own: dict[str, Any] = {"decide_on": None} if case.by_score else {}
        if case.weighted and goal == case.plain:
            own["sample_weight"] = columns["amount"]
        return lambda: solve(goal, scores, y, **given, **options, **own)

    with quiet():
        plain, taken = in_turns([run(case.plain), run(case.goal)], repeats)
    good = case.target is None or taken / plain <= case.target
    target = "" if case.target is None else f"   target {case.target:g} x"
    print(
        f"{verdict(good)} {case.what:<42} {plain:7.2f} s {taken:7.2f} s "
        f"{taken / plain:6.2f} x{target}",
        flush=True,
    )
    return good


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(f"{options.rows} rows: {'plain':>43} {'with it':>9}")
    good = [measured(case, options.rows, options.repeats) for case in CASES]
    return 0 if all(good) else 1


if __name__ == "__main__":
    run_with_one_thread(main)
