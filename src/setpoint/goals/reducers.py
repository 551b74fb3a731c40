"""Reducers: one number from the groups of some columns, or from the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setpoint.errors import InputTypeError
from setpoint.goals.errors import GoalError

if TYPE_CHECKING:
    from setpoint.goals.expressions import Expression

__all__ = ["REDUCERS", "HasReducers", "reducer_columns"]

REDUCERS: dict[str, str] = {
    "mean": "arithmetic mean",
    "sum": "sum",
    "min": "smallest",
    "max": "largest",
    "difference": "largest minus smallest",
    "ratio": "smallest over largest",
    "geometric_mean": "geometric mean",
    "harmonic_mean": "harmonic mean",
    "quadratic_mean": "quadratic mean",
    "deviation": "largest distance from the pooled value",
}
"""Kind of reducer and what it says in words."""


def reducer_columns(kind: str, columns: tuple[object, ...]) -> tuple[str, ...]:
    """The columns of a reducer as plain text; refuses what is not a name."""
    names: list[str] = []
    for c in columns:
        if not isinstance(c, str) or not c:
            raise InputTypeError(f".{kind} takes names of columns, got {c!r}")
        if c in names:
            raise GoalError(f".{kind} names the column {c!r} twice")
        names.append(str.__str__(c))
    if kind == "deviation" and not names:
        raise GoalError(".deviation compares groups with all rows: it needs a column")
    return tuple(names)


class HasReducers:
    """The reducers as methods; with columns over their groups, without over the classes."""

    __slots__ = ()

    def _reduce(self, kind: str, columns: tuple[str, ...]) -> Expression:
        raise NotImplementedError

    def mean(self, *columns: str) -> Expression:
        """Arithmetic mean over the groups of `columns`; without columns, over the classes."""
        return self._reduce("mean", columns)

    def sum(self, *columns: str) -> Expression:
        """Sum over the groups of `columns`, or over the classes."""
        return self._reduce("sum", columns)

    def min(self, *columns: str) -> Expression:
        """Smallest value over the groups of `columns`, or over the classes."""
        return self._reduce("min", columns)

    def max(self, *columns: str) -> Expression:
        """Largest value over the groups of `columns`, or over the classes."""
        return self._reduce("max", columns)

    def difference(self, *columns: str) -> Expression:
        """Largest minus smallest value over the groups of `columns`, or over the classes."""
        return self._reduce("difference", columns)

    def ratio(self, *columns: str) -> Expression:
        """Smallest over largest value over the groups; 0 where all are 0."""
        return self._reduce("ratio", columns)

    def geometric_mean(self, *columns: str) -> Expression:
        """Geometric mean over the groups of `columns`, or over the classes."""
        return self._reduce("geometric_mean", columns)

    def harmonic_mean(self, *columns: str) -> Expression:
        """Harmonic mean over the groups of `columns`, or over the classes; 0 with any 0."""
        return self._reduce("harmonic_mean", columns)

    def quadratic_mean(self, *columns: str) -> Expression:
        """Root of the mean square over the groups of `columns`, or over the classes."""
        return self._reduce("quadratic_mean", columns)

    def deviation(self, *columns: str) -> Expression:
        """Largest distance of a group's value from the value on all rows."""
        return self._reduce("deviation", columns)
