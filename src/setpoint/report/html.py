"""A report as a small HTML table for notebooks: no scripts, no outside resources."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from setpoint.report.entry import Entry
from setpoint.report.words import certificate, mark, measured, number, verdict

if TYPE_CHECKING:
    from setpoint.report.report import GoalReport

__all__ = ["report_html"]

_LEFT = ' style="text-align:left"'


def report_html(report: GoalReport) -> str:
    """The table of a report; every text in it is escaped."""
    head = "".join(
        f"<th{_LEFT}>{title}</th>" for title in ("", "", "value", "bound", "slack", "measured")
    )
    rows = [_row("objective", report.objective, report.level)]
    rows += [_row(mark(c), c, report.level) for c in report.constraints]
    against = "" if report.deployed is None else " ".join(report.deployed.lines())
    searched = ""
    if report.adaptive is not None:
        searched = " ".join(report.adaptive.lines(report.goal.startswith("maximize")))
    notes = [verdict(report), against, searched, certificate(report), report.rule, *report.warnings]
    below = "".join(f"<p>{_text(note)}</p>" for note in notes if note)
    return (
        f'<div class="setpoint-report"><p><strong>{_text(report.goal)}</strong></p>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"{below}</div>"
    )


def _row(first: str, entry: Entry, level: float) -> str:
    cells = (
        first,
        entry.text,
        number(entry.value),
        number(entry.bound),
        number(entry.slack),
        measured(entry, level),
    )
    return "<tr>" + "".join(f"<td{_LEFT}>{_text(c)}</td>" for c in cells) + "</tr>"


def _text(text: str) -> str:
    return escape(text).replace("\n", "<br>")
