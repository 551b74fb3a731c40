"""Columns looked at: odd ones, too good ones; from columns to features and learners."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from setpoint.classifiers import AsFloats
from setpoint.errors import InputError, nearest
from setpoint.judging import MOST_VALUES, as_codes, filled, one_hot
from setpoint.tables.rows import note, step
from setpoint.tables.table import ID_SHARE, ID_VALUES, TableColumn, needed

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.report import GoalReport
    from setpoint.tables.fitted import FittedModel


# --- What the columns of a table held where a model was fitted ------------------------------------


_MOST_VALUES = 200
_SOME = 0.02
"""Fewer rows than this share are not worth a word."""


def profile_of(frame: pd.DataFrame, columns: Sequence[TableColumn]) -> dict[str, list[Any]]:
    """The ends of each column of numbers, and the values of each column of text.

    Examples
    --------
    >>> import pandas as pd
    >>> from setpoint.tables import kinds_of
    >>> frame = pd.DataFrame({"age": [31, 45], "city": ["Bonn", "Kiel"]})
    >>> profile_of(frame, kinds_of(frame))
    {'age': [31.0, 45.0], 'city': ['Bonn', 'Kiel']}
    """
    out: dict[str, list[Any]] = {}
    for column in columns:
        values = frame[column.name].dropna()
        if not len(values):
            continue
        if column.kind == "number":
            out[column.name] = [float(values.min()), float(values.max())]
        elif column.kind == "category":
            seen = sorted(map(str, values.unique()))
            if len(seen) <= _MOST_VALUES:
                out[column.name] = seen
    return out


def odd_columns(frame: pd.DataFrame, profile: Mapping[str, Sequence[Any]]) -> list[str]:
    """Columns of which at least 2 % of the rows hold what no row of the fit did, in words.

    Examples
    --------
    >>> import pandas as pd
    >>> profile = {"age": [31.0, 45.0], "city": ["Bonn", "Kiel"]}
    >>> odd_columns(pd.DataFrame({"age": [40, 90], "city": ["Bonn", "Bonn"]}), profile)
    ['age: 50 % beyond 31 to 45']
    """
    found: list[tuple[float, str]] = []
    for name, seen in profile.items():
        values = frame[name].dropna()
        if not len(values):
            if len(frame):
                found.append((1.0, f"{name}: no value in any row"))
            continue
        if isinstance(seen[0], str):
            share = 1.0 - float(np.mean(values.isin(list(seen))))
            text = "values never seen"
        else:
            low, high = seen
            numbers = values.to_numpy(dtype=np.float64)
            share = float(np.mean((numbers < low) | (numbers > high)))
            text = f"beyond {low:g} to {high:g}"
        if share >= _SOME:
            found.append((share, f"{name}: {100 * share:.3g} % {text}"))
    return [text for _, text in sorted(found, key=lambda pair: -pair[0])]


# --- Columns that are too good to be true: one that decides the class -----------------------------


_ALMOST = 0.999
"""The share of rows of each class, or of a group, that a column has to get right."""

_TAIL = 0.01  # well above what `_ALMOST` leaves wrong

_FEWEST = 20
"""Rows of a class or a group below which nothing is said."""

_MOST_LEVELS = 0.1
"""A column with more values a row is an identifier, and knows every row by itself."""


def decides_alone(column: pd.Series, y: pd.Series) -> bool:
    """Whether one column, or whether it is filled, tells the classes apart all but perfectly.

    Examples
    --------
    >>> import pandas as pd
    >>> y = pd.Series(["stays"] * 30 + ["leaves"] * 30)
    >>> decides_alone(pd.Series([None] * 30 + ["May"] * 30), y)
    True
    >>> decides_alone(pd.Series(range(60)) % 7, y)
    False
    """
    import pandas as pd

    known = y.notna().to_numpy()
    classes = pd.factorize(y[known])[0]
    sizes = np.bincount(classes)
    if len(sizes) < 2 or sizes.min() < _FEWEST:
        return False
    column = column[known]
    missing = column.isna().to_numpy()
    if missing.any() and _purity(_counts(missing, classes)) >= _ALMOST:
        return True
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        values = np.where(np.isnan(values), -np.inf, values)  # missing as lowest
        if len(sizes) != 2 or _overlap(values[classes == 0], values[classes == 1]):
            return False
        counts = _counts(np.unique(values, return_inverse=True)[1], classes)
        below, other = (counts.cumsum(axis=0) / counts.sum(axis=0)).T
        best = np.maximum(np.minimum(below, 1 - other), np.minimum(other, 1 - below)).max()
        return bool(best >= _ALMOST)
    codes, levels = pd.factorize(column, use_na_sentinel=False)
    return len(levels) <= _MOST_LEVELS * len(codes) and _purity(_counts(codes, classes)) >= _ALMOST


def gives_away(column: pd.Series, group: pd.Series) -> bool:
    """Whether the values of one column say which group a row is of.

    Examples
    --------
    >>> import pandas as pd
    >>> race = pd.Series(["black", "white", "asian"] * 40)
    >>> gives_away(race == "black", race), gives_away(race.str.upper(), race)
    (True, True)
    >>> gives_away(pd.Series(["f", "m"] * 60), race)
    False
    """
    import pandas as pd

    codes, levels = pd.factorize(column, use_na_sentinel=False)
    groups = pd.factorize(group, use_na_sentinel=False)[0]
    sizes = np.bincount(groups).astype(np.float64)
    if not 1 < len(levels) <= max(_MOST_LEVELS * len(codes), 2) or len(sizes) < 2:
        return False
    # One group alone that values stand for is given away, though others are not. Only the
    # pairs that there are count: groups may be thousands, such as the values of a postcode.
    pairs, inside = np.unique(codes * len(sizes) + groups, return_counts=True)
    value, k = np.divmod(pairs, len(sizes))
    outside = np.bincount(codes)[value] - inside
    others = len(codes) - sizes
    stands = inside / sizes[k] > outside / others[k]
    found = np.bincount(k, inside * stands, minlength=len(sizes)) / sizes
    kept = 1.0 - np.bincount(k, outside * stands, minlength=len(sizes)) / others
    return bool((np.minimum(found, kept)[sizes >= _FEWEST] >= _ALMOST).any())


def suspects(
    frame: pd.DataFrame, target: str, features: Sequence[str], hidden: Sequence[str]
) -> list[str]:
    """A sentence, noted, for each feature that decides the class alone, or gives a group away."""
    out = []
    with step("looking for columns that know the target"):
        for name in features:
            if decides_alone(frame[name], frame[target]):
                out.append(
                    f"The column {name} alone decides {target}: if it is filled in after the fact, "
                    "this result will not be seen on new rows. Leave it out unless it is known in "
                    "time."
                )
            out += [
                f"The column {name} says which group of {group} a row is of, so the model looks at "
                f"{group} though it is not shown to it. Leave it out too."
                for group in hidden
                if gives_away(frame[name], frame[group])
            ]
    for sentence in out:
        note(sentence)
    return out


def _counts(codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Rows of each value, a row of the result, by class."""
    n = classes.max() + 1
    counts = np.bincount(codes * n + classes, minlength=(codes.max() + 1) * n)
    return counts.reshape(-1, n).astype(np.float64)


