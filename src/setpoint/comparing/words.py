"""A comparison of models in words, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from setpoint.comparing.pairs import Pair
from setpoint.report.aligned import aligned
from setpoint.report.counting import LEVEL
from setpoint.report.numbers import percent
from setpoint.report.report import GoalReport
from setpoint.report.units import shown, unit_of

if TYPE_CHECKING:
    from setpoint.comparing.facts import ComparisonFacts

__all__ = ["accepted", "changes_of", "headline", "lines_of", "text_of"]


def headline(found: ComparisonFacts) -> str:
    """The verdict, and on how many rows."""
    rows = next(iter(found.pairs.values())).changes.rows
    return f"{found.verdict[0].upper()}{found.verdict[1:]} on {rows:,} rows."


def text_of(found: ComparisonFacts) -> str:
    """The whole as text."""
    return "\n".join([headline(found), *lines_of(found)])


def lines_of(found: ComparisonFacts, about: Mapping[str, str] | None = None) -> Iterator[str]:
    """What the rows show, and the numbers behind it."""
    if len(found.pairs) == 1:
        yield found.why
    yield from ("", f"Goal: {found.goal}")
    yield from (f"{name}: {text}" for name, text in (about or {}).items())
    for pair in found.pairs.values():
        yield ""
        if len(found.pairs) > 1:
            yield f"{pair.candidate} against {pair.today}: {pair.verdict}. {pair.why}"
        reports = found.reports[pair.today], found.reports[pair.candidate]
        yield from _pair_lines(pair, *reports)
    if len(found.pairs) > 1:
        yield ""
        yield (
            f"{len(found.pairs)} models are compared with {found.names[0]}: each limit of a "
            f"difference has {percent(next(iter(found.pairs.values())).level)} confidence, so that "
            f"all of a kind hold at once with {percent(LEVEL)}."
        )
        if found.too_close:
            yield f"Neither better nor worse, as far as shown: {', '.join(found.too_close)}."
    yield from found.notes


def _pair_lines(pair: Pair, today: GoalReport, candidate: GoalReport) -> Iterator[str]:
    a, b = pair.today, pair.candidate
    head = ("", a, b, f"{b} - {a}", "on new rows", f"{b} is")
    yield aligned(head, list(_table(pair, today, candidate)))
    if len(pair.parts) > 1:
        yield from ("", "The constraints on new rows")
        for part in pair.parts[1:]:
            one, other = (e.verdict or "not evaluated" for e in (part.today, part.candidate))
            yield f"  {part.today.text}: {a} {one}, {b} {other}"
    yield from ("", "Decisions")
    yield from (f"  {line}" for line in changes_of(pair))
    if pair.groups:
        yield ""
        yield aligned(("group", "rows", "change", "wins", "losses"), list(_groups(pair)))
    if pair.rows_needed is not None:
        yield ""
        yield (
            f"A difference in {pair.parts[0].today.text} as large as this one would be shown by "
            f"about {pair.rows_needed:,} rows."
        )


def _table(pair: Pair, today: GoalReport, candidate: GoalReport) -> Iterator[list[str]]:
    """Objective, constraints and the rows accepted; a difference with its interval."""
    for part in pair.parts:
        unit, gain = unit_of(part.side), part.difference
        values = [shown(e.value, unit) if e.value is not None else "-"
                  for e in (part.today, part.candidate)]  # fmt: skip
        if gain is None or gain.value is None:
            yield [part.today.text, *values, "-", "", ""]
            continue
        limits = ""
        if gain.low is not None and gain.high is not None:
            limits = f"{shown(gain.low, unit)} to {shown(gain.high, unit)}"
        word = (part.verdict or "").replace("shown to be ", "")
        yield [part.today.text, *values, shown(gain.value, unit), limits, word]
    shares = [accepted(report) for report in (today, candidate)]
    if None not in shares:
        one, other = (float(x or 0.0) for x in shares)
        values = [shown(x, "share") for x in (one, other, other - one)]
        yield ["rows accepted", *values, "", ""]


def accepted(report: GoalReport) -> float | None:
    """The share of rows that are decided positive, of two classes; else None."""
    counts = report.counts
    total = counts.total
    if counts.positive is None or not total:
        return None
    return sum(row[1] for row in counts.confusion) / total


def changes_of(pair: Pair) -> list[str]:
    """How many decisions differ, and who is right there, in sentences."""
    changes = pair.changes
    if not changes.changed:
        return ["No decision differs."]
    return [
        f"{percent(changes.changed)} of the decisions differ (churn).",
        f"{pair.candidate} alone is right on {percent(changes.wins or 0.0)} of the rows (wins), "
        f"{pair.today} alone on {percent(changes.losses or 0.0)} (losses).",
    ]


def _groups(pair: Pair) -> Iterator[list[str]]:
    for group in pair.groups:
        c = group.changes
        shares = (c.changed, c.wins or 0.0, c.losses or 0.0)
        yield [f"{group.column} = {group.value}", f"{c.rows:,}", *map(percent, shares)]
