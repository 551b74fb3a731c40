"""Documents as pages: one self-contained HTML file each, without scripts and outside resources."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from setpoint.goals import Goal
from setpoint.inputs import atomic_write
from setpoint.report.blocks import Document, Grid, Header
from setpoint.report.document import HELD_OUT, infeasible_document, report_document, where
from setpoint.report.facts import Facts, TextSection
from setpoint.report.numbers import RowShare, shortened
from setpoint.report.page.svg import drawn, rendered
from setpoint.report.text import report_text

_LONGEST = 240
"""Characters of a headline; names of classes may be long."""


def as_page(found: Document) -> str:
    """A document as HTML."""
    values = {
        "found": found,
        "headline": shortened(found.title, _LONGEST),
        "columns": columns_of,
        "kind": lambda block: type(block).__name__,
        "draw": drawn,
        "numbers": count(1),
        "placed": placed,
        "shortened": shortened,
    }
    return rendered("page.html.j2", values)


def placed(parts: Sequence[RowShare]) -> Iterator[tuple[RowShare, float, float, float, float]]:
    """Each part with its start, width and middle in the bar, and the place of its label, in %."""
    start, total = 0.0, sum(p.rows for p in parts)
    for i, part in enumerate(parts):
        width = 100.0 * part.rows / total
        a, b, c, d = start, width, start + width / 2.0, 100.0 * (i + 0.5) / len(parts)
        yield part, round(a, 2), round(b, 2), round(c, 2), round(d, 2)
        start += width


@dataclass(frozen=True)
class ShownColumn:
    """How a column of a table is shown: drawn in part, drawn alone, on the axis of shares."""

    place: int
    head: str
    drawn: bool
    alone: bool
    shared: bool


def columns_of(table: Grid) -> Iterator[ShownColumn]:
    """The columns of a table that hold anything."""
    for i, (head, *cells) in enumerate(zip(table.head, *table.rows, strict=True)):
        bars = [cell.bar for cell in cells if cell.bar is not None]
        alone = not any(cell.text for cell in cells)
        if i == 0 or bars or not alone:
            yield ShownColumn(i, head, bool(bars), alone, any(not bar.ends[0] for bar in bars))


def page_text(
    facts: Facts,
    held_out: Facts | None = None,
    about: Sequence[TextSection] = (),
    header: Header | None = None,
) -> str:
    """The page of a report, also with the rule on rows held out, which then lead."""
    header = header or Header()
    at_shell = bool(header.command)
    lead, chosen = (facts, None) if held_out is None else (held_out, facts)
    texts = [("", report_text(facts, at_shell=at_shell))]
    if held_out is not None:
        judged = report_text(held_out, facts, at_shell=at_shell)
        texts = [(HELD_OUT, judged), (where(facts), texts[0][1])]
    return as_page(
        report_document(lead, chosen, at_shell=at_shell, header=header, about=about, texts=texts)
    )


def infeasible_page(goal: Goal, message: str, *known: Any, **more: Any) -> str:
    """The page of a goal that no rule meets; takes what :func:`infeasible_document` does."""
    return as_page(infeasible_document(goal, message, *known, **more))


def write_infeasible(
    path: str | os.PathLike[str], goal: Goal, message: str, *known: Any, **more: Any
) -> None:
    """Write that page; an old file stays until the new one is whole."""
    atomic_write(path, infeasible_page(goal, message, *known, **more).encode("utf-8"))
