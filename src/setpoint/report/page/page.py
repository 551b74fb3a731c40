"""The page of a report, also of a goal that no rule meets."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from setpoint.errors import InputError
from setpoint.goals import (
    Const,
    Constraint,
    Expression,
    Goal,
    Label,
    expression_of,
    glossary,
    goal_in_words,
    in_words,
)
from setpoint.inference import FAILS
from setpoint.inputs import atomic_write
from setpoint.report.entry import Entry, GroupRow
from setpoint.report.facts import SIZE, TITLE, Facts, Picture, Section, TextSection
from setpoint.report.findings import (
    caveats,
    certificate,
    certified_head,
    headline,
    how_found,
    lines_of,
    rows_in_words,
    rule_lines,
    sentence,
    summary,
)
from setpoint.report.numbers import (
    asked,
    in_ten_thousand,
    number,
    plural,
    shortened,
    shown,
    unit_of,
)
from setpoint.report.operating import OperatingPoints
from setpoint.report.page.parts import (
    WORDS,
    Header,
    Tone,
    axis_for,
    bar_on,
    groups_shown,
    part_rows,
    pieces_of,
    tone_of,
)
from setpoint.report.page.svg import drawn, rendered
from setpoint.report.promised import STATES, assurances, explained, promising
from setpoint.report.sections import pictures_of, pictures_of_refused
from setpoint.report.text import Advice, advice_of, report_text, stricter_goal
from setpoint.search import Frontier

# --- The pictures of a page: what sections draw, and the groups, as SVG ---------------------------


_FRAME, _ROW = 0.9, 0.22
"""Inches: a picture of groups without its rows, and one row of it."""

_LONGEST = 18
"""Characters of a group's value in a picture."""

_MOST_GROUPS = 60
"""More rows make no picture; the table has them."""


@dataclass(frozen=True)
class Figure:
    """A picture as the template shows it."""

    title: str
    svg: str
    caption: str
    rows: str
    tall: bool


@dataclass(frozen=True)
class SectionBlock:
    """A section: its sentences, its pictures, and those of them for statisticians."""

    title: str
    lines: tuple[str, ...]
    pictures: tuple[Picture, ...]
    details: tuple[Picture, ...]
    rows: str


def blocks_of(facts: Facts, sections: Sequence[Section], rows: str) -> list[SectionBlock]:
    """What sections say and draw, without those that are quiet here."""
    out = []
    for section in sections:
        drawn_all = tuple(section.pictures(facts))
        block = SectionBlock(
            section.title,
            tuple(section.lines()),
            tuple(p for p in drawn_all if not p.detail),
            tuple(p for p in drawn_all if p.detail),
            rows,
        )
        if block.lines or drawn_all:
            out.append(block)
    return out


def figure_of(picture: Picture, number: int, rows: str = "") -> Figure:
    """A picture drawn."""
    svg = drawn(
        picture.plot,
        size=picture.size,
        prefix=f"p{number}-",
        description=picture.description,
        panels=picture.panels,
    )
    return Figure(picture.title, svg, picture.caption, rows, picture.size[1] > picture.size[0])


def group_pictures(facts: Facts, goal: Goal) -> Iterator[Picture]:
    """Each compared metric over its groups, with what the goal asks of them."""
    rows = [g for g in facts.groups if g.compared]
    for metric in dict.fromkeys(g.metric for g in rows):
        own = tuple(_printable(g) for g in rows if g.metric == metric)
        if len(own) > _MOST_GROUPS or all(g.value is None for g in own):
            continue
        yield Picture(
            f"{in_words(expression_of(metric))} by group".capitalize(),
            _plot(own, goal, facts.level),
            f"{metric} in each of {len(own)} groups; the table has the numbers.",
            f"A point is the value of one group, the line through it where it is on new rows, each "
            f"end with {100 * facts.level:.4g} % confidence. Where lines overlap, groups may "
            "differ by chance alone.",
            (SIZE[0], _FRAME + _ROW * max(len(own), 4)),
            detail=True,
        )


