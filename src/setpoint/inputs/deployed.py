"""The deployed model: what it decides today, and by which scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing

from setpoint.array_types import Codes, Floats
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.inputs.arrays import UnfittedError, column_names, column_of, one_column, series_values
from setpoint.inputs.classes import ClassOrder
from setpoint.parameters import is_number

_SUREST = 1e-6
"""Probabilities are kept this far from 0 and 1 before their logit is taken."""


@dataclass(frozen=True, eq=False, repr=False)
class Deployed:
    """The model that decides today, wherever ``baseline`` is asked for.

    Without a threshold it need not be written: ``baseline=source`` says the same.

    Parameters
    ----------
    source : array-like of shape (N,), str or classifier
        Its decisions, one a row; the column of X that holds them; or the model itself. With
        a `threshold` its scores, or the column of X that holds them.
    threshold : float, optional
        The deployed model decides positive where its score is at least this.

    Raises
    ------
    ValueError
        If `threshold` is not a finite number, or `source` is a model, which decides by itself.

    Examples
    --------
    >>> from setpoint import Deployed, evaluate
    >>> today = Deployed([0.2, 0.9, 0.4], threshold=0.5)
    >>> evaluate("minimize churn", [0, 1, 1], [0, 1, 1], baseline=today).objective.value
    0.3333333333333333
    """

    source: Any
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.threshold is None:
            return
        if not is_number(self.threshold) or not math.isfinite(self.threshold):
            raise InputError(
                f"Deployed: `threshold` is a finite number or None, got {self.threshold!r}"
            )
        if self.is_model:
            raise InputError(
                "Deployed: source is a model, which decides by itself; threshold is for scores"
            )

    @classmethod
    def of(cls, given: Any) -> Deployed | None:
        """What the argument ``baseline`` says, by itself or in a Deployed."""
        return given if given is None or isinstance(given, Deployed) else cls(given)

    def __repr__(self) -> str:
        source = repr(self.source) if isinstance(self.source, str) else type(self.source).__name__
        return f"Deployed({source}{self._threshold_in_words()})"

    def _threshold_in_words(self) -> str:
        return "" if self.threshold is None else f", threshold={self.threshold:g}"

    @property
    def is_model(self) -> bool:
        """Whether the source is a classifier."""
        return hasattr(self.source, "predict")

    @property
    def column(self) -> str | None:
        """The column of X that the source names."""
        return self.source if isinstance(self.source, str) else None

    @property
    def lasts(self) -> bool:
        """Whether it is there for rows to come: a model or a column, not values."""
        return self.is_model or self.column is not None

    @property
    def scores_last(self) -> bool:
        """Whether its scores are there for rows to come."""
        if self.is_model:
            return hasattr(self.source, "decision_function") or hasattr(
                self.source, "predict_proba"
            )
        return self.column is not None and self.threshold is not None

    def codes(self, classes: ClassOrder, X: Any, n_rows: int, name: str = "baseline") -> Codes:
        """Class codes (N,) of its decisions.

        Parameters
        ----------
        X : rows, or None
            Where a column is looked up and a model predicts.
        name : str
            What messages call the argument.

        Raises
        ------
        TypeError, ValueError
            If the values are not decisions (with a threshold: not scores) for these rows.
        NotFittedError
            If it is a model without its fit.
        """
        if self.is_model and X is None:
            raise InputTypeError(
                f"{quoted(name)} is a model, and there is no X here: pass its predictions"
            )
        values = one_column(self._values(X, name), name)
        if self.threshold is not None:
            accepted = finite_scores(values, name) >= self.threshold
            decided = np.empty(2, dtype=classes.sorted.dtype)
            decided[:] = classes.labels
            return classes.codes(decided[accepted.astype(np.intp)], name, n_rows)
        if values.dtype.kind == "f" and (values[np.isfinite(values)] % 1.0).any():
            raise InputError(
                f"{quoted(name)} holds decisions (which classes), got continuous numbers: of "
                "scores say the threshold, Deployed(scores, threshold=...)"
            )
        return classes.codes(values, name, n_rows)

    def scores(self, X: Any, positive: Any) -> Floats:
        """Scores (N,), higher for the positive class; of probabilities the logit.

        Raises
        ------
        ValueError
            If X lacks the column, or values are not finite numbers.
        """
        if not self.is_model:
            column = self.column
            if column is not None and column not in (column_names(X) or ()):
                raise InputError(
                    f"`X` has no column {column!r}, which holds the deployed model's scores, and "
                    "this model uses them as a feature"
                )
            where = "baseline" if column is None else f"the column {column!r}"
            return finite_scores(self._values(X, "baseline"), where)
        model = self.source
        place = model.classes_.tolist().index(positive)
        if hasattr(model, "decision_function"):
            scores = finite_scores(model.decision_function(X), "the deployed model")
            return scores if place else -scores
        p = finite_scores(model.predict_proba(X), "the deployed model")[:, place]
        p = np.clip(p, _SUREST, 1.0 - _SUREST)
        return np.asarray(np.log(p / (1.0 - p)))

    def _values(self, X: Any, name: str) -> Any:
        """Decisions or scores, as the source has them."""
        if self.column is not None:
            return series_values(column_of(X, self.column, name))
        if not self.is_model:
            return self.source
        try:
            return self.source.predict(X)
        except NotFittedError as error:
            raise UnfittedError(
                f"{quoted(name)} is a {type(self.source).__name__} that is not fitted; a search "
                "copies it without its fit: wrap it in sklearn.frozen.FrozenEstimator"
            ) from error


def finite_scores(values: Any, who: str) -> Floats:
    """Scores as finite numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{who} gives {array.dtype} values; scores of the deployed model are numbers (its "
            "decisions go without a threshold)"
        )
    bad = ~np.isfinite(array)
    if bad.any():
        raise InputError(
            f"{who} gives {int(bad.sum())} NaN or infinite scores, the first in row "
            f"{int(np.argwhere(bad)[0][0])}"
        )
    return np.asarray(array, np.float64)


