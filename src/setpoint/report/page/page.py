"""The page of a report: one self-contained HTML file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from setpoint.errors import InputError
from setpoint.goals.goal import Goal
from setpoint.goals.words import glossary, goal_in_words
from setpoint.inputs.files import atomic_write
from setpoint.report.deployed import TITLE
from setpoint.report.facts import Facts
from setpoint.report.findings import certified_head, headline, lines_of
from setpoint.report.numbers import plural
from setpoint.report.page.group_rows import groups_shown
from setpoint.report.page.header import Header
from setpoint.report.page.parts import part_rows
from setpoint.report.page.pictures import (
    Block,
    Figure,
    blocks_of,
    figure_of,
    group_pictures,
    path_pictures,
)
from setpoint.report.page.rendering import rendered
from setpoint.report.page.rows import pieces_of
from setpoint.report.page.verdict import box_of, is_refuted
from setpoint.report.people import in_people
from setpoint.report.picture import Picture
from setpoint.report.printable import shortened
from setpoint.report.promised import explained, promising
from setpoint.report.rule_words import certificate, how_found, rule_lines
from setpoint.report.section import Section, TextSection
from setpoint.report.text import report_text
from setpoint.report.worked import same_sides

__all__ = ["page_text", "write_page"]

HELD_OUT = "On rows that took no part in choosing the rule"
CHOSEN_ON = "On the rows the rule was chosen on"
TESTING = "On the rows that tested the rule"

_LONGEST, _LONGEST_SENTENCE = 240, 480
"""Characters of a headline, and of the sentence below it; names of classes may be long."""


def write_page(
    path: str | os.PathLike[str],
    facts: Facts,
    held_out: Facts | None = None,
    about: Sequence[TextSection] = (),
    header: Header | None = None,
) -> None:
    """Write the page; an old file stays until the new one is whole."""
    atomic_write(path, page_text(facts, held_out, about, header).encode("utf-8"))


def page_text(
    facts: Facts,
    held_out: Facts | None = None,
    about: Sequence[TextSection] = (),
    header: Header | None = None,
) -> str:
    """The page as text: HTML without scripts and outside resources."""
    if held_out is not None and not same_sides(Goal.parse(held_out.goal), Goal.parse(facts.goal)):
        raise InputError(
            f"`held_out` is a report on another goal: {held_out.goal!r}, not {facts.goal!r}"
        )
    return rendered("page.html.j2", _values(facts, held_out, about, header or Header()))


def _header(header: Header, facts: Facts) -> list[str]:
    """Table, rows, day, model and version: what is known of them."""
    rows, day = plural(facts.counts.n_rows, "row"), facts.run.when[:10]
    own = facts.run.versions.get("setpoint")
    parts = (header.table, rows, day, header.model, f"setpoint {own}" if own else "")
    return [text for text in parts if text]


def _values(
    facts: Facts, held_out: Facts | None, about: Sequence[TextSection], header: Header
) -> dict[str, Any]:
    """Everything that the template writes, as plain values."""
    lead = facts if held_out is None else held_out
    goal = Goal.parse(lead.goal)
    money = lead.section("prices")
    blocks = _blocks(facts, held_out)
    first = lead if is_refuted(facts, lead) else promising(lead, facts)
    if first.guarantee is None:
        first = lead
    rows = plural(facts.counts.n_rows, "row")
    return {
        "header": _header(header, lead),
        "headline": shortened(headline(first, Goal.parse(first.goal)), _LONGEST),
        "people": shortened(in_people(lead.counts), _LONGEST_SENTENCE),
        "pieces": pieces_of(lead.counts),
        "money": [] if money is None else list(money.lines()),
        "box": box_of(facts, held_out, goal, header),
        "goal": lead.goal,
        "goal_words": goal_in_words(goal, lead.counts.positive),
        "glossary": glossary(goal),
        "parts": part_rows(lead, goal),
        "third": certified_head(lines_of(lead, goal), lead),
        "on_new": lead.counts.on_new,
        "level": f"{100 * lead.level:.4g}",
        "against": TITLE,
        "deployed": _deployed(lead, goal),
        "groups": groups_shown(lead),
        **_drawn(blocks, [*group_pictures(lead, goal), *path_pictures(facts)]),
        **_rule(facts, lead, goal),
        "how": [x for x in (how_found(facts), certificate(facts, goal)) if x],
        "search_parts": part_rows(facts, Goal.parse(facts.goal)) if held_out is not None else [],
        "search_head": _where(facts),
        "search_rows": f"{rows}. They flatter the rule, which was chosen to look well on them."
        if facts.guarantee is None
        else f"{rows}, which took no part in learning the rules that were tried.",
        "promised": explained(facts),
        "warnings": list(dict.fromkeys([*lead.warnings, *facts.warnings])),
        "about": [{"title": s.title, "lines": list(s.lines())} for s in about],
        "texts": _texts(facts, held_out, bool(header.command)),
        "run": _run(facts),
    }


def _blocks(facts: Facts, held_out: Facts | None) -> list[Block]:
    """The sections, those of the rows held out first; prices are said at the top."""

    def of(report: Facts, sections: Sequence[Section], rows: str) -> list[Block]:
        return blocks_of(report, [s for s in sections if s.name != "prices"], rows)

    if held_out is None:
        return of(facts, facts.sections, "")
    seen = {s.name for s in held_out.sections}
    rest = [s for s in facts.sections if s.name not in seen or s.name == TextSection.name]
    return of(held_out, held_out.sections, HELD_OUT) + of(facts, rest, _where(facts))


def _where(facts: Facts) -> str:
    """On which rows, beside those held out."""
    return CHOSEN_ON if facts.guarantee is None else TESTING


def _drawn(blocks: Sequence[Block], more: Sequence[Picture]) -> dict[str, Any]:
    """The pictures: of sections that are pictures alone, of those with words, and the details."""
    number = 0

    def figures(block: Block, details: bool = False) -> Iterator[Figure]:
        nonlocal number
        own = block.details if details else block.pictures
        for picture in own:
            number += 1
            yield figure_of(picture, number, block.rows)

    shown = [
        {"title": b.title, "lines": b.lines, "figures": list(figures(b))}
        for b in blocks
        if b.lines or b.pictures
    ]
    found = Block("", (), (), tuple(more), "")
    details = [f for b in [*blocks, found] for f in figures(b, details=True)]
    return {
        "pictures": [b for b in shown if not b["lines"]],
        "sections": [b for b in shown if b["lines"]],
        "details": details,
    }


def _deployed(lead: Facts, goal: Goal) -> dict[str, Any] | None:
    """What changes against the deployed model, and both in people."""
    found = lead.deployed
    if found is None:
        return None
    both = []
    if found.confusion and found.changed > 0.0:
        both = [
            {"who": "This rule", "pieces": pieces_of(lead.counts)},
            {"who": "The deployed model", "pieces": pieces_of(lead.counts, found.confusion)},
        ]
    return {"lines": found.lines(goal, lead.counts), "both": both}


def _rule(facts: Facts, lead: Facts, goal: Goal) -> dict[str, Any]:
    """The rule as it stands, and sentences on what it looks at and what it draws."""
    known = facts if facts.rule.text else lead
    without = replace(known, rule=replace(known.rule, text=""))
    lines = rule_lines(without, goal)
    if facts is not lead and facts.certificate.with_draws is not None:
        # Other rows lead the page, with another value of the objective.
        lines[-1] = f"{_where(facts)}: {lines[-1][:1].lower()}{lines[-1][1:]}"
    return {"rule": known.rule.text, "rule_lines": lines}


def _texts(facts: Facts, held_out: Facts | None, at_shell: bool) -> list[tuple[str, str]]:
    own = report_text(facts, at_shell=at_shell)
    if held_out is None:
        return [("", own)]
    judged = report_text(held_out, facts, at_shell=at_shell)
    return [(HELD_OUT, judged), (_where(facts), own)]


def _run(facts: Facts) -> list[tuple[str, str]]:
    """What may differ between two runs of the same thing."""
    out = []
    if facts.run.seconds is not None:
        out.append(("search", f"{facts.run.seconds:.3g} seconds"))
    if facts.search.calls is not None:
        out.append(("passes over the data", f"{facts.search.calls:,}"))
    out += facts.run.versions.items()
    return out + [(f"{name}, digest", text) for name, text in facts.run.digests.items()]
