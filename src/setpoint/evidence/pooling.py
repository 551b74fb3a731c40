"""What a rule cannot tell apart, strata or what rows count by: how a decision's gain is shared."""

from __future__ import annotations

import numpy as np

from setpoint.array_types import Floats
from setpoint.evidence.codebook import Codebook, Marginals

__all__ = ["at_mean_measures", "pooled", "shares_of"]


def shares_of(codebook: Codebook, marginals: Marginals) -> Floats:
    """How the rows of each class in a segment fall into its plain strata (plain strata, n).

    Examples
    --------
    >>> book = Codebook.of((0, 1))
    >>> shares_of(book, Marginals.of_counts(np.array([[[3.0, 1.0], [0.0, 2.0], [0.0, 0.0]]])))
    array([[1., 1.]])
    """
    segment, n = codebook.stratum_segment[: codebook.n_plain], codebook.n_classes
    held = marginals.weights[: codebook.n_plain, :n]
    totals = np.zeros((len(codebook.segments), n))
    np.add.at(totals, segment, held)
    return np.asarray(held / np.maximum(totals[segment], 1e-300))


def pooled(codebook: Codebook, shares: Floats, gains: Floats) -> Floats:
    """What deciding a class gains by segment and class, from gains by stratum and class."""
    n = codebook.n_classes
    out = np.zeros((len(codebook.segments), n, n))
    np.add.at(out, codebook.stratum_segment[: codebook.n_plain], shares[:, :, None] * gains)
    return out


def at_mean_measures(codebook: Codebook, marginals: Marginals, gains: Floats) -> Floats:
    """Gains (plain strata, n, n) of a row that counts what rows of its kind do on average."""
    if not codebook.measures:
        return gains
    n, m = codebook.n_classes, codebook.n_plain
    held = marginals.weights[:, :n].reshape(-1, m, n)
    means = held / np.maximum(held[:1], 1e-300)
    return np.asarray((means[..., None] * gains.reshape(-1, m, n, n)).sum(axis=0))
