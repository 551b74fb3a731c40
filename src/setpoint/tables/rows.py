"""Tables as models take them: what is said meanwhile, how they are read, how they are counted."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setpoint.errors import InputError, InputTypeError, nearest
from setpoint.goals import DEFER, Goal, require_plain
from setpoint.packages import require_packages
from setpoint.tables.table import FIRST, Table, TableColumn, TableError, labels_of

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.plugin import Solution
    from setpoint.report import GoalReport


LOG = logging.getLogger("setpoint.tables")

# Of interest to developers, not to whoever has a table.
_SILENT = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)


def note(text: str) -> None:
    """Say a sentence about the rows or the model."""
    LOG.info("%s", " ".join(text.split()))


def go_on(text: str, level: int = logging.INFO) -> None:
    """Say that a search that was interrupted goes on with the best it has."""
    LOG.log(level, "%s", text, extra={"goes_on": True})


@contextmanager
def step(name: str) -> Iterator[None]:
    """Log the begin of a part of the work, and its end with its seconds; None if it fails."""
    LOG.debug("%s", name, extra={"step": name})
    start, seconds = time.perf_counter(), None
    try:
        yield
        seconds = time.perf_counter() - start
    finally:
        LOG.debug("%s: %s s", name, seconds, extra={"step": name, "seconds": seconds})


@contextmanager
def warnings_as_notes(rows: str = "") -> Iterator[list[str]]:
    """Warnings of libraries become notes; the list holds their texts, each once."""
    heard: list[str] = []
    late: dict[str, str] = {}

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if issubclass(category, _SILENT):
            return
        if rows and category.__name__ == "FewRowsWarning":
            text = f"{rows}: {text}"
        if text in heard:
            return
        heard.append(text)
        if category.__name__ == "StoppedWarning":  # an error after it keeps nothing
            late[text] = getattr(message, "why", text)
        else:
            note(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        try:
            yield heard
        except Exception:
            for why in late.values():
                note(why)
            raise
        for text in late:
            note(text)


# --- Tables as models take them: read -------------------------------------------------------------


@dataclass(frozen=True)
class TableFile:
    """A file of rows, and how it is to be read where that is not found out right."""

    path: str | os.PathLike[str]
    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    sheet: str | None = None


def read(source: Any, columns: Sequence[TableColumn] = ()) -> Table:
    """A table that is a file, a frame, or a table already; :func:`note_reading` comments on it."""
    if isinstance(source, (str, os.PathLike)):
        source = TableFile(source)
    if isinstance(source, Table):
        table = source
    elif isinstance(source, TableFile):
        from setpoint.tables.files import read_table

        path = os.fspath(source.path)
        with step(f"reading {'stdin' if path == '-' else path}"):
            table = read_table(
                path, encoding=source.encoding, separator=source.separator,
                decimal=source.decimal, sheet=source.sheet, columns=columns or None,
            )  # fmt: skip
        for text in table.notes:  # at once: errors that follow are often due to it
            if text.startswith(FIRST):
                note(f"{table.name}: {text}")
    else:
        table = Table("the table", _frame(source))
    if not len(table.frame):
        raise InputError(f"{table.name} has column names and no rows")
    return table


def _frame(source: Any) -> pd.DataFrame:
    """A frame of any library as one of pandas, refused where a file could not hold it."""
    import narwhals as nw
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        frame = source.reset_index(drop=True)
    else:
        try:
            frame = nw.from_native(source, eager_only=True).to_pandas()
        except Exception as error:
            raise InputTypeError(
                "a table is a path, a frame of pandas, Polars or PyArrow, or a Table, got "
                f"{type(source).__name__}"
            ) from error
    for name in frame.columns:
        if not isinstance(name, str):
            raise InputTypeError(f"names of columns are text, got {name!r}; rename it")
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise InputError(f"the table has the column {twice[0]!r} twice; rename one of them")
    for name in frame.columns:
        if frame[name].dtype.kind not in "biuf":
            try:
                Table("the table", frame).column(name)
            except TableError:
                raise
            except Exception as error:
                kind = frame[name].dtype
                raise InputError(
                    f"the table: column {name!r} of type {kind} holds values that no file of rows "
                    f"holds ({str(error).splitlines()[0]}); make them text or numbers"
                ) from error
    return frame


def note_reading(table: Table, used: Collection[str]) -> tuple[str, ...]:
    """What was assumed in reading a table, but for columns that nobody uses, as notes."""
    unused = tuple(f"column {name!r} " for name in map(str, table.frame) if name not in used)
    notes = tuple(note for note in table.notes if not note.startswith(unused))
    for text in notes:
        note(f"{table.name}: {text}")
    return notes


def labelled_rows(table: Table, target: str) -> Table:
    """The rows that have a label, with a note on the others."""
    if target not in table.frame:
        return table  # said where it is looked for
    there = table.frame[target].notna().to_numpy()
    n = int((~there).sum())
    if n == 0:
        return table
    if n == len(there):
        raise InputError(f"{table.name}: no row has a label in column {target!r}")
    note(
        f"{table.name}: {n:,} of {len(there):,} rows have no label in column {target!r} and are "
        "left out"
    )
    return table.take(there)


def only_one_stdin(sources: Sequence[Any]) -> None:
    """Refuse to read stdin twice."""
    paths = [source.path if isinstance(source, TableFile) else source for source in sources]
    if sum(isinstance(path, str) and path == "-" for path in paths) > 1:
        raise InputError("stdin ('-') can be read once only; name files for the other tables")


def check_datasets(goal: Goal, given: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of the data sets that the goal refers to."""
    wanted = goal.needs.datasets
    for name in wanted:
        if name not in given:
            raise InputError(
                f"the goal refers to the data set {name!r}: give its table, `datasets={name}=FILE`"
            )
    for name in given:
        if name not in wanted:
            reason = "the goal refers to no data sets"
            if wanted:
                reason = f"the goal does not refer to it ({nearest(name, wanted)})"
            note(f"`datasets={name}`: {reason}, so it is not read")
    return {name: given[name] for name in wanted}


