"""Precision where it equals recall (Table 4), on Default and Adult.

``python benchmarks/bbs_ranking.py``. 60, 20 and 20 in a hundred of the rows train, are for
the metric, and test; 3 splits. PRBEP is the precision among as many rows as there are
positives; ours gets it as a function of scores. The peer is that of Kar, Narasimhan and Jain,
"Surrogate functions for maximizing precision at the top" (2015): their average surrogate of
precision at K by mini-batches. Where K is the number of positives it is the sum over j of the
hinge losses of the j-th highest negative against the j-th lowest positive. Its step size and
its epoch are chosen on validation rows. Higher is better; the paper's own data, KDD Cup 2008,
are not available, so that no target is printed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from bbs_data import Floats, Split, ranking
from cma_data import quiet, require, run_with_one_thread
from sklearn.linear_model import LogisticRegression

from setpoint import AdaptiveSurrogateClassifier, BlackBox, SearchLimits

SETS = ("default_credit", "adult")
SPLITS = 3
BUDGET = 1_500
SURROGATES: dict[str, Any] = {
    "adaptive, precision at recall": "quantile",
    "adaptive, PRBEP": "prbep",
    "adaptive, sigmoid": "sigmoid",
}
BY_LOSS, PEER = "logistic regression", "average precision at K, SGD"


@dataclass(frozen=True)
class Ranked:
    """One method on one split."""

    train: float
    validation: float
    test: float
    evaluations: int
    seconds: float
    kept: bool | None = None


def prbep(y_true: np.ndarray, scores: np.ndarray) -> float:
    """Ties at the cut count by their share of positives, whatever the order of rows."""
    k = int(y_true.sum())
    cut = np.partition(scores, -k)[-k]
    above, at = scores > cut, scores == cut
    return float((y_true[above].sum() + (k - above.sum()) * y_true[at].mean()) / k)


def ranked(
    split: Split, score: Callable[[Floats], Floats], used: int, since: float,
    kept: bool | None = None,
) -> Ranked:  # fmt: skip
    seconds = time.process_time() - since
    parts = (split.train, split.validation, split.test)
    return Ranked(*(prbep(p.y, score(p.X)) for p in parts), used, seconds, kept)


def logistic(split: Split) -> Ranked:
    since = time.process_time()
    by = LogisticRegression(max_iter=1000).fit(split.train.X, split.train.y)
    return ranked(split, by.decision_function, 0, since)


def adaptive(split: Split, surrogates: Any) -> Ranked:
    since = time.process_time()
    with quiet():
        clf = AdaptiveSurrogateClassifier(
            BlackBox(prbep, name="prbep"),
            surrogates=surrogates,
            limits=SearchLimits(evaluations=BUDGET),
        ).fit(split.train.X, split.train.y, validation=split.validation.dataset())
    used = clf.n_evaluations_
    return ranked(split, clf.decision_function, used, since, clf.accepted_)


def stochastic(split: Split, epochs: int = 15, batch: int = 500) -> Ranked:
    """Subgradients of the average surrogate on stratified mini-batches, from zero."""
    since, X, y = time.process_time(), split.train.X, split.train.y
    sides = [np.flatnonzero(y == side) for side in (0, 1)]
    n_batches = -(-len(y) // batch)
    best, most = np.zeros(X.shape[1]), -np.inf
    for rate in (0.01, 0.1, 1.0):
        rng, w, t = np.random.default_rng(0), np.zeros(X.shape[1]), 0
        for _ in range(epochs):
            cuts = [np.array_split(rng.permutation(rows), n_batches) for rows in sides]
            for no, yes in zip(*cuts, strict=True):
                t += 1
                w -= rate / np.sqrt(t) * _slope(X, w, no, yes)
            value = prbep(split.validation.y, split.validation.X @ w)
            if value > most:
                best, most = w.copy(), value
    return ranked(split, lambda Z: Z @ best, 3 * epochs, since)


def _slope(X: Floats, w: Floats, no: np.ndarray, yes: np.ndarray) -> Floats:
    k = min(len(yes), len(no))
    high, low = no[np.argsort(-(X[no] @ w))[:k]], yes[np.argsort(X[yes] @ w)[:k]]
    wrong = 1.0 + X[high] @ w - X[low] @ w > 0
    return np.asarray((X[high[wrong]].sum(axis=0) - X[low[wrong]].sum(axis=0)) / k)


def show(name: str, rows: dict[str, list[Ranked]]) -> None:
    print(f"\n{name}: PRBEP, means over {SPLITS} splits")
    print(f"     {'':<32}{'train':>9}{'validation':>12}{'test':>9}{'calls':>8}{'seconds':>9}"
          f"{'accepted':>10}")  # fmt: skip
    for method, found in rows.items():
        kept = [f.kept for f in found if f.kept is not None]
        kept_text = f"{sum(kept)} of {len(found)}" if kept else ""
        means = [np.mean([getattr(f, c) for f in found]) for c in ("train", "validation", "test")]
        print(f"     {method:<32}{means[0]:>9.4f}{means[1]:>12.4f}{means[2]:>9.4f}"
              f"{max(f.evaluations for f in found):>8}"
              f"{np.mean([f.seconds for f in found]):>9.2f}{kept_text:>10}")  # fmt: skip
    base = np.array([f.test for f in rows[BY_LOSS]])
    for method, found in rows.items():
        gain = np.array([f.test for f in found]) - base
        spread = gain.std(ddof=1) / np.sqrt(len(gain))
        if method != BY_LOSS:
            word = "better" if gain.mean() > spread else "no different"
            word = "worse" if gain.mean() < -spread else word
            print(f"     {method} on test rows: {gain.mean():+.4f} +-{spread:.4f}, {word} than"
                  f" {BY_LOSS}")  # fmt: skip


def main() -> None:
    require("a9a", "adult", *SETS)
    for name in SETS:
        rows: dict[str, list[Ranked]] = {}
        for seed in range(SPLITS):
            split = ranking(name, seed)
            rows.setdefault(BY_LOSS, []).append(logistic(split))
            rows.setdefault(PEER, []).append(stochastic(split))
            for method, surrogates in SURROGATES.items():
                rows.setdefault(method, []).append(adaptive(split, surrogates))
        show(name, rows)


if __name__ == "__main__":
    run_with_one_thread(main)
