"""The table of metrics. Adding a metric is one line here.

``_rate`` gives an event and the rows it is a share of; ``_formula`` an expression over
entries above it. Everything else (values, gradients, shapes, ranges, intervals,
multiclass and per-group use, the text form) follows from that line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from setpoint.errors import GoalError
from setpoint.goals.entries import INF, TABLE, Better, Event, MetricEntry, parameters_of
from setpoint.goals.expressions import Baseline, Expression, Metric, Reduce, log, signed_sum, sqrt
from setpoint.goals.populations import Constraint, Label, Other, real_number

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal


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


def _add(entry: MetricEntry) -> Metric:
    TABLE[entry.name] = entry
    metric = Metric(entry.name)
    plain = not entry.params or entry.optional
    VOCABULARY[entry.name] = metric if plain else MetricFunction(entry.name)
    return metric


def _rate(name: str, event: str, given: str, better: Better, words: str, **texts: Any) -> Metric:
    counted, rows = Event(event), Event(given)
    of_class = counted.names_class or rows.names_class
    return _add(MetricEntry(name, words, of_class, better, event=counted, given=rows, **texts))


def _formula(
    name: str,
    formula: Expression | Callable[..., Expression],
    better: Better,
    words: str,
    of_class: bool = False,
    **given: Any,
) -> Metric:
    def build(**named: Any) -> Expression:
        return formula if isinstance(formula, Expression) else formula(**named)

    return _add(MetricEntry(name, words, of_class, better, formula=build, **given))


def _worth(name: str, better: Better, words: str, *params: str, **texts: Any) -> Metric:
    named = {"params": params, "any_of": len(params) > 1, **texts}
    return _add(MetricEntry(name, words, len(params) > 1, better, -INF, INF, **named))


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
tp = _rate("tp", "actual predicted", "", "higher", "true positives, as a share of all rows", called="true positives")
fp = _rate("fp", "!actual predicted", "", "lower", "false positives, as a share of all rows", called="false positives")
fn = _rate("fn", "actual !predicted", "", "lower", "false negatives, as a share of all rows", called="false negatives")
tn = _rate("tn", "!actual !predicted", "", "higher", "true negatives, as a share of all rows", called="true negatives")
recall = _rate("recall", "predicted", "actual", "higher", "share of the class that is found", aim="Find as many {cases} as possible", also="sensitivity hit_rate tpr true_positive_rate recall_score")
specificity = _rate("specificity", "!predicted", "!actual", "higher", "share of the other classes left alone", aim="Raise as few false alarms about {cases} as possible", also="tnr true_negative_rate specificity_score selectivity")
false_positive_rate = _rate("false_positive_rate", "predicted", "!actual", "lower", "share of the other classes accepted", aim="Raise as few false alarms about {cases} as possible", also="fpr fall_out fallout")
false_negative_rate = _rate("false_negative_rate", "!predicted", "actual", "lower", "share of the class that is missed", aim="Miss as few {cases} as possible", also="fnr miss_rate")
predicted_rate = _rate("predicted_rate", "predicted", "", None, "share of rows predicted to be of the class", also="selection_rate")
prior = _rate("prior", "actual", "", None, "share of rows that are of the class", also="prevalence base_rate")
accuracy = _rate("accuracy", "correct", "", "higher", "share of right predictions", aim="Decide right as often as possible", also="accuracy_score")
error_rate = _rate("error_rate", "!correct", "", "lower", "share of wrong predictions", aim="Decide wrong as seldom as possible", also="zero_one_loss")
churn = _rate("churn", "changed", "", "lower", "share of predictions unlike the deployed model's", aim="Differ from the deployed model as seldom as possible")
wins = _rate("wins", "correct !was_correct", "", "higher", "share the deployed model had wrong, now right")
losses = _rate("losses", "!correct was_correct", "", "lower", "share the deployed model had right, now wrong")
deferral_rate = _rate("deferral_rate", "deferred", "", "lower", "share of rows that are not decided", called="share of rows deferred", aim="Defer as few rows as possible", also="abstention_rate referral_rate")

# Formulas over them.
precision = _formula("precision", tp / (tp + fp), "higher", "share of the accepted that are right", of_class=True, aim="Be right as often as possible about what is taken for {cases}", also="ppv positive_predictive_value precision_score")
_formula("negative_predictive_value", tn / (tn + fn), "higher", "share of the rejected that are right", of_class=True, also="npv")
f1 = _formula("f1", 2 * tp / (2 * tp + fp + fn), "higher", "harmonic mean of precision and recall", of_class=True, misses_deferred=True, called="F1", aim="Find {cases} and be right about them, as well as the two go together", also="dice f1_score f_measure f_score f1score")
jaccard = _formula("jaccard", tp / (tp + fp + fn), "higher", "intersection over union of the class", of_class=True, misses_deferred=True, also="iou jaccard_score")
_formula("fbeta", _fbeta, "higher", "F-measure; recall counts beta times as much as precision", of_class=True, params=("beta",), misses_deferred=True, called="F-measure", also="f_beta fbeta_score")
_formula("balanced_accuracy", recall.mean(), "higher", "mean recall of the classes", also="balanced_accuracy_score")
_formula("g_mean", recall.geometric_mean(), "higher", "geometric mean of the classes' recalls", called="G-mean", also="geometric_mean geometric_mean_score gmean")
_formula("h_mean", recall.harmonic_mean(), "higher", "harmonic mean of the classes' recalls", called="H-mean")
_formula("q_mean", 1 - false_negative_rate.quadratic_mean(), "higher", "one minus the quadratic mean of the classes' miss rates", called="Q-mean")
_formula("min_recall", recall.min(), "higher", "recall of the worst class", called="recall of the worst class")
_formula("macro_precision", precision.mean(), "higher", "mean precision of the classes")
_formula("macro_f1", f1.mean(), "higher", "mean F1 of the classes", called="macro F1")
_formula("micro_f1", _micro_f1, "higher", "F1 of all classes but the default one, pooled", params=("default",), misses_deferred=True, called="micro F1")
_formula("mcc", _mcc, "higher", "Matthews correlation coefficient", low=-1.0, called="MCC", also="matthews_corrcoef matthews_correlation_coefficient")
_formula("win_loss_ratio", wins / losses, "higher", "wins over losses against the deployed model", high=INF)
_formula("win_change_ratio", wins / churn, "higher", "share of changed predictions that are wins")
_formula("prior_divergence", _prior_divergence, "lower", "KL divergence from the predicted rates to the priors (their own, or given ones)", high=INF, params=("priors",), optional=True)
_worth("cost", "lower", "mean cost of a prediction; pairs (true, predicted) that are not named cost 0", "costs", called="mean cost", aim="Make the mean cost of a decision as low as possible")
_worth("value", "higher", "mean value of a decision; pairs (true, predicted) that are not named are worth 0", "values", called="mean value", aim="Make the mean value of a decision as high as possible")
_worth("profit", "higher", "mean value of a row; decisions that are not named are worth 0", "tp", "fp", "fn", "tn", "defer", called="profit per row", aim="Earn as much as possible")
_formula("confusion_rate", _confusion_rate, None, "share of rows of one class predicted another", params=("true", "predicted"))

SYNONYMS: dict[str, str] = {word: e.name for e in TABLE.values() for word in e.also.split()}
"""The name in other libraries, in small letters, and the name in the table of metrics."""


# --- A capacity as a constraint: so many rows out of so many --------------------------------------


AT_MOST = "after 'subject to', as in 'maximize recall subject to at_most(200, per=10_000)'"
"""Where it stands."""


def at_most(n: float, per: float | None = None, label: Label | None = None) -> Constraint:
    """A capacity: at most `n` rows of `per` are predicted to be of the class.

    Parameters
    ----------
    n : float
        Above 0 and at most `per`.
    per : float
        Of how many rows.
    label : label, optional
        The class; by default the positive one of two.

    Returns
    -------
    Constraint
        ``predicted_rate <= n / per``.

    Raises
    ------
    GoalError
        If `per` is missing, or a number is outside its range.
    InputTypeError
        If `n` or `per` is not a number.

    Examples
    --------
    >>> from setpoint.metrics import at_most
    >>> print(at_most(200, per=10_000))
    predicted_rate <= 0.02
    >>> print(at_most(5, per=100, label="fraud"))
    predicted_rate(label="fraud") <= 0.05
    """
    if per is None:
        raise GoalError(f"at_most needs `per`, of how many rows: at_most({n!r}, per=10_000)")
    most, of = _count(n, "n"), _count(per, "per")
    if most > of:
        raise GoalError(f"`n` of at_most must be at most `per`, got {n!r} and {per!r}")
    rate = predicted_rate if label is None else predicted_rate(label=label)
    return rate <= most / of


def _count(value: object, name: str) -> float:
    number = real_number(value, f"`{name}` of at_most must be a number of rows")
    if not 0.0 < number < math.inf:
        raise GoalError(f"`{name}` of at_most must be above 0 and finite, got {value!r:.40}")
    return number


# --- What a goal refers to: columns ---------------------------------------------------------------


Split = frozenset[Label] | None
"""The values of a column that are distinguished; None for all of them."""


@dataclass(frozen=True)
class Requirements:
    """What has to be known about the rows before a goal can be counted."""

    columns: Mapping[str | None, Mapping[str, Split]] = field(default_factory=dict)
    baseline: frozenset[str | None] = frozenset()
    labels: frozenset[str | None] = frozenset()
    measures: Mapping[str | None, Mapping[str, bool]] = field(default_factory=dict)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the data sets, without X."""
        return tuple(sorted(d for d in self.columns if d is not None))

    def split_of(self, column: str) -> Split:
        """The values of a column that are distinguished somewhere: all, where none is named."""
        splits = [columns[column] for columns in self.columns.values() if column in columns]
        if not splits:
            return None
        out: frozenset[Label] = frozenset()
        for split in splits:
            if split is None:
                return None
            out |= split
        return out

    @property
    def measure_names(self) -> tuple[str, ...]:
        """All columns of numbers that rows count by, of all data sets, sorted."""
        return tuple(sorted({c for columns in self.measures.values() for c in columns}))

    @property
    def names(self) -> tuple[str, ...]:
        """All columns of all data sets, sorted."""
        return tuple(sorted({c for columns in self.columns.values() for c in columns}))


