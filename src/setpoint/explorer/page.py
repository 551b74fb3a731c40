"""The page on which bounds are dragged, and what is copied from it."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any, TypeAlias

from setpoint.errors import InputTypeError, SetpointError
from setpoint.goals import Goal, Label, literal
from setpoint.inputs import atomic_write
from setpoint.report import rendered
from setpoint.rules import Threshold

# --- The modules of the page as one script --------------------------------------------------------


_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"([^"]+)";?[ \t]*\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(async )?(function|class|const|let)\b)", re.MULTILINE)
_LIST = re.compile(r"^export\s*\{[^}]*\};?[ \t]*\n", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*?[\s\S]*?\*/|//[^\n]*)[ \t]*\n", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]+|\n(?=\n)", re.MULTILINE)

ENTRY = "view/main.js"


@cache
def bundled(entry: str = ENTRY) -> str:
    """A module and all that it imports, each once, those below first."""
    parts: dict[str, str] = {}
    _visit(entry, parts)
    return "\n".join(f"// {name}\n{text}" for name, text in parts.items())


def _visit(name: str, parts: dict[str, str]) -> None:
    text = _read(name)
    for path in _IMPORT.findall(text):
        below = normpath(join(dirname(name), path))
        if below not in parts:
            _visit(below, parts)
    text = _LIST.sub("", _EXPORT.sub("", _IMPORT.sub("", text)))
    parts[name] = _INDENT.sub("", _COMMENT.sub("", text)).strip()


def _read(name: str) -> str:
    return files("setpoint.explorer").joinpath("js", *name.split("/")).read_text("utf-8")


# --- The page: one file with its data and its script ----------------------------------------------


def in_script(payload: dict[str, Any]) -> str:
    r"""JSON that a script element can hold whatever its texts say.

    Examples
    --------
    >>> print(in_script({"goal": "</script><!--"}))
    {"goal":"\u003c/script>\u003c!--"}
    """
    text = json.dumps(payload, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


# --- What a page hands back: the rule as JSON, SQL and Python, and a command ----------------------


Place: TypeAlias = list[str]
"""What a page puts between the pieces of a command or a rule, so that no text stands for it."""

GOAL: Place = ["goal"]
"""The goal, with the bounds of the page, as one word of the shell."""
THRESHOLD: Place = ["threshold"]
"""The threshold, as a finite number."""
RULE: Place = ["rule"]
"""The rule as JSON."""

Command: TypeAlias = Sequence[str | Place]


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
    no, yes = map(literal, classes)
    python = (
        f"# scores: one for each row, higher for {yes}\n"
        f"decided = rule.decide(scores)  # 1 is {yes}, 0 is {no}"
    )
    # What the columns are called in a table is not known.
    words = ["setpoint", "solve", "SCORES.csv", "--score", "SCORE", "--target", "LABEL"]
    words += ["--positive", str(classes[1])]
    if weighted:
        words += ["--weight", "WEIGHT"]
    if any(goal.needs.baseline for goal in goals):
        words += ["--baseline", "DEPLOYED"]
    if any(goal.needs.columns.get(None) for goal in goals):
        words += ["--decide-on", "none"]
    says = "# Chooses anew by the goal, on the rows of a table; put its names for the capitals.\n"
    mark = 0.827100003917
    rule = Threshold(mark)
    try:
        sql = rule.to_sql("score", classes=classes)
    except SetpointError as error:  # such as a column of mixed values
        sql = f"-- not in SQL: {error}"
    return {
        "json": _pieces(rule.to_json(), mark),
        "sql": _pieces(sql, mark),
        "python": [
            "from setpoint.rules import Rule\n\nrule = Rule.from_json(",
            RULE,
            f")\n{python}",
        ],
        "shell": [f"{says}{shlex.join([*words, '--goal'])} ", GOAL],
    }


def _pieces(text: str, mark: float) -> list[str | int]:
    before, found, after = text.partition(repr(mark))
    return [before, 0, after] if found else [before]


# --- The page of a goal's operating points, as a value --------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Explorer:
    """A page on which the bounds of a goal are dragged.

    :func:`setpoint.explore` and ``clf.explore`` make it.

    Parameters
    ----------
    payload : dict
        What the page computes from, as plain data: the tally of counts along the curve, the
        formulas of the goal, and limits.

    Examples
    --------
    >>> from setpoint import explore
    >>> page = explore("maximize recall s.t. precision >= 0.6", [0.9, 0.6, 0.4, 0.2], [1, 0, 1, 0])
    >>> page
    Explorer('maximize recall subject to precision >= 0.6', 4 rows)
    >>> page.payload["rows"]["distinct"]
    4
    """

    payload: dict[str, Any]

    def __repr__(self) -> str:
        rows = self.payload["rows"]["n"]
        return f"Explorer({self.payload['programs'][0]['goal']!r}, {rows:,} rows)"

    @property
    def html(self) -> str:
        """The page as text: one file, which asks for nothing from outside.

        Raises
        ------
        ImportError
            If jinja2 is not installed.
        """
        values = {
            "headline": self.payload["programs"][0]["goal"],
            "script": bundled(),
            "payload": in_script(self.payload),
        }
        return rendered("template.html.j2", values, room="setpoint.explorer")

    def for_shell(self, command: Command) -> Explorer:
        """The same page, on which "take this" shows another command.

        Parameters
        ----------
        command : sequence of str and Place
            Pieces of text, and between them what the page puts there.

        Examples
        --------
        >>> from setpoint import explore
        >>> page = explore("maximize recall s.t. precision >= 0.6", [0.9, 0.6, 0.4], [1, 0, 1])
        >>> from setpoint.explorer.page import THRESHOLD
        >>> own = page.for_shell(["setpoint take m.skops new.csv --line=", THRESHOLD])
        >>> own.payload["take"]["shell"]
        ['setpoint take m.skops new.csv --line=', ['threshold']]
        """
        take = self.payload["take"] | {"shell": list(command)}
        return Explorer(self.payload | {"take": take})

    def summary(self) -> dict[str, Any]:
        """What the page holds, as plain values: rows, thresholds, whether bounds are met."""
        rows, check = self.payload["rows"], self.payload.get("check")
        first = self.payload["programs"][0]
        return {
            "goal": first["goal"],
            "rows": rows["n"],
            "check_rows": None if check is None else check["n"],
            "distinct": rows["distinct"],
            "bins": rows["bins"],
            "feasible": first["start"]["feasible"],
        }

    def __str__(self) -> str:
        """What the page holds, in sentences."""
        rows, check = self.payload["rows"], self.payload.get("check")
        lines = [f"{rows['n']:,} rows. {rows['where']}"]
        lines.append(f"{rows['distinct']:,} distinct scores, each with its threshold.")
        if rows["open"]:
            lines[-1] = (
                f"{rows['distinct']:,} distinct scores, of which neighbours share one of "
                f"{rows['bins']:,} bins; the page says what a threshold inside one could gain."
            )
        if not self.payload["programs"][0]["start"]["feasible"]:
            lines.append("No threshold meets the bounds: the page begins at the nearest.")
        if rows["warning"]:
            lines.append(rows["warning"])
        if check is None:
            lines.append("No rows are held out for a check.")
        else:
            lines.append(f"A chosen point is checked on {check['n']:,} rows held out.")
        return "\n".join(lines)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page; an old file stays until the new one is whole.

        Parameters
        ----------
        path : path

        Raises
        ------
        ImportError
            As :attr:`html`.
        OSError
            If the file cannot be written.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise InputTypeError(f"`path` names a file, found {type(path).__name__}")
        atomic_write(Path(path), self.html.encode("utf-8"))

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame of its own."""
        return (
            '<iframe sandbox="allow-scripts" title="setpoint explorer" '
            'style="width:100%;height:900px;border:0" '
            f'srcdoc="{escape(self.html, quote=True)}"></iframe>'
        )
