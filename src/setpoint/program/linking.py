"""Linking: every name of a goal looked up in a codebook, and the result described."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from setpoint import goals
from setpoint.errors import EmptyPopulationError, GoalError, InputTypeError, NoFormulaError, nearest
from setpoint.evidence import Codebook, Marginals, Measure, Stratum
from setpoint.program.algebra import Clipped, Leaf, Missing, NumberLeaf, Operation, Term
from setpoint.program.program import LinkedConstraint, LinkedGoal
from setpoint.program.rates import Rate

# --- Values of rows: what each pair of true and decided class is worth ----------------------------


Entries: TypeAlias = dict[tuple[int, int], goals.LinearForm]
"""Code of the true class and of the decided one, and what such a row is worth."""


def entries_of(
    e: goals.Metric,
    label: int | None,
    book: Codebook,
    code: Callable[[object, goals.Expression], int],
) -> Entries:
    """What each pair of true and decided class is worth by ``cost``, ``value`` or ``profit``."""
    given: dict[str, Any] = dict(e.params)
    pairs = given.get("costs", given.get("values"))
    if pairs is None:
        return _of_one_class(given, label, book)
    out: Entries = {}
    for (true, decided), worth in pairs:
        out[code(true, e), _answer(decided, e, book, code)] = goals.LinearForm.of(worth)
    return out


def _of_one_class(given: dict[str, Any], label: int | None, book: Codebook) -> Entries:
    """The entries of ``profit``: by whether the true and the decided class are its own."""
    kinds = {(True, True): "tp", (False, True): "fp", (True, False): "fn", (False, False): "tn"}
    n, out = len(book.labels), Entries()
    for true in range(n):
        for decided in range(n):
            worth = given.get(kinds[true == label, decided == label])
            if worth is not None:
                out[true, decided] = goals.LinearForm.of(worth)
        if book.defers and "defer" in given:
            out[true, n] = goals.LinearForm.of(given["defer"])
    return out


def _answer(
    label: object, e: goals.Metric, book: Codebook, code: Callable[[object, goals.Expression], int]
) -> int:
    """The code of what is decided; a class may not have the name of deferring."""
    if label == goals.DEFER and book.defers:
        if goals.DEFER in book.labels:
            raise GoalError(f"{e}: {goals.DEFER!r} is a class of these data, and no decision here")
        return book.n_classes - 1
    return code(label, e)


def part_of(worth: goals.LinearForm, measure: Measure | None) -> float:
    """The factor of a measure in what a row is worth; of None what does not depend on the row."""
    if measure is None:
        return worth.constant
    return measure.sign * dict(worth.terms).get(measure.column, 0.0)


# --- Linking: every name of a goal is looked up in a codebook, once -------------------------------


def link(goal: goals.Goal, codebook: Codebook) -> LinkedGoal:
    """The goal as functions of the counts of a codebook's strata.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Goal
    >>> from setpoint.evidence.codebook import Codebook, Marginals
    >>> linked = link(Goal.parse("maximize f1"), Codebook.of(("no", "yes")))
    >>> counts = np.array([[[5.0, 1.0], [2.0, 4.0], [0.0, 0.0]]])
    >>> program = linked.at(Marginals.of_counts(counts))
    >>> round(float(program.value(program.rates_of(counts))), 4)
    0.7273
    """
    linker = Linker(codebook)
    objective = linker.link(goal.objective)
    constraints = tuple(
        LinkedConstraint(c, linker.link(c.lhs), linker.link(c.rhs), linker.link(c.lhs - c.rhs))
        if not isinstance(c.rhs, goals.Const)
        else LinkedConstraint(c, linker.link(c.lhs), NumberLeaf(c.rhs.value), None)
        for c in goal.constraints
    )
    return LinkedGoal(goal, codebook, objective, constraints)


@dataclass(frozen=True)
class _Position:
    """Where an expression stands: its class, its group, the deployed model, a formula."""

    label: int | None = None
    population: goals.Population = goals.EVERYWHERE
    deployed: bool = False
    formula: bool = False
    decided: bool = False
    misses_deferred: bool = False


_ANYWHERE = _Position()
_MISSED = {"actual !predicted": goals.Event("actual !found")}
"""What is missed where a row of the class that is not decided is missed, too."""


class Linker:
    """Turns expressions into terms over the strata of a codebook."""

    def __init__(self, codebook: Codebook) -> None:
        self.codebook = codebook

    def link(self, e: goals.Expression, at: _Position = _ANYWHERE) -> Term:
        """The expression as a function of the counts."""
        if isinstance(e, goals.Const):
            return NumberLeaf(e.value)
        if isinstance(e, goals.Metric):
            return self._metric(e, at)
        if isinstance(e, goals.Sum):
            terms = tuple(self.link(t, at) for _, t in e.terms)
            return Operation("sum", terms, signs=tuple(s for s, _ in e.terms))
        if isinstance(e, (goals.Product, goals.Quotient)):
            kind = "product" if isinstance(e, goals.Product) else "quotient"
            return Operation(kind, (self.link(e.left, at), self.link(e.right, at)))
        if isinstance(e, goals.Apply):
            kind = {"maximum": "max", "minimum": "min"}.get(e.function, e.function)
            terms = tuple(self.link(a, at) for a in e.args)
            return Operation(kind, terms, "" if at.formula else str(e))
        if isinstance(e, goals.Reduce):
            return self._groups(e, at) if e.columns else self._classes(e, at)
        if isinstance(e, goals.Baseline):
            return self.link(e.inner, replace(at, deployed=True))
        if isinstance(e, goals.BlackBoxMetric):
            return Missing(NoFormulaError(f"{e} has no formula"))
        raise InputTypeError(f"not an expression of the language: {type(e).__name__}")

    # -- metrics --------------------------------------------------------------------
    def _metric(self, e: goals.Metric, at: _Position) -> Term:
        entry = goals.TABLE[e.name]
        try:
            population = at.population.within(e.population)
        except GoalError as error:
            raise GoalError(f"{e}: {error}") from None
        if population.dataset is not None or population.where:
            missing = self._check(population, e)
            if missing is not None:
                return Missing(missing)
        label = at.label
        if e.label is not None:
            label = self._code(e.label, e)
        elif entry.of_class and label is None:
            label = self.codebook.positive
            if label is None:
                raise GoalError(
                    f"{e} is a metric of one class and there are {self._n_labels}: write "
                    f"{e.name}(label={self.codebook.classes[0]!r}), or reduce over the classes, "
                    f"as in {e.name}.mean() or {e.name}.min()"
                )
        decided = at.decided or e.only_decided
        misses = at.misses_deferred or entry.misses_deferred
        place = _Position(label, population, at.deployed, True, decided, misses)
        if entry.formula is None:
            return self._rate(e, entry, place)
        for name, value in e.params:
            if name in ("default", "true", "predicted"):
                self._code(value, e)
        # The table knows more than interval arithmetic does.
        return Clipped(self.link(entry.formula(**dict(e.params)), place), entry.low, entry.high)

    def _rate(self, e: goals.Metric, entry: goals.MetricEntry, at: _Position) -> Term:
        given = entry.given or goals.Event()
        if entry.event is None:
            value: Term = self._value(e, at)
        else:
            event = entry.event
            if at.misses_deferred and self._defers and not at.decided:
                event = _MISSED.get(event.words, event)
            if at.decided and event.ignores_prediction:
                event = goals.Event(f"{event.words} !deferred".strip())
            value = self._leaf(e, event, given, at)
        if not at.decided:
            return value
        # Of the same rows as the value, so that the two are one fraction of counts.
        needs_truth = entry.event is None or entry.event.needs_truth
        of = given.words or ("labelled" if needs_truth else "")
        decided = self._leaf(e, goals.Event(f"{of} !deferred".strip()), given, at)
        return Operation("quotient", (value, decided))

    def _leaf(
        self,
        e: goals.Metric,
        event: goals.Event,
        given: goals.Event,
        at: _Position,
        by: Measure | None = None,
    ) -> Leaf:
        """A share of the rows, or with `by` a sum of that measure over the number of rows."""
        known = self.codebook.strata
        strata = rows = tuple(i for i, c in enumerate(known) if c.is_in(at.population))
        if by is not None:
            strata = tuple(i + self.codebook.place_of(by) for i in rows)
        if at.deployed or event.needs_baseline:
            for i in strata:
                if known[i].baseline is None:
                    raise GoalError(f"{e} needs the deployed model's predictions: give `baseline`")
        own = at.label if event.names_class or given.names_class else None
        rate = Rate(
            event, given, own, at.deployed, strata, None if by is None else rows, self._defers
        )
        return Leaf(rate, e, at.population)

    def _value(self, e: goals.Metric, at: _Position) -> Term:
        """The mean of numbers for pairs of true and decided class: one rate for each measure."""
        book = self.codebook
        entries = entries_of(e, at.label, book, self._code)
        if at.decided:
            entries = {(t, p): x for (t, p), x in entries.items() if not self._is_deferral(p)}
        leaves, signs = [], []
        for measure in (None, *book.measures):
            costs = tuple((t, p, c) for (t, p), x in entries.items() if (c := part_of(x, measure)))
            if costs or measure is None:
                leaves.append(self._leaf(e, goals.Event(costs=costs), goals.Event(), at, measure))
                signs.append(1)
        if len(leaves) > 1 and not leaves[0].rate.event.costs:
            del leaves[0], signs[0]
        return leaves[0] if len(leaves) == 1 else Operation("sum", tuple(leaves), "", tuple(signs))

    @property
    def _defers(self) -> bool:
        return self.codebook.defers

    @property
    def _n_labels(self) -> int:
        return len(self.codebook.labels)

    def _is_deferral(self, code: int) -> bool:
        return self._defers and code == self.codebook.n_classes - 1

    def _code(self, label: object, e: goals.Expression) -> int:
        for code, known in enumerate(self.codebook.classes):
            if known == label:
                return code
        near = nearest(label, self.codebook.labels)
        raise GoalError(f"{e}: unknown label {label!r} ({near})")

    def _check(self, population: goals.Population, e: goals.Expression) -> GoalError | None:
        """Refuse a data set or column that the codebook does not know; a value may be missing."""
        columns = self.codebook.columns
        if population.dataset not in columns:
            known = [d for d in columns if d is not None]
            near = nearest(population.dataset, known)
            raise GoalError(f"{e}: unknown data set {population.dataset!r} ({near})")
        for column, value in population.where:
            self._check_column(column, population.dataset, e)
            values = self._values(column, population.dataset)
            if value not in values:
                plain = [v for v in values if not isinstance(v, goals.Other)]
                others = {w for v in values if isinstance(v, goals.Other) for w in v.than}
                if value in others:
                    continue
                return EmptyPopulationError(
                    f"{e}: column {column!r} has no value {value!r} ({nearest(value, plain)})"
                )
        return None

    def _check_column(self, column: str, dataset: str | None, e: goals.Expression) -> None:
        known = self.codebook.columns[dataset]
        if column not in known:
            where = "" if dataset is None else f" in the data set {dataset!r}"
            raise GoalError(
                f"{e}: unknown column {column!r}{where} ({nearest(column, known)}); "
                "columns come from `sensitive_features`"
            )

    def _values(self, column: str, dataset: str | None) -> list[goals.Label | goals.Other]:
        found = (dict(c.key).get(column) for c in self.codebook.strata if c.dataset == dataset)
        return list(dict.fromkeys(v for v in found if v is not None))

    # -- reducers -------------------------------------------------------------------
    def _classes(self, e: goals.Reduce, at: _Position) -> Term:
        if not _link_of_one_class(e.inner):
            raise GoalError(
                f"{e}: without a column .{e.kind} goes over the classes, and {e.inner} is not of "
                f"one class; name a column, as in .{e.kind}('sex')"
            )
        classes = range(self._n_labels)
        terms = tuple(self.link(e.inner, replace(at, label=k)) for k in classes)
        return Operation(e.kind, terms, str(e))

    def _groups(self, e: goals.Reduce, at: _Position) -> Term:
        try:
            groups = self.groups(e, at.population)
        except EmptyPopulationError as error:
            return Missing(error)
        m, codebook = e.inner, self.codebook
        if (
            isinstance(m, goals.Metric)
            and _link_of_one_class(m)
            and at.label is codebook.positive is None
        ):
            over = f".{e.kind}({', '.join(map(goals.literal, e.columns))})"
            raise GoalError(
                f"{e}: {m} is a metric of one class and there are {self._n_labels}. Name it, "
                f"as in {m(label=codebook.classes[0])}{over}, or reduce over the classes first, as "
                f"in {m}.mean(){over}"
            )
        terms = tuple(self.link(e.inner, replace(at, population=p)) for p in groups)
        if e.kind == "deviation":
            terms += (self.link(e.inner, at),)
        return Operation(e.kind, terms, str(e))

    def groups(
        self, e: goals.Reduce, outer: goals.Population = goals.EVERYWHERE
    ) -> list[goals.Population]:
        """The populations that a reducer over columns goes through, in order."""
        datasets = {m.population.dataset for m in _metrics(e.inner)}
        if len(datasets) > 1:
            raise GoalError(f"{e}: a reducer goes over the groups of one data set")
        inner = next(iter(datasets), None)
        dataset = outer.dataset if inner is None else inner
        if dataset not in self.codebook.columns:
            self._check(goals.Population(dataset), e)
        for column in e.columns:
            self._check_column(column, dataset, e)
            if any(column == c for m in _metrics(e.inner) for c, _ in m.population.where) or any(
                column == c for c, _ in outer.where
            ):
                raise GoalError(f"{e}: the column {column!r} is already fixed by .on")
        within = goals.Population(dataset, outer.where)  # groups are of rows, whatever weighs them
        keys: dict[goals.Key, None] = {}
        for stratum in self.codebook.strata:
            if stratum.is_in(within):
                key = dict(stratum.key)
                if not key.keys() >= set(e.columns):
                    raise GoalError(f"{e}: the strata of these data are not split by its columns")
                keys[tuple((c, key[c]) for c in sorted(e.columns))] = None
        if not keys:
            raise EmptyPopulationError(f"{e} has no rows: {within.in_words} hold none")
        ordered = sorted(keys, key=lambda k: [(str(type(v)), str(v)) for _, v in k])
        return [outer.narrowed(None, dict(k)) for k in ordered]


def _metrics(e: goals.Expression) -> Iterator[goals.Metric]:
    return (x for x in goals.walk(e) if isinstance(x, goals.Metric))


def _link_of_one_class(e: goals.Expression) -> bool:
    """Whether a metric in it still waits for a class."""
    if isinstance(e, goals.Metric):
        return goals.TABLE[e.name].of_class and e.label is None
    if isinstance(e, goals.Reduce) and not e.columns:
        return False
    return any(_link_of_one_class(c) for c in e.children)


def waits_for_class(goal: goals.Goal) -> bool:
    """Whether a metric in the goal waits for the positive class of two."""
    return any(_link_of_one_class(x) for x in goal.sides)


# --- The vocabulary in words: what a metric counts, its formula, an example -----------------------


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


def kind_of(entry: goals.MetricEntry) -> str:
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


def event_in_words(event: goals.Event) -> str:
    """An event as equations between true, predicted and deployed class.

    Examples
    --------
    >>> event_in_words(goals.Event("actual !predicted"))
    'true = k and predicted ≠ k'
    """
    return " and ".join(_WORDS[w.lstrip("!")][w.startswith("!")] for w in event.words.split())


def example_of(entry: goals.MetricEntry) -> goals.Expression:
    """The metric as an expression, with example values for its parameters.

    Examples
    --------
    >>> from setpoint.goals.table import TABLE
    >>> print(example_of(TABLE["recall"]), example_of(TABLE["fbeta"]))
    recall fbeta(2)
    """
    metric = goals.VOCABULARY[entry.name]
    if isinstance(metric, goals.MetricFunction):
        return metric(**{name: _EXAMPLES[name] for name in entry.params if name in _EXAMPLES})
    return metric


def expression_of(entry: goals.MetricEntry) -> goals.Expression | None:
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


def formula_of(entry: goals.MetricEntry) -> str:
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
        given = event_in_words(entry.given or goals.Event())
        return event_in_words(entry.event) + (f" given {given}" if given else "")
    inside = expression_of(entry)
    if inside is None:
        return str(example_of(entry))
    return f"{example_of(entry)} is {inside}" if _has_values(entry) else str(inside)


def _has_values(entry: goals.MetricEntry) -> bool:
    return bool(getattr(example_of(entry), "params", ()))


def range_in_words(entry: goals.MetricEntry) -> str:
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


def shape_of(entry: goals.MetricEntry) -> str:
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
    program = link(goals.maximize(example_of(entry)), Codebook.of(classes, strata)).at(
        Marginals.of_counts(counts)
    )
    return program.objective.shape_name
