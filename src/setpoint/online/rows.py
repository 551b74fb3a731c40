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
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_NEGATIVE: NDArray[np.int8] = np.zeros(1, np.int8)
_POSITIVE: NDArray[np.int8] = np.ones(1, np.int8)


def as_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows as a C-ordered matrix or CSR, float32 or float64, finite.

    Raises
    ------
    ValueError
        If rows are missing, are not finite, or have other features than before.
    """
    if not reset and _is_plain(estimator, X):
        return X
    with np.errstate(invalid="ignore"):  # its check adds up, and infinite minus infinite is none
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
    if type(X) is np.ndarray:
        plain, values = X.ndim == 2 and X.flags.c_contiguous, X
    elif type(X) in (sparse.csr_matrix, sparse.csr_array):
        plain, values = X.ndim == 2 and X.has_canonical_format, X.data
    else:
        return False
    if not plain or values.dtype not in _FLOATS or X.shape[0] == 0:
        return False
    if X.shape[1] != estimator.n_features_in_ or hasattr(estimator, "feature_names_in_"):
        return False
    # A sum is finite only where all are; one that overflows goes the long way round.
    if X.shape[0] == 1 or is_unchecked(X):
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def is_unchecked(X: Any) -> bool:
    """Whether a batch is so large that it is not looked through for what is not finite.

    That would take a quarter of the time that learning it takes. Kernels find it as they
    go, and the batch is undone. A single row they find before they learn it.
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
        if len(y) == n_rows == 1 and y[0] in labels:
            return _POSITIVE if y[0] == labels[1] else _NEGATIVE
        codes: NDArray[np.int8] = (y == labels[1]).view(np.int8)
        if len(y) == n_rows and (codes.all() or bool((codes | (y == labels[0])).all())):
            return codes
    found = check_labels(y, "y", classes=list(labels))[1]
    check_length(found, n_rows, "y")
    return found.astype(np.int8)
