"""What certifying costs in time: solves with a confidence over plain ones, in one run.

Ratios of medians; every figure is printed beside its target. Run it alone:
``python benchmarks/guarantees_speed.py [--rows N]``.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
from exact_speed import median_time, scored

from setpoint import solve

UNIT = "by unit"
GOALS = {
    "every cut-off": "maximize precision subject to recall >= 0.8",
    "path, exact": "maximize recall subject to precision >= 0.6",
    "path, drawn": "maximize recall subject to fbeta(2) >= 0.6",
    f"every cut-off, {UNIT}": "maximize precision subject to recall >= 0.8",
    f"path, {UNIT}": "maximize recall subject to precision >= 0.6",
}
"""Those by unit have ten rows each."""
MOST = 4.0
REPEATS = 7


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    n = parser.parse_args().rows
    scores, y, _ = scored(n)
    good, unit = True, np.random.default_rng(0).permutation(n) // 10
    for name, goal in GOALS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = median_time(lambda g=goal: solve(g, scores, y), REPEATS)
            given = {"units": unit} if UNIT in name else {}
            own = median_time(
                lambda g=goal, more=given: solve(g, scores, y, confidence=0.95, **more), REPEATS
            )
        fine = own <= MOST * plain
        good &= fine
        print(
            f"{'ok  ' if fine else 'MISS'} {name:<22} {goal:<44} {plain * 1e3:6.0f} ms, certified "
            f"{own * 1e3:6.0f} ms: {own / plain:5.2f} x   target <= {MOST:g}"
        )
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
