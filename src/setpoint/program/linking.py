"""Linking: every name of a goal looked up in a codebook, and the goal as functions of rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from setpoint import goals
from setpoint.counts import Codebook, Marginals, Measure
from setpoint.errors import (
    EmptyPopulationError,
    GoalError,
    InputTypeError,
    NoFormulaError,
    UnlabelledError,
    nearest,
)
from setpoint.program import algebra
from setpoint.program import functions as fn
from setpoint.program.rates import Rate, RateTable

# --- Values of rows: what each pair of true and decided class is worth ----------------------------


Entries: TypeAlias = dict[tuple[int, int], goals.LinearForm]
"""Code of the true class and of the decided one, and what such a row is worth."""


def part_of(worth: goals.LinearForm, measure: Measure | None) -> float:
    """The factor of a measure in what a row is worth; of None what does not depend on the row."""
    if measure is None:
        return worth.constant
    return measure.sign * dict(worth.terms).get(measure.column, 0.0)


# --- Expressions as functions of the rates of some rows -------------------------------------------


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
_OF_POSITIVE = ("log", "sqrt", "geometric_mean", "harmonic_mean", "ratio")
_NEGATIVE = -1e-9

Open: TypeAlias = "Callable[[Linker], fn.RateFunction]"
"""An expression whose names are looked up: its function, for whatever rows are counted."""


_Combining: TypeAlias = goals.Apply | goals.Reduce
_Functions: TypeAlias = Sequence[fn.RateFunction]

_Names: TypeAlias = tuple[
    dict[goals.Expression, Open],
    dict[tuple[object, ...], Rate],
    dict[tuple[str, ...], dict[tuple[object, ...], list[int]]],
]


@lru_cache(maxsize=16)
def _names_of(codebook: Codebook) -> _Names:
    """Expressions, rates and strata whose names were looked up in a codebook so far."""
    return {}, {}, {}


class Linker:
    """Turns expressions into functions of the rates of some rows; without rows, checks names."""

    def __init__(
        self,
        codebook: Codebook,
        marginals: Marginals | None = None,
        fixed: bool = True,
        corners: Sequence[Marginals] = (),
    ) -> None:
        self.codebook = codebook
        self.fixed = fixed
        self.tables = [RateTable(codebook, m) for m in (marginals, *corners) if m is not None]
        if marginals is not None:
            self.table = self.tables[0]
            """The rates so far, as functions of the counts."""
        self._opened, self._rates, self._strata = _names_of(codebook)
        self.populations: list[goals.Population] = []
        self._known: dict[Rate, fn.Affine] = {}

    def function(self, e: goals.Expression) -> fn.RateFunction:
        """The expression as a function of the rates."""
        return self.opened(e)(self)

    def opened(self, e: goals.Expression) -> Open:
        """The expression with its names looked up, once for all rows of a codebook."""
        known = self._opened.get(e)
        if known is None:
            known = self._opened[e] = self._open(e, _ANYWHERE)
        return known

    def _open(self, e: goals.Expression, at: _Position) -> Open:
        if isinstance(e, goals.Const):
            number = algebra.constant(e.value)
            return lambda rows: number
        if isinstance(e, goals.Metric):
            return self._metric(e, at)
        if isinstance(e, goals.Reduce):
            try:
                places = self._places(e, at)
            except EmptyPopulationError as error:
                return self._unknown(error)
            inner = [self._open(e.inner, place) for place in places]
            pooled = [self._open(e.inner, at)] if e.kind == "deviation" else []
            return lambda rows: rows.combined(
                e, [f(rows) for f in inner], [f(rows) for f in pooled]
            )
        if isinstance(e, goals.Baseline):
            return self._open(e.inner, replace(at, deployed=True))
        if isinstance(e, goals.BlackBoxMetric):
            return self._unknown(NoFormulaError(f"{e} has no formula"))
        parts = [self._open(child, at) for child in e.children]
        if isinstance(e, goals.Sum):
            signs = [float(s) for s, _ in e.terms]
            return lambda rows: algebra.add(
                [(s, f(rows)) for s, f in zip(signs, parts, strict=True)]
            )
        if isinstance(e, goals.Product):
            return lambda rows: algebra.multiply(*(f(rows) for f in parts))
        if isinstance(e, goals.Quotient):
            return lambda rows: algebra.divide(parts[0](rows), rows.exact_range(parts[1](rows)))
        if not isinstance(e, goals.Apply):
            raise InputTypeError(f"not an expression of the language: {type(e).__name__}")
        return lambda rows: rows.combined(e, [f(rows) for f in parts], known=at.formula)

    def _unknown(self, error: GoalError) -> Open:
        """What has no value whatever is counted: an error where a value is asked for."""
        kind, message = type(error), str(error)

        def refuse(_: Linker) -> fn.RateFunction:
            raise kind(message)

        return refuse

    # -- with rows ------------------------------------------------------------------
    def exact_range(self, x: fn.RateFunction) -> fn.RateFunction:
        """An affine function with its exact range over all decisions."""
        if not self.tables or not isinstance(x, fn.Affine) or len(x.terms) < 2:
            return x
        ranges = [table.range(x) for table in self.tables]
        return x.plus(0.0).clip_range(min(r[0] for r in ranges), max(r[1] for r in ranges))

    def combined(
        self, e: _Combining, xs: _Functions, pooled: _Functions = (), known: bool = False
    ) -> fn.RateFunction:
        """One number from several; `pooled` for a deviation, `known` where the table has it so."""
        kind = e.function if isinstance(e, goals.Apply) else e.kind
        if kind not in ("sum", "mean"):
            xs = [self.exact_range(x) for x in xs]
        low = min(x.low for x in xs)
        if kind in _OF_POSITIVE and not known and self.tables and low < _NEGATIVE:
            needs = f"{kind} needs a value >= 0, this one goes"
            if isinstance(e, goals.Reduce):
                needs = f".{kind} needs values >= 0, these go"
            raise GoalError(f"{e}: {needs} down to {low:.4g}")
        return algebra.reduced(kind, xs, *pooled)

    def rate(self, rate: Rate, e: goals.Metric, population: goals.Population) -> fn.Affine:
        """A rate with its norm and range on these rows; `e` and `population` for messages."""
        found = self._known.get(rate)
        if found is not None:
            return found
        if rate.needs_truth and self.table.marginals.weights[list(rate.strata), -1].any():
            raise UnlabelledError(
                f"{e} needs labels, and {population.in_words} have none: "
                "predicted_rate, churn and their groups can be measured there"
            )
        sums = [rate.sums(table.marginals) for table in self.tables]
        if not sums[0][0] > 0:
            rows, of = population.in_words, ""
            if rate.given.needs_truth and rate.label is not None:
                of = f" with the true class {self.codebook.classes[rate.label]!r}"
            if population.measure is not None:
                counts = f"{e} counts rows by {population.measure!r}"
                raise EmptyPopulationError(f"{counts}, and that is 0 for all of {rows}{of}")
            raise EmptyPopulationError(f"{e} has no rows: {rows} hold none{of}")
        low = min(least / norm for norm, least, _ in sums)
        high = max(most / norm for norm, _, most in sums)
        if rate.is_fixed and self.fixed:
            found = algebra.constant(low)
        else:
            j = len(self.populations)
            for table, (norm, _, _) in zip(self.tables, sums, strict=True):
                table.add(rate, norm)
            self.populations.append(population)
            found = fn.Affine({j: 1.0}, 0.0, {j: (low, high)})
        self._known[rate] = found
        return found

    # -- metrics --------------------------------------------------------------------
    def _metric(self, e: goals.Metric, at: _Position) -> Open:
        entry, population = goals.TABLE[e.name], at.population
        if e.population != goals.EVERYWHERE:
            try:
                population = population.within(e.population)
            except GoalError as error:
                raise GoalError(f"{e}: {error}") from None
        if e.population.dataset is not None or e.population.where:
            missing = self._check(population, e)
            if missing is not None:
                return self._unknown(missing)
        label = at.label
        if e.label is not None:
            label = self._code(e.label, e)
        elif entry.of_class and label is None:
            label = self.codebook.positive
            if label is None:
                raise GoalError(
                    f"{e} is a metric of one class and there are {len(self.codebook.labels)}: "
                    f"write {e.name}(label={self.codebook.classes[0]!r}), or reduce over the "
                    f"classes, as in {e.name}.mean() or {e.name}.min()"
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
        inner = self._open(entry.formula(**dict(e.params)), place)
        return lambda rows: inner(rows).clip_range(entry.low, entry.high)

    def _rate(self, e: goals.Metric, entry: goals.MetricEntry, at: _Position) -> Open:
        given, event = entry.given or goals.Event(), entry.event
        if event is None:
            value = self._value(e, at)
        else:
            if at.misses_deferred and self.codebook.defers and not at.decided:
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
        return lambda rows: algebra.divide(value(rows), rows.exact_range(decided(rows)))

    def _leaf(
        self,
        e: goals.Metric,
        event: goals.Event,
        given: goals.Event,
        at: _Position,
        by: Measure | None = None,
    ) -> Open:
        """A share of the rows, or with `by` a sum of that measure over the number of rows."""
        book = self.codebook
        strata = rows = self._rows(at.population)
        if by is not None:
            strata = tuple(i + book.place_of(by) for i in rows)
        if at.deployed or event.needs_baseline:
            for i in strata:
                if book.strata[i].baseline is None:
                    raise GoalError(f"{e} needs the deployed model's predictions: give `baseline`")
        own = at.label if event.names_class or given.names_class else None
        key = event, given, own, at.deployed, strata, None if by is None else rows
        rate = self._rates.get(key)
        if rate is None:
            rate = self._rates[key] = Rate(book, *key)
        return lambda here: here.rate(rate, e, at.population)

    def _rows(self, population: goals.Population) -> tuple[int, ...]:
        """The strata of a population, in order."""
        columns = tuple(c for c, _ in population.where)
        index = self._strata.get(columns)
        if index is None:
            index = self._strata[columns] = {}
            for i, stratum in enumerate(self.codebook.strata):
                key = dict(stratum.key)
                if key.keys() >= set(columns):
                    values = tuple(key[c] for c in columns)
                    index.setdefault((stratum.dataset, stratum.measure, values), []).append(i)
        measure = None if population.measure is None else Measure(population.measure)
        values = tuple(v for _, v in population.where)
        return tuple(index.get((population.dataset, measure, values), ()))

    def _value(self, e: goals.Metric, at: _Position) -> Open:
        """The mean of numbers for pairs of true and decided class: one rate for each measure."""
        book = self.codebook
        entries = self._entries(e, at.label)
        if at.decided and book.defers:
            entries = {(t, p): x for (t, p), x in entries.items() if p != book.n_classes - 1}
        found = []
        for measure in (None, *book.measures):
            costs = tuple((t, p, c) for (t, p), x in entries.items() if (c := part_of(x, measure)))
            if costs or measure is None:
                found.append((costs, measure))
        if len(found) > 1 and not found[0][0]:
            del found[0]
        rates = [self._leaf(e, goals.Event(costs=c), goals.Event(), at, by) for c, by in found]
        if len(rates) == 1:
            return rates[0]
        return lambda rows: algebra.add([(1.0, f(rows)) for f in rates])

    def _entries(self, e: goals.Metric, label: int | None) -> Entries:
        """What each pair of true and decided class is worth."""
        book, out = self.codebook, Entries()
        if not goals.TABLE[e.name].any_of:
            for (true, decided), worth in e.worths.items():
                out[self._code(true, e), self._answer(decided, e)] = worth
            return out
        kinds = {(True, True): "tp", (False, True): "fp", (True, False): "fn", (False, False): "tn"}
        n = len(book.labels)
        for true in range(n):
            how = {decided: kinds[true == label, decided == label] for decided in range(n)}
            if book.defers:
                how[n] = goals.DEFER
            out |= {(true, k): e.worths[kind] for k, kind in how.items() if kind in e.worths}
        return out

    def _answer(self, label: object, e: goals.Metric) -> int:
        """The code of what is decided; a class may not have the name of deferring."""
        if label != goals.DEFER or not self.codebook.defers:
            return self._code(label, e)
        if goals.DEFER in self.codebook.labels:
            raise GoalError(f"{e}: {goals.DEFER!r} is a class of these data, and no decision here")
        return self.codebook.n_classes - 1

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
    def _places(self, e: goals.Reduce, at: _Position) -> list[_Position]:
        """Where a reducer measures what it goes over: each class, or each group."""
        m, codebook = e.inner, self.codebook
        if not e.columns:
            if not _link_of_one_class(m):
                raise GoalError(
                    f"{e}: without a column .{e.kind} goes over the classes, and {m} is not of "
                    f"one class; name a column, as in .{e.kind}('sex')"
                )
            return [replace(at, label=k) for k in range(len(codebook.labels))]
        groups = self.groups(e, at.population)
        if (
            isinstance(m, goals.Metric)
            and _link_of_one_class(m)
            and at.label is codebook.positive is None
        ):
            over = f".{e.kind}({', '.join(map(goals.literal, e.columns))})"
            raise GoalError(
                f"{e}: {m} is a metric of one class and there are {len(codebook.labels)}. Name it, "
                f"as in {m(label=codebook.classes[0])}{over}, or reduce over the classes first, as "
                f"in {m}.mean(){over}"
            )
        return [replace(at, population=p) for p in groups]

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


# --- Ranges that hold on any data -----------------------------------------------------------------


class _AnyRows(Linker):
    """Takes each metric for a number in its range, and a reducer for one over two such numbers."""

    def _number(self, low: float, high: float) -> fn.Affine:
        self.populations.append(goals.EVERYWHERE)
        j = len(self.populations)
        return fn.Affine({j: 1.0}, 0.0, {j: (low, high)})

    def _unknown(self, error: GoalError) -> Open:
        anything = self._number(-fn.INF, fn.INF)
        return lambda rows: anything

    def _metric(self, e: goals.Metric, at: _Position) -> Open:
        low, high = goals.TABLE[e.name].low, goals.TABLE[e.name].high
        if e.worths and not e.value_columns:
            values = [worth.constant for worth in e.worths.values()]
            low, high = min(0.0, *values), max(0.0, *values)
        number = self._number(low, high)
        return lambda rows: number

    def _places(self, e: goals.Reduce, at: _Position) -> list[_Position]:
        return [at, at]

    def combined(
        self, e: _Combining, xs: _Functions, pooled: _Functions = (), known: bool = False
    ) -> fn.RateFunction:
        if isinstance(e, goals.Reduce) and e.kind == "sum":
            return self._number(0.0 if xs[0].low >= 0 else -fn.INF, fn.INF)
        return super().combined(e, xs, pooled, known)


@lru_cache(maxsize=256)
def range_of(e: goals.Expression) -> tuple[float, float]:
    """The smallest and largest value that an expression can have, whatever the data.

    Examples
    --------
    >>> from setpoint.metrics import precision, recall
    >>> range_of(1 - precision), range_of(recall.difference("sex"))
    ((0.0, 1.0), (0.0, 1.0))
    """
    with np.errstate(all="ignore"):
        found = _AnyRows(Codebook.of((0, 1))).function(e)
    return found.low, found.high


def in_shares(e: goals.Expression, bound: float) -> str:
    """How a bound on shares is written that is given per cent, or as a number of rows.

    Examples
    --------
    >>> from setpoint.metrics import fp, precision, tp
    >>> in_shares(precision, 90.0), in_shares(tp + fp, 200.0)
    ('; for 90 per cent write 0.9 or 90%', '; for 200 of N rows write 200/N, with a number for N')
    """
    metrics = [x for x in goals.walk(e) if isinstance(x, goals.Metric)]
    low, high = range_of(e)
    if bound < 2 or low < 0 or not math.isfinite(high) or any(dict(m.params) for m in metrics):
        return ""
    ways = []
    if bound <= 100:
        ways.append(f"for {bound:.12g} per cent write {bound / 100:.12g} or {bound:.12g}%")
    given = [goals.TABLE[m.name].given for m in metrics]
    if bound.is_integer() and all(x is not None and not x.words for x in given):
        ways.append(f"for {bound:.12g} of N rows write {bound:.12g}/N, with a number for N")
    return "; " + ", ".join(ways) if ways else ""
