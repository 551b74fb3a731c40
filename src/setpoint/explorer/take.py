"""What a page hands back: the rule as JSON, SQL and Python, and a command; with places to fill."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from enum import Enum
from typing import Any, TypeAlias

from setpoint.errors import SetpointError
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Label, literal
from setpoint.rules import Threshold

__all__ = ["Command", "Place", "command_template", "take_templates"]


class Place(Enum):
    """What a page puts between the pieces of a command, as one word of the shell.

    Examples
    --------
    >>> Place.RULE.value
    'rule'
    """

    GOAL = "goal"
    """The goal, with the bounds of the page."""
    THRESHOLD = "threshold"
    """The threshold, as a finite number; of rules with one."""
    RULE = "rule"
    """The rule as JSON."""


Command: TypeAlias = Sequence[str | Place]


def command_template(command: Command) -> list[str | list[str]]:
    """A command as the page reads it: a list stands for a place, so that no text does.

    Examples
    --------
    >>> command_template(["setpoint take my{goal}.skops --line=", Place.THRESHOLD])
    ['setpoint take my{goal}.skops --line=', ['threshold']]
    """
    return [[piece.value] if isinstance(piece, Place) else piece for piece in command]


def take_templates(
    classes: Sequence[Label],
    goals: Sequence[Goal] = (),
    *,
    weighted: bool = False,
) -> dict[str, Any]:
    """Templates for one threshold.

    Examples
    --------
    >>> found = take_templates(("no", "yes"))
    >>> found["json"]
    ['{"format": 2, "rule": {"type": "threshold", "threshold": ', 0, ', "width": 0.0}}']
    >>> found["shell"][1:]
    [['goal']]
    """
    named = any(goal.needs.columns.get(None) for goal in goals)
    more = ["--weight", "WEIGHT"] if weighted else []
    if any(goal.needs.baseline for goal in goals):
        more += ["--baseline", "DEPLOYED"]
    return {
        **_of(classes),
        "python": _python(classes),
        "shell": _solve(classes, [*more, "--decide-on", "none"] if named else more),
    }


def _python(classes: Sequence[Label]) -> list[str | list[str]]:
    """Lines that decide by the rule as it is shown."""
    no, yes = map(literal, classes)
    lines = (
        f"# scores: one for each row, higher for {yes}\n"
        f"decided = rule.decide(scores)  # 1 is {yes}, 0 is {no}"
    )
    before = "from setpoint.rules import Rule\n\nrule = Rule.from_json("
    return [before, [Place.RULE.value], f")\n{lines}"]


def _solve(classes: Sequence[Label], more: Sequence[str]) -> list[str | list[str]]:
    """The command for scores in a table; what it is called there is not known."""
    words = ["setpoint", "solve", "SCORES.csv", "--score", "SCORE", "--target", "LABEL"]
    words += ["--positive", str(classes[1]), *more, "--goal"]
    says = "# Chooses anew by the goal, on the rows of a table; put its names for the capitals.\n"
    return command_template([f"{says}{shlex.join(words)} ", Place.GOAL])


def _of(classes: Sequence[Label]) -> dict[str, Any]:
    mark = 0.827100003917
    rule = Threshold(mark)
    try:
        sql = rule.to_sql("score", classes=classes)
    except SetpointError as error:  # such as a column of mixed values
        sql = f"-- not in SQL: {error}"
    return {"json": _pieces(rule.to_json(), mark), "sql": _pieces(sql, mark)}


def _pieces(text: str, mark: float) -> list[str | int]:
    before, found, after = text.partition(repr(mark))
    return [before, 0, after] if found else [before]