# --- Rows of what belongs together: by the index of frames ----------------------------------------


def aligned(given: Any, X: Any, name: str, other: str = "X") -> Any:
    """What was given for the rows of a frame or Series, in the order of its rows.

    Examples
    --------
    >>> import pandas as pd
    >>> X, y = pd.DataFrame({"a": [1, 2]}, index=["u", "v"]), pd.Series([0, 1], index=["v", "u"])
    >>> aligned(y, X, "y").tolist()
    [1, 0]
    """
    index = index_of(X)
    if index is None:
        return given
    if isinstance(given, Mapping):
        return {key: aligned(part, X, f"{name}[{key!r}]", other) for key, part in given.items()}
    if isinstance(given, Deployed):
        return Deployed(aligned(given.source, X, name, other), given.threshold)
    own = index_of(given)
    if own is None or own.equals(index) or len(own) != len(index):
        return given  # another length is said elsewhere
    if index.is_unique and own.is_unique and bool(own.isin(index).all()):
        return given.loc[index]
    raise InputError(
        f"{quoted(name)} and {other if other == 'X' else quoted(other)} have different indexes, so "
        f"that it is not clear which rows belong together; give {name} the index of {other}, or go "
        "by position with .to_numpy()"
    )


def taken(given: Any, index: NDArray[np.int64], n_rows: int) -> Any:
    """Some rows of what was given, wherever it has a value for each row.

    Examples
    --------
    >>> taken({"sex": ["f", "m", "m"]}, np.array([0, 2]), 3), taken("sex", np.array([0]), 3)
    ({'sex': ['f', 'm']}, 'sex')
    """
    if isinstance(given, Mapping):
        return {key: taken(part, index, n_rows) for key, part in given.items()}
    if isinstance(given, Deployed):
        return Deployed(taken(given.source, index, n_rows), given.threshold)
    if given is None or isinstance(given, str) or hasattr(given, "predict"):
        return given
    shape = getattr(given, "shape", None)
    length = shape[0] if shape else len(given) if hasattr(given, "__len__") else None
    return _safe_indexing(given, index) if length == n_rows else given


def index_of(given: Any) -> Any:
    """The index of a pandas object, else None; lists have a method of that name."""
    found = getattr(given, "index", None)
    return found if hasattr(found, "is_unique") and hasattr(given, "loc") else None
