"""Features as training takes them: standardised, or by a transformer of the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import validate_data

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.inputs.arrays import column_names, refuse_masked, require_numbers
from setpoint.inputs.classes import ClassOrder
from setpoint.inputs.inputs import Table

__all__ = [
    "Standardized",
    "checked_features",
    "fit_preprocessor",
    "transformed",
    "without_column",
]


_FARTHEST = 10.0
"""Standard deviations from the mean beyond which a value is cut off."""


@dataclass(frozen=True, eq=False)
class Standardized:
    """Dense features by mean and deviation, cut off at 10; sparse ones by their largest value."""

    mean: Floats
    scale: Floats

    @classmethod
    def fit(cls, X: Any, weight: Floats | None = None) -> Standardized:
        """Learn from rows; constant features stay as they are.

        Examples
        --------
        >>> found = Standardized.fit(np.array([[1.0, 7.0], [3.0, 7.0]]))
        >>> found.transform(np.array([[5.0, 8.0]]))
        array([[3., 1.]])
        """
        if _is_sparse(X):
            mean = np.zeros(X.shape[1])
            scale = np.asarray(abs(X.tocsr()).max(axis=0).todense(), np.float64).ravel()
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                mean = np.average(X, axis=0, weights=weight)
                # A loop over features: no second matrix of this size.
                pairs = zip(X.T, mean, strict=True)
                scale = np.sqrt([np.average((x - m) ** 2, weights=weight) for x, m in pairs])
            scale[scale <= 1e-12 * np.abs(mean)] = 0.0  # rounding of a constant
        large = ~np.isfinite(mean + scale)
        if large.any():
            raise InputError(
                f"`X`: the values of column {int(large.argmax())} are too large to be "
                "standardised; scale them first, or pass `preprocessor=None`"
            )
        return cls(mean, np.where(scale > 0, scale, 1.0))

    def transform(self, X: Any) -> Any:
        """The features, as float64 or CSR; the same numbers in either form."""
        if _is_sparse(X) and not self.mean.any():
            out = csr_matrix(X.multiply(1.0 / self.scale))
            np.clip(out.data, -_FARTHEST, _FARTHEST, out=out.data)
            return out
        if _is_sparse(X):
            X = X.toarray()  # what has a mean is dense without it
        out = np.subtract(X, self.mean, dtype=np.float64)
        out /= self.scale
        return np.clip(out, -_FARTHEST, _FARTHEST, out=out)


def _is_sparse(X: Any) -> bool:
    return bool(issparse(X))


def checked_features(estimator: Any, X: Any, reset: bool = False) -> Any:
    """X as the preprocessor takes it; names and number of columns as scikit-learn keeps them."""
    if estimator.preprocessor is not None and not isinstance(estimator.preprocessor, str):
        refuse_masked(X, "`X`")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    require_numbers(X)
    try:
        return validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise InputError(
            f"{error}: `X` holds text; `preprocessor` takes a transformer that makes numbers of "
            "it, such as a ColumnTransformer with OneHotEncoder"
        ) from error


def without_column(X: Any, name: str) -> Any:
    """X without a column, where it has one of that name."""
    names = column_names(X)
    if names is None or name not in names:
        return X
    return _safe_indexing(X, [n for n in names if n != name], axis=1)


def fit_preprocessor(given: Any, rows: Table, classes: ClassOrder) -> Any:
    """What turns X into features, fitted on labelled training rows; None changes nothing."""
    if given is None:
        return None
    if isinstance(given, str) and given == "standardize":
        return Standardized.fit(rows.X, rows.weight)
    if hasattr(given, "fit") and hasattr(given, "transform"):
        return clone(given).fit(rows.X, np.array(classes.labels)[rows.true])
    raise InputError(
        "`preprocessor` is 'standardize', None or a transformer with fit and transform, got "
        f"{given!r}"
    )


def transformed(preprocessor: Any, X: Any) -> Any:
    """Features as a finite float matrix, dense or CSR."""
    if preprocessor is not None:
        X = preprocessor.transform(X)
    if isinstance(preprocessor, Standardized):
        return X
    return check_array(X, accept_sparse="csr", dtype=np.float64, input_name="the transformed X")
