"""The threshold alone: known posteriors, the start, moving priors, labels that come late.

``python benchmarks/fofo_threshold.py [--seeds 3]``.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from cma_data import run_with_one_thread, verdict
from fofo_data import bags_of_words, f1, task
from fofo_peers import best_f
from scipy.optimize import brentq
from scipy.special import betainc

from setpoint.online import OnlineFClassifier
from setpoint.online.learners import DECIDE, LEARN, SCORE
from setpoint.online.solvers import run

A, B = 0.3, 3.0
"""Posteriors are Beta(A, B): one row in eleven is positive."""
KNOWN: dict[str, tuple[dict[str, Any], float | None]] = {
    "fofo": ({"solver": "fofo"}, 0.003),
    "fofo, n known": ({"solver": "fofo", "n": 1_000_000}, None),
    "ofo": ({"solver": "ofo"}, None),
    "ofo-rb": ({"solver": "ofo-rb"}, 0.001),
    "sketch": ({"solver": "sketch"}, None),
}
"""Options, and how far the threshold may end from the best one."""
FIRST = 100
PRIORS = (0.05, 0.3, 0.02, 0.15)
BLOCK = 20_000
WINDOW = 5_000
GAINED, LOST = 0.02, 0.005
"""What a window gains at least where priors move, and loses at most where they stay."""
WORDS = (
    {"words": 50, "known": 1000, "strength": 1.0},
    {"words": 20, "known": 1000, "strength": 2.0},
    {"words": 20, "known": 300, "strength": 1.0},
    {"words": 10, "known": 300, "strength": 2.0},
)
BEGIN, BEHIND = 5_000, 0.005
"""Rows of the start, and how far "sketch" may stay behind "fofo" on all rows."""
SHIFTED, SHIFT = 4, 1.0
"""Features that tell the classes apart, of ten, and by how much."""
DELAYS = (0, 10, 1_000, 10_000)


class Posterior:
    """A learner that knows: the only feature is the posterior."""

    classes_ = np.array([0, 1])

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.column_stack([1.0 - X[:, 0], X[:, 0]])


def best_threshold() -> float:
    """Where theta E[eta] is E[(eta - theta)_+]."""

    def above(theta: float) -> float:
        mean = A / (A + B)
        excess = mean * (1.0 - betainc(A + 1.0, B, theta))
        return float(theta * mean - excess + theta * (1.0 - betainc(A, B, theta)))

    return float(brentq(above, 1e-9, 0.5, xtol=1e-14))


def threshold(eta: np.ndarray, y: np.ndarray, options: dict[str, Any]) -> float:
    """Where the threshold ends that goes by these posteriors.

    A few rows go through the front door; the rest go straight to the kernel, since a call
    of a learner written in Python for each would take minutes.
    """
    clf = OnlineFClassifier(learner=Posterior(), classes=[0, 1], **options)
    clf.partial_fit(eta[:FIRST, None], y[:FIRST])
    p = np.clip(eta[FIRST:], 1e-16, 1.0 - 1e-16)
    out = np.column_stack([np.log(p / (1.0 - p)), p])
    state, mode = clf.engine_.state, SCORE | DECIDE | LEARN
    run(state, None, y[FIRST:], None, out, np.zeros(len(p), np.int8), mode)
    return float(clf.threshold_)


def known_posterior(seeds: int, n: int = 1_000_000) -> bool:
    best = best_threshold()
    print(
        f"\nposteriors Beta({A}, {B}) known, {n:,} rows, {seeds} seeds: best threshold {best:.5f}"
    )
    good = True
    for name, (options, target) in KNOWN.items():
        apart = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            eta = rng.beta(A, B, n)
            y = (rng.random(n) < eta).astype(np.int8)
            apart.append(abs(threshold(eta, y, options) - best))
        fine = None if target is None else bool(np.mean(apart) <= target)
        good &= fine is not False
        asked = "" if target is None else f"   target <= {target}"
        print(f"{verdict(fine)} {name:<15} off by {np.mean(apart):.5f}{asked}")
    return good


# ---------------------------------------------------------------------- the start
def the_start(seeds: int) -> bool:
    """Sparse rows, 3 % positive: the default beside its own "fofo"."""
    print(f"\nbags of words, 3 % positive, 20,000 rows, {seeds} seeds: F of all, of the first")
    print(f"     {BEGIN:,}, and of the rest{'':<22} {'sketch':>20} {'fofo':>20}")
    good = True
    for kind in WORDS:
        f = np.zeros((2, 3))
        for seed in range(seeds):
            X, y = bags_of_words(seed, **kind)
            for row, solver in zip(f, ("sketch", "fofo"), strict=True):
                clf = OnlineFClassifier(solver=solver, classes=[0, 1])
                run_of = clf.predict_learn(X, y)
                cuts = (slice(None), slice(BEGIN), slice(BEGIN, None))
                row += [f1(y[cut], run_of[cut]) / seeds for cut in cuts]
        fine = bool(f[0, 0] >= f[1, 0] - BEHIND)
        good &= fine
        name = "{words} words of {known}, strength {strength:g}".format(**kind)
        ours, theirs = (" ".join(f"{x:.4f}" for x in row) for row in f)
        print(f"{verdict(fine)} {name:<44} {ours} {theirs}   target >= fofo - {BEHIND}")
    return good


# ---------------------------------------------------------------------- a moving prior
def moving(priors: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of classes that look the same all the time, of a prior for each row."""
    rng = np.random.default_rng(seed)
    y = (rng.random(len(priors)) < priors).astype(np.int8)
    X = rng.normal(size=(len(priors), 10))
    X[:, :SHIFTED] += SHIFT * y[:, None]
    return X, y


