"""What a goal over many classes costs: processor seconds and peak memory, beside the targets.

    PYTHONPATH=src python benchmarks/many_classes.py [CASE ...]

Each case in a process of its own: two by soft evidence, two by evidence that is chosen.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings
from typing import NamedTuple

import numpy as np

from setpoint import solve


class Case(NamedTuple):
    """A goal, its data, and seconds and megabytes at most."""

    goal: str
    classes: int
    rows: int
    evidence: str
    seconds: float
    memory: float | None


CASES = {
    "balanced": Case("balanced_accuracy", 300, 2000, "soft", 1.0, 300.0),
    "smallest": Case("min_recall", 300, 2000, "soft", 10.0, None),
    "f1-100": Case("macro_f1", 100, 20_000, "auto", 4.0, 500.0),
    "f1-300": Case("macro_f1", 300, 2000, "auto", 8.0, None),
}


def rows(n, n_rows):
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


def one(case):
    """Solve once and print the figures."""
    warnings.simplefilter("ignore")
    solve(case.goal, *rows(3, 100), evidence=case.evidence)  # compiles
    P, y = rows(case.classes, case.rows)
    before, start = peak(), time.process_time()
    report = solve(case.goal, P, y, evidence=case.evidence).report
    seconds, held = time.process_time() - start, peak() - before
    met = seconds <= case.seconds and (case.memory is None or held <= case.memory)
    limit = "" if case.memory is None else f" and {case.memory:g} MB"
    print(
        f"{case.goal}, {case.classes} classes, {case.rows} rows, {case.evidence} evidence: "
        f"{seconds:.2f} s, {held:.0f} MB, gap {report.certificate.gap}; "
        f"target {case.seconds:g} s{limit}: {'met' if met else 'NOT MET'}"
    )


if __name__ == "__main__":
    if len(sys.argv) == 2:
        one(CASES[sys.argv[1]])
    else:
        for name in sys.argv[1:] or CASES:
            subprocess.run([sys.executable, __file__, name], check=True)
