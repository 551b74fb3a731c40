"""Terms, and folding: a linked term and the marginals of some rows give a function of rates.

A term is what linking makes of an expression. Its leaves are numbers and rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.goals.errors import EmptyPopulationError, GoalError, UnlabelledError
from setpoint.goals.expressions import Metric
from setpoint.goals.populations import Population
from setpoint.program import algebra
from setpoint.program.functions import Affine, RateFunction
from setpoint.program.rate_table import RateTable
from setpoint.program.rates import Rate

__all__ = ["Clipped", "Folder", "Leaf", "Missing", "Number", "Operation", "Term"]

_NEGATIVE = -1e-9


@dataclass(frozen=True)
class Number:
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


Term: TypeAlias = Number | Leaf | Missing | Operation | Clipped


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
        self._known: dict[Rate, Affine] = {}

    def function(self, term: Term) -> RateFunction:
        """The term as a function of the rates."""
        if isinstance(term, Number):
            return algebra.constant(term.value)
        if isinstance(term, Leaf):
            return self._known.get(term.rate) or self._rate(term)
        if isinstance(term, Clipped):
            return self.function(term.term).clip_range(term.low, term.high)
        if isinstance(term, Missing):
            raise term.error
        xs = [self.function(t) for t in term.terms]
        return self._applied(term, xs)

    def _applied(self, term: Operation, xs: list[RateFunction]) -> RateFunction:
        kind = term.kind
        if kind == "sum" and term.signs:
            return algebra.add([(float(s), x) for s, x in zip(term.signs, xs, strict=True)])
        if kind == "product":
            return algebra.multiply(*xs)
        if kind == "quotient":
            return algebra.divide(xs[0], self.exact_range(xs[1]))
        pooled = xs.pop() if kind == "deviation" else None
        if kind not in ("sum", "mean"):
            xs = [self.exact_range(x) for x in xs]
        if kind == "abs":
            return algebra.absolute(xs[0])
        if kind in ("log", "sqrt"):
            if term.text and xs[0].low < _NEGATIVE:
                raise GoalError(
                    f"{term.text}: {kind} needs a value >= 0, this one goes down to {xs[0].low:.4g}"
                )
            return algebra.logarithm(xs[0]) if kind == "log" else algebra.root(xs[0])
        return algebra.reduced(kind, xs, pooled, term.text)

    def exact_range(self, x: RateFunction) -> RateFunction:
        """An affine function with its exact range over all decisions."""
        if not isinstance(x, Affine) or len(x.terms) < 2:
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

    def _rate(self, leaf: Leaf) -> Affine:
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
            out = algebra.constant(low)
        else:
            j = self.rates.setdefault(rate, len(self.rates))
            self.norms.append(norm)
            out = Affine({j: 1.0}, 0.0, {j: (low, high)})
        self._known[rate] = out
        return out
