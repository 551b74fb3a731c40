"""Columns that a rule may look at, as far as ``predict`` will have them."""

from __future__ import annotations

from typing import Any

from setpoint.goals.goal import Goal
from setpoint.inputs.inputs import DecideOn
from setpoint.inputs.numbers import in_frame

__all__ = ["available_columns"]


def available_columns(
    decide_on: DecideOn, goal: Goal, given: Any, X: Any
) -> tuple[DecideOn, tuple[str, ...]]:
    """What the rule may look at, and a note on what it may not.

    Parameters
    ----------
    decide_on : "auto", None, str or sequence of str
        As the user says it.
    goal : Goal
    given : column, dict or frame, optional
        What was passed to ``fit`` beside X, and is not there in ``predict`` unless it is passed
        again.
    X : array, sparse matrix or frame of shape (N, p)
    """
    if decide_on != "auto" or given is None:
        return decide_on, ()
    numbers = goal.needs.measures.get(None, {})
    there = [name for name in numbers if in_frame(X, name)]
    names = sorted({*goal.needs.columns.get(None, {}), *numbers} - {*there})
    if not names:
        return there or None, ()
    return there or None, (
        f"The rule does not look at {', '.join(names)}: that was passed to fit and is not in "
        "X. `decide_on` names columns that predict will be given too.",
    )
