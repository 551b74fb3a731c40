"""From the columns of a table to a model: what is done to numbers, categories and dates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from setpoint.errors import InputError
from setpoint.estimators.as_floats import AsFloats
from setpoint.plugin.auto.encoders import MOST_VALUES, as_codes, filled, one_hot
from setpoint.tables.learners import learner_for
from setpoint.tables.schema import ID_SHARE, ID_VALUES, Column
from setpoint.tables.transformers import DateParts

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["described", "model_for", "transformer_for", "unusable"]

_NOUNS = {
    "number": ("number", "numbers"),
    "boolean": ("true-or-false column", "true-or-false columns"),
    "category": ("category", "categories"),
    "date": ("date", "dates"),
}


def model_for(
    frame: pd.DataFrame, columns: Sequence[Column], estimator: str = "logistic", *, seed: int = 0
) -> Any:
    """A pipeline from a frame of mixed columns with missing values to a classifier.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [31, 45, None, 27], "city": ["Bonn", "Kiel", "Bonn", None]})
    >>> columns = [Column("age", "number"), Column("city", "category")]
    >>> model_for(X, columns).fit(X, [0, 1, 1, 0]).predict_proba(X).shape
    (4, 2)
    """
    from sklearn.pipeline import Pipeline

    transformer = transformer_for(frame, columns, estimator)
    learner = learner_for(estimator, seed=seed)
    n_categories = sum(c.kind == "category" for c in columns)
    if estimator == "hist-gradient-boosting" and n_categories:
        # Categories come first, one column of codes each.
        learner.set_params(categorical_features=list(range(n_categories)))
    return Pipeline([("columns", transformer), ("model", learner)])


def transformer_for(
    frame: pd.DataFrame, columns: Sequence[Column], estimator: str = "logistic"
) -> Any:
    """From a frame of mixed columns with missing values to features.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [31, 45, None, 27]})
    >>> transformer_for(X, [Column("age", "number")]).fit_transform(X).shape
    (4, 2)
    """
    from sklearn.compose import ColumnTransformer

    absent = [c.name for c in columns if c.name not in frame]
    if not columns or absent:
        what = f"columns of X are missing: {absent}" if absent else "there are no columns to use"
        raise InputError(f"{what}; name columns of the table that say something of the target")
    names = {
        "categories": [c.name for c in columns if c.kind == "category"],
        "numbers": [c.name for c in columns if c.kind in ("number", "boolean")],
        "dates": [c.name for c in columns if c.kind == "date"],
    }
    steps = _steps(estimator)
    dense = estimator != "logistic"
    return ColumnTransformer(
        [(what, steps[what], chosen) for what, chosen in names.items() if chosen],
        remainder="drop",
        sparse_threshold=0.0 if dense else 0.3,
    )


def _steps(estimator: str) -> dict[str, Any]:
    """What is done to categories, numbers and dates for an estimator."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder, StandardScaler

    if estimator == "hist-gradient-boosting":
        dates = make_pipeline(DateParts(), AsFloats())
        return {"categories": as_codes(), "numbers": AsFloats(), "dates": dates}
    if estimator == "random-forest":
        codes = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
        )
        dates = make_pipeline(DateParts(), filled())
        return {"categories": codes, "numbers": filled(), "dates": dates}
    return {
        "categories": one_hot(dense=estimator != "logistic"),
        "numbers": make_pipeline(filled(), StandardScaler()),
        "dates": make_pipeline(DateParts(), filled(), StandardScaler()),
    }


def unusable(frame: pd.DataFrame, columns: Sequence[Column]) -> dict[str, str]:
    """Columns that a model should not look at, with the reason.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1.0, 1.0], "y": [None, None], "z": [1, 5]})
    >>> unusable(frame, [Column("x", "number"), Column("y", "category"), Column("z", "number")])
    {'x': 'the same value in every row', 'y': 'no values'}
    """
    reasons = ((column.name, _why_unusable(frame[column.name], column)) for column in columns)
    return {name: reason for name, reason in reasons if reason}


def _why_unusable(values: pd.Series[Any], column: Column) -> str:
    there = int(values.notna().sum())
    if not there:
        return "no values"
    if there == len(values) and (values == values.iloc[0]).all():
        return "the same value in every row"
    if column.kind == "category":
        different = int(values.nunique())
        if different > max(ID_VALUES, ID_SHARE * there):
            return f"{different:,} different values in {there:,} rows"
    if values.dtype.kind == "i" and len(values) > ID_VALUES and (np.diff(values) == 1).all():
        return "it counts the rows"
    return ""


def described(
    model: Any, columns: Sequence[Column], left_out: dict[str, str] | None = None
) -> list[str]:
    """What is done to the columns, in sentences.

    Examples
    --------
    >>> import pandas as pd
    >>> columns = [Column("age", "number")]
    >>> model = model_for(pd.DataFrame({"age": [31]}), columns)
    >>> described(model, columns, {"id": "no values"})[1:]
    ['Left out: id (no values)']
    """
    transformer = model if hasattr(model, "transformers") else model.named_steps["columns"]
    steps = {what: step for what, step, _ in transformer.transformers}
    filled = "missing ones become the median, with a column that says so"
    numbers = {
        "AsFloats": "taken as they are, missing ones too",
        "SimpleImputer": filled,
        "Pipeline": f"{filled}; scaled",
    }
    categories = {
        "OneHotEncoder": f"one column for each value, at most {MOST_VALUES}; rare and new values "
        "share one",
        "OrdinalEncoder": "one column of codes; new values count as one that is not known",
    }
    dates = "days since 1970, month and weekday"
    if "dates" in steps and "simpleimputer" in steps["dates"].named_steps:
        dates += f"; {filled}"
    named = {what: type(step).__name__ for what, step in steps.items()}
    done = {
        "number": numbers.get(named.get("numbers", ""), ""),
        "boolean": f"0 and 1; {numbers.get(named.get('numbers', ''), '')}",
        "category": categories.get(named.get("categories", ""), ""),
        "date": dates,
    }
    sentences = []
    for kind, (one, many) in _NOUNS.items():
        n = sum(column.kind == kind for column in columns)
        if n:
            sentences.append(f"{n:,} {one if n == 1 else many}: {done[kind]}")
    if left_out:
        reasons = ", ".join(f"{name} ({reason})" for name, reason in left_out.items())
        sentences.append(f"Left out: {reasons}")
    return sentences
