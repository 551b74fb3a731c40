"""Rows of what belongs together: by the index of frames, or some of them by position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from setpoint.errors import InputError, quoted
from setpoint.inputs.deployed import Deployed

__all__ = ["aligned", "index_of", "taken"]


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
