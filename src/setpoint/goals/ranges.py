"""Ranges that hold on any data, by interval arithmetic over the table's ranges."""

from __future__ import annotations

import math
from typing import Any

from setpoint.goals.expressions import (
    Apply,
    Baseline,
    Const,
    Expression,
    Metric,
    Product,
    Quotient,
    Reduce,
    Sum,
    walk,
)
from setpoint.goals.linear import LinearForm
from setpoint.goals.table import TABLE

__all__ = ["in_shares", "range_of"]

Range = tuple[float, float]

_ANY: Range = (-math.inf, math.inf)


def range_of(e: Expression) -> Range:
    """The smallest and largest value that an expression can have, whatever the data.

    Examples
    --------
    >>> from setpoint.metrics import precision, recall
    >>> range_of(1 - precision), range_of(recall.difference("sex"))
    ((0.0, 1.0), (0.0, 1.0))
    """
    if isinstance(e, Const):
        return e.value, e.value
    if isinstance(e, Metric):
        return _metric(e)
    if isinstance(e, Baseline):
        return range_of(e.inner)
    if isinstance(e, Reduce):
        return _reduced(e.kind, range_of(e.inner))
    if isinstance(e, Sum):
        parts = [(s, range_of(t)) for s, t in e.terms]
        low = sum(r[0] if s > 0 else -r[1] for s, r in parts)
        return low, sum(r[1] if s > 0 else -r[0] for s, r in parts)
    if isinstance(e, Product):
        return _corners(range_of(e.left), range_of(e.right))
    if isinstance(e, Quotient):
        below = range_of(e.right)
        if below[0] <= 0 <= below[1]:
            return (0.0, math.inf) if range_of(e.left)[0] >= 0 and below[0] >= 0 else _ANY
        return _corners(range_of(e.left), (1 / below[1], 1 / below[0]))
    if isinstance(e, Apply):
        return _applied(e.function, [range_of(a) for a in e.args])
    return _ANY


def in_shares(e: Expression, bound: float) -> str:
    """How a bound on shares is written that is given per cent, or as a number of rows.

    Examples
    --------
    >>> from setpoint.metrics import fp, precision, tp
    >>> in_shares(precision, 90.0), in_shares(tp + fp, 200.0)
    ('; for 90 per cent write 0.9 or 90%', '; for 200 of N rows write 200/N, with a number for N')
    """
    metrics = [x for x in walk(e) if isinstance(x, Metric)]
    low, high = range_of(e)
    if bound < 2 or low < 0 or not math.isfinite(high) or any(dict(m.params) for m in metrics):
        return ""
    ways = []
    if bound <= 100:
        ways.append(f"for {bound:.12g} per cent write {bound / 100:.12g} or {bound:.12g}%")
    given = [TABLE[m.name].given for m in metrics]
    if bound.is_integer() and all(x is not None and not x.words for x in given):
        ways.append(f"for {bound:.12g} of N rows write {bound:.12g}/N, with a number for N")
    return "; " + ", ".join(ways) if ways else ""


def _metric(e: Metric) -> Range:
    entry = TABLE[e.name]
    given: dict[str, Any] = dict(e.params)
    pairs = given.get("costs", given.get("values"))
    worths = [x for _, x in pairs] if isinstance(pairs, tuple) else list(given.values())
    if e.value_columns or not (pairs or entry.any_of):
        return entry.low, entry.high
    values: list[float] = [x.constant if isinstance(x, LinearForm) else x for x in worths]
    return min(0.0, *values), max(0.0, *values)


def _reduced(kind: str, inner: Range) -> Range:
    low, high = inner
    if kind in ("difference", "deviation"):
        return 0.0, high - low
    if kind == "ratio":
        return (0.0, 1.0) if low >= 0 else _ANY
    if kind == "sum":
        return (0.0, math.inf) if low >= 0 else _ANY
    if kind == "quadratic_mean":
        return 0.0, max(abs(low), abs(high))
    return inner


def _corners(x: Range, y: Range) -> Range:
    ends = [0.0 if a == 0 or b == 0 else a * b for a in x for b in y]
    return min(ends), max(ends)


def _applied(function: str, args: list[Range]) -> Range:
    low, high = args[0]
    if function == "abs":
        ends = (abs(low), abs(high))
        return (0.0 if low <= 0 <= high else min(ends)), max(ends)
    if function == "sqrt":
        return math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0))
    if function == "log":
        return _log(low), _log(high)
    choose = max if function == "maximum" else min
    return choose(a for a, _ in args), choose(b for _, b in args)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf
