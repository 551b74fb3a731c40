"""Many classes on a table elsewhere: passes, certified gap and seconds, beside the targets.

    PYTHONPATH=src python benchmarks/scale_many_classes.py [ROWS] [GOAL ...]

Ten classes with calibrated posteriors in four regions, as Parquet files in a temporary folder,
read by DuckDB. Each goal is solved in a process of its own; its peak is that of all its memory.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from setpoint import solve

ROWS, PART, CLASSES = 2_000_000, 100_000, 10
GOALS = (
    "maximize g_mean",
    "maximize min_recall",
    "maximize accuracy subject to recall(label=9) >= 0.6",
    "maximize accuracy subject to predicted_rate(label=9).difference(region) <= 0.01",
)
COUNTING, PRICING, GAP = 2, 3, 7e-5
"""Counting passes (of the samples' rules, of the rule by its labels), questions, and the gap."""


def write(folder: Path, n_rows: int) -> None:
    """Posteriors, labels drawn from them and regions, file by file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    for start in range(0, n_rows, PART):
        n = min(PART, n_rows - start)
        region = rng.integers(0, 4, n)
        totals = 1.5 * rng.normal(size=(n, CLASSES)) - 0.15 * np.arange(CLASSES)
        totals[:, -1] += 0.3 * region
        P = np.exp(totals)
        P /= P.sum(axis=1, keepdims=True)
        y = (rng.random(n)[:, None] > P.cumsum(axis=1)).sum(axis=1).clip(max=CLASSES - 1)
        table = {f"p{k}": P[:, k] for k in range(CLASSES)} | {"y": y, "region": region}
        pq.write_table(pa.table(table), folder / f"part-{start // PART:04d}.parquet")


def rows_of(folder: Path) -> object:
    import duckdb

    return duckdb.connect().read_parquet(str(folder / "*.parquet"))


def one(goal: str, folder: Path) -> None:
    """Solve once and print the figures."""
    warnings.simplefilter("ignore")
    scores = [f"p{k}" for k in range(CLASSES)]
    options = {"sensitive_features": ["region"], "randomized": "auto"}
    passes: list[float] = []
    start, began = time.perf_counter(), time.process_time()
    report = solve(
        goal,
        rows_of(folder),
        "y",
        scores,
        watch=lambda one: passes.append(one.gap),
        **options,
    ).report
    seconds, cpu = time.perf_counter() - start, time.process_time() - began
    gap = float(report.certificate.gap)
    asked = len(passes) - COUNTING
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    met = gap <= GAP and asked <= PRICING
    print(
        f"{'ok  ' if met else 'MISS'} {goal}: {COUNTING} counting passes and {asked} of pricing "
        f"(target {COUNTING} and {PRICING} at most), gap {gap:.1e} (target {GAP:.0e}), "
        f"{seconds:.1f} s, {cpu:.1f} s of processor, {peak:.0f} MB"
    )
    print("     gaps after passes: " + ", ".join(f"{g:.1e}" for g in passes))


def main() -> None:
    n_rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start = time.perf_counter()
        write(folder, n_rows)
        size = sum(f.stat().st_size for f in folder.iterdir()) / 2**20
        seconds = time.perf_counter() - start
        print(f"{n_rows:,} rows, {CLASSES} classes: {size:.0f} MB written in {seconds:.0f} s")
        sys.stdout.flush()
        for goal in sys.argv[2:] or GOALS:
            subprocess.run([sys.executable, __file__, "--solve", name, goal], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--solve"]:
        one(sys.argv[3], Path(sys.argv[2]))
    else:
        main()
