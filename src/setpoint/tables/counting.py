"""Tables that are counted where they lie: rules found and decisions judged without reading them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setpoint.errors import InputError, nearest
from setpoint.goals import DEFER, Goal, require_plain
from setpoint.packages import require_packages
from setpoint.tables.roles import NO_BASELINE, RowReader, sides
from setpoint.tables.rows import (
    TableFile,
    check_datasets,
    check_positive,
    columns_named,
    go_on,
    label_of,
    note,
    note_reading,
    only_one_stdin,
    read,
    step,
    value_named,
    warnings_as_notes,
)
from setpoint.tables.table import Table, labels_of

if TYPE_CHECKING:
    from setpoint.plugin import Solution
    from setpoint.report import GoalReport


# --- Tables that are counted: opened, and their columns checked -----------------------------------


@dataclass(frozen=True)
class CountedTables:
    """Tables that are opened and not yet counted."""

    frame: Any
    datasets: Mapping[str, Any]
    name: str
    columns: Mapping[str, str]

    def check(self, argument: str, column: str | None, *, number: bool = False) -> None:
        """Refuse a column that is not there, or is not of numbers."""
        if column is None:
            return
        if column not in self.columns:
            raise InputError(
                f"`{argument}`: {self.name} has no column {column!r} "
                f"({nearest(column, self.columns)})"
            )
        kind = self.columns[column]
        if number and kind != "number":
            raise InputError(
                f"`{argument}`: the column {column!r} of {self.name} holds {kind}, allowed are "
                "numbers (`decimal=,` says how CSV writes them)"
            )

    def positive(self, target: str, named: Any) -> Any:
        """The positive class that was named, of the type that the table has; None without one."""
        if named is None:
            return None
        from setpoint.sources import GroupBy, Key, source_of

        with step(f"the classes in {target}"), engine_errors():
            levels = source_of(self.frame).count(GroupBy((Key(target),))).levels[0]
        labels = sorted((v for v in levels if v is not None), key=lambda v: (str(type(v)), v))
        return label_of(named, labels, target)


def open_tables(
    paths: Sequence[str],
    goal: Goal,
    datasets: Mapping[str, Any],
    reading: Mapping[str, Any],
    looked_at: Sequence[str | None],
) -> CountedTables:
    """Open tables to be counted, whose columns are read as the goal needs them."""
    require_packages("Counting tables where they are", "scale", "duckdb", "pyarrow")
    from setpoint.sources import source_of, table_of

    if goal.is_blackbox:
        raise InputError(
            f"`goal`: {goal.objective} measured by a function needs the rows, and these tables are "
            "only counted"
        )
    asked = TableFile("", **reading)
    if asked.encoding is not None:
        raise InputError(
            "`encoding`: CSV that is counted is UTF-8; convert it, for example with iconv"
        )
    if asked.sheet is not None:
        raise InputError("`sheet`: tables that are counted are Parquet or CSV, not workbooks")
    typed = tuple({*filter(None, looked_at), *goal.needs.names})
    files = check_datasets(goal, datasets)

    def opened(what: Sequence[str], name: str) -> Any:
        with step(f"opening {name}"):
            try:
                return table_of(what, typed=typed, separator=asked.separator, decimal=asked.decimal)
            except ValueError as error:
                raise InputError(str(error)) from error

    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1:,} more"
    frame = opened(paths, name)
    sets = {}
    for key, file in files.items():
        path = str(file.path if isinstance(file, TableFile) else file)
        sets[key] = opened([path], path)
    tables = CountedTables(frame, sets, name, source_of(frame).schema())
    for column in goal.needs.columns.get(None, {}):
        if column not in tables.columns:
            raise InputError(
                f"the goal refers to the column {column!r}, and {name} has none "
                f"({nearest(column, tables.columns)})"
            )
    return tables


def _check_columns(
    tables: CountedTables,
    goal: Goal,
    target: str,
    weight: str | None,
    baseline: str | None,
    sensitive: Sequence[str],
) -> None:
    """Refuse columns that are not there, and say of which the goal has no use."""
    if baseline == target:
        raise InputError(f"`baseline`: {target!r} is the target")
    tables.check("target", target)
    tables.check("weight", weight, number=True)
    tables.check("baseline", baseline)
    if baseline is None and goal.needs.baseline:
        raise InputError(NO_BASELINE)
    if baseline is not None and not goal.needs.baseline:
        note(
            f"`baseline={baseline}`: the goal does not refer to the deployed model, so the column "
            "is not looked at"
        )
    for name in columns_named("sensitive", sensitive, tables.columns, tables.name):
        if name not in goal.needs.names:
            note(
                f"`sensitive={name}`: the goal does not refer to this column, so it is not looked "
                "at; a goal names groups, as in recall.difference(COL) <= 0.1"
            )


@contextmanager
def engine_errors() -> Iterator[None]:
    """What an engine says of a table as an error of its own."""
    from setpoint.sources import duckdb_module, first_line

    try:
        yield
    except duckdb_module().Error as error:
        raise InputError(f"DuckDB cannot count the table: {first_line(error)}") from error


# --- A rule for scores that are a column, and decisions that are one ------------------------------


def solve_tables(
    paths: Sequence[str],
    goal: Goal,
    *,
    score: str,
    target: str,
    pos_label: Any = None,
    weight: str | None = None,
    baseline: str | None = None,
    sensitive: Sequence[str] = (),
    datasets: Mapping[str, Any] | None = None,
    decide_on: Sequence[str] | None = None,
    randomized: bool = False,
    tol: float | None = None,
    exact: bool = False,
    checkpoint: str | None = None,
    reading: Mapping[str, Any] | None = None,
    watch: Callable[[object], None] | None = None,
) -> tuple[Solution, str]:
    """Find the rule for scores that are a column of tables, counted where they are."""
    from setpoint.plugin import solve

    if not goal.is_blackbox:
        why = "these tables are only counted; setpoint fit takes such goals, on one file"
        require_plain(goal, why)
    looked_at = [score, target, weight, baseline, *sensitive, *(decide_on or ())]
    tables = open_tables(paths, goal, datasets or {}, reading or {}, looked_at)
    tables.check("score", score, number=True)
    if score == target:
        raise InputError(f"`score`: {target!r} is the target")
    _check_columns(tables, goal, target, weight, baseline, sensitive)
    decides: Any = "auto"
    if decide_on is not None:
        none = tuple(decide_on) == ("none",) and "none" not in tables.columns
        names = () if none else columns_named("decide_on", decide_on, tables.columns, tables.name)
        if target in names:
            raise InputError(f"`decide_on`: {target!r} is the target")
        decides = sorted(names) or None
    positive = tables.positive(target, pos_label)
    with warnings_as_notes(), engine_errors():
        found = solve(
            goal, tables.frame, y=target, scores=score, sample_weight=weight, baseline=baseline,
            datasets=tables.datasets or None, decide_on=decides,
            randomized="auto" if randomized else False, pos_label=positive, tol=tol, exact=exact,
            checkpoint=checkpoint, watch=watch,
        )  # fmt: skip
    go_on("the rule is that of the passes before", logging.DEBUG)
    return found, tables.name


def evaluate_tables(
    paths: Sequence[str],
    goal: Goal,
    *,
    prediction: str,
    target: str,
    pos_label: Any = None,
    weight: str | None = None,
    baseline: str | None = None,
    sensitive: Sequence[str] = (),
    datasets: Mapping[str, Any] | None = None,
    reading: Mapping[str, Any] | None = None,
    defer_label: str = DEFER,
) -> tuple[GoalReport, str]:
    """Judge decisions that are a column of tables, counted where they are."""
    from setpoint.estimators import evaluate

    path = paths[0]
    if goal.needs.measures or goal.defers:  # what each row is worth, and which are deferred
        several = len(paths) > 1 or not (path == "-" or Path(path).is_file())
        if several or weight is not None:
            given = weight is not None and len(paths) == 1
            found = "`weight` is given" if given else "there are more"
            require_plain(
                goal, f"such goals are counted by rows of one file that count once each: {found}"
            )
        rows = pilot_of_table(
            goal, TableFile(path, **(reading or {})), target=target, prediction=prediction,
            pos_label=pos_label, baseline=baseline, datasets=datasets, defer_label=defer_label,
        )  # fmt: skip
        with warnings_as_notes(), step("counting the rows"):
            return evaluate(goal, rows.pop("y_true"), rows.pop("y_pred"), **rows), path
    looked_at = [target, prediction, weight, baseline, *sensitive]
    tables = open_tables(paths, goal, datasets or {}, reading or {}, looked_at)
    tables.check("prediction", prediction)
    _check_columns(tables, goal, target, weight, baseline, sensitive)
    positive = tables.positive(target, pos_label)
    with warnings_as_notes(), step("counting the rows"), engine_errors():
        report = evaluate(
            goal, tables.frame, y_true=target, y_pred=prediction, sample_weight=weight,
            baseline=baseline if goal.needs.baseline else None, datasets=tables.datasets or None,
            pos_label=positive,
        )  # fmt: skip
    return report, tables.name


# --- The rows of a pilot study: labels and decisions ----------------------------------------------


def pilot_of_table(
    goal: Goal,
    data: Any,
    *,
    target: str,
    prediction: str,
    pos_label: Any = None,
    baseline: str | None = None,
    datasets: Mapping[str, Any] | None = None,
    defer_label: str = DEFER,
) -> dict[str, Any]:
    """The rows of a table with labels and decisions, as the library takes them."""
    only_one_stdin([data, *(datasets or {}).values()])
    files = check_datasets(goal, datasets or {})
    tables: dict[str | None, Table] = {None: read(data)}
    tables |= {name: read(file) for name, file in files.items()}
    used = {*goal.needs.names, *goal.needs.measure_names, target, prediction}
    for one in tables.values():
        note_reading(one, used | ({baseline} if baseline is not None else set()))
    reader = RowReader(goal=goal, target=target, baseline=baseline)
    parts = {name: reader(one, name) for name, one in tables.items()}
    y = parts[None].y
    assert y is not None
    decided = {
        name: _decisions(one, prediction, y, goal, defer_label) for name, one in tables.items()
    }
    sets = {
        name: replace(part, X=decided[name]) for name, part in parts.items() if name is not None
    }
    found = {*np.unique(y).tolist(), *decided[None].tolist()}
    labels = sorted(found - {DEFER} if goal.defers else found, key=str)
    pos_label = label_of(pos_label, labels, target)
    if pos_label is None:
        check_positive(labels, goal, target, tables[None].name)
    return {
        "y_true": y, "y_pred": decided[None], "pos_label": pos_label, "datasets": sets or None,
        **sides(parts[None]),
    }  # fmt: skip


def _decisions(table: Table, prediction: str, y: Any, goal: Goal, defer_label: str) -> Any:
    """The decisions in a column; beside rows that are deferred, labels of the type of `y`."""
    found = labels_of(table, prediction)
    if not goal.defers or (found.dtype != object and defer_label == DEFER):
        return found
    labels = np.unique(y).tolist()
    known: dict[str, Any] = {defer_label: DEFER}
    for text in set(map(str, found.tolist())) - {defer_label}:
        label = value_named(text, labels)
        known[text] = text if label is None else label
    return np.array([known[str(text)] for text in found.tolist()], dtype=object)
