"""What rows have beside X and y: columns, further data sets, what the deployed model decides."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from setpoint.array_types import Codes, Floats
from setpoint.counts import Column
from setpoint.errors import GoalError, InputError, InputTypeError, nearest, quoted
from setpoint.inputs.arrays import (
    TEXT,
    Array,
    UnfittedError,
    check_length,
    column_names,
    column_of,
    frame_of,
    is_missing,
    kind_of,
    levels_of,
    numbers_of,
    one_column,
    refuse,
    series_values,
    some,
)
from setpoint.inputs.classes import ClassOrder
from setpoint.parameters import is_number

MOST_LEVELS = 50
"""A sensitive column with more values than this is refused: its groups would be tiny."""


def as_columns(
    sensitive_features: Any,
    *,
    n_rows: int,
    X: Any = None,
    wanted: Iterable[str] = (),
    free: Iterable[str] = (),
    missing: bool = False,
    who: str = "the goal refers to",
    most: int = MOST_LEVELS,
    numbers: Iterable[str] = (),
) -> dict[str, Column]:
    """Side information as named columns of plain values."""
    names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    free = set(free)
    columns: dict[str, Column] = {}
    asked = tuple(dict.fromkeys((*names, *numbers)))
    for name, values, where in _named(sensitive_features, n_rows, X, asked, who):
        known = isinstance(values, Column)
        column = values.values if known else one_column(values, where)
        check_length(column, n_rows, where)
        columns[name] = values if known else _plain(column)
    for name in names:
        if name not in columns:
            raise GoalError(_absent(name, columns, X, who))
        check_groups(columns[name], name, name in free, missing, most)
    return columns


def _named(
    given: Any, n_rows: int, X: Any, wanted: tuple[str, ...], who: str
) -> list[tuple[str, Any, str]]:
    """(name, values, what messages call it) for each column given."""
    what = "sensitive_features"
    if given is None:
        return []
    words = [given] if isinstance(given, str) else given
    if words is not given or (isinstance(words, (list, tuple)) and _are_names(words, n_rows, X)):
        out = [(name, column_of(X, name, what), f"{what}[{name!r}]") for name in words]
        if twice := [name for i, name in enumerate(words) if name in words[:i]]:
            raise InputError(f"{quoted(what)} names the column {twice[0]!r} of X twice")
        return out
    if isinstance(given, Mapping):
        items = list(given.items())
    elif (frame := frame_of(given, what)) is not None:
        items = [(name, frame.get_column(name)) for name in frame.columns]
    else:
        nested = isinstance(given, (list, tuple)) and given and isinstance(given[0], (list, tuple))
        shape: Any = (len(given), len(given[0])) if nested else getattr(given, "shape", ())
        if len(shape) > 1 and shape[1] != 1:
            raise InputError(
                f"{quoted(what)} has the shape {shape} and no column names; pass a frame, or a "
                "dict from names to columns"
            )
        return [(_name_of(given, wanted, who), given, what)]
    for name, _ in items:
        if not isinstance(name, str) or not name:
            raise InputTypeError(f"{quoted(what)}: column names must be text, found {name!r}")
    return [(name, values, f"{what}[{name!r}]") for name, values in items]


def _are_names(words: Sequence[Any], n_rows: int, X: Any) -> bool:
    """Whether words are names of columns of `X` (right or wrong) rather than values."""
    if not words or not all(isinstance(word, str) for word in words):
        return False
    frame = frame_of(X)
    known = frame is not None and set(frame.columns).issuperset(words)
    once = len(set(words)) == len(words)
    return known and once if len(words) == n_rows else known or once


def _name_of(given: Any, wanted: tuple[str, ...], who: str) -> str:
    """The name of a lone column; "sensitive_feature" where nobody asks for one."""
    name = getattr(given, "name", None)
    if isinstance(name, str) and name:
        return name
    if len(wanted) > 1:
        raise InputError(
            f"`sensitive_features` is one column without a name, but {who} {some(wanted)}; pass a "
            "frame, or a dict from names to columns"
        )
    return wanted[0] if wanted else "sensitive_feature"


def _absent(name: str, columns: Mapping[str, Column], X: Any, who: str) -> str:
    message = f"{who} the column {name!r}, but `sensitive_features` "
    message += "has no column of that name" if columns else "is not given"
    frame = frame_of(X)
    if frame is not None and name in frame.columns:
        return f"{message}; X has it: pass `sensitive_features={name!r}`"
    return f"{message} ({nearest(name, columns)})" if columns else message


def _plain(values: Array) -> Column:
    """A column of bool, int64, float64 or text, or of plain Python values, None for missing."""
    kind = values.dtype.kind
    if kind in TEXT:
        return Column(values if kind == "U" else values.astype(object))
    if kind == "f":
        return Column(values.astype(np.float64, copy=False))
    if kind == "i" or (kind == "u" and values.dtype.itemsize < 8):
        return Column(values.astype(np.int64, copy=False))
    if kind != "O":
        return Column(values)
    raw = Column(values)
    try:
        levels, codes = raw.levels, raw.codes
    except TypeError:  # lists or dicts: refused where somebody asks for them
        return raw
    if set(map(type, levels)) == {str}:
        return raw
    plain = [
        None if is_missing(v) else v.item() if isinstance(v, np.generic) else v for v in levels
    ]
    types = set(map(type, plain))
    for one, dtype in ((bool, np.bool_), (int, np.int64), (float, np.float64)):
        if types == {one}:
            try:
                return Column(np.array(plain, dtype=dtype)[codes])
            except OverflowError:
                break
    return Column(np.fromiter(plain, dtype=object, count=len(plain))[codes])


def check_groups(
    column: Column,
    name: str,
    free: bool = False,
    missing: bool = False,
    most: int = MOST_LEVELS,
) -> None:
    """Refuse a column whose values cannot be groups."""
    where = f"`sensitive_features[{name!r}]`"
    kind = column.values.dtype.kind
    levels, codes = levels_of(column, where), column.codes
    none, endless = (np.zeros(len(levels), dtype=bool) for _ in range(2))
    odd = "" if kind in "biufUO" else str(column.values.dtype)
    for i, v in enumerate(levels) if kind not in "biU" else ():
        none[i] = is_missing(v)
        endless[i] = isinstance(v, float) and np.isinf(v)
        if kind == "O" and not none[i] and kind_of(type(v)) == "other":
            odd = odd or type(v).__name__
    fill = "fill them in, for example with 'unknown', which is a group of its own then"
    if none.any() and not missing:
        refuse(none[codes], where, "missing", fill)
    other = "groups are text, finite numbers or booleans: put a number or a text in their place"
    if endless.any():
        refuse(endless[codes], where, "infinite", other)
    if odd:
        raise InputError(
            f"{where} holds values of type {odd}; groups are text, numbers or booleans"
        )
    if not free and len(levels) > most:
        raise InputError(
            f"{where} has {len(levels)} distinct values, at most {most} are allowed since "
            "each is a group of its own; join them into fewer first, such as ranges"
        )


# --- Further data sets beside the one that is fitted ----------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows with whatever belongs to them, stored untouched and checked in ``fit``.

    Parameters
    ----------
    X : array-like, sparse or frame of shape (N, p)
        The rows.
    y : array-like of shape (N,), optional
        Their class labels; None for an unlabelled set.
    sample_weight : array-like of shape (N,), optional
        Their weights.
    sensitive_features : column, frame, dict, str or list of str, optional
        Their side information, as in ``fit``.
    baseline : array-like of shape (N,) or classifier, optional
        The deployed model's predictions for them, or the model itself.
    units : array-like of shape (N,) or str, optional
        The customer, document or case that each row belongs to, as in ``fit``.

    Raises
    ------
    TypeError
        If `X` is None.

    Examples
    --------
    >>> import numpy as np
    >>> Dataset(np.zeros((90, 4)), np.ones(90), baseline=np.zeros(90))
    Dataset(X: (90, 4), y: (90,), baseline: (90,))
    """

    X: Any
    y: Any = None
    _: KW_ONLY
    sample_weight: Any = None
    sensitive_features: Any = None
    baseline: Any = None
    units: Any = None

    def __post_init__(self) -> None:
        if self.X is None:
            raise InputTypeError("Dataset: X is None; a data set needs rows")

    def __repr__(self) -> str:
        parts = [(f.name, getattr(self, f.name)) for f in fields(self)]
        return f"Dataset({', '.join(f'{k}: {_shape(v)}' for k, v in parts if v is not None)})"


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """Rows without labels, and a proxy of the labels that labelled rows have too.

    A proxy is a guess made before the labels were looked at, such as a cheap judge's probability
    or the answer of another model. It may be as bad as it likes: then it is of no use, and no
    promise breaks. But neither it, nor the model or rule that is judged, may have been fitted or
    chosen on the labelled rows, which cannot be checked here.

    Parameters
    ----------
    X : array-like, sparse matrix or frame of shape (N, p)
        Rows drawn like the labelled ones. What the rule or ``predict`` takes; of
        :func:`setpoint.evaluate` the predicted labels (N,), or a frame with that column.
    proxy : array-like of shape (N,), or str
        For each row the chance of the positive class, from 0 to 1; or the name of a column of
        this X and of that of the labelled rows.
    of_labelled : array-like of shape (n,), optional
        The proxy of the labelled rows, where `proxy` is not a name.
    sensitive_features : column, frame, dict, str or list of str, optional
        Their side information, as in ``fit``, where the goal refers to groups.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Unlabelled, evaluate
    >>> rng = np.random.default_rng(0)
    >>> harmful = rng.random(10_000) < 0.3
    >>> proxy = np.clip(0.5 + 0.4 * (2 * harmful - 1) + rng.normal(0, 0.1, 10_000), 0, 1)
    >>> removed = (rng.random(10_000) < np.where(harmful, 0.8, 0.1)).astype(int)
    >>> few, rest = slice(0, 200), slice(200, None)
    >>> more = Unlabelled(removed[rest], proxy[rest], proxy[few])
    >>> y = harmful[few].astype(int)
    >>> report = evaluate("maximize recall", y, removed[few], unlabelled=more)
    >>> print(report.warnings[0])
    recall: the proxy was worth 1,479 labelled rows
    """

    X: Any
    proxy: Any
    of_labelled: Any = None
    sensitive_features: Any = None

    def chances(self, X: Any) -> list[Floats]:
        """The proxy of labelled rows X (n,), and of those without labels (N,)."""
        out, named = [], isinstance(self.proxy, str)
        for rows, given, name in (
            (X, self.of_labelled, "of_labelled"),
            (self.X, self.proxy, "proxy"),
        ):
            values = column_of(rows, self.proxy, "proxy") if named else given
            where = f"`unlabelled`: {name}"
            column = numbers_of(one_column(values, where), where)
            check_length(column, _num_samples(rows), where)
            bad = (column < 0) | (column > 1)
            refuse(bad, where, "outside [0, 1]", "a proxy is the chance of the positive class")
            out.append(column)
        return out


