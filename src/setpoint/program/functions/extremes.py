"""The largest and the smallest of several functions, their difference and their ratio."""

from __future__ import annotations

from typing import Any

from setpoint.program.backend import Array
from setpoint.program.functions.affine import Affine
from setpoint.program.functions.base import INF, Node, Shape

__all__ = ["Max", "MaxMinusMin", "Min", "MinOverMax"]


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

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        return max(r[0] for r in ranges), max(r[1] for r in ranges)


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

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        return min(r[0] for r in ranges), min(r[1] for r in ranges)


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

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        return 0.0, max(max(r[1] for r in ranges) - min(r[0] for r in ranges), 0.0)


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

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        return (0.0, 1.0) if min(r[0] for r in ranges) >= -1e-9 else (-INF, INF)

    def floored_argument(self, xs: list[float]) -> float:
        return max(xs)
