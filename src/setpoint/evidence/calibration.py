"""Posteriors against labels: where a rule counts by one more than by the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setpoint.array_types import Floats
from setpoint.evidence.count import count_distribution
from setpoint.evidence.counted import Decider

if TYPE_CHECKING:
    from setpoint.evidence.evidence import Evidence

__all__ = ["surplus_of"]


def surplus_of(evidence: Evidence, rule: Decider) -> tuple[Floats, float]:
    """By how much posteriors exceed labels (n, n), by true and decided class; and the weight.

    Examples
    --------
    >>> from setpoint.evidence import Evidence
    >>> from setpoint.rules import Argmax
    >>> rows = Evidence.from_arrays((0, 1), np.array([[0.75, 0.25]]), np.array([0]))
    >>> surplus_of(rows, Argmax.weighted([1.0, 1.0]))
    (array([[-0.25,  0.  ],
           [ 0.25,  0.  ]]), 1.0)
    """
    rows, n = evidence.rows, evidence.n_classes
    labelled = rows.true < n
    if not labelled.any():
        return np.zeros((n, n)), 0.0
    decided = evidence.distribution(rule)[labelled]
    weight = np.ones(len(decided)) if rows.weight is None else rows.weight[labelled]
    posterior = evidence.credit.class_posteriors(rows, evidence.posteriors)[labelled]
    by_label = count_distribution(None, rows.true[labelled], decided, 1, n, weight)[0][0]
    return (posterior * weight[:, None]).T @ decided - by_label, float(weight.sum())
