"""How many rows a batch has room for, in all or in each group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Bools, Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.evidence.columns import Column
from setpoint.goals.errors import listed, nearest
from setpoint.inputs.arrays import (
    check_length,
    first_bad,
    is_missing,
    kind_of,
    levels_of,
    one_column,
)
from setpoint.parameters import is_integer

__all__ = ["Capacity", "check_at_most"]


def check_at_most(at_most: Any, grouped: bool) -> None:
    """Refuse what is not a number of rows, or a dict of them, before any work.

    Examples
    --------
    >>> check_at_most({"north": 20, "south": 5}, grouped=True)
    """
    if not isinstance(at_most, Mapping):
        numbers = {"at_most": at_most}
    elif not grouped:
        raise InputError(
            "`at_most` has a number for each group, and `by` is not given: it says which column "
            "has the groups"
        )
    elif not at_most:
        raise InputError("`at_most` is empty; it has a number of rows for each group")
    else:
        numbers = {f"at_most[{group!r}]": most for group, most in at_most.items()}
    for name, most in numbers.items():
        if not (is_integer(most) and most >= 1):
            raise InputError(f"`{name}` is a whole number of rows, 1 or more, got {most!r}")


@dataclass(frozen=True, eq=False)
class Capacity:
    """How many rows there is room for.

    Examples
    --------
    >>> room = Capacity.of({"north": 1, "south": 3}, 3, ["north", "north", "south"])
    >>> score = np.array([0.7, 0.9, 0.2])
    >>> room.best(np.array([True, True, True]), [score], lambda: np.zeros(3))
    array([False,  True,  True])
    """

    most: NDArray[np.int64]
    groups: NDArray[np.int64]

    @classmethod
    def of(cls, at_most: Any, n_rows: int, by: Any = None) -> Capacity:
        """The room that was asked for, checked against the rows."""
        check_at_most(at_most, by is not None)
        each = at_most if isinstance(at_most, Mapping) else {None: at_most}
        for group, most in each.items():
            if most > n_rows:
                name = f"at_most[{group!r}]" if isinstance(at_most, Mapping) else "at_most"
                raise InputError(
                    f"`{name}` is {most}, and the batch has {n_rows} rows: there is room for all "
                    "of them, which needs no bound"
                )
        if by is None:
            return cls(np.array([at_most]), np.zeros(n_rows, dtype=np.int64))
        levels, groups = _groups(by, n_rows)
        if not isinstance(at_most, Mapping):
            return cls(np.full(len(levels), at_most), groups)
        absent = [level for level in levels if level not in at_most]
        if absent:
            raise InputError(
                f"`at_most` has no number for {listed([repr(level) for level in absent])}, of "
                f"which the batch has {int(np.isin(groups, _places(levels, absent)).sum())} rows "
                f"({nearest(absent[0], at_most)})"
            )
        return cls(np.array([at_most[level] for level in levels]), groups)

    def exceeded(self, accepted: Bools) -> bool:
        """Whether more rows are accepted than there is room for."""
        return bool((self._sizes(accepted) > self.most).any())

    def best(self, accepted: Bools, keys: Sequence[Floats], draws: Callable[[], Floats]) -> Bools:
        """Those of the rows accepted that there is room for."""
        rows = np.flatnonzero(accepted)
        groups = self.groups[rows]
        sort_by = [-key[rows] for key in keys]
        order, place = self._ranked(groups, sort_by)
        border = place == self.most[groups[order]]  # the first of each group that is left out
        last, first = order[np.flatnonzero(border) - 1], order[border]
        if any_tie(sort_by, last, first):
            order, place = self._ranked(groups, [*sort_by, draws()[rows]])
        kept = np.zeros(len(accepted), dtype=np.bool_)
        kept[rows[order[place < self.most[groups[order]]]]] = True
        return kept

    def _ranked(
        self, groups: NDArray[np.int64], keys: Sequence[Floats]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows group by group, low keys first, and the place of each in its group."""
        order = np.lexsort((*reversed(keys), groups))
        sizes = np.bincount(groups, minlength=len(self.most))
        starts = np.cumsum(sizes) - sizes
        return order, np.arange(len(order)) - starts[groups[order]]

    def _sizes(self, accepted: Bools) -> NDArray[np.int64]:
        return np.bincount(self.groups[accepted], minlength=len(self.most))


def any_tie(keys: Sequence[Floats], one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Whether some row of a pair is as good as the other."""
    equal = np.ones(len(one), dtype=np.bool_)
    for key in keys:
        equal &= key[one] == key[other]
    return bool(equal.any())


def _places(levels: Sequence[Any], wanted: Sequence[Any]) -> list[int]:
    return [i for i, level in enumerate(levels) if level in wanted]


def _groups(by: Any, n_rows: int) -> tuple[list[Any], NDArray[np.int64]]:
    """The groups of the batch, and that of each row."""
    column = Column(one_column(by, "by"))
    check_length(column.values, n_rows, "by")
    levels = levels_of(column, "by")
    codes = np.asarray(column.codes, dtype=np.int64)
    missing = np.array([is_missing(level) for level in levels], dtype=np.bool_)
    if missing.any():
        raise InputError(
            f"`by` has {first_bad(missing[codes], 'missing')}; fill them in, for example with "
            "'unknown', which is a group of its own then"
        )
    odd = [level for level in levels if kind_of(type(level)) == "other"]
    if odd or column.values.dtype.kind in "mM":
        kind = type(odd[0]).__name__ if odd else str(column.values.dtype)
        raise InputTypeError(
            f"`by` holds values of type {kind}; groups are text, numbers or booleans"
        )
    return levels, codes
