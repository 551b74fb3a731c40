"""The table of what was asked: one row for each part of the goal, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from setpoint.goals.goal import Goal
from setpoint.inference.verdicts import FAILS, OPEN, SHOWN
from setpoint.report.facts import Facts
from setpoint.report.findings import Line, lines_of, sentence
from setpoint.report.page.axis import Bar, axis_for, bar_on
from setpoint.report.printable import shortened
from setpoint.report.units import asked

__all__ = ["WORDS", "PartRow", "Tone", "part_rows", "tone_of"]

Tone: TypeAlias = Literal["shown", "open", "fails", "unknown", ""]
"""How a thing stands: its sign and its colour, beside its word."""

WORDS: dict[Tone, str] = {
    "shown": "Shown",
    "open": "Too close to call",
    "fails": "Shown to fail",
    "unknown": "Not evaluated",
}

_LONGEST = 100
"""Characters of one part; the goal above the table is whole."""

_TONES: dict[str, Tone] = {SHOWN: "shown", OPEN: "open", FAILS: "fails"}


def tone_of(verdict: str | None) -> Tone:
    """The tone of a verdict.

    Examples
    --------
    >>> tone_of("too close to call"), tone_of(None)
    ('open', 'unknown')
    """
    return "unknown" if verdict is None else _TONES[verdict]


@dataclass(frozen=True)
class PartRow:
    """One part of the goal as the page shows it."""

    words: str
    code: str
    value: str
    counts: str
    asked: str
    searched: str
    limits: str
    limits_note: str
    tone: Tone
    word: str
    bar: Bar | None
    certified: str = ""


def part_rows(facts: Facts, goal: Goal) -> list[PartRow]:
    """The objective, then every constraint."""
    deployed = _deployed(facts)
    searched = [""]
    for entry, constraint in zip(facts.constraints, goal.constraints, strict=True):
        searched.append("" if entry.worked is None else asked(constraint, entry.worked))
    lines = lines_of(facts, goal)
    return [
        _row(line, other, with_bound)
        for line, other, with_bound in zip(lines, deployed, searched, strict=True)
    ]


def _row(line: Line, other: float | None, searched: str) -> PartRow:
    entry = line.entry
    exact = entry.interval == "exact"
    low, high = (None, None) if exact else (entry.low, entry.high)
    axis = axis_for([entry.value, entry.bound, low, high, other], line.unit)
    bar = bar_on(
        axis,
        line.unit,
        entry.value,
        low=low,
        high=high,
        bound=entry.bound,
        relation=entry.relation,
        other=other,
    )
    note = "bootstrap" if line.limits and entry.interval == "bootstrap" else ""
    tone: Tone = "" if entry.relation is None else tone_of(entry.verdict)
    return PartRow(
        shortened(sentence(line.words), _LONGEST),
        shortened(entry.text, _LONGEST),
        line.value,
        line.counts or entry.why,
        line.wanted,
        searched,
        line.limits,
        note,
        tone,
        "Certified" if line.verdict == "certified" else WORDS.get(tone, "Objective"),
        bar,
        line.certified,
    )


def _deployed(facts: Facts) -> Sequence[float | None]:
    """The deployed model's values of the same parts, where they were counted."""
    found = facts.deployed
    if found is None:
        return [None] * len(facts.entries)
    met: list[float | None] = [None] * len(facts.constraints)
    if len(found.constraints) == len(facts.constraints):
        met = [e.value for e in found.constraints]
    return [found.objective, *met]
