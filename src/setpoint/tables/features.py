"""From the columns of a table to features and learners; a table to try things on."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from setpoint.errors import InputError, nearest
from setpoint.estimators import AsFloats
from setpoint.judging import MOST_VALUES, as_codes, filled, one_hot
from setpoint.tables.kinds import needed
from setpoint.tables.table import (
    ID_SHARE,
    ID_VALUES,
    TableColumn,
)

if TYPE_CHECKING:
    import pandas as pd


# --- A table to try things on ---------------------------------------------------------------------


def tumours() -> pd.DataFrame:
    """Measurements of cell nuclei in 569 breast tumours, 212 of them malignant.

    Examples
    --------
    >>> table = tumours()
    >>> table.shape, table["diagnosis"].value_counts().to_dict()
    ((569, 11), {'benign': 357, 'malignant': 212})
    """
    from sklearn.datasets import load_breast_cancer

    frames = needed("pandas")
    data = load_breast_cancer()
    names = [name.replace(" ", "_") for name in data.feature_names]
    frame: pd.DataFrame = frames.DataFrame(data.data, columns=names)
    frame = frame[[name for name in names if name.startswith("mean_")]]
    frame["diagnosis"] = data.target_names[data.target].astype(object)
    return frame


# --- The model inside, by name --------------------------------------------------------------------


LEARNERS = ("logistic", "hist-gradient-boosting", "random-forest")
"""The models that have a name; others are named by their class."""


def learner_for(name: str, *, seed: int = 0) -> Any:
    """A classifier by its name, not fitted.

    Examples
    --------
    >>> learner_for("sklearn.naive_bayes.GaussianNB")
    GaussianNB()
    """
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=2000, random_state=seed)
    if name == "hist-gradient-boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=seed)
    if name == "random-forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(n_estimators=200, min_samples_leaf=2, random_state=seed)
    made = _class_of(name)
    named = inspect.signature(made).parameters
    try:
        return made(random_state=seed) if "random_state" in named else made()
    except TypeError as error:
        raise InputError(
            f"the estimator {name} cannot be made without arguments ({error}); wrap it in a class "
            "of your own that can"
        ) from None


def _class_of(name: str) -> Any:
    allowed = f"allowed are {', '.join(LEARNERS)}, or a class such as sklearn.svm.SVC"
    module, dot, word = name.rpartition(".")
    if not dot or not all(part.isidentifier() for part in name.split(".")):
        raise InputError(f"there is no estimator {name!r} ({nearest(name, LEARNERS)}); {allowed}")
    try:
        found = getattr(import_module(module), word, None)
    except ImportError as error:
        raise InputError(f"the estimator {name} cannot be imported: {error}; {allowed}") from None
    if found is None:
        known = [n for n in dir(import_module(module)) if not n.startswith("_")]
        raise InputError(f"{module} has no {word!r} ({nearest(word, known)}); {allowed}")
    # Of the class: a method that hangs on arguments, as SVC's predict_proba, is there all the same.
    scores = hasattr(found, "predict_proba") or hasattr(found, "decision_function")
    if not inspect.isclass(found) or not hasattr(found, "fit") or not scores:
        raise InputError(
            f"{name} is not a class with fit, and predict_proba or decision_function; {allowed}"
        )
    return found


# --- Dates as a model takes them ------------------------------------------------------------------


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


# --- From the columns of a table to a model: what is done to numbers ------------------------------


_NOUNS = {
    "number": ("number", "numbers"),
    "boolean": ("true-or-false column", "true-or-false columns"),
    "category": ("category", "categories"),
    "date": ("date", "dates"),
}


def model_for(
    frame: pd.DataFrame,
    columns: Sequence[TableColumn],
    estimator: str = "logistic",
    *,
    seed: int = 0,
) -> Any:
    """A pipeline from a frame of mixed columns with missing values to a classifier.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [31, 45, None, 27], "city": ["Bonn", "Kiel", "Bonn", None]})
    >>> columns = [TableColumn("age", "number"), TableColumn("city", "category")]
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
    frame: pd.DataFrame, columns: Sequence[TableColumn], estimator: str = "logistic"
) -> Any:
    """From a frame of mixed columns with missing values to features.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [31, 45, None, 27]})
    >>> transformer_for(X, [TableColumn("age", "number")]).fit_transform(X).shape
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


def unusable(frame: pd.DataFrame, columns: Sequence[TableColumn]) -> dict[str, str]:
    """Columns that a model should not look at, with the reason.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1.0, 1.0], "y": [None, None], "z": [1, 5]})
    >>> kinds = {"x": "number", "y": "category", "z": "number"}
    >>> unusable(frame, [TableColumn(*kind) for kind in kinds.items()])
    {'x': 'the same value in every row', 'y': 'no values'}
    """
    reasons = ((column.name, _why_unusable(frame[column.name], column)) for column in columns)
    return {name: reason for name, reason in reasons if reason}


def _why_unusable(values: pd.Series[Any], column: TableColumn) -> str:
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
    model: Any, columns: Sequence[TableColumn], left_out: dict[str, str] | None = None
) -> list[str]:
    """What is done to the columns, in sentences.

    Examples
    --------
    >>> import pandas as pd
    >>> columns = [TableColumn("age", "number")]
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


# --- The models that race under a goal ------------------------------------------------------------


def auto_model_for(
    frame: pd.DataFrame, columns: Sequence[TableColumn], *, seed: int = 0
) -> dict[str, Any]:
    """Candidates of scikit-learn for a frame of mixed columns with missing values.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [31, 45, None, 27]})
    >>> list(auto_model_for(X, [TableColumn("age", "number")]))
    ['logistic', 'boosting of 30 rounds', 'boosting of 120 rounds']
    """
    from sklearn.pipeline import Pipeline

    from setpoint.judging import BOOSTING, LOGISTIC

    n_codes = sum(column.kind == "category" for column in columns)
    made: dict[str, Any] = {}
    for kind in (LOGISTIC, *BOOSTING):
        encoder = transformer_for(
            frame, columns, "logistic" if kind.linear else "hist-gradient-boosting"
        )
        model = kind.make(seed, 0 if kind.linear else n_codes)
        made[kind.name] = Pipeline([("columns", encoder), ("model", model)])
    return made
