"""What an interval says of a bound: shown, shown to fail, or too close to call."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from setpoint.errors import InputError
from setpoint.tolerances import SATISFIED

__all__ = ["FAILS", "OPEN", "SHOWN", "Verdict", "verdict_of"]

Verdict: TypeAlias = Literal["shown", "too close to call", "shown to fail"]
"""What some rows say of a bound on the population that they were drawn from."""

SHOWN: Verdict = "shown"
OPEN: Verdict = "too close to call"
FAILS: Verdict = "shown to fail"


def verdict_of(low: float, high: float, bound: float, relation: str) -> Verdict:
    """What the limits of a value say of a bound on it.

    Examples
    --------
    >>> verdict_of(0.82, 0.87, 0.8, ">="), verdict_of(0.79, 0.87, 0.8, ">=")
    ('shown', 'too close to call')
    >>> verdict_of(0.82, 0.87, 0.8, "<=")
    'shown to fail'

    >>> verdict_of(0.8, 0.8, 0.8, ">="), verdict_of(0.8, 0.8, 0.8, "<=")
    ('shown', 'shown')
    >>> verdict_of(0.7, 0.8, 0.8, ">=")
    'too close to call'
    """
    if relation not in (">=", "<="):
        raise InputError(f"the relation is '>=' or '<=', got {relation!r}")
    if math.isnan(low) or math.isnan(high) or math.isnan(bound):
        return OPEN
    if relation == "<=":
        low, high, bound = -high, -low, -bound
    # A violation up to the tolerance is rounding.
    if low >= bound - SATISFIED:
        return SHOWN
    return FAILS if high < bound - SATISFIED else OPEN
