"""Logarithm and square root: concave, rising functions of one argument."""

from __future__ import annotations

import math
from typing import Any

from setpoint.program.backend import Array
from setpoint.program.functions.base import INF, Node, Shape

__all__ = ["Log", "Sqrt"]


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

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        a, b = (math.log(x) if x > 0 else -INF for x in ranges[0])
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

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        a, b = (math.sqrt(max(x, 0.0)) for x in ranges[0])
        return a, b
