"""Tests of constraints in which rows count by columns of numbers, such as amounts.

A bound on one fraction of sums, ``A / B >= c``, is a bound on the mean of what each row adds to
``A - c B``. That is a number between two that follow from the range of the column, and the range
is a fact that the user knows: the largest value that was seen is not the largest there could be.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from setpoint.array_types import Floats
from setpoint.goals.constraints import Constraint
from setpoint.goals.errors import GoalError
from setpoint.guarantees.gaffke import gaffke_p, rounded_down
from setpoint.guarantees.proved import betting_p
from setpoint.guarantees.requirements import Part, Requirement, leaves
from setpoint.inference.measured import fraction_in
from setpoint.inference.profiles import CountedRates
from setpoint.program.functions import RateFunction

__all__ = ["Ranges", "bounded_p", "bounded_range", "require_bounded_sums"]

Ranges = Mapping[str, tuple[float, float]]
"""The smallest and the largest value that a column could have."""


def require_bounded_sums(part: Part, counted: CountedRates, written: Constraint) -> None:
    """Refuse what is over values of rows and has no test."""
    for x in leaves(part):
        if counted.is_measured(x.function) and _fraction(x.function, counted) is None:
            raise GoalError(
                f"{written} cannot be promised: it counts rows by a column of numbers, and "
                "combines several such rates of different rows. Write a bound for each of them, "
                "as .min() and .max() of groups do"
            )


def bounded_p(x: Requirement, counted: CountedRates, ranges: Ranges, *, strict: bool) -> float:
    """The p-value of a bound on one fraction of sums over values of rows."""
    parts, decided = _fraction(x.function, counted), counted.confusion.decided
    assert parts is not None
    assert decided is not None
    added = x.sign * (parts[0] - x.level * parts[1])
    values = decided.sums(added)
    worst = float(_ends(added, counted, ranges)[0].min(initial=0.0))
    if not strict:
        return gaffke_p(values, worst)
    each, counts = rounded_down(values)
    each, counts = np.append(each, worst), np.append(counts, 0.0)
    return betting_p(each, np.zeros(len(each)), counts, 0.0, 1.0)


def bounded_range(
    x: RateFunction, counted: CountedRates, ranges: Ranges
) -> tuple[float, float] | None:
    """Between which values a mean of a column lies whatever the rows; None for other fractions."""
    parts = _fraction(x, counted)
    if parts is None:
        return None
    above, below = parts
    if below[1:].any():
        return None
    low, high = _ends(above, counted, ranges)
    inside = below[0] > 0.0
    rows = below[0][inside]
    return float((low[inside] / rows).min()), float((high[inside] / rows).max())


def _fraction(x: RateFunction, counted: CountedRates) -> tuple[Floats, Floats] | None:
    """What a row adds above and below the line (tables, plain strata, n + 1, n)."""
    index = sorted(x.features)
    found = fraction_in(x, index, counted.event(index), counted.given(index))
    if found is None:
        return None
    shape = (-1, counted.n_plain, *counted.confusion.counts.shape[1:])
    return found[0].reshape(shape), found[1].reshape(shape)


def _ends(added: Floats, counted: CountedRates, ranges: Ranges) -> tuple[Floats, Floats]:
    """The least and the most that a row of each entry (plain strata, n + 1, n) could add."""
    measures = counted.confusion.codebook.measures
    low, high = added[0].copy(), added[0].copy()
    for column in dict.fromkeys(m.column for m in measures):
        # A column that goes below 0 is two measures, which add c x together.
        m, part = next(
            (m, part)
            for m, part in zip(measures, added[1:], strict=True)
            if m.column == column and (m.sign > 0 or (column, 1) not in measures)
        )
        if column not in ranges:
            assert not part.any()
            continue
        ends = [m.sign * part * end for end in ranges[column]]
        low += np.minimum(*ends)
        high += np.maximum(*ends)
    return low, high
