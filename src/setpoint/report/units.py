"""In which unit a metric is written: shares in per cent, money as amounts, the rest as numbers."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from setpoint.goals.constraints import Constraint
from setpoint.goals.expressions import (
    Baseline,
    Const,
    Expression,
    Metric,
    Reduce,
    Sum,
    walk,
)
from setpoint.goals.table import TABLE
from setpoint.report.numbers import amount, number, percent

__all__ = ["Unit", "asked", "shown", "shown_bound", "unit_of"]

Unit: TypeAlias = Literal["share", "amount", "number"]

_AMOUNTS = ("cost", "profit", "value")


def unit_of(x: Expression) -> Unit:
    """The unit of an expression.

    Examples
    --------
    >>> from setpoint.metrics import mcc, profit, recall
    >>> unit_of(recall - recall.baseline()), unit_of(mcc), unit_of(profit(tp="amount - 5"))
    ('share', 'number', 'amount')
    """
    metrics = [m for m in walk(x) if isinstance(m, Metric)]
    if any(m.name in _AMOUNTS for m in metrics):
        return "amount"
    terms = x.terms if isinstance(x, Sum) else ((1.0, x),)
    known = [(sign, part) for sign, part in terms if not isinstance(part, Const)]
    shares = all(_is_share(part) for _, part in known)
    # The difference of two shares is one; of their sum 150 % says nothing.
    one_each = len({sign > 0.0 for sign, _ in known}) == len(known)
    return "share" if metrics and shares and one_each else "number"


def _is_share(x: Expression) -> bool:
    """Whether it is a share of rows, of the deployed model's, or over groups of them."""
    if isinstance(x, Metric):
        return TABLE[x.name].low >= 0.0 and TABLE[x.name].high <= 1.0
    if isinstance(x, Reduce):
        return x.kind in ("min", "max", "mean", "difference", "ratio") and _is_share(x.inner)
    return isinstance(x, Baseline) and _is_share(x.inner)


def shown(x: float | None, unit: Unit) -> str:
    """A value in its unit.

    Examples
    --------
    >>> shown(0.4992, "share"), shown(3.532, "amount"), shown(0.31, "number")
    ('49.9 %', '3.53', '0.3100')
    """
    if unit == "share":
        return percent(x)
    return "-" if x is None else amount(x) if unit == "amount" else number(x)


def asked(constraint: Constraint, bound: float | None) -> str:
    """A bound in words.

    Examples
    --------
    >>> from setpoint.metrics import precision
    >>> asked(precision >= 0.5, 0.5)
    'at least 50 %'
    """
    words = "at least" if constraint.relation == ">=" else "at most"
    return f"{words} {shown_bound(bound, unit_of(constraint.lhs))}"


def shown_bound(x: float | None, unit: Unit) -> str:
    """A bound as short as it was written."""
    if unit == "share" and x is not None and math.isfinite(x):
        return f"{100.0 * x:.6g} %"
    return "-" if x is None else f"{x:.6g}"
