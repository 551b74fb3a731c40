"""What each column of a table is used for, according to what was asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.goals.errors import nearest
from setpoint.goals.goal import Goal
from setpoint.tasks.journal import Journal
from setpoint.tasks.labels import value_named
from setpoint.tasks.reading import columns_named
from setpoint.tasks.rows import kind_by_goal
from setpoint.tasks.settings import FitSettings
from setpoint.tasks.values import check_values

if TYPE_CHECKING:
    from setpoint.blackbox.blackbox import BlackBox
    from setpoint.tables import Column, Table

__all__ = ["ColumnRoles", "find_metric_columns", "find_roles"]


@dataclass(frozen=True)
class ColumnRoles:
    """What each column of a table is used for."""

    features: tuple[Column, ...]
    decides_on: tuple[Column, ...]
    hidden: Mapping[str, str]
    left_out: Mapping[str, str]
    scores: Column | None = None
    metric_columns: tuple[Column, ...] = ()
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
    def columns(self) -> tuple[Column, ...]:
        """The columns of X: what ``predict`` asks for."""
        own = {c.name for c in self.features}
        more = (*self.decides_on, *([] if self.scores is None else [self.scores]))
        return self.features + tuple(c for c in more if c.name not in own)


def find_roles(
    table: Table, goal: Goal, settings: FitSettings, journal: Journal, others: Sequence[Table] = ()
) -> ColumnRoles:
    """What each column is used for."""
    from setpoint.tables import kinds_of, unusable

    there = [str(name) for name in table.frame]
    target = settings.target
    if target not in there:
        raise InputError(f"`target`: {table.name} has no column {target!r} "
                           f"({nearest(target, there)})")  # fmt: skip
    sensitive = columns_named("sensitive", settings.sensitive, there, table.name)
    dropped = columns_named("drop", settings.drop, there, table.name)
    for name in goal.needs.columns.get(None, {}):
        if name not in there:
            raise InputError(
                f"the goal refers to the column {name!r}, and {table.name} has none "
                f"({nearest(name, there)})"
            )
    values = {c.name: c for c in check_values(table, goal, target, dropped)}
    hidden = {target: "the target"}
    scores = None
    if settings.baseline is not None:
        columns_named("baseline", [settings.baseline], there, table.name)
        if settings.baseline_threshold is None:
            hidden[settings.baseline] = "what the deployed model says"
        else:
            scores = _scores(table, settings, {*dropped, *sensitive, *goal.needs.names})
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
    decide = _decide_on(table, goal, settings, others)
    for argument, used in {"decide_on": decide, "baseline": (settings.baseline,)}.items():
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
    metric_columns = (
        () if settings.metric is None else find_metric_columns(settings.metric, table, journal)
    )
    groups = _surrogate_groups(table, settings)
    return ColumnRoles(features, decides_on, hidden, left_out, scores, metric_columns, groups)


def find_metric_columns(
    metric: BlackBox, table: Table, journal: Journal, known: Sequence[Column] = ()
) -> tuple[Column, ...]:
    """The columns that a metric asks for."""
    from setpoint.tables import kinds_of

    kinds = {c.name: c for c in known}
    for name in metric.columns:
        if name not in table.frame:
            raise InputError(
                f"the metric {metric.name} takes the column {name!r}, and {table.name} has none "
                f"({nearest(name, map(str, table.frame))})"
            )
        n = int(table.frame[name].isna().sum())
        if n:
            journal.note(
                f"{table.name}: {'1 row has' if n == 1 else f'{n:,} rows have'} no value in column "
                f"{name!r}, which the metric {metric.name} is given: NaN, or None in text"
            )
    return tuple(kinds.get(n) or kinds_of(table.frame[[n]])[0] for n in metric.columns)


def _surrogate_groups(table: Table, settings: FitSettings) -> tuple[str | dict[str, Any], ...]:
    """Columns, and values of columns as the table has them."""
    from setpoint.inputs.columns import MOST_LEVELS
    from setpoint.tables import conform, kinds_of

    option = "surrogate_groups"
    there = [str(name) for name in table.frame]
    out: list[str | dict[str, Any]] = []
    for text in settings.surrogate_groups:
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


def _scores(table: Table, settings: FitSettings, taken: Collection[str]) -> Column:
    """The column of the deployed model's scores."""
    from setpoint.tables import kinds_of

    name = settings.baseline
    assert name is not None
    if name == settings.target:
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
    table: Table, goal: Goal, settings: FitSettings, others: Sequence[Table]
) -> tuple[str, ...]:
    """The columns that the rule may look at; they have to be in every table."""
    if settings.choice.trains:
        return ()
    if settings.decide_on is None:
        # Where rows of other data sets count, the rule looks at no numbers.
        numbers = () if goal.needs.datasets else goal.needs.measures.get(None, {})
        wanted = sorted({*goal.needs.columns.get(None, {}), *numbers})
        return tuple(name for name in wanted if all(name in t.frame for t in others))
    there = [str(name) for name in table.frame]
    if settings.decide_on == ("none",) and "none" not in there:
        return ()
    return tuple(sorted(columns_named("decide_on", settings.decide_on, there, table.name)))