def requirements_of(sides: Iterable[Expression]) -> Requirements:
    """Read off the leaves of some expressions what has to be known about the rows."""
    columns: dict[str | None, dict[str, Split]] = {}
    baseline: set[str | None] = set()
    labels: set[str | None] = set()
    measures: dict[str | None, dict[str, bool]] = {}

    def visit(e: Expression, dataset: str | None, grouped: frozenset[str], deployed: bool) -> None:
        if isinstance(e, Metric):
            entry = TABLE[e.name]
            dataset = e.population.dataset if dataset is None else dataset
            splits = columns.setdefault(dataset, {})
            for column, value in e.population.where:
                known = splits.get(column, frozenset())
                if known is not None and not isinstance(value, Other):
                    splits[column] = known | {value}
            for column in grouped:
                splits[column] = None
            signed = {} if e.population.measure is None else {e.population.measure: True}
            for column in e.value_columns:
                signed.setdefault(column, False)
            if signed:
                known_measures = measures.setdefault(dataset, {})
                for column, weighs in signed.items():
                    known_measures[column] = weighs or known_measures.get(column, False)
            if entry.formula is not None:
                visit(entry.formula(**dict(e.params)), dataset, grouped, deployed)
                return
            if deployed or (entry.event is not None and entry.event.needs_baseline):
                baseline.add(dataset)
            events = [x for x in (entry.event, entry.given) if x is not None]
            if entry.event is None or any(x.needs_truth for x in events):
                labels.add(dataset)
            return
        if isinstance(e, Reduce):
            grouped = grouped | frozenset(e.columns)
        for child in e.children:
            visit(child, dataset, grouped, deployed or isinstance(e, Baseline))

    for e in sides:
        visit(e, None, frozenset(), False)
    return Requirements(columns, frozenset(baseline), frozenset(labels), measures)


