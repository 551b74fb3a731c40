"""The page's cards for entries, its verdict, and its texts on the rule and the search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from setpoint.goals.expressions import Constraint
from setpoint.goals.goal import Goal
from setpoint.goals.words import constraint_in_words, in_words
from setpoint.report.entry import Entry
from setpoint.report.page.bars import Bar, bar_of
from setpoint.report.words import (
    constraint_lines,
    holds,
    interval_name,
    measured,
    number,
    rule_lines,
    sentence,
    verdict,
)
from setpoint.tolerances import SATISFIED

if TYPE_CHECKING:
    from setpoint.report.report import GoalReport

__all__ = ["Card", "Tone", "Verdict", "cards_of", "describe_rule", "verdict_of"]

Tone: TypeAlias = Literal["good", "unsure", "bad", "unknown", "plain"]
"""How a thing stands: its colour and its sign, beside its word."""

_MOST_SENTENCES = 3


@dataclass(frozen=True)
class Card:
    """An entry as the page shows it.

    Parameters
    ----------
    word : str
        Whether it is met.
    title, code : str
        In words, and as in the goal.
    facts : tuple of (name, text)
    note : str
        What the interval says about new rows.
    """

    tone: Tone
    word: str
    title: str
    code: str
    value: str
    facts: tuple[tuple[str, str], ...]
    note: str
    bar: Bar | None


@dataclass(frozen=True)
class Verdict:
    """Whether the goal is reached: a word, its tone, and sentences."""

    tone: Tone
    word: str
    lines: tuple[str, ...]


def tone_of(entry: Entry) -> Tone:
    """How a constraint stands."""
    if entry.satisfied is None:
        return "unknown"
    if not entry.satisfied:
        return "bad"
    return "good" if entry.interval in (None, "exact") or entry.is_clear else "unsure"


def cards_of(report: GoalReport) -> list[Card]:
    """The objective and every constraint."""
    goal = Goal.parse(report.goal)
    entry = report.objective
    facts = [_interval(entry, report.level), *_counted(entry, report.level)]
    if report.baseline_objective is not None:
        facts.append(("deployed model", number(report.baseline_objective)))
    if report.bound_on_objective is not None and report.status not in ("evaluated", "optimal"):
        facts.append(("no rule passes", number(report.bound_on_objective)))
    way = "as high as it goes" if goal.sense == "maximize" else "as low as it goes"
    first = Card(
        "plain",
        "objective",
        f"{sentence(in_words(goal.objective))}, {way}",
        entry.text,
        number(entry.value),
        tuple(f for f in facts if f[1]),
        "" if entry.value is not None else f"Not evaluated: {_why_not(goal)}.",
        bar_of(entry),
    )
    pairs = zip(report.constraints, goal.constraints, strict=True)
    return [first, *(_card(e, c, report.level) for e, c in pairs)]


def _card(entry: Entry, written: Constraint, level: float) -> Card:
    asked = "at least" if written.relation == ">=" else "at most"
    facts = []
    if entry.value is not None and entry.slack is not None:
        facts = [
            ("asked for", f"{asked} {number(entry.bound)}"),
            ("to spare" if entry.satisfied else "short by", _distance(entry)),
            _interval(entry, level),
            *_counted(entry, level),
        ]
    last = constraint_lines(entry, level)[-1]
    note = last if last.startswith("The interval") else ""
    if entry.value is None:
        note = "Not evaluated: there are no rows to count it on."
    words = {True: "met", False: "not met", None: "not evaluated"}
    return Card(
        tone_of(entry),
        words[entry.satisfied],
        sentence(constraint_in_words(written)),
        entry.text,
        number(entry.value),
        tuple(f for f in facts if f[1]),
        note,
        bar_of(entry, written.relation),
    )


def _interval(entry: Entry, level: float) -> tuple[str, str]:
    limits = "" if entry.low is None else f"{number(entry.low)} to {number(entry.high)}"
    return interval_name(entry, level), limits


def _counted(entry: Entry, level: float) -> list[tuple[str, str]]:
    """Counts and rows, as `measured` tells them after the interval."""
    if entry.value is None:
        return []
    *counts, rows = measured(replace(entry, low=None), level).split("; ")
    rows = rows.removeprefix("on ").removesuffix(" rows").removesuffix(" row")
    return [("counted", c) for c in counts] + [("rows", rows)]


def _distance(entry: Entry) -> str:
    """How far from the bound; below the tolerance of "satisfied" it is rounding."""
    far = abs(entry.slack or 0.0)
    return "nothing: just met" if entry.satisfied and far <= SATISFIED else number(far)


def verdict_of(report: GoalReport, where: str) -> Verdict:
    """Whether the goal is reached, by how much and how surely.

    Parameters
    ----------
    where : str
        The rows it was counted on, in words.
    """
    goal = Goal.parse(report.goal)
    tones = [tone_of(e) for e in report.constraints]
    tone: Tone
    if not report.constraints:
        tone, word = "plain", "Measured"
        if report.status == "optimal":
            word = "The best rule was found"
        elif report.status != "evaluated":
            word = "A rule was found"
    elif "bad" in tones:
        tone, word = "bad", "Not reached"
        if report.status == "nearest":
            word = "Not reached: no rule can"
    elif "unknown" in tones:
        tone, word = "unknown", "Not known"
    elif "unsure" in tones:
        tone, word = "unsure", "Reached on these rows, but not for certain"
    else:
        tone, word = "good", "Reached"
    lines = []
    if len(report.constraints) != 1 or "unknown" in tones:
        lines.append(verdict(report))
    ranked = sorted(
        zip(report.constraints, goal.constraints, strict=True),
        key=lambda pair: ("bad", "unknown", "unsure", "good").index(tone_of(pair[0])),
    )
    lines += [_against(e, c) for e, c in ranked[:_MOST_SENTENCES]]
    lines.append(_reached(report, goal))
    lines.append(f"Counted on {report.n_rows:,} {where}.")
    return Verdict(tone, word, tuple(x for x in lines if x))


def _against(entry: Entry, written: Constraint) -> str:
    """A constraint's value against its bound, and whether the interval is clear of it."""
    what = sentence(in_words(written.lhs))
    if entry.value is None or entry.bound is None or entry.slack is None:
        return f"{what} could not be evaluated: there are no rows to count it on."
    asked = "at least" if written.relation == ">=" else "at most"
    out = f"{what} is {number(entry.value)}, where {asked} {number(entry.bound)} was asked for: "
    if not entry.satisfied:
        out += f"short by {number(abs(entry.slack))}"
        return out + (", which may be chance." if holds(entry) else ".")
    out += "just met" if abs(entry.slack) <= SATISFIED else f"{number(entry.slack)} to spare"
    if tone_of(entry) == "unsure":
        return f"{out}, but its interval reaches past the bound."
    return out + (", clear of the bound." if entry.is_clear else ".")


