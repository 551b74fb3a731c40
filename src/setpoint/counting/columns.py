"""Columns of a pass: their kinds, their names in it, and what comes back of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.counting.reading import plain
from setpoint.counting.source import Rest

__all__ = ["Field", "Marks", "kind_of", "levels_of", "numbers", "whole"]


def kind_of(dtype: nw.dtypes.DType) -> str:
    """The kind of a column: "number", "boolean", "text" or "other"."""
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "boolean"
    return "text" if dtype in (nw.String, nw.Categorical, nw.Enum) else "other"


class Field(NamedTuple):
    """A column that rows are grouped by, under the name it has in a pass."""

    name: str
    dtype: nw.dtypes.DType
    only: tuple[Any, ...] | None

    @property
    def levels(self) -> list[Any]:
        """What the codes of a column with `only` stand for."""
        return [*(self.only or ()), Rest.REST, None]


class Marks(NamedTuple):
    """Names of a pass's columns, unlike all of the table's."""

    score: str
    weight: str
    state: str
    bin: str
    whole: str
    squares: str
    off: str
    rows: str
    low: str
    high: str
    least: str
    most: str
    key: str

    @classmethod
    def beside(cls, names: Sequence[str]) -> Marks:
        """Names that begin unlike all of these, whatever their case."""
        prefix = "setpoint_"
        while any(name.lower().startswith(prefix) for name in names):
            prefix += "_"
        return cls(*(prefix + name for name in cls._fields))


def numbers(lines: nw.DataFrame[Any], name: str) -> Floats:
    """A column as floats."""
    return np.array(lines[name].to_numpy(), np.float64)


def whole(lines: nw.DataFrame[Any], name: str) -> Codes:
    """A column as integers."""
    return np.array(lines[name].to_numpy(), np.int64)


def levels_of(column: nw.Series[Any], field: Field) -> tuple[list[Any], Codes]:
    """The values that occur, ascending, and each line's place among them."""
    if field.only is not None:
        used, codes = np.unique(np.array(column.to_numpy(), np.int64), return_inverse=True)
        return [plain(field.levels[k]) for k in used], codes.astype(np.int64)
    places: dict[Any, int] = {}
    seen: dict[Any, int] = {}  # as the engine has them: equal ones are looked at once
    raw = list[int]()
    for value in column.to_list():
        place = seen.get(value)
        if place is None:
            place = seen[value] = places.setdefault(plain(value), len(places))
        raw.append(place)
    levels = sorted(places, key=_order)
    rank = np.empty(len(levels), np.int64)
    rank[[places[v] for v in levels]] = np.arange(len(levels))
    return levels, rank[np.array(raw, np.int64)]


def _order(value: Any) -> tuple[bool, str, Any]:
    """Numbers among themselves, others by type; what is missing last."""
    if value is None:
        return (True, "", 0)
    return (False, "" if isinstance(value, int | float) else type(value).__name__, value)
