"""Side information: sensitive features and other columns that a goal refers to.

Every check is made here, before any fitting, and its message names the argument, what
was found and what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

import numpy as np

from setpoint.counts import Column
from setpoint.errors import GoalError, InputError, InputTypeError, nearest, quoted
from setpoint.inputs.arrays import (
    TEXT,
    Array,
    check_length,
    column_of,
    first_bad,
    frame_of,
    is_missing,
    kind_of,
    levels_of,
    one_column,
    some,
)

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
    """Side information as named columns of plain values.

    Examples
    --------
    >>> as_columns(["f", "m", "f"], n_rows=3, wanted=["sex"])["sex"].levels
    ['f', 'm']
    """
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
    if isinstance(given, str):
        return _of_X([given], X)
    if isinstance(given, (list, tuple)) and _are_names(given, n_rows, X):
        return _of_X(list(given), X)
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


def _of_X(names: list[str], X: Any) -> list[tuple[str, Any, str]]:
    what = "sensitive_features"
    out = [(name, column_of(X, name, what), f"{what}[{name!r}]") for name in names]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InputError(f"{quoted(what)} names the column {name!r} of X twice")
    return out


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
    values = column.values
    kind = values.dtype.kind
    if kind == "O":
        levels = levels_of(column, where)
        none = np.array([v is None for v in levels], dtype=bool)
        gone = none[column.codes] if none.any() else none
        strange = [v for v in levels if v is not None and kind_of(type(v)) == "other"]
        odd = type(strange[0]).__name__ if strange else ""
        endless = np.array([isinstance(v, float) and np.isinf(v) for v in levels], dtype=bool)
        infinite = endless[column.codes] if endless.any() else endless
    else:
        gone = np.isnan(values) if kind in "fc" else np.zeros(len(values), dtype=bool)
        infinite = np.isinf(values) if kind in "fc" else gone
        if kind in "mM":
            gone = np.isnat(values)
        levels = [] if gone.any() else column.levels
        odd = "" if kind in "biufU" else str(values.dtype)
    if gone.any() and not missing:
        raise InputError(
            f"{where} has {first_bad(gone, 'missing')}; fill them in, for example with "
            "'unknown', which is a group of its own then"
        )
    if infinite.any():
        raise InputError(
            f"{where} has {first_bad(infinite, 'infinite')}; groups are text, finite numbers or "
            "booleans: put a number or a text in their place"
        )
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

    def __post_init__(self) -> None:
        if self.X is None:
            raise InputTypeError("Dataset: X is None; a data set needs rows")

    def __repr__(self) -> str:
        parts = [(f.name, getattr(self, f.name)) for f in fields(self)]
        return f"Dataset({', '.join(f'{k}: {_shape(v)}' for k, v in parts if v is not None)})"


def as_datasets(datasets: Any) -> dict[str, Dataset]:
    """The argument ``datasets`` of ``fit`` as a dict from names to data sets.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.zeros((5, 2))
    >>> as_datasets({"unlabelled": X, "checked": (X, [0, 1, 0, 1, 1])})
    {'unlabelled': Dataset(X: (5, 2)), 'checked': Dataset(X: (5, 2), y: (5,))}
    """
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
    names = [value] if isinstance(value, str) else value
    if isinstance(names, Mapping):
        return f"columns {list(names)}"
    if isinstance(names, (list, tuple)):
        rows = len(names)
        if isinstance(value, str):
            return repr(value)
        if rows and isinstance(names[0], (list, tuple)):
            return str((rows, len(names[0])))
        return str((rows,))
    return type(value).__name__


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
