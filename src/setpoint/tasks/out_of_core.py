"""Tables that DuckDB counts where they are: solved and evaluated, their columns checked first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError, nearest
from setpoint.goals import DEFER, Goal, require_plain
from setpoint.packages import require_packages
from setpoint.tables import go_on, note, step, warnings_as_notes
from setpoint.tasks.loaded import LoadedModel
from setpoint.tables.rows import (
    Reading,
    check_datasets,
    check_positive,
    columns_named,
    label_of,
    note_reading,
    only_one_stdin,
    read,
    value_named,
)
from setpoint.tasks.roles import rows_of

if TYPE_CHECKING:
    from setpoint.plugin import Solution
    from setpoint.report import GoalReport
    from setpoint.sources import Source
    from setpoint.tables import Table


_NOT_FOR = "measured by a function needs the rows, and these tables are only counted"


class CountedTables:
    """The tables of a command, opened and not yet counted."""

    def __init__(self, frame: Any, datasets: Mapping[str, Any], name: str) -> None:
        from setpoint.sources import source_of

        self.frame, self.datasets, self.name = frame, dict(datasets), name
        self.source: Source = source_of(frame)
        self.columns = self.source.schema()


def check_counted(goal: Goal) -> None:
    """What has to be there before tables are counted."""
    require_packages("Counting tables where they are", "scale", "duckdb", "pyarrow")
    if goal.is_blackbox:
        raise InputError(f"`goal`: {goal.objective} {_NOT_FOR}")


def open_tables(
    paths: Sequence[str],
    goal: Goal,
    files: Mapping[str, str],
    reading: Reading,
    looked_at: Sequence[str],
) -> CountedTables:
    """Open tables to be counted."""
    from setpoint.sources import table_of

    if reading.encoding is not None:
        raise InputError(
            "`encoding`: CSV that is counted is UTF-8; convert it, for example with iconv"
        )
    if reading.sheet is not None:
        raise InputError("`sheet`: tables that are counted are Parquet or CSV, not workbooks")
    typed = tuple({*looked_at, *goal.needs.names})
    files = check_datasets(goal, files)

    def opened(what: Sequence[str], name: str) -> Any:
        with step(f"opening {name}"):
            try:
                return table_of(
                    what, typed=typed, separator=reading.separator, decimal=reading.decimal
                )
            except ValueError as error:
                raise InputError(str(error)) from error

    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1:,} more"
    frame = opened(paths, name)
    datasets = {key: opened([path], path) for key, path in files.items()}
    tables = CountedTables(frame, datasets, name)
    for column in goal.needs.columns.get(None, {}):
        if column not in tables.columns:
            raise InputError(
                f"the goal refers to the column {column!r}, and {name} has none "
                f"({nearest(column, tables.columns)})"
            )
    return tables


def check_column(
    argument: str, column: str, tables: CountedTables, *, number: bool = False
) -> None:
    """Refuse a column that is not there, or is not of numbers."""
    if column not in tables.columns:
        raise InputError(
            f"`{argument}`: {tables.name} has no column {column!r} "
            f"({nearest(column, tables.columns)})"
        )
    kind = tables.columns[column]
    if number and kind != "number":
        raise InputError(
            f"`{argument}`: the column {column!r} of {tables.name} holds {kind}, allowed are "
            "numbers "
            "(`decimal=,` says how CSV writes them)"
        )


def check_baseline(baseline: str | None, tables: CountedTables, goal: Goal) -> None:
    """Refuse a goal over the deployed model without its column, and say where it has no use."""
    if baseline is None:
        if goal.needs.baseline:
            raise InputError(
                "the goal refers to the deployed model: name the column with its predictions with "
                "`baseline`"
            )
        return
    check_column("baseline", baseline, tables)
    if not goal.needs.baseline:
        note(
            f"`baseline={baseline}`: the goal does not refer to the deployed model, so the column "
            "is not looked at"
        )


def check_sensitive(sensitive: Sequence[str], tables: CountedTables, goal: Goal) -> None:
    """Refuse columns that are not there, and say of which the goal has no use."""
    for name in columns_named("sensitive", sensitive, tables.columns, tables.name):
        if name not in goal.needs.names:
            note(
                f"`sensitive={name}`: the goal does not refer to this column, so it "
                "is not looked "
                "at; a goal names groups, as in recall.difference(COL) <= 0.1"
            )


def positive_in(tables: CountedTables, target: str, positive: Any) -> Any:
    """The positive class that was named, of the type that the table has; None without one."""
    if positive is None:
        return None
    from setpoint.sources import GroupBy, Key

    with step(f"the classes in {target}"), engine_errors():
        levels = tables.source.count(GroupBy((Key(target),))).levels[0]
    labels = sorted((v for v in levels if v is not None), key=lambda v: (str(type(v)), v))
    return label_of(positive, labels, target)


@contextmanager
def engine_errors() -> Iterator[None]:
    """What an engine says of a table as an error of its own."""
    from setpoint.sources import duckdb_module, first_line

    try:
        yield
    except duckdb_module().Error as error:
        raise InputError(f"DuckDB cannot count the table: {first_line(error)}") from error


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
    datasets: Mapping[str, str] | None = None,
    decide_on: Sequence[str] | None = None,
    randomized: bool = False,
    tol: float | None = None,
    exact: bool = False,
    checkpoint: str | None = None,
    reading: Reading | None = None,
    watch: Callable[[object], None] | None = None,
) -> tuple[Solution, str]:
    """Find the rule for scores that are a column of tables, counted where they are."""
    from setpoint.plugin import solve

    check_counted(goal)
    require_plain(goal, "these tables are only counted; setpoint fit takes such goals, on one file")
    named = [name for name in (score, target, weight, baseline) if name is not None]
    looked_at = [*named, *sensitive, *(decide_on or ())]
    tables = open_tables(paths, goal, datasets or {}, reading or Reading(), looked_at)
    check_column("score", score, tables, number=True)
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
    positive = positive_in(tables, target, pos_label)
    with warnings_as_notes(), engine_errors():
        found = solve(
            goal,
            tables.frame,
            y=target,
            scores=score,
            sample_weight=weight,
            baseline=baseline,
            datasets=tables.datasets or None,
            decide_on=decides,
            randomized="auto" if randomized else False,
            pos_label=positive,
            tol=tol,
            exact=exact,
            checkpoint=checkpoint,
            watch=watch,
        )
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
    datasets: Mapping[str, str] | None = None,
    reading: Reading | None = None,
    defer_label: str = DEFER,
) -> tuple[GoalReport, str]:
    """Judge decisions that are a column of tables, counted where they are."""
    from setpoint.estimators import evaluate

    if goal.needs.measures or goal.defers:
        return _evaluate_rows(
            paths, goal, prediction=prediction, target=target, pos_label=pos_label, weight=weight,
            baseline=baseline, datasets=datasets, reading=reading,
            defer_label=defer_label,
        )  # fmt: skip
    check_counted(goal)
    named = [name for name in (target, prediction, weight, baseline) if name is not None]
    tables = open_tables(paths, goal, datasets or {}, reading or Reading(), [*named, *sensitive])
    check_column("prediction", prediction, tables)
    _check_columns(tables, goal, target, weight, baseline, sensitive)
    positive = positive_in(tables, target, pos_label)
    doing = step("counting the rows")
    with warnings_as_notes(), doing, engine_errors():
        found = evaluate(
            goal,
            tables.frame,
            y_true=target,
            y_pred=prediction,
            sample_weight=weight,
            baseline=baseline if goal.needs.baseline else None,
            datasets=tables.datasets or None,
            pos_label=positive,
        )
    return found, tables.name


def _evaluate_rows(
    paths: Sequence[str],
    goal: Goal,
    *,
    weight: str | None,
    **asked: Any,
) -> tuple[GoalReport, str]:
    """Judge decisions by their rows: what each is worth, and which are deferred."""
    from pathlib import Path

    from setpoint.estimators import evaluate

    path = paths[0]
    if len(paths) > 1 or not (path == "-" or Path(path).is_file()) or weight is not None:
        found = "`weight` is given" if weight is not None and len(paths) == 1 else "there are more"
        require_plain(
            goal, f"such goals are counted by rows of one file that count once each: {found}"
        )
    rows = pilot_of_table(goal, path, **asked)
    with warnings_as_notes(), step("counting the rows"):
        return evaluate(goal, rows.pop("y_true"), rows.pop("y_pred"), **rows), path


def _check_columns(
    tables: CountedTables,
    goal: Goal,
    target: str,
    weight: str | None,
    baseline: str | None,
    sensitive: Sequence[str],
) -> None:
    """Columns that solving and evaluating have in common."""
    if baseline == target:
        raise InputError(f"`baseline`: {target!r} is the target")
    check_column("target", target, tables)
    if weight is not None:
        check_column("weight", weight, tables, number=True)
    check_baseline(baseline, tables, goal)
    check_sensitive(sensitive, tables, goal)


# --- The rows of a pilot study: labels and decisions ----------------------------------------------


def pilot_of_model(loaded: LoadedModel) -> dict[str, Any]:
    """The rows of a table, and what a model decides on them."""
    from setpoint.inputs import Dataset

    clf, part = loaded.model.classifier, loaded.part
    sets = {
        name: Dataset(
            clf.predict(d.X), d.y, sensitive_features=d.sensitive_features, baseline=d.baseline
        )
        for name, d in loaded.datasets.items()
    }
    return {
        "y_true": part.y, "y_pred": clf.predict(part.X), "classes": clf.classes_,
        "pos_label": getattr(clf, "positive_", None), "datasets": sets or None, **part.sides(),
    }  # fmt: skip


def pilot_of_table(
    goal: Goal,
    data: Any,
    *,
    target: str,
    prediction: str,
    pos_label: Any = None,
    baseline: str | None = None,
    datasets: Mapping[str, Any] | None = None,
    reading: Reading | None = None,
    defer_label: str = DEFER,
) -> dict[str, Any]:
    """The rows of a table with labels and decisions, as the library takes them."""
    import numpy as np

    from setpoint.inputs import Dataset

    reading = Reading() if reading is None else reading
    files = dict(datasets or {})
    only_one_stdin([data, *files.values()])
    files = check_datasets(goal, files)
    used = {
        *goal.needs.names,
        *goal.needs.measure_names,
        target,
        prediction,
        *([] if baseline is None else [baseline]),
    }
    table = read(data, reading)
    others = {name: read(path, reading) for name, path in files.items()}
    for one in (table, *others.values()):
        note_reading(one, used)
    part = rows_of(table, (), goal, target, None, baseline=baseline)
    assert part.y is not None
    decided = _decisions(table, prediction, part.y, goal, defer_label)
    sets = {}
    for name, other in others.items():
        own = rows_of(other, (), goal, target, None, dataset=name, baseline=baseline)
        sets[name] = Dataset(
            _decisions(other, prediction, part.y, goal, defer_label),
            own.y,
            sensitive_features=own.groups,
            baseline=own.deployed,
        )
    found = {*np.unique(part.y).tolist(), *decided.tolist()}
    labels = sorted(found - {DEFER} if goal.defers else found, key=str)
    pos_label = label_of(pos_label, labels, target)
    if pos_label is None:
        check_positive(labels, goal, target, table.name)
    return {
        "y_true": part.y, "y_pred": decided, "pos_label": pos_label, "datasets": sets or None,
        **part.sides(),
    }  # fmt: skip


def _decisions(table: Table, prediction: str, y: Any, goal: Goal, defer_label: str) -> Any:
    """The decisions in a column; beside rows that are deferred, labels of the type of `y`."""
    import numpy as np

    from setpoint.tables import labels_of

    found = labels_of(table, prediction)
    if not goal.defers or (found.dtype != object and defer_label == DEFER):
        return found
    labels = np.unique(y).tolist()
    known: dict[str, Any] = {defer_label: DEFER}
    for text in set(map(str, found.tolist())) - {defer_label}:
        label = value_named(text, labels)
        known[text] = text if label is None else label
    return np.array([known[str(text)] for text in found.tolist()], dtype=object)
