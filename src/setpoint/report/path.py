"""What models reach that were trained for one bound after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setpoint.report.report import GoalReport

__all__ = ["BoundPath"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoundPath:
    """What models reach that were trained under one bound after another.

    Parameters
    ----------
    goal : str
    vary : str
        The constraint whose bound moves.
    objective, side : str
        What is optimised, and what is bounded.
    relation : {">=", "<="}
    bounds : array of shape (m,)
        Ascending.
    values, reached : array of shape (m,)
        The objective and the bounded side on the rows of ``fit``; NaN where no model was
        found that meets the goal.
    held_values, held_reached : array of shape (m,) or None
        The same on rows held out.
    reports : tuple of GoalReport or None
        Of each fit; None where no model was found.
    """

    goal: str
    vary: str
    objective: str
    side: str
    relation: str
    bounds: Floats
    values: Floats
    reached: Floats
    held_values: Floats | None
    held_reached: Floats | None
    reports: tuple[GoalReport | None, ...]