def require_rows_alone(goal: Goal, why: str) -> None:
    """Refuse a goal over more than true and predicted class; `why` ends the message."""
    needs = goal.needs
    strange = [*map(repr, needs.names), *map(repr, needs.datasets), *_stakes(goal)]
    if needs.baseline:
        strange.append("the deployed model")
    if strange:
        raise GoalError(f"the goal refers to {', '.join(strange)}, and {why}")


def require_plain(goal: Goal, why: str) -> None:
    """Refuse a goal over values of rows, or over rows that are deferred; `why` ends the message.

    Examples
    --------
    >>> from setpoint import Goal
    >>> require_plain(Goal.parse("maximize recall.weighted(amount)"), "a stream is not")
    Traceback (most recent call last):
    ...
    setpoint.errors.GoalError: the goal refers to numbers of rows ('amount'), and a stream \
is not
    """
    strange = _stakes(goal)
    if strange:
        raise GoalError(f"the goal refers to {' and '.join(strange)}, and {why}")


def _stakes(goal: Goal) -> list[str]:
    """Values of rows and deferred rows, where a goal refers to them."""
    names = goal.needs.measure_names
    out = [f"numbers of rows ({', '.join(map(repr, names))})"] if names else []
    return [*out, "rows that are deferred"] if goal.defers else out


# --- Metrics in words -----------------------------------------------------------------------------


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


def example_of(entry: MetricEntry) -> Expression:
    """The metric as an expression, with example values for its parameters."""
    metric = VOCABULARY[entry.name]
    if isinstance(metric, Metric):
        return metric
    return metric(**{name: _EXAMPLES[name] for name in entry.params if name in _EXAMPLES})


def inside_of(entry: MetricEntry) -> Expression | None:
    """What a formula stands for, with example values; None for what is not a formula."""
    if entry.formula is None:
        return None
    return entry.formula(**dict(getattr(example_of(entry), "params", ())))


def formula_of(entry: MetricEntry) -> str:
    """What a metric counts, on one line of plain text.

    Examples
    --------
    >>> formula_of(TABLE["recall"]), formula_of(TABLE["balanced_accuracy"])
    ('predicted = k given true = k', 'recall.mean()')
    """
    if entry.event is not None:
        return " given ".join(event.in_words for event in (entry.event, entry.given or Event())
                              if event.words)  # fmt: skip
    example, inside = str(example_of(entry)), inside_of(entry)
    if inside is None:
        return example
    return f"{example} is {inside}" if "(" in example else str(inside)