def _why_not(goal: Goal) -> str:
    """Why an objective has no value."""
    if goal.is_blackbox:
        return "it has no formula, and its function was not called on these rows"
    return "there are no rows to count it on"


def _reached(report: GoalReport, goal: Goal) -> str:
    entry = report.objective
    what = sentence(in_words(goal.objective))
    if entry.value is None:
        return f"{what} could not be evaluated: {_why_not(goal)}."
    way = "high" if goal.sense == "maximize" else "low"
    out = f"{what}, to be as {way} as it goes, is {number(entry.value)}"
    if entry.low is not None:
        out += f" ({number(entry.low)} to {number(entry.high)})"
    if report.baseline_objective is not None:
        out += f"; the deployed model has {number(report.baseline_objective)}"
    return f"{out}."


def describe_rule(report: GoalReport) -> tuple[str, list[str]]:
    """The rule as it stands, and sentences on what it looks at and what it draws."""
    lines = rule_lines(report)[len(report.rule.split("\n")) if report.rule else 0 :]
    # A report that only measures does not know what the rule looks at.
    if report.rule and report.status != "evaluated":
        if not report.decides_on:
            lines.append("It looks at nothing but the score.")
        if not report.randomized:
            lines.append("The rule is deterministic.")
    return report.rule, lines
