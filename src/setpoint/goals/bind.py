"""Binding: from the expression a user wrote to a function of the features of some data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from setpoint.goals import algebra
from setpoint.goals.atoms import Affine, Bound
from setpoint.goals.errors import (
    EmptyPopulationError,
    GoalError,
    NoFormulaError,
    UnlabelledError,
    nearest,
)
from setpoint.goals.events import Event
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
from setpoint.goals.features import Feature, given_rows
from setpoint.goals.goal import Goal
from setpoint.goals.populations import EVERYWHERE, Key, Label, Other, Population
from setpoint.goals.schema import Schema
from setpoint.goals.table import TABLE, Entry
from setpoint.goals.weights import Weights

__all__ = ["Binder", "speaks_of_one_class"]


@dataclass(frozen=True)
class _Place:
    """Where an expression stands: class at hand, group, deployed model, inside a formula."""

    label: int | None = None
    population: Population = EVERYWHERE
    deployed: bool = False
    formula: bool = False


class Binder:
    """Binds expressions to one schema and collects the features they share.

    Parameters
    ----------
    schema : Schema
    fold : bool
        Turn features that no decision changes into numbers: the shapes that solvers
        need. Without it they stay features, which intervals need.
    """

    def __init__(self, schema: Schema, fold: bool) -> None:
        self.schema = schema
        self.fold = fold
        self.features: dict[Feature, int] = {}

    def bind(self, expression: Expression) -> Bound:
        """The expression as a function of the features.

        Raises
        ------
        GoalError
            A name that the schema does not know, or a class that is not said.
        """
        return self._bind(expression, _Place())

    def _bind(self, e: Expression, at: _Place) -> Bound:
        if isinstance(e, Const):
            return algebra.constant(e.value)
        if isinstance(e, Metric):
            return self._metric(e, at)
        if isinstance(e, Sum):
            return algebra.add([(float(s), self._bind(t, at)) for s, t in e.terms])
        if isinstance(e, Product):
            return algebra.multiply(self._bind(e.left, at), self._bind(e.right, at))
        if isinstance(e, Quotient):
            return algebra.divide(self._bind(e.left, at), self.tight(self._bind(e.right, at)))
        if isinstance(e, Apply):
            return self._apply(e, at)
        if isinstance(e, Reduce):
            return self._groups(e, at) if e.columns else self._classes(e, at)
        if isinstance(e, Baseline):
            return self._bind(e.inner, replace(at, deployed=True))
        if isinstance(e, BlackBoxMetric):
            raise NoFormulaError(
                f"{e} has no formula; AdaptiveSurrogateClassifier and "
                "PlugInClassifier(solver='post-shift') take it"
            )
        raise TypeError(f"not an expression of the language: {type(e).__name__}")

    def tight(self, x: Bound) -> Bound:
        """An affine function with its exact range over all decisions."""
        if not isinstance(x, Affine) or len(x.terms) < 2:
            return x
        return x.plus(0.0).within(*Weights(self.schema, tuple(self.features)).range(x))

    # -- metrics --------------------------------------------------------------------
    def _metric(self, e: Metric, at: _Place) -> Bound:
        entry = TABLE[e.name]
        try:
            population = at.population.narrowed(e.population.dataset, dict(e.population.where))
        except GoalError as error:
            raise GoalError(f"{e}: {error}") from None
        self._check(population, e)
        label = at.label
        if e.label is not None:
            label = self._code(e.label, e)
        elif entry.of_class and label is None:
            label = self.schema.positive
            if label is None:
                raise GoalError(
                    f"{e} speaks of one class and there are {self.schema.n_classes}: write "
                    f"{e.name}(label={self.schema.classes[0]!r}), or reduce over the classes, "
                    f"as in {e.name}.mean() or {e.name}.min()"
                )
        place = _Place(label, population, at.deployed, True)
        if entry.formula is None:
            return self._rate(e, entry, place)
        for name, value in e.params:
            if name in ("default", "true", "predicted"):
                self._code(value, e)
        # The table knows more than interval arithmetic does.
        return self._bind(entry.formula(**dict(e.params)), place).within(entry.low, entry.high)

    def _rate(self, e: Metric, entry: Entry, at: _Place) -> Affine:
        event = entry.event
        if event is None:
            costs: Any = dict(e.params)["costs"]
            event = Event(
                costs=tuple((self._code(t, e), self._code(p, e), c) for (t, p), c in costs)
            )
        given = entry.given or Event()
        schema = self.schema
        cells = tuple(i for i, c in enumerate(schema.cells) if c.is_in(at.population))
        if at.deployed or event.needs_baseline:
            for i in cells:
                if schema.cells[i].baseline is None:
                    raise GoalError(f"{e} needs the deployed model's predictions: give baseline=")
        weight = (
            schema.marginals[list(cells)].sum(axis=0) if cells else np.zeros(schema.n_classes + 1)
        )
        if (event.needs_truth or given.needs_truth) and weight[-1] > 0:
            raise UnlabelledError(
                f"{e} needs labels, and {_words(at.population)} have none: predicted_rate, "
                "churn and their groups can be measured there"
            )
        rows = given_rows(given, schema.n_classes, at.label, event.needs_truth)
        norm = float(weight @ rows)
        if not norm > 0:
            of = (
                ""
                if not given.needs_truth or at.label is None
                else f" with the true class {schema.classes[at.label]!r}"
            )
            raise EmptyPopulationError(f"{e} has no rows: {_words(at.population)} hold none{of}")
        feature = Feature(
            event, given, at.label if _names_class(event, given) else None, at.deployed, cells, norm
        )
        if feature.is_fixed and self.fold:
            return algebra.constant(feature.bounds(schema)[0])
        j = self.features.setdefault(feature, len(self.features))
        return Affine({j: 1.0}, 0.0, {j: feature.bounds(schema)})

    def _code(self, label: object, e: Expression) -> int:
        for code, known in enumerate(self.schema.classes):
            if known == label:
                return code
        raise GoalError(f"{e}: unknown label {label!r} ({nearest(label, self.schema.classes)})")

    def _check(self, population: Population, e: Expression) -> None:
        """A data set, column or value that the schema does not know is an error."""
        columns = self.schema.columns
        if population.dataset not in columns:
            known = [d for d in columns if d is not None]
            near = nearest(population.dataset, known)
            raise GoalError(f"{e}: unknown data set {population.dataset!r} ({near})")
        for column, value in population.where:
            self._check_column(column, population.dataset, e)
            values = self._values(column, population.dataset)
            if value not in values:
                plain = [v for v in values if not isinstance(v, Other)]
                others = {w for v in values if isinstance(v, Other) for w in v.than}
                if value in others:
                    continue
                raise EmptyPopulationError(
                    f"{e}: column {column!r} has no value {value!r} ({nearest(value, plain)})"
                )

    def _check_column(self, column: str, dataset: str | None, e: Expression) -> None:
        known = self.schema.columns[dataset]
        if column not in known:
            where = "" if dataset is None else f" in the data set {dataset!r}"
            raise GoalError(
                f"{e}: unknown column {column!r}{where} ({nearest(column, known)}); "
                "columns come from sensitive_features"
            )

    def _values(self, column: str, dataset: str | None) -> list[Label | Other]:
        found = (dict(c.key).get(column) for c in self.schema.cells if c.dataset == dataset)
        return list(dict.fromkeys(v for v in found if v is not None))

    # -- functions and reducers -----------------------------------------------------
    def _apply(self, e: Apply, at: _Place) -> Bound:
        xs = [self.tight(self._bind(a, at)) for a in e.args]
        if e.function == "abs":
            return algebra.absolute(xs[0])
        if e.function in ("maximum", "minimum"):
            return algebra.reduced(e.function[:3], xs, None, str(e))
        if xs[0].low < -1e-9 and not at.formula:
            raise GoalError(
                f"{e}: {e.function} needs a value >= 0, this one goes down to {xs[0].low:.4g}"
            )
        function: Callable[[Bound], Bound] = (
            algebra.logarithm if e.function == "log" else algebra.root
        )
        return function(xs[0])

    def _classes(self, e: Reduce, at: _Place) -> Bound:
        if not _of_one_class(e.inner):
            raise GoalError(
                f"{e}: without a column .{e.kind} goes over the classes, and {e.inner} is not of "
                f"one class; name a column, as in .{e.kind}('sex')"
            )
        each = [self._bind(e.inner, replace(at, label=k)) for k in range(self.schema.n_classes)]
        return self._reduced(e, each, None)

    def _groups(self, e: Reduce, at: _Place) -> Bound:
        each = [
            self._bind(e.inner, replace(at, population=p)) for p in self.groups(e, at.population)
        ]
        pooled = self._bind(e.inner, at) if e.kind == "deviation" else None
        return self._reduced(e, each, pooled)

    def _reduced(self, e: Reduce, each: list[Bound], pooled: Bound | None) -> Bound:
        if e.kind not in ("sum", "mean"):
            each = [self.tight(x) for x in each]
        return algebra.reduced(e.kind, each, pooled, str(e))

    def groups(self, e: Reduce, outer: Population) -> list[Population]:
        """The populations that a reducer over columns goes through, in order."""
        datasets = {m.population.dataset for m in _metrics(e.inner)}
        if len(datasets) > 1:
            raise GoalError(f"{e}: a reducer goes over the groups of one data set")
        inner = next(iter(datasets), None)
        dataset = outer.dataset if inner is None else inner
        if dataset not in self.schema.columns:
            self._check(Population(dataset), e)
        for column in e.columns:
            self._check_column(column, dataset, e)
            if any(column == c for m in _metrics(e.inner) for c, _ in m.population.where) or any(
                column == c for c, _ in outer.where
            ):
                raise GoalError(f"{e}: the column {column!r} is already fixed by .on")
        within = Population(dataset, outer.where)
        keys: dict[Key, None] = {}
        for cell in self.schema.cells:
            if cell.is_in(within):
                key = dict(cell.key)
                if not key.keys() >= set(e.columns):
                    raise GoalError(f"{e}: the cells of these data are not split by its columns")
                keys[tuple((c, key[c]) for c in sorted(e.columns))] = None
        if not keys:
            raise EmptyPopulationError(f"{e} has no rows: {_words(within)} hold none")
        ordered = sorted(keys, key=lambda k: [(str(type(v)), str(v)) for _, v in k])
        return [outer.narrowed(None, dict(k)) for k in ordered]


def _metrics(e: Expression) -> Iterable[Metric]:
    return (x for x in walk(e) if isinstance(x, Metric))


def _of_one_class(e: Expression) -> bool:
    """Whether a metric in it still waits for a class."""
    if isinstance(e, Metric):
        return TABLE[e.name].of_class and e.label is None
    if isinstance(e, Reduce) and not e.columns:
        return False
    return any(_of_one_class(c) for c in e.children)


def speaks_of_one_class(goal: Goal) -> bool:
    """Whether a metric in the goal waits for the positive class of two."""
    sides = [goal.objective, *(x for c in goal.constraints for x in (c.lhs, c.rhs))]
    return any(_of_one_class(x) for x in sides)


def _names_class(*events: Event) -> bool:
    return any(w.lstrip("!") in ("actual", "predicted") for x in events for w in x.words.split())


def _words(population: Population) -> str:
    parts = [] if population.dataset is None else [f"data set {population.dataset!r}"]
    parts += [f"{c} = {v}" for c, v in population.where]
    return "the rows of " + (", ".join(parts) or "X")
