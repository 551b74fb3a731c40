"""Ladders: rules from safe to bold, to be tested one after the other.

A ladder is learnt on rows that take no part in the test. For each margin it holds the best rule
that lies so many standard errors on the good side of every constraint. Where the test stops, all
rules before it are certified, whatever their number.

The rungs far out cost nothing and are needed: margins are in units of the error on the rows
tested, while a ladder may be learnt on fewer rows, or on the scores of another fit of the model.

References
----------
A. N. Angelopoulos, S. Bates, E. J. Candes, M. I. Jordan and L. Lei (2021), Learn then test:
calibrating predictive algorithms to achieve risk control.
B. Laufer-Goldshtein, A. Fisch, R. Barzilay and T. Jaakkola (2023), Efficiently controlling
multiple risks with Pareto testing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence import Confusion
from setpoint.rules import Rule

__all__ = ["MARGINS", "Rung", "rungs_of"]

MARGINS: Floats = np.concatenate(
    [
        np.geomspace(60.0, 6.0, 14),
        np.arange(5.75, -3.0, -0.25),
        -np.geomspace(3.0, 60.0, 16),
    ]
)
"""From safe to bold, in standard errors of the rows that are tested."""


@dataclass(frozen=True, eq=False)
class Rung:
    """A rule of a ladder."""

    rule: Rule
    margin: float
    score: float
    confusion: Confusion
    model: Any = None


def rungs_of(margins: Floats, values: Floats) -> NDArray[np.int64]:
    """Which rules make the ladder, from safe to bold.

    Examples
    --------
    >>> rungs_of(np.array([8.0, 2.1, 0.3, 1.0]), np.array([0.2, 0.6, 0.9, 0.5]))
    array([0, 1, 2])
    """
    usable = (margins > -np.inf) & ~np.isnan(values)
    order = np.lexsort((-values, -margins))
    order = order[usable[order]]
    if not len(order):
        return order
    ranked, best = -margins[order], np.maximum.accumulate(values[order])
    # The first of all rules that are as good.
    first = np.searchsorted(best, best, side="left")
    count = np.searchsorted(ranked, -MARGINS, side="right")
    count = np.unique(np.concatenate([[np.searchsorted(ranked, ranked[0], side="right")], count]))
    at = first[count[count > 0] - 1]
    return np.asarray(order[np.unique(at)])
