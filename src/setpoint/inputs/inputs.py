"""From the data that users pass to evidence: labels, weights, columns, baselines, data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from setpoint.array_types import Codes, Integers
from setpoint.counts import (
    DEFERRED,
    Codebook,
    Column,
    Confusion,
    Evidence,
    Rows,
    Units,
    counted_rows,
)
from setpoint.errors import (
    EmptyPopulationError,
    GoalError,
    InputError,
    InputTypeError,
    nearest,
    quoted,
    warn_caller,
)
from setpoint.goals import DEFER, Goal, Label
from setpoint.inputs.arrays import in_frame, number_columns, one_column
from setpoint.inputs.classes import ClassOrder, check_labels, check_weight, classes_of, union_of
from setpoint.inputs.columns import (
    MOST_LEVELS,
    Dataset,
    Deployed,
    Unlabelled,
    aligned,
    as_columns,
    check_groups,
    index_of,
    taken,
)
from setpoint.inputs.row_hash import units_of
from setpoint.program import link

DecideOn: TypeAlias = Literal["auto"] | str | Sequence[str] | None
Scores: TypeAlias = Mapping[str | None, NDArray[Any]]

_BESIDE_X = ("y", "sample_weight", "sensitive_features", "baseline", "units")


@dataclass(frozen=True, eq=False)
class GivenRows:
    """One data set as given: the labels and whatever else belongs to its rows."""

    n_rows: int
    y: Any
    sample_weight: Any = None
    sensitive_features: Any = None
    baseline: Any = None
    X: Any = None
    units: Any = None
    beside: tuple[Any, str] | None = None  # what takes the place of X, until rows are in order

    def __post_init__(self) -> None:
        like, what = self.beside or (self.X, "X")
        parts = {name: getattr(self, name) for name in _BESIDE_X}
        if index_of(like) is None:  # by position, as y is; the others have y's order
            own, like, what = index_of(self.y), self.y, "y"
            others = map(index_of, () if own is None else list(parts.values())[1:3])
            if any(len(own.symmetric_difference(i, sort=False)) for i in others if i is not None):
                like = None
        ordered = {name: aligned(part, like, name, what) for name, part in parts.items()}
        vars(self).update(ordered, beside=None)

    @classmethod
    def of(cls, d: Dataset, n_rows: int, name: str) -> GivenRows:
        """A further data set whose X are scores or decisions, and what messages call these."""
        parts = d.y, d.sample_weight, d.sensitive_features, d.baseline
        return cls(n_rows, *parts, units=d.units, beside=(d.X, name))

    def take(self, index: NDArray[np.int64]) -> GivenRows:
        """Some of the rows, in the order of `index`."""
        parts = {name: getattr(self, name) for name in (*_BESIDE_X, "X")}
        own = {name: taken(part, index, self.n_rows) for name, part in parts.items()}
        return GivenRows(len(index), **own)


@dataclass(frozen=True, eq=False)
class CheckedTable:
    """One data set, checked: plain arrays with one entry a row."""

    true: Codes | None
    weight: NDArray[np.float64] | None
    columns: Mapping[str, Column]
    deployed: Codes | None
    X: Any = None
    units: Units | None = None

    @property
    def labels(self) -> Codes:
        """The class codes of rows that all have one."""
        assert self.true is not None
        return self.true

    @property
    def counted(self) -> CheckedTable:
        """The rows that count: those of weight zero are as if they were not there."""
        kept = counted_rows(self.weight)
        return self if isinstance(kept, slice) else self.take(np.flatnonzero(kept))

    def take(self, index: NDArray[np.int64]) -> CheckedTable:
        """Some of the rows, in the order of `index`."""
        return CheckedTable(
            None if self.true is None else self.true[index],
            None if self.weight is None else self.weight[index],
            {name: column.take(index) for name, column in self.columns.items()},
            None if self.deployed is None else self.deployed[index],
            None if self.X is None else _safe_indexing(self.X, index),
            None if self.units is None else self.units.take(index),
        )


@dataclass(frozen=True, eq=False)
class CheckedData:
    """All rows that a goal refers to, checked; evidence as soon as there are scores."""

    goal: Goal
    classes: ClassOrder
    tables: Mapping[str | None, CheckedTable]
    n_rows: Mapping[str | None, int]
    decide_on: tuple[str, ...]
    codebook: Codebook | None = None
    sees: tuple[str, ...] = ()
    unlabelled: Unlabelled | None = None

    @classmethod
    def check(
        cls,
        goal: Goal,
        classes: ClassOrder,
        rows: Mapping[str | None, GivenRows],
        decide_on: DecideOn,
        y_name: str = "y",
        *,
        unlabelled: bool = False,
        most_levels: int = MOST_LEVELS,
    ) -> CheckedData:
        """Check what was passed; None in `rows` stands for the rows of X."""
        known = [name for name in rows if name is not None]
        for name in goal.needs.datasets:
            if name not in known:
                raise GoalError(
                    f"the goal refers to the data set {name!r}, which `datasets` does not hold "
                    f"({nearest(name, known)})"
                )
        for name in known:
            if name not in goal.needs.datasets:
                warn_caller(
                    f"`datasets`: the goal does not refer to {name!r}; it is left out",
                )
        used = {n: r for n, r in rows.items() if n is None or n in goal.needs.datasets}
        if goal.defers and DEFER in classes.labels:
            raise GoalError(
                f"the goal is about rules that may defer, whose answer is called {DEFER!r}, and so "
                "is a class: rename the class"
            )
        named, sees = _looked_at(goal, decide_on, rows[None].X)
        tables: dict[str | None, CheckedTable] = {}
        for dataset, r in used.items():
            where = "" if dataset is None else f"`datasets[{dataset!r}]`: "
            columns = _columns(goal, dataset, r, named or (), most_levels, where)
            tables[dataset] = _table(goal, classes, dataset, r, columns, y_name, unlabelled, where)
        if named is None:
            wanted = goal.needs.columns.get(None, {})
            named = tuple(sorted(c for c in wanted if all(c in t.columns for t in tables.values())))
        for column in named:
            for dataset, table in tables.items():
                if column not in table.columns:
                    raise GoalError(
                        f"`decide_on`: {_set_in_words(dataset)} has no column {column!r} "
                        f"({nearest(column, table.columns)}); columns come from "
                        "`sensitive_features`"
                    )
        n_rows = {dataset: r.n_rows for dataset, r in used.items()}
        return cls(goal, classes, tables, n_rows, named, sees=sees)

    @property
    def answers(self) -> tuple[Label, ...]:
        """The classes; and DEFERRED, where the goal is about rules that may defer."""
        return (*self.classes.labels, DEFERRED) if self.goal.defers else self.classes.labels

    def bind(self) -> None:
        """Link the goal to these rows: every error about a name, before there are scores."""
        self.require_values()
        link(self.goal, self.rows.codebook).at(self.rows.marginals)

    def require_values(self) -> None:
        """Refuse a value of a column that the goal names and no row has."""
        for dataset, table in self.tables.items():
            for column, values in self.goal.needs.columns.get(dataset, {}).items():
                known = table.columns[column].levels if values else []
                for value in sorted(values or (), key=str):
                    if value not in known:
                        raise EmptyPopulationError(
                            f"the goal refers to {column} = {value!r}, and no row of "
                            f"{_set_in_words(dataset)} has that value ({_nearest(value, known)})"
                        )

    def take(
        self, index: NDArray[np.int64] | Mapping[str | None, NDArray[np.int64]] | None
    ) -> CheckedData:
        """Some rows of X, in the order of `index` (None: all), and all of other data sets."""
        if index is None:
            return self
        some: Mapping[str | None, Codes] = index if isinstance(index, Mapping) else {None: index}
        return replace(
            self,
            tables={n: t.take(some[n]) if n in some else t for n, t in self.tables.items()},
            n_rows={n: len(some[n]) if n in some else size for n, size in self.n_rows.items()},
            codebook=self.rows.codebook,
        )

    def kinds(self, name: str | None) -> Integers:
        """Stratum and true class (N,) of all rows of a data set, whatever they weigh."""
        table = replace(self.tables[name], weight=None)
        codebook = self.rows.codebook
        return replace(self, tables={name: table}, codebook=codebook).rows.kind

    @cached_property
    def rows(self) -> Rows:
        """All rows that count, one data set after the other, by the codes of a codebook."""
        return Rows.concat(
            [
                Rows.from_arrays(
                    self.answers,
                    table.true,
                    self.n_rows[name],
                    needs=self.goal.needs,
                    dataset=name,
                    weight=table.weight,
                    columns=table.columns,
                    baseline=table.deployed,
                    decide_on=self.decide_on,
                    codebook=self.codebook,
                    units=table.units,
                )
                for name, table in self.tables.items()
            ]
        )

    def confusion(self, decisions: Mapping[str | None, NDArray[Any]]) -> Confusion:
        """What decisions (N,) of each data set, or their probabilities (N, n), do."""
        return self.rows.confusion(self.joined(decisions))

    def proxied(self, decided: NDArray[Any], X: Any, others: NDArray[Any]) -> Confusion:
        """The confusion of decisions, with what a proxy says of them and of rows without labels."""
        goal, needs, given = self.goal, self.goal.needs, self.unlabelled
        assert given is not None
        beside = goal.is_blackbox or needs.datasets or needs.baseline or needs.measures
        odd = self.rows.is_weighted or self.rows.units is not None
        if len(self.classes.labels) > 2 or beside or odd:
            raise InputError(
                "`unlabelled` is for two classes, rows that count once each and goals of labels, "
                f"decisions and groups; found '{goal}' of {list(self.classes.labels)}"
            )
        of_labelled, chances = given.chances(X)
        groups, n_rows, book = needs.columns.get(None, {}), len(others), self.rows.codebook
        how: dict[str, Any] = {"n_rows": n_rows, "X": given.X, "wanted": groups, "free": groups}
        who = "`unlabelled`: the goal refers to"
        columns = as_columns(given.sensitive_features, who=who, **how)
        rest = Rows.from_arrays(self.answers, None, n_rows, columns=columns, codebook=book)
        soft = replace(self.rows, chances=of_labelled).decided(decided)
        more = replace(rest, chances=chances).decided(others)
        return replace(self.rows.decided(decided), proxied=(soft, more))

    def evidence(self, scores: Scores) -> Evidence:
        """The rows with scores."""
        return Evidence(self.rows, self.joined(scores))

    def joined(self, values: Mapping[str | None, NDArray[Any]]) -> NDArray[Any]:
        """Values of the rows that count, in the order of `rows`."""
        parts = [values[name][counted_rows(t.weight)] for name, t in self.tables.items()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _nearest(value: Any, known: list[Any]) -> str:
    """The known values nearest to one that no row has."""
    if type(value) in (int, float):
        for narrow in (np.float32, np.float16):
            with np.errstate(over="ignore"):
                single = float(narrow(value))
            if single in known:
                return (
                    f"as {narrow.__name__} it is {single!r}, which rows have: write that, or pass "
                    "the column as float64 or text"
                )
    return nearest(value, known)


def _set_in_words(dataset: str | None) -> str:
    return "X" if dataset is None else f"the data set {dataset!r}"


def _looked_at(goal: Goal, given: Any, X: Any) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """What the rule may look at: groups (None: "auto"), and columns by which rows count."""
    numbers = () if goal.needs.datasets else tuple(sorted(goal.needs.measures.get(None, {})))
    if isinstance(given, str) and given == "auto":
        return None, tuple(name for name in numbers if in_frame(X, name))
    names = (given,) if isinstance(given, str) else () if given is None else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InputError(f"`decide_on` is 'auto', None or names of columns, got {given!r}")
    grouped, named = goal.needs.columns.get(None, {}), sorted(set(names))
    sees = tuple(name for name in named if name in numbers)
    return tuple(n for n in named if n not in sees or n in grouped), sees


def _columns(
    goal: Goal, dataset: str | None, r: GivenRows, named: tuple[str, ...], most: int, where: str
) -> dict[str, Column]:
    splits = goal.needs.columns.get(dataset, {})
    numbers = goal.needs.measures.get(dataset, {})
    if r.sensitive_features is None and not splits:
        return number_columns(numbers, {}, r.X, where) if numbers else {}
    columns = as_columns(
        r.sensitive_features,
        n_rows=r.n_rows,
        X=r.X,
        wanted=sorted(splits) or named,
        # A column that splits into one value and the rest may have any number of values.
        free=[c for c, values in splits.items() if values is not None],
        who="the goal refers to" if splits or numbers else "`decide_on` names",
        most=most,
        numbers=[name for name in numbers if not in_frame(r.X, name)],
    )
    columns |= number_columns(numbers, columns, r.X, where)
    extra = {name: columns[name] for name in named if name in columns and name not in splits}
    if splits:
        for name, column in extra.items():
            check_groups(column, name, most=most)
    return columns


def _table(
    goal: Goal,
    classes: ClassOrder,
    dataset: str | None,
    r: GivenRows,
    columns: Mapping[str, Column],
    y_name: str,
    unlabelled: bool,
    where: str,
) -> CheckedTable:
    if r.n_rows == 0:
        raise InputError(f"{where or 'X: '}there are no rows")
    true = None
    if r.y is not None:
        true = classes.codes(r.y, f"{where}{y_name}", r.n_rows)
    elif dataset in goal.needs.labels and not unlabelled:
        raise GoalError(
            f"{where}the goal measures a rate there that needs labels, and `{y_name}` is None"
        )
    weight = check_weight(r.sample_weight, r.n_rows, f"{where}sample_weight")
    given, deployed = Deployed.of(r.baseline), None
    if given is not None:
        deployed = given.codes(classes, r.X, r.n_rows, f"{where}baseline")
    elif dataset in goal.needs.baseline:
        raise GoalError(
            f"{where}the goal refers to the deployed model: pass its predictions as `baseline`"
        )
    units = units_of(r.units, r.X, r.n_rows, where)
    return CheckedTable(true, weight, columns, deployed, units=units)


# --- Decisions as users pass them, as rows that can be counted ------------------------------------


def decided_inputs(
    goal: Goal,
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any = None,
    baseline: Any = None,
    sample_weight: Any = None,
    datasets: Mapping[str, Any] | None = None,
    classes: Any = None,
    pos_label: Any = None,
    X: Any = None,
    defer_label: Any = DEFER,
    units: Any = None,
) -> tuple[CheckedData, dict[str | None, Codes]]:
    """The rows, checked, and for each data set the class codes of the decisions."""
    if datasets is not None and not isinstance(datasets, Mapping):
        raise InputTypeError(
            "`datasets` must be a dict from names to (`y_true` or None, `y_pred`) or Dataset, "
            f"found {type(datasets).__name__}"
        )
    y_pred = aligned(y_pred, X, "y_pred")
    sets = {name: _pair(name, value) for name, value in (datasets or {}).items()}
    answers: dict[str | None, Answers] = {None: Answers.of(goal, y_pred, "y_pred", defer_label)}
    for name, d in sets.items():
        answers[name] = Answers.of(goal, d.X, f"datasets[{name!r}]: y_pred", defer_label)
    if classes is None:
        labelled, true = [], []
        for of, answer in answers.items():
            own, where = (y_true, "") if of is None else (sets[of].y, f"datasets[{of!r}]: ")
            true += [] if own is None else [own]
            labelled += [] if own is None else [(own, f"{where}y_true")]
            labelled += answer.given
        classes = union_of(labelled)
        _refuse_strange(goal, classes, true, list(answers.values()))
        if len(classes) < 2:
            raise InputError(
                f"`y_true` and `y_pred` hold one class only, {classes.tolist()[0]!r}; pass all "
                "classes as `classes`, at least two"
            )
    known = classes_of(y_true, classes, pos_label, "y_true", goal=goal)
    decisions: dict[str | None, Codes] = {None: answers[None].codes(known)}
    n_rows = len(decisions[None])
    beside = y_true, sample_weight, sensitive_features, baseline
    rows: dict[str | None, GivenRows] = {
        None: GivenRows(n_rows, *beside, X, units, (y_pred, "y_pred")),
    }
    for name, d in sets.items():
        codes = decisions[name] = answers[name].codes(known)
        rows[name] = GivenRows.of(d, len(codes), answers[name].name)
    return CheckedData.check(goal, known, rows, None, "y_true"), decisions


@dataclass(frozen=True, eq=False)
class Answers:
    """The decisions on one data set, and which rows have none."""

    name: str
    decided: Any
    deferred: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, goal: Goal, y_pred: Any, name: str, defer_label: Any = DEFER) -> Answers:
        """The rows that are decided apart from those that are not, where the goal knows any."""
        if not goal.defers:
            return cls(name, y_pred)
        values = one_column(y_pred, name)
        deferred = np.asarray(values == defer_label) & np.ones(len(values), dtype=np.bool_)
        return cls(name, values[~deferred], deferred) if deferred.any() else cls(name, y_pred)

    @property
    def given(self) -> list[tuple[Any, str]]:
        """The decisions that are classes, if there are any."""
        none = self.deferred is not None and bool(self.deferred.all())
        return [] if none else [(self.decided, self.name)]

    def codes(self, known: ClassOrder) -> Codes:
        """Codes (N,); of deferred rows one more than those of the classes."""
        if self.deferred is None:
            return known.codes(self.decided, self.name)
        out = np.full(len(self.deferred), len(known.labels), dtype=np.int64)
        if self.given:
            out[~self.deferred] = known.codes(self.decided, self.name)
        return out


def _refuse_strange(goal: Goal, classes: Any, true: list[Any], answers: list[Answers]) -> None:
    """Refuse a decision that no true label is: it is, or may be, what stands for a deferred row."""
    if not goal.defers and DEFER not in classes:
        return
    known = {label for y in true for label in check_labels(y)[0].tolist()}
    if not goal.defers and DEFER not in known:
        raise InputError(
            f"{quoted(answers[0].name)} holds {DEFER!r}, and '{goal}' does not say what a row is "
            "that is not decided; with the constraint deferral_rate <= 1 it counts as neither "
            "right nor wrong"
        )
    for y, name in (given for a in answers for given in a.given if goal.defers and len(known) > 1):
        strange = [label for label in check_labels(y)[0].tolist() if label not in known]
        if strange:
            raise InputError(
                f"{quoted(name)} holds {strange[0]!r}, which no true label is: where rows that are "
                f"deferred are called so, pass `defer_label`={strange[0]!r}; else name all "
                "`classes`"
            )


def _pair(name: str, value: Any) -> Dataset:
    if isinstance(value, Dataset):
        return value
    if isinstance(value, tuple) and len(value) == 2 and value[1] is not None:
        return Dataset(value[1], value[0])
    raise InputTypeError(
        f"`datasets[{name!r}]` is (`y_true` or None, `y_pred`) or a Dataset, got {value!r:.60}"
    )
