"""Rows a second, one thread, beside the time to read the rows and beside river.

``python benchmarks/fofo_speed.py [--rows 1000000]``. Times are medians, taken in turn
within one run. Run it alone: the largest array has 432 MB.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from cma_data import run_with_one_thread, verdict
from fofo_data import task
from numba import njit
from scipy import sparse

from setpoint.online import OnlineFClassifier

DENSE, READS = 5e6, 4.0
SPARSE = {"sgd": 8e6, "nag": 3e6}
BATCH = 10_000
ONE_BY_ONE = 3_000


@njit(cache=True, nogil=True, fastmath=True)
def read(values):
    """The sum of an array: what it costs to look at it once."""
    total = 0.0
    for v in values:
        total += v
    return total


def medians(calls: list[Callable[[], Any]], repeats: int = 5) -> list[float]:
    """Median seconds of each call, taken in turn after one round that warms up."""
    times = []
    for _ in range(repeats + 1):
        now = []
        for call in calls:
            start = time.perf_counter()
            call()
            now.append(time.perf_counter() - start)
        times.append(now)
    return np.median(times[1:], axis=0).tolist()


def line(good: bool | None, what: str, value: str, target: str = "") -> bool:
    print(f"{verdict(good)} {what:<58} {value:>16}{f'   target {target}' if target else ''}")
    return good is not False


def learner(method: str, X: Any, y: np.ndarray, **options: Any) -> Callable[[], Any]:
    """A pass of a new classifier over all rows, in batches that were cut beforehand."""
    cuts = [slice(i, i + BATCH) for i in range(0, len(y), BATCH)]
    batches = [(X[cut], y[cut]) for cut in cuts]

    def call() -> None:
        step = getattr(OnlineFClassifier(classes=[0, 1], **options), method)
        for rows, labels in batches:
            step(rows, labels)

    return call


def repeated(name: str, n: int) -> tuple[Any, np.ndarray]:
    """Rows of a task, in random order, over and over."""
    X, y = task(name)
    rows = np.random.default_rng(0).permutation(len(y))
    rows = np.resize(rows, n)
    return X[rows], y[rows].astype(np.int8)


def river_rows(X: Any, y: np.ndarray) -> list[tuple[dict[int, float], bool]]:
    """As dictionaries, of the values that are not zero where the matrix is sparse."""
    if sparse.issparse(X):
        dicts = [dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in X]
    else:
        dicts = [dict(enumerate(row)) for row in X.tolist()]
    return list(zip(dicts, y.astype(bool).tolist(), strict=True))


def river_pass(rows: list[tuple[dict[int, float], bool]]) -> Callable[[], Any]:
    from river.linear_model import LogisticRegression

    def call() -> Any:
        model = LogisticRegression()
        for x, label in rows:
            model.predict_proba_one(x)
            model.learn_one(x, label)
        return model

    return call


def dense(n: int) -> bool:
    X, y = repeated("covtype 3", n)
    flat = X.reshape(-1)
    few = X[:ONE_BY_ONE], y[:ONE_BY_ONE]
    reading, both, fit = medians(
        [lambda: read(flat), learner("predict_learn", X, y), learner("partial_fit", X, y)]
    )
    print(f"dense, {n:,} rows of {X.shape[1]} float64 in batches of {BATCH:,}")
    print(f"     to read them all takes {reading * 1e3:.0f} ms")
    good = True
    for what, seconds in (("predict_learn", both), ("partial_fit", fit)):
        rate, reads = n / seconds, seconds / reading
        good &= line(rate >= DENSE, f"{what}, defaults", f"{rate / 1e6:.2f} M rows/s", ">= 5")
        good &= line(reads <= READS, f"{what}, over reading", f"{reads:.2f} x", "<= 4")

    def one_by_one() -> None:
        clf = OnlineFClassifier(classes=[0, 1])
        for i in range(ONE_BY_ONE):
            clf.predict_learn(X[i : i + 1], y[i : i + 1])

    peer, single = medians([river_pass(river_rows(*few)), one_by_one])
    line(None, "river, LogisticRegression", f"{ONE_BY_ONE / peer / 1e6:.3f} M rows/s")
    line(None, "predict_learn over river", f"{(n / both) / (ONE_BY_ONE / peer):.0f} x")
    measured = f"{single / ONE_BY_ONE * 1e6:.1f} us"
    good &= line(
        single < peer, "one row a call", measured, f"< river's {peer / ONE_BY_ONE * 1e6:.1f}"
    )
    return good


def sparse_rows(n: int) -> bool:
    X, y = repeated("a9a", n)
    print(f"a9a, {n:,} sparse rows of {X.nnz / n:.0f} ones in batches of {BATCH:,}")
    names = list(SPARSE)
    times = medians([learner("predict_learn", X, y, learner=name) for name in names], 3)
    good = True
    for name, seconds in zip(names, times, strict=True):
        rate, target = n / seconds, SPARSE[name]
        measured = f"{rate / 1e6:.2f} M rows/s"
        good &= line(rate >= target, f"predict_learn, {name}", measured, f">= {target / 1e6:.0f}")
    few = river_rows(X[:ONE_BY_ONE], y[:ONE_BY_ONE])
    (peer,) = medians([river_pass(few)], 3)
    line(None, "river, LogisticRegression", f"{ONE_BY_ONE / peer / 1e6:.3f} M rows/s")
    return good


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    n = parser.parse_args().rows
    good = dense(n)
    good &= sparse_rows(n)
    return int(not good)


if __name__ == "__main__":
    run_with_one_thread(main)
