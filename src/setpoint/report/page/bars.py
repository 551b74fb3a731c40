"""A number, its interval and its bound on one line: where to draw them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from setpoint.report.entry import Entry
from setpoint.report.words import number

__all__ = ["Bar", "Mark", "bar_of"]

_MARGIN = 0.12
"""Free space at both ends, as a share of what is shown."""


@dataclass(frozen=True)
class Mark:
    """A place on the line in percent, and how its label is aligned there."""

    at: float
    text: str

    @property
    def anchor(self) -> str:
        """Labels near an end stay inside."""
        return "start" if self.at < 18 else "end" if self.at > 82 else "middle"


@dataclass(frozen=True)
class Bar:
    """What the template draws; all places in percent of the width.

    Parameters
    ----------
    interval : tuple of (start, width), or None
    allowed : tuple of (start, width), or None
        The side of the bound where the goal wants the value.
    left, right : str
        Numbers at the ends of the line.
    description : str
        The picture in words.
    """

    value: Mark
    bound: Mark | None
    interval: tuple[float, float] | None
    allowed: tuple[float, float] | None
    left: str
    right: str
    description: str


def bar_of(entry: Entry, relation: str | None = None) -> Bar | None:
    """The bar of an entry; None where there is no finite value.

    Parameters
    ----------
    relation : {">=", "<="}, optional
        Of a constraint.

    Examples
    --------
    >>> bar = bar_of(Entry("precision >= 0.9", 0.95, 0.9, low=0.85, high=1.0), ">=")
    >>> bar.value.text, bar.left, bar.right, bar.allowed[0] + bar.allowed[1]
    ('0.9500', '0.832', '1', 100.0)
    """
    if entry.value is None or not math.isfinite(entry.value):
        return None
    known = [x for x in (entry.value, entry.bound, entry.low, entry.high) if _is_known(x)]
    first, last = _ends([x for x in known if x is not None])

    def at(x: float) -> float:
        return round(100 * (min(max(x, first), last) - first) / (last - first), 2)

    description = f"{number(entry.value)}"
    interval = allowed = bound = None
    if entry.low is not None and entry.high is not None:
        interval = (at(entry.low), round(at(entry.high) - at(entry.low), 2))
        description += f", interval {number(entry.low)} to {number(entry.high)}"
    if entry.bound is not None and math.isfinite(entry.bound):
        bound = Mark(at(entry.bound), number(entry.bound))
        description += f", bound {number(entry.bound)}"
        if relation == ">=":
            allowed = (bound.at, round(100 - bound.at, 2))
        elif relation == "<=":
            allowed = (0.0, bound.at)
    value = Mark(at(entry.value), number(entry.value))
    return Bar(value, bound, interval, allowed, _end(first), _end(last), description)


def _is_known(x: float | None) -> bool:
    return x is not None and math.isfinite(x)


def _ends(known: list[float]) -> tuple[float, float]:
    """The part of the line to show; shares are not shown beyond 0 and 1."""
    low, high = min(known), max(known)
    margin = _MARGIN * (high - low) or 0.05 * max(abs(low), 1e-3)
    first, last = low - margin, high + margin
    if low >= 0:
        first = max(first, 0.0)
        if high <= 1:
            last = min(last, 1.0)
    return first, last


def _end(x: float) -> str:
    return f"{x:,.0f}" if 999.5 <= abs(x) < 1e12 else f"{x:.3g}"