def _purity(counts: np.ndarray) -> float:
    """The smallest share of a class that is found where each value takes its likeliest class."""
    sizes = counts.sum(axis=0)
    best = (counts / sizes).argmax(axis=1)
    right = np.bincount(best, counts[np.arange(len(best)), best], minlength=len(sizes))
    return float((right / sizes).min())


def _overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two classes overlap so much that no cut-off gets `_ALMOST` all right: no sorting."""
    (low, high), (other_low, other_high) = map(_ends, (one, other))
    return bool(high > other_low and other_high > low)


def _ends(values: np.ndarray) -> tuple[float, float]:
    """The values that at least 1 % lie at or below, and fewer than 99 % below."""
    low, high = int(np.ceil(_TAIL * len(values))) - 1, int(np.ceil((1 - _TAIL) * len(values))) - 1
    found = np.partition(values, (low, high))
    return found[low], found[high]


# --- What of new rows is not as it was where a rule was chosen, in words --------------------------


_ERRORS, _RATIO = 4.0, 1.2
_SHOWN = 3


def differs(share: float, n: int, before: float, n_before: float) -> bool:
    """Whether two shares differ by more than chance, and by a fifth.

    Examples
    --------
    >>> differs(0.033, 10_000, 0.117, 30_000), differs(0.12, 10_000, 0.117, 30_000)
    (True, False)
    """
    if n_before <= 0 or n == 0:
        return False
    pooled = (share * n + before * n_before) / (n + n_before)
    error = math.sqrt(max(pooled * (1 - pooled), 0.0) * (1 / n + 1 / n_before))
    low, high = sorted((share, before))
    return abs(share - before) > _ERRORS * error and high > _RATIO * low


def odd_rows(model: FittedModel, frame: Any, decisions: Any) -> str:
    """One line on what is odd about rows that were decided; "" if nothing is."""
    counts = model.classifier.goal_report_.counts
    parts: list[str] = []
    if len(counts.classes) == 2 and counts.confusion:
        n, positive = len(decisions), counts.classes[1]
        share = float((decisions == positive).mean())
        total = counts.total
        before = sum(row[1] for row in counts.confusion) / total if total else 0.0
        if differs(share, n, before, min(total, counts.n_rows)):
            parts.append(
                f"{positive!r} for {_percent(share)} of {n:,} rows, and for {_percent(before)} "
                "where the rule was chosen"
            )
    found = odd_columns(frame, model.profile)
    parts += found[:_SHOWN]
    if len(found) > _SHOWN:
        parts.append(f"{len(found) - _SHOWN:,} more columns")
    return "; ".join(parts)


def class_share_moved(report: GoalReport, before: GoalReport) -> str:
    """A sentence on the class whose share differs from that of the fit; "" if none does."""
    now, then = report.counts, before.counts
    if not now.confusion or not then.confusion or now.classes != then.classes:
        return ""
    n, n_before = now.labelled, then.labelled
    if not n or not n_before:
        return ""
    moves = []
    for code, label in enumerate(now.classes):
        share, was = now.of_class(code) / n, then.of_class(code) / n_before
        if differs(share, now.n_rows, was, then.n_rows):
            moves.append((round(abs(share - was), 9), code, label, share, was))
    if not moves:
        return ""
    # Of two classes that moved alike, the positive one stands last.
    *_, label, share, was = max(moves)
    return (
        f"class {label!r} is {_percent(share)} of these rows, and {_percent(was)} of those that "
        "the rule was chosen on: what held there need not hold here"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


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


_NAMED_LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "logistic": ("sklearn.linear_model.LogisticRegression", {"max_iter": 2000}),
    "hist-gradient-boosting": ("sklearn.ensemble.HistGradientBoostingClassifier", {}),
    "random-forest": (
        "sklearn.ensemble.RandomForestClassifier",
        {"n_estimators": 200, "min_samples_leaf": 2},
    ),
}
LEARNERS = tuple(_NAMED_LEARNERS)
"""The models that have a name; others are named by their class."""


def learner_for(name: str, *, seed: int = 0) -> Any:
    """A classifier by its name, not fitted.

    Examples
    --------
    >>> learner_for("sklearn.naive_bayes.GaussianNB")
    GaussianNB()
    """
    path, settings = _NAMED_LEARNERS.get(name, (name, {}))
    made = _class_of(path)
    if "random_state" in inspect.signature(made).parameters:
        settings = settings | {"random_state": seed}
    try:
        return made(**settings)
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


_FILLED = "missing ones become the median, with a column that says so"
_DONE = {
    "AsFloats": "taken as they are, missing ones too",
    "SimpleImputer": _FILLED,
    "Pipeline": f"{_FILLED}; scaled",
    "OneHotEncoder": f"one column for each value, at most {MOST_VALUES}; rare and new values "
    "share one",
    "OrdinalEncoder": "one column of codes; new values count as one that is not known",
}
"""What steps do to a column, in words."""


def model_for(columns: Sequence[TableColumn], estimator: str = "logistic", *, seed: int = 0) -> Any:
    """A pipeline from a frame of mixed columns with missing values to a classifier.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [31, 45, None, 27], "city": ["Bonn", "Kiel", "Bonn", None]})
    >>> columns = [TableColumn("age", "number"), TableColumn("city", "category")]
    >>> model_for(columns).fit(X, [0, 1, 1, 0]).predict_proba(X).shape
    (4, 2)
    """
    from sklearn.pipeline import Pipeline

    transformer = transformer_for(columns, estimator)
    learner = learner_for(estimator, seed=seed)
    n_categories = sum(c.kind == "category" for c in columns)
    if estimator == "hist-gradient-boosting" and n_categories:
        # Categories come first, one column of codes each.
        learner.set_params(categorical_features=list(range(n_categories)))
    return Pipeline([("columns", transformer), ("model", learner)])


def transformer_for(columns: Sequence[TableColumn], estimator: str = "logistic") -> Any:
    """From a frame of mixed columns with missing values to features.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [31, 45, None, 27]})
    >>> transformer_for([TableColumn("age", "number")]).fit_transform(X).shape
    (4, 2)
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder, StandardScaler

    if estimator == "hist-gradient-boosting":
        categories, numbers, dates = as_codes(), AsFloats(), [AsFloats()]
    elif estimator == "random-forest":
        categories = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
        )
        numbers, dates = filled(), [filled()]
    else:
        categories = one_hot(dense=estimator != "logistic")
        numbers, dates = make_pipeline(filled(), StandardScaler()), [filled(), StandardScaler()]
    steps = {
        "categories": (categories, ("category",)),
        "numbers": (numbers, ("number", "boolean")),
        "dates": (make_pipeline(DateParts(), *dates), ("date",)),
    }
    names = {
        what: [c.name for c in columns if c.kind in kinds] for what, (_, kinds) in steps.items()
    }
    return ColumnTransformer(
        [(what, steps[what][0], chosen) for what, chosen in names.items() if chosen],
        remainder="drop",
        sparse_threshold=0.3 if estimator == "logistic" else 0.0,
    )


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
    >>> columns = [TableColumn("age", "number")]
    >>> model = model_for(columns)
    >>> described(model, columns, {"id": "no values"})[1:]
    ['Left out: id (no values)']
    """
    transformer = model if hasattr(model, "transformers") else model.named_steps["columns"]
    steps = {what: step for what, step, _ in transformer.transformers}
    done = {what: _DONE.get(type(step).__name__, "") for what, step in steps.items()}
    numbers, dates = done.get("numbers", ""), "days since 1970, month and weekday"
    if "dates" in steps and "simpleimputer" in steps["dates"].named_steps:
        dates += f"; {_FILLED}"
    said = {
        "number": ("number", "numbers", numbers),
        "boolean": ("true-or-false column", "true-or-false columns", f"0 and 1; {numbers}"),
        "category": ("category", "categories", done.get("categories", "")),
        "date": ("date", "dates", dates),
    }
    found = Counter[str](column.kind for column in columns)
    sentences = [
        f"{found[kind]:,} {one if found[kind] == 1 else many}: {what}"
        for kind, (one, many, what) in said.items()
        if kind in found
    ]
    if left_out:
        reasons = ", ".join(f"{name} ({reason})" for name, reason in left_out.items())
        sentences.append(f"Left out: {reasons}")
    return sentences


# --- The models that race under a goal ------------------------------------------------------------


def auto_model_for(columns: Sequence[TableColumn], *, seed: int = 0) -> dict[str, Any]:
    """Candidates of scikit-learn for a frame of mixed columns with missing values.

    Examples
    --------
    >>> list(auto_model_for([TableColumn("age", "number")]))
    ['logistic', 'boosting of 30 rounds', 'boosting of 120 rounds']
    """
    from sklearn.pipeline import Pipeline

    from setpoint.judging import BOOSTING, LOGISTIC

    n_codes = sum(column.kind == "category" for column in columns)
    made: dict[str, Any] = {}
    for kind in (LOGISTIC, *BOOSTING):
        encoder = transformer_for(columns, "logistic" if kind.linear else "hist-gradient-boosting")
        model = kind.make(seed, 0 if kind.linear else n_codes)
        made[kind.name] = Pipeline([("columns", encoder), ("model", model)])
    return made
