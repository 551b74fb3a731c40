"""What a document is made of, and what it is as text, in a notebook and as Markdown."""

from __future__ import annotations

import math
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from setpoint.errors import InputTypeError
from setpoint.goals import Goal
from setpoint.parameters import SATISFIED
from setpoint.report.advice import Advice
from setpoint.report.facts import Picture
from setpoint.report.numbers import (
    RowShare,
    Unit,
    aligned,
    cleaned,
    number,
    printed,
    shortened,
    shown,
    shown_bound,
    unit_of,
)  # fmt: skip

if TYPE_CHECKING:
    from setpoint.search import Frontier

# --- Chapters and their blocks: what each face can show -------------------------------------------


Tone: TypeAlias = Literal["shown", "open", "fails", "unknown", "plain"]
"""How a thing stands: its sign and its colour, beside its word."""


@dataclass(frozen=True)
class Prose:
    """Sentences: a paragraph together or each by itself, a list, or a text to copy."""

    lines: Sequence[str | Advice]
    # What explains a drawing ("hint") and the words of the goal ("glossary", each as
    # "name: meaning") are for pages alone.
    form: Literal["joined", "each", "list", "code", "hint", "glossary"] = "joined"
    style: str = ""
    most: int | None = None  # of a list more are folded, where a face can fold

    def __bool__(self) -> bool:
        return any(map(str, self.lines))


@dataclass(frozen=True)
class Bar:
    """A value on an axis, all places in percent of its width."""

    value: float | None
    other: float | None
    bound: float | None
    interval: tuple[float, float] | None
    allowed: tuple[float, float] | None
    ends: tuple[str, str]
    description: str


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, smaller below it a note, what draws it, how it stands."""

    text: str = ""
    note: str = ""
    code: str = ""
    whole: str = ""
    bar: Bar | None = None
    tone: Tone | None = None
    style: str = ""


@dataclass(frozen=True)
class Grid:
    """A table; where a face has no room for columns, `lines` say the same, some for each row."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    style: str = ""
    lines: Sequence[Sequence[str]] = ()
    name: str = ""

    def __bool__(self) -> bool:
        return bool(self.rows)


@dataclass(frozen=True)
class Figures:
    """Pictures; wide where each has a row of its own."""

    pictures: Sequence[Picture]
    wide: bool = False

    def __bool__(self) -> bool:
        return bool(self.pictures)


@dataclass(frozen=True)
class Shares:
    """The rows of a report as bars of parts, each bar with the one who decides."""

    bars: Sequence[tuple[str, Sequence[RowShare]]]

    def __bool__(self) -> bool:
        return any(parts for _, parts in self.bars)


@dataclass(frozen=True)
class Chapter:
    """A title and what stands below it; a tone and its word make a box of it."""

    title: str
    blocks: Sequence[Block]  # those with nothing to show are left out
    plain: str = ""  # the title where there are no columns
    tone: Tone | None = None
    word: str = ""
    folded: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(filter(None, self.blocks)))

    def __bool__(self) -> bool:
        return bool(self.blocks)


Block: TypeAlias = Prose | Grid | Figures | Shares | Chapter


@dataclass(frozen=True)
class Document:
    """The headline, what goes with it, and the chapters in the order of their reader."""

    title: str
    goal: str
    goal_words: str
    chapters: Sequence[Chapter]
    lead: Sequence[Block] = ()
    top: Sequence[str] = ()
    foot: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("lead", "chapters"):
            object.__setattr__(self, name, tuple(filter(None, getattr(self, name))))


# --- What stands above a report that its rows do not know: files, a command -----------------------


@dataclass(frozen=True)
class Header:
    """Where a report comes from, and what to beware of beside what its rows say.

    Examples
    --------
    >>> Header("bank.csv", command="setpoint fit bank.csv --goal {goal}").table
    'bank.csv'
    """

    table: str = ""
    model: str = ""
    command: str = ""
    cautions: Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.cautions, str):
            raise InputTypeError("`cautions` is a sequence of sentences, got one text")
        object.__setattr__(self, "cautions", tuple(self.cautions))

    def line(self, day: str, own: str, rows: str = "") -> list[str]:
        """What is known of table, rows, day, model and version."""
        parts = (self.table, rows, day, self.model, own and f"setpoint {own}")
        return [text for text in parts if text]


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


