"""What is done to numbers, text and missing values before a model takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from setpoint.errors import InputError
from setpoint.estimators.as_floats import AsFloats
from setpoint.inputs.arrays import frame_of, some

__all__ = ["MOST_VALUES", "as_codes", "encoder_for", "filled", "one_hot"]

MOST_VALUES = 50
"""Columns that one category may become."""
_MOST_CODES = 254  # what histograms take, with one bin for missing
_RARE = 5  # rows below which a value shares its column with other rare ones


def one_hot(*, dense: bool) -> Any:
    """A column for each value of a category; rare and new values share one."""
    from sklearn.preprocessing import OneHotEncoder

    return OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=_RARE,
        max_categories=MOST_VALUES,
        sparse_output=not dense,
    )


def as_codes() -> Any:
    """One column of codes for each category, NaN where it is missing or new."""
    from sklearn.preprocessing import OrdinalEncoder

    return OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=_MOST_CODES
    )


def filled() -> Any:
    """The median where a number is missing, and a column that says so."""
    from sklearn.impute import SimpleImputer

    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


def encoder_for(X: Any, *, linear: bool) -> tuple[Any, int]:
    """From X to numbers, for a linear model or for trees."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    if sparse.issparse(X):
        return MaxAbsScaler(), 0  # keeps zeros
    numbers = make_pipeline(filled(), StandardScaler()) if linear else AsFloats()
    names = _columns(X)
    if not names["categories"]:
        return numbers, 0
    steps = {"categories": one_hot(dense=False) if linear else as_codes(), "numbers": numbers}
    made = ColumnTransformer([(what, steps[what], own) for what, own in names.items() if own])
    return made, 0 if linear else len(names["categories"])


def _columns(X: Any) -> dict[str, list[str]]:
    """The columns of a frame by what is done to them; an array is all numbers."""
    frame = frame_of(X)
    out: dict[str, list[str]] = {"categories": [], "numbers": []}
    if frame is None:
        return out
    odd = []
    for name, kind in frame.schema.items():
        if kind.is_numeric() or str(kind) == "Boolean":
            out["numbers"].append(name)
        elif str(kind).partition("(")[0] in ("String", "Categorical", "Enum", "Object"):
            out["categories"].append(name)
        else:
            odd.append(name)
    if odd:
        raise InputError(
            f"`X`: the models of estimator='auto' take numbers, true and false, text and "
            f"categories, and columns {some(odd)} hold something else, such as "
            f"{frame[odd[0]].dtype}; make numbers of them, or leave them out"
        )
    return out
