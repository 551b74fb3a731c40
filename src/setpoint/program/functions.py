"""Functions of rates: value, gradient, shape and range of each."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.program.backends import Array, backend

# --- Ends of intervals: numbers, or arrays of them, by one set of formulas ------------------------


End: TypeAlias = Any
"""A number, or an array of them."""

Range: TypeAlias = tuple[End, End]

_QUIET = np.errstate(all="ignore")
"""What is infinite over infinite is known afterwards."""


def pick(condition: Any, then: End, otherwise: End) -> End:
    """One of two, box by box."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, then, otherwise)
    return then if condition else otherwise


def _size(a: End, b: End) -> Range:
    """The range of the absolute value."""
    ends = abs(a), abs(b)
    return pick((a <= 0) & (b >= 0), 0.0, np.minimum(*ends)), np.maximum(*ends)


# --- Functions of the rates v: the objective and the constraints of a program ---------------------


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
    features: frozenset[int]
    """Which features it depends on."""

    is_kinked = False
    """Whether its own gradient jumps."""

    number: float | None = None
    """Its value where it is written as a number."""

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
        self.features = frozenset().union(*(c.features for c in self.children))
        low, high = self.interval(*((c.low, c.high) for c in self.children))
        self.low, self.high = float(low), float(high)
        self.shape = self.derive()

    @abstractmethod
    def forward(self, xp: Any, xs: list[Array]) -> Array:
        """The exact value from the children's."""

    @abstractmethod
    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        """Finite partial derivatives by child."""

    def derive(self) -> Shape:
        """The shape from the children's."""
        return Shape()

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


# --- Affine functions of the rates and their ratios -----------------------------------------------


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
        self.features = frozenset(self.terms)
        self.const = float(const)
        self.number = None if self.terms else self.const
        self.boxes = boxes or {}
        low = high = 0.0
        for j, a in self.terms.items():
            first, last = self.boxes.get(j, (-INF, INF))
            low += a * (first if a > 0.0 else last)
            high += a * (last if a > 0.0 else first)
        self.low, self.high = self.const + low, self.const + high

    def value(self, v: Array) -> Array:
        if not self.terms:
            return backend(v).full(v, self.const)
        out: Array = self.const
        for j, a in self.terms.items():
            out = out + a * v[..., j]
        return out

    def gradient(self, v: Floats) -> Floats:
        out = np.zeros(len(v))
        for j, a in self.terms.items():
            out[j] = a
        return out

    def smallest_floored_argument(self, v: Floats) -> float:
        return INF

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
        # Over boxes of counts a ratio is bounded by its two forms, see setpoint.program.rates.
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


# --- Weighted sums, products, quotients, absolute values ------------------------------------------


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

    @_QUIET
    def interval(self, *ranges: Range) -> Range:
        low, high = 0.0, 0.0
        for k, (a, b) in zip(self.coefs, ranges, strict=True):
            low = low + _times(k, a if k > 0 else b)
            high = high + _times(k, b if k > 0 else a)
        return pick(np.isnan(low), -INF, low), pick(np.isnan(high), INF, high)


class ProductNode(Node):
    """A product; zero times anything is zero."""

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        return xp.times(xs[0], xs[1])

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        return [xp.finite(xs[1]), xp.finite(xs[0])]

    def interval(self, *ranges: Range) -> Range:
        corners = [_times(a, b) for a in ranges[0] for b in ranges[1]]
        return np.min(corners, axis=0), np.max(corners, axis=0)


class QuotientNode(Node):
    """A quotient that is not fractional; 0/0 is 0, rounding errors over 0 too."""

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        above = xp.where((xp.abs(xs[0]) <= _ROUNDING) & (xs[1] == 0), xs[1], xs[0])
        return xp.divide(above, xs[1])

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        below = xp.where(xs[1] < 0, -xp.floor(-xs[1]), xp.floor(xs[1]))
        return [1.0 / below, -xp.finite(xs[0]) / below / below]

    @_QUIET
    def interval(self, *ranges: Range) -> Range:
        (a, b), (c, d) = ranges
        apart = (c > 0) | (d < 0)
        corners = [x / pick(apart, y, 1.0) for x in (a, b) for y in (c, d)]
        total = sum(corners)
        known = apart & (total == total)  # else a corner is infinite over infinite
        low = pick(known, np.min(corners, axis=0), pick((a >= 0) & (c >= 0), 0.0, -INF))
        return low, pick(known, np.max(corners, axis=0), INF)

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
        return _size(*ranges[0])


