"""A report as text that the person who set the goal can read."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from html import escape

from setpoint.errors import InputError
from setpoint.goals.goal import Goal, goal_in_words
from setpoint.report.advice import advice_of
from setpoint.report.facts import TITLE, Facts
from setpoint.report.findings import (
    Line,
    caveats,
    certificate,
    certified_head,
    headline,
    how_found,
    lines_of,
    rows_in_words,
    rule_lines,
    summary,
)
from setpoint.report.numbers import cleaned, in_people, plural, printed, shortened, shown_bound
from setpoint.report.promised import GroupTable, assurances, explained

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


# --- A report as short HTML for notebooks, with every caveat: no scripts --------------------------


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


# --- A model card in Markdown: the goal, what was measured and on which rows ----------------------


HEADINGS = ("Intended use", "What was measured", "The fit", "Versions and digests")


def card_text(facts: Facts, *, name: str = "", held_out: Facts | None = None) -> str:
    """The card of a model as Markdown.

    Examples
    --------
    >>> from setpoint.report.entry import Entry
    >>> text = card_text(Facts("maximize recall", Entry("recall", 0.8)), name="Loans")
    >>> text.splitlines()[4]
    '# Loans'
    """
    if held_out is not None and held_out.goal != facts.goal:
        raise InputError(
            f"`held_out` refers to the goal {held_out.goal!r}, and the model to {facts.goal!r}"
        )
    words = (
        f"{goal_in_words(Goal.parse(facts.goal), facts.counts.positive)}. As a goal of setpoint:"
    )
    judged = report_text(facts) if held_out is None else report_text(held_out, facts)
    run = facts.run
    made_by = [f"- {key} {text}" for key, text in run.versions.items()]
    made_of = [f"- digest of {key}: {text}" for key, text in run.digests.items()]
    parts = [
        f"{_card_lines(words)}\n\n{_code(facts.goal)}",
        _code(judged),
        _code(facts.rule.text if held_out is None else report_text(facts)),
        "\n".join([f"- fitted {run.when} UTC", *map(_card_lines, [*made_by, *made_of])]),
    ]
    blocks = [f"## {heading}\n\n{part}" for heading, part in zip(HEADINGS, parts, strict=True)]
    head = "---\nlibrary_name: setpoint\n---"
    return "\n\n".join([head, f"# {_card_lines(name or 'A classifier')}", *blocks]) + "\n"


def _card_lines(text: str) -> str:
    """Text that Markdown and HTML leave as it is."""
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", " ".join(cleaned(text).split()))


def _code(text: str) -> str:
    """A block of code, longer fenced than anything in it."""
    fence = "`" * max(3, 1 + max((len(x) for x in re.findall("`+", text)), default=0))
    return f"{fence}text\n{cleaned(text)}\n{fence}"
