"""Numbers as a model takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["AsFloats"]


class AsFloats(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Numbers and booleans as float64, missing ones as NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> AsFloats().fit_transform(pd.DataFrame({"a": [1, None], "b": [None, None]}))
    array([[ 1.,  0.],
           [nan,  0.]])
    """

    def fit(self, X: Any, y: Any = None) -> AsFloats:
        """Note the columns without a value."""
        self.empty_ = np.isnan(self._floats(X, reset=True)).all(axis=0)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The numbers."""
        check_is_fitted(self)
        return np.where(self.empty_, 0.0, self._floats(X, reset=False))

    def _floats(self, X: Any, reset: bool) -> NDArray[np.float64]:
        floats: NDArray[np.float64] = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return floats
