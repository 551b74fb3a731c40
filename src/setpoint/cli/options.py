"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from setpoint.cli.errors import CommandError

__all__ = [
    "as_json",
    "datasets_option",
    "named_files",
    "new_groups_option",
    "sensitive_option",
    "skip_option",
    "target_option",
    "together",
    "trust_option",
    "weight_option",
]

F = TypeVar("F", bound=Callable[..., Any])


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in the order of the help."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


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
    "unknown_group",
    callback=lambda _ctx, _param, given: "raise" if given == "error" else given,
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

target_option = click.option(
    "--target", metavar="COL", help="The column with the labels; else as in the fit."
)

skip_option = click.option(
    "--skip-unlabelled", is_flag=True, help="Leave out rows without a label."
)

sensitive_option = click.option(
    "--sensitive",
    multiple=True,
    metavar="COLS",
    help="Columns with groups, checked to be there. Those that the goal names are.",
)

weight_option = click.option("--weight", metavar="COL", help="The column with the rows' weights.")


def named_files(datasets: Sequence[str]) -> dict[str, str]:
    """The files of ``NAME=FILE``.

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
