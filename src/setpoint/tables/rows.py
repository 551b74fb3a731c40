"""Tables as models take them: what is said meanwhile, and how they are read."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from setpoint.errors import InputError, InputTypeError, nearest
from setpoint.goals import Goal
from setpoint.tables.table import FIRST, Table, TableColumn, TableError

if TYPE_CHECKING:
    import pandas as pd


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


def columns_of_all(models: Sequence[Any]) -> tuple[TableColumn, ...]:
    """The columns of models whose kinds agree; others are read as they are."""
    kinds: dict[str, set[str]] = {}
    for model in models:
        for column in model.columns:
            kinds.setdefault(column.name, set()).add(column.kind)
    every = {c.name: c for model in models for c in model.columns}
    return tuple(c for name, c in every.items() if len(kinds[name]) == 1)


def unit_in(table: Table, named: str | None, fitted: str | None) -> str | None:
    """The column of the units: the one named, or that of the fit where the table has it."""
    if named is not None or fitted is None or fitted in table.frame:
        return (fitted if named is None else named) or None
    note(f"{table.name} has no column {fitted!r}, the unit of the fit: rows count as independent")
    return None


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
            check_column(f"`{argument}`", name, there, table)
            found[name] = None
    return tuple(found)


def check_column(asked: str, name: str, there: Collection[str], table: str) -> None:
    """Refuse a column that is not there; who asks is an argument, or a goal with its verb."""
    if name not in there:
        said = f"{asked} the column {name!r}, and {table} has none"
        if asked.startswith("`"):
            said = f"{asked}: {table} has no column {name!r}"
        raise InputError(f"{said} ({nearest(name, there)})")


def refuse_target(argument: str, names: Collection[str | None], target: str) -> None:
    """Refuse the target where columns for another use are named."""
    if target in names:
        raise InputError(f"`{argument}`: {target!r} is the target")


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
        if text == str(value) or (isinstance(value, bool) and text.lower() == str(value).lower()):
            return value
    with suppress(ValueError):
        numbers = (v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool))
        return next((v for v in numbers if v == float(text)), None)
    return None


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