def block_f(priors: np.ndarray, seed: int) -> list[float]:
    """Mean over blocks of F within a block: over all rows, with a window, and at best.

    At best: the posterior is known, and so is the best threshold of each block.
    """
    X, y = moving(priors, seed)
    likelihoods = SHIFT * (X[:, :SHIFTED] - 0.5 * SHIFT).sum(axis=1)
    eta = 1.0 / (1.0 + (1.0 / priors - 1.0) * np.exp(-likelihoods))
    runs = [
        OnlineFClassifier(classes=[0, 1], window=window).predict_learn(X, y)
        for window in (None, WINDOW)
    ]
    blocks = [slice(i, i + BLOCK) for i in range(0, len(y), BLOCK)]
    ours = [np.mean([f1(y[block], run[block]) for block in blocks]) for run in runs]
    return [*ours, np.mean([best_f(eta[block])[0] for block in blocks])]


def moving_prior(seeds: int) -> bool:
    print(f"\nF within blocks of {BLOCK:,} rows, {seeds} seeds")
    print(f"     {'':<28} {'all rows':>9} {f'{WINDOW:,} rows':>11} {'at best':>9}")
    good = True
    streams = (
        (f"priors {', '.join(map(str, PRIORS))}", np.repeat(PRIORS * 2, BLOCK), GAINED),
        ("prior 0.1", np.full(8 * BLOCK, 0.1), -LOST),
    )
    for name, priors, target in streams:
        whole, windowed, best = np.mean([block_f(priors, seed) for seed in range(seeds)], axis=0)
        fine = bool(windowed - whole >= target)
        good &= fine
        print(
            f"{verdict(fine)} {name:<28} {whole:9.4f} {windowed:11.4f} {best:9.4f}   "
            f"gained {windowed - whole:+.4f}   target >= {target:+}"
        )
    return good


# ---------------------------------------------------------------------- late labels
def late(X: np.ndarray, y: np.ndarray, delay: int) -> np.ndarray:
    """Decisions where the label of a row comes after those of the next `delay` rows.

    Rows go in groups of a tenth of the delay, so that it is met within a tenth.
    """
    clf = OnlineFClassifier(classes=[0, 1], buffer_size=2 * max(DELAYS))
    decided, known, group = np.empty_like(y), 0, max(1, delay // 10)
    for start in range(0, len(y), group):
        stop = min(start + group, len(y))
        decided[start:stop] = clf.predict(X[start:stop], ids=np.arange(start, stop))
        due = max(known, stop - delay)
        if due > known:
            clf.learn(np.arange(known, due), y[known:due])
            known = due
    return decided


def late_labels(n: int = 40_000) -> bool:
    X, y = task("covtype 7")
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    X, y = X[rows], y[rows].astype(np.int8)
    at_once = OnlineFClassifier(classes=[0, 1]).predict_learn(X, y)

    print(f"\ncovtype 7 against the rest, {n:,} rows, labels late: F")
    print(f"     {'':<11} {'all rows':>9} {'after the first label':>22} {'second half':>12}")
    print(f"     {'at once':<11} {_parts(y, at_once, 0)}")
    good = True
    for delay in DELAYS:
        decided = late(X, y, delay)
        same = bool(np.array_equal(decided, at_once)) if delay == 0 else None
        good &= same is not False
        asked = "   target: the same decisions" if delay == 0 else ""
        print(f"{verdict(same)} {f'{delay:,} rows':<11} {_parts(y, decided, delay)}{asked}")
    return good


def _parts(y: np.ndarray, decided: np.ndarray, delay: int) -> str:
    whole, known, half = (f1(y[start:], decided[start:]) for start in (0, delay, len(y) // 2))
    return f"{whole:9.4f} {known:22.4f} {half:12.4f}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    good = known_posterior(seeds)
    good &= the_start(seeds)
    good &= moving_prior(seeds)
    good &= late_labels()
    return int(not good)


if __name__ == "__main__":
    run_with_one_thread(main)
