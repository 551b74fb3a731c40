"""Folds: most of the rows and the rest, for a question whose answer has to hold on other rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from setpoint.array_types import Codes, Floats, Integers
from setpoint.evidence.evidence import Evidence

__all__ = ["N_FOLDS", "folds_of", "parts_of"]

N_FOLDS = 3
_MANY, _PARTS = 4, 300
"""How many ordinary weights make a row many, and the most parts that it falls into."""


def folds_of(evidence: Evidence) -> Iterator[tuple[Evidence, Evidence]]:
    """Of merged rows most and the rest, with about the same share of each kind of row."""
    rows = evidence.rows
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    many = weight >= _MANY * np.median(weight)
    parts = np.where(many, np.minimum(weight / np.median(weight), _PARTS), 1.0).astype(np.int64)
    row = np.repeat(np.arange(rows.n_rows), parts)
    fold = parts_of(rows.kind[row], N_FOLDS)
    for k in range(N_FOLDS):
        held = np.bincount(row[fold == k], minlength=rows.n_rows) / parts
        yield _weighted(evidence, 1.0 - held), _weighted(evidence, held)


def _weighted(evidence: Evidence, share: Floats) -> Evidence:
    """The rows with a share of their weight each."""
    kept, rows = share > 0.0, evidence.rows
    part = rows.take(kept)
    if part.weight is not None:
        part = part.weighted(part.weight * share[kept])
    return evidence.of_rows(part, evidence.scores[kept])


def parts_of(kinds: Integers, n_parts: int) -> Codes:
    """A part for each row (N,), with about the same share of each kind; the same every time.

    Examples
    --------
    >>> parts_of(np.array([0, 0, 1, 1]), 2)
    array([0, 1, 0, 1])
    """
    order = np.random.default_rng(0).permutation(len(kinds))
    order = order[np.argsort(kinds[order], kind="stable")]
    out = np.empty(len(kinds), np.int64)
    out[order] = np.arange(len(kinds)) % n_parts
    return out
