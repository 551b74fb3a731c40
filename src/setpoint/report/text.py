"""A report as text that the person who set the goal can read."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from setpoint.goals.goal import Goal
from setpoint.report.advice import advice_of
from setpoint.report.deployed import TITLE
from setpoint.report.facts import Facts
from setpoint.report.findings import (
    Line,
    caveats,
    headline,
    lines_of,
    rows_in_words,
    summary,
)
from setpoint.report.group_table import GroupTable
from setpoint.report.numbers import plural
from setpoint.report.people import in_people
from setpoint.report.printable import printed, shortened
from setpoint.report.promised import assurances, explained
from setpoint.report.rule_words import certificate, how_found, rule_lines
from setpoint.report.units import shown_bound

__all__ = ["report_text"]

WIDTH = 79

_MOST_GROUPS = 40
_MOST_COLUMNS = 16
"""Of the table of groups."""

_NAME = 30
"""Characters of a group's name in the table."""

_MOST_WARNINGS = 30


def report_text(facts: Facts, fitted: Facts | None = None, *, at_shell: bool = False) -> str:
    """The whole report, 79 columns wide."""
    goal = Goal.parse(facts.goal)
    out = [_filled(f"Goal: {facts.goal}", 0, 6), ""]
    if fitted is not None and facts.guarantee is None and fitted.guarantee is not None:
        meant = Goal.parse(fitted.goal)
        out += [_filled(f"{headline(fitted, meant)}.", 0)]
        out += [_filled(" ".join(assurances(fitted, meant)), 0), ""]
    out += [_filled(f"{headline(facts, goal)}.", 0)]
    people = in_people(facts.counts)
    money = facts.section("prices")
    first = [summary(facts), " ".join(assurances(facts, goal)), people]
    first += [] if money is None else list(money.lines())
    first += [rows_in_words(facts), *caveats(facts)]
    out += [_filled(text, 0) for text in first if text]
    sure = f"each end with {100 * facts.level:.4g} % confidence"
    out += ["", f"What was reached ({facts.counts.on_new}: {sure})"]
    for line in lines_of(facts, goal):
        out += [_filled(text, 2 if i == 0 else 4, 4) for i, text in enumerate(entry_lines(line))]
    if facts.deployed is not None:
        lines = facts.deployed.lines(goal, facts.counts)
        out += ["", TITLE, *_listed(lines)]
    advice = [str(a) for a in advice_of(facts, fitted, at_shell=at_shell)]
    if advice:
        out += ["", "What to do", *_listed(advice)]
    rule = rule_lines(facts, goal)
    if rule:
        out += ["", "Rule", *(_indented(line) for line in rule)]
    for section in facts.sections:
        lines = [] if section is money else list(section.lines())
        if lines:
            out += ["", section.title, *(_filled(line, 2, 2) for line in lines)]
    if facts.groups:
        out += ["", "Groups", *_group_lines(facts)]
    found = [text for text in (how_found(facts), certificate(facts, goal)) if text]
    if found:
        out += ["", "How it was found", *(_filled(text, 2) for text in found)]
    if facts.guarantee is not None:
        out += ["", "What is promised", *_listed(explained(facts))]
    notes = list(dict.fromkeys([*(fitted.warnings if fitted else ()), *facts.warnings]))
    if notes:
        more = len(notes) - _MOST_WARNINGS
        rest = [f"and {more:,} more notes like these"] if more > 0 else []
        out += ["", "Please note", *_listed([*notes[:_MOST_WARNINGS], *rest])]
    return printed("\n".join(out))


def entry_lines(line: Line) -> list[str]:
    """One part of the goal: its value and counts; then what holds on new rows."""
    entry = line.entry
    value = line.value + (f" ({line.counts})" if line.counts else "")
    rows = f", {entry.why}" if entry.why else ""
    out = [f"{entry.text}: {value}{rows}"]
    if entry.relation is None and entry.value is not None:
        out[0] += f", {line.wanted}"
    limits = f"{line.where} {line.limits}" if line.limits else ""
    if limits and entry.interval == "bootstrap":
        limits += " (bootstrap)"
    if entry.relation is not None and entry.value is not None:
        limits += f"{': ' if limits else ''}{line.verdict}"
        if entry.worked is not None:
            limits += f" (searched with {shown_bound(entry.worked, line.unit)})"
    if line.certified and line.verdict != "certified":
        limits += f"; could be certified: {line.certified}"
    return [*out, limits] if limits else out


def _group_lines(facts: Facts) -> list[str]:
    """The groups as a table, in pieces where it is too wide; intervals of what is compared."""
    table = GroupTable.of(facts)
    rows = [table.head, *table.rows[:_MOST_GROUPS]]
    names = [shortened(row[0], _NAME) for row in rows]
    first = max(map(len, names))
    wide = [max(len(row[i]) for row in rows) for i in range(len(table.head))]
    out: list[str] = []
    last = min(len(table.head), _MOST_COLUMNS)
    start = 1
    while start < last:
        end, room = start + 1, WIDTH - 4 - first - wide[start]
        while end < last and room >= wide[end] + 2:
            room -= wide[end] + 2
            end += 1
        out += [""] if start > 1 else []
        for name, row in zip(names, rows, strict=True):
            cells = [f"{row[i]:>{wide[i]}}" for i in range(start, end)]
            out.append(f"  {'  '.join([f'{name:<{first}}', *cells])}".rstrip())
        start = end
    if len(table.rows) > _MOST_GROUPS:
        out.append(f"  and {plural(len(table.rows) - _MOST_GROUPS, 'more group')}")
    if len(table.head) > last:
        out.append(f"  and {plural(len(table.head) - last, 'more metric')} of each group")
    return out


def _listed(lines: Iterable[str]) -> list[str]:
    return [_filled(f"- {line}", 2, 2) for line in lines]


def _filled(text: str, indent: int, hang: int = 0) -> str:
    return "\n".join(
        textwrap.fill(
            line,
            WIDTH,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hang),
            break_on_hyphens=False,
            break_long_words=False,
        )
        for line in text.split("\n")
    )


def _indented(line: str) -> str:
    depth = len(line) - len(line.lstrip())
    return _filled(line.lstrip(), 2 + depth, 2)
