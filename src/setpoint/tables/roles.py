"""What each column of a table is used for, and its rows: to fit on, and held out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputError, nearest
from setpoint.goals import Goal, Other
from setpoint.tables.rows import check_column, columns_named, note, refuse_target, value_named
from setpoint.tables.table import (
    Table,
    TableColumn,
    TableError,
    absent,
    as_frame,
    conform,
    kinds_of,
    labels_of,
    scores_of,
)

if TYPE_CHECKING:
    from setpoint.blackbox import BlackBox
    from setpoint.counts import Units
    from setpoint.inputs import Dataset
    from setpoint.tables.model import TableModel


# --- The rows of a table as a classifier and a goal take them -------------------------------------


NO_BASELINE = (
    "the goal refers to the deployed model: name the column with its predictions with `baseline`"
)


@dataclass(frozen=True, kw_only=True)
class RowReader:
    """How tables become the rows that a classifier and a goal take."""

    goal: Goal
    target: str
    columns: Sequence[TableColumn] = ()
    classes: NDArray[Any] | None = None
    baseline: str | None = None
    scores: str | None = None
    threshold: float | None = None
    looking: Mapping[str, str] = field(default_factory=dict)
    metric_columns: Sequence[TableColumn] = ()
    labelled: bool = True
    deployed_apart: bool = False
    units: str | None = None

    def __call__(self, table: Table, dataset: str | None = None) -> Dataset:
        """The rows of one table."""
        from setpoint.inputs import Dataset, Deployed

        y, deployed, named = self._labels(table, dataset), None, self.baseline
        needed = dataset in self.goal.needs.baseline
        if needed and named is None and not self.deployed_apart:
            raise InputError(NO_BASELINE)
        if self.scores is not None:
            scores_of(table, self.scores)
        # Scores that are a column of X are found there by the classifier.
        if named is not None and named != self.scores and (dataset is None or needed):
            if self.scores is None:
                found = labels_of(table, named, self.classes, deployed=True)
            else:
                found = scores_of(table, named)
            deployed = Deployed(found, self.threshold)
        side = self._beside(table, dataset)
        X = conform(table, self.columns)
        units = self._units(table, dataset)
        return Dataset(X, y, sensitive_features=side, baseline=deployed, units=units)

    def _units(self, table: Table, dataset: str | None) -> Any:
        """The column that says which customer, document or case a row belongs to, as text."""
        if self.units is None or (dataset is not None and self.units not in table.frame):
            return None
        check_column("`units`", self.units, table.names, table.name)
        used = {*self.looking, *self.goal.needs.names, *self.goal.needs.measure_names}
        if self.units in {self.target, self.baseline, self.scores, *used}:
            raise InputError(f"`units`: {self.units!r} has another role; name another")
        return conform(table, [TableColumn(self.units, "category")])[self.units]

    def _labels(self, table: Table, dataset: str | None) -> NDArray[Any] | None:
        """The labels, where there are to be some."""
        if dataset is None or dataset in self.goal.needs.labels:
            return labels_of(table, self.target, self.classes) if self.labelled else None
        if self.target not in table.frame:
            return None
        if not table.frame[self.target].isna().all():
            return labels_of(table, self.target, self.classes)
        note(
            f"{table.name}: column {self.target!r} is empty, so its rows have no labels; the goal "
            f"needs none of {dataset}"
        )
        return None

    def _beside(self, table: Table, dataset: str | None) -> Any:
        """The columns that the goal, the rule or a metric looks at."""
        of_goal = self.goal.needs.columns.get(dataset, {})
        looking = {**self.looking, **dict.fromkeys(of_goal, "the goal")}
        known = {c.name: c for c in (*self.metric_columns, *self.columns)}
        wanted = [known.get(n) or kind_by_goal(n, self.goal, table) for n in sorted(looking)]
        wanted += [c for c in self.metric_columns if c.name not in looking]
        wanted += [c for c in values_of(table, self.goal, dataset) if c not in wanted]
        if not wanted:
            return None
        side = conform(table, wanted)
        for name, who in sorted(looking.items()):  # the library has no file to name
            table.refuse_missing(side[name], f"which {who} looks at")
        return side


def sides(rows: Dataset) -> dict[str, Any]:
    """What goes beside X and y to a classifier."""
    return {"sensitive_features": rows.sensitive_features, "baseline": rows.baseline}


def taken(rows: Dataset, index: NDArray[Any]) -> Dataset:
    """Some of the rows."""
    groups, old = rows.sensitive_features, rows.baseline
    return replace(
        rows,
        X=rows.X.iloc[index],
        y=None if rows.y is None else rows.y[index],
        sensitive_features=None if groups is None else groups.iloc[index],
        baseline=None if old is None else replace(old, source=old.source[index]),
        units=None if rows.units is None else rows.units.iloc[index],
    )


def check_threshold(scores: Any, threshold: float, name: str) -> None:
    """Say where the deployed model would decide the same for everybody."""
    n, n_rows = int((scores >= threshold).sum()), len(scores)
    if n in (0, n_rows):
        note(
            f"`baseline_threshold={threshold:g}`: so the deployed model decides positive for "
            f"{n:,} of the {n_rows:,} rows of {name}, whose scores go from {scores.min():g} to "
            f"{scores.max():g}"
        )


def kind_by_goal(name: str, goal: Goal, table: Table) -> TableColumn:
    """The kind of a column that the goal looks at: text where the goal writes text."""
    if name not in table.frame:
        raise TableError(absent(table, [name]))
    written = [v for m in goal.metrics for column, v in m.population.where if column == name]
    values = {v for v in written if not isinstance(v, Other)}
    if values and all(isinstance(v, str) for v in values):
        return TableColumn(name, "category")
    return kinds_of(table.frame[[name]])[0]


def values_of(table: Table, goal: Goal, dataset: str | None = None) -> tuple[TableColumn, ...]:
    """The columns of numbers, such as amounts, by which a goal counts the rows, checked.

    Examples
    --------
    >>> import pandas as pd
    >>> from setpoint import Goal
    >>> from setpoint.tables import Table
    >>> goal = Goal.parse("maximize recall.weighted(amount)")
    >>> [c.name for c in values_of(Table("a.csv", pd.DataFrame({"amount": [3.5, 2]})), goal)]
    ['amount']
    >>> values_of(Table("a.csv", pd.DataFrame({"amount": [3.5, -2]})), goal)
    Traceback (most recent call last):
    ...
    setpoint.tables.table.TableError: a.csv: column 'amount', row 2: -2 is below 0, and the \