def path_pictures(facts: Facts) -> Iterator[Picture]:
    """The path of rules that were tested, where there was one."""
    guarantee = facts.guarantee
    if guarantee is None:
        return
    known = [i for i, (_, value) in enumerate(guarantee.path) if math.isfinite(value)]
    if len(known) < 3:
        return
    from setpoint.report.displays import plot_rule_path

    path, passed = guarantee.path, guarantee.passed
    yield Picture(
        "From safe to bold",
        lambda ax: plot_rule_path(path, passed, facts.objective.text, ax=ax),
        f"{len(path)} rules by margin and objective; the first {passed} passed the test.",
        "Each mark is a rule, as it looked where the path was learnt. To the left it lies further "
        "within its bounds, in standard errors of the rows that certify. They were tested from the "
        "left up to the first that did not pass.",
        detail=True,
    )


def _plot(rows: tuple[GroupRow, ...], goal: Goal, level: float) -> Any:
    from setpoint.report.displays import plot_groups

    return lambda ax: plot_groups(rows, goal, level, ax=ax)


def _printable(row: GroupRow) -> GroupRow:
    """The row with values that leave room for the picture."""
    return replace(row, columns=tuple((c, _clean(v)) for c, v in row.columns))


def _clean(label: Label) -> Label:
    return shortened(label, _LONGEST) if isinstance(label, str) else label


# --- The verdict of a page: its word, what to beware of, what to do -------------------------------


_MOST = 4
"""More cautions and more advice than so many are folded."""

NO_PART = "These rows took no part in choosing the rule."


@dataclass(frozen=True)
class Box:
    """What stands under the headline."""

    tone: Tone
    word: str
    promise: tuple[str, ...]
    lines: tuple[str, ...]
    cautions: tuple[str, ...]
    more_cautions: tuple[str, ...]
    advice: tuple[Advice, ...]
    more_advice: tuple[Advice, ...]
    command: str
    command_words: str


def box_of(facts: Facts, held_out: Facts | None, goal: Goal, header: Header) -> Box:
    """The verdict on the rows that judge: those held out, where there are any."""
    lead = facts if held_out is None else held_out
    tone, word = _word(facts, lead)
    lines = [summary(lead), rows_in_words(lead)]
    if lead is not facts and facts.guarantee is not None and not is_refuted(facts, lead):
        lines.insert(0, f"{sentence(headline(lead, goal))}.")
    if held_out is not None:
        lines.append(NO_PART)
    known = tuple(dict.fromkeys([*header.cautions, *caveats(lead)]))
    fitted = None if held_out is None else facts
    advice = tuple(dict.fromkeys(advice_of(lead, fitted, at_shell=bool(header.command))))
    stricter = None if facts.guarantee is not None else stricter_goal(lead, goal, fitted)
    command = words = ""
    if stricter is not None:
        command = command_for(stricter, header)
        words = "To search with the margin, the goal is" if command == str(stricter) else ""
        words = words or "To search with the margin"
    return Box(
        tone,
        word,
        tuple(_promise(facts, lead)),
        tuple(text for text in lines if text),
        known[:_MOST],
        known[_MOST:],
        advice[:_MOST],
        advice[_MOST:],
        command,
        words,
    )


def _word(facts: Facts, lead: Facts) -> tuple[Tone, str]:
    """How the goal stands, and the word for it."""
    tone: Tone = tone_of(lead.verdict) if lead.constraints else ""
    promised = promising(lead, facts).guarantee
    if promised is None or is_refuted(facts, lead):
        return tone, WORDS.get(tone, "")
    if promised.state != "certified":
        return "fails" if tone == "fails" else "open", STATES[promised.state]
    # What no promise is about may leave the goal open.
    return (
        (tone, WORDS[tone]) if lead is facts and tone != "shown" else ("shown", STATES["certified"])
    )


