"""The vocabulary in words: what a metric counts, its formula, an example, its shape.

The documentation and the shell are written from here, so that neither can go stale.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.evidence.strata import Stratum
from setpoint.goals.events import Event
from setpoint.goals.expressions import Expression
from setpoint.goals.goal import maximize
from setpoint.goals.table import VOCABULARY, Entry, MetricFunction
from setpoint.program.link import link

__all__ = [
    "event_in_words",
    "example_of",
    "expression_of",
    "formula_of",
    "kind_of",
    "range_in_words",
    "shape_of",
]

# What the words of an event mean, with and without "!".
_WORDS = {
    "actual": ("true = k", "true ≠ k"),
    "predicted": ("predicted = k", "predicted ≠ k"),
    "correct": ("predicted = true", "predicted ≠ true"),
    "changed": ("predicted ≠ deployed", "predicted = deployed"),
    "deferred": ("not decided", "decided"),
    "was_correct": ("deployed = true", "deployed ≠ true"),
}

# Values for the metrics that have parameters: a formula is shown for these.
_EXAMPLES: dict[str, Any] = {
    "beta": 2,
    "default": "none",
    "true": "no",
    "predicted": "yes",
    "costs": {("no", "yes"): 1, ("yes", "no"): 5},
    "values": {("yes", "yes"): 95, ("no", "yes"): -5},
    "priors": {"no": 0.8, "yes": 0.2},
    "tp": 95,
    "fp": -5,
}


def kind_of(entry: Entry) -> str:
    """Whether a metric is a rate, a formula over rates, or has parameters.

    Examples
    --------
    >>> from setpoint.goals.table import TABLE
    >>> kind_of(TABLE["recall"]), kind_of(TABLE["f1"]), kind_of(TABLE["cost"])
    ('rate', 'formula', 'with parameters')
    """
    if entry.params:
        return "with parameters"
    return "formula" if entry.event is None else "rate"


def event_in_words(event: Event) -> str:
    """An event as equations between true, predicted and deployed class.

    Examples
    --------
    >>> event_in_words(Event("actual !predicted"))
    'true = k and predicted ≠ k'
    """
    return " and ".join(_WORDS[w.lstrip("!")][w.startswith("!")] for w in event.words.split())


def example_of(entry: Entry) -> Expression:
    """The metric as an expression, with example values for its parameters.

    Examples
    --------
    >>> from setpoint.goals.table import TABLE
    >>> print(example_of(TABLE["recall"]), example_of(TABLE["fbeta"]))
    recall fbeta(2)
    """
    metric = VOCABULARY[entry.name]
    if isinstance(metric, MetricFunction):
        return metric(**{name: _EXAMPLES[name] for name in entry.params if name in _EXAMPLES})
    return metric


def expression_of(entry: Entry) -> Expression | None:
    """What a formula stands for, with example values; None for what is not a formula.

    Examples
    --------
    >>> from setpoint.goals.table import TABLE
    >>> print(expression_of(TABLE["precision"]))
    tp / (tp + fp)
    """
    if entry.formula is None:
        return None
    params: dict[str, Any] = dict(getattr(example_of(entry), "params", ()))
    return entry.formula(**params)


def formula_of(entry: Entry) -> str:
    """What a metric counts, on one line of plain text.

    Examples
    --------
    >>> from setpoint.goals.table import TABLE
    >>> for name in ("recall", "precision", "fbeta"):
    ...     print(formula_of(TABLE[name]))
    predicted = k given true = k
    tp / (tp + fp)
    fbeta(2) is 5 * tp / (5 * tp + fp + 4 * fn)
    """
    if entry.event is not None:
        given = event_in_words(entry.given or Event())
        return event_in_words(entry.event) + (f" given {given}" if given else "")
    inside = expression_of(entry)
    if inside is None:
        return str(example_of(entry))
    return f"{example_of(entry)} is {inside}" if _has_values(entry) else str(inside)


def _has_values(entry: Entry) -> bool:
    return bool(getattr(example_of(entry), "params", ()))


def range_in_words(entry: Entry) -> str:
    """The range of a metric.

    Examples
    --------
    >>> from setpoint.goals.table import TABLE
    >>> range_in_words(TABLE["recall"]), range_in_words(TABLE["win_loss_ratio"])
    ('from 0 to 1', 'from 0 to infinity')
    """
    return f"from {_number(entry.low)} to {_number(entry.high)}"


def _number(x: float) -> str:
    return f"{x:g}".replace("inf", "infinity")


def shape_of(entry: Entry) -> str:
    """The shape of a metric over two classes with a deployed model, as the program finds it.

    Examples
    --------
    >>> from setpoint.goals.table import TABLE
    >>> shape_of(TABLE["recall"]), shape_of(TABLE["precision"])
    ('affine', 'fractional')
    """
    strata = tuple(Stratum(baseline=b) for b in (0, 1))
    counts = np.zeros((2, 3, 2))
    counts[:, :2] = [[[30, 10], [20, 40]], [[15, 25], [5, 45]]]
    classes = ("none", "yes") if "default" in entry.params else ("no", "yes")
    program = link(maximize(example_of(entry)), Codebook.of(classes, strata)).at(
        Marginals.of_counts(counts)
    )
    return program.objective.shape_name