goal weighs rows by it
    """
    measures = goal.needs.measures.get(dataset, {})
    for name, weighs in measures.items():
        if name not in table.frame:
            raise TableError(f"{absent(table, [name])}; the goal counts rows by it")
        why = "and the goal counts rows by it; write plain numbers, without units"
        values = as_frame({name: table.read(name, "number", why)})[name]
        table.refuse_missing(values, "which the goal counts rows by")
        if weighs and len(values) and values.min() < 0:
            row = int((values < 0).argmax())
            raise TableError(
                f"{table.name}: column {name!r}, {table.place(row)}: {values[row]:g} is below 0, "
                "and the goal weighs rows by it"
            )
    return tuple(TableColumn(name, "number") for name in measures)


# --- What each column of a table is used for, according to what was asked for ---------------------


@dataclass(frozen=True)
class ColumnRoles:
    """What each column of a table is used for."""

    features: tuple[TableColumn, ...]
    decides_on: tuple[TableColumn, ...]
    hidden: Mapping[str, str]
    left_out: Mapping[str, str]
    scores: TableColumn | None = None
    metric_columns: tuple[TableColumn, ...] = ()
    surrogate_groups: tuple[dict[str, Any] | str, ...] = ()

    @property
    def grouped(self) -> tuple[str, ...]:
        """The columns of the surrogates' groups."""
        groups = self.surrogate_groups
        return tuple(dict.fromkeys(n for g in groups for n in ([g] if isinstance(g, str) else g)))

    @property
    def used(self) -> set[str]:
        """The columns in use, or that would be if they were not constant."""
        looked_at = {c.name for c in (*self.columns, *self.metric_columns)}
        apart = {name for name, why in self.hidden.items() if why != "dropped"}
        return {*apart, *looked_at, *self.grouped, *self.left_out}

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns of X: what ``predict`` asks for."""
        own = {c.name for c in self.features}
        more = (*self.decides_on, *([] if self.scores is None else [self.scores]))
        return self.features + tuple(c for c in more if c.name not in own)


def find_roles(table: Table, goal: Goal, asked: TableModel) -> ColumnRoles:
    """What each column is used for."""
    from setpoint.tables.features import unusable

    there, target, needs = table.names, asked.target, goal.needs
    check_column("`target`", target, there, table.name)
    sensitive = columns_named("sensitive", asked.sensitive, there, table.name)
    dropped = columns_named("drop", asked.drop, there, table.name)
    for name in needs.columns.get(None, {}):
        check_column("the goal refers to", name, there, table.name)
    _check_values(table, goal, target, dropped)
    values = {c.name: c for c in values_of(table, goal)}
    hidden, scores = {target: "the target"}, None
    if asked.units is not None:
        hidden.setdefault(asked.units, "the unit of the rows")
    if asked.baseline is not None:
        columns_named("baseline", [asked.baseline], there, table.name)
        refuse_target("baseline", [asked.baseline], target)
        if asked.baseline_threshold is None:
            hidden[asked.baseline] = "what the deployed model says"
        else:
            scores = _scores(table, asked.baseline, {*dropped, *sensitive, *needs.names})
    of_goal = [name for name in needs.names if name in there]
    hidden |= {name: "sensitive" for name in (*sensitive, *of_goal) if name not in hidden}
    refuse_target("drop", dropped, target)
    refuse_target("sensitive", sensitive, target)
    for name in dropped:
        if name in needs.names:
            raise InputError(
                f"`drop`: the goal refers to {name!r}, which the model is not shown anyway; "
                "`decide_on=none` keeps the rule from looking at it"
            )
    if target in needs.columns.get(None, {}):
        raise InputError(f"the goal compares groups of {target!r}, and that is the target")
    decide = _decide_on(table, goal, asked)
    refuse_target("decide_on", decide, target)
    hidden |= {name: "dropped" for name in dropped if name not in hidden}
    apart = {*hidden, *([] if scores is None else [scores.name])}
    candidates = kinds_of(table.frame[[name for name in there if name not in apart]])
    left_out = unusable(table.frame, candidates)
    features = tuple(values.get(c.name, c) for c in candidates if c.name not in left_out)
    if not features:
        reasons = ", ".join(f"{name} ({why})" for name, why in (*hidden.items(), *left_out.items()))
        raise InputError(f"{table.name} has no column for the model to look at: {reasons}")
    kinds = values | {c.name: c for c in features}
    decides_on = tuple(kinds.get(name) or kind_by_goal(name, goal, table) for name in decide)
    metric_columns = () if asked.metric is None else find_metric_columns(asked.metric, table)
    groups = _surrogate_groups(table, asked.surrogate_groups)
    return ColumnRoles(features, decides_on, hidden, left_out, scores, metric_columns, groups)


def _check_values(table: Table, goal: Goal, target: str, dropped: Collection[str]) -> None:
    """Refuse columns by which a goal cannot count the rows that a model is fitted on."""
    for name in goal.needs.measures.get(None, {}):
        check_column("the goal counts rows by", name, table.names, table.name)
        if name == target:
            raise InputError(f"the goal counts rows by {name!r}, and that is the target")
        if name in dropped:
            raise InputError(
                f"`drop`: the goal counts rows by {name!r}; name it with `sensitive` to keep it "
                "from the model, and `decide_on=none` keeps the rule from looking at it"
            )


def find_metric_columns(
    metric: BlackBox, table: Table, known: Sequence[TableColumn] = ()
) -> tuple[TableColumn, ...]:
    """The columns that a metric asks for."""
    kinds = {c.name: c for c in known}
    for name in metric.columns:
        check_column(f"the metric {metric.name} takes", name, table.names, table.name)
        n = int(table.frame[name].isna().sum())
        if n:
            note(
                f"{table.name}: {'1 row has' if n == 1 else f'{n:,} rows have'} no value in column "
                f"{name!r}, which the metric {metric.name} is given: NaN, or None in text"
            )
    return tuple(kinds.get(n) or kinds_of(table.frame[[n]])[0] for n in metric.columns)


def _surrogate_groups(table: Table, asked: Sequence[str]) -> tuple[str | dict[str, Any], ...]:
    """Columns, and values of columns as the table has them."""
    from setpoint.inputs import MOST_LEVELS

    option, out = "surrogate_groups", list[str | dict[str, Any]]()
    for text in asked:
        name, equals, value = text.partition("=")
        if text in table.names or not equals:
            for column in columns_named(option, [text], table.names, table.name):
                n = table.frame[column].nunique()
                if n > MOST_LEVELS:
                    raise InputError(
                        f"`{option}`: column {column!r} of {table.name} has {n:,} different "
                        f"values, {MOST_LEVELS} at most; join some, or name one of them as "
                        f"{column}=VALUE"
                    )
                out.append(column)
            continue
        check_column(f"`{option}`", name, table.names, table.name)
        values = conform(table, kinds_of(table.frame[[name]]))[name].dropna().unique().tolist()
        found = value_named(value, values)
        if found is None:
            raise InputError(
                f"`{option}`: column {name!r} of {table.name} holds no {value!r} "
                f"({nearest(value, values)})"
            )
        out.append({name: found})
    return tuple(out)


def _scores(table: Table, name: str, others: Collection[str]) -> TableColumn:
    """The column of the deployed model's scores."""
    if name in others:
        raise InputError(
            f"`baseline_threshold`: the column {name!r} holds the deployed model's scores, and "
            "the model takes them as a feature; do not name it in the goal, `drop` or "
            "`sensitive`"
        )
    (column,) = kinds_of(table.frame[[name]])
    if column.kind != "number":
        raise InputError(
            f"`baseline_threshold` is for scores, and column {name!r} of {table.name} holds no "
            "numbers; leave it out where `baseline` names decisions"
        )
    return column