class _Rising(Node):
    """A concave, rising function of one argument, with its inverse."""

    def derive(self) -> Shape:
        s = self.children[0].shape
        return Shape(concave=s.concave, quasiconvex=s.quasiconvex, quasiconcave=s.quasiconcave)

    @_QUIET
    def interval(self, *ranges: Range) -> Range:
        low, high = (self.forward(backend(np.asarray(end)), [end]) for end in ranges[0])
        return low, high

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


class Sqrt(_Rising):
    """The square root."""

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        return xp.sqrt(xs[0])

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        return [0.5 / xp.sqrt(xp.floor(xs[0]))]

    def inverse(self, y: float) -> float:
        """The argument with this value."""
        return max(y, 0.0) ** 2


# --- One number from several functions: the largest, the smallest, their gaps ---------------------


class _Extreme(Node):
    """The largest of several, or the smallest."""

    is_kinked = True
    which: ClassVar[Literal["largest", "smallest"]]

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        return getattr(xp, self.which)(xp.stack(xs))

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        stacked = xp.stack(xs)
        return list(xp.first(stacked, getattr(xp, self.which)(stacked)))

    def interval(self, *ranges: Range) -> Range:
        choose = np.max if self.which == "largest" else np.min
        return choose([r[0] for r in ranges], axis=0), choose([r[1] for r in ranges], axis=0)


class Max(_Extreme):
    """The largest of several."""

    which = "largest"

    def derive(self) -> Shape:
        return Shape(convex=self.each("convex"), quasiconvex=self.each("quasiconvex"))


class Min(_Extreme):
    """The smallest of several."""

    which = "smallest"

    def derive(self) -> Shape:
        return Shape(concave=self.each("concave"), quasiconcave=self.each("quasiconcave"))


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

    @_QUIET
    def interval(self, *ranges: Range) -> Range:
        lows, highs = [r[0] for r in ranges], [r[1] for r in ranges]
        # However they move, the one that starts highest stays above the one that ends lowest.
        low = np.max(lows, axis=0) - np.min(highs, axis=0)
        high = np.max(highs, axis=0) - np.min(lows, axis=0)
        return np.maximum(low, 0.0), np.maximum(high, 0.0)


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

    @_QUIET
    def interval(self, *ranges: Range) -> Range:
        lows, highs = [r[0] for r in ranges], [r[1] for r in ranges]
        low, high = np.min(lows, axis=0), np.max(highs, axis=0)
        above, below = np.min(highs, axis=0), np.max(lows, axis=0)
        least = pick(high > 0, np.maximum(low, 0.0) / high, 0.0)
        most = np.minimum(pick(below > 0, above / below, 1.0), 1.0)
        positive = low >= -1e-9
        return pick(positive, least, -INF), pick(positive, most, INF)

    def floored_argument(self, xs: list[float]) -> float:
        return max(xs)


class PowerMean(Node):
    """The power mean of order 0 (geometric), -1 (harmonic) or 2 (quadratic)."""

    def __init__(self, order: int, children: Sequence[RateFunction]) -> None:
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

    @_QUIET
    def interval(self, *ranges: Range) -> Range:
        if self.order == 2:
            n, sizes = len(ranges), [_size(*r) for r in ranges]
            low, high = (sum(x * x for x in ends) / n for ends in zip(*sizes, strict=True))
            return low**0.5, high**0.5
        ends = [[np.maximum(r[i], 0.0) for r in ranges] for i in (0, 1)]
        low, high = (self.forward(backend(e[0]), e)[()] for e in ends)
        return low, high

    def floored_argument(self, xs: list[float]) -> float:
        return INF if self.order == 2 else min(xs)
