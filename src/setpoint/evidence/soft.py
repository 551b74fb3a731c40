"""Soft counting: a row counts in every true class, by its posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.compiled import kernel
from setpoint.evidence.codebook import Marginals
from setpoint.typing import Floats

if TYPE_CHECKING:
    from setpoint.evidence.evidence import Evidence

__all__ = ["add_posteriors", "checked", "soft_marginals", "spread"]


_SUM = 1e-6
"""How far from 1 posteriors may sum: what single precision leaves."""


def add_posteriors(
    scores: Floats,
    code: NDArray[np.integer[Any]] | None,
    decided: NDArray[np.integer[Any]],
    n_codes: int,
    n_decided: int,
    weight: Floats | None = None,
) -> Floats:
    """Sums of posteriors by code and decision.

    Parameters
    ----------
    scores : array of shape (N, s)
        Posteriors, row-major.
    code : int array of shape (N,) or None
        In [0, n_codes); None is 0.
    decided : int array of shape (N,)
        In [0, n_decided).
    n_codes, n_decided : int
    weight : array of shape (N,), optional

    Returns
    -------
    array of shape (n_codes, n_decided, s + 1)
        The last column is empty: no row lacks a posterior.

    Raises
    ------
    IndexError
        If a code or a decision is out of range.

    Examples
    --------
    >>> eta = np.array([[0.75, 0.25], [0.5, 0.5]])
    >>> add_posteriors(eta, None, np.array([0, 0]), 1, 2)
    array([[[1.25, 0.75, 0.  ],
            [0.  , 0.  , 0.  ]]])
    """
    out = np.zeros((n_codes, n_decided, scores.shape[1] + 1))
    scores = np.ascontiguousarray(scores, np.float64)
    if not _add_posteriors(scores, code, decided, weight, out):
        raise IndexError(f"a code or decision is not within {out.shape[:2]}")
    return out


def spread(lines: Floats, joint_columns: NDArray[np.int64] | None, n_strata: int, n: int) -> Floats:
    """Sums by segment and score column as sums by the stratum and class that columns refer to.

    Parameters
    ----------
    lines : array of shape (k, segments, n_decided, s + 1)
    joint_columns : int array of shape (segments, s, 2)
        Stratum and class; two columns may refer to the same.
    n_strata, n : int

    Returns
    -------
    array of shape (k, n_strata, n + 1, n_decided)

    Examples
    --------
    >>> lines = np.array([[[[0.2, 0.3, 0.1, 0.4, 0.0]]]])
    >>> joint_columns = np.array([[[0, 0], [0, 1], [1, 0], [1, 1]]])
    >>> spread(lines, joint_columns, 2, 2)[0, :, :, 0]
    array([[0.2, 0.3, 0. ],
           [0.1, 0.4, 0. ]])
    """
    if joint_columns is None:
        return np.swapaxes(lines, 2, 3)
    k, _, n_decided, _ = lines.shape
    out = np.zeros((n_strata, n + 1, k, n_decided))
    # One number a (segment, column), each an array over blocks and decisions.
    np.add.at(
        out, (joint_columns[..., 0], joint_columns[..., 1]), lines[..., :-1].transpose(1, 3, 0, 2)
    )
    return out.transpose(2, 0, 1, 3)


def checked(
    evidence: Evidence, scores: Floats, joint_columns: NDArray[np.int64] | None
) -> NDArray[np.int64] | None:
    """The joint columns, or None, once they and the posteriors fit the evidence.

    Raises
    ------
    ValueError
        If they do not.
    """
    n, segments = evidence.n_classes, len(evidence.segments)
    if scores.ndim != 2 or len(scores) != evidence.n_rows:
        raise ValueError(f"soft evidence needs posteriors (N, n), got scores {scores.shape}")
    if (scores < 0).any() or not (np.abs(scores.sum(axis=1) - 1.0) <= _SUM).all():
        raise ValueError("soft evidence needs posteriors: numbers >= 0 that sum to 1 in each row")
    if joint_columns is None:
        if scores.shape[1] != n:
            raise ValueError(
                f"{scores.shape[1]} posteriors a row for {n} classes need joint_columns"
            )
        return None
    if joint_columns.shape != (segments, scores.shape[1], 2):
        raise ValueError(
            f"joint_columns {joint_columns.shape} must be ({segments}, {scores.shape[1]}, 2)"
        )
    stratum, true = joint_columns[..., 0], joint_columns[..., 1]
    if (joint_columns < 0).any() or (stratum >= len(evidence.strata)).any() or (true >= n).any():
        raise ValueError("joint_columns must be codes of strata and of classes")
    if (evidence.stratum_segment[stratum] != np.arange(segments)[:, None]).any():
        raise ValueError("joint_columns of a segment must refer to its own strata")
    return joint_columns


def soft_marginals(evidence: Evidence) -> Marginals:
    """The marginals by posteriors.

    The smallest weight is that of a row: one row is the least that can be decided, so its
    posterior does not make it smaller.
    """
    joint_columns, m = evidence.joint_columns, len(evidence.strata)
    code, n_codes = evidence.stratum, m
    if joint_columns is not None:
        code, n_codes = evidence.segment, len(evidence.segments)
    nowhere = np.zeros(evidence.n_rows, np.int64)
    lines = add_posteriors(evidence.scores, code, nowhere, n_codes, 1, evidence.weight)
    marginals = spread(lines[None], joint_columns, m, evidence.n_classes)[0, :, :, 0]
    least = np.ones(n_codes)
    if evidence.weight is not None:
        least = np.full(n_codes, np.inf)
        np.minimum.at(least, code, evidence.weight)
    if joint_columns is not None:
        by_segment, least = least, np.full(m, np.inf)
        np.minimum.at(least, joint_columns[..., 0], by_segment[:, None])
    smallest = np.where(marginals > 0, least[:, None], np.inf)
    return Marginals(marginals, smallest)


@kernel()
def _add_posteriors(
    scores: Floats,
    code: NDArray[np.integer[Any]] | None,
    decided: NDArray[np.integer[Any]],
    weight: Floats | None,
    out: Floats,
) -> bool:
    n_codes, n_decided = out.shape[:2]
    n_rows, s = scores.shape
    for i in range(n_rows):
        c = 0 if code is None else code[i]
        j = decided[i]
        if not (0 <= c < n_codes and 0 <= j < n_decided):
            return False
        line, row = out[c, j], scores[i]
        w = 1.0 if weight is None else weight[i]
        for k in range(s):
            line[k] += w * row[k]
    return True
