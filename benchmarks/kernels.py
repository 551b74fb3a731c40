"""Speed of the counting kernels, as multiples of a NumPy call on the same array.

Run ``python benchmarks/kernels.py``. Every figure is the time of a kernel over the time
of its yardstick, one thread, both warm and measured in turn, medians of the repeats: so
the figures mean the same on any machine. The exit status is 1 if one misses its target.

The machine should be idle, and the arrays should fit its memory: the largest has 176 MB.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from setpoint.counts import Evidence, Ratios, best_of, count_threshold, cutoffs, hull, zeros_of
from setpoint.counts.argmax import argmax_features
from setpoint.goals import Requirements

N_ROWS = 1_000_000
Figure = tuple[str, float, float, float | None]


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare(
    name: str,
    kernel: Callable[[], object],
    yardstick: Callable[[], object],
    target: float | None,
    repeats: int,
) -> Figure:
    """Name, median milliseconds of the kernel, their ratio to the yardstick's, and the target."""
    kernel(), yardstick()
    times = np.array([(seconds(kernel), seconds(yardstick)) for _ in range(repeats)])
    own, base = np.median(times, axis=0)
    return name, float(1e3 * own), float(own / base), target


def thresholds(rng: np.random.Generator) -> list[Figure]:
    """The exact threshold at a million distinct scores, against one argsort."""
    scores = rng.random(N_ROWS)
    label = (rng.random(N_ROWS) < scores).astype(np.uint8)
    group = 2 * rng.integers(0, 4, N_ROWS).astype(np.uint8) + label
    weight = rng.random(N_ROWS)
    _, counts = cutoffs(scores, label, None, 2)
    negatives, positives = counts[:, -1]
    forms = np.array([[[0.0, 2.0, 0.0], [1.0, 1.0, positives]]])
    f1 = Ratios(forms, zeros_of(forms, counts[:, -1]), np.zeros(1), np.empty(0), np.empty(0))
    forms = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, positives]], [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]])
    zeros = zeros_of(forms, counts[:, -1])
    recall = Ratios(forms, zeros, np.zeros(2), np.array([0.9]), np.array([np.inf]))
    youden = np.array([-1.0 / negatives, 1.0 / positives, 0.0])

    def everything() -> None:
        _, counts = cutoffs(scores, label, None, 2)
        best_of(counts, f1, tiebreak=youden)
        best_of(counts, recall, tiebreak=youden)
        hull(counts[0], counts[1])

    parts: list[tuple[str, Callable[[], object], float | None]] = [
        ("cut-offs, two sweeps and the hull together", everything, 1.0),
        ("  cut-offs, two kinds", lambda: cutoffs(scores, label, None, 2), None),
        ("  sweep: F1", lambda: best_of(counts, f1, tiebreak=youden), None),
        (
            "  sweep: recall at a precision of .9",
            lambda: best_of(counts, recall, tiebreak=youden),
            None,
        ),
        ("  hull", lambda: hull(counts[0], counts[1]), None),
        ("cut-offs, eight kinds", lambda: cutoffs(scores, group, None, 8), None),
        ("cut-offs, weighted", lambda: cutoffs(scores, label, weight, 2), None),
    ]
    return [compare(name, f, lambda: np.argsort(scores), to, 15) for name, f, to in parts]


def counts_at_a_threshold(rng: np.random.Generator) -> list[Figure]:
    """Counts of one threshold, against a dot product of the scores."""
    scores = rng.random(N_ROWS)
    label = (rng.random(N_ROWS) < scores).astype(np.uint8)
    group = 2 * rng.integers(0, 4, N_ROWS).astype(np.uint8) + label
    weight = rng.random(N_ROWS)
    calls: list[tuple[str, Callable[[], object], float | None]] = [
        ("threshold, two kinds", lambda: count_threshold(scores, 0.3, label, 2), 4.0),
        ("threshold, eight kinds", lambda: count_threshold(scores, 0.3, group, 8), 4.0),
        ("threshold, weighted", lambda: count_threshold(scores, 0.3, label, 2, weight), None),
    ]
    return [compare(name, f, lambda: np.dot(scores, scores), to, 201) for name, f, to in calls]


