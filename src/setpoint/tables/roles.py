"""What each column of a table is used for, according to what was asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputError, nearest
from setpoint.goals import Goal, Label, Other
from setpoint.tables.rows import columns_named, note, value_named
from setpoint.tables.table import (
    Table,
    TableColumn,
    TableError,
    absent,
    conform,
    kinds_of,
    labels_of,
    scores_of,
)

if TYPE_CHECKING:
    from setpoint.blackbox import BlackBox
    from setpoint.tables.model import TableModel


# --- The rows of a table as a classifier and a goal take them -------------------------------------


@dataclass(frozen=True, eq=False)
class TableRows:
    """What a classifier and a goal take of one table."""

    X: Any
    y: NDArray[Any] | None
    groups: Any
    baseline: NDArray[Any] | None
    threshold: float | None = None

    @property
    def deployed(self) -> Any:
        """The deployed model as classifiers take it."""
        from setpoint.inputs import Deployed

        return None if self.baseline is None else Deployed(self.baseline, self.threshold)

    @property
    def n_rows(self) -> int:
        """Rows."""
        return len(self.X)

    def take(self, index: NDArray[np.int64]) -> TableRows:
        """Some of the rows."""
        return TableRows(
            self.X.iloc[index],
            None if self.y is None else self.y[index],
            None if self.groups is None else self.groups.iloc[index],
            None if self.baseline is None else self.baseline[index],
            self.threshold,
        )

    def sides(self) -> dict[str, Any]:
        """What goes beside X and y to the classifier."""
        return {"sensitive_features": self.groups, "baseline": self.deployed}

    def as_dataset(self) -> Any:
        """The part as a further data set."""
        from setpoint.inputs import Dataset

        return Dataset(self.X, self.y, sensitive_features=self.groups, baseline=self.deployed)


def rows_of(
    table: Table,
    columns: Sequence[TableColumn],
    goal: Goal,
    target: str,
    classes: NDArray[Any] | None,
    *,
    dataset: str | None = None,
    baseline: str | None = None,
    scores: str | None = None,
    threshold: float | None = None,
    groups: Mapping[str, str] | None = None,
    metric_columns: Sequence[TableColumn] = (),
    labelled: bool = True,
    deployed_apart: bool = False,
) -> TableRows:
    """A table as the classifier and the goal take it."""
    needs = goal.needs
    y = None
    if dataset is None or dataset in needs.labels:
        y = labels_of(table, target, classes) if labelled else None
    elif target in table.frame:
        if table.frame[target].isna().all():
            note(
                f"{table.name}: column {target!r} is empty, so its rows have no labels; the goal "
                f"needs none of {dataset}"
            )
        else:
            y = labels_of(table, target, classes)
    deployed = None
    if dataset in needs.baseline and baseline is None and not deployed_apart:
        raise InputError(
            "the goal refers to the deployed model: name the column with its predictions with "
            "`baseline`"
        )
    if scores is not None:
        scores_of(table, scores)
    if baseline is not None and (dataset is None or dataset in needs.baseline):
        if scores is None:
            deployed = labels_of(table, baseline, classes, deployed=True)
        elif baseline != scores:  # else the classifier finds them in X
            deployed = scores_of(table, baseline)
    looking = {**(groups or {}), **dict.fromkeys(needs.columns.get(dataset, {}), "the goal")}
    names = sorted(looking)
    known = {c.name: c for c in (*metric_columns, *columns)}
    wanted = [known.get(name) or kind_by_goal(name, goal, table) for name in names]
    wanted += [c for c in metric_columns if c.name not in looking]
    wanted += [c for c in values_of(table, goal, dataset) if c not in wanted]
    side = conform(table, wanted) if wanted else None
    if side is not None:
        for name, who in sorted(looking.items()):  # the library has no file to name
            table.refuse_gaps(
                side[name].isna().to_numpy(),
                f"value in column {name!r}, which {who} looks at",
                "fill them in, or leave such rows out",
            )
    return TableRows(conform(table, columns), y, side, deployed, threshold)


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
    values = {v for v in _values_of(name, goal) if not isinstance(v, Other)}
    if values and all(isinstance(v, str) for v in values):
        return TableColumn(name, "category")
    return kinds_of(table.frame[[name]])[0]


def _values_of(name: str, goal: Goal) -> list[Label | Other]:
    return [value for m in goal.metrics for column, value in m.population.where if column == name]


# --- Columns of numbers that a goal counts rows by, such as amounts -------------------------------


def check_values(
    table: Table, goal: Goal, target: str, dropped: Collection[str]
) -> tuple[TableColumn, ...]:
    """The columns by which a goal counts the rows that the model is fitted on."""
    there = [str(name) for name in table.frame]
    for name in goal.needs.measures.get(None, {}):
        if name not in there:
            raise InputError(
                f"the goal counts rows by the column {name!r}, and {table.name} has none "
                f"({nearest(name, there)})"
            )
        if name == target:
            raise InputError(f"the goal counts rows by {name!r}, and that is the target")
        if name in dropped:
            raise InputError(
                f"`drop`: the goal counts rows by {name!r}; name it with `sensitive` to keep it "
                "from the model, and `decide_on=none` keeps the rule from looking at it"
            )
    return values_of(table, goal)


def values_of(table: Table, goal: Goal, dataset: str | None = None) -> tuple[TableColumn, ...]:
    """The columns by which a goal counts the rows of a table, checked.

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
    out = []
    for name, weighs in goal.needs.measures.get(dataset, {}).items():
        if name not in table.frame:
            raise TableError(f"{absent(table, [name])}; the goal counts rows by it")
        why = "and the goal counts rows by it; write plain numbers, without units"
        numbers = table.read(name, "number", why)
        table.refuse_gaps(
            numbers.is_null().to_numpy(),
            f"value in column {name!r}, which the goal counts rows by",
            "fill them in, or leave such rows out",
        )
        values = numbers.to_numpy()
        if weighs and len(values) and values.min() < 0:
            row = int((values < 0).argmax())
            raise TableError(
                f"{table.name}: column {name!r}, {table.place(row)}: {values[row]:g} is below 0, "
                "and the goal weighs rows by it"
            )
        out.append(TableColumn(name, "number"))
    return tuple(out)


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
    surrogate_groups: tuple[str | dict[str, Any], ...] = ()

    @property
    def grouped(self) -> tuple[str, ...]:
        """The columns of the surrogates' groups."""
        return tuple(
            dict.fromkeys(
                name
                for one in self.surrogate_groups
                for name in ([one] if isinstance(one, str) else one)
            )
        )

    @property
    def used(self) -> set[str]:
        """The columns in use, or that would be if they were not constant."""
        looked_at = {c.name for c in (*self.columns, *self.metric_columns)}
        return {*self.hidden_in_use, *looked_at, *self.grouped, *self.left_out}

    @property
    def hidden_in_use(self) -> list[str]:
        """The target, and what the goal or the rule looks at though the model does not."""
        return [name for name, why in self.hidden.items() if why != "dropped"]

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns of X: what ``predict`` asks for."""
        own = {c.name for c in self.features}
        more = (*self.decides_on, *([] if self.scores is None else [self.scores]))
        return self.features + tuple(c for c in more if c.name not in own)


def find_roles(
    table: Table, goal: Goal, asked: TableModel, others: Sequence[Table] = ()
) -> ColumnRoles:
    """What each column is used for."""
    from setpoint.tables.features import unusable

    there = [str(name) for name in table.frame]
    target = asked.target
    if target not in there:
        raise InputError(f"`target`: {table.name} has no column {target!r} "
                           f"({nearest(target, there)})")  # fmt: skip
    sensitive = columns_named("sensitive", asked.sensitive, there, table.name)
    dropped = columns_named("drop", asked.drop, there, table.name)
    for name in goal.needs.columns.get(None, {}):
        if name not in there:
            raise InputError(
                f"the goal refers to the column {name!r}, and {table.name} has none "
                f"({nearest(name, there)})"
            )
    values = {c.name: c for c in check_values(table, goal, target, dropped)}
    hidden = {target: "the target"}
    scores = None
    if asked.baseline is not None:
        columns_named("baseline", [asked.baseline], there, table.name)
        if asked.baseline_threshold is None:
            hidden[asked.baseline] = "what the deployed model says"
        else:
            scores = _scores(table, asked, {*dropped, *sensitive, *goal.needs.names})
    of_goal = [name for name in goal.needs.names if name in there]
    hidden |= {name: "sensitive" for name in (*sensitive, *of_goal) if name not in hidden}
    for argument, names in (("drop", dropped), ("sensitive", sensitive)):
        if target in names:
            raise InputError(f"`{argument}`: {target!r} is the target")
    for name in dropped:
        if name in goal.needs.names:
            raise InputError(
                f"`drop`: the goal refers to {name!r}, which the model is not shown anyway; "
                "`decide_on=none` keeps the rule from looking at it"
            )
    for name in goal.needs.columns.get(None, {}):
        if name == target:
            raise InputError(f"the goal compares groups of {name!r}, and that is the target")
    decide = _decide_on(table, goal, asked, others)
    for argument, used in {"decide_on": decide, "baseline": (asked.baseline,)}.items():
        if target in used:
            raise InputError(f"`{argument}`: {target!r} is the target")
    hidden |= {name: "dropped" for name in dropped if name not in hidden}
    apart = {*hidden, *([] if scores is None else [scores.name])}
    candidates = kinds_of(table.frame[[name for name in there if name not in apart]])
    left_out = unusable(table.frame, candidates)
    features = tuple(c for c in candidates if c.name not in left_out)
    if not features:
        reasons = ", ".join(f"{name} ({why})" for name, why in (*hidden.items(), *left_out.items()))
        raise InputError(f"{table.name} has no column for the model to look at: {reasons}")
    features = tuple(values.get(c.name, c) for c in features)
    kinds = values | {c.name: c for c in features}
    decides_on = tuple(kinds.get(name) or kind_by_goal(name, goal, table) for name in decide)
    metric_columns = () if asked.metric is None else find_metric_columns(asked.metric, table)
    groups = _surrogate_groups(table, asked)
    return ColumnRoles(features, decides_on, hidden, left_out, scores, metric_columns, groups)


def find_metric_columns(
    metric: BlackBox, table: Table, known: Sequence[TableColumn] = ()
) -> tuple[TableColumn, ...]:
    """The columns that a metric asks for."""
    kinds = {c.name: c for c in known}
    for name in metric.columns:
        if name not in table.frame:
            raise InputError(
                f"the metric {metric.name} takes the column {name!r}, and {table.name} has none "
                f"({nearest(name, map(str, table.frame))})"
            )
        n = int(table.frame[name].isna().sum())
        if n:
            note(
                f"{table.name}: {'1 row has' if n == 1 else f'{n:,} rows have'} no value in column "
                f"{name!r}, which the metric {metric.name} is given: NaN, or None in text"
            )
    return tuple(kinds.get(n) or kinds_of(table.frame[[n]])[0] for n in metric.columns)


def _surrogate_groups(table: Table, asked: TableModel) -> tuple[str | dict[str, Any], ...]:
    """Columns, and values of columns as the table has them."""
    from setpoint.inputs import MOST_LEVELS

    option = "surrogate_groups"
    there = [str(name) for name in table.frame]
    out: list[str | dict[str, Any]] = []
    for text in asked.surrogate_groups:
        name, equals, value = text.partition("=")
        if text in there or not equals:
            for column in columns_named(option, [text], there, table.name):
                n = table.frame[column].nunique()
                if n > MOST_LEVELS:
                    raise InputError(
                        f"`{option}`: column {column!r} of {table.name} has {n:,} different "
                        "values, "
                        f"{MOST_LEVELS} at most; join some, or name one of them as {column}=VALUE"
                    )
                out.append(column)
            continue
        if name not in there:
            columns_named(option, [name.replace(",", " ")], there, table.name)
        values = conform(table, kinds_of(table.frame[[name]]))[name].dropna().unique().tolist()
        found = value_named(value, values)
        if found is None:
            raise InputError(
                f"`{option}`: column {name!r} of {table.name} holds no {value!r} "
                f"({nearest(value, values)})"
            )
        out.append({name: found})
    return tuple(out)


def _scores(table: Table, asked: TableModel, taken: Collection[str]) -> TableColumn:
    """The column of the deployed model's scores."""
    name = asked.baseline
    assert name is not None
    if name == asked.target:
        raise InputError(f"`baseline`: {name!r} is the target")
    if name in taken:
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


