"""Columns of numbers by which rows count: amounts, credit lines, minutes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.evidence.columns import Column
from setpoint.goals.errors import GoalError, nearest
from setpoint.inputs.arrays import column_of, first_bad, floats_of, frame_of, one_column, some

__all__ = ["in_frame", "number_columns", "numbers_of"]

_LARGEST = 1e100


def in_frame(X: Any, name: str) -> bool:
    """Whether X is a frame with a column of that name."""
    frame = frame_of(X)
    return frame is not None and name in frame.columns


def number_columns(
    wanted: Mapping[str, bool],
    known: Mapping[str, Column],
    X: Any,
    where: str = "",
    who: str = "the goal counts rows by",
) -> dict[str, Column]:
    """The columns by which rows count, from the side information or else from X.

    Examples
    --------
    >>> column = Column(np.array([3, 5]))
    >>> number_columns({"amount": True}, {"amount": column}, None)["amount"].values
    array([3., 5.])
    """
    out = {}
    for name, weighs in wanted.items():
        if name in known:
            source, values = f"`sensitive_features[{name!r}]`", known[name].values
        elif in_frame(X, name):
            source = f"the column {name!r} of X"
            values = one_column(column_of(X, name, "X"), source)
        else:
            names = [*known, *(getattr(frame_of(X), "columns", None) or ())]
            raise GoalError(
                f"{where}{who} the column {name!r}, and neither `sensitive_features` nor X has it "
                f"({nearest(name, names)})"
            )
        out[name] = Column(numbers_of(values, f"{where}{source}"))
        low = out[name].values.min(initial=0.0)
        if weighs and low < 0.0:
            first = int(np.argmax(out[name].values < 0.0))
            raise InputError(
                f"{where}{source} weighs rows, and a weight is 0 or more: row {first} has "
                f"{out[name].values[first]:.6g}"
            )
    return out


def numbers_of(values: Any, where: str) -> Floats:
    """Values as finite numbers (N,)."""
    array = np.asarray(values)
    if array.dtype == object and all(_is_number(v) for v in array):
        array = floats_of(array, where)
    if array.dtype.kind not in "iuf":
        held = f"of type {array.dtype}"
        if array.dtype.kind in "OU":
            held = f"such as {some(list(dict.fromkeys(array.tolist()))[:1])}"
        raise InputError(
            f"{where}: rows count by it, and it holds values {held}; it may hold numbers"
        )
    numbers = array.astype(np.float64, copy=False)
    bad = ~np.isfinite(numbers)
    if bad.any():
        what = "missing" if np.isnan(numbers[bad][0]) else "infinite"
        kind = np.isnan(numbers) if what == "missing" else bad
        raise InputError(
            f"{where}: rows count by it, and it has {first_bad(kind, what)}; it may "
            "hold finite numbers"
        )
    huge = np.abs(numbers) > _LARGEST
    if huge.any():
        raise InputError(
            f"{where}: rows count by it, and it has {first_bad(huge, 'huge')}; values lie within "
            f"{_LARGEST:g} of 0, where they can be added: divide the column"
        )
    return numbers


def _is_number(value: Any) -> bool:
    """Whether a value of a column of objects is a number, or missing."""
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
