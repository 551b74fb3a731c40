"""Rows and labels as kernels take them; a fast way in for what needs no conversion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from setpoint.goals.populations import Label
from setpoint.inputs.arrays import check_length
from setpoint.inputs.labels import check_labels

__all__ = ["as_codes", "as_rows", "is_unchecked"]


_MANY = 200_000


def as_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows as a C-ordered matrix or CSR, float32 or float64, finite.

    Raises
    ------
    ValueError
        If rows are missing, are not finite, or have other features than before.
    """
    if not reset and _is_plain(estimator, X):
        return X
    rows: Any = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
    )
    if sparse.issparse(rows):
        return _canonical(rows, rows is X)
    return rows


def _canonical(rows: Any, shared: bool) -> Any:
    """Each column once a row."""
    if rows.has_canonical_format:
        return rows
    out = rows.copy() if shared else rows
    out.sum_duplicates()
    return out


def _is_plain(estimator: Any, X: Any) -> bool:
    """Whether kernels take `X` as it is: a row at a time, checks would cost more than learning."""
    if type(X) is not np.ndarray or X.dtype not in (np.float64, np.float32) or X.ndim != 2:
        return False
    if X.shape[1] != estimator.n_features_in_ or hasattr(estimator, "feature_names_in_"):
        return False
    if len(X) == 0 or not X.flags.c_contiguous:
        return False
    # A sum is finite only where all are; one that overflows goes the long way round.
    return is_unchecked(X) or bool(np.isfinite(X.sum()))


def is_unchecked(X: Any) -> bool:
    """Whether kernels look for values that are not finite as they go, and batches are undone.

    To read a large batch once more would take a quarter of the time that learning it takes.
    """
    return isinstance(X, np.ndarray) and X.size > _MANY


def as_codes(y: Any, labels: tuple[Label, Label], n_rows: int) -> NDArray[np.int8]:
    """Labels as 0 and 1 for (negative, positive).

    Raises
    ------
    ValueError, TypeError
        If a label is neither, or there are not `n_rows`.
    """
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biu":
        codes: NDArray[np.int8] = (y == labels[1]).view(np.int8)
        if len(y) == n_rows and (codes.all() or bool((codes | (y == labels[0])).all())):
            return codes
    found = check_labels(y, "y", classes=list(labels))[1]
    check_length(found, n_rows, "y")
    return found.astype(np.int8)
