"""What is not certain, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from setpoint.goals.expressions import Const, Constraint, Expression, Metric, Reduce
from setpoint.goals.goal import Goal
from setpoint.goals.table import TABLE
from setpoint.report.entry import Entry, GroupRow
from setpoint.report.groups import smallest_group
from setpoint.report.page.cards import tone_of
from setpoint.report.page.verbalize import in_words
from setpoint.report.words import HALF_THE_TIME, certificate, holds, number, sentence
from setpoint.tolerances import SATISFIED

if TYPE_CHECKING:
    from setpoint.report.report import GoalReport

__all__ = ["Note", "notes_of"]

_SEARCHED = ("optimal", "feasible", "stationary", "nearest")

_CHANCE = "The bound lies within the interval, so chance alone may have done it."

_NO_CHANCE = (
    "The bound lies outside the interval, so it was hardly chance alone: the rule fits the rows "
    "it was chosen on better than others, or these rows are of another kind."
)

_MOST_TIMES = 50
"""Advice asks for at most so many times the rows that there are."""


@dataclass(frozen=True)
class Note:
    """Something that is not certain, and its remedy ("" where there is none to give)."""

    what: str
    remedy: str = ""


def notes_of(report: GoalReport, held_out: GoalReport | None = None) -> list[Note]:
    """What a reader should know before relying on the numbers, the gravest first.

    Parameters
    ----------
    report : GoalReport
        Of the rows that the rule was chosen on.
    """
    lead = report if held_out is None else held_out
    goal = Goal.parse(report.goal)
    out = [*_unreachable(report)]
    first = report.constraints if held_out is not None else (None,) * len(lead.constraints)
    for entry, before, written in zip(lead.constraints, first, goal.constraints, strict=True):
        out += _constraint(entry, before, written, smallest_group(written, lead.groups))
    if held_out is None and report.constraints and report.status in _SEARCHED:
        out.append(
            Note(
                HALF_THE_TIME,
                "Measure the rule on rows that took no part in the search, and judge it by those.",
            )
        )
    out += _search(report, goal)
    out += _warnings(report, held_out)
    return out


def _unreachable(report: GoalReport) -> Iterator[Note]:
    if report.status != "nearest":
        return
    what = (
        "No rule of this kind meets every constraint on these scores; this is the rule that comes "
        "nearest"
    )
    remedy = "Loosen a constraint, or give the model better data to learn from."
    if report.blame:
        shares = sorted(report.blame.items(), key=lambda pair: -abs(pair[1]))
        blamed = ", ".join(f"{text} ({number(share)})" for text, share in shares)
        what += f". What cannot hold together, with the share of each in it: {blamed}"
        remedy = (
            f"Loosen {shares[0][0]} first"
            + (", which weighs most" if len(shares) > 1 else "")
            + ", or give the model better data to learn from."
        )
    yield Note(f"{what}.", remedy)


def _constraint(
    entry: Entry, before: Entry | None, written: Constraint, small: GroupRow | None
) -> Iterator[Note]:
    """What one constraint leaves open.

    `before` is its entry on the rows of the search, `small` the smallest group it compares.
    """
    what = sentence(in_words(written.lhs))
    tone = tone_of(entry)
    said, remedy = "", ""
    if tone == "unknown":
        said = f"{what} was not evaluated: there are no rows to count it on."
        remedy = "Add rows of this kind that have labels, or leave the constraint out."
    elif tone == "bad" and before is not None and before.satisfied:
        said = (
            f"{what} met its bound on the rows the rule was chosen on, but not on those held out. "
        ) + (_CHANCE if holds(entry) else _NO_CHANCE)
        remedy = _stricter(entry, written)
    elif tone == "bad" and holds(entry):
        said = (
            f"{what} misses its bound, but the bound lies within the interval: new rows may well "
            "meet it."
        )
        remedy = "Measure on more rows before you decide."
    elif tone == "unsure":
        said = (
            f"{what} meets its bound, but its interval reaches past the bound: new rows may well "
            "violate it."
        )
        remedy = _stricter(entry, written)
    if entry.few_rows:
        behind = f"{entry.effective_rows:,.4g} decide it"
        if small is not None:
            behind = f"{small.rows:,} in the smallest group, {small.name}"
        few = (
            f"measured on few rows ({behind}): its true value may "
            f"lie anywhere from {number(entry.low)} to {number(entry.high)}."
        )
        said = f"{said} It was {few}" if said else f"{what} was {few}"
        remedy = " ".join(x for x in (remedy, *_more_rows(entry, not remedy)) if x)
    if said:
        yield Note(said, remedy)


def _stricter(entry: Entry, written: Constraint) -> str:
    """How to be safe: a stricter bound where one is possible, or more rows."""
    asked = _tightened(entry, written)
    if asked is not None:
        return (
            f"Ask for a little more than is needed, here about {asked:g} where "
            f"{entry.bound:g} is meant, or choose the rule on more rows."
        )
    if not isinstance(written.rhs, Const):
        return "Ask for a little more than is needed, or choose the rule on more rows."
    return (
        "The interval is too wide for a stricter bound to help: choose and measure the rule on "
        "more rows."
    )


def _tightened(entry: Entry, written: Constraint) -> float | None:
    """The bound moved by the interval's own reach, if a value can be there at all."""
    if entry.value is None or entry.low is None or entry.high is None or entry.bound is None:
        return None
    if not isinstance(written.rhs, Const):
        return None
    up = written.relation == ">="
    reach = entry.value - entry.low if up else entry.high - entry.value
    if not math.isfinite(reach) or reach <= SATISFIED:
        return None
    low, high = _range(written.lhs)
    scale = 10.0 ** -math.floor(math.log10(reach))
    moved = (entry.bound + reach if up else entry.bound - reach) * scale
    moved = (math.ceil(moved - 1e-9) if up else math.floor(moved + 1e-9)) / scale
    # At the very end of the range only a trivial rule would do.
    return moved if low < moved < high else None


