"""A goal as a sentence for people who do not write formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setpoint.goals.constraints import Constraint
from setpoint.goals.expressions import (
    Apply,
    Baseline,
    BlackBoxMetric,
    Const,
    Expression,
    Metric,
    Product,
    Quotient,
    Reduce,
    Sum,
    walk,
)
from setpoint.goals.populations import Label, Population, column_in_words, literal, value_in_words
from setpoint.goals.reducers import REDUCERS
from setpoint.goals.table import TABLE

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal

__all__ = ["cases", "constraint_in_words", "glossary", "goal_in_words", "in_words"]

_NAMES = {
    "f1": "F1",
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "fbeta": "F-measure",
    "mcc": "MCC",
    "g_mean": "G-mean",
    "h_mean": "H-mean",
    "q_mean": "Q-mean",
    "tp": "true positives",
    "fp": "false positives",
    "fn": "false negatives",
    "tn": "true negatives",
    "min_recall": "recall of the worst class",
    "cost": "mean cost",
    "value": "mean value",
    "profit": "profit per row",
    "deferral_rate": "share of rows deferred",
}

_AIMS = {
    ("maximize", "recall"): "Find as many {cases} as possible",
    ("minimize", "false_negative_rate"): "Miss as few {cases} as possible",
    ("maximize", "precision"): "Be right as often as possible about what is taken for {cases}",
    ("maximize", "specificity"): "Raise as few false alarms about {cases} as possible",
    ("minimize", "false_positive_rate"): "Raise as few false alarms about {cases} as possible",
    ("maximize", "f1"): "Find {cases} and be right about them, as well as the two go together",
    ("maximize", "accuracy"): "Decide right as often as possible",
    ("minimize", "error_rate"): "Decide wrong as seldom as possible",
    ("minimize", "churn"): "Differ from the deployed model as seldom as possible",
    ("minimize", "cost"): "Make the mean cost of a decision as low as possible",
    ("maximize", "value"): "Make the mean value of a decision as high as possible",
    ("maximize", "profit"): "Earn as much as possible",
    ("minimize", "deferral_rate"): "Defer as few rows as possible",
}

_LONGEST = 700
"""A longer sentence is not read; the goal's own text says it better."""

_COMPOSITE = (Sum, Product, Quotient)


def goal_in_words(goal: Goal, positive: Label | None = None) -> str:
    """The goal as one sentence.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.97")
    >>> goal_in_words(goal, "malignant")
    'Find as many malignant cases as possible (recall as high as it goes), with precision at \
least 0.97'
    >>> goal_in_words(Goal.parse("maximize macro_f1 subject to churn <= 0.05"))
    'Make macro F1 as high as possible, with churn at most 0.05'
    >>> goal_in_words(Goal.parse('maximize blackbox("shop:revenue")'))
    'Make the metric shop:revenue as high as possible'
    """
    way = "high" if goal.sense == "maximize" else "low"
    out = f"Make {in_words(goal.objective)} as {way} as possible"
    aim = _aim(goal, positive)
    if aim:
        out = f"{aim} ({in_words(goal.objective)} as {way} as it goes)"
    if goal.constraints:
        out += f", with {_listed([_with_article(c) for c in goal.constraints])}"
    if len(out) > _LONGEST:
        held = f", under {len(goal.constraints)} constraints" if goal.constraints else ""
        return f"Make a custom metric as {way} as possible{held}"
    return out


def constraint_in_words(constraint: Constraint) -> str:
    """One constraint in words.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize recall subject to recall.difference(sex) <= 0.05")
    >>> constraint_in_words(goal.constraints[0])
    'gap in recall between groups by sex at most 0.05'
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.9 with confidence 0.99")
    >>> constraint_in_words(goal.constraints[0])
    'precision at least 0.9 (with 99 % confidence)'
    """
    relation = "at least" if constraint.relation == ">=" else "at most"
    words = f"{in_words(constraint.lhs)} {relation} {in_words(constraint.rhs)}"
    if constraint.confidence is not None:
        words += f" (with {100 * constraint.confidence:.10g} % confidence)"
    return words


def in_words(x: Expression) -> str:
    """An expression in words.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize abs(predicted_rate - prior).max()")
    >>> in_words(goal.objective)
    'largest distance between predicted rate and prior over the classes'
    >>> goal = Goal.parse("maximize recall.weighted(amount) subject to accuracy.decided >= 0.98")
    >>> in_words(goal.objective), in_words(goal.constraints[0].lhs)
    ('recall weighted by amount', 'accuracy of the rows decided')
    """
    if isinstance(x, Const):
        return literal(x.value)
    if isinstance(x, Metric):
        return _metric(x)
    if isinstance(x, BlackBoxMetric):
        return f"the metric {x.name}"
    if isinstance(x, Baseline):
        return f"{_part(x.inner)} of the deployed model"
    if isinstance(x, Reduce):
        return _reduce(x)
    if isinstance(x, Apply):
        return _apply(x)
    if isinstance(x, Sum):
        words = [f"{'plus' if s > 0 else 'minus'} {in_words(t)}" for s, t in x.terms]
        return " ".join(words).removeprefix("plus ")
    if isinstance(x, Product):
        return f"{_part(x.left)} times {_part(x.right)}"
    if isinstance(x, Quotient):
        return f"{_part(x.left)} over {_part(x.right)}"
    return str(x)


