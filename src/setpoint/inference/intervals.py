"""Intervals of expressions, and the verdict on a bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from setpoint.counts import Confusion
from setpoint.errors import InputError
from setpoint.goals import Expression
from setpoint.inference.profiles import CountedRates, bind_counted
from setpoint.inference.tails import difference_above, of_fraction, ratio_above, ratio_below
from setpoint.parameters import SATISFIED
from setpoint.program import functions as fn

# --- Confidence intervals for every expression of the language ------------------------------------


_KINKED = (fn.Max, fn.Min, fn.MaxMinusMin, fn.MinOverMax, fn.Absolute)


class Interval(NamedTuple):
    """A confidence interval, and how it was found.

    Examples
    --------
    >>> from setpoint.counts import Confusion
    >>> from setpoint.metrics import recall
    >>> from setpoint.inference import interval
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
    >>> from setpoint.counts import Confusion
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


def interval_of(x: fn.RateFunction, counted: CountedRates, level: float) -> Interval:
    """The interval of an expression that is bound already."""
    if not 0.0 < level < 1.0:
        raise InputError(f"`level` must lie between 0 and 1, got {level!r}")
    tail = (1.0 - level) / 2.0
    value = counted.value(x)
    if counted.is_large and x.features:
        from setpoint.inference.delta import unsmoothed

        return Interval(*unsmoothed(x, counted, tail, tail), "delta")
    low, high, kind = _limits(x, counted, tail, tail)
    return Interval(min(low, value), max(high, value), kind)


def is_group_gap(x: fn.RateFunction) -> bool:
    """Whether an expression holds a comparison of groups or classes, which noise widens."""
    if isinstance(x, (fn.MaxMinusMin, fn.MinOverMax)) or (
        isinstance(x, fn.Max) and all(isinstance(c, fn.Absolute) for c in x.children)
    ):
        return True
    return any(is_group_gap(c) for c in x.children)


def _is_smooth(x: fn.RateFunction) -> bool:
    return not isinstance(x, _KINKED) and all(_is_smooth(c) for c in x.children)


def _varying(x: fn.RateFunction) -> Sequence[fn.RateFunction]:
    return [c for c in x.children if c.features]


def _limits(x: fn.RateFunction, counted: CountedRates, low: float, high: float) -> Interval:
    """Limits at the tails `low` and `high`, from those of its parts, inside its range."""
    if not x.features:
        value = counted.value(x)
        return Interval(value, value, "exact")
    if isinstance(x, (fn.Affine, fn.Ratio)):
        found = _fraction(x, counted, low, high)
    elif isinstance(x, (fn.Max, fn.Min)):
        found = _extreme(x, counted, low, high)
    elif isinstance(x, (fn.MaxMinusMin, fn.MinOverMax)):
        found = _pairs(x, counted, low, high)
    elif isinstance(x, fn.Absolute):
        found = _absolute(x, counted, low, high)
    elif isinstance(x, (fn.Log, fn.Sqrt)):
        child = _limits(x.children[0], counted, low, high)
        found = Interval(*x.interval(child[:2]), child.kind)
    elif isinstance(x, fn.WeightedSum) and len(_varying(x)) == 1:
        found = _multiple(x, counted, low, high)
    elif _is_smooth(x):
        found = _smooth(x, counted, low, high)
    else:
        found = _parts(x, counted, low, high)
    bottom, top = counted.range(x)
    return found._replace(low=float(max(found.low, bottom)), high=float(min(found.high, top)))


def _smooth(x: fn.RateFunction, counted: CountedRates, low: float, high: float) -> Interval:
    if counted.is_clustered:
        from setpoint.inference.units import unit_limits

        return Interval(*unit_limits(x, counted, low, high), "units")
    from setpoint.inference.delta import smooth_limits  # of few goals

    return Interval(*smooth_limits(x, counted, low, high), "delta")