def oracle(rng: np.random.Generator, n: int, n_rows: int) -> list[Figure]:
    """One call of the oracle, against a dot product over the same scores."""
    scores = rng.standard_exponential((n, n_rows))
    scores /= scores.sum(axis=0)
    flat = scores.ravel()
    true = rng.integers(0, n, n_rows)
    group = rng.integers(0, 3, n_rows)
    thirds = np.linspace(0, n_rows, 4).astype(int)
    weight = rng.random(n_rows)
    W, B = rng.random((1, n)) + 0.5, 0.1 * rng.random((1, n))
    calls: list[tuple[str, Callable[[], object], float | None]] = [
        ("soft", lambda: argmax_features(scores, W, B, soft=True), 4.0),
        ("label", lambda: argmax_features(scores, W, B, true=true), 4.0),
        ("weighted", lambda: argmax_features(scores, W, B, true=true, weight=weight), None),
        (
            "three strata",
            lambda: argmax_features(scores, W, B, stratum=group, true=true, n_strata=3),
            None,
        ),
        (
            "three segments",
            lambda: argmax_features(
                scores, np.repeat(W, 3, axis=0), np.repeat(B, 3, axis=0), thirds, true=true
            ),
            None,
        ),
    ]
    return [
        compare(f"oracle, n = {n}, {name}", f, lambda: np.dot(flat, flat), to, 41)
        for name, f, to in calls
    ]


def tensor(rng: np.random.Generator, n: int, n_rows: int) -> list[Figure]:
    """A general loss tensor, against a matrix product in blocks with its argmax."""
    scores = rng.standard_exponential((n_rows, n))
    scores /= scores.sum(axis=1, keepdims=True)
    group = rng.integers(0, 3, n_rows)
    classes = tuple(range(n))
    rows = Evidence.from_arrays(classes, scores, None).with_posteriors()
    needs = Requirements({None: {"g": None}})
    grouped = Evidence.from_arrays(
        classes, scores, None, needs=needs, columns={"g": group}, decide_on=["g"]
    ).with_posteriors()
    G = rng.random((3, n, n))

    def product() -> None:
        decided = np.empty(n_rows, np.int64)
        for start in range(0, n_rows, 1024):
            stop = start + 1024
            decided[start:stop] = (scores[start:stop] @ G[0]).argmax(axis=1)

    decided = rows.decide_tensor(G[:1])
    calls: list[tuple[str, Callable[[], object], float | None]] = [
        ("decided and counted", lambda: rows.block_counts(rows.decide_tensor(G[:1])), 1.0),
        ("  decided", lambda: rows.decide_tensor(G[:1]), None),
        ("  counted, soft", lambda: rows.block_counts(decided), None),
        ("three segments", lambda: grouped.block_counts(grouped.decide_tensor(G)), None),
    ]
    return [compare(f"tensor, n = {n}, {name}", f, product, to, 9) for name, f, to in calls]


def main() -> int:
    rng = np.random.default_rng(0)
    missed = False
    groups: list[tuple[str, Callable[[], list[Figure]]]] = [
        ("over np.argsort(scores)", lambda: thresholds(rng)),
        ("over np.dot(scores, scores)", lambda: counts_at_a_threshold(rng)),
        ("over np.dot(scores, scores)", lambda: oracle(rng, 2, N_ROWS)),
        ("", lambda: oracle(rng, 5, N_ROWS)),
        ("", lambda: oracle(rng, 10, N_ROWS)),
        ("", lambda: oracle(rng, 55, 4 * N_ROWS // 10)),
        ("over a matrix product in blocks, and its argmax", lambda: tensor(rng, 5, N_ROWS)),
        ("", lambda: tensor(rng, 55, 4 * N_ROWS // 10)),
    ]
    for title, measure in groups:
        if title:
            print(f"\n{title:46} {'ms':>8} {'ratio':>7} {'target':>7}")
        for name, milliseconds, ratio, target in measure():
            goal = "" if target is None else f"{target:7.1f}"
            late = target is not None and ratio > target
            missed |= late
            print(f"{name:46} {milliseconds:8.2f} {ratio:7.2f} {goal}{' missed' * late}")
    return int(missed)


if __name__ == "__main__":
    with threadpool_limits(1):
        sys.exit(main())
