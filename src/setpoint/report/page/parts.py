"""Parts of a page: header, axes, rows and groups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from setpoint.errors import InputTypeError
from setpoint.goals import Goal, expression_of
from setpoint.inference import FAILS, OPEN, SHOWN
from setpoint.report.entry import GroupRow
from setpoint.report.facts import Facts
from setpoint.report.findings import Line, lines_of, sentence
from setpoint.report.numbers import Counts, Unit, asked, parts_of, shortened, shown, unit_of
from setpoint.report.promised import GroupTable

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


@dataclass(frozen=True)
class Bar:
    """What the template draws; all places in percent of the width."""

    value: float | None
    other: float | None
    bound: float | None
    interval: tuple[float, float] | None
    allowed: tuple[float, float] | None
    ends: tuple[str, str]
    description: str


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
    interval = allowed = at_bound = None
    if low is not None and high is not None and not math.isnan(low + high):
        start, end = axis.at(low), axis.at(high)
        interval = (start, round(end - start, 2))
        words.append(f"interval {shown(low, unit)} to {shown(high, unit)}")
    if bound is not None and math.isfinite(bound):
        at_bound = axis.at(bound)
        words.append(f"bound {shown(bound, unit)}")
        if relation == ">=":
            allowed = (at_bound, round(100.0 - at_bound, 2))
        elif relation == "<=":
            allowed = (0.0, at_bound)
    ring = None
    if other is not None and math.isfinite(other):
        ring = axis.at(other)
        words.append(f"the deployed model {shown(other, unit)}")
    ends = ("", "") if axis.shared else (_end(axis.first), _end(axis.last))
    return Bar(axis.at(value), ring, at_bound, interval, allowed, ends, "; ".join(words))


def _end(x: float) -> str:
    return f"{x:,.0f}" if 999.5 <= abs(x) < 1e12 else f"{x:.3g}"


# --- The rows of a report as a bar of parts, each with its label ----------------------------------


_KINDS = ("hit", "alarm", "miss", "rest")
_KINDS_OF_MORE = ("hit", "alarm")
_DEFERRED = "deferred"


@dataclass(frozen=True)
class Piece:
    """A piece of the bar; places in percent of the width."""

    kind: str
    start: float
    width: float
    middle: float
    label_at: float
    count: str
    words: str


def pieces_of(
    counts: Counts, confusion: Sequence[Sequence[float]] | None = None
) -> tuple[Piece, ...]:
    """The pieces from left to right; none without labelled rows.

    Examples
    --------
    >>> found = Counts(1000, ("no", "yes"), ((880.0, 20.0), (30.0, 70.0), (0.0, 0.0)))
    >>> for piece in pieces_of(found):
    ...     print(piece.start, piece.width, piece.count, piece.words)
    0.0 7.0 700 accepted rightly
    7.0 2.0 200 accepted wrongly
    9.0 3.0 300 missed
    12.0 88.0 8,800 left out rightly
    """
    parts = parts_of(counts, confusion)
    total = sum(p.rows for p in parts)
    out: list[Piece] = []
    start = 0.0
    kinds = _KINDS if len(parts) >= len(_KINDS) else _KINDS_OF_MORE
    if len(parts) > len(kinds):
        kinds = (*kinds, _DEFERRED)
    for i, (kind, part) in enumerate(zip(kinds, parts, strict=False)):
        width = 100.0 * part.rows / total
        out.append(
            Piece(
                kind,
                round(start, 2),
                round(width, 2),
                round(start + width / 2.0, 2),
                round(100.0 * (i + 0.5) / len(parts), 2),
                f"{part.rows:,.0f}" if part.rows >= 0.5 or part.rows == 0 else "fewer than one",
                part.words,
            )
        )
        start += width
    return tuple(out)


# --- The table of what was asked: one row for each part of the goal -------------------------------


Tone: TypeAlias = Literal["shown", "open", "fails", "unknown", ""]
"""How a thing stands: its sign and its colour, beside its word."""

WORDS: dict[Tone, str] = {
    "shown": "Shown",
    "open": "Too close to call",
    "fails": "Shown to fail",
    "unknown": "Not evaluated",
}

_LONGEST = 100
"""Characters of one part; the goal above the table is whole."""

_TONES: dict[str, Tone] = {SHOWN: "shown", OPEN: "open", FAILS: "fails"}


def tone_of(verdict: str | None) -> Tone:
    """The tone of a verdict.

    Examples
    --------
    >>> tone_of("too close to call"), tone_of(None)
    ('open', 'unknown')
    """
    return "unknown" if verdict is None else _TONES[verdict]


@dataclass(frozen=True)
class PartRow:
    """One part of the goal as the page shows it."""

    words: str
    code: str
    value: str
    counts: str
    asked: str
    searched: str
    limits: str
    limits_note: str
    tone: Tone
    word: str
    bar: Bar | None
    certified: str = ""


def part_rows(facts: Facts, goal: Goal) -> list[PartRow]:
    """The objective, then every constraint."""
    deployed = _deployed(facts)
    searched = [""]
    for entry, constraint in zip(facts.constraints, goal.constraints, strict=True):
        searched.append("" if entry.worked is None else asked(constraint, entry.worked))
    lines = lines_of(facts, goal)
    return [
        _row(line, other, with_bound)
        for line, other, with_bound in zip(lines, deployed, searched, strict=True)
    ]


def _row(line: Line, other: float | None, searched: str) -> PartRow:
    entry = line.entry
    exact = entry.interval == "exact"
    low, high = (None, None) if exact else (entry.low, entry.high)
    axis = axis_for([entry.value, entry.bound, low, high, other], line.unit)
    bar = bar_on(
        axis,
        line.unit,
        entry.value,
        low=low,
        high=high,
        bound=entry.bound,
        relation=entry.relation,
        other=other,
    )
    note = "bootstrap" if line.limits and entry.interval == "bootstrap" else ""
    tone: Tone = "" if entry.relation is None else tone_of(entry.verdict)
    return PartRow(
        shortened(sentence(line.words), _LONGEST),
        shortened(entry.text, _LONGEST),
        line.value,
        line.counts or entry.why,
        line.wanted,
        searched,
        line.limits,
        note,
        tone,
        "Certified" if line.verdict == "certified" else WORDS.get(tone, "Objective"),
        bar,
        line.certified,
    )


def _deployed(facts: Facts) -> Sequence[float | None]:
    """The deployed model's values of the same parts, where they were counted."""
    found = facts.deployed
    if found is None:
        return [None] * len(facts.entries)
    met: list[float | None] = [None] * len(facts.constraints)
    if len(found.constraints) == len(facts.constraints):
        met = [e.value for e in found.constraints]
    return [found.objective, *met]


