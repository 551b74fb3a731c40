"""What an interval says of a bound on new rows."""

from __future__ import annotations

from typing import Literal, TypeAlias

from setpoint.tolerances import SATISFIED

__all__ = ["FAILS", "OPEN", "SHOWN", "Verdict", "verdict_of"]

Verdict: TypeAlias = Literal["shown", "too close to call", "shown to fail"]

SHOWN: Verdict = "shown"
OPEN: Verdict = "too close to call"
FAILS: Verdict = "shown to fail"


def verdict_of(low: float, high: float, bound: float, relation: Literal[">=", "<="]) -> Verdict:
    """Whether one-sided limits of a value lie clear of a bound.

    Parameters
    ----------
    low, high : float
        The value on new rows is at least `low`, and at most `high`, each with some confidence.
    bound : float
    relation : {">=", "<="}

    Examples
    --------
    >>> verdict_of(0.91, 0.95, 0.9, ">="), verdict_of(0.8, 0.89, 0.9, ">=")
    ('shown', 'shown to fail')
    >>> verdict_of(0.88, 0.93, 0.9, "<=")
    'too close to call'
    """
    if relation == "<=":
        low, high, bound = -high, -low, -bound
    if low >= bound - SATISFIED:
        return SHOWN
    return FAILS if high < bound - SATISFIED else OPEN
