"""Strata that a rule cannot tell apart: how they share what a decision gains."""

from __future__ import annotations

import numpy as np

from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.typing import Floats

__all__ = ["pooled", "shares_of"]


def shares_of(codebook: Codebook, marginals: Marginals) -> Floats:
    """How the rows of each class in a segment fall into its strata (strata, n).

    Examples
    --------
    >>> book = Codebook.of((0, 1))
    >>> shares_of(book, Marginals.of_counts(np.array([[[3.0, 1.0], [0.0, 2.0], [0.0, 0.0]]])))
    array([[1., 1.]])
    """
    segment, n = codebook.stratum_segment, codebook.n_classes
    held = marginals.weights[:, :n]
    totals = np.zeros((len(codebook.segments), n))
    np.add.at(totals, segment, held)
    return np.asarray(held / np.maximum(totals[segment], 1e-300))


def pooled(codebook: Codebook, shares: Floats, gains: Floats) -> Floats:
    """What deciding a class gains by segment and class, from gains by stratum and class.

    Parameters
    ----------
    codebook : Codebook
    shares : array of shape (strata, n)
    gains : array of shape (strata, n, n)

    Returns
    -------
    array of shape (segments, n, n)
    """
    n = codebook.n_classes
    out = np.zeros((len(codebook.segments), n, n))
    np.add.at(out, codebook.stratum_segment, shares[:, :, None] * gains)
    return out