def check_one_table(goal: Goal) -> None:
    """Refuse a goal over several data sets."""
    for name in goal.needs.datasets:
        raise InputError(
            f"the goal refers to the data set {name!r}, and one table is taken here; give a goal "
            "with constraints on its rows alone"
        )


def columns_named(
    argument: str, values: Sequence[str], there: Collection[str], table: str
) -> tuple[str, ...]:
    """Names of columns: one each, or several with commas.

    Examples
    --------
    >>> columns_named("drop", ["id,name", "a, b"], ["id", "name", "a, b"], "t.csv")
    ('id', 'name', 'a, b')
    """
    found: dict[str, None] = {}
    for value in values:
        for name in [value] if value in there else [v.strip() for v in value.split(",")]:
            if name not in there:
                raise InputError(
                    f"`{argument}`: {table} has no column {name!r} ({nearest(name, there)})"
                )
            found[name] = None
    return tuple(found)


# --- The classes of a target, and values as they are written in a text ----------------------------


_MOST_CLASSES = 200
_FOLDS = 5  # of PlugInClassifier and AdaptiveSurrogateClassifier


def label_of(given: Any, labels: Sequence[Any], target: str) -> Any:
    """The class that was named, of the type that the table has; its text will do.

    Examples
    --------
    >>> label_of("1", [0, 1], "y"), label_of("true", [False, True], "y"), label_of(None, [0], "y")
    (1, True, None)
    """
    if given is None:
        return None
    text = str(given)
    if len(labels) > 2:
        raise InputError(
            f"`pos_label` is for two classes, and column {target!r} holds {len(labels)}; name a "
            "class in the goal, as in recall(label='a')"
        )
    found = value_named(text, labels)
    if found is None:
        raise InputError(
            f"`pos_label`: column {target!r} holds no class {text!r} ({nearest(text, labels)})"
        )
    return found


