"""The page of a comparison: one self-contained HTML file."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from setpoint.comparing.better import BETTER, WORSE, Part
from setpoint.comparing.display import MOST, ModelComparisonDisplay
from setpoint.comparing.facts import ComparisonFacts
from setpoint.comparing.pairs import Pair
from setpoint.comparing.words import changes_of, text_of
from setpoint.goals.words import goal_in_words, in_words
from setpoint.inputs.files import atomic_write
from setpoint.report.findings import sentence
from setpoint.report.numbers import number, percent, plural
from setpoint.report.page import Header
from setpoint.report.page.axis import Axis, Bar, bar_on
from setpoint.report.page.pictures import Figure, figure_of
from setpoint.report.page.rendering import rendered
from setpoint.report.picture import Picture
from setpoint.report.printable import shortened
from setpoint.report.units import Unit, shown, shown_bound, unit_of

__all__ = ["page_of_comparison", "write_comparison"]

_TONES = {BETTER: "shown", WORSE: "fails"}
_MOST_ROWS = 200
"""Rows that change, in the page."""


def write_comparison(
    path: str | os.PathLike[str], found: ComparisonFacts, header: Header | None = None
) -> None:
    """Write the page; an old file stays until the new one is whole."""
    atomic_write(path, page_of_comparison(found, header).encode("utf-8"))


def page_of_comparison(found: ComparisonFacts, header: Header | None = None) -> str:
    """The page as text: HTML without scripts and outside resources."""
    header = header or Header()
    rows = next(iter(found.pairs.values())).changes.rows
    top = (
        header.table, plural(rows, "row"), datetime.now(UTC).date().isoformat(), header.model,
        f"setpoint {version('setpoint')}",
    )  # fmt: skip
    others = found.names[1:]
    who = others[0] if len(others) == 1 else f"{len(others)} models"
    positive = next(iter(found.reports.values())).counts.positive
    values = {
        "header": [text for text in top if text],
        "headline": f"{who} against {found.names[0]}",
        "pairs": [_pair(pair, len(found.pairs) > 1) for pair in found.pairs.values()],
        "notes": [*header.cautions, *found.notes],
        "goal": str(found.goal),
        "goal_words": goal_in_words(found.goal, positive),
        "figures": _figures(found),
        "rows": _rows(found),
        "text": text_of(found),
    }
    return rendered("models.html.j2", values)


def _pair(pair: Pair, several: bool) -> dict[str, Any]:
    """The first model and another one."""
    axes = _axes(pair.parts)
    parts = [_part(part, i == 0, axes) for i, part in enumerate(pair.parts)]
    word = pair.verdict[0].upper() + pair.verdict[1:]
    return {
        "tone": _TONES.get(pair.verdict, "open"),
        "word": f"{pair.candidate}: {pair.verdict}" if several else word,
        "why": pair.why,
        "title": f"{pair.candidate} against {pair.today}" if several else "Part by part",
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


def _part(part: Part, is_objective: bool, axes: Mapping[Unit, Axis | None]) -> dict[str, Any]:
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
        "bar": _bar(part, unit, axes[unit]),
        "one": shown(part.today.value, unit),
        "other": shown(part.candidate.value, unit),
        "one_word": "" if is_objective else said[0],
        "other_word": "" if is_objective else said[1],
        "gain": "-" if gain is None else shown(gain.value, unit),
        "limits": limits,
        "tone": "unknown" if part.verdict is None else _TONES.get(part.verdict, "open"),
        "word": word[0].upper() + word[1:],
    }


def _axes(parts: Sequence[Part]) -> dict[Unit, Axis | None]:
    """For each unit an axis for all differences, with none in the middle."""
    far: dict[Unit, float] = {}
    for part in parts:
        gain, unit = part.difference, unit_of(part.side)
        ends = [] if gain is None else [gain.value, gain.low, gain.high]
        known = [abs(x) for x in ends if x is not None and math.isfinite(x)]
        far[unit] = max([far.get(unit, 0.0), *known])
    return {unit: Axis(-_round(x), _round(x)) if x > 0.0 else None for unit, x in far.items()}


def _round(x: float) -> float:
    """A number of two digits that is a little larger.

    Examples
    --------
    >>> _round(0.347), _round(1234.0)
    (0.37, 1300.0)
    """
    step = 10.0 ** (math.floor(math.log10(x)) - 1)
    return round(math.ceil(1.04 * x / step) * step, 12)


def _bar(part: Part, unit: Unit, axis: Axis | None) -> Bar | None:
    gain = part.difference
    if gain is None or axis is None:
        return None
    bar = bar_on(
        axis, unit, gain.value, low=gain.low, high=gain.high, bound=0.0, relation=gain.relation
    )
    ends = (shown_bound(axis.first, unit), shown_bound(axis.last, unit))
    return None if bar is None else replace(bar, ends=ends)


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
