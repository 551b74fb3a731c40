"""Columns of numbers whose sum a handful of rows carries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from setpoint.caller import warn_caller
from setpoint.goals.goal import Goal
from setpoint.goals.populations import column_in_words
from setpoint.inputs.inputs import Table
from setpoint.report.numbers import percent

__all__ = ["HeavyTailWarning", "heavy_tails", "warn_heavy_tails"]

MOST = 10
"""Rows that are looked at, those with the largest values."""

SHARE = 1.0 / 3.0
"""Of the sum: what these rows may carry without a word."""

LEAST_ROWS = 200
"""Of fewer rows ten are many."""


class HeavyTailWarning(UserWarning):
    """Ten rows carry a third or more of the sum of a column by which rows count."""


def heavy_tails(goal: Goal, table: Table) -> list[str]:
    """A sentence for each column by which rows count whose sum ten rows carry a third of.

    Examples
    --------
    >>> from setpoint.evidence.columns import Column
    >>> amounts = np.r_[np.full(10, 900.0), np.full(290, 50.0)]
    >>> table = Table(None, None, {"amount": Column(amounts)}, None)
    >>> (text,) = heavy_tails(Goal.parse("maximize recall.weighted(amount)"), table)
    >>> text[:43]
    '10 of 300 rows carry 38.3 % of the sum of a'
    """
    out = []
    for name in goal.needs.measures.get(None, {}):
        if name not in table.columns:
            continue
        size = np.abs(np.asarray(table.columns[name].values, np.float64))
        if table.weight is not None:
            size = size * table.weight
        total, n = float(size.sum()), int(np.count_nonzero(size))
        if n < LEAST_ROWS or not total > 0.0:
            continue
        largest = np.argpartition(-size, MOST)[:MOST]
        largest = largest[np.lexsort((largest, -size[largest]))]
        share = float(size[largest].sum()) / total
        if share >= SHARE:
            out.append(
                f"{MOST} of {len(size):,} rows carry {percent(share)} of the sum of "
                f"{column_in_words(name)}, and what is found rests on them: rows "
                f"{', '.join(map(str, largest.tolist()))}"
            )
    return out


def warn_heavy_tails(sentences: Sequence[str]) -> None:
    """Issue a :class:`HeavyTailWarning` for each sentence of :func:`heavy_tails`."""
    for text in sentences:
        warn_caller(text, HeavyTailWarning)
