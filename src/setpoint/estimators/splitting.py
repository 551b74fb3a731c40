"""Folds as scikit-learn draws them, and the share that is held out once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit, check_cv

__all__ = ["Fold", "folds_of"]

Fold = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows to train on, and rows left out."""


def folds_of(
    cv: Any, X: Any, y: Any, seed: int | None, params: Mapping[str, Any] | None = None
) -> list[Fold]:
    """All folds, drawn once.

    Parameters
    ----------
    cv : int, float, splitter, iterable or None
        A float is the share that one stratified split leaves out.
    seed : int or None
        Draws the split of a float; None: from fresh entropy.
    params : mapping, optional
        For the splitter, such as groups.

    Raises
    ------
    ValueError
        If a share is none.

    Examples
    --------
    >>> [(train, test)] = folds_of(0.5, np.zeros((4, 1)), [0, 1, 0, 1], seed=0)
    >>> len(train), len(test)
    (2, 2)
    """
    if isinstance(cv, float):
        if not 0 < cv < 1:
            raise ValueError(f"cv as a share lies between 0 and 1, got {cv}")
        if seed is None:
            seed = int(np.random.default_rng().integers(2**32))
        cv = StratifiedShuffleSplit(1, test_size=cv, random_state=seed)
    splits = check_cv(cv, y=y, classifier=True).split(X, y, **(params or {}))
    return [(_positions(train), _positions(test)) for train, test in splits]


def _positions(index: Any) -> NDArray[np.int64]:
    array = np.asarray(index)
    return np.flatnonzero(array) if array.dtype == np.bool_ else array.astype(np.int64)
