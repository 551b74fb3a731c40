"""A capacity as a constraint: so many rows out of so many."""

from __future__ import annotations

import math
import numbers

from setpoint.errors import InputTypeError
from setpoint.goals.constraints import Constraint
from setpoint.goals.errors import GoalError
from setpoint.goals.populations import Label
from setpoint.goals.table import predicted_rate

__all__ = ["AT_MOST", "at_most"]

AT_MOST = "after 'subject to', as in 'maximize recall subject to at_most(200, per=10_000)'"
"""Where it stands."""


def at_most(n: float, per: float | None = None, label: Label | None = None) -> Constraint:
    """A capacity: at most `n` rows of `per` are predicted to be of the class.

    Parameters
    ----------
    n : float
        Above 0 and at most `per`.
    per : float
        Of how many rows.
    label : label, optional
        The class; by default the positive one of two.

    Returns
    -------
    Constraint
        ``predicted_rate <= n / per``.

    Raises
    ------
    GoalError
        If `per` is missing, or a number is outside its range.
    InputTypeError
        If `n` or `per` is not a number.

    Examples
    --------
    >>> from setpoint.metrics import at_most
    >>> print(at_most(200, per=10_000))
    predicted_rate <= 0.02
    >>> print(at_most(5, per=100, label="fraud"))
    predicted_rate(label="fraud") <= 0.05
    """
    if per is None:
        raise GoalError(f"at_most needs `per`, of how many rows: at_most({n!r}, per=10_000)")
    most, of = _count(n, "n"), _count(per, "per")
    if most > of:
        raise GoalError(f"`n` of at_most must be at most `per`, got {n!r} and {per!r}")
    rate = predicted_rate if label is None else predicted_rate(label=label)
    return rate <= most / of


def _count(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputTypeError(
            f"`{name}` of at_most must be a number of rows, got {value!r} ({type(value).__name__})"
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not 0.0 < number < math.inf:
        raise GoalError(f"`{name}` of at_most must be above 0 and finite, got {value!r:.40}")
    return number