def as_datasets(datasets: Any) -> dict[str, Dataset]:
    """The argument ``datasets`` of ``fit`` as a dict from names to data sets."""
    if datasets is None:
        return {}
    if not isinstance(datasets, Mapping):
        raise InputTypeError(
            "`datasets` must be a dict from names to Dataset, (X, y) or X, found "
            f"{type(datasets).__name__}"
        )
    result: dict[str, Dataset] = {}
    for name, value in datasets.items():
        if not isinstance(name, str):
            raise InputTypeError(f"`datasets`: names must be text, found {name!r}")
        if not name.strip():
            raise InputError("`datasets`: a name is empty")
        result[name] = _as_dataset(name, value)
    return result


def _as_dataset(name: str, value: Any) -> Dataset:
    if isinstance(value, Dataset):
        return value
    if value is None:
        raise InputTypeError(f"`datasets[{name!r}]` is None; pass a Dataset, (X, y) or X")
    if isinstance(value, tuple):
        if len(value) != 2:
            raise InputError(
                f"`datasets[{name!r}]` is a tuple of {len(value)}; pass (X, y), or a Dataset with "
                "weights and side information by name"
            )
        return Dataset(*value)
    return Dataset(value)


def _shape(value: Any) -> str:
    """What a repr says of an argument: its shape, else its names, else its type."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return str(shape)
    if isinstance(value, (str, Mapping)):
        return repr(value) if isinstance(value, str) else f"columns {list(value)}"
    if not isinstance(value, (list, tuple)):
        return type(value).__name__
    nested = bool(value) and isinstance(value[0], (list, tuple))
    return str((len(value), len(value[0])) if nested else (len(value),))


# --- Columns of a frame by their names ------------------------------------------------------------


def columns_of(frame: Any, **roles: Any) -> dict[str, Any]:
    """The columns of a frame in memory that are named; what is not a name stays as it is."""
    if frame_of(frame) is None:
        raise InputTypeError(
            "arguments name columns of a frame, found data of type "
            f"{type(frame).__name__}; of arrays scores and labels themselves are passed"
        )
    out: dict[str, Any] = {}
    for role, given in roles.items():
        several = isinstance(given, (list, tuple)) and all(isinstance(n, str) for n in given)
        if isinstance(given, str) and role != "sensitive_features":
            out[role] = column_of(frame, given, role)
        elif isinstance(given, str) or (several and role == "sensitive_features"):
            names = [given] if isinstance(given, str) else list(given)
            out[role] = {name: column_of(frame, name, role) for name in names}
        elif several and role == "scores":
            columns = [np.asarray(column_of(frame, name, role), np.float64) for name in given]
            out[role] = np.column_stack(columns)
        else:
            out[role] = given
    return out


# --- The deployed model: what it decides today, and by which scores -------------------------------


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
        threshold = "" if self.threshold is None else f", threshold={self.threshold:g}"
        return f"Deployed({source}{threshold})"

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
    """What was given for the rows of a frame or Series, in the order of its rows."""
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
    """Some rows of what was given, wherever it has a value for each row."""
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