# --- The table of groups with a dot for each group on one axis ------------------------------------


_GROUP_ROWS_LONGEST = 90
"""Characters of a name; the whole of it is the cell's title."""

_MOST = 60
"""So many groups are shown; of more the ends, and the others are folded."""

_ENDS = 20

_MOST_FOLDED = 200


@dataclass(frozen=True)
class GroupLine:
    """One group: its name, short and whole, its cells, and a bar for each compared metric."""

    name: str
    whole: str
    cells: tuple[str, ...]
    bars: tuple[Bar | None, ...]


@dataclass(frozen=True)
class GroupsShown:
    """The table as the page shows it."""

    head: tuple[str, ...]
    lines: tuple[GroupLine, ...]
    folded: tuple[GroupLine, ...]
    bars_from: int
    shared: tuple[bool, ...]
    note: str


def groups_shown(facts: Facts) -> GroupsShown | None:
    """The groups of a report; None if there are none."""
    if not facts.groups:
        return None
    table = GroupTable.of(facts)
    cells = {(g.columns, g.metric): g for g in facts.groups}
    groups = list(dict.fromkeys(g.columns for g in facts.groups))
    bars = {metric: _bars(facts, metric) for metric in table.metrics}
    lines = []
    for columns, row in zip(groups, table.rows, strict=True):
        own = tuple(bars[m].get(columns) for m in table.metrics)
        lines.append(GroupLine(shortened(row[0], _GROUP_ROWS_LONGEST), row[0], row[1:], own))
    shared = tuple(any(b and not b.ends[0] for b in bars[m].values()) for m in table.metrics)
    start = len(table.head) - 1 - len(table.metrics)
    if len(lines) <= _MOST:
        return GroupsShown(table.head[1:], tuple(lines), (), start, shared, "")
    by = (table.metrics or (facts.groups[0].metric,))[0]
    first, last, rest = _ends(lines, [_height(cells.get((key, by))) for key in groups])
    what = table.head[-len(table.metrics)] if table.metrics else by
    note = (
        f"Of {len(lines):,} groups the {len(first)} lowest and the {len(last)} highest by {what}; "
        "the others are folded below."
    )
    if len(rest) > _MOST_FOLDED:
        note = f"{note[:-1]}, {_MOST_FOLDED} of them."
    return GroupsShown(
        table.head[1:],
        (*first, *last),
        tuple(replace(line, bars=(None,) * len(line.bars)) for line in rest[:_MOST_FOLDED]),
        start,
        shared,
        note,
    )


def _height(row: GroupRow | None) -> float:
    """The value of a group; not a number without rows."""
    return math.nan if row is None or row.value is None else row.value


def _ends(
    lines: list[GroupLine], heights: Sequence[float]
) -> tuple[list[GroupLine], list[GroupLine], list[GroupLine]]:
    """The lowest, the highest, and the others, those without rows last."""
    known = sorted((h, i) for i, h in enumerate(heights) if not math.isnan(h))
    order = [i for _, i in known]
    low, high = order[:_ENDS], order[_ENDS:][-_ENDS:]
    shown = {*low, *high}
    rest = [i for i in order if i not in shown]
    rest += [i for i, h in enumerate(heights) if math.isnan(h)]
    return ([lines[i] for i in low], [lines[i] for i in high], [lines[i] for i in rest])


def _bars(facts: Facts, metric: str) -> dict[object, Bar | None]:
    """The bars of one metric, on one axis for all groups."""
    rows = [g for g in facts.groups if g.metric == metric]
    unit = unit_of(expression_of(metric))
    axis = axis_for([x for g in rows for x in (g.value, g.low, g.high)], unit)
    return {g.columns: bar_on(axis, unit, g.value, low=g.low, high=g.high) for g in rows}
