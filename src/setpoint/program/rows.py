"""Constraints and objectives as linear rows ``<a, v> + b.t <= c`` with free auxiliaries t.

A row is an :class:`Affine` function that must not exceed 0; auxiliaries are negative
feature numbers. ``difference <= k`` takes one auxiliary and 2m rows, ``ratio >= k``
likewise, a fractional bound one row and, where the rule that makes the denominator 0
would violate it, a floor on the denominator.
"""

from __future__ import annotations

import math
from itertools import count

from setpoint.program.functions import (
    Absolute,
    Affine,
    Log,
    Max,
    MaxMinusMin,
    Min,
    MinOverMax,
    RateFunction,
    Ratio,
    Sqrt,
    WeightedSum,
)
from setpoint.program.rate_table import RateTable

__all__ = ["NotLinearError", "RowBuilder", "without_auxiliaries"]

_TINY = 1e-12
_NEVER = Affine({}, 1.0)
"""A row that nothing meets."""
_MOST_ROWS = 3000


class NotLinearError(Exception):
    """The bound is not a conjunction of linear rows."""


class RowBuilder:
    """Makes the rows of several bounds over shared auxiliaries."""

    def __init__(self, weights: RateTable, least: float = 0.0) -> None:
        self._weights = weights
        self._least = least
        self._numbers = count(-1, -1)

    def auxiliary(self) -> Affine:
        """A new free variable."""
        return Affine({next(self._numbers): 1.0}, 0.0)

    def bound(self, x: RateFunction, k: Affine | float, sign: float) -> list[Affine]:
        """Rows that hold exactly where ``sign * (x - k) >= 0``: a floor k, or a cap with -1."""
        if not math.isfinite(k.const if isinstance(k, Affine) else k):
            raise NotLinearError
        if isinstance(x, Affine):
            return [_level(k).plus(x.scaled(-1.0)).scaled(sign)]
        if isinstance(x, Ratio):
            return self._ratio(x, _number(k), sign)
        if isinstance(x, (Min if sign > 0 else Max)):
            return [row for child in x.children for row in self.bound(child, k, sign)]
        if isinstance(x, WeightedSum):
            return self._total(x, k, sign)
        if isinstance(x, (Log, Sqrt)):
            return self._rising(x, _number(k), sign)
        if isinstance(x, Absolute) and sign < 0:
            (child,) = x.children
            return self.bound(child, k, -1.0) + self.bound(child, _level(k).scaled(-1.0), 1.0)
        if isinstance(x, MaxMinusMin) and sign < 0:
            t, half = self.auxiliary(), _level(k).scaled(0.5)
            return self._between(x, t.plus(half.scaled(-1.0)), t.plus(half))
        if isinstance(x, MinOverMax) and sign > 0:
            return self._extremes(x, _number(k))
        raise NotLinearError

    def _rising(self, x: Log | Sqrt, k: float, sign: float) -> list[Affine]:
        if x.low >= k if sign > 0 else x.high <= k:
            return []  # holds for every decision
        if x.low > k if sign < 0 else x.high < k:
            return [_NEVER]
        return self.bound(x.children[0], x.inverse(k), sign)

    def _total(self, x: WeightedSum, k: Affine | float, sign: float) -> list[Affine]:
        rest = _level(k).scaled(-1.0)
        parts = []
        for coef, child in zip(x.coefs, x.children, strict=True):
            if isinstance(child, Affine):
                rest = rest.plus(child.scaled(coef))
            else:
                parts.append((coef, child))
        # sign * (rest + sum coef * child) >= 0
        if len(parts) == 1:
            coef, child = parts[0]
            return self.bound(child, rest.scaled(-1.0 / coef), sign if coef > 0 else -sign)
        rows = []
        for coef, child in parts:
            t = self.auxiliary()
            rows += self.bound(child, t, sign if coef > 0 else -sign)
            rest = rest.plus(t.scaled(coef))
        return [*rows, rest.scaled(-sign)]

    def _ratio(self, x: Ratio, k: float, sign: float) -> list[Affine]:
        # sign * (offset + A/B - k) >= 0, times B >= 0
        row = x.below.scaled(k - x.offset).plus(x.above.scaled(-1.0)).scaled(sign)
        return [row, *(self.floor(x, sign) if sign * (x.at_zero - k) < 0 else ())]

    def floor(self, x: Ratio, sign: float) -> list[Affine]:
        """Keep out A = B = 0: B (or where that asks too much, B + |A|) is one step or more."""
        if self._weights.range(x.below)[0] > _TINY:
            return []
        above, below = x.above.scaled(sign), x.below
        low, high = self._weights.range_at_least(above, below)
        if low > _TINY or high < -_TINY:
            return []  # where B is 0, A is not
        if high > _TINY:
            # With B = 0 the row still allows A > 0 (wins without losses).
            if self._weights.range(above)[0] < -_TINY:
                raise NotLinearError
            below = below.plus(above)
        step = self._weights.step(below, self._least)
        return [_NEVER if step is None else Affine({}, step).plus(below.scaled(-1.0))]

    def _between(self, x: MaxMinusMin | MinOverMax, low: Affine, high: Affine) -> list[Affine]:
        ends = ((high, -1.0), (low, 1.0))
        return [r for c in x.children for k, sign in ends for r in self.bound(_affine(c), k, sign)]

    def _extremes(self, x: MinOverMax, k: float) -> list[Affine]:
        if k <= 0:
            return []
        t = self.auxiliary()
        rows = self._between(x, t.scaled(k), t)
        # Not all of them are 0: the largest, and with it t, is at least this.
        children = [_affine(c) for c in x.children]
        if max(self._weights.range(c)[0] for c in children) > _TINY:
            return rows
        steps = [s for c in children if (s := self._weights.step(c, self._least)) is not None]
        return [*rows, Affine({}, min(steps)).plus(t.scaled(-1.0)) if steps else _NEVER]


def _level(k: Affine | float) -> Affine:
    return k if isinstance(k, Affine) else Affine({}, k)


def _number(k: Affine | float) -> float:
    if isinstance(k, Affine):
        if k.terms:
            raise NotLinearError
        return k.const
    return float(k)


def _affine(x: RateFunction) -> Affine:
    if not isinstance(x, Affine):
        raise NotLinearError
    return x


def without_auxiliaries(rows: list[Affine]) -> list[Affine]:
    """The same region of the features without free variables (Fourier and Motzkin)."""
    while free := {j for row in rows for j in row.terms if j < 0}:
        j = max(free)
        ups = [r for r in rows if r.terms.get(j, 0.0) > 0]
        downs = [r for r in rows if r.terms.get(j, 0.0) < 0]
        rows = [r for r in rows if j not in r.terms]
        for up in ups:
            for down in downs:
                row = up.scaled(1.0 / up.terms[j]).plus(down.scaled(-1.0 / down.terms[j]))
                row = Affine({i: a for i, a in row.terms.items() if i != j}, row.const)
                if row.terms or row.const > 0.0:
                    rows.append(row)
        if len(rows) > _MOST_ROWS:
            raise NotLinearError
    return rows
