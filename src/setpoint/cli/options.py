"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.solvers import MODULES, SURROGATES
from setpoint.goals.errors import nearest

__all__ = [
    "Reading",
    "as_json",
    "columns_named",
    "datasets_option",
    "decide_new_groups",
    "delimited_options",
    "named_files",
    "new_groups_option",
    "reading_options",
    "search_options",
    "together",
    "training_options",
    "trust_option",
]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Reading:
    """How tables are to be read.

    Parameters
    ----------
    encoding, separator, decimal : str, optional
        None: what the file suggests.
    """

    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in the order of the help."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How the tables are written, where that is not found out right: the argument `reading`."""
    encoding = click.option("--encoding", metavar="E", help="Such as latin-1. Default: UTF-8.")
    return encoding(_marks(command))


def delimited_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same for tables that are UTF-8 in any case."""
    return _marks(command)


def _marks(command: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(command)
    def given(
        separator: str | None, decimal: str | None, encoding: str | None = None, **more: Any
    ) -> Any:
        return command(reading=Reading(encoding, separator, decimal), **more)

    return together(
        click.option("--separator", metavar="S", help=r"Between fields: ',', ';', '|' or '\t'."),
        click.option("--decimal", metavar="D", help="The decimal mark, '.' or ','."),
    )(given)


training_options = together(
    click.option(
        "--module",
        type=click.Choice(MODULES),
        help="The model that is trained by portfolio, the methods in it, and "
        "adaptive-surrogates: linear (the default), or a network.",
    ),
    click.option(
        "--checkpoint",
        metavar="FILE",
        help="Where a training for the goal keeps its state, or the evaluations of a metric; "
        "the same command goes on from it.",
    ),
    click.option(
        "--min-positives",
        type=click.IntRange(0),
        metavar="N",
        help="Rows that a model trained for the goal has to predict positive; fewer prove "
        "nothing. Else 20, or 2 % of the positives if that is more, at most half of them.",
    ),
    click.option(
        "--validation-fraction",
        type=click.FloatRange(0, 1, max_open=True),
        metavar="F",
        help="Share of the rows not held out that is kept from the training, to choose model "
        "and threshold by. Else 0.2 for a network and 0 for linear: the training rows choose.",
    ),
    click.option(
        "--inverse-regularization",
        type=click.FloatRange(0, min_open=True),
        metavar="C",
        help="How closely augmented-lagrangian and cutting-plane follow the rows: smaller is "
        "smoother. Else 0.1.",
    ),
    click.option(
        "--max-seconds",
        type=click.FloatRange(0, min_open=True),
        metavar="S",
        help="For the search or the training; then the best so far is kept.",
    ),
)
"""What is said to solvers that train the model for the goal."""


search_options = together(
    click.option(
        "--budget",
        type=click.IntRange(1),
        metavar="N",
        help="The most evaluations of the metric. Else 2,000, or 1,000 for post-shift.",
    ),
    click.option(
        "--surrogates",
        multiple=True,
        metavar="NAMES",
        help=f"The losses that they weigh: {', '.join(SURROGATES)}. Else sigmoid.",
    ),
    click.option(
        "--surrogate-group",
        "surrogate_groups",
        multiple=True,
        metavar="COL[=VALUE]",
        help="Groups of rows that adaptive-surrogates and surrogate-weights weigh apart.",
    ),
    click.option(
        "--jobs",
        type=click.IntRange(1),
        metavar="N",
        help="Processes in which a metric is evaluated. Else 1.",
    ),
    click.option(
        "--validation",
        metavar="FILE",
        help="A table with the same columns: the metric is measured on its labels, and those "
        "of DATA, which may be noisy, only train.",
    ),
)
"""What is said to solvers that evaluate a metric."""


as_json = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object on stdout instead of text."
)

datasets_option = click.option(
    "--dataset",
    "datasets",
    metavar="NAME=FILE",
    multiple=True,
    help="A further table that the goal refers to by this name.",
)

new_groups_option = click.option(
    "--new-groups",
    type=click.Choice(["error", "largest"]),
    default="error",
    show_default=True,
    help="What becomes of a group that the model has not seen; largest: the largest group's rule.",
)

trust_option = click.option(
    "--trust",
    metavar="TYPE",
    multiple=True,
    help="A type that the model file may hold beside setpoint's and scikit-learn's.",
)


def decide_new_groups(classifier: Any, new_groups: str) -> None:
    """Let a classifier decide groups that it has not seen, as ``--new-groups`` says."""
    if "response" in classifier.get_params(deep=False):
        found = "raise" if new_groups == "error" else "largest"
        classifier.set_params(response__unknown_group=found)


def named_files(datasets: Sequence[str]) -> dict[str, str]:
    """The files of ``NAME=FILE``.

    Raises
    ------
    CommandError
        If one is written otherwise, or a name is given twice.

    Examples
    --------
    >>> named_files(["checked=checked.csv"])
    {'checked': 'checked.csv'}
    """
    out: dict[str, str] = {}
    for text in datasets:
        name, equals, path = text.partition("=")
        if not name or not equals or not path:
            raise CommandError(f"--dataset is NAME=FILE, got {text!r}")
        if name in out:
            raise CommandError(f"--dataset names {name!r} twice")
        out[name] = path
    return out


def columns_named(
    option: str, values: Iterable[str], there: Iterable[str], table: str
) -> tuple[str, ...]:
    """Names of columns from an option: separated by commas, or the option repeated.

    A value that is itself the name of a column is taken as it is, commas and all.

    Parameters
    ----------
    option : str
        Its name, for messages.
    there : iterable of str
        The table's columns.
    table : str
        The table's name.

    Raises
    ------
    CommandError
        If there is no such column.

    Examples
    --------
    >>> columns_named("--drop", ["id,name", "a, b"], ["id", "name", "a, b"], "t.csv")
    ('id', 'name', 'a, b')
    """
    known = list(there)
    found: dict[str, None] = {}
    for value in values:
        for name in [value] if value in known else [v.strip() for v in value.split(",")]:
            if name not in known:
                raise CommandError(
                    f"{option}: {table} has no column {name!r} ({nearest(name, known)})"
                )
            found[name] = None
    return tuple(found)