def is_refuted(facts: Facts, lead: Facts) -> bool:
    """Whether other rows than those that certify show that the goal fails."""
    return lead is not facts and facts.guarantee is not None and lead.verdict == FAILS


def _promise(facts: Facts, lead: Facts) -> list[str]:
    """What goes with the promise, where there is one; where other rows refute it, itself too."""
    goal = Goal.parse(facts.goal)
    first = [f"{headline(facts, goal)}."] if is_refuted(facts, lead) else []
    return first + assurances(facts, goal)


def command_for(goal: Goal | str, header: Header) -> str:
    """The command for a goal, quoted for a shell; the goal's text where there is no command.

    Examples
    --------
    >>> command_for("maximize f1", Header(command="setpoint fit a.csv --goal {goal}"))
    "setpoint fit a.csv --goal 'maximize f1'"
    >>> command_for("maximize f1", Header())
    'maximize f1'
    """
    if not header.command:
        return str(goal)
    return header.command.replace("{goal}", shlex.quote(str(goal)))


# --- The page of a goal that no rule meets: what can be met ---------------------------------------


NO_RULE = "No rule meets the goal"
UNCERTIFIED = "No rule is certified to meet the goal on new rows"


def write_infeasible(
    path: str | os.PathLike[str],
    goal: Goal,
    message: str,
    reachable: Sequence[tuple[str, float | None]] = (),
    frontier: Frontier | None = None,
    goals: Sequence[str] = (),
    header: Header | None = None,
    headline: str = NO_RULE,
    points: OperatingPoints | None = None,
) -> None:
    """Write the page; an old file stays until the new one is whole."""
    text = infeasible_page(goal, message, reachable, frontier, goals, header, headline, points)
    atomic_write(path, text.encode("utf-8"))


def infeasible_page(
    goal: Goal,
    message: str,
    reachable: Sequence[tuple[str, float | None]] = (),
    frontier: Frontier | None = None,
    goals: Sequence[str] = (),
    header: Header | None = None,
    headline: str = NO_RULE,
    points: OperatingPoints | None = None,
) -> str:
    """The page as text: HTML without scripts and outside resources."""
    header = header or Header()
    written = {str(c): c for c in goal.constraints}
    pictures = [] if frontier is None else list(pictures_of((frontier,)))
    if points is not None and goals:
        pictures += pictures_of_refused(points, goal, Goal.parse(goals[0]))
    refused = headline == UNCERTIFIED
    values = {
        "header": _header(header),
        "headline": headline,
        "message": sentence(message),
        "cautions": header.cautions,
        "goal": str(goal),
        "goal_words": goal_in_words(goal),
        "refused": refused,
        "reached": "The most that these rows show" if refused else "The best that a rule reaches",
        "parts": [_part(text, value, written.get(text)) for text, value in reachable],
        "figures": [figure_of(p, i) for i, p in enumerate(pictures, 1)],
        "goals": [{"goal": text, "command": _command(text, header)} for text in goals],
    }
    return rendered("infeasible.html.j2", values)


def _header(header: Header) -> list[str]:
    today = datetime.now(UTC).date().isoformat()
    parts = (header.table, today, header.model, f"setpoint {version('setpoint')}")
    return [text for text in parts if text]


def _command(text: str, header: Header) -> str:
    return command_for(text, header) if header.command else ""


def _part(text: str, value: float | None, written: Constraint | None) -> dict[str, Any]:
    """One bound: what is asked, and the best that a rule reaches."""
    if written is None:
        best = "not known" if value is None else number(value)
        return {"words": text, "code": "", "asked": "", "best": best, "bar": None}
    unit = unit_of(written.lhs)
    bound = written.rhs.value if isinstance(written.rhs, Const) else None
    axis = axis_for([value, bound], unit)
    return {
        "words": sentence(in_words(written.lhs)),
        "code": text,
        "asked": asked(written, bound) if bound is not None else in_words(written.rhs),
        "best": "not known" if value is None else shown(value, unit),
        "bar": bar_on(axis, unit, value, bound=bound, relation=written.relation),
    }


