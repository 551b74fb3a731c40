"""What a goal over 300 classes costs: processor seconds and peak memory, beside the targets.

    PYTHONPATH=src python benchmarks/many_classes.py [CLASSES]

Soft evidence, 2,000 rows; each goal in a process of its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings

import numpy as np

from setpoint import solve

ROWS = 2000
TARGETS = {"balanced_accuracy": (1.0, 300.0), "min_recall": (10.0, None)}
"""Seconds and megabytes for 300 classes."""


def rows(n, n_rows=ROWS):
    """Posteriors of a softmax model over n classes."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(n), rng.integers(n, size=n_rows - n)])
    totals = rng.normal(size=(n_rows, n))
    totals[np.arange(n_rows), y] += 2
    P = np.exp(totals)
    return P / P.sum(axis=1, keepdims=True), y


def peak():
    """Megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def one(goal, n):
    """Solve once and print the figures."""
    warnings.simplefilter("ignore")
    solve(goal, *rows(3, 100), evidence="soft")  # compiles
    P, y = rows(n)
    before, start = peak(), time.process_time()
    report = solve(goal, P, y, evidence="soft").report
    seconds, held = time.process_time() - start, peak() - before
    most, memory = TARGETS[goal]
    met = seconds <= most and (memory is None or held <= memory)
    limit = "" if memory is None else f" and {memory:g} MB"
    print(
        f"{goal}, {n} classes: {seconds:.2f} s, {held:.0f} MB, gap {report.certificate.gap:.2g}; "
        f"target {most:g} s{limit}: {'met' if met else 'NOT MET'}"
    )


if __name__ == "__main__":
    if len(sys.argv) > 2:
        one(sys.argv[1], int(sys.argv[2]))
    else:
        for goal in TARGETS:
            subprocess.run([sys.executable, __file__, goal, *(sys.argv[1:] or ["300"])], check=True)
