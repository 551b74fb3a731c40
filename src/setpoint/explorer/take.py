"""What a page hands back: the rule as JSON, SQL and Python, and a command; with places to fill."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from enum import Enum
from typing import Any, TypeAlias

from setpoint.errors import SetpointError
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Key, Label, literal
from setpoint.rules import PerSegment, Rule, Threshold

__all__ = ["Command", "Place", "command_template", "take_templates"]

_SCORE = "score"


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
    segments: Sequence[Key],
    goals: Sequence[Goal] = (),
    *,
    weighted: bool = False,
) -> dict[str, Any]:
    """Templates for one threshold, and for one for each segment where there are several.

    Of JSON and SQL every second piece is the number of a threshold. Of Python and of the command,
    which chooses anew by the goal, a list is a place.

    Parameters
    ----------
    classes : sequence of labels
        The second is the positive one.
    segments : sequence of Key
    goals : sequence of Goal
        Of the page.
    weighted : bool
        Whether the rows have weights.

    Examples
    --------
    >>> found = take_templates(("no", "yes"), [()])["one"]
    >>> found["json"]
    ['{"format": 2, "rule": {"type": "threshold", "threshold": ', 0, ', "width": 0.0}}']
    >>> found["shell"][1:]
    [['goal']]
    """
    columns = [name for name, _ in segments[0]]
    named = any(goal.needs.columns.get(None) for goal in goals)
    more = ["--weight", "WEIGHT"] if weighted else []
    if any(goal.needs.baseline for goal in goals):
        more += ["--baseline", "DEPLOYED"]
    one = _of(lambda t: Threshold(t[0]), 1, classes)
    one["python"] = _python(classes, ())
    one["shell"] = _solve(classes, [*more, "--decide-on", "none"] if named else more)
    out: dict[str, Any] = {"score": _SCORE, "one": one, "segments": None}
    if len(segments) > 1:
        own = _of(lambda t: PerSegment([Threshold(x) for x in t], segments), len(segments), classes)
        own["python"] = _python(classes, columns)
        looks = [word for name in columns for word in ("--decide-on", name)]
        own["shell"] = _solve(classes, [*more, *looks])
        out["segments"] = own
    return out


def _python(classes: Sequence[Label], columns: Sequence[str]) -> list[str | list[str]]:
    """Lines that decide by the rule as it is shown."""
    no, yes = map(literal, classes)
    scores = f"# scores: one for each row, higher for {yes}"
    codes = f"# 1 is {yes}, 0 is {no}"
    lines = [f"{scores}\ndecided = rule.decide(scores)  {codes}"]
    if columns:
        names = ", ".join(map(literal, columns))
        lines = [
            f"{scores}; columns: a dict or a frame with {names}",
            "segments = rule.segment_codes(columns)  # places in rule.segment_keys; -1 is in none",
            f"decided = rule.decide(scores, segments)  {codes}",
        ]
    before = "from setpoint.rules import Rule\n\nrule = Rule.from_json("
    return [before, [Place.RULE.value], ")\n" + "\n".join(lines)]


def _solve(classes: Sequence[Label], more: Sequence[str]) -> list[str | list[str]]:
    """The command for scores in a table; what it is called there is not known."""
    words = ["setpoint", "solve", "SCORES.csv", "--score", "SCORE", "--target", "LABEL"]
    words += ["--positive", str(classes[1]), *more, "--goal"]
    says = "# Chooses anew by the goal, on the rows of a table; put its names for the capitals.\n"
    return command_template([f"{says}{shlex.join(words)} ", Place.GOAL])


def _of(make: Any, n: int, classes: Sequence[Label]) -> dict[str, Any]:
    marks = [float(f"0.8271{i:04d}3917") for i in range(n)]
    rule: Rule = make(marks)
    try:
        sql = rule.to_sql(_SCORE, classes=classes)
    except SetpointError as error:  # such as a column of mixed values
        sql = f"-- not in SQL: {error}"
    return {"json": _pieces(rule.to_json(), marks), "sql": _pieces(sql, marks)}


def _pieces(text: str, marks: Sequence[float]) -> list[str | int]:
    out: list[str | int] = []
    for i, mark in enumerate(marks):
        before, found, text = text.partition(repr(mark))
        out.append(before)
        if found:
            out.append(i)
    return [*out, text]
