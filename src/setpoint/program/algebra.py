"""Arithmetic of functions of rates: the simplest one that each operation allows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from setpoint.program import functions as fn

_TINY = 1e-9


def constant(value: float) -> fn.Affine:
    """A number as an affine function."""
    return fn.Affine({}, value)


def scaled(k: float, x: fn.RateFunction) -> fn.RateFunction:
    """The multiple k x."""
    if k == 1.0:
        return x
    if k == 0.0:
        return constant(0.0)
    if isinstance(x, (fn.Affine, fn.Ratio)):
        return x.scaled(k)
    if isinstance(x, fn.WeightedSum):
        return fn.WeightedSum([k * c for c in x.coefs], x.children)
    return fn.WeightedSum([k], [x])


def add(terms: Sequence[tuple[float, fn.RateFunction]]) -> fn.RateFunction:
    """The weighted sum of several functions."""
    linear: dict[int, float] = {}
    boxes: dict[int, tuple[float, float]] = {}
    const = 0.0
    ratios: dict[frozenset[int], list[fn.Ratio]] = {}
    others: list[tuple[float, fn.RateFunction]] = []
    for k, x in terms:
        parts = (
            zip(x.coefs, x.children, strict=True) if isinstance(x, fn.WeightedSum) else [(1.0, x)]
        )
        for c, part in parts:
            if isinstance(part, fn.Affine):
                const += k * c * part.const
                boxes.update(part.boxes)
                for j, a in part.terms.items():
                    linear[j] = linear.get(j, 0.0) + k * c * a
            elif isinstance(part, fn.Ratio):
                _join(ratios.setdefault(part.below.features, []), part.scaled(k * c))
            else:
                others.append((k * c, part))
    affine = fn.Affine(linear, const, boxes)
    others = [(1.0, x) for same in ratios.values() for x in same] + others
    if not others:
        return affine
    if len(others) == 1 and not affine.terms:
        k, x = others[0]
        if isinstance(x, fn.Ratio):
            return x.shifted(affine.const)
        if affine.const == 0.0:
            return scaled(k, x)
    if affine.terms or affine.const:
        others.append((1.0, affine))
    return fn.WeightedSum([k for k, _ in others], [x for _, x in others])


def _join(ratios: list[fn.Ratio], new: fn.Ratio) -> None:
    """Append a ratio, or add it to one over the same denominator."""
    for i, x in enumerate(ratios):
        plain = x.at_zero == x.offset and new.at_zero == new.offset
        if plain and x.below.same_as(new.below):
            both = fn.Ratio(x.above.plus(new.above), x.below, x.offset + new.offset)
            ratios[i] = both.clip_range(x.low + new.low, x.high + new.high)
            return
    ratios.append(new)


def multiply(x: fn.RateFunction, y: fn.RateFunction) -> fn.RateFunction:
    """The product."""
    if x.number is not None:
        return scaled(x.number, y)
    if y.number is not None:
        return scaled(y.number, x)
    return fn.ProductNode((x, y))


def divide(x: fn.RateFunction, y: fn.RateFunction) -> fn.RateFunction:
    """The quotient; fractional wherever numerator and denominator allow it."""
    if y.number == 0.0:
        # 0/0 is 0; anything else over 0 is left to the exact value.
        return constant(0.0) if x.number == 0.0 else fn.QuotientNode((x, y))
    if y.number is not None:
        return scaled(1.0 / y.number, x)
    if isinstance(x, fn.Affine) and isinstance(y, fn.Affine):
        if y.low >= -_TINY:
            return fn.Ratio(x, y)
        if y.high <= _TINY:
            return fn.Ratio(x.scaled(-1.0), y.scaled(-1.0))
    if isinstance(y, fn.Ratio) and y.offset == 0.0 and y.at_zero == 0.0:
        rises = y.above.low >= -_TINY
        plain = isinstance(x, fn.Ratio) and x.offset == x.at_zero == 0.0
        if isinstance(x, fn.Ratio) and plain and rises and x.below.same_as(y.below):
            return fn.Ratio(x.above, y.above)
        if x.number is not None and rises:
            zero = math.copysign(fn.INF, x.number) if x.number else 0.0
            return fn.Ratio(y.below.scaled(x.number), y.above, 0.0, zero)
    return fn.QuotientNode((x, y))


def absolute(x: fn.RateFunction) -> fn.RateFunction:
    """The absolute value."""
    if x.number is not None:
        return constant(abs(x.number))
    if x.low >= 0:
        return x
    return scaled(-1.0, x) if x.high <= 0 else fn.Absolute((x,))


def logarithm(x: fn.RateFunction) -> fn.RateFunction:
    """The natural logarithm; log(c/B) is written log c - log B, which is convex."""
    if x.number is not None and x.number > 0.0:
        return constant(math.log(x.number))
    plain = isinstance(x, fn.Ratio) and x.offset == x.at_zero == 0.0
    if isinstance(x, fn.Ratio) and plain and (x.above.number or 0.0) > 0.0:
        return add([(1.0, logarithm(x.above)), (-1.0, fn.Log((x.below,)))])
    return fn.Log((x,))


def root(x: fn.RateFunction) -> fn.RateFunction:
    """The square root; of a product of concave functions it is their geometric mean."""
    if x.number is not None:
        return constant(math.sqrt(max(x.number, 0.0)))
    if isinstance(x, fn.ProductNode) and all(c.shape.concave and c.low >= 0 for c in x.children):
        return fn.PowerMean(0, x.children)
    return fn.Sqrt((x,))


def reduced(
    kind: str, xs: Sequence[fn.RateFunction], pooled: fn.RateFunction | None = None
) -> fn.RateFunction:
    """One number from several: the functions and the reducers of the language."""
    if kind in _OF_ONE:
        return _OF_ONE[kind](*xs)
    if kind == "deviation":
        assert pooled is not None
        return reduced("max", [absolute(add([(1.0, x), (-1.0, pooled)])) for x in xs])
    if kind in ("sum", "mean"):
        return add([(1.0 if kind == "sum" else 1.0 / len(xs), x) for x in xs])
    if kind in _ORDERS:
        alone = len(xs) == 1 and kind != "quadratic_mean"
        return xs[0] if alone else fn.PowerMean(_ORDERS[kind], xs)
    node = _EXTREMES[kind]
    if issubclass(node, (fn.Max, fn.Min)):
        if len(xs) == 1:
            return xs[0]
        if all(x.number is not None for x in xs):
            return constant((max if node is fn.Max else min)(x.low for x in xs))
    return node(xs)


_OF_ONE = {"abs": absolute, "log": logarithm, "sqrt": root}
_ORDERS = {"quadratic_mean": 2, "geometric_mean": 0, "harmonic_mean": -1}
_EXTREMES: dict[str, type[fn.Max | fn.Min | fn.MaxMinusMin | fn.MinOverMax]] = {
    "max": fn.Max,
    "maximum": fn.Max,
    "min": fn.Min,
    "minimum": fn.Min,
    "difference": fn.MaxMinusMin,
    "ratio": fn.MinOverMax,
}