def glossary(goal: Goal) -> list[tuple[str, str]]:
    """What the metrics of a goal say where their names do not, in the order of the goal.

    Examples
    --------
    >>> from setpoint import Goal
    >>> glossary(Goal.parse("maximize recall subject to precision >= 0.97"))
    [('recall', 'share of the class that is found'), \
('precision', 'share of the accepted that are right')]
    """
    names = dict.fromkeys(m.name for s in goal.sides for m in walk(s) if isinstance(m, Metric))
    return [(_name(n), TABLE[n].words) for n in names if _name(n) != TABLE[n].words]


def cases(label: Label | None) -> str:
    """The rows of one class, as in a sentence.

    Examples
    --------
    >>> cases("malignant"), cases(1), cases(None)
    ('malignant cases', 'cases of class 1', 'positive cases')
    """
    if label is None:
        return "positive cases"
    return f"{label} cases" if _is_word(label) else f"cases of class {label}"


def _is_word(label: Label) -> bool:
    """Whether a label can stand in a sentence; yes, 1 and >50K cannot."""
    return isinstance(label, str) and label.isalpha() and 3 < len(label) < 30


def _with_article(c: Constraint) -> str:
    return f"{'the ' if isinstance(c.lhs, Reduce) else ''}{constraint_in_words(c)}"


def _aim(goal: Goal, positive: Label | None) -> str:
    """What the objective wants in plain words, where it is a metric people have words for."""
    x = goal.objective
    if not isinstance(x, Metric) or (goal.sense, x.name) not in _AIMS:
        return ""
    if x.population.measure is not None or x.only_decided:
        return ""  # it is not the number of cases that counts
    return _AIMS[goal.sense, x.name].format(cases=cases(positive if x.label is None else x.label))


def _metric(x: Metric) -> str:
    given = dict(x.params)
    if x.name == "confusion_rate":
        words = f"share of {given['true']} predicted {given['predicted']}"
    elif x.name == "fbeta":
        words = f"F-measure with beta {literal(given['beta'])}"
    elif x.name == "micro_f1":
        words = f"micro F1 of all classes but {given['default']}"
    elif x.name == "prior_divergence" and given:
        words = "divergence of the predicted rates from the given priors"
    else:
        words = _name(x.name)
    if x.label is not None:
        words += f" of {x.label}" if _is_word(x.label) else f" of class {x.label}"
    if x.population.measure is not None:
        words += f" weighted by {column_in_words(x.population.measure)}"
    if x.only_decided:
        words += " of the rows decided"
    return words + _population(x.population)


def _name(name: str) -> str:
    return _NAMES.get(name, name.replace("_", " "))


def _population(population: Population) -> str:
    parts = [f"{column_in_words(c)} = {value_in_words(v)}" for c, v in population.where]
    if population.dataset is not None:
        parts.insert(0, f"in the data set {population.dataset}")
    return f" ({', '.join(parts)})" if parts else ""


def _part(x: Expression) -> str:
    return f"({in_words(x)})" if isinstance(x, _COMPOSITE) else in_words(x)


def _reduce(x: Reduce) -> str:
    inner = _part(x.inner)
    of, over = "classes", "over the classes"
    if x.columns:
        of = f"groups by {_listed([column_in_words(c) for c in x.columns])}"
        over = f"over {of}"
    if x.kind == "difference":
        return f"gap in {inner} between {of if x.columns else 'the classes'}"
    if x.kind == "ratio":
        return f"smallest over largest {inner} of {of if x.columns else 'the classes'}"
    if x.kind == "deviation":
        return f"largest distance of {inner} in one group from that of all, {over}"
    if x.kind in ("min", "max", "mean"):
        return f"{'mean' if x.kind == 'mean' else REDUCERS[x.kind]} {inner} {over}"
    return f"{REDUCERS[x.kind]} of {inner} {over}"


def _apply(x: Apply) -> str:
    args = [_part(a) for a in x.args]
    if x.function == "abs":
        (inner,) = x.args
        if isinstance(inner, Sum) and sorted(s for s, _ in inner.terms) == [-1, 1]:
            return f"distance between {_listed([_part(t) for _, t in inner.terms])}"
        return f"size of {args[0]}"
    if x.function in ("log", "sqrt"):
        return f"{'logarithm' if x.function == 'log' else 'square root'} of {args[0]}"
    most = "largest" if x.function == "maximum" else "smallest"
    return f"the {most} of {_listed(args)}"


def _listed(words: list[str]) -> str:
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} and {words[-1]}"