def _decide_on(table: Table, goal: Goal, asked: TableModel) -> tuple[str, ...]:
    """The columns that the rule may look at."""
    if asked.choice.trains or (asked.decide_on == ("none",) and "none" not in table.names):
        return ()
    if asked.decide_on is not None:
        return tuple(sorted(columns_named("decide_on", asked.decide_on, table.names, table.name)))
    # Where rows of other data sets count, the rule looks at no numbers.
    numbers = () if goal.needs.datasets else goal.needs.measures.get(None, {})
    return tuple(sorted({*goal.needs.columns.get(None, {}), *numbers}))


# --- Rows to fit on and rows held out -------------------------------------------------------------


_MANY = 20
"""Different numbers that make a class improbable."""


@dataclass(frozen=True)
class RowCounts:
    """How many rows a data set has."""

    fitted: int
    held_out: int
    shared: int = 0


@dataclass(eq=False)
class HoldoutSplit:
    """A table in two."""

    part: Dataset
    held: NDArray[np.bool_]
    shared: int = 0

    @property
    def fitted(self) -> Dataset:
        """The rows to fit on."""
        return taken(self.part, (~self.held).nonzero()[0]) if self.held.any() else self.part

    @property
    def judging(self) -> Dataset | None:
        """The rows held out; None where there are none."""
        return taken(self.part, self.held.nonzero()[0]) if self.held.any() else None

    @property
    def counts(self) -> RowCounts:
        """How many rows are where."""
        n = int(self.held.sum())
        return RowCounts(len(self.held) - n, n, self.shared)