def check_positive(labels: Sequence[Any], goal: Goal, target: str, name: str) -> None:
    """Refuse two text labels where the goal refers to the positive one and nothing says which."""
    from setpoint.inputs import refers_to_positive, settled_positive

    if len(labels) != 2 or not refers_to_positive(goal) or settled_positive(labels) is not None:
        return
    one, other = labels
    raise InputError(
        f"{name}: column {target!r} holds {one!r} and {other!r}, and the goal refers to the "
        f"positive class: say which it is, `pos_label={one}` or `pos_label={other}`"
    )


def value_named(text: str, values: Sequence[Any]) -> Any:
    """The value that a text stands for; None where there is none.

    Examples
    --------
    >>> value_named("1", [0, 1]), value_named("1.0", [0, 1]), value_named("yes", ["no"])
    (1, 1, None)
    """
    for value in values:
        same = isinstance(value, bool) and text.lower() == str(value).lower()
        if same or text == str(value):
            return value
    for value in values:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and _is(text, value):
            return value
    return None


def _is(text: str, value: float) -> bool:
    try:
        return float(text) == value
    except ValueError:
        return False


def classes_in(y: Any, target: str, name: str) -> tuple[list[Any], dict[str, int]]:
    """The classes in sorted order, and how many rows each has."""
    found, counts = np.unique(y, return_counts=True)
    labels = found.tolist()
    if len(labels) < 2:
        raise InputError(
            f"{name}: column {target!r} holds one class only, {labels[0]!r}; there is nothing to "
            "decide"
        )
    if len(labels) > _MOST_CLASSES or any(isinstance(v, float) and v % 1 for v in labels):
        raise InputError(
            f"{name}: column {target!r} holds {len(labels)} different values, from {labels[0]!r} "
            f"to {labels[-1]!r}; a target has classes, {_MOST_CLASSES} at most: make some, or "
            "name another column, `target`"
        )
    return labels, {str(label): int(n) for label, n in zip(labels, counts, strict=True)}


def check_folds(y: Any, counts: Mapping[str, int], name: str) -> None:
    """Refuse classes that are too small for cross-validation."""
    found, left = np.unique(y, return_counts=True)
    there = dict(zip(map(str, found.tolist()), left.tolist(), strict=True))
    few = min(counts, key=lambda label: there.get(label, 0))
    n = there.get(few, 0)
    if n < _FOLDS:
        whole = "" if n == counts[few] else f" of {counts[few]:,} left after the hold-out"
        raise InputError(
            f"{name}: class {few!r} has {n} rows{whole}, too few for cross-validation in "
            f"{_FOLDS} folds; add rows, hold out fewer, or leave the class out"
        )


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
        raise InputError(
            "the goal refers to the deployed model: name the column with its predictions with "
            "`baseline`"
        )
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
    from setpoint.inputs import Dataset
    from setpoint.tables.roles import rows_of

    only_one_stdin([data, *(datasets or {}).values()])
    files = check_datasets(goal, datasets or {})
    tables: dict[str | None, Table] = {None: read(data)}
    tables |= {name: read(file) for name, file in files.items()}
    used = {*goal.needs.names, *goal.needs.measure_names, target, prediction}
    for one in tables.values():
        note_reading(one, used | ({baseline} if baseline is not None else set()))
    parts = {
        name: rows_of(one, (), goal, target, None, dataset=name, baseline=baseline)
        for name, one in tables.items()
    }
    y = parts[None].y
    assert y is not None
    decided = {
        name: _decisions(one, prediction, y, goal, defer_label) for name, one in tables.items()
    }
    sets = {
        name: Dataset(decided[name], part.y, sensitive_features=part.groups, baseline=part.deployed)
        for name, part in parts.items()
        if name is not None
    }
    found = {*np.unique(y).tolist(), *decided[None].tolist()}
    labels = sorted(found - {DEFER} if goal.defers else found, key=str)
    pos_label = label_of(pos_label, labels, target)
    if pos_label is None:
        check_positive(labels, goal, target, tables[None].name)
    return {
        "y_true": y, "y_pred": decided[None], "pos_label": pos_label, "datasets": sets or None,
        **parts[None].sides(),
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
