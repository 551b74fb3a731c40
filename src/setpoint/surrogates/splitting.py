"""Which rows train a model and which the metric judges it on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit, check_cv

__all__ = ["splits_of"]

Rows = NDArray[np.int64]


def splits_of(
    cv: Any, X: Any, y: Any, weight: NDArray[np.float64] | None, seed: int | None
) -> list[tuple[Rows, Rows]]:
    """Rows to train on and rows to judge on, those of weight zero left out.

    Parameters
    ----------
    cv : int, float, splitter, iterable or None
    X, y
    weight : array of shape (N,) or None
    seed : int or None
        Draws the split of a float.

    Raises
    ------
    ValueError
        If a share is none, or a fold is empty.
    """
    if isinstance(cv, float):
        if not 0 < cv < 1:
            raise ValueError(f"cv as a share lies between 0 and 1, got {cv}")
        cv = StratifiedShuffleSplit(1, test_size=cv, random_state=seed)
    folds: Sequence[tuple[Rows, Rows]] = list(check_cv(cv, y=y, classifier=True).split(X, y))
    out = [(_weighty(train, weight), _weighty(test, weight)) for train, test in folds]
    if not out or any(len(train) == 0 or len(test) == 0 for train, test in out):
        raise ValueError("cv: a fold has no rows of positive weight to train or to judge on")
    return out


def _weighty(rows: Rows, weight: NDArray[np.float64] | None) -> Rows:
    rows = np.asarray(rows, np.int64)
    return rows if weight is None else rows[weight[rows] > 0]
