"""How the values of an expression are said in a picture: in words, shares in per cent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from setpoint.goals.errors import GoalError
from setpoint.goals.expressions import Metric
from setpoint.goals.goal import Goal
from setpoint.goals.ranges import range_of
from setpoint.goals.words import in_words
from setpoint.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axis import Axis

__all__ = ["SHARE", "Scale", "range_of_text", "scale_of"]

_PER = 10_000
"""Rows that a cost is said for: the cost of one is a number with zeros."""


def range_of_text(text: str) -> tuple[float, float]:
    """The range of an expression on any data; everything where its text says none.

    Examples
    --------
    >>> range_of_text("recall"), range_of_text("what is this")
    ((0.0, 1.0), (-inf, inf))
    """
    try:
        return range_of(Goal.parse(f"maximize {text}").objective)
    except GoalError:
        return -math.inf, math.inf


@dataclass(frozen=True)
class Scale:
    """An expression's words, and how its values are written."""

    words: str
    kind: Literal["share", "cost", "number"]

    def text(self, value: float) -> str:
        """A value, short.

        Examples
        --------
        >>> SHARE.text(0.7561), SHARE.text(0.00012), Scale("", "cost").text(3.532)
        ('75.6 %', '0.012 %', '35,320')
        """
        if not math.isfinite(value):
            return f"{value:g}"
        if self.kind == "share":
            percent = 100.0 * value
            return f"{percent:.2g} %" if 0.0 < abs(percent) < 1.0 else f"{_plain(percent, 1)} %"
        if self.kind == "cost":
            return _thousands(_PER * value)
        return _thousands(value) if abs(value) >= 1000 else number(value)

    def tick(self, value: float) -> str:
        """A value on an axis: as many digits as it needs; nothing where no share can be.

        Examples
        --------
        >>> SHARE.tick(0.30000000000000004), Scale("", "number").tick(1500.0)
        ('30 %', '1,500')
        """
        if self.kind == "share":
            return f"{round(100.0 * value, 6) + 0.0:g} %" if -1e-9 < value < 1.0 + 1e-9 else ""
        return _thousands(value * (_PER if self.kind == "cost" else 1))

    def apply(self, axis: Axis) -> None:
        """Write the ticks of an axis so; its numbers stay as they are."""
        axis.set_major_formatter(lambda value, _: self.tick(float(value)))


SHARE = Scale("", "share")
"""A share that needs no words."""


def scale_of(text: str) -> Scale:
    """The scale of an expression, from its text.

    Examples
    --------
    >>> scale_of('recall.difference("sex")')
    Scale(words='gap in recall between groups by sex', kind='share')
    >>> scale_of("cost({(0, 1): 5})").words
    'cost per 10,000 rows'
    """
    try:
        x = Goal.parse(f"maximize {text}").objective
    except GoalError:
        return Scale(text, "number")
    if isinstance(x, Metric) and x.name == "cost":
        return Scale(in_words(x).replace("mean cost", f"cost per {_PER:,} rows"), "cost")
    low, high = range_of(x)
    return Scale(in_words(x), "share" if low >= 0.0 and high <= 1.0 else "number")


def _plain(value: float, digits: int) -> str:
    out = f"{value:.{digits}f}"
    return out.rstrip("0").rstrip(".") if "." in out else out


def _thousands(value: float) -> str:
    if 1000 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{round(value, 12) + 0.0:.4g}"
