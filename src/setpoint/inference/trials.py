"""Constraints that are one binomial in disguise.

A bound ``A / B >= c`` is a bound on a sum over rows, ``A - c B >= 0``. Where every row
adds one positive value, one negative value or nothing, the rows that add something are
trials, and those that add the positive value successes. Rows are independent, so given
the number of trials the successes are binomial, and the bound is met exactly where their
true share is at least ``negative / (positive + negative)``. Recall, false positive rate,
precision, F1, Jaccard, churn, wins against losses are all of this form, whatever the data;
F-beta with another beta and costs of several sizes are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.inference.fraction import value_at
from setpoint.inference.profiles import CountedRates
from setpoint.inference.tails import at_least, lower_limit, upper_limit
from setpoint.program.functions import RateFunction

__all__ = ["Trials", "added_by", "exact_limits", "share_needed", "trials_of"]

_ROUNDING = 1e-9
"""Relative: values of rows, and counts of whole rows, are sums of a few floats."""

_CANCELLED = 8 * float(np.finfo(float).eps)
"""Relative: what is left where the two parts of ``a - c b`` cancel."""


class Trials(NamedTuple):
    """A constraint as a statement about one share."""

    successes: int
    trials: int
    share: float

    @property
    def p_value(self) -> float:
        """The chance of so many successes or more if the constraint is just not met.

        Examples
        --------
        >>> round(Trials(81, 131, 0.5).p_value, 4)
        0.0043
        """
        return 1.0 if self.successes == 0 else at_least(self.successes, self.trials, self.share)


def trials_of(x: RateFunction, counted: CountedRates, relation: str, bound: float) -> Trials | None:
    """The trials of a constraint, if it is one binomial in disguise.

    Examples
    --------
    >>> from setpoint.evidence import Confusion
    >>> from setpoint.inference.profiles import bind_counted
    >>> from setpoint.metrics import f1, g_mean
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 50], [19, 81], [0, 0]])
    >>> (x, y), counted = bind_counted([f1, g_mean], found)
    >>> found = trials_of(x, counted, ">=", 0.6)
    >>> found.successes, found.trials, round(found.share, 4), round(found.p_value, 4)
    (81, 150, 0.4286, 0.0039)
    >>> trials_of(y, counted, ">=", 0.6) is None
    True
    """
    if relation not in (">=", "<="):
        raise InputError(f"the relation is '>=' or '<=', got {relation!r}")
    fraction = None if counted.is_large else counted.fraction(x)
    weight = counted.weight_of_rows(x)
    if fraction is None or weight is None:
        return None
    sign = 1.0 if relation == ">=" else -1.0
    added = added_by(fraction.above, fraction.below, bound, sign)
    good, bad = added > 0, added < 0
    successes = _whole(float(fraction.counts[good].sum()) / weight)
    failures = _whole(float(fraction.counts[bad].sum()) / weight)
    if successes is None or failures is None:
        return None
    if not good.any():  # at best the bound is met with nothing to spare
        return Trials(successes, successes + failures, 1.0)
    if not bad.any():  # no row speaks against it
        return Trials(successes, successes + failures, 0.0)
    share = share_needed(added)
    return None if share is None else Trials(successes, successes + failures, share)


def added_by(above: Floats, below: Floats, bound: float, sign: float) -> Floats:
    """What rows add to the sum that a bound wants to be at least 0.

    Examples
    --------
    >>> added_by(np.array([0.3, 1.0]), np.array([3.0, 0.0]), 0.1, 1.0)
    array([0., 1.])
    """
    part = bound * below
    added = sign * (above - part)
    cancelled = np.abs(added) <= _CANCELLED * np.maximum(np.abs(above), np.abs(part))
    return np.where(cancelled, 0.0, added)


def share_needed(added: Floats) -> float | None:
    """The share of successes from which on rows that add one of two values meet a bound."""
    good, bad = added[added > 0], added[added < 0]
    if not (len(good) and len(bad) and _alike(good) and _alike(bad)):
        return None
    gain, loss = float(good.min()), -float(bad.min())
    return loss / (gain + loss)


def exact_limits(
    x: RateFunction, counted: CountedRates, low: float, high: float
) -> tuple[float, float] | None:
    """Clopper-Pearson limits of the value of a fraction that tells two profiles apart.

    Examples
    --------
    >>> from setpoint.evidence import Confusion
    >>> from setpoint.inference.profiles import bind_counted
    >>> from setpoint.metrics import precision
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 50], [19, 81], [0, 0]])
    >>> (x,), counted = bind_counted([precision], found)
    >>> [round(limit, 4) for limit in exact_limits(x, counted, 0.025, 0.025)]
    [0.5294, 0.7018]
    """
    fraction = None if counted.is_large else counted.fraction(x)
    weight = counted.weight_of_rows(x)
    if fraction is None or weight is None:
        return None
    two = fraction.merged
    if len(two.counts) != 2:
        return None
    first, second = (_whole(float(c) / weight) for c in two.counts)
    if first is None or second is None:
        return None
    a, b = two.above, two.below
    rising = a[0] * b[1] >= a[1] * b[0]
    tails = (low, high) if rising else (high, low)
    n = first + second
    ends = lower_limit(first, n, tails[0]), upper_limit(first, n, tails[1])
    bottom, top = (value_at(p, a, b, two.at_zero) for p in ends)
    return (bottom, top) if rising else (top, bottom)


def _whole(x: float) -> int | None:
    nearest = round(x)
    return nearest if abs(x - nearest) <= _ROUNDING * max(nearest, 1) else None


def _alike(values: Floats) -> bool:
    return bool(np.ptp(values) <= _ROUNDING * np.abs(values).max())
