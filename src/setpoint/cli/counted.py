"""Tables that DuckDB counts, as commands take them: names of files and columns, errors, pages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import CommandError, require_packages
from setpoint.cli.labels import label_of
from setpoint.cli.options import Reading, columns_named
from setpoint.cli.output import step
from setpoint.cli.session import current
from setpoint.cli.tables import check_datasets
from setpoint.goals.errors import nearest
from setpoint.goals.goal import Goal

if TYPE_CHECKING:
    from setpoint.counting.source import Source

__all__ = [
    "CountedTables",
    "check_baseline",
    "check_column",
    "check_counted",
    "check_sensitive",
    "counting_errors",
    "open_tables",
    "passes_shown",
    "positive_in",
    "sensitive_option",
    "weight_option",
]

_NOT_FOR = "measured by a function needs the rows, and these tables are only counted"

sensitive_option = click.option(
    "--sensitive",
    multiple=True,
    metavar="COLS",
    help="Columns with groups, checked to be there. Those that the goal names are.",
)

weight_option = click.option("--weight", metavar="COL", help="The column with the rows' weights.")


class CountedTables:
    """The tables of a command, opened and not yet counted.

    Parameters
    ----------
    frame : DuckDB relation
    datasets : mapping of str to DuckDB relation
    name : str
        What messages call the table.
    """

    def __init__(self, frame: Any, datasets: Mapping[str, Any], name: str) -> None:
        from setpoint.counting.opening import source_of

        self.frame, self.datasets, self.name = frame, dict(datasets), name
        self.source: Source = source_of(frame)
        self.columns = self.source.columns()


def check_counted(goal: Goal) -> None:
    """What has to be there before tables are counted.

    Raises
    ------
    CommandError
        If DuckDB is missing, or the goal has no formula.
    """
    require_packages("Counting tables where they are", "scale", "duckdb", "pyarrow")
    if goal.is_blackbox:
        raise CommandError(f"--goal: {goal.objective} {_NOT_FOR}; setpoint fit takes --metric")


def open_tables(
    paths: Sequence[str],
    goal: Goal,
    files: Mapping[str, str],
    reading: Reading,
    looked_at: Sequence[str],
) -> CountedTables:
    """Open tables to be counted.

    Parameters
    ----------
    paths : sequence of str
        TABLES.
    files : mapping of str to str
        Of --dataset.
    looked_at : sequence of str
        The columns that options name; of CSV others are not typed.

    Raises
    ------
    CommandError
        If there is no such table, or it is not one.
    """
    from setpoint.counting.tables import table_of

    if reading.encoding is not None:
        raise CommandError(
            "--encoding: CSV that is counted is UTF-8; convert it, for example with iconv"
        )
    typed = tuple({*looked_at, *goal.needs.names})
    files = check_datasets(goal, files)

    def opened(what: Sequence[str], name: str) -> Any:
        with step(f"opening {name}"):
            try:
                return table_of(
                    what, typed=typed, separator=reading.separator, decimal=reading.decimal
                )
            except ValueError as error:
                raise CommandError(str(error)) from error

    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1:,} more"
    frame = opened(paths, name)
    datasets = {key: opened([path], path) for key, path in files.items()}
    tables = CountedTables(frame, datasets, name)
    for column in goal.needs.columns.get(None, {}):
        if column not in tables.columns:
            raise CommandError(
                f"the goal refers to the column {column!r}, and {name} has none "
                f"({nearest(column, tables.columns)})"
            )
    return tables


def check_column(option: str, column: str, tables: CountedTables, *, number: bool = False) -> None:
    """Refuse a column that is not there, or is not of numbers.

    Raises
    ------
    CommandError
        It names the option, and the nearest names.
    """
    if column not in tables.columns:
        raise CommandError(
            f"{option}: {tables.name} has no column {column!r} ({nearest(column, tables.columns)})"
        )
    kind = tables.columns[column]
    if number and kind != "number":
        raise CommandError(
            f"{option}: the column {column!r} of {tables.name} holds {kind}, allowed are numbers "
            "(--decimal ',' says how CSV writes them)"
        )


def check_baseline(baseline: str | None, tables: CountedTables, goal: Goal) -> None:
    """Refuse a goal over the deployed model without its column, and say where it has no use."""
    if baseline is None:
        if goal.needs.baseline:
            raise CommandError(
                "the goal refers to the deployed model: name the column with its predictions with "
                "--baseline"
            )
        return
    check_column("--baseline", baseline, tables)
    if not goal.needs.baseline:
        current().note(
            f"--baseline {baseline}: the goal does not refer to the deployed model, so the column "
            "is not looked at"
        )


def check_sensitive(sensitive: tuple[str, ...], tables: CountedTables, goal: Goal) -> None:
    """Refuse columns that are not there, and say of which the goal has no use."""
    for name in columns_named("--sensitive", sensitive, tables.columns, tables.name):
        if name not in goal.needs.names:
            current().note(
                f"--sensitive {name}: the goal does not refer to this column, so it is not looked "
                "at; a goal names groups, as in recall.difference(COL) <= 0.1"
            )


def positive_in(tables: CountedTables, target: str, positive: str | None) -> Any:
    """The label that --positive names, of the type that the table has; None without one."""
    if positive is None:
        return None
    from setpoint.counting.source import GroupBy, Key

    with step(f"the classes in {target}"), counting_errors():
        levels = tables.source.count(GroupBy((Key(target),))).levels[0]
    labels = sorted((v for v in levels if v is not None), key=lambda v: (str(type(v)), v))
    return label_of(positive, labels, target)


@contextmanager
def passes_shown() -> Iterator[Callable[[str], None]]:
    """Called after each pass: a line for it if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    with console.status("counting the rows"):
        yield lambda text: console.print(text, style="dim", markup=False)


@contextmanager
def counting_errors() -> Iterator[None]:
    """What DuckDB says as an error of a command.

    Raises
    ------
    CommandError
        In its place.
    """
    from setpoint.counting.duck import duckdb_module, first_line

    session = current()
    try:
        yield
    except duckdb_module().Error as error:
        if session.interrupted:
            raise KeyboardInterrupt from error
        raise CommandError(f"DuckDB cannot count the table: {first_line(error)}") from error
