"""Bound expressions: functions of the features v, built from a few atoms.

An atom is one small class that answers the same few questions: its value, its partial
derivatives, its shape, its range. Values are exact (0/0 is 0, the root of 0 is 0);
derivatives of 1/x, root and log are taken at ``max(x, 1e-12)`` and passed through
below that floor, for a clamp's zero gradient would stick. One definition runs on NumPy
and on torch, where autograd sees the same floored derivatives.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from setpoint.goals.backend import Array, backend
from setpoint.goals.events import Floats

__all__ = ["AFFINE", "Affine", "Bound", "Node", "Ratio", "Shape"]

INF = float("inf")


class Shape(NamedTuple):
    """What is known of a function by composition."""

    convex: bool = False
    concave: bool = False
    quasiconvex: bool = False
    quasiconcave: bool = False
    ratios: bool = False

    def negated(self) -> Shape:
        """The shape of minus the function."""
        return Shape(self.concave, self.convex, self.quasiconcave, self.quasiconvex, self.ratios)


AFFINE = Shape(True, True, True, True, True)


class Bound(ABC):
    """A function of the features with a shape and a range."""

    shape: Shape
    low: float
    high: float

    @property
    def children(self) -> tuple[Bound, ...]:
        """The functions this one is made of."""
        return ()

    @abstractmethod
    def value(self, v: Array) -> Array:
        """Values (...,) at features v (..., d)."""

    @abstractmethod
    def gradient(self, v: Floats) -> Floats:
        """Gradient (d,) at one v (d,); finite everywhere."""

    @abstractmethod
    def floored(self, v: Floats) -> float:
        """The smallest argument that a floor watches; a tangent is exact from 1e-9 up."""

    @property
    @abstractmethod
    def features(self) -> frozenset[int]:
        """Which features it depends on."""

    def within(self, low: float, high: float) -> Self:
        """This function, its range narrowed by what is known otherwise."""
        self.low, self.high = max(self.low, low), min(self.high, high)
        return self

    @property
    def is_constant(self) -> bool:
        """Whether no decision changes it."""
        return not self.features

    @property
    def shape_name(self) -> str:
        """The strongest shape it has, in words."""
        if isinstance(self, Affine):
            return "affine"
        if isinstance(self, Ratio):
            return "fractional"
        for name in ("concave", "convex", "quasiconcave", "quasiconvex"):
            if getattr(self.shape, name):
                return name
        return "sum of ratios" if self.shape.ratios else "general"


class Affine(Bound):
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
        ends = [
            sorted(a * x for x in self.boxes.get(j, (-INF, INF))) for j, a in self.terms.items()
        ]
        self.low = self.const + sum(e[0] for e in ends)
        self.high = self.const + sum(e[1] for e in ends)

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

    def floored(self, v: Floats) -> float:
        return INF

    @property
    def features(self) -> frozenset[int]:
        return frozenset(self.terms)

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


class Node(Bound):
    """An atom over children."""

    def __init__(self, children: Sequence[Bound]) -> None:
        self._children = tuple(children)
        self.low, self.high = self.interval(*((c.low, c.high) for c in self._children))
        self.shape = self.derive()

    @property
    def children(self) -> tuple[Bound, ...]:
        return self._children

    @abstractmethod
    def forward(self, xp: Any, xs: list[Array]) -> Array:
        """The exact value from the children's."""

    @abstractmethod
    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        """Finite partial derivatives by child."""

    @abstractmethod
    def derive(self) -> Shape:
        """The shape from the children's."""

    @abstractmethod
    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        """The range from the children's."""

    def watched(self, xs: list[float]) -> float:
        """The smallest argument that a floor of this atom watches."""
        return INF

    def value(self, v: Array) -> Array:
        xp = backend(v)
        xs = [c.value(v) for c in self.children]
        return xp.attach(self.forward, self.partials, xs)

    def gradient(self, v: Floats) -> Floats:
        xp = backend(v)
        xs = [c.value(v) for c in self.children]
        out = np.zeros(len(v))
        for partial, child in zip(self.partials(xp, xs), self.children, strict=True):
            if partial != 0.0:
                out += float(partial) * child.gradient(v)
        return out

    def floored(self, v: Floats) -> float:
        own = self.watched([float(c.value(v)) for c in self.children])
        return min([own, *(c.floored(v) for c in self.children)])

    @cached_property
    def _features(self) -> frozenset[int]:
        return frozenset().union(*(c.features for c in self.children))

    @property
    def features(self) -> frozenset[int]:
        return self._features


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

    def watched(self, xs: list[float]) -> float:
        return xs[1]

    def scaled(self, k: float) -> Ratio:
        """The multiple by k."""
        out = Ratio(self.above.scaled(k), self.below, k * self.offset, k * self.at_zero)
        return out.within(*sorted((k * self.low, k * self.high)))

    def shifted(self, k: float) -> Ratio:
        """This plus k."""
        out = Ratio(self.above, self.below, self.offset + k, self.at_zero + k)
        return out.within(self.low + k, self.high + k)
