"""The commands of the program by name: their modules are imported when they are named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import NamedTuple

import click

__all__ = ["GROUPS", "PLACES", "LazyCommands", "Place"]


class Place(NamedTuple):
    """Where a command is."""

    module: str
    name: str
    short_help: str


PLACES = {
    "demo": Place("demo", "demo", "Run the main job on a table of 569 tumours."),
    "goal": Place(
        "goal", "goal", "Say what a goal means and how it would be solved, or list the metrics."
    ),
    "fit": Place("fit", "fit", "Fit a model and find the rule for its scores that reaches a goal."),
    "train": Place("fit", "train", "Train a model for a goal, over the rows as a whole."),
    "solve": Place(
        "solve", "solve", "Find the rule for the scores of a model, on tables of any size."
    ),
    "evaluate": Place(
        "evaluate",
        "evaluate",
        "Judge a model file by a table with labels, or decisions that are a column of tables.",
    ),
    "compare": Place(
        "compare",
        "compare",
        "Compare the candidate MODEL_B with MODEL_A, today's, on a table with labels.",
    ),
    "plan": Place("plan", "plan", "Say how many rows it takes to certify a goal on new rows."),
    "frontier": Place(
        "frontier", "frontier", "Show the best objective as the bound of one constraint moves."
    ),
    "explore": Place(
        "explore",
        "explore",
        "Write a page on which the bounds of MODEL's goal are moved by hand.",
    ),
    "predict": Place(
        "predict", "predict", "Decide the rows of a table, or of many, by a model file."
    ),
    "take": Place("take", "take", "Move the rule of MODEL to another bound, without a new fit."),
    "monitor": Place("monitor", "monitor", "Watch a model file on new rows, in their order."),
    "explain": Place("explain", "explain", "Say why rows are decided as they are."),
    "show": Place(
        "show",
        "show",
        "Show what a model file holds: its goal, its rule, its columns, and what was reached then.",
    ),
    "export": Place(
        "export", "export", "Write the decision rule of a model, to decide where the rows are."
    ),
}
"""The commands by their names."""

GROUPS = {
    "Begin": ("demo", "goal"),
    "Make": ("fit", "train", "solve"),
    "Judge": ("evaluate", "compare", "plan"),
    "Choose": ("frontier", "explore"),
    "Use": ("predict", "take", "monitor", "explain", "show", "export"),
}
"""What they are for, in the order of the help."""


class LazyCommands(Mapping[str, click.Command]):
    """The commands as click takes them; looking one up imports its module.

    Examples
    --------
    >>> "fit" in list(LazyCommands()), LazyCommands()["goal"].name
    (True, 'goal')
    """

    def __getitem__(self, name: str) -> click.Command:
        place = PLACES[name]
        command: click.Command = getattr(import_module(f"setpoint.cli.{place.module}"), place.name)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)