def _range(x: Expression) -> tuple[float, float]:
    """What values an expression can have; wide where it is not a plain one."""
    if isinstance(x, Metric):
        return TABLE[x.name].low, TABLE[x.name].high
    if isinstance(x, Reduce) and x.kind in ("min", "max", "mean", "difference", "ratio"):
        low, high = _range(x.inner)
        return (low, high) if x.kind in ("min", "max", "mean") else (0.0, high - min(low, 0.0))
    return -math.inf, math.inf


def _more_rows(entry: Entry, plain: bool) -> Iterator[str]:
    """How many times the rows, where the distance from the bound tells; else, if plain, more."""
    times = 0.0
    if entry.value is not None and entry.bound is not None and entry.slack:
        past = entry.low if entry.value > entry.bound else entry.high
        if past is not None:
            # An interval shrinks with the root of the number of rows.
            times = ((past - entry.value) / entry.slack) ** 2
    if 1.0 < times <= _MOST_TIMES:
        yield f"About {math.ceil(times)} times as many rows of this kind would tell."
    elif plain:
        yield "Collect more rows of this kind."
    if entry.interval in ("pairs", "groups"):
        yield "Small groups can be joined."


def _search(report: GoalReport, goal: Goal) -> Iterator[Note]:
    """What is not known of the rule's optimality."""
    objective = in_words(goal.objective)
    better = f"do better by {objective}" if goal.is_blackbox else f"reach a better {objective}"
    if report.status in ("feasible", "stationary") and report.gap is None:
        yield Note(
            f"It is not proved that this rule is the best: another one may {better}.",
            "Allow the search more time, or start it elsewhere, if this matters."
            if report.adaptive is None
            else "Allow the search more evaluations if this matters.",
        )
    elif (
        report.gap is not None
        and report.gap > SATISFIED
        and report.status != "optimal"
        and report.evidence == "label"  # else the certificate stands below
    ):
        yield Note(
            certificate(report),
            "Allow the search more time if this difference matters.",
        )
    if report.status == "evaluated":
        yield Note(
            "Only these decisions were measured. Whether another rule reaches more was not "
            "looked at.",
        )
    if report.evidence == "soft":
        yield Note(
            certificate(report),
            "Trust what was counted on true classes; check that the model's probabilities are "
            "right (calibrated), or choose the rule by true classes.",
        )


def _warnings(report: GoalReport, held_out: GoalReport | None) -> list[Note]:
    """The reports' own notes, each once, except those that stand above with a remedy."""
    reports = [report] if held_out is None else [held_out, report]
    out: dict[str, None] = {}
    for r in reports:
        shown = tuple(f"{e.text}: measured on few rows" for e in r.constraints)
        unseen = tuple(f"{e.text}: not evaluated" for e in r.constraints)
        out.update(dict.fromkeys(w for w in r.warnings if not w.startswith(shown + unseen)))
    return [Note(w if w.endswith(".") else f"{w}.") for w in out]
