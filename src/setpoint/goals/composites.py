"""Atoms over other atoms: sums, products, extremes, roots, logarithms and means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from setpoint.goals.atoms import INF, Affine, Bound, Node, Shape
from setpoint.goals.backend import Array, backend

__all__ = [
    "Absolute",
    "Extremes",
    "Largest",
    "Logarithm",
    "Over",
    "PowerMean",
    "Root",
    "Smallest",
    "Spread",
    "Times",
    "Total",
    "has_kinks",
]


_ROUNDING = 1e-14


def _all(children: Sequence[Bound], name: str) -> bool:
    return all(getattr(c.shape, name) for c in children)


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


class Total(Node):
    """A weighted sum ``sum_k coef_k child_k``; at most one child is affine."""

    def __init__(self, coefs: Sequence[float], children: Sequence[Bound]) -> None:
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

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        low = sum(
            _times(k, r[0] if k > 0 else r[1]) for k, r in zip(self.coefs, ranges, strict=True)
        )
        high = sum(
            _times(k, r[1] if k > 0 else r[0]) for k, r in zip(self.coefs, ranges, strict=True)
        )
        return (-INF if math.isnan(low) else low), (INF if math.isnan(high) else high)


class Times(Node):
    """A product; zero times anything is zero."""

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        return xp.times(xs[0], xs[1])

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        return [xp.finite(xs[1]), xp.finite(xs[0])]

    def derive(self) -> Shape:
        return Shape()

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        corners = [_times(a, b) for a in ranges[0] for b in ranges[1]]
        return min(corners), max(corners)


class Over(Node):
    """A quotient that is not fractional; 0/0 is 0, rounding errors over 0 too."""

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        above = xp.where((xp.abs(xs[0]) <= _ROUNDING) & (xs[1] == 0), xs[1], xs[0])
        return xp.divide(above, xs[1])

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        below = xp.where(xs[1] < 0, -xp.floor(-xs[1]), xp.floor(xs[1]))
        return [1.0 / below, -xp.finite(xs[0]) / below / below]

    def derive(self) -> Shape:
        return Shape()

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        (a, b), (c, d) = ranges
        if c > 0 or d < 0:
            corners = [x / y for x in (a, b) for y in (c, d)]
            if any(math.isnan(x) for x in corners):
                return -INF, INF
            return min(corners), max(corners)
        return (0.0, INF) if a >= 0 and c >= 0 else (-INF, INF)

    def watched(self, xs: list[float]) -> float:
        return abs(xs[1])


class Largest(Node):
    """The largest of several."""

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        return xp.largest(xp.stack(xs))

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        stacked = xp.stack(xs)
        return list(xp.first(stacked, xp.largest(stacked)))

    def derive(self) -> Shape:
        return Shape(
            convex=_all(self.children, "convex"), quasiconvex=_all(self.children, "quasiconvex")
        )

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        return max(r[0] for r in ranges), max(r[1] for r in ranges)


class Smallest(Node):
    """The smallest of several."""

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        return xp.smallest(xp.stack(xs))

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        stacked = xp.stack(xs)
        return list(xp.first(stacked, xp.smallest(stacked)))

    def derive(self) -> Shape:
        return Shape(
            concave=_all(self.children, "concave"), quasiconcave=_all(self.children, "quasiconcave")
        )

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        return min(r[0] for r in ranges), min(r[1] for r in ranges)


class Spread(Node):
    """Largest minus smallest."""

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


class Extremes(Node):
    """Smallest over largest; 0 where all are 0."""

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

    def watched(self, xs: list[float]) -> float:
        return max(xs)


class Absolute(Node):
    """The absolute value."""

    def forward(self, xp: Any, xs: list[Array]) -> Array:
        return xp.abs(xs[0])

    def partials(self, xp: Any, xs: list[Array]) -> list[Array]:
        return [xp.where(xs[0] < 0, xp.like(xs[0], -1.0), xp.like(xs[0], 1.0))]

    def derive(self) -> Shape:
        inner = self.children[0]
        affine = isinstance(inner, Affine)
        quasi = inner.shape.quasiconvex and inner.shape.quasiconcave
        return Shape(convex=affine, quasiconvex=affine or quasi)

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        a, b = ranges[0]
        low = 0.0 if a <= 0 <= b else min(abs(a), abs(b))
        return low, max(abs(a), abs(b))


class _Rising(Node):
    """A concave, rising function of one argument, with its inverse."""

    def derive(self) -> Shape:
        s = self.children[0].shape
        return Shape(concave=s.concave, quasiconvex=s.quasiconvex, quasiconcave=s.quasiconcave)

    def watched(self, xs: list[float]) -> float:
        return xs[0]


class Logarithm(_Rising):
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


class Root(_Rising):
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


class PowerMean(Node):
    """The power mean of order 0 (geometric), -1 (harmonic) or 2 (quadratic)."""

    def __init__(self, order: int, children: Sequence[Bound]) -> None:
        if order not in (-1, 0, 2):
            raise ValueError(f"order is -1, 0 or 2, got {order}")
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
        concave = _all(self.children, "concave")
        return Shape(concave=concave, quasiconcave=concave)

    def interval(self, *ranges: tuple[float, float]) -> tuple[float, float]:
        if self.order == 2:
            return 0.0, max(max(abs(a), abs(b)) for a, b in ranges)
        ends = [np.array([[max(r[i], 0.0)] for r in ranges]) for i in (0, 1)]
        low, high = (float(self.forward(backend(e), list(e))[0]) for e in ends)
        return low, high

    def watched(self, xs: list[float]) -> float:
        return INF if self.order == 2 else min(xs)


def has_kinks(f: Bound) -> bool:
    """Whether a function has a gradient that jumps."""
    if f.is_constant:
        return False
    kinked = isinstance(f, (Absolute, Extremes, Largest, Smallest, Spread))
    return kinked or any(has_kinks(c) for c in f.children)
