"""What a sum of ratios costs over posteriors: macro_precision beside macro_f1.

    PYTHONPATH=src python benchmarks/sums_of_ratios.py [ROWS ...]

Processor seconds, the best of three, and their ratio; the target is a ratio of at most 2.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

from setpoint import solve

TARGET = 2.0
CLASSES = 4


def rows(n_rows, seed=0):
    """Posteriors of a softmax model, and labels that are likelier than it says."""
    rng = np.random.default_rng(seed)
    y = rng.integers(CLASSES, size=n_rows)
    totals = rng.normal(size=(n_rows, CLASSES))
    totals[np.arange(n_rows), y] += 1.2
    P = np.exp(totals)
    return P / P.sum(axis=1, keepdims=True), y


def seconds(goal, P, y, evidence):
    """The best of three."""
    found = []
    for _ in range(3):
        start = time.process_time()
        report = solve(goal, P, y, evidence=evidence).report
        found.append(time.process_time() - start)
    return min(found), report.objective.value


def main():
    """Print one line for each number of rows and kind of evidence."""
    warnings.simplefilter("ignore")
    for n_rows in [int(x) for x in sys.argv[1:]] or [300, 1000]:
        P, y = rows(n_rows)
        for evidence in ("soft", "label", "auto"):
            seconds("macro_f1", P[:60], y[:60], evidence)  # compiles
            f1, _ = seconds("macro_f1", P, y, evidence)
            precision, value = seconds("macro_precision", P, y, evidence)
            ratio = precision / f1
            print(
                f"{n_rows} rows, {evidence}: macro_f1 {f1:.3f} s, macro_precision {precision:.3f} "
                f"s (objective {value:.4f}); ratio {ratio:.2f}, target {TARGET:g}: "
                f"{'met' if ratio <= TARGET else 'NOT MET'}"
            )


if __name__ == "__main__":
    main()
