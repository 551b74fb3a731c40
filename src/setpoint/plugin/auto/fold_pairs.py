"""Pairs of folds: what a mean of calibrated models says of rows that none of it has seen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from setpoint.estimators.splitting import Fold
from setpoint.plugin.auto.calibrated import curves_of, through
from setpoint.typing import Codes, Floats

__all__ = ["FoldPair", "calibrated_by_pairs", "pairs_of", "why_no_pairs"]


class FoldPair(NamedTuple):
    """Two folds that one model leaves out.

    Parameters
    ----------
    first, second : int
        Their places.
    fold : (train, test)
        Rows that both train on, and those that either leaves out, those of the first first.
    """

    first: int
    second: int
    fold: Fold


def pairs_of(splits: Sequence[Fold]) -> list[FoldPair]:
    """All pairs of folds.

    Parameters
    ----------
    splits : sequence of (train, test)

    Examples
    --------
    >>> ones = [(np.delete(np.arange(3), k), np.array([k])) for k in range(3)]
    >>> for first, second, (train, test) in pairs_of(ones):
    ...     print(first, second, train, test)
    0 1 [2] [0 1]
    0 2 [1] [0 2]
    1 2 [0] [1 2]
    """
    out = []
    for (j, (train, test)), (k, (others, more)) in combinations(enumerate(splits), 2):
        both = train[np.isin(train, others)]
        out.append(FoldPair(j, k, (both, np.concatenate((test, more)))))
    return out


def why_no_pairs(
    pairs: Sequence[FoldPair], splits: Sequence[Fold], y: Any, weight: Floats | None
) -> str:
    """Why a model or a curve cannot be fitted; "" where all can.

    Parameters
    ----------
    pairs : sequence of FoldPair
    splits : sequence of (train, test)
    y : array-like of shape (N,)
    weight : array of shape (N,) or None

    Examples
    --------
    >>> halves = [(np.array([0, 1]), np.array([2, 3])), (np.array([2, 3]), np.array([0, 1]))]
    >>> why_no_pairs(pairs_of(halves), halves, [0, 1, 0, 1], None)
    'without folds 1 and 2, which calibration leaves out together, there is no row to fit on'
    """
    labels, codes = np.unique(np.asarray(y), return_inverse=True)
    for j, k, (train, _) in pairs:
        without = f"without folds {j + 1} and {k + 1}, which calibration leaves out together,"
        missing = labels[np.bincount(codes[train], minlength=len(labels)) == 0]
        if len(train) == 0:
            return f"{without} there is no row to fit on"
        if len(missing):
            return f"{without} there is no row of {missing.tolist()[0]!r}"
    for k, (_, test) in enumerate(splits):
        if weight is not None and not weight[test].any():
            return f"no row of fold {k + 1} weighs anything"
    return ""


def calibrated_by_pairs(
    pairs: Sequence[FoldPair],
    scores: Sequence[Floats],
    splits: Sequence[Fold],
    true: Codes,
    weight: Floats | None,
) -> Floats:
    """For a row of fold k the mean over j of the model without j and k, through a curve of j.

    Parameters
    ----------
    pairs : sequence of FoldPair
        All of them.
    scores : sequence of array of shape (M,) or (M, n)
        For each pair those of the rows that it leaves out.
    splits : sequence of (train, test)
    true : int array of shape (N,)
        Class codes of all rows, in the order of the columns of `scores`.
    weight : array of shape (N,) or None

    Returns
    -------
    array of shape (N,) or (N, n)
        NaN for rows that no fold leaves out.
    """
    total = np.full((len(true), *scores[0].shape[1:]), np.nan)
    for _, test in splits:
        total[test] = 0.0
    for (j, _, (_, rows)), found in zip(pairs, scores, strict=True):
        n_first = len(splits[j][1])
        parts = [(rows[:n_first], found[:n_first]), (rows[n_first:], found[n_first:])]
        for (own, of_own), (other, of_other) in (parts, parts[::-1]):
            curves = curves_of(of_own, true[own], None if weight is None else weight[own])
            total[other] += through(curves, of_other)
    return total / (len(splits) - 1)
