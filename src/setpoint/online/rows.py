"""Rows and labels as kernels take them; a fast way in for what needs no conversion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _num_samples, validate_data

from setpoint.goals.populations import Label
from setpoint.inputs.arrays import check_length, require_numbers
from setpoint.inputs.labels import check_labels

__all__ = ["as_codes", "as_rows", "cannot_overflow", "n_rows_of"]


_MANY = 200_000
_LARGE = 1e200
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_NEGATIVE: NDArray[np.int8] = np.zeros(1, np.int8)
_POSITIVE: NDArray[np.int8] = np.ones(1, np.int8)


def as_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows as a C-ordered matrix or CSR, float32 or float64, finite."""
    if not reset and _is_plain(estimator, X):
        return X  # kernels find what is not finite
    require_numbers(X)
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
        plain = X.ndim == 2 and X.flags.c_contiguous
    elif type(X) in (sparse.csr_matrix, sparse.csr_array):
        plain = X.ndim == 2 and X.has_canonical_format
    else:
        return False
    if not plain or X.dtype not in _FLOATS or X.shape[0] == 0:
        return False
    return X.shape[1] == estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_")


def cannot_overflow(X: Any) -> bool:
    """Whether a small batch is known to hold no value that ends in an error on the way."""
    if X.shape[0] == 1:
        return True  # found before it is learnt
    values = X.ravel() if isinstance(X, np.ndarray) else X.data
    return bool(values.size <= _MANY and float(np.vdot(values, values)) < _LARGE)


def as_codes(y: Any, labels: tuple[Label, Label], n_rows: int) -> NDArray[np.int8]:
    """Labels as 0 and 1 for (negative, positive)."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biu":
        if len(y) == n_rows == 1 and y[0] in labels:
            return _POSITIVE if y[0] == labels[1] else _NEGATIVE
        codes: NDArray[np.int8] = (y == labels[1]).view(np.int8)
        if len(y) == n_rows and (codes.all() or bool((codes | (y == labels[0])).all())):
            return codes
    found = check_labels(y, "y", classes=list(labels))[1]
    check_length(found, n_rows, "y")
    return found.astype(np.int8)


def n_rows_of(X: Any) -> int:
    """Number of rows."""
    return int(X.shape[0]) if hasattr(X, "shape") else int(_num_samples(X))