def hold_out(
    whole: Dataset,
    parts: Mapping[str, Dataset],
    asked: TableModel,
    name: str,
    by: Any = None,
) -> tuple[HoldoutSplit, dict[str, HoldoutSplit]]:
    """A table and the further data sets, each in two."""
    held = _drawn(whole, asked, name) if by is None else held_by(by, asked)
    first = HoldoutSplit(whole, held)
    out: dict[str, HoldoutSplit] = {}
    for dataset, part in parts.items():
        earlier = {name: first} | {f"the data set {other}": made for other, made in out.items()}
        made, among = _beside(part, earlier, asked)
        if among:
            side = "held out where those are"
            if asked.promise is not None:
                side = "and certify, or are held out, where those do"
            elif asked.share_held_out == 0:
                side = "what is counted on them was trained on"
            note(
                f"{dataset}: {made.shared:,} of its {counted(len(part.X))} are rows of "
                f"{' or '.join(among)} too{'' if part.units is None else ', or of units'}, {side}"
            )
        out[dataset] = made
    return first, out


def held_by(by: Any, asked: TableModel) -> NDArray[np.bool_]:
    """Which rows are held out where all rows of a value are on one side.

    Examples
    --------
    >>> import pandas as pd
    >>> from setpoint.tables import TableModel
    >>> days = pd.Series(pd.to_datetime(["2024-01-01", "2024-03-01", "2024-02-01", "2024-01-01"]))
    >>> held_by(days, TableModel("f1", target="y", test_by="day")).tolist()
    [False, True, False, False]
    """
    n_gone = int(by.isna().sum())
    if n_gone:
        raise InputError(
            f"`test_by`: {counted(n_gone)} have no value in column {asked.test_by!r}; fill them "
            "in, or leave such rows out"
        )
    codes, values = by.factorize(sort=True)
    sizes = np.bincount(codes, minlength=len(values))
    if len(values) < 2:
        raise InputError(
            f"`test_by`: column {asked.test_by!r} holds one value only, and rows of one value "
            "are on one side; name another column, or hold rows out by lot"
        )
    order = np.arange(len(values))[::-1]
    if by.dtype.kind != "M":
        order = np.random.default_rng(asked.random_state).permutation(len(values))
    # As many values as come nearest to the share, one at least, and never all.
    share = np.cumsum(sizes[order]) / len(by)
    n = 1 + int(np.abs(share[:-1] - asked.share_held_out).argmin())
    return np.isin(codes, order[:n])


