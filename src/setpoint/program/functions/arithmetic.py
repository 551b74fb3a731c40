"""Weighted sums, products, quotients, absolute values, logarithms and roots of functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from setpoint.program.backend import Array
from setpoint.program.functions.affine import Affine
from setpoint.program.functions.base import INF, Node, RateFunction, Shape
from setpoint.program.functions.ends import (
    End,
    Range,
    defined,
    each,
    largest,
    pick,
    smallest,
)

__all__ = ["Absolute", "Log", "Product", "Quotient", "Sqrt", "WeightedSum"]

_ROUNDING = 1e-14


def _times(a: End, b: End) -> End:
    return pick((a == 0) | (b == 0), 0.0, pick((a == 0) | (b == 0), 1.0, a) * b)


class WeightedSum(Node):
    """A weighted sum ``sum_k coef_k child_k``; at most one child is affine."""

    def __init__(self, coefs: Sequence[float], children: Sequence[RateFunction]) -> None:
        self.coefs = tuple(float(c) for c in coefs)
        super().__init__(children)

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        out = self.coefs[0] * xs[0]
        for k, x in zip(self.coefs[1:], xs[1:], strict=True):
            out = out + k * x
        return out

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        return [xp.like(x, k) for k, x in zip(self.coefs, xs, strict=True)]

    def derive(self) -> Shape:
        signed = [
            c.shape if k > 0 else c.shape.negated()
            for k, c in zip(self.coefs, self.children, strict=True)
        ]
        varying = [s for s, c in zip(signed, self.children, strict=True) if not c.is_constant]
        alone = len(varying) == 1
        return Shape(
            convex=all(s.convex for s in signed),
            concave=all(s.concave for s in signed),
            quasiconvex=all(s.convex for s in signed) or (alone and varying[0].quasiconvex),
            quasiconcave=all(s.concave for s in signed) or (alone and varying[0].quasiconcave),
            ratios=all(s.ratios for s in signed),
        )

    def interval(self, *ranges: Range) -> Range:
        low, high = 0.0, 0.0
        for k, (a, b) in zip(self.coefs, ranges, strict=True):
            low = low + _times(k, a if k > 0 else b)
            high = high + _times(k, b if k > 0 else a)
        return defined(low, -INF), defined(high, INF)


class Product(Node):
    """A product; zero times anything is zero."""

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        return xp.times(xs[0], xs[1])

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        return [xp.finite(xs[1]), xp.finite(xs[0])]

    def derive(self) -> Shape:
        return Shape()

    def interval(self, *ranges: Range) -> Range:
        corners = [_times(a, b) for a in ranges[0] for b in ranges[1]]
        return smallest(corners), largest(corners)


class Quotient(Node):
    """A quotient that is not fractional; 0/0 is 0, rounding errors over 0 too."""

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        above = xp.where((xp.abs(xs[0]) <= _ROUNDING) & (xs[1] == 0), xs[1], xs[0])
        return xp.divide(above, xs[1])

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        below = xp.where(xs[1] < 0, -xp.floor(-xs[1]), xp.floor(xs[1]))
        return [1.0 / below, -xp.finite(xs[0]) / below / below]

    def derive(self) -> Shape:
        return Shape()

    def interval(self, *ranges: Range) -> Range:
        (a, b), (c, d) = ranges
        apart = (c > 0) | (d < 0)
        corners = [x / pick(apart, y, 1.0) for x in (a, b) for y in (c, d)]
        total = sum(corners)
        known = apart & (total == total)  # else a corner is infinite over infinite
        low = pick(known, smallest(corners), pick((a >= 0) & (c >= 0), 0.0, -INF))
        return low, pick(known, largest(corners), INF)

    def floored_argument(self, xs: list[float]) -> float:
        return abs(xs[1])


class Absolute(Node):
    """The absolute value."""

    is_kinked = True

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        return xp.abs(xs[0])

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        return [xp.where(xs[0] < 0, xp.like(xs[0], -1.0), xp.like(xs[0], 1.0))]

    def derive(self) -> Shape:
        inner = self.children[0]
        affine = isinstance(inner, Affine)
        quasi = inner.shape.quasiconvex and inner.shape.quasiconcave
        return Shape(convex=affine, quasiconvex=affine or quasi)

    def interval(self, *ranges: Range) -> Range:
        a, b = ranges[0]
        ends = abs(a), abs(b)
        return pick((a <= 0) & (b >= 0), 0.0, smallest(ends)), largest(ends)


class _Rising(Node):
    """A concave, rising function of one argument, with its inverse."""

    def derive(self) -> Shape:
        s = self.children[0].shape
        return Shape(concave=s.concave, quasiconvex=s.quasiconvex, quasiconcave=s.quasiconcave)

    def floored_argument(self, xs: list[float]) -> float:
        return xs[0]


class Log(_Rising):
    """The natural logarithm; of 0 it is -inf."""

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        return xp.log(xs[0])

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        return [1.0 / xp.floor(xs[0])]

    def inverse(self, y: float) -> float:
        """The argument with this value."""
        return math.exp(min(y, 700.0))

    def interval(self, *ranges: Range) -> Range:
        a, b = (each(lambda v: math.log(v) if v > 0 else -INF, x) for x in ranges[0])
        return a, b


class Sqrt(_Rising):
    """The square root."""

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        return xp.sqrt(xs[0])

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        return [0.5 / xp.sqrt(xp.floor(xs[0]))]

    def inverse(self, y: float) -> float:
        """The argument with this value."""
        return max(y, 0.0) ** 2

    def interval(self, *ranges: Range) -> Range:
        a, b = (each(lambda v: math.sqrt(max(v, 0.0)), x) for x in ranges[0])
        return a, b
