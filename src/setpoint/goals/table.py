"""The table of metrics. Adding a metric is one line here.

``_rate`` gives an event and the rows it is a share of; ``_formula`` an expression over
entries above it. Everything else (values, gradients, shapes, ranges, intervals,
multiclass and per-group use, the text form) follows from that line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from setpoint.goals.entries import INF, TABLE, Better, Entry, parameters_of
from setpoint.goals.events import Event
from setpoint.goals.expressions import Expression, Metric, log, signed_sum, sqrt
from setpoint.goals.populations import Label

__all__ = ["TABLE", "VOCABULARY", "Entry", "MetricFunction"]


VOCABULARY: dict[str, Metric | MetricFunction] = {}


@dataclass(frozen=True)
class MetricFunction:
    """A metric that needs parameters before it is an expression, such as ``fbeta(2)``."""

    name: str

    @property
    def signature(self) -> str:
        """How to write it."""
        return TABLE[self.name].signature

    def __str__(self) -> str:
        return self.name

    def __call__(self, *args: Any, label: Any = None, **named: Any) -> Expression:
        """The metric with its parameters, by position or by name."""
        metric = Metric(self.name, parameters_of(TABLE[self.name], args, named))
        return metric if label is None else metric(label=label)


def _add(entry: Entry) -> None:
    TABLE[entry.name] = entry
    plain = not entry.params or entry.optional
    VOCABULARY[entry.name] = Metric(entry.name) if plain else MetricFunction(entry.name)


def _rate(name: str, event: str, given: str, better: Better, words: str) -> Metric:
    of_class = bool({"actual", "predicted"} & set(f"{event} {given}".replace("!", "").split()))
    _add(Entry(name, words, of_class, better, event=Event(event), given=Event(given)))
    return Metric(name)


def _formula(
    name: str,
    formula: Expression | Callable[..., Expression],
    better: Better,
    words: str,
    *,
    of_class: bool = False,
    low: float = 0.0,
    high: float = 1.0,
    params: tuple[str, ...] = (),
    optional: bool = False,
    misses_deferred: bool = False,
) -> Metric:
    def build(**named: Any) -> Expression:
        return formula if isinstance(formula, Expression) else formula(**named)

    entry = Entry(
        name, words, of_class, better, low, high, None, None, build, params, optional,
        misses_deferred=misses_deferred,
    )  # fmt: skip
    _add(entry)
    return Metric(name)


def _costs_of_pairs(name: str, better: Better, words: str, param: str = "costs") -> None:
    _add(Entry(name, words, False, better, -INF, INF, params=(param,)))


def _worth_of_decisions(name: str, better: Better, words: str) -> None:
    params = ("tp", "fp", "fn", "tn", "defer")
    _add(Entry(name, words, True, better, -INF, INF, params=params, any_of=True))


def _fbeta(beta: float) -> Expression:
    b = beta * beta
    return (1 + b) * tp / ((1 + b) * tp + fp + b * fn)


def _micro_f1(default: Label) -> Expression:
    hits, errors = tp.sum() - tp(label=default), (fp + fn).sum() - (fp + fn)(label=default)
    return 2 * hits / (2 * hits + errors)


def _mcc() -> Expression:
    covariance = accuracy - (predicted_rate * prior).sum()
    predicted, true = (1 - (p * p).sum() for p in (predicted_rate, prior))
    return covariance / sqrt(predicted * true)


def _prior_divergence(priors: tuple[tuple[Any, float], ...] | None = None) -> Expression:
    if priors is None:
        return (prior * log(prior / predicted_rate)).sum()
    terms = ((1, p * log(p / predicted_rate(label=label))) for label, p in priors)
    return signed_sum(*terms)


def _confusion_rate(true: Label, predicted: Label) -> Expression:
    return VOCABULARY["cost"]({(true, predicted): 1})


# fmt: off

# One metric, one line.

# Rates: an event, and the rows it is a share of.
tp = _rate("tp", "actual predicted", "", "higher", "true positives, as a share of all rows")
fp = _rate("fp", "!actual predicted", "", "lower", "false positives, as a share of all rows")
fn = _rate("fn", "actual !predicted", "", "lower", "false negatives, as a share of all rows")
tn = _rate("tn", "!actual !predicted", "", "higher", "true negatives, as a share of all rows")
recall = _rate("recall", "predicted", "actual", "higher", "share of the class that is found")
specificity = _rate("specificity", "!predicted", "!actual", "higher", "share of the other classes left alone")
false_positive_rate = _rate("false_positive_rate", "predicted", "!actual", "lower", "share of the other classes accepted")
false_negative_rate = _rate("false_negative_rate", "!predicted", "actual", "lower", "share of the class that is missed")
predicted_rate = _rate("predicted_rate", "predicted", "", None, "share of rows predicted to be of the class")
prior = _rate("prior", "actual", "", None, "share of rows that are of the class")
accuracy = _rate("accuracy", "correct", "", "higher", "share of right predictions")
error_rate = _rate("error_rate", "!correct", "", "lower", "share of wrong predictions")
churn = _rate("churn", "changed", "", "lower", "share of predictions unlike the deployed model's")
wins = _rate("wins", "correct !was_correct", "", "higher", "share the deployed model had wrong, now right")
losses = _rate("losses", "!correct was_correct", "", "lower", "share the deployed model had right, now wrong")
deferral_rate = _rate("deferral_rate", "deferred", "", "lower", "share of rows that are not decided")

# Formulas over them.
precision = _formula("precision", tp / (tp + fp), "higher", "share of the accepted that are right", of_class=True)
_formula("negative_predictive_value", tn / (tn + fn), "higher", "share of the rejected that are right", of_class=True)
f1 = _formula("f1", 2 * tp / (2 * tp + fp + fn), "higher", "harmonic mean of precision and recall", of_class=True, misses_deferred=True)
jaccard = _formula("jaccard", tp / (tp + fp + fn), "higher", "intersection over union of the class", of_class=True, misses_deferred=True)
_formula("fbeta", _fbeta, "higher", "F-measure; recall counts beta times as much as precision", of_class=True, params=("beta",), misses_deferred=True)
_formula("balanced_accuracy", recall.mean(), "higher", "mean recall of the classes")
_formula("g_mean", recall.geometric_mean(), "higher", "geometric mean of the classes' recalls")
_formula("h_mean", recall.harmonic_mean(), "higher", "harmonic mean of the classes' recalls")
_formula("q_mean", 1 - false_negative_rate.quadratic_mean(), "higher", "one minus the quadratic mean of the classes' miss rates")
_formula("min_recall", recall.min(), "higher", "recall of the worst class")
_formula("macro_precision", precision.mean(), "higher", "mean precision of the classes")
_formula("macro_f1", f1.mean(), "higher", "mean F1 of the classes")
_formula("micro_f1", _micro_f1, "higher", "F1 of all classes but the default one, pooled", params=("default",), misses_deferred=True)
_formula("mcc", _mcc, "higher", "Matthews correlation coefficient", low=-1.0)
_formula("win_loss_ratio", wins / losses, "higher", "wins over losses against the deployed model", high=INF)
_formula("win_change_ratio", wins / churn, "higher", "share of changed predictions that are wins")
_formula("prior_divergence", _prior_divergence, "lower", "KL divergence from the predicted rates to the priors (their own, or given ones)", high=INF, params=("priors",), optional=True)
_costs_of_pairs("cost", "lower", "mean cost of a prediction; pairs (true, predicted) that are not named cost 0")
_costs_of_pairs("value", "higher", "mean value of a decision; pairs (true, predicted) that are not named are worth 0", "values")
_worth_of_decisions("profit", "higher", "mean value of a row; decisions that are not named are worth 0")
_formula("confusion_rate", _confusion_rate, None, "share of rows of one class predicted another", params=("true", "predicted"))