def hold_out_with(
    whole: Dataset, validation: Dataset, asked: TableModel, name: str
) -> tuple[HoldoutSplit, HoldoutSplit]:
    """A table to train on, and the one that a metric is measured on, each in two."""
    second = HoldoutSplit(validation, _drawn(validation, asked, name))
    twin = _twins(whole, validation)
    held = (twin >= 0) & second.held[twin]
    if held.all():
        raise InputError(f"{name}: all rows of DATA are held out there, and none is left")
    if held.any():
        note(
            f"{counted(int(held.sum()))} of DATA {'is' if held.sum() == 1 else 'are'} held out of "
            f"{name} too, and not trained on"
        )
    return HoldoutSplit(whole, held, int((twin >= 0).sum())), second


def _beside(
    part: Dataset, earlier: Mapping[str, HoldoutSplit], asked: TableModel
) -> tuple[HoldoutSplit, list[str]]:
    """A data set in two, and the names of the tables that share rows with it."""
    held = np.zeros(len(part.X), dtype=bool)
    left = np.ones(len(part.X), dtype=bool)
    among = []
    twins = {name: _twins(part, other.part) for name, other in earlier.items()}
    for name, twin in twins.items():
        found = left & (twin >= 0)
        if found.any():
            among.append(name)
            held[found] = earlier[name].held[twin[found]]
            left &= ~found
    held[left] = _drawn(taken(part, left.nonzero()[0]), asked, None)
    if held.all():  # nothing to train on: then these rows are held out nowhere
        held[:] = False
        for name, twin in twins.items():
            earlier[name].held[twin[twin >= 0]] = False
    return HoldoutSplit(part, held, int((~left).sum())), among


