"""Functions of the rates v: the objective and the constraints of a program.

A function is one small class that answers the same few questions: its value, its partial
derivatives, its shape, its range. Values are exact (0/0 is 0, the root of 0 is 0);
derivatives of 1/x, root and log are taken at ``max(x, 1e-12)`` and passed through
below that floor, for a clamp's zero gradient would stick. One definition runs on NumPy
and on torch, where autograd sees the same floored derivatives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from setpoint.array_types import Floats
from setpoint.program.backend import Array, backend
from setpoint.program.functions.ends import Range

__all__ = ["AFFINE", "INF", "Node", "RateFunction", "Shape"]

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


class RateFunction(ABC):
    """A function of the features with a shape and a range."""

    shape: Shape
    low: float
    high: float
    is_kinked = False
    """Whether its own gradient jumps."""

    children: tuple[RateFunction, ...] = ()
    """The functions this one is made of."""

    @abstractmethod
    def value(self, v: Array) -> Array:
        """Values (...,) at features v (..., d)."""

    @abstractmethod
    def gradient(self, v: Floats) -> Floats:
        """Gradient (d,) at one v (d,); finite everywhere."""

    @abstractmethod
    def smallest_floored_argument(self, v: Floats) -> float:
        """The smallest argument with a floor; a tangent is exact from 1e-9 up."""

    @property
    @abstractmethod
    def features(self) -> frozenset[int]:
        """Which features it depends on."""

    def clip_range(self, low: float, high: float) -> Self:
        """The same function, its range narrowed by what is known otherwise."""
        if low <= self.low and high >= self.high:
            return self
        out = copy(self)
        out.low, out.high = max(self.low, low), min(self.high, high)
        return out

    @property
    def is_constant(self) -> bool:
        """Whether no decision changes it."""
        return not self.features

    @property
    def has_kinks(self) -> bool:
        """Whether the gradient jumps somewhere."""
        if self.is_constant:
            return False
        return self.is_kinked or any(c.has_kinks for c in self.children)

    @property
    def shape_name(self) -> str:
        """The strongest shape it has, in words."""
        for name in ("concave", "convex", "quasiconcave", "quasiconvex"):
            if getattr(self.shape, name):
                return name
        return "sum of ratios" if self.shape.ratios else "general"


class Node(RateFunction):
    """A function of other functions."""

    def __init__(self, children: Sequence[RateFunction]) -> None:
        self.children = tuple(children)
        low, high = self.interval(*((c.low, c.high) for c in self.children))
        self.low, self.high = float(low), float(high)
        self.shape = self.derive()

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
    def interval(self, *ranges: Range) -> Range:
        """The range from the children's: numbers, or arrays for many boxes at once."""

    def floored_argument(self, xs: list[float]) -> float:
        """The argument whose floor bends the derivatives; inf where there is none."""
        return INF

    def each(self, name: str) -> bool:
        """Whether all children have a shape."""
        return all(getattr(c.shape, name) for c in self.children)

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

    def smallest_floored_argument(self, v: Floats) -> float:
        own = self.floored_argument([float(c.value(v)) for c in self.children])
        return min([own, *(c.smallest_floored_argument(v) for c in self.children)])

    @cached_property
    def features(self) -> frozenset[int]:
        return frozenset().union(*(c.features for c in self.children))
