"""Terms: what linking makes of an expression. The leaves are numbers and rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from setpoint.goals.errors import GoalError
from setpoint.goals.expressions import Metric
from setpoint.goals.populations import Population
from setpoint.program.rates import Rate

__all__ = ["Clipped", "Leaf", "Missing", "Number", "Operation", "Term"]


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
    """One operation of the language, or a reducer, over terms.

    Parameters
    ----------
    kind : str
        "sum" (with `signs`), "product", "quotient", "abs", "log", "sqrt", or a reducer.
    terms : tuple of Term
        Of "deviation" the last one is the pooled value.
    text : str
        How it was written, for messages; empty inside a metric's own formula.
    signs : tuple of int
    """

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