def _drawn(part: Dataset, asked: TableModel, name: str | None) -> NDArray[np.bool_]:
    """Which rows are held out, units as a whole; none where a data set is too small for that."""
    from sklearn.model_selection import train_test_split

    y, n_rows = part.y, len(part.X)
    held = np.zeros(n_rows, dtype=bool)
    if asked.share_held_out == 0:
        return held
    if part.units is not None and n_rows:
        from setpoint.classifiers import split_kinds

        units, rng = _units_of(part), np.random.default_rng(asked.random_state)
        kinds = 1 * held if y is None else np.unique(y, return_inverse=True)[1]
        chosen = split_kinds(units.kinds(kinds), units, asked.share_held_out, rng)
        if name is not None and not chosen.any():
            raise InputError(f"`units`: {name} has {len(units.each)}, too few to hold some out")
        return chosen
    if y is not None and n_rows:
        found, counts = np.unique(y, return_counts=True)
        n_test = int(np.ceil(asked.share_held_out * n_rows))
        if counts.min() < 2 or min(n_test, n_rows - n_test) < len(found):
            if name is not None:
                few = found.tolist()[int(counts.argmin())]
                if found.dtype.kind in "iuf" and len(found) > _MANY:
                    raise InputError(
                        f"{name}: column {asked.target!r} is a number with {len(found)} values, "
                        f"and class {few} has {counts.min()} of {n_rows} rows; a target has "
                        "classes: make some, or name another column with `target`"
                    )
                raise InputError(
                    f"{name}: there are too few rows to hold some out (class {few!r} has "
                    f"{counts.min()} of {n_rows}); add rows, or judge by cross-validation with "
                    "`test_size=0`"
                )
            y = None  # a small data set is split without looking at its labels
    if n_rows > 1:
        _, chosen = train_test_split(
            np.arange(n_rows),
            test_size=asked.share_held_out,
            stratify=y,
            random_state=asked.random_state,
        )
        held[chosen] = True
    return held


def _units_of(part: Dataset) -> Units:
    """The units of rows that have some."""
    from setpoint.inputs import units_of

    units = units_of(part.units, None, len(part.X))
    assert units is not None
    return units


def _twins(part: Dataset, other: Dataset) -> NDArray[np.int64]:
    """For each row the same one in another table, or one of its unit; -1 where it has none."""
    import pandas as pd

    out = np.full(len(part.X), -1, dtype=np.int64)
    labels = part.y is not None and other.y is not None
    for with_labels in (True, False) if labels else (False,):
        mine, theirs = (_keys(a, b, with_labels) for a, b in ((part, other), (other, part)))
        order = np.argsort(theirs, kind="stable")
        low, high = (np.searchsorted(theirs[order], mine, side) for side in ("left", "right"))
        found = np.flatnonzero((out < 0) & (high > low))
        turn = pd.Series(mine).groupby(mine).cumcount().to_numpy()[found]
        out[found] = order[low[found] + turn % (high - low)[found]]
    return out


def _keys(part: Dataset, other: Dataset, with_labels: bool) -> NDArray[np.uint64]:
    """A number for each row, the same for the same rows, or for those of a unit."""
    import pandas as pd

    if part.units is not None and other.units is not None:
        return _units_of(part).names.view(np.uint64)
    columns = [part.X[name] for name in part.X]
    if part.sensitive_features is not None and other.sensitive_features is not None:
        names = [
            name
            for name in part.sensitive_features
            if name in other.sensitive_features and name not in part.X
        ]
        columns += [part.sensitive_features[name] for name in sorted(names)]
    plain = {str(i): _plain(column) for i, column in enumerate(columns)}
    if with_labels:
        plain["y"] = np.asarray(part.y).astype(str).astype(object)
    return np.asarray(pd.util.hash_pandas_object(pd.DataFrame(plain), index=False), np.uint64)


def _plain(column: Any) -> Any:
    """A column as numbers or as text, whatever of both it was read as."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "biuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0  # -0.0 is 0.0
    if kind == "M":
        return column.to_numpy().astype("datetime64[us]")
    return column.astype(object).where(column.notna(), None).to_numpy(dtype=object)


def counted(n: int) -> str:
    """So many rows, in words.

    Examples
    --------
    >>> counted(1), counted(2000)
    ('1 row', '2,000 rows')
    """
    return "1 row" if n == 1 else f"{n:,} rows"
