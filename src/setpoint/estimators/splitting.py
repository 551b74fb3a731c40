"""Folds drawn at random by a seed, the share that is held out once, and splits of the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit, check_cv
from sklearn.utils.validation import _num_samples

from setpoint.errors import InputError
from setpoint.parameters import is_integer

__all__ = ["Fold", "folds_of"]

Fold = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows to train on, and rows left out."""


def folds_of(
    cv: Any, X: Any, y: Any, seed: int, params: Mapping[str, Any] | None = None
) -> list[Fold]:
    """All folds, drawn once.

    Examples
    --------
    >>> [(train, test)] = folds_of(0.5, np.zeros((4, 1)), [0, 1, 0, 1], seed=0)
    >>> len(train), len(test)
    (2, 2)
    """
    if isinstance(cv, bool | str) or (is_integer(cv) and cv < 2):
        raise InputError(
            "`cv` is a whole number >= 2, a share between 0 and 1, a splitter or its splits, got "
            f"{cv!r}"
        )
    if isinstance(cv, float):
        if not 0 < cv < 1:
            raise InputError(f"cv as a share lies between 0 and 1, got {cv}")
        cv = StratifiedShuffleSplit(1, test_size=cv, random_state=seed)
    splitter = check_cv(cv, y=y, classifier=True)
    if cv is None or is_integer(cv):  # made here: never in the order of the file
        splitter.shuffle, splitter.random_state = True, seed
    splits = splitter.split(X, y, **(params or {}))
    n_rows = int(_num_samples(X))
    return [(_positions(train, n_rows), _positions(test, n_rows)) for train, test in splits]


def _positions(index: Any, n_rows: int) -> NDArray[np.int64]:
    array = np.asarray(index)
    at = np.flatnonzero(array) if array.dtype == np.bool_ else array.astype(np.int64)
    odd = at[(at < -n_rows) | (at >= n_rows)]
    if len(odd):
        raise InputError(f"`cv`: a split names row {odd[0]}, and X has {n_rows:,} rows")
    return at
