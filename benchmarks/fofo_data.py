"""What the benchmarks after one paper share.

Liu, Zhang, Zhou and Yang, "Faster online learning of optimal threshold for consistent
F-measure optimization" (NeurIPS 2018). The binary tasks, the split of a shuffled task in
three, and F. No command of its own.

Tasks: covtype (a sample of 100,000 rows) class k against the rest, k = 1..7, a9a and ijcnn1.
The paper has six of the seven classes, on all 581,012 rows; its webspam, w8a and sensorless
are not available, of protein a part only.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from cma_data import require
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.preprocessing import StandardScaler

COVTYPE = tuple(f"covtype {k}" for k in (2, 1, 3, 7, 6, 5, 4))
"""From balanced to rare, as in the paper; 4 is not among its figures."""
TASKS = (*COVTYPE, "a9a", "ijcnn1")


@dataclass(frozen=True)
class Rows:
    """Some rows: features as they come, for us, and scaled with an intercept, for rivals."""

    X: Any
    scaled: sparse.csr_matrix
    y: np.ndarray


@functools.cache
def task(name: str) -> tuple[Any, np.ndarray]:
    """Features, dense unless mostly zero, and labels in {0, 1}."""
    source, _, k = name.partition(" ")
    X, y = _table("covtype_100k") if source == "covtype" else _table(source)
    return X, np.uint8(y == (int(k) if k else 1))


@functools.cache
def _table(name: str) -> tuple[Any, np.ndarray]:
    X, y, _, _ = require(name).load(name, numeric=True)
    return (X.toarray() if name == "ijcnn1" else X), np.asarray(y)


@functools.lru_cache(maxsize=4)
def thirds(name: str, seed: int) -> tuple[Rows, Rows, Rows]:
    """Online, validation and test rows, one third each, after a shuffle.

    The rivals' features are standardised by the online third, which makes each of them
    better than features in [0, 1] do; those of a9a, all 0 or 1, stay.
    """
    X, y = task(name)
    order = np.random.default_rng(seed).permutation(len(y))
    third = len(y) // 3
    parts = [order[i * third : (i + 1) * third] for i in range(3)]
    scaled = X if sparse.issparse(X) else StandardScaler().fit(X[parts[0]]).transform(X)
    return tuple(Rows(X[i], with_intercept(scaled[i]), y[i]) for i in parts)  # type: ignore[return-value]


def with_intercept(X: Any) -> sparse.csr_matrix:
    ones = sparse.csr_matrix(np.ones((X.shape[0], 1)))
    return sparse.hstack([sparse.csr_matrix(X), ones], format="csr")


# ---------------------------------------------------------------------- bags of words
def bags_of_words(
    seed: int, *, words: int, known: int, strength: float, prior: float = 0.03, n: int = 20_000
) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Rows of so many of the known words, alike in number, and labels by a logistic truth."""
    rng = np.random.default_rng(seed)
    ends = np.arange(0, n * words + 1, words)
    X = sparse.csr_matrix(
        (np.ones(n * words), rng.integers(known, size=n * words), ends), (n, known)
    )
    X.sum_duplicates()
    X.data[:] = 1.0
    z = X @ rng.normal(scale=strength, size=known)
    shift = brentq(lambda b: expit(z + b).mean() - prior, -100.0, 100.0)
    return X, (rng.random(n) < expit(z + shift)).astype(np.int8)


# ---------------------------------------------------------------------- F
def f1(y: np.ndarray, decided: np.ndarray) -> float:
    """2 TP / (P + PP), 0 where nothing is positive."""
    tp, positive = np.sum((y == 1) & (decided == 1)), np.sum(y == 1) + np.sum(decided == 1)
    return float(2.0 * tp / positive) if positive else 0.0


def f1_so_far(y: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """F of the first 1, 2, ... rows."""
    tp = np.cumsum((y == 1) & (decided == 1))
    positive = np.cumsum(y == 1) + np.cumsum(decided == 1)
    return 2.0 * tp / np.maximum(positive, 1)