def _decide_on(
    table: Table, goal: Goal, asked: TableModel, others: Sequence[Table]
) -> tuple[str, ...]:
    """The columns that the rule may look at; they have to be in every table."""
    if asked.choice.trains:
        return ()
    if asked.decide_on is None:
        # Where rows of other data sets count, the rule looks at no numbers.
        numbers = () if goal.needs.datasets else goal.needs.measures.get(None, {})
        wanted = sorted({*goal.needs.columns.get(None, {}), *numbers})
        return tuple(name for name in wanted if all(name in t.frame for t in others))
    there = [str(name) for name in table.frame]
    if asked.decide_on == ("none",) and "none" not in there:
        return ()
    return tuple(sorted(columns_named("decide_on", asked.decide_on, there, table.name)))


# --- Rows to fit on and rows held out -------------------------------------------------------------


_MANY = 20
"""Different numbers that make a class improbable."""


@dataclass(eq=False)
class HoldoutSplit:
    """A table in two."""

    part: TableRows
    held: NDArray[np.bool_]
    shared: int = 0

    @property
    def fitted(self) -> TableRows:
        """The rows to fit on."""
        return self.part.take((~self.held).nonzero()[0]) if self.held.any() else self.part

    @property
    def judging(self) -> TableRows | None:
        """The rows held out; None where there are none."""
        return self.part.take(self.held.nonzero()[0]) if self.held.any() else None


