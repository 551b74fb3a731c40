"""Rows from the surest to the least sure, by their largest posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats

if TYPE_CHECKING:
    from setpoint.evidence.evidence import Evidence

__all__ = ["Surest", "surest_first"]


class Surest(NamedTuple):
    """Sums over the rows whose largest posterior is no smaller than one after the other."""

    rows: Codes
    weight: Floats
    known: Floats
    wrong: Floats
    total: float


def surest_first(evidence: Evidence, strata: NDArray[np.bool_], segment: int) -> Surest:
    """The rows of some strata in one segment; equal posteriors stand together.

    Examples
    --------
    >>> from setpoint.evidence import Evidence
    >>> eta = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])
    >>> rows = Evidence.from_arrays((0, 1), eta, np.array([0, 0, 1]))
    >>> surest_first(rows, np.array([True]), 0).wrong
    array([0., 0., 1.])
    """
    rows, n = evidence.rows, len(evidence.codebook.labels)
    posterior = evidence.credit.class_posteriors(rows, evidence.posteriors)[:, :n]
    at = np.flatnonzero(strata[rows.stratum] & (rows.segment == segment))
    weight = np.ones(len(at)) if rows.weight is None else rows.weight[at]
    top = posterior[at].max(axis=1)
    order = np.argsort(-top, kind="stable")
    top, weight, at = top[order], weight[order], at[order]
    true = rows.true[at]
    known = weight * (true < n)
    wrong = known * (posterior[at].argmax(axis=1) != true)
    last = np.append(top[1:] < top[:-1], True)
    held, labelled, missed = (np.cumsum(x)[last] for x in (weight, known, wrong))
    return Surest(np.flatnonzero(last) + 1, held, labelled, missed, float(weight.sum()))
