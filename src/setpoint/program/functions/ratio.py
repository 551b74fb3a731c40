"""Ratios of affine functions: what bounds and searches take exactly."""

from __future__ import annotations

import math
from typing import Any

from setpoint.program.backend import Array
from setpoint.program.functions.affine import Affine
from setpoint.program.functions.base import INF, Node, Shape

__all__ = ["Ratio"]


def _over(a: float, b: float) -> float:
    """The quotient a / b for b >= 0, with 0/0 = 0."""
    if a == 0 or b == 0:
        return math.copysign(INF, a) if a else 0.0
    return a / b if math.isfinite(b) else 0.0


class Ratio(Node):
    """``offset + A/B`` of affine A and B >= 0; `at_zero` is its value at 0/0."""

    def __init__(
        self, above: Affine, below: Affine, offset: float = 0.0, at_zero: float | None = None
    ) -> None:
        self.above, self.below, self.offset = above, below, float(offset)
        self.at_zero = self.offset if at_zero is None else at_zero
        super().__init__((above, below))

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        out = self.offset + xp.divide(xs[0], xs[1])
        if self.at_zero != self.offset:
            out = xp.where((xs[0] == 0) & (xs[1] == 0), xp.like(out, self.at_zero), out)
        return out

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        below = xp.floor(xs[1])
        return [1.0 / below, -xp.finite(xs[0]) / below / below]

    def derive(self) -> Shape:
        return Shape(quasiconvex=True, quasiconcave=True, ratios=True)

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        (a, b), (c, d) = ranges
        c = max(c, 0.0)
        low = _over(a, d) if a >= 0 else _over(a, c)
        high = _over(b, c) if b > 0 else _over(b, d)
        edges = (self.offset + low, self.offset + high)
        if c > 0:
            return edges
        return min(edges[0], self.at_zero), max(edges[1], self.at_zero)

    def floored_argument(self, xs: list[float]) -> float:
        return xs[1]

    @property
    def shape_name(self) -> str:
        return "fractional"

    def scaled(self, k: float) -> Ratio:
        """The multiple by k."""
        out = Ratio(self.above.scaled(k), self.below, k * self.offset, k * self.at_zero)
        return out.clip_range(*sorted((k * self.low, k * self.high)))

    def shifted(self, k: float) -> Ratio:
        """This plus k."""
        out = Ratio(self.above, self.below, self.offset + k, self.at_zero + k)
        return out.clip_range(self.low + k, self.high + k)
