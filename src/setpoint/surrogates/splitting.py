"""Which rows train a model and which the metric judges it on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.estimators.splitting import Fold, folds_of

__all__ = ["splits_of"]

Rows = NDArray[np.int64]


def splits_of(cv: Any, X: Any, y: Any, weight: NDArray[np.float64] | None, seed: int) -> list[Fold]:
    """Rows to train on and rows to judge on, those of weight zero left out.

    Parameters
    ----------
    weight : array of shape (N,) or None
    seed : int
        Draws the split of a float.

    Raises
    ------
    ValueError
        If a share is none, or a fold is empty.
    """
    folds = folds_of(cv, X, y, seed)
    out = [(_weighty(train, weight), _weighty(test, weight)) for train, test in folds]
    if not out or any(len(train) == 0 or len(test) == 0 for train, test in out):
        raise ValueError("cv: a fold has no rows of positive weight to train or to judge on")
    return out


def _weighty(rows: Rows, weight: NDArray[np.float64] | None) -> Rows:
    return rows if weight is None else rows[weight[rows] > 0]
