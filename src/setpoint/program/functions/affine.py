"""Affine functions of the rates and their ratios: what bounds and searches take exactly."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.program.backend import Array, backend
from setpoint.program.functions.base import AFFINE, INF, Node, RateFunction, Shape
from setpoint.program.functions.ends import Range

__all__ = ["Affine", "Ratio"]


class Affine(RateFunction):
    """``const + sum_j coef_j v_j``; `terms` maps feature to coefficient, `boxes` to its range."""

    shape = AFFINE

    def __init__(
        self,
        terms: dict[int, float],
        const: float,
        boxes: dict[int, tuple[float, float]] | None = None,
    ) -> None:
        self.terms = {j: a for j, a in terms.items() if a != 0.0}
        self.const = float(const)
        self.boxes = boxes or {}
        low = high = 0.0
        for j, a in self.terms.items():
            first, last = self.boxes.get(j, (-INF, INF))
            low += a * (first if a > 0.0 else last)
            high += a * (last if a > 0.0 else first)
        self.low, self.high = self.const + low, self.const + high

    @cached_property
    def _index(self) -> list[int]:
        return list(self.terms)

    def value(self, v: Array) -> Array:
        xp = backend(v)
        out = xp.full(v, self.const)
        for j, a in self.terms.items():
            out = out + a * v[..., j]
        return out

    def gradient(self, v: Floats) -> Floats:
        out = np.zeros(len(v))
        out[self._index] = list(self.terms.values())
        return out

    def smallest_floored_argument(self, v: Floats) -> float:
        return INF

    @property
    def features(self) -> frozenset[int]:
        return frozenset(self.terms)

    @property
    def shape_name(self) -> str:
        return "affine"

    def scaled(self, k: float) -> Affine:
        """The multiple by k."""
        return Affine({j: k * a for j, a in self.terms.items()}, k * self.const, self.boxes)

    def plus(self, other: Affine | float) -> Affine:
        """The sum of two affine functions."""
        if not isinstance(other, Affine):
            other = Affine({}, other)
        terms = dict(self.terms)
        for j, a in other.terms.items():
            terms[j] = terms.get(j, 0.0) + a
        return Affine(terms, self.const + other.const, {**self.boxes, **other.boxes})

    def same_as(self, other: Affine) -> bool:
        """Whether both are the same function, to rounding."""
        if self.terms.keys() != other.terms.keys():
            return False
        pairs = [(a, other.terms[j]) for j, a in self.terms.items()]
        return all(math.isclose(a, b, rel_tol=1e-12) for a, b in pairs) and math.isclose(
            self.const, other.const, rel_tol=1e-12, abs_tol=1e-15
        )


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

    def interval(self, *ranges: Range) -> Range:
        # Over boxes of counts a ratio is bounded by its two forms, see setpoint.program.boxes.
        (a, b), (c, d) = ((float(low), float(high)) for low, high in ranges)
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