def _fraction(x: fn.Affine | fn.Ratio, counted: CountedRates, low: float, high: float) -> Interval:
    fraction = None if counted.is_clustered else counted.fraction(x)
    if (proxied := counted.proxied(x)) is not None:
        first, last = counted.range(x)
        ends = proxied.limit(first, 1.0, low), proxied.limit(last, -1.0, high)
        return Interval(*ends, "proxy")
    exact = None if fraction is None else of_fraction(fraction, low, high)
    if fraction is None or exact is None:
        return _smooth(x, counted, low, high)
    return Interval(*exact, "clopper-pearson" if fraction.above.shape[1] == 2 else "exact")


def _extreme(x: fn.Max | fn.Min, counted: CountedRates, low: float, high: float) -> Interval:
    # A limit can fail in each of them; of a size on both sides, below.
    sides, largest = max(len(_varying(x)), 1), isinstance(x, fn.Max)
    tails = (low / sides, high) if largest else (low, high / sides)
    ends = np.array([_limits(c, counted, *tails)[:2] for c in x.children])
    first, last = (ends.max(axis=0) if largest else ends.min(axis=0)).tolist()
    return Interval(first, last, "groups")


def _pairs(x: fn.Node, counted: CountedRates, low: float, high: float) -> Interval:
    """Limits of the largest value minus the smallest, or of that over it, by ordered pairs."""
    m, ratio = len(x.children), isinstance(x, fn.MinOverMax)
    if m == 1:
        certain = not ratio or counted.value(x.children[0]) > 0
        return Interval(float(ratio and certain), float(ratio), "pairs")
    v = np.array([counted.value(c) for c in x.children])
    smooth = all(_is_smooth(c) for c in x.children)
    corr = np.full((m, m), -1.0)
    if smooth:
        from setpoint.inference.delta import correlations

        corr = correlations(x.children, counted)
    pairs, others = m * (m - 1), ~np.eye(m, dtype=bool)
    tails = (low, high / pairs) if ratio else (low / pairs, high)
    (a, b), (c, d) = (
        np.array([_limits(y, counted, t, t)[:2] for y in x.children]).T for t in tails
    )
    if ratio:
        above, below = ratio_above(v, a, b, corr), ratio_below(v, c, d, corr)
        ends = min(float(above[others].min()), 1.0), min(float(below[others].min()), 1.0)
    else:
        above, below = difference_above(v, a, b, corr), -difference_above(v, c, d, corr).T
        ends = max(float(above[others].max()), 0.0), max(float(below[others].max()), 0.0)
    return Interval(*ends, "pairs")


def _absolute(x: fn.Absolute, counted: CountedRates, low: float, high: float) -> Interval:
    # Near 0 the lower limit can fail on both sides.
    (child,) = x.children
    inner = _limits(child, counted, low / 2, low / 2)
    outer = _limits(child, counted, high, high)
    largest = max(abs(outer.low), abs(outer.high))
    return Interval(max(inner.low, -inner.high, 0.0), largest, inner.kind)


def _multiple(x: fn.WeightedSum, counted: CountedRates, low: float, high: float) -> Interval:
    (k,) = (k for k, c in zip(x.coefs, x.children, strict=True) if c.features)
    (child,) = _varying(x)
    ends = _limits(child, counted, *((low, high) if k > 0 else (high, low)))
    ranges = [ends[:2] if c is child else (counted.value(c),) * 2 for c in x.children]
    return Interval(*x.interval(*ranges), ends.kind)


def _parts(x: fn.RateFunction, counted: CountedRates, low: float, high: float) -> Interval:
    # Interval arithmetic over limits that hold together.
    assert isinstance(x, fn.Node)
    tail = min(low, high) / max(len(_varying(x)), 1)
    first, last = x.interval(*(_limits(c, counted, tail, tail)[:2] for c in x.children))
    ends = -fn.INF if math.isnan(first) else first, fn.INF if math.isnan(last) else last
    return Interval(*ends, "bonferroni")


# --- What an interval says of a bound: shown, shown to fail ---------------------------------------


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
    if math.isnan(low) or math.isnan(high) or math.isnan(bound):
        return OPEN
    if relation == "<=":
        low, high, bound = -high, -low, -bound
    # A violation up to the tolerance is rounding.
    if low >= bound - SATISFIED:
        return SHOWN
    return FAILS if high < bound - SATISFIED else OPEN