# --- The bound that is meant, beside the bound that a rule was searched with ----------------------


def with_searched_bounds(
    entries: Sequence[Entry], meant: Goal, searched: Goal
) -> tuple[Entry, ...]:
    """The entries of the goal that is meant, with the bounds that the rule was searched with.

    Examples
    --------
    >>> meant = Goal.parse("maximize recall subject to precision >= 0.5")
    >>> searched = Goal.parse("maximize recall subject to precision >= 0.54")
    >>> (entry,) = with_searched_bounds([Entry("precision >= 0.5", 0.55, 0.5)], meant, searched)
    >>> entry.bound, entry.worked
    (0.5, 0.54)
    """
    asked: dict[tuple[Expression, str], list[float]] = {}
    for c in searched.constraints:
        if isinstance(c.rhs, Const):
            asked.setdefault((c.lhs, c.relation), []).append(c.rhs.value)
    out = []
    for entry, constraint in zip(entries, meant.constraints, strict=True):
        bounds = asked.get((constraint.lhs, constraint.relation))
        meant_here = constraint.rhs.value if isinstance(constraint.rhs, Const) else None
        if bounds is None or meant_here is None or meant_here in bounds:
            out.append(entry)
        else:
            strictest = max if constraint.relation == ">=" else min
            out.append(replace(entry, worked=strictest(bounds)))
    return tuple(out)


def same_sides(one: Goal, other: Goal) -> bool:
    """Whether two goals want the same, but for the numbers that bound it.

    Examples
    --------
    >>> meant = Goal.parse("maximize recall subject to precision >= 0.5")
    >>> same_sides(meant, Goal.parse("maximize recall subject to precision >= 0.54"))
    True
    >>> same_sides(meant, Goal.parse("maximize recall subject to accuracy >= 0.5"))
    False
    """
    sides = [{(c.lhs, c.relation) for c in goal.constraints} for goal in (one, other)]
    return (one.sense, one.objective, sides[0]) == (other.sense, other.objective, sides[1])


# --- The page of a report: one self-contained HTML file -------------------------------------------


HELD_OUT = "On rows that took no part in choosing the rule"
CHOSEN_ON = "On the rows the rule was chosen on"
TESTING = "On the rows that tested the rule"

_PAGE_LONGEST, _LONGEST_SENTENCE = 240, 480
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


def _page_header(header: Header, facts: Facts) -> list[str]:
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
        "header": _page_header(header, lead),
        "headline": shortened(headline(first, Goal.parse(first.goal)), _PAGE_LONGEST),
        "people": shortened(in_ten_thousand(lead.counts), _LONGEST_SENTENCE),
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


def _blocks(facts: Facts, held_out: Facts | None) -> list[SectionBlock]:
    """The sections, those of the rows held out first; prices are said at the top."""

    def of(report: Facts, sections: Sequence[Section], rows: str) -> list[SectionBlock]:
        return blocks_of(report, [s for s in sections if s.name != "prices"], rows)

    if held_out is None:
        return of(facts, facts.sections, "")
    seen = {s.name for s in held_out.sections}
    rest = [s for s in facts.sections if s.name not in seen or s.name == TextSection.name]
    return of(held_out, held_out.sections, HELD_OUT) + of(facts, rest, _where(facts))


def _where(facts: Facts) -> str:
    """On which rows, beside those held out."""
    return CHOSEN_ON if facts.guarantee is None else TESTING


def _drawn(blocks: Sequence[SectionBlock], more: Sequence[Picture]) -> dict[str, Any]:
    """The pictures: of sections that are pictures alone, of those with words, and the details."""
    number = 0

    def figures(block: SectionBlock, details: bool = False) -> Iterator[Figure]:
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
    found = SectionBlock("", (), (), tuple(more), "")
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
