"""The pictures of a page: what sections draw, and the groups, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from setpoint.goals.goal import Goal, expression_of
from setpoint.goals.populations import Label
from setpoint.goals.words import in_words
from setpoint.report.entry import GroupRow
from setpoint.report.facts import Facts
from setpoint.report.page.svg import drawn
from setpoint.report.picture import SIZE, Picture
from setpoint.report.printable import shortened
from setpoint.report.section import Section

__all__ = ["Block", "Figure", "blocks_of", "figure_of", "group_pictures", "path_pictures"]

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
class Block:
    """A section: its sentences, its pictures, and those of them for statisticians."""

    title: str
    lines: tuple[str, ...]
    pictures: tuple[Picture, ...]
    details: tuple[Picture, ...]
    rows: str


def blocks_of(facts: Facts, sections: Sequence[Section], rows: str) -> list[Block]:
    """What sections say and draw, without those that are quiet here."""
    out = []
    for section in sections:
        drawn_all = tuple(section.pictures(facts))
        block = Block(
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
    from setpoint.report.displays.rule_path import RulePathDisplay

    display = RulePathDisplay(guarantee.path, guarantee.passed, facts.objective.text)
    yield Picture(
        "From safe to bold",
        display.plot,
        f"{len(guarantee.path)} rules by margin and objective; the first {guarantee.passed} passed "
        "the test.",
        "Each mark is a rule, as it looked where the path was learnt. To the left it lies further "
        "within its bounds, in standard errors of the rows that certify. They were tested from the "
        "left up to the first that did not pass.",
        detail=True,
    )


def _plot(rows: tuple[GroupRow, ...], goal: Goal, level: float) -> Any:
    from setpoint.report.displays import GroupRatesDisplay

    return GroupRatesDisplay(rows, goal, level).plot


def _printable(row: GroupRow) -> GroupRow:
    """The row with values that leave room for the picture."""
    return replace(row, columns=tuple((c, _clean(v)) for c, v in row.columns))


def _clean(label: Label) -> Label:
    return shortened(label, _LONGEST) if isinstance(label, str) else label
