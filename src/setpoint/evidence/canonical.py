"""Rows in an order of their own, and equal rows as one.

Sums in floating point depend on the order of their terms. In canonical order what is found
on some rows does not depend on the order in which they came, to the last bit; with equal
rows merged it does not matter either whether a row comes twice or weighs twice as much.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.compiled import kernel
from setpoint.evidence.evidence import Evidence

__all__ = ["in_order", "merged"]

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)


def in_order(evidence: Evidence) -> Evidence:
    """The same rows, ordered by a hash of their content."""
    keys, weight = _keys(evidence), evidence.rows.weight
    if weight is None:
        return evidence.take(np.argsort(keys, kind="stable"))
    return evidence.take(np.lexsort((weight, keys)))


def merged(evidence: Evidence) -> Evidence:
    """Rows in canonical order with equal ones joined, their weights added up.

    Examples
    --------
    >>> from setpoint.evidence import Evidence
    >>> eta = np.array([[0.9, 0.1], [0.4, 0.6], [0.9, 0.1]])
    >>> rows = merged(in_order(Evidence.from_arrays((0, 1), eta, np.array([0, 1, 0]))))
    >>> sorted(rows.rows.weight.tolist())
    [1.0, 2.0]
    """
    rows, scores = evidence.rows, evidence.scores
    if not rows.n_rows:
        return evidence
    true, stratum = rows.true, rows.stratum
    # Equal rows lie side by side, for their hashes agree.
    first = np.ones(rows.n_rows, np.bool_)
    first[1:] = (true[1:] != true[:-1]) | (stratum[1:] != stratum[:-1])
    same = np.flatnonzero(~first)
    first[same] = (scores[same] != scores[same - 1]).any(axis=1)
    if rows.measures is not None:
        first[same] |= (rows.measures[:, same] != rows.measures[:, same - 1]).any(axis=0)
    if first.all():
        return evidence
    starts = np.flatnonzero(first)
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    merged = rows.take(starts).weighted(np.add.reduceat(weight, starts))
    return evidence.of_rows(merged, scores[starts])


def _keys(evidence: Evidence) -> NDArray[np.uint64]:
    scores = np.asarray(evidence.scores, np.float64)
    if evidence.rows.measures is not None:
        scores = np.column_stack([scores, evidence.rows.measures.T])
    scores = np.ascontiguousarray(scores) + 0.0  # -0 is 0
    keys: NDArray[np.uint64] = np.empty(len(scores), np.uint64)
    _hash(scores.view(np.uint64), np.asarray(evidence.rows.kind), keys)
    return keys


@kernel(plain=True)
def _hash(
    bits: NDArray[np.uint64], kind: NDArray[np.integer[Any]], out: NDArray[np.uint64]
) -> None:
    """A 64-bit hash of each row (the finaliser of splitmix64 after each number)."""
    for i in range(len(bits)):
        h = np.uint64(kind[i]) * _PRIME
        for j in range(bits.shape[1]):
            h = (h ^ bits[i, j]) * _MIX
            h ^= h >> np.uint64(29)
            h += _PRIME
        out[i] = h
