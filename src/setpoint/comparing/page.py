"""The page of a comparison: one self-contained HTML file."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from setpoint.comparing.better import BETTER, WORSE, Part
from setpoint.comparing.display import MOST, ModelComparisonDisplay
from setpoint.comparing.facts import ComparisonFacts
from setpoint.comparing.pairs import Pair
from setpoint.comparing.words import changes_of, headline, text_of
from setpoint.goals.goal import Goal
from setpoint.goals.words import goal_in_words, in_words
from setpoint.inputs.files import atomic_write
from setpoint.report.findings import sentence
from setpoint.report.numbers import number, percent, plural
from setpoint.report.page import Header
from setpoint.report.page.axis import Bar, axis_for, bar_on
from setpoint.report.page.pictures import Figure, figure_of
from setpoint.report.page.rendering import rendered
from setpoint.report.picture import Picture
from setpoint.report.printable import shortened
from setpoint.report.units import Unit, shown, unit_of

__all__ = ["page_of_comparison", "write_comparison"]

_TONES = {BETTER: "shown", WORSE: "fails"}
_MOST_ROWS = 200
"""Rows that change, in the page."""


def write_comparison(
    path: str | os.PathLike[str], found: ComparisonFacts, header: Header | None = None
) -> None:
    """Write the page; an old file stays until the new one is whole.

    Parameters
    ----------
    path : path
    found, header
        As in :func:`page_of_comparison`.
    """
    atomic_write(path, page_of_comparison(found, header).encode("utf-8"))


def page_of_comparison(found: ComparisonFacts, header: Header | None = None) -> str:
    """The page as text: HTML without scripts and outside resources.

    Parameters
    ----------
    found : ModelComparison
    header : Header, optional
        File names and cautions.

    Raises
    ------
    ImportError
        If jinja2, or for the picture matplotlib, is not installed.
    """
    header = header or Header()
    rows = next(iter(found.pairs.values())).changes.rows
    top = (
        header.table, plural(rows, "row"), datetime.now(UTC).date().isoformat(), header.model,
        f"setpoint {version('setpoint')}",
    )  # fmt: skip
    positive = next(iter(found.reports.values())).counts.positive
    values = {
        "header": [text for text in top if text],
        "headline": headline(found).removesuffix("."),
        "pairs": [_pair(pair, found.goal, len(found.pairs) > 1) for pair in found.pairs.values()],
        "notes": [*header.cautions, *found.notes],
        "goal": str(found.goal),
        "goal_words": goal_in_words(found.goal, positive),
        "figures": _figures(found),
        "rows": _rows(found),
        "text": text_of(found),
    }
    return rendered("models.html.j2", values)


def _pair(pair: Pair, goal: Goal, several: bool) -> dict[str, Any]:
    """The first model and another one."""
    parts = [_part(part, goal.sense if not i else "") for i, part in enumerate(pair.parts)]
    word = pair.verdict[0].upper() + pair.verdict[1:]
    return {
        "tone": _TONES.get(pair.verdict, "open"),
        "word": f"{pair.candidate}: {pair.verdict}" if several else word,
        "why": pair.why,
        "title": f"{pair.candidate} against {pair.today}",
        "today": pair.today,
        "candidate": pair.candidate,
        "parts": parts,
        "drawn": any(part["bar"] for part in parts),
        "level": percent(pair.level),
        "changes": changes_of(pair),
        "groups": [
            {
                "name": f"{g.column} = {g.value}",
                "rows": f"{g.changes.rows:,}",
                "changed": percent(g.changes.changed),
                "wins": percent(g.changes.wins or 0.0),
                "losses": percent(g.changes.losses or 0.0),
            }
            for g in pair.groups
        ],
    }


def _part(part: Part, sense: str) -> dict[str, Any]:
    """One row of the table: both values, and the difference on an axis around none."""
    unit, gain = unit_of(part.side), part.difference
    limits = ""
    if gain is not None and gain.low is not None and gain.high is not None:
        limits = f"{shown(gain.low, unit)} to {shown(gain.high, unit)}"
    word = (part.verdict or "not measured").removeprefix("shown to be ")
    said = [e.verdict or "not evaluated" for e in (part.today, part.candidate)]
    return {
        "words": sentence(in_words(part.side)),
        "code": part.today.text,
        "bar": _bar(part, unit),
        "one": shown(part.today.value, unit),
        "other": shown(part.candidate.value, unit),
        "one_word": "" if sense else said[0],
        "other_word": "" if sense else said[1],
        "gain": "-" if gain is None else shown(gain.value, unit),
        "limits": limits,
        "tone": "unknown" if part.verdict is None else _TONES.get(part.verdict, "open"),
        "word": word[0].upper() + word[1:],
    }


def _bar(part: Part, unit: Unit) -> Bar | None:
    gain = part.difference
    if gain is None or gain.value is None:
        return None
    ends = [gain.value, gain.low, gain.high, 0.0]
    far = max(abs(x) for x in ends if x is not None)
    axis = axis_for([-far, far], "number")  # no difference in the middle
    return bar_on(
        axis, unit, gain.value, low=gain.low, high=gain.high, bound=0.0, relation=gain.relation
    )


def _figures(found: ComparisonFacts) -> list[Figure]:
    """The frontiers in one picture, where they can be distinguished."""
    if not found.points or len(found.names) > MOST:
        return []
    name = "The models and the best that their scores reach"
    stands = "; ".join(
        f"{one} at {number(x)} and {number(y)}" for one, (x, y) in found.points.items()
    )
    picture = Picture(
        name,
        ModelComparisonDisplay(found).plot,
        f"The best objective of each model as one bound moves. {stands}.",
        "A line is the best of all thresholds on the scores of one model, found on these very "
        "rows, which flatter it. A dot is the model as it decides; the hollow one is in use. A dot "
        "below its line could decide better by the same scores.",
    )
    return [figure_of(picture, 1)]


def _rows(found: ComparisonFacts) -> dict[str, Any]:
    """The rows that change, as text."""
    columns = found.changed
    n = len(columns["row"])
    head = list(columns)
    some = [[_cell(x) for x in columns[name][:_MOST_ROWS].tolist()] for name in head]
    return {
        "words": f"{plural(n, 'row')} of these are decided otherwise than by {found.names[0]}.",
        "head": [name.replace("_", " ", 1) for name in head],
        "lines": [list(line) for line in zip(*some, strict=True)],
    }


def _cell(x: Any) -> str:
    return number(x) if isinstance(x, float) else shortened(str(x))
