"""Confidence intervals for every expression of the language.

Which interval an expression gets follows from what it is made of:

``"clopper-pearson"``
    Rates and everything that is a monotone function of one proportion (precision,
    negative predictive value, Jaccard, F1, one minus them): Clopper and Pearson's limits,
    exact where all rows have one weight, else on effective rows.
``"delta"``
    Smooth functions of several rates, and rates in which rows count by a column of numbers:
    by influence, corrected for skewness and bias.
``"groups"``
    The smallest or the largest of several, and deviations: simultaneous limits.
``"pairs"``
    Differences and ratios of groups or classes: simultaneous limits over all pairs.
``"bonferroni"``
    Anything else made of these: each part at its share of the level.
``"exact"``
    No row could change it.

A metric without a formula has no interval from here; but one may be passed with its value,
of the kind ``"bootstrap"``: quantiles over rows drawn anew.

Each of the two limits is made to lie on the wrong side of the true value in no more than
half of what the level leaves, so at level .90 each is a one-sided limit at 95 %.

Logarithms, roots, absolute values and multiples pass the limits of their argument on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from setpoint.errors import InputError
from setpoint.evidence import Confusion
from setpoint.goals.expressions import Expression
from setpoint.inference.by_moments import by_moments
from setpoint.inference.delta import by_influence, of_two_profiles, unsmoothed
from setpoint.inference.profiles import CountedRates, bind_counted
from setpoint.inference.simultaneous import largest, ratio_of_groups, smallest, spread
from setpoint.program.functions import (
    INF,
    Absolute,
    Affine,
    Log,
    Max,
    MaxMinusMin,
    Min,
    MinOverMax,
    Node,
    RateFunction,
    Ratio,
    Sqrt,
    WeightedSum,
)

__all__ = ["Interval", "interval", "interval_of", "is_group_gap"]

_KINKED = (Max, Min, MaxMinusMin, MinOverMax, Absolute)


class Interval(NamedTuple):
    """A confidence interval, and how it was found.

    Examples
    --------
    >>> from setpoint.evidence import Confusion
    >>> from setpoint.metrics import recall
    >>> from setpoint.report import interval
    >>> found = interval(recall, Confusion.of_counts(("no", "yes"), [[900, 50], [19, 81], [0, 0]]))
    >>> round(found.low, 3), round(found.high, 3), found.kind
    (0.719, 0.882, 'clopper-pearson')
    """

    low: float
    high: float
    kind: str


def interval(expression: Expression, confusion: Confusion, level: float = 0.95) -> Interval:
    """A confidence interval for the value of an expression on new rows.

    Rows are taken as drawn independently, each with its weight; a constant factor on all
    weights changes nothing. A row that is in several data sets is counted as several.

    Parameters
    ----------
    expression : Expression
    confusion : Confusion
        What counting one decision gave. If the rule was chosen on these same rows, the
        value is optimistic, and the interval with it.
    level : float
        Between 0 and 1.

    Returns
    -------
    Interval
        It holds the value at `confusion`.

    Raises
    ------
    GoalError
        As in binding; EmptyPopulationError for a rate without rows.
    ValueError
        If `level` is not between 0 and 1.

    Examples
    --------
    >>> from setpoint.evidence import Confusion
    >>> from setpoint.metrics import g_mean, recall
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 50], [19, 81], [0, 0]])
    >>> low, high, kind = interval(recall, found)
    >>> round(low, 3), round(high, 3), kind
    (0.719, 0.882, 'clopper-pearson')
    >>> interval(g_mean, found).kind
    'delta'
    """
    (bound,), counted = bind_counted([expression], confusion)
    return interval_of(bound, counted, level)


def interval_of(x: RateFunction, counted: CountedRates, level: float) -> Interval:
    """The interval of an expression that is bound already."""
    if not 0.0 < level < 1.0:
        raise InputError(f"`level` must lie between 0 and 1, got {level!r}")
    tail = (1.0 - level) / 2.0
    value = counted.value(x)
    if not x.features:
        return Interval(value, value, "exact")
    if counted.is_large:
        return Interval(*unsmoothed(x, counted, tail, tail), "delta")
    low, high = _Finder(counted).limits(x, tail, tail)
    return Interval(min(low, value), max(high, value), _kind(x, counted))


def is_group_gap(x: RateFunction) -> bool:
    """Whether an expression holds a comparison of groups or classes, which noise widens."""
    if isinstance(x, (MaxMinusMin, MinOverMax)) or (
        isinstance(x, Max) and all(isinstance(c, Absolute) for c in x.children)
    ):
        return True
    return any(is_group_gap(c) for c in x.children)


def _is_smooth(x: RateFunction) -> bool:
    return not isinstance(x, _KINKED) and all(_is_smooth(c) for c in x.children)


def _varying(x: RateFunction) -> Sequence[RateFunction]:
    return [c for c in x.children if c.features]


def _kind(x: RateFunction, counted: CountedRates) -> str:
    fraction = counted.fraction(x)
    if fraction is not None:
        profiles = len(fraction.merged.counts)
        return "delta" if profiles > 2 else "clopper-pearson" if profiles == 2 else "exact"
    if isinstance(x, (MaxMinusMin, MinOverMax)):
        return "pairs"
    if isinstance(x, (Max, Min)):
        return "groups"
    if len(_varying(x)) == 1 and isinstance(x, (WeightedSum, Absolute, Log, Sqrt)):
        return _kind(_varying(x)[0], counted)
    return "delta" if _is_smooth(x) else "bonferroni"


class _Finder:
    """Finds limits of bound expressions on one confusion, from their parts upwards."""

    def __init__(self, counted: CountedRates) -> None:
        self.counted = counted

    def limits(self, x: RateFunction, low: float, high: float) -> tuple[float, float]:
        """Limits of `x` at the tails `low` and `high`, inside the range of `x`."""
        if not x.features:
            value = self.counted.value(x)
            return value, value
        first, last = self._limits(x, low, high)
        bottom, top = self.counted.range(x)
        return max(first, bottom), min(last, top)

    def _limits(self, x: RateFunction, low: float, high: float) -> tuple[float, float]:
        if isinstance(x, (Affine, Ratio)):
            return self._fraction(x, low, high)
        if isinstance(x, (Max, Min)):
            sides = len(_varying(x))  # where a limit can fail; of a size on both sides, below
            of = largest if isinstance(x, Max) else smallest
            return of(x.children, self.limits, low, high, sides)
        if isinstance(x, (MaxMinusMin, MinOverMax)):
            of_pairs = spread if isinstance(x, MaxMinusMin) else ratio_of_groups
            smooth = all(_is_smooth(c) for c in x.children)
            return of_pairs(x.children, self.counted, self.limits, low, high, smooth=smooth)
        if isinstance(x, Absolute):
            return self._absolute(x, low, high)
        if isinstance(x, (Log, Sqrt)):
            return x.interval(self.limits(x.children[0], low, high))
        if isinstance(x, WeightedSum) and len(_varying(x)) == 1:
            return self._multiple(x, low, high)
        if _is_smooth(x):
            return self._by_influence(x, low, high)
        return self._parts(x, low, high)

    def _fraction(self, x: RateFunction, low: float, high: float) -> tuple[float, float]:
        fraction = self.counted.fraction(x)
        two = None if fraction is None else of_two_profiles(fraction, low, high)
        return self._by_influence(x, low, high) if two is None else two

    def _by_influence(self, x: RateFunction, low: float, high: float) -> tuple[float, float]:
        counted = self.counted
        if not counted.is_measured(x):
            return by_influence(x, counted, low, high)
        return by_moments(x, counted.moments(x.features), counted.v, low, high)

    def _absolute(self, x: Absolute, low: float, high: float) -> tuple[float, float]:
        # Near 0 the lower limit can fail on both sides.
        (child,) = x.children
        inner = self.limits(child, low / 2, low / 2)
        outer = self.limits(child, high, high)
        return max(inner[0], -inner[1], 0.0), max(abs(outer[0]), abs(outer[1]))

    def _multiple(self, x: WeightedSum, low: float, high: float) -> tuple[float, float]:
        (k,) = (k for k, c in zip(x.coefs, x.children, strict=True) if c.features)
        (child,) = _varying(x)
        ends = self.limits(child, *((low, high) if k > 0 else (high, low)))
        ranges = [ends if c is child else (self.counted.value(c),) * 2 for c in x.children]
        return x.interval(*ranges)

    def _parts(self, x: RateFunction, low: float, high: float) -> tuple[float, float]:
        # Interval arithmetic over limits that hold together.
        assert isinstance(x, Node)
        tail = min(low, high) / max(len(_varying(x)), 1)
        first, last = x.interval(*(self.limits(c, tail, tail) for c in x.children))
        return (-INF if math.isnan(first) else first), (INF if math.isnan(last) else last)
