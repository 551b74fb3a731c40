"""Further data sets beside the one that is fitted.

A goal may refer to them by name: ``accuracy.on("egregious") >= 1.0``,
``predicted_rate.on("unlabelled") <= 0.1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

from setpoint.errors import InputError, InputTypeError

__all__ = ["Dataset", "as_datasets"]


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
