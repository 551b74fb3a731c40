"""Linked goals folded for some rows: the simplest function that each operation allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from setpoint.errors import EmptyPopulationError, GoalError, UnlabelledError
from setpoint.evidence import Codebook, Marginals
from setpoint.goals import Metric, Population
from setpoint.program import functions as fn
from setpoint.program.rates import Rate, RateTable

# --- Arithmetic of bound expressions that keeps the simplest atom: affine -------------------------


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
    if isinstance(x, fn.Affine) and x.is_constant:
        return scaled(x.const, y)
    if isinstance(y, fn.Affine) and y.is_constant:
        return scaled(y.const, x)
    return fn.ProductNode((x, y))


def divide(x: fn.RateFunction, y: fn.RateFunction) -> fn.RateFunction:
    """The quotient; fractional wherever numerator and denominator allow it."""
    if isinstance(y, fn.Affine) and y.is_constant:
        if y.const == 0.0:
            # 0/0 is 0; anything else over 0 is left to the exact value.
            return constant(0.0) if _is_zero(x) else fn.QuotientNode((x, y))
        return scaled(1.0 / y.const, x)
    if isinstance(x, fn.Affine) and isinstance(y, fn.Affine):
        if y.low >= -_TINY:
            return fn.Ratio(x, y)
        if y.high <= _TINY:
            return fn.Ratio(x.scaled(-1.0), y.scaled(-1.0))
    if isinstance(y, fn.Ratio) and y.offset == 0.0 and y.at_zero == 0.0:
        shared = isinstance(x, fn.Ratio) and x.offset == x.at_zero == 0.0
        if (
            isinstance(x, fn.Ratio)
            and shared
            and x.below.same_as(y.below)
            and y.above.low >= -_TINY
        ):
            return fn.Ratio(x.above, y.above)
        if isinstance(x, fn.Affine) and x.is_constant and y.above.low >= -_TINY:
            zero = math.copysign(fn.INF, x.const) if x.const else 0.0
            return fn.Ratio(y.below.scaled(x.const), y.above, 0.0, zero)
    return fn.QuotientNode((x, y))


def _is_zero(x: fn.RateFunction) -> bool:
    return isinstance(x, fn.Affine) and x.is_constant and x.const == 0.0


def absolute(x: fn.RateFunction) -> fn.RateFunction:
    """The absolute value."""
    if isinstance(x, fn.Affine) and x.is_constant:
        return constant(abs(x.const))
    if x.low >= 0:
        return x
    return scaled(-1.0, x) if x.high <= 0 else fn.Absolute((x,))


def logarithm(x: fn.RateFunction) -> fn.RateFunction:
    """The natural logarithm; log(c/B) is written log c - log B, which is convex."""
    if isinstance(x, fn.Affine) and x.is_constant:
        return constant(math.log(x.const)) if x.const > 0 else fn.Log((x,))
    if (
        isinstance(x, fn.Ratio)
        and x.offset == x.at_zero == 0.0
        and x.above.is_constant
        and x.above.const > 0
    ):
        return add([(1.0, constant(math.log(x.above.const))), (-1.0, fn.Log((x.below,)))])
    return fn.Log((x,))


def root(x: fn.RateFunction) -> fn.RateFunction:
    """The square root; of a product of concave functions it is their geometric mean."""
    if isinstance(x, fn.Affine) and x.is_constant:
        return constant(math.sqrt(max(x.const, 0.0)))
    if isinstance(x, fn.ProductNode) and all(c.shape.concave and c.low >= 0 for c in x.children):
        return fn.PowerMean(0, x.children)
    return fn.Sqrt((x,))


def reduced(
    kind: str, children: Sequence[fn.RateFunction], pooled: fn.RateFunction | None, where: str
) -> fn.RateFunction:
    """One number from several: the reducers of the language."""
    xs = list(children)
    if kind in ("geometric_mean", "harmonic_mean", "ratio") and min(x.low for x in xs) < -_TINY:
        low = min(x.low for x in xs)
        raise GoalError(f"{where}: .{kind} needs values >= 0, these go down to {low:.4g}")
    if kind == "deviation":
        assert pooled is not None
        return reduced("max", [absolute(add([(1.0, x), (-1.0, pooled)])) for x in xs], None, where)
    if kind == "sum":
        return add([(1.0, x) for x in xs])
    if kind == "mean":
        return add([(1.0 / len(xs), x) for x in xs])
    if len(xs) == 1 and kind in ("max", "min", "geometric_mean", "harmonic_mean"):
        return xs[0]
    if all(isinstance(x, fn.Affine) and x.is_constant for x in xs) and kind in ("max", "min"):
        values = [x.low for x in xs]
        return constant(max(values) if kind == "max" else min(values))
    if kind == "quadratic_mean":
        return fn.PowerMean(2, xs)
    if kind == "geometric_mean":
        return fn.PowerMean(0, xs)
    if kind == "harmonic_mean":
        return fn.PowerMean(-1, xs)
    extremes: dict[str, type[fn.Max | fn.Min | fn.MaxMinusMin | fn.MinOverMax]] = {
        "max": fn.Max,
        "min": fn.Min,
        "difference": fn.MaxMinusMin,
        "ratio": fn.MinOverMax,
    }
    return extremes[kind](xs)


# --- Terms, and how they are folded for the marginals of some rows --------------------------------


_NEGATIVE = -1e-9


@dataclass(frozen=True)
class NumberLeaf:
    """A number."""

    value: float


@dataclass(frozen=True)
class Leaf:
    """A rate, with the metric and the population for which messages name it."""

    rate: Rate
    metric: Metric
    population: Population


@dataclass(frozen=True)
class Missing:
    """What has no value whatever is counted; the error is raised where a value is asked for."""

    error: GoalError


@dataclass(frozen=True)
class Operation:
    """One operation of the language, or a reducer, over terms."""

    kind: str
    terms: tuple[Term, ...]
    text: str = ""
    signs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Clipped:
    """A metric's formula, with the range that the table knows."""

    term: Term
    low: float
    high: float


