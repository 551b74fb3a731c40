"""Tables and models as tasks take them: read, and what was assumed about them noted."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError, InputTypeError
from setpoint.goals.errors import nearest
from setpoint.goals.goal import Goal
from setpoint.tasks.journal import Journal

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.tables import Column, Table, TableModel

__all__ = [
    "Reading",
    "check_datasets",
    "check_one_table",
    "columns_named",
    "labelled_rows",
    "note_reading",
    "only_one_stdin",
    "open_model",
    "read",
]


@dataclass(frozen=True)
class Reading:
    """How tables are to be read."""

    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    sheet: str | None = None


def read(source: Any, reading: Reading, journal: Journal, columns: Sequence[Column] = ()) -> Table:
    """A table that is a file, a frame, or a table already; :func:`note_reading` comments on it."""
    from setpoint.tables import Table, read_table
    from setpoint.tables.excel import FIRST

    if isinstance(source, Table):
        table = source
    elif isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        with journal.step(f"reading {'stdin' if name == '-' else name}"):
            table = read_table(name, **asdict(reading), columns=columns or None)
        for note in table.notes:  # at once: errors that follow are often due to it
            if note.startswith(FIRST):
                journal.note(f"{table.name}: {note}")
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
    from setpoint.tables import Table, TableError

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


def note_reading(table: Table, used: Collection[str], journal: Journal) -> tuple[str, ...]:
    """What was assumed in reading a table, but for columns that nobody uses, as notes."""
    unused = tuple(f"column {name!r} " for name in map(str, table.frame) if name not in used)
    notes = tuple(note for note in table.notes if not note.startswith(unused))
    for note in notes:
        journal.note(f"{table.name}: {note}")
    return notes


def labelled_rows(table: Table, target: str, journal: Journal) -> Table:
    """The rows that have a label, with a note on the others."""
    if target not in table.frame:
        return table  # said where it is looked for
    there = table.frame[target].notna().to_numpy()
    n = int((~there).sum())
    if n == 0:
        return table
    if n == len(there):
        raise InputError(f"{table.name}: no row has a label in column {target!r}")
    journal.note(
        f"{table.name}: {n:,} of {len(there):,} rows have no label in column {target!r} and are "
        "left out"
    )
    return table.take(there)


def only_one_stdin(sources: Sequence[Any]) -> None:
    """Refuse to read stdin twice."""
    if sum(isinstance(source, str) and source == "-" for source in sources) > 1:
        raise InputError("stdin ('-') can be read once only; name files for the other tables")


def check_datasets(goal: Goal, given: Mapping[str, Any], journal: Journal) -> dict[str, Any]:
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
            journal.note(f"`datasets={name}`: {reason}, so it is not read")
    return {name: given[name] for name in wanted}


def check_one_table(goal: Goal) -> None:
    """Refuse a goal over several data sets."""
    for name in goal.needs.datasets:
        raise InputError(
            f"the goal refers to the data set {name!r}, and one table is taken here; give a goal "
            "with constraints on its rows alone"
        )


def open_model(source: Any, trust: Sequence[str], journal: Journal) -> TableModel:
    """The model in a file, or one that is there already."""
    from setpoint.estimators import load_model
    from setpoint.tables import TableModel

    found = source
    if isinstance(source, (str, os.PathLike)):
        with journal.step(f"reading {os.fspath(source)}"):
            found = load_model(source, trusted=trust)
    if not isinstance(found, TableModel):
        raise InputError(
            f"{source} holds a {type(found).__name__}, no model of a table; models made in "
            "Python are used there, with setpoint.load_model"
        )
    return found


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
