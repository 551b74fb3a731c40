"""What a document is made of: chapters, prose, tables, figures, and values drawn on an axis."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from setpoint.errors import InputTypeError
from setpoint.goals import Goal
from setpoint.report.advice import Advice
from setpoint.report.facts import Picture
from setpoint.report.numbers import RowShare, Unit, shown

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
    """The bar of a value; None without an axis or a value that it can hold.

    Examples
    --------
    >>> bar = bar_on(SHARES, "share", 0.95, low=0.85, high=1.0, bound=0.9, relation=">=")
    >>> bar.value, bar.interval, bar.allowed
    (95.0, (85.0, 15.0), (90.0, 10.0))
    >>> bar.description
    '95.0 %; interval 85.0 % to 100 %; bound 90.0 %'
    """
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