Term: TypeAlias = NumberLeaf | Leaf | Missing | Operation | Clipped


class Folder:
    """Collects the rates of terms, with their norms and ranges on some rows."""

    def __init__(
        self,
        codebook: Codebook,
        marginals: Marginals,
        fixed: bool = True,
        corners: Sequence[Marginals] = (),
    ) -> None:
        self.codebook = codebook
        self.marginals = marginals
        self.fixed = fixed
        self.corners = tuple(corners)
        self.rates: dict[Rate, int] = {}
        self.norms: list[float] = []
        self._known: dict[Rate, fn.Affine] = {}

    def function(self, term: Term) -> fn.RateFunction:
        """The term as a function of the rates."""
        if isinstance(term, NumberLeaf):
            return constant(term.value)
        if isinstance(term, Leaf):
            return self._known.get(term.rate) or self._rate(term)
        if isinstance(term, Clipped):
            return self.function(term.term).clip_range(term.low, term.high)
        if isinstance(term, Missing):
            raise term.error
        xs = [self.function(t) for t in term.terms]
        return self._applied(term, xs)

    def _applied(self, term: Operation, xs: list[fn.RateFunction]) -> fn.RateFunction:
        kind = term.kind
        if kind == "sum" and term.signs:
            return add([(float(s), x) for s, x in zip(term.signs, xs, strict=True)])
        if kind == "product":
            return multiply(*xs)
        if kind == "quotient":
            return divide(xs[0], self.exact_range(xs[1]))
        pooled = xs.pop() if kind == "deviation" else None
        if kind not in ("sum", "mean"):
            xs = [self.exact_range(x) for x in xs]
        if kind == "abs":
            return absolute(xs[0])
        if kind in ("log", "sqrt"):
            if term.text and xs[0].low < _NEGATIVE:
                raise GoalError(
                    f"{term.text}: {kind} needs a value >= 0, this one goes down to {xs[0].low:.4g}"
                )
            return logarithm(xs[0]) if kind == "log" else root(xs[0])
        return reduced(kind, xs, pooled, term.text)

    def exact_range(self, x: fn.RateFunction) -> fn.RateFunction:
        """An affine function with its exact range over all decisions."""
        if not isinstance(x, fn.Affine) or len(x.terms) < 2:
            return x
        ranges = [self.table.range(x)]
        for corner in self.corners:
            norms = [rate.norm(corner) for rate in self.rates]
            ranges.append(RateTable(self.codebook, corner, tuple(self.rates), norms).range(x))
        return x.plus(0.0).clip_range(min(r[0] for r in ranges), max(r[1] for r in ranges))

    @property
    def table(self) -> RateTable:
        """The rates so far, as functions of the counts."""
        return RateTable(self.codebook, self.marginals, tuple(self.rates), self.norms)

    def _rate(self, leaf: Leaf) -> fn.Affine:
        rate, metric, weights = leaf.rate, leaf.metric, self.marginals.weights
        needs_truth = rate.event.needs_truth or rate.given.needs_truth
        if needs_truth and weights[list(rate.strata), -1].sum() > 0:
            raise UnlabelledError(
                f"{metric} needs labels, and {leaf.population.in_words} have none: "
                "predicted_rate, churn and their groups can be measured there"
            )
        norm = rate.norm(self.marginals)
        if not norm > 0:
            rows, of = leaf.population.in_words, ""
            if rate.given.needs_truth and rate.label is not None:
                of = f" with the true class {self.codebook.classes[rate.label]!r}"
            if leaf.population.measure is not None:
                raise EmptyPopulationError(
                    f"{metric} counts rows by {leaf.population.measure!r}, and that is 0 for all "
                    f"of {rows}{of}"
                )
            raise EmptyPopulationError(f"{metric} has no rows: {rows} hold none{of}")
        bounds = [rate.bounds(self.codebook, self.marginals, norm)]
        bounds += [rate.bounds(self.codebook, c, rate.norm(c)) for c in self.corners]
        low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
        if rate.is_fixed and self.fixed:
            out = constant(low)
        else:
            j = self.rates.setdefault(rate, len(self.rates))
            self.norms.append(norm)
            out = fn.Affine({j: 1.0}, 0.0, {j: (low, high)})
        self._known[rate] = out
        return out
