"""One number from several functions: the largest, the smallest, their gaps, and power means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from setpoint.errors import InputError
from setpoint.program.backend import Array, backend
from setpoint.program.functions.affine import Affine
from setpoint.program.functions.base import INF, Node, RateFunction, Shape
from setpoint.program.functions.ends import Range, largest, pick, smallest

__all__ = ["Max", "MaxMinusMin", "Min", "MinOverMax", "PowerMean"]


class Max(Node):
    """The largest of several."""

    is_kinked = True

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        return xp.largest(xp.stack(xs))

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        stacked = xp.stack(xs)
        return list(xp.first(stacked, xp.largest(stacked)))

    def derive(self) -> Shape:
        return Shape(convex=self.each("convex"), quasiconvex=self.each("quasiconvex"))

    def interval(self, *ranges: Range) -> Range:
        return largest(r[0] for r in ranges), largest(r[1] for r in ranges)


class Min(Node):
    """The smallest of several."""

    is_kinked = True

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        return xp.smallest(xp.stack(xs))

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        stacked = xp.stack(xs)
        return list(xp.first(stacked, xp.smallest(stacked)))

    def derive(self) -> Shape:
        return Shape(concave=self.each("concave"), quasiconcave=self.each("quasiconcave"))

    def interval(self, *ranges: Range) -> Range:
        return smallest(r[0] for r in ranges), smallest(r[1] for r in ranges)


class MaxMinusMin(Node):
    """Largest minus smallest."""

    is_kinked = True

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        stacked = xp.stack(xs)
        return xp.minus(xp.largest(stacked), xp.smallest(stacked))

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        stacked = xp.stack(xs)
        top = xp.first(stacked, xp.largest(stacked))
        return list(top - xp.first(stacked, xp.smallest(stacked)))

    def derive(self) -> Shape:
        affine = all(isinstance(c, Affine) for c in self.children)
        return Shape(convex=affine, quasiconvex=affine)

    def interval(self, *ranges: Range) -> Range:
        lows, highs = [r[0] for r in ranges], [r[1] for r in ranges]
        # However they move, the one that starts highest stays above the one that ends lowest.
        low, high = largest(lows) - smallest(highs), largest(highs) - smallest(lows)
        return largest([low, 0.0]), largest([high, 0.0])


class MinOverMax(Node):
    """Smallest over largest; 0 where all are 0."""

    is_kinked = True

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        stacked = xp.stack(xs)
        return xp.divide(xp.smallest(stacked), xp.largest(stacked))

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        stacked = xp.stack(xs)
        low = xp.finite(xp.smallest(stacked))
        high = xp.floor(xp.finite(xp.largest(stacked)))
        up = xp.first(stacked, xp.smallest(stacked)) / high
        return list(up - xp.first(stacked, xp.largest(stacked)) * (low / high / high))

    def derive(self) -> Shape:
        affine = all(isinstance(c, Affine) and c.low >= -1e-9 for c in self.children)
        return Shape(quasiconcave=affine)

    def interval(self, *ranges: Range) -> Range:
        lows, highs = [r[0] for r in ranges], [r[1] for r in ranges]
        low, high = largest([smallest(lows), 0.0]), largest(highs)
        above, below = smallest(highs), largest(lows)
        least = pick(high > 0, low / pick(high > 0, high, 1.0), 0.0)
        most = smallest([pick(below > 0, above / pick(below > 0, below, 1.0), 1.0), 1.0])
        positive = smallest(lows) >= -1e-9
        return pick(positive, least, -INF), pick(positive, most, INF)

    def floored_argument(self, xs: list[float]) -> float:
        return max(xs)


class PowerMean(Node):
    """The power mean of order 0 (geometric), -1 (harmonic) or 2 (quadratic)."""

    def __init__(self, order: int, children: Sequence[RateFunction]) -> None:
        if order not in (-1, 0, 2):
            raise InputError(f"order is -1, 0 or 2, got {order}")
        self.order = order
        super().__init__(children)

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        n = len(xs)
        if self.order == 2:
            return xp.sqrt(sum(x * x for x in xs) / n)
        stacked = xp.stack(xs)
        low = xp.smallest(stacked)
        safe = xp.where(low[None] > 0, stacked, xp.like(stacked, 1.0))
        out = xp.exp(xp.log(safe).sum(0) / n) if self.order == 0 else n / (1.0 / safe).sum(0)
        return xp.where(low > 0, out, xp.like(out, 0.0))

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        n = len(xs)
        if self.order == 2:
            finite = [xp.finite(x) for x in xs]
            root = xp.floor(self.forward(xp, finite))
            return [x / root / n for x in finite]
        safe = [xp.floor(xp.finite(x)) for x in xs]
        out = self.forward(xp, safe)
        if self.order == 0:
            return [out / x / n for x in safe]
        return [out * out / (x * x) / n for x in safe]

    def derive(self) -> Shape:
        if self.order == 2:
            convex = all(
                isinstance(c, Affine) or (c.shape.convex and c.low >= 0) for c in self.children
            )
            return Shape(convex=convex, quasiconvex=convex)
        concave = self.each("concave")
        return Shape(concave=concave, quasiconcave=concave)

    def interval(self, *ranges: Range) -> Range:
        if self.order == 2:
            n = len(ranges)
            least = [pick((a <= 0) & (b >= 0), 0.0, smallest((abs(a), abs(b)))) for a, b in ranges]
            most = [largest((abs(a), abs(b))) for a, b in ranges]
            low, high = (sum(x * x for x in ends) / n for ends in (least, most))
            return low**0.5, high**0.5
        ends = [[np.atleast_1d(np.maximum(r[i], 0.0)) for r in ranges] for i in (0, 1)]
        low, high = (self.forward(backend(e[0]), e) for e in ends)
        if isinstance(ranges[0][0], np.ndarray):
            return low, high
        return float(low[0]), float(high[0])

    def floored_argument(self, xs: list[float]) -> float:
        return INF if self.order == 2 else min(xs)