# --- A value, its interval and its bound on an axis: where to draw them ---------------------------


_MARGIN = 0.12
"""Free space at both ends of an axis of its own, as a share of what is shown."""


@dataclass(frozen=True)
class Axis:
    """A piece of the number line."""

    first: float
    last: float
    shared: bool = False

    def at(self, x: float) -> float:
        """The place of a number in percent of the width; what lies outside is at an end.

        Examples
        --------
        >>> SHARES.at(0.25), Axis(-1.0, 1.0).at(7.0)
        (25.0, 100.0)
        """
        x = min(max(x, self.first), self.last)
        return round(100.0 * (x - self.first) / (self.last - self.first), 2)


SHARES = Axis(0.0, 1.0, shared=True)


def axis_for(numbers: Iterable[float | None], unit: Unit) -> Axis | None:
    """The shared axis for shares, one of their own for other numbers; None for a lone number.

    Examples
    --------
    >>> axis_for([0.5, 0.58, None], "share").shared
    True
    >>> axis_for([3.5, 4.5], "amount")
    Axis(first=3.38, last=4.62, shared=False)
    >>> axis_for([3.5, None], "amount") is None
    True
    """
    known = sorted({x for x in numbers if x is not None and math.isfinite(x)})
    if not known:
        return None
    low, high = known[0], known[-1]
    if unit == "share" and low >= 0.0 and high <= 1.0:
        return SHARES
    if low == high:
        return None
    margin = _MARGIN * (high - low)
    first, last = round(low - margin, 12), round(high + margin, 12)
    return Axis(max(first, 0.0) if low >= 0.0 else first, last) if last > first else None


def bar_on(
    axis: Axis | None,
    unit: Unit,
    value: float | None,
    *,
    low: float | None = None,
    high: float | None = None,
    bound: float | None = None,
    relation: str | None = None,
    other: float | None = None,
) -> Bar | None:
    """The bar of a value, by default on an axis of its own; None where it has no place on one.

    Examples
    --------
    >>> bar = bar_on(SHARES, "share", 0.95, low=0.85, high=1.0, bound=0.9, relation=">=")
    >>> bar.value, bar.interval, bar.allowed
    (95.0, (85.0, 15.0), (90.0, 10.0))
    >>> bar.description
    '95.0 %; interval 85.0 % to 100 %; bound 90.0 %'
    """
    axis = axis or axis_for([value, bound, low, high, other], unit)
    if axis is None or value is None or not math.isfinite(value):
        return None
    words = [shown(value, unit)]
    interval = allowed = at_bound = ring = None
    if low is not None and high is not None and not math.isnan(low + high):
        start, end = axis.at(low), axis.at(high)
        interval = (start, round(end - start, 2))
        words.append(f"interval {shown(low, unit)} to {shown(high, unit)}")
    if bound is not None and math.isfinite(bound):
        at_bound = axis.at(bound)
        words.append(f"bound {shown(bound, unit)}")
        if relation is not None:
            allowed = (
                (at_bound, round(100.0 - at_bound, 2)) if relation == ">=" else (0.0, at_bound)
            )
    if other is not None and math.isfinite(other):
        ring = axis.at(other)
        words.append(f"the deployed model {shown(other, unit)}")
    ends = ("", "") if axis.shared else (_end(axis.first), _end(axis.last))
    return Bar(axis.at(value), ring, at_bound, interval, allowed, ends, "; ".join(words))


def _end(x: float) -> str:
    return f"{x:,.0f}" if 999.5 <= abs(x) < 1e12 else f"{x:.3g}"


# --- As text, for a terminal ----------------------------------------------------------------------


WIDTH = 79

_NAME = 30
"""Characters of a row's name in a table."""


