"""Measures: columns of numbers by which rows count, beside counting each once.

A table of counts is kept for each measure. All its numbers are at least 0: a column that goes
below is two measures, what is above 0 and what is below, so that prefix sums only grow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.evidence.columns import Column
from setpoint.goals.populations import column_in_words

__all__ = ["Measure", "measured", "measures_of"]


class Measure(NamedTuple):
    """What of a column rows count by.

    Examples
    --------
    >>> str(Measure("amount")), str(Measure("amount", -1))
    ('amount', 'amount below 0')
    """

    column: str
    sign: int = 1

    def of(self, values: Floats) -> Floats:
        """What each row (N,) counts, at least 0."""
        return np.maximum(self.sign * values, 0.0)

    def __str__(self) -> str:
        return column_in_words(self.column) + (" below 0" if self.sign < 0 else "")


def measures_of(wanted: Sequence[str], columns: Mapping[str, Column]) -> tuple[Measure, ...]:
    """The measures that some columns are, sorted by column.

    Examples
    --------
    >>> measures_of(["x"], {"x": Column(np.array([2.0, -1.0]))})
    (Measure(column='x', sign=1), Measure(column='x', sign=-1))
    """
    out = []
    for name in sorted(wanted):
        if name in columns:
            out.append(Measure(name))
            if (_numbers(columns[name]) < 0.0).any():
                out.append(Measure(name, -1))
    return tuple(out)


def measured(
    measures: Sequence[Measure], wanted: Sequence[str], columns: Mapping[str, Column], n_rows: int
) -> Floats:
    """What each row counts by each measure (measures, N); 0 for a column that the rows lack."""
    out = np.zeros((len(measures), n_rows))
    for k, measure in enumerate(measures):
        if measure.column in columns and measure.column in wanted:
            values = _numbers(columns[measure.column])
            out[k] = measure.of(values)
            if (values < 0.0).any() and Measure(measure.column, -1) not in measures:
                raise InputError(
                    f"the column {measure.column!r} goes below 0, down to {values.min():.6g}, and "
                    "it did not in the rows that the rule was found on"
                )
    return out


def _numbers(column: Column) -> Floats:
    return np.asarray(column.values, np.float64)
