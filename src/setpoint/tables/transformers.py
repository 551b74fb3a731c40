"""Dates as a model takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DateParts", "date_parts"]

_PARTS = ("days", "month", "weekday")


class DateParts(TransformerMixin, BaseEstimator):
    """Three numbers for each column of dates: days since 1970, month, weekday.

    Examples
    --------
    >>> import pandas as pd
    >>> DateParts().fit_transform(pd.DataFrame({"d": pd.to_datetime(["1970-01-02", None])}))
    array([[ 1.,  1.,  4.],
           [nan, nan, nan]])
    """

    def fit(self, X: pd.DataFrame, y: Any = None) -> DateParts:
        """Note the columns."""
        self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def transform(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """The parts of each date."""
        check_is_fitted(self)
        parts = [date_parts(X[name].to_numpy()) for name in self.feature_names_in_]
        return np.hstack(parts) if parts else np.empty((len(X), 0))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names such as ``born_days``, ``born_month``, ``born_weekday``."""
        check_is_fitted(self)
        names = [f"{name}_{part}" for name in self.feature_names_in_ for part in _PARTS]
        return np.array(names, dtype=object)


def date_parts(stamps: NDArray[Any]) -> NDArray[np.float64]:
    """Days since 1970, month and weekday of each moment."""
    # By way of seconds: a column without a single date may come as numbers.
    seconds = stamps.astype("datetime64[us]").astype("datetime64[s]")
    days, months = seconds.astype("datetime64[D]"), seconds.astype("datetime64[M]")
    parts = np.column_stack(
        [
            seconds.astype(np.int64) / 86_400,
            months.astype(np.int64) % 12 + 1,
            (days.astype(np.int64) + 3) % 7,  # the first of 1970 was a Thursday
        ]
    )
    parts[np.isnat(seconds)] = np.nan
    return parts
