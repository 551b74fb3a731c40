"""What models reach that were trained for one bound after another."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from setpoint.array_types import Floats
from setpoint.errors import InputTypeError, quoted
from setpoint.report.displays.fitted import class_or_object, has_method
from setpoint.report.report import GoalReport

__all__ = ["BoundPath", "check_trainable"]


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

    def __repr__(self) -> str:
        vary = textwrap.shorten(self.vary, 48, placeholder=" ...")
        found = sum(report is not None for report in self.reports)
        return f"BoundPath({vary!r}, bounds: {len(self.bounds)}, models found: {found})"


def check_trainable(classifier: Any, name: str) -> None:
    """Refuse what cannot be trained for a bound: it has no goal.

    Raises
    ------
    TypeError
        It says what is wanted.
    """
    if not has_method(classifier, "_bound_path"):
        raise InputTypeError(
            f"{quoted(name)} is a classifier of this library that trains a model for its goal, got "
            f"{class_or_object(classifier)}"
        )
