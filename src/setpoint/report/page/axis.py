"""A value, its interval and its bound on an axis: where to draw them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from setpoint.report.units import Unit, shown

__all__ = ["SHARES", "Axis", "Bar", "axis_for", "bar_on"]

_MARGIN = 0.12
"""Free space at both ends of an axis of its own, as a share of what is shown."""


@dataclass(frozen=True)
class Axis:
    """A piece of the number line."""

    first: float
    last: float
    shared: bool = False

    def at(self, x: float) -> float:
        """The place of a number in percent of the width; what lies outside is at an end.

        Examples
        --------
        >>> SHARES.at(0.25), Axis(-1.0, 1.0).at(7.0)
        (25.0, 100.0)
        """
        x = min(max(x, self.first), self.last)
        return round(100.0 * (x - self.first) / (self.last - self.first), 2)


SHARES = Axis(0.0, 1.0, shared=True)


@dataclass(frozen=True)
class Bar:
    """What the template draws; all places in percent of the width."""

    value: float | None
    other: float | None
    bound: float | None
    interval: tuple[float, float] | None
    allowed: tuple[float, float] | None
    ends: tuple[str, str]
    description: str


def axis_for(numbers: Iterable[float | None], unit: Unit) -> Axis | None:
    """The shared axis for shares, one of their own for other numbers; None for a lone number.

    Examples
    --------
    >>> axis_for([0.5, 0.58, None], "share").shared
    True
    >>> axis_for([3.5, 4.5], "amount")
    Axis(first=3.38, last=4.62, shared=False)
    >>> axis_for([3.5, None], "amount") is None
    True
    """
    known = sorted({x for x in numbers if x is not None and math.isfinite(x)})
    if not known:
        return None
    low, high = known[0], known[-1]
    if unit == "share" and low >= 0.0 and high <= 1.0:
        return SHARES
    if low == high:
        return None
    margin = _MARGIN * (high - low)
    first, last = round(low - margin, 12), round(high + margin, 12)
    return Axis(max(first, 0.0) if low >= 0.0 else first, last) if last > first else None


def bar_on(
    axis: Axis | None,
    unit: Unit,
    value: float | None,
    *,
    low: float | None = None,
    high: float | None = None,
    bound: float | None = None,
    relation: str | None = None,
    other: float | None = None,
) -> Bar | None:
    """The bar of a value; None without an axis or a value that it can hold.

    Examples
    --------
    >>> bar = bar_on(SHARES, "share", 0.95, low=0.85, high=1.0, bound=0.9, relation=">=")
    >>> bar.value, bar.interval, bar.allowed
    (95.0, (85.0, 15.0), (90.0, 10.0))
    >>> bar.description
    '95.0 %; interval 85.0 % to 100 %; bound 90.0 %'
    """
    if axis is None or value is None or not math.isfinite(value):
        return None
    words = [shown(value, unit)]
    interval = allowed = at_bound = None
    if low is not None and high is not None and not math.isnan(low + high):
        start, end = axis.at(low), axis.at(high)
        interval = (start, round(end - start, 2))
        words.append(f"interval {shown(low, unit)} to {shown(high, unit)}")
    if bound is not None and math.isfinite(bound):
        at_bound = axis.at(bound)
        words.append(f"bound {shown(bound, unit)}")
        if relation == ">=":
            allowed = (at_bound, round(100.0 - at_bound, 2))
        elif relation == "<=":
            allowed = (0.0, at_bound)
    ring = None
    if other is not None and math.isfinite(other):
        ring = axis.at(other)
        words.append(f"the deployed model {shown(other, unit)}")
    ends = ("", "") if axis.shared else (_end(axis.first), _end(axis.last))
    return Bar(axis.at(value), ring, at_bound, interval, allowed, ends, "; ".join(words))


def _end(x: float) -> str:
    return f"{x:,.0f}" if 999.5 <= abs(x) < 1e12 else f"{x:.3g}"
