"""Tables that are counted where they lie: rules found and decisions judged without reading them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setpoint.errors import InputError
from setpoint.goals import DEFER, Goal, require_plain
from setpoint.packages import require_packages
from setpoint.tables.roles import NO_BASELINE, RowReader, sides
from setpoint.tables.rows import (
    TableFile,
    check_column,
    check_datasets,
    check_positive,
    columns_named,
    go_on,
    label_of,
    note,
    note_reading,
    only_one_stdin,
    read,
    refuse_target,
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
    name: str
    columns: Mapping[str, str]
    asked: Mapping[str, Any]
    """What of them a rule is found by, or decisions are judged by, as the library takes it."""


def open_tables(
    paths: Sequence[str],
    goal: Goal,
    main: str,
    column: str,
    *,
    target: str,
    pos_label: Any = None,
    weight: str | None = None,
    baseline: str | None = None,
    sensitive: Sequence[str] = (),
    datasets: Mapping[str, Any] | None = None,
    reading: Mapping[str, Any] | None = None,
    decide_on: Sequence[str] = (),
    units: str | None = None,
) -> CountedTables:
    """Open tables to be counted, and check the columns: that of scores or predictions first."""
    require_packages("Counting tables where they are", "scale", "duckdb", "pyarrow")
    from setpoint.sources import GroupBy, Key, source_of, table_of

    if goal.is_blackbox:
        raise InputError(
            f"`goal`: {goal.objective} measured by a function needs the rows, and these tables are "
            "only counted"
        )
    how = TableFile("", **(reading or {}))
    if how.encoding is not None:
        raise InputError(
            "`encoding`: CSV that is counted is UTF-8; convert it, for example with iconv"
        )
    if how.sheet is not None:
        raise InputError("`sheet`: tables that are counted are Parquet or CSV, not workbooks")
    looked_at = [column, target, weight, baseline, units, *sensitive, *decide_on]
    typed = tuple({*filter(None, looked_at), *goal.needs.names})
    files = check_datasets(goal, datasets or {})

    def opened(what: Sequence[str], name: str) -> Any:
        with step(f"opening {name}"):
            try:
                return table_of(what, typed=typed, separator=how.separator, decimal=how.decimal)
            except ValueError as error:
                raise InputError(str(error)) from error

    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1:,} more"
    frame = opened(paths, name)
    named = {n: str(f.path if isinstance(f, TableFile) else f) for n, f in files.items()}
    sets = {n: opened([path], path) for n, path in named.items()}
    there = source_of(frame).schema()

    def check(argument: str, column: str | None, *, number: bool = False) -> None:
        if column is None:
            return
        check_column(f"`{argument}`", column, there, name)
        if number and there[column] != "number":
            raise InputError(
                f"`{argument}`: the column {column!r} of {name} holds {there[column]}, allowed are "
                "numbers (`decimal=,` says how CSV writes them)"
            )

    for one in goal.needs.columns.get(None, {}):
        check_column("the goal refers to", one, there, name)
    check(main, column, number=main == "score")
    refuse_target("score", [column] * (main == "score"), target)
    refuse_target("baseline", [baseline], target)
    check("target", target)
    check("weight", weight, number=True)
    check("baseline", baseline)
    check("units", units)
    if baseline is None and goal.needs.baseline:
        raise InputError(NO_BASELINE)
    if baseline is not None and not goal.needs.baseline:
        note(
            f"`baseline={baseline}`: the goal does not refer to the deployed model, so the column "
            "is not looked at"
        )
    for one in columns_named("sensitive", sensitive, there, name):
        if one not in goal.needs.names:
            note(
                f"`sensitive={one}`: the goal does not refer to this column, so it is not looked "
                "at; a goal names groups, as in recall.difference(COL) <= 0.1"
            )
    if pos_label is not None:
        with step(f"the classes in {target}"), engine_errors():
            levels = source_of(frame).count(GroupBy((Key(target),))).levels[0]
        labels = sorted((v for v in levels if v is not None), key=lambda v: (str(type(v)), v))
        pos_label = label_of(pos_label, labels, target)
    asked = {"sample_weight": weight, "baseline": baseline, "datasets": sets or None}
    return CountedTables(frame, name, there, {**asked, "pos_label": pos_label, "units": units})


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
    decide_on: Sequence[str] | None = None,
    randomized: bool = False,
    tol: float | None = None,
    exact: bool = False,
    checkpoint: str | None = None,
    watch: Callable[[object], None] | None = None,
    **columns: Any,
) -> tuple[Solution, str]:
    """Find the rule for scores that are a column of tables, counted where they are."""
    from setpoint.plugin import solve

    if not goal.is_blackbox:
        why = "these tables are only counted; setpoint fit takes such goals, on one file"
        require_plain(goal, why)
    tables = open_tables(
        paths, goal, "score", score, target=target, decide_on=decide_on or (), **columns
    )
    decides: Any = "auto"
    if decide_on is not None:
        none = tuple(decide_on) == ("none",) and "none" not in tables.columns
        names = () if none else columns_named("decide_on", decide_on, tables.columns, tables.name)
        refuse_target("decide_on", names, target)
        decides = sorted(names) or None
    with warnings_as_notes(), engine_errors():
        found = solve(
            goal, tables.frame, y=target, scores=score, decide_on=decides,
            randomized="auto" if randomized else False, tol=tol, exact=exact,
            checkpoint=checkpoint, watch=watch, **tables.asked,
        )  # fmt: skip
    go_on("the rule is that of the passes before", logging.DEBUG)
    return found, tables.name


def evaluate_tables(
    paths: Sequence[str],
    goal: Goal,
    *,
    prediction: str,
    target: str,
    defer_label: str = DEFER,
    **columns: Any,
) -> tuple[GoalReport, str]:
    """Judge decisions that are a column of tables, counted where they are."""
    from setpoint.classifiers import evaluate

    if goal.needs.measures or goal.defers:  # what each row is worth, and which are deferred
        (path, *others), weight = paths, columns.pop("weight", None)
        if others or weight is not None or not (path == "-" or Path(path).is_file()):
            found = "`weight` is given" if weight is not None and not others else "there are more"
            require_plain(
                goal, f"such goals are counted by rows of one file that count once each: {found}"
            )
        columns.pop("sensitive", None)
        rows = pilot_of_table(
            goal, TableFile(path, **(columns.pop("reading", None) or {})), target=target,
            prediction=prediction, defer_label=defer_label, **columns,
        )  # fmt: skip
        with warnings_as_notes(), step("counting the rows"):
            return evaluate(goal, rows.pop("y_true"), rows.pop("y_pred"), **rows), path
    tables = open_tables(paths, goal, "prediction", prediction, target=target, **columns)
    asked = {**tables.asked, **({} if goal.needs.baseline else {"baseline": None})}
    with warnings_as_notes(), step("counting the rows"), engine_errors():
        report = evaluate(goal, tables.frame, y_true=target, y_pred=prediction, **asked)
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
    units: str | None = None,
) -> dict[str, Any]:
    """The rows of a table with labels and decisions, as the library takes them."""
    only_one_stdin([data, *(datasets or {}).values()])
    files = check_datasets(goal, datasets or {})
    tables: dict[str | None, Table] = {None: read(data)}
    tables |= {name: read(file) for name, file in files.items()}
    used = {*goal.needs.names, *goal.needs.measure_names, target, prediction}
    for one in tables.values():
        note_reading(one, used | ({baseline} if baseline is not None else set()))
    reader = RowReader(goal=goal, target=target, baseline=baseline, units=units)
    parts = {name: reader(one, name) for name, one in tables.items()}
    own = parts.pop(None)
    y = np.asarray(own.y)
    decided = {n: _decisions(one, prediction, y, goal, defer_label) for n, one in tables.items()}
    found = {*np.unique(y).tolist(), *decided[None].tolist()}
    labels = sorted(found - {DEFER} if goal.defers else found, key=str)
    pos_label = label_of(pos_label, labels, target)
    if pos_label is None:
        check_positive(labels, goal, target, tables[None].name)
    sets = {name: replace(part, X=decided[name]) for name, part in parts.items()}
    return {
        "y_true": y, "y_pred": decided[None], "pos_label": pos_label, "datasets": sets or None,
        **sides(own), **({} if units is None else {"units": own.units}),
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