def as_text(found: Document) -> str:
    """A document as text, 79 columns wide."""
    out = [_filled(f"Goal: {found.goal}", 0, 6), "", _filled(f"{found.title}.", 0)]
    out += [line for block in found.lead for line in _lines(block, 0)]
    return printed("\n".join([*out, *(x for c in found.chapters for x in _lines(c, 0))]))


def _lines(block: Block, indent: int = 2) -> Iterator[str]:
    """The lines of a block; below a title they are indented."""
    if isinstance(block, Chapter):
        title = block.plain or block.title
        parts = [[*_lines(b, 2 if title else 0)] for b in block.blocks]
        own = any(x for b, x in zip(block.blocks, parts, strict=True) if not isinstance(b, Chapter))
        yield from ["", title] if title and own else []
        yield from (line for part in parts for line in part)
    elif isinstance(block, Prose) and block.form not in ("hint", "glossary"):
        bullet = "- " if block.form == "list" and indent else ""
        hang = 0 if block.form == "joined" or not indent else 2
        for text in map(str, block.lines):
            for line in text.split("\n") if block.form == "code" else [text] * bool(text):
                depth = indent + len(line) - len(line.lstrip())
                yield _filled(f"{bullet}{line.lstrip()}", depth, hang)
    elif isinstance(block, Grid) and block.lines:
        for first, *more in block.lines:
            yield _filled(first, indent, 4)
            yield from (_filled(text, indent + 2, 4) for text in more)
    elif isinstance(block, Grid):
        yield from _columns([block.head, *([c.text for c in row] for row in block.rows)])


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table, in pieces where it is too wide; numbers to the right."""
    names = [shortened(row[0], _NAME) for row in rows]
    first, wide = (
        max(map(len, names)),
        [max(map(len, column)) for column in zip(*rows, strict=True)],
    )
    start = 1
    while start < len(wide):
        end, room = start + 1, WIDTH - 4 - first - wide[start]
        while end < len(wide) and room >= wide[end] + 2:
            room -= wide[end] + 2
            end += 1
        yield from [""] * (start > 1)
        for name, row in zip(names, rows, strict=True):
            cells = [f"{row[i]:>{wide[i]}}" for i in range(start, end)]
            yield f"  {'  '.join([f'{name:<{first}}', *cells])}".rstrip()
        start = end


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


# --- As short HTML for notebooks, with every caveat: no scripts -----------------------------------


_LEFT = ' style="text-align:left"'


def as_notebook(found: Document) -> str:
    """A document as HTML; all text is escaped, and of tables those of the goal are shown."""
    head = f"<p><code>{_text(found.goal)}</code></p><p><strong>{_text(found.title)}.</strong></p>"
    blocks = "".join(map(_html, [*found.lead, *found.chapters]))
    return f'<div class="setpoint-report">{head}{blocks}</div>'


def _html(block: Block) -> str:
    """A block, nested as little as a notebook needs."""
    if isinstance(block, Chapter):
        title = block.plain or block.title
        inside = "".join(map(_html, block.blocks))
        named = title and inside and not isinstance(block.blocks[0], Chapter)
        return f"<p><strong>{_text(title)}</strong></p>{inside}" if named else inside
    if isinstance(block, Prose) and block.form not in ("hint", "glossary"):
        texts = [_text(str(line)) for line in block.lines if str(line)]
        if block.form != "list" and block.style != "users":
            return "".join(f"<p>{text}</p>" for text in texts)
        return f"<ul>{''.join(f'<li>{text}</li>' for text in texts)}</ul>"
    if isinstance(block, Grid) and block.lines:
        columns = zip(block.head, *(map(_cell, row) for row in block.rows), strict=True)
        head, *rows = zip(*(c for c in columns if any(c[1:])), strict=True)
        body = "".join(_tr("td", row) for row in rows)
        return f"<table><thead>{_tr('th', head)}</thead><tbody>{body}</tbody></table>"
    return ""


def _cell(cell: Cell) -> str:
    text = cell.text.lower() if cell.tone else cell.code or cell.text
    return f"{text} ({cell.note})" if cell.note else text


def _tr(tag: str, texts: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}{_LEFT}>{_text(x)}</{tag}>' for x in texts)}</tr>"


def _text(text: str) -> str:
    return escape(cleaned(text)).replace("\n", "<br>")


# --- As Markdown ----------------------------------------------------------------------------------


def as_markdown(block: Block) -> Iterator[str]:
    """The blocks of Markdown that say the same."""
    if isinstance(block, Chapter):
        yield f"## {block.title}"
        yield from (text for b in block.blocks for text in as_markdown(b))
    elif isinstance(block, Prose) and block.form == "code":
        yield from map(_code, map(str, block.lines))
    elif isinstance(block, Prose):
        bullet, between = ("- ", "\n") if block.form == "list" else ("", "\n\n")
        yield between.join(f"{bullet}{as_written(str(line))}" for line in block.lines)


def as_written(text: str) -> str:
    """Text that Markdown and HTML leave as it is."""
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", " ".join(cleaned(text).split()))


def _code(text: str) -> str:
    """A block of code, longer fenced than anything in it."""
    fence = "`" * max(3, 1 + max((len(x) for x in re.findall("`+", text)), default=0))
    return f"{fence}text\n{cleaned(text)}\n{fence}"


# --- A frontier as text ---------------------------------------------------------------------------


def frontier_text(found: Frontier, most: int) -> str:
    """The goal, the table with the bound that is asked for, and what is not known."""
    goal = Goal.parse(found.goal)
    worth = unit_of(goal.objective)
    side = unit_of(next(c.lhs for c in goal.constraints if str(c) == found.vary))
    thin, asked = found.thinned(most), _asked(found)
    points = _points(thin)
    if asked is not None:
        points = sorted([p for p in points if p[0] != asked[0]] + [asked])
    head = [f"bound {found.relation}", f"best {found.objective}", f"{found.side} reached"]
    head += [] if thin.thresholds is None else ["threshold"]
    rows = []
    for point in points:
        bound, best, reached, cut = point
        texts = [shown(bound, side), shown(best, worth), shown(reached, side), number(cut)]
        row = ["-" if x != x else text for x, text in zip(point, texts, strict=True)]
        rows.append([*row[: len(head)], "asked" if asked and bound == asked[0] else ""])
    lines = [
        f"Goal: {found.goal}",
        f"The bound of {found.vary} moves; the goal asks for {shown_bound(found.asked, side)}.",
        "",
        aligned([*head, ""], rows),
    ]
    if len(thin.bounds) < len(found.bounds):
        lines += ["", f"{len(thin.bounds)} of {len(found.bounds):,} breakpoints."]
    if any("-" in row for row in rows):
        proved = (found.gaps < float("inf")).all()
        lines += ["", f"-: no rule {'meets' if proved else 'was found that meets'} this bound."]
    if found.gap == float("inf"):
        lines += ["", "It is not proved that no rule does better."]
    elif found.gap > 0:
        lines += ["", f"The best may be better by up to {shown(found.gap, worth)}."]
    return "\n".join(lines)


def _points(found: Frontier) -> list[tuple[float, ...]]:
    """Bound, best, what is reached and threshold of each point; NaN where there is none."""
    cut = found.bounds * np.nan if found.thresholds is None else found.thresholds
    columns = np.stack([found.bounds, found.values, found.reached, cut], axis=1)
    return [tuple(row) for row in columns.tolist()]


def _asked(found: Frontier) -> tuple[float, ...] | None:
    """The point of the bound that the goal asks for; None where it was not looked at."""
    at = float(found.asked)
    own = [point for point in _points(found) if abs(point[0] - at) <= SATISFIED]
    if own:
        return own[0]
    if found.kind == "steps":
        return _points(found.sampled(np.array([at])))[0]
    if found.kind == "lines":  # a mixture uses the bound up, or is the best without it
        best = found.at(at)
        reached = float(np.interp(at, found.bounds, found.reached))
        return (at, best, reached if best == best else math.nan, math.nan)
    return None
