"""A report as short HTML for notebooks, with every caveat: no scripts, no outside resources."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from setpoint.goals.goal import Goal
from setpoint.report.advice import advice_of
from setpoint.report.deployed import TITLE
from setpoint.report.facts import Facts
from setpoint.report.findings import (
    Line,
    caveats,
    certified_head,
    headline,
    lines_of,
    rows_in_words,
    summary,
)
from setpoint.report.people import in_people
from setpoint.report.printable import cleaned
from setpoint.report.promised import assurances, explained
from setpoint.report.rule_words import certificate, rule_lines
from setpoint.report.units import shown_bound

__all__ = ["report_html"]

_LEFT = ' style="text-align:left"'


def report_html(facts: Facts) -> str:
    """The finding, the parts of the goal as a table, and what to beware of; all text is escaped."""
    goal = Goal.parse(facts.goal)
    first = [
        summary(facts),
        " ".join(assurances(facts, goal)),
        in_people(facts.counts),
        rows_in_words(facts),
    ]
    limits = f"{facts.counts.on_new} ({100 * facts.level:.4g} % confidence for each end)"
    lines = lines_of(facts, goal)
    third = certified_head(lines, facts).lower()
    names = ("", "value", "rows", limits, *([third] if third else []), "verdict")
    head = "".join(f"<th{_LEFT}>{t}</th>" for t in names)
    rows = "".join(_row(line, bool(third)) for line in lines)
    out = [
        f"<p><code>{_text(facts.goal)}</code></p>",
        f"<p><strong>{_text(headline(facts, goal))}.</strong></p>",
        *(f"<p>{_text(text)}</p>" for text in first if text),
        _bullets("", caveats(facts)),
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>",
    ]
    if facts.deployed is not None:
        out.append(_bullets(TITLE, facts.deployed.lines(goal, facts.counts)))
    out += [_bullets(s.title, s.lines()) for s in facts.sections]
    out.append(_bullets("What to do", [str(a) for a in advice_of(facts)]))
    out.append(_bullets("Rule", [*rule_lines(facts, goal), certificate(facts, goal)]))
    out.append(_bullets("What is promised", explained(facts)))
    out.append(_bullets("Please note", facts.warnings))
    return f'<div class="setpoint-report">{"".join(out)}</div>'


def _row(line: Line, with_certified: bool) -> str:
    entry = line.entry
    verdict = line.wanted if entry.relation is None else line.verdict
    if entry.worked is not None:
        verdict += f" (searched with {shown_bound(entry.worked, line.unit)})"
    limits = line.limits
    if limits and entry.interval == "bootstrap":
        limits += " (bootstrap)"
    third = [line.certified] if with_certified else []
    cells = (entry.text, line.value, line.counts or entry.why, limits, *third, verdict)
    return "<tr>" + "".join(f"<td{_LEFT}>{_text(c)}</td>" for c in cells) + "</tr>"


def _bullets(title: str, lines: Sequence[str]) -> str:
    known = [line for line in lines if line]
    if not known:
        return ""
    head = f"<p><strong>{_text(title)}</strong></p>" if title else ""
    return f"{head}<ul>{''.join(f'<li>{_text(line)}</li>' for line in known)}</ul>"


def _text(text: str) -> str:
    return escape(cleaned(text)).replace("\n", "<br>")
