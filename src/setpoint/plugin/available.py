"""Columns that a rule may look at, as far as ``predict`` will have them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from setpoint.errors import InputError
from setpoint.goals.goal import Goal
from setpoint.inputs.arrays import column_names, some
from setpoint.inputs.inputs import DecideOn
from setpoint.inputs.numbers import in_frame

__all__ = ["available_columns", "naming_groups_in"]


def available_columns(
    decide_on: DecideOn, goal: Goal, given: Any, X: Any
) -> tuple[DecideOn, tuple[str, ...]]:
    """What the rule may look at, and a note on what it may not."""
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


@contextmanager
def naming_groups_in(X: Any, *given: Any) -> Iterator[None]:
    """Where a model reads no text: say which of it are the groups that X was given with."""
    try:
        yield
    except ValueError as error:
        words = [w for one in given for w in (one if isinstance(one, list) else [one])]
        words = [w if isinstance(w, str) else getattr(w, "name", None) for w in words]
        named = [name for name in column_names(X) or () if name in words]
        if not named or "could not convert string" not in str(error):
            raise
        raise InputError(
            f"{error}: the model is fitted on all columns of `X`, on the groups {some(named)} too; "
            "it needs an encoder before it (make_pipeline), or pass X without them and "
            "`sensitive_features=` as columns to fit"
        ) from error
