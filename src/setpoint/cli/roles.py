"""What each column of a table is used for, according to the options of ``setpoint fit``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from setpoint.cli.errors import CommandError
from setpoint.cli.labels import value_named
from setpoint.cli.options import columns_named
from setpoint.cli.session import current
from setpoint.cli.solvers import SolverChoice
from setpoint.cli.tables import kind_by_goal
from setpoint.goals.errors import nearest
from setpoint.goals.goal import Goal
from setpoint.solvers import Confidence

if TYPE_CHECKING:
    from setpoint.blackbox.blackbox import BlackBox
    from setpoint.tables import Column, Table

__all__ = ["Choices", "ColumnRoles", "find_metric_columns", "find_roles"]


@dataclass(frozen=True)
class Choices:
    """What was asked for beside the goal; names of columns as they were written.

    Parameters
    ----------
    way : SolverChoice
        The solver and its model.
    sensitive, drop, decide_on : tuple of str
        `decide_on` is empty for the goal's own columns; "none" for the score alone.
    baseline_threshold : float, optional
        With it the column holds scores, and the deployed model decides positive from here on.
    metric : BlackBox, optional
        The goal, where it has no formula.
    surrogate_groups : tuple of str
        Columns, some with "=" and a value.
    confidence : Confidence, optional
        What is to hold on new rows.
    """

    target: str
    positive: str | None = None
    way: SolverChoice = field(default_factory=SolverChoice)
    sensitive: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    decide_on: tuple[str, ...] = ()
    baseline: str | None = None
    baseline_threshold: float | None = None
    draws: bool = False
    test_size: float = 0.25
    seed: int = 0
    metric: BlackBox | None = None
    surrogate_groups: tuple[str, ...] = ()
    confidence: Confidence | None = None

    @property
    def deployed(self) -> Any:
        """The deployed model as classifiers take it: a column, with a threshold of scores."""
        if self.baseline is None or self.baseline_threshold is None:
            return self.baseline
        from setpoint.inputs import Deployed

        return Deployed(self.baseline, self.baseline_threshold)


@dataclass(frozen=True)
class ColumnRoles:
    """What each column of a table is used for.

    Parameters
    ----------
    features : tuple of Column
        The model looks at these.
    decides_on : tuple of Column
        The rule looks at these beside the score.
    hidden : dict of str to str
        Neither for the model, with the reason.
    left_out : dict of str to str
        What says nothing, with the reason.
    scores : Column, optional
        The deployed model's, which the model takes as they are.
    metric_columns : tuple of Column
        Columns that the metric takes, whatever else they are used for.
    surrogate_groups : tuple of str and dict
        Columns, and values of columns, whose rows are weighed apart.
    """

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
    table: Table, goal: Goal, choices: Choices, others: Sequence[Table] = ()
) -> ColumnRoles:
    """What each column is used for.

    Parameters
    ----------
    others : sequence of Table
        The further data sets.

    Raises
    ------
    CommandError
        If a column is missing, or none is left for the model.
    """
    from setpoint.tables import kinds_of, unusable

    there = [str(name) for name in table.frame]
    target = choices.target
    if target not in there:
        raise CommandError(f"--target: {table.name} has no column {target!r} "
                           f"({nearest(target, there)})")  # fmt: skip
    sensitive = columns_named("--sensitive", choices.sensitive, there, table.name)
    dropped = columns_named("--drop", choices.drop, there, table.name)
    for name in goal.needs.columns.get(None, {}):
        if name not in there:
            raise CommandError(
                f"the goal refers to the column {name!r}, and {table.name} has none "
                f"({nearest(name, there)})"
            )
    hidden = {target: "the target"}
    scores = None
    if choices.baseline is not None:
        columns_named("--baseline", [choices.baseline], there, table.name)
        if choices.baseline_threshold is None:
            hidden[choices.baseline] = "what the deployed model says"
        else:
            scores = _scores(table, choices, {*dropped, *sensitive, *goal.needs.names})
    of_goal = [name for name in goal.needs.names if name in there]
    hidden |= {name: "sensitive" for name in (*sensitive, *of_goal) if name not in hidden}
    for option, names in (("--drop", dropped), ("--sensitive", sensitive)):
        if target in names:
            raise CommandError(f"{option}: {target!r} is the target")
    for name in dropped:
        if name in goal.needs.names:
            raise CommandError(
                f"--drop: the goal refers to {name!r}, which the model is not shown anyway; "
                "--decide-on none keeps the rule from looking at it"
            )
    for name in goal.needs.columns.get(None, {}):
        if name == target:
            raise CommandError(f"the goal compares groups of {name!r}, and that is the target")
    decide = _decide_on(table, goal, choices, others)
    hidden |= {name: "dropped" for name in dropped if name not in hidden}
    apart = {*hidden, *([] if scores is None else [scores.name])}
    candidates = kinds_of(table.frame[[name for name in there if name not in apart]])
    left_out = unusable(table.frame, candidates)
    features = tuple(c for c in candidates if c.name not in left_out)
    if not features:
        reasons = ", ".join(f"{name} ({why})" for name, why in (*hidden.items(), *left_out.items()))
        raise CommandError(f"{table.name} has no column for the model to look at: {reasons}")
    kinds = {c.name: c for c in features}
    decides_on = tuple(kinds.get(name) or kind_by_goal(name, goal, table) for name in decide)
    metric_columns = () if choices.metric is None else find_metric_columns(choices.metric, table)
    groups = _surrogate_groups(table, choices)
    return ColumnRoles(features, decides_on, hidden, left_out, scores, metric_columns, groups)


def find_metric_columns(
    metric: BlackBox, table: Table, known: Sequence[Column] = ()
) -> tuple[Column, ...]:
    """The columns that a metric asks for.

    Parameters
    ----------
    known : sequence of Column
        Columns of a model, whose kinds stay.

    Raises
    ------
    CommandError
        If the table lacks one.
    """
    from setpoint.tables import kinds_of

    kinds = {c.name: c for c in known}
    for name in metric.columns:
        if name not in table.frame:
            raise CommandError(
                f"the metric {metric.name} takes the column {name!r}, and {table.name} has none "
                f"({nearest(name, map(str, table.frame))})"
            )
        n = int(table.frame[name].isna().sum())
        if n:
            current().note(
                f"{table.name}: {'1 row has' if n == 1 else f'{n:,} rows have'} no value in column "
                f"{name!r}, which the metric {metric.name} is given: NaN, or None in text"
            )
    return tuple(kinds.get(n) or kinds_of(table.frame[[n]])[0] for n in metric.columns)


def _surrogate_groups(table: Table, choices: Choices) -> tuple[str | dict[str, Any], ...]:
    """Columns, and values of columns as the table has them."""
    from setpoint.inputs.columns import MOST_LEVELS
    from setpoint.tables import conform, kinds_of

    option = "--surrogate-group"
    there = [str(name) for name in table.frame]
    out: list[str | dict[str, Any]] = []
    for text in choices.surrogate_groups:
        name, equals, value = text.partition("=")
        if text in there or not equals:
            for column in columns_named(option, [text], there, table.name):
                n = table.frame[column].nunique()
                if n > MOST_LEVELS:
                    raise CommandError(
                        f"{option}: column {column!r} of {table.name} has {n:,} different values, "
                        f"{MOST_LEVELS} at most; join some, or name one of them as {column}=VALUE"
                    )
                out.append(column)
            continue
        if name not in there:
            columns_named(option, [name.replace(",", " ")], there, table.name)
        values = conform(table, kinds_of(table.frame[[name]]))[name].dropna().unique().tolist()
        found = value_named(value, values)
        if found is None:
            raise CommandError(
                f"{option}: column {name!r} of {table.name} holds no {value!r} "
                f"({nearest(value, values)})"
            )
        out.append({name: found})
    return tuple(out)


def _scores(table: Table, choices: Choices, taken: Collection[str]) -> Column:
    """The column of the deployed model's scores."""
    from setpoint.tables import kinds_of

    name = choices.baseline
    assert name is not None
    if name == choices.target:
        raise CommandError(f"--baseline: {name!r} is the target")
    if name in taken:
        raise CommandError(
            f"--baseline-threshold: the column {name!r} holds the deployed model's scores, and "
            "the model takes them as a feature; do not name it in the goal, --drop or --sensitive"
        )
    (column,) = kinds_of(table.frame[[name]])
    if column.kind != "number":
        raise CommandError(
            f"--baseline-threshold is for scores, and column {name!r} of {table.name} holds no "
            "numbers; leave it out where --baseline names decisions"
        )
    return column


def _decide_on(
    table: Table, goal: Goal, choices: Choices, others: Sequence[Table]
) -> tuple[str, ...]:
    """The columns that the rule may look at; they have to be in every table."""
    if choices.way.trains:
        return ()
    if not choices.decide_on:
        wanted = sorted(goal.needs.columns.get(None, {}))
        return tuple(name for name in wanted if all(name in t.frame for t in others))
    there = [str(name) for name in table.frame]
    if choices.decide_on == ("none",) and "none" not in there:
        return ()
    return tuple(sorted(columns_named("--decide-on", choices.decide_on, there, table.name)))