def hold_out(
    whole: TableRows,
    parts: Mapping[str, TableRows],
    asked: TableModel,
    name: str,
    by: Any = None,
) -> tuple[HoldoutSplit, dict[str, HoldoutSplit]]:
    """A table and the further data sets, each in two."""
    held = _drawn(whole.y, whole.n_rows, asked, name) if by is None else held_by(by, asked)
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
                f"{dataset}: {made.shared:,} of its {counted(part.n_rows)} are rows of "
                f"{' or '.join(among)} too, {side}"
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
    whole: TableRows, validation: TableRows, asked: TableModel, name: str
) -> tuple[HoldoutSplit, HoldoutSplit]:
    """A table to train on, and the one that a metric is measured on, each in two."""
    second = HoldoutSplit(validation, _drawn(validation.y, validation.n_rows, asked, name))
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
    part: TableRows, earlier: Mapping[str, HoldoutSplit], asked: TableModel
) -> tuple[HoldoutSplit, list[str]]:
    """A data set in two, and the names of the tables that share rows with it."""
    held = np.zeros(part.n_rows, dtype=bool)
    left = np.ones(part.n_rows, dtype=bool)
    among = []
    twins = {name: _twins(part, other.part) for name, other in earlier.items()}
    for name, twin in twins.items():
        found = left & (twin >= 0)
        if found.any():
            among.append(name)
            held[found] = earlier[name].held[twin[found]]
            left &= ~found
    y = None if part.y is None else part.y[left]
    held[left] = _drawn(y, int(left.sum()), asked, None)
    if held.all():  # nothing to train on: then these rows are held out nowhere
        held[:] = False
        for name, twin in twins.items():
            earlier[name].held[twin[twin >= 0]] = False
    return HoldoutSplit(part, held, int((~left).sum())), among


def _drawn(y: Any, n_rows: int, asked: TableModel, name: str | None) -> NDArray[np.bool_]:
    """Which rows are held out; none where a data set is too small for that."""
    from sklearn.model_selection import train_test_split

    held = np.zeros(n_rows, dtype=bool)
    if asked.share_held_out == 0:
        return held
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


def _twins(part: TableRows, other: TableRows) -> NDArray[np.int64]:
    """For each row the same one in another table; -1 where it has none."""
    import pandas as pd

    out = np.full(part.n_rows, -1, dtype=np.int64)
    labels = part.y is not None and other.y is not None
    for with_labels in (True, False) if labels else (False,):
        mine, theirs = (_keys(a, b, with_labels) for a, b in ((part, other), (other, part)))
        order = np.argsort(theirs, kind="stable")
        low, high = (np.searchsorted(theirs[order], mine, side) for side in ("left", "right"))
        found = np.flatnonzero((out < 0) & (high > low))
        turn = pd.Series(mine).groupby(mine).cumcount().to_numpy()[found]
        out[found] = order[low[found] + turn % (high - low)[found]]
    return out


def _keys(part: TableRows, other: TableRows, with_labels: bool) -> NDArray[np.uint64]:
    """A number for each row, the same for the same rows."""
    import pandas as pd

    columns = [part.X[name] for name in part.X]
    if part.groups is not None and other.groups is not None:
        names = [name for name in part.groups if name in other.groups and name not in part.X]
        columns += [part.groups[name] for name in sorted(names)]
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
