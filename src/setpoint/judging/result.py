"""What a comparison shows: its text, page and picture."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from setpoint.errors import InputError, InputTypeError
from setpoint.goals import Constraint, Goal, constraint_in_words, goal_in_words, in_words
from setpoint.inference import OPEN
from setpoint.inputs import atomic_write
from setpoint.judging.pairs import (
    BETTER,
    CANDIDATE,
    TODAY,
    WORSE,
    ChangedRows,
    JudgedModel,
    Pair,
    Part,
    changed_rows,
    pair_of,
)
from setpoint.packages import pandas
from setpoint.report import (
    LEVEL,
    Axis,
    Bar,
    Cell,
    Chapter,
    Document,
    Entry,
    Figures,
    GoalReport,
    Grid,
    Header,
    Picture,
    Prose,
    Tone,
    Unit,
    aligned,
    as_page,
    bar_on,
    drawstyle_of,
    fitted_on,
    known_line,
    number,
    percent,
    plural,
    scale_of,
    sentence,
    shortened,
    shown,
    shown_bound,
    shown_bounds,
    style,
    unit_of,
)
from setpoint.search import Frontier, vary_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from setpoint.report import Canvas


# --- ModelComparisonDisplay: the frontiers of several models in one picture -----------------------


_INKS = (style.BLUE, style.GREEN, style.RED, style.ORANGE)
_DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))
MOST = 1 + len(_INKS)
"""Models that can be distinguished."""

_MOST_POINTS = 300


class ModelComparisonDisplay:
    """What each model's scores reach as one bound moves, and where each model stands.

    A line is the best of all thresholds on a model's scores, found on these very rows; a dot is
    the model as it decides: hollow for the one in use. A model below its line could decide better
    by its own scores.

    Parameters
    ----------
    comparison : ModelComparison
        Of at most five models.

    Attributes
    ----------
    comparison : ModelComparison
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from setpoint import Deployed, compare
    >>> y, scores = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]
    >>> models = {"today": [0, 0, 0, 1, 1, 1], "new": Deployed(scores, threshold=0.3)}
    >>> found = compare("maximize recall subject to precision >= 0.7", models, None, y)
    >>> display = found.plot()
    >>> display.ax_.get_ylabel(), list(found.frontiers)
    ('best recall', ['new'])
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    figure_: FigureBase

    def __init__(self, comparison: ModelComparison) -> None:
        if not isinstance(comparison, ModelComparison):
            raise InputTypeError(
                f"`comparison` is what compare returns, got {type(comparison).__name__}"
            )
        if not comparison.points:
            raise InputError(
                "`comparison` holds no frontiers: they are of two classes, and "
                "compare(frontier=True) finds them"
            )
        if len(comparison.names) > MOST:
            raise InputError(
                f"`comparison` is of {len(comparison.names)} models, and at most {MOST} can be "
                "distinguished in a picture"
            )
        self.comparison = comparison

    def plot(self, ax: style.Canvas = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or Figure, optional
            By default a new figure. An empty figure is filled.

        Returns
        -------
        self
            With `ax_` and `figure_`.
        """
        self.figure_, (self.ax_,), mode = style.axes(ax, (6.8, 4.4))
        found, ax_ = self.comparison, self.ax_
        lines = {name: f.thinned(_MOST_POINTS) for name, f in found.frontiers.items()}
        xs = [x for x, _ in found.points.values() if np.isfinite(x)]
        ends = [shown_bounds(f) for f in lines.values()] or [(min(xs) - 0.1, max(xs) + 0.1)]
        low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        for place, name in enumerate(found.names):
            ink = style.INK if place == 0 else _INKS[place - 1]
            if name in lines:
                self._line(lines[name], low, high, ink, place, name)
            x, y = found.points[name]
            self._dot(x, y, ink, place, name if name not in lines else "")
        ax_.set_xlim(low, high)
        ax_.margins(y=0.08)
        some = next(iter(lines.values()), None)
        self._named(some)
        style.legend(ax_, mode, columns=2)
        style.caption(ax_, mode, self._caption(some))
        return self

    def _line(self, f: Frontier, low: float, high: float, ink: str, place: int, name: str) -> None:
        x, y = known_line(f, low, high)
        self.ax_.plot(
            x,
            y,
            color=ink,
            drawstyle=drawstyle_of(f),
            linestyle="-" if place == 0 else _DASHES[(place - 1) % len(_DASHES)],
            linewidth=style.THIN if place == 0 else style.LINE,
            marker="." if f.kind == "points" else "",
            label=shortened(name) if name else "",
            zorder=3,
        )

    def _dot(self, x: float, y: float, ink: str, place: int, name: str) -> None:
        if not np.isfinite(x + y):
            return
        self.ax_.scatter(
            [x],
            [y],
            s=70.0,
            facecolors=style.PAPER if place == 0 else ink,
            edgecolors=ink if place == 0 else style.PAPER,
            linewidths=1.8 if place == 0 else 1.2,
            zorder=4.8 if place == 0 else 5.0,
            clip_on=False,
            label=shortened(name) if name else "",
        )

    def _named(self, some: Frontier | None) -> None:
        """Axes in words, and a line at the bound that the goal asks for."""
        goal, ax_ = self.comparison.goal, self.ax_
        left = scale_of(str(goal.objective))
        if some is not None:
            side, how = some.side, " at least" if some.relation == ">=" else " at most"
            if any(str(c) == some.vary for c in goal.constraints):
                ax_.axvline(some.asked, **style.asked(), label="asked")
        else:
            moving = goal.constraints[0].lhs if goal.constraints else "predicted_rate"
            side, how = str(moving), ""
        below = scale_of(side)
        style.finish(
            ax_, style.wrapped(f"{below.words}{how}", 56), style.wrapped(f"best {left.words}", 56)
        )
        below.apply(ax_.xaxis)
        left.apply(ax_.yaxis)

    def _caption(self, some: Frontier | None) -> str:
        text = f"Dots: the models as they decide; hollow: {shortened(self.comparison.names[0])}."
        if some is None:
            return text
        goal = Goal.parse(some.goal)
        others = [constraint_in_words(c) for c in goal.constraints if str(c) != some.vary]
        text += " Lines: the best that each model's scores reach on these rows"
        text += f", with {' and '.join(others)}." if others else "."
        return text


# --- A comparison of models in words, for a terminal ----------------------------------------------


def headline(found: ModelComparison) -> str:
    """The verdict, and on how many rows."""
    rows = next(iter(found.pairs.values())).changes.rows
    return f"{found.verdict[0].upper()}{found.verdict[1:]} on {rows:,} rows."


def text_of(found: ModelComparison) -> str:
    """The whole as text."""
    return "\n".join([headline(found), *lines_of(found)])


def lines_of(found: ModelComparison, about: Mapping[str, str] | None = None) -> Iterator[str]:
    """What the rows show, and the numbers behind it."""
    if len(found.pairs) == 1:
        yield found.why
    yield from ("", f"Goal: {found.goal}")
    yield from (f"{name}: {text}" for name, text in (about or {}).items())
    for pair in found.pairs.values():
        yield ""
        if len(found.pairs) > 1:
            yield f"{pair.candidate} against {pair.today}: {pair.verdict}. {pair.why}"
        reports = found.reports[pair.today], found.reports[pair.candidate]
        yield from _pair_lines(pair, *reports)
    if len(found.pairs) > 1:
        yield ""
        yield (
            f"{len(found.pairs)} models are compared with {found.names[0]}: each limit of a "
            f"difference has {percent(next(iter(found.pairs.values())).level)} confidence, so that "
            f"all of a kind hold at once with {percent(LEVEL)}."
        )
        if found.too_close:
            yield f"Neither better nor worse, as far as shown: {', '.join(found.too_close)}."
    yield from found.notes


def _pair_lines(pair: Pair, today: GoalReport, candidate: GoalReport) -> Iterator[str]:
    a, b = pair.today, pair.candidate
    head = ("", a, b, f"{b} - {a}", "on new rows", f"{b} is")
    yield aligned(head, list(_table(pair, today, candidate)))
    if len(pair.parts) > 1:
        yield from ("", "The constraints on new rows")
        for part in pair.parts[1:]:
            one, other = (e.verdict or "not evaluated" for e in (part.today, part.candidate))
            yield f"  {part.today.text}: {a} {one}, {b} {other}"
    yield from ("", "Decisions")
    yield from (f"  {line}" for line in changes_of(pair))
    if pair.groups:
        yield ""
        yield aligned(("group", "rows", "change", "wins", "losses"), list(_groups(pair)))
    if pair.rows_needed is not None:
        yield ""
        yield (
            f"A difference in {pair.parts[0].today.text} as large as this one would be shown by "
            f"about {pair.rows_needed:,} rows."
        )


def _table(pair: Pair, today: GoalReport, candidate: GoalReport) -> Iterator[list[str]]:
    """Objective, constraints and the rows accepted; a difference with its interval."""
    for part in pair.parts:
        word = (part.verdict or "").removeprefix("shown to be ")
        yield [part.today.text, *_numbers(part), word]
    shares = [accepted(report) for report in (today, candidate)]
    if None not in shares:
        one, other = (float(x or 0.0) for x in shares)
        values = [shown(x, "share") for x in (one, other, other - one)]
        yield ["rows accepted", *values, "", ""]


def _numbers(part: Part) -> tuple[str, str, str, str]:
    """Both values, their difference, and its limits."""
    unit, gain = unit_of(part.side), part.difference
    one, other = (shown(e.value, unit) for e in (part.today, part.candidate))
    limits = ""
    if gain is not None and gain.low is not None and gain.high is not None:
        limits = f"{shown(gain.low, unit)} to {shown(gain.high, unit)}"
    return one, other, "-" if gain is None else shown(gain.value, unit), limits


def accepted(report: GoalReport) -> float | None:
    """The share of rows that are decided positive, of two classes; else None."""
    counts = report.counts
    total = counts.total
    if counts.positive is None or not total:
        return None
    return sum(row[1] for row in counts.confusion) / total


def changes_of(pair: Pair) -> list[str]:
    """How many decisions differ, and who is right there, in sentences."""
    changes = pair.changes
    if not changes.changed:
        return ["No decision differs."]
    return [
        f"{percent(changes.changed)} of the decisions differ (churn).",
        f"{pair.candidate} alone is right on {percent(changes.wins or 0.0)} of the rows (wins), "
        f"{pair.today} alone on {percent(changes.losses or 0.0)} (losses).",
    ]


def _groups(pair: Pair) -> Iterator[list[str]]:
    for group in pair.groups:
        c = group.changes
        shares = (c.changed, c.wins or 0.0, c.losses or 0.0)
        yield [f"{group.column} = {group.value}", f"{c.rows:,}", *map(percent, shares)]


# --- The page of a comparison: one self-contained HTML file ---------------------------------------


_TONES: dict[str | None, Tone] = {BETTER: "shown", WORSE: "fails", OPEN: "open", None: "unknown"}
_MOST_ROWS = 200
"""Rows that change, in the page."""


def document_of(found: ModelComparison, header: Header | None = None) -> Document:
    """The verdict on each other model, part by part, and the rows that change."""
    header, several = header or Header(), len(found.pairs) > 1
    rows = plural(next(iter(found.pairs.values())).changes.rows, "row")
    others = found.names[1:]
    positive = next(iter(found.reports.values())).counts.positive
    notes = Prose([*header.cautions, *found.notes], "list", "cautions")
    *first, last = [_verdict(pair, several) for pair in found.pairs.values()]
    return Document(
        f"{f'{len(others)} models' if several else others[0]} against {found.names[0]}",
        str(found.goal),
        goal_in_words(found.goal, positive),
        [
            *first,
            replace(last, blocks=[*last.blocks, notes]),
            *(_pair(pair, several) for pair in found.pairs.values()),
            Chapter("What the scores of each could reach", [Figures(_pictures(found), True)]),
            _rows(found),
            Chapter("As text", [Prose((text_of(found),), "code")], folded=True),
        ],
        top=header.line(datetime.now(UTC).date().isoformat(), version("setpoint"), rows),
    )


def _verdict(pair: Pair, several: bool) -> Chapter:
    word = f"{pair.candidate}: {pair.verdict}" if several else sentence(pair.verdict)
    return Chapter("", [Prose((pair.why,))], tone=_TONES[pair.verdict], word=word)


def _pair(pair: Pair, several: bool) -> Chapter:
    """The first model and another one, part by part."""
    a, b, axes = pair.today, pair.candidate, _axes(pair.parts)
    rows = [_part(part, i == 0, axes) for i, part in enumerate(pair.parts)]
    head = ("Part of the goal", "The difference on an axis", a, b, "Difference", "On new rows")
    hint = (
        "The dot is the difference that was counted, by the pairs of decisions. The thick bar is "
        f"where it is on new rows of the same kind, each end with {percent(pair.level)} "
        f"confidence. At the upright stroke both are equal; on the shaded side {b} is better."
    )
    groups = [[*map(Cell, line)] for line in _groups(pair)]
    return Chapter(
        f"{b} against {a}" if several else "Part by part",
        [
            Grid((*head, f"{b} is"), rows, "parts"),
            Prose([hint] if any(row[1].bar for row in rows) else (), "hint"),
            Prose(changes_of(pair), "each"),
            Grid(("Group", "Rows", "Change", "Wins", "Losses"), groups,
                  name="Decisions that change, by group"),
        ],
    )  # fmt: skip


def _part(part: Part, is_objective: bool, axes: Mapping[Unit, Axis | None]) -> list[Cell]:
    """One row of the table: both values, and the difference on an axis around none."""
    unit, (one, other, gain, limits) = unit_of(part.side), _numbers(part)
    word = (part.verdict or "not measured").removeprefix("shown to be ")
    said = [
        "" if is_objective else e.verdict or "not evaluated" for e in (part.today, part.candidate)
    ]
    return [
        Cell(sentence(in_words(part.side)), code=part.today.text),
        Cell(bar=_bar(part, unit, axes[unit])),
        Cell(one, said[0]),
        Cell(other, said[1], style="strong"),
        Cell(gain),
        Cell(limits or "-", style="limits"),
        Cell(sentence(word), tone=_TONES[part.verdict]),
    ]


def _axes(parts: Sequence[Part]) -> dict[Unit, Axis | None]:
    """For each unit an axis for all differences, with none in the middle."""
    far: dict[Unit, float] = {}
    for part in parts:
        gain, unit = part.difference, unit_of(part.side)
        ends = [] if gain is None else [gain.value, gain.low, gain.high]
        known = [abs(x) for x in ends if x is not None and math.isfinite(x)]
        far[unit] = max([far.get(unit, 0.0), *known])
    return {unit: Axis(-_round(x), _round(x)) if x > 0.0 else None for unit, x in far.items()}


def _round(x: float) -> float:
    """A number of two digits that is a little larger.

    Examples
    --------
    >>> _round(0.347), _round(1234.0)
    (0.37, 1300.0)
    """
    step = 10.0 ** (math.floor(math.log10(x)) - 1)
    return round(math.ceil(1.04 * x / step) * step, 12)


def _bar(part: Part, unit: Unit, axis: Axis | None) -> Bar | None:
    gain = part.difference
    if gain is None or axis is None:
        return None
    bar = bar_on(
        axis, unit, gain.value, low=gain.low, high=gain.high, bound=0.0, relation=gain.relation
    )
    ends = (shown_bound(axis.first, unit), shown_bound(axis.last, unit))
    return None if bar is None else replace(bar, ends=ends)


def _pictures(found: ModelComparison) -> list[Picture]:
    """The frontiers in one picture, where they can be distinguished."""
    if not found.points or len(found.names) > MOST:
        return []
    name = "The models and the best that their scores reach"
    stands = "; ".join(
        f"{one} at {number(x)} and {number(y)}" for one, (x, y) in found.points.items()
    )
    picture = Picture(
        name,
        ModelComparisonDisplay(found).plot,
        f"The best objective of each model as one bound moves. {stands}.",
        "A line is the best of all thresholds on the scores of one model, found on these very "
        "rows, which flatter it. A dot is the model as it decides; the hollow one is in use. A dot "
        "below its line could decide better by the same scores.",
    )
    return [picture]


def _rows(found: ModelComparison) -> Chapter:
    """The rows that change."""
    n = len(found.changed["row"])
    words = f"{plural(n, 'row')} of these are decided otherwise than by {found.names[0]}."
    head = [name.replace("_", " ", 1) for name in found.changed]
    some = [map(_cell, column[:_MOST_ROWS].tolist()) for column in found.changed.values()]
    table = Grid(head, list(zip(*some, strict=True)), name="Rows that change")
    inside = Chapter(f"Show {len(table.rows)} of them", [table], folded=True)
    return Chapter("Rows that change", [Prose((words,)), inside] if n else [])


def _cell(x: Any) -> Cell:
    return Cell(number(x) if isinstance(x, float) else shortened(str(x)))


# --- What comparing models found: who is better, by how much --------------------------------------

_BY_SHARE = "predicted_rate <= 1"
"""What moves where the goal bounds nothing: the share of rows that is accepted at most."""


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison:
    """Models on the same rows, judged by one goal; the first is in use.

    Parameters
    ----------
    goal : Goal
    reports : dict of str to GoalReport
        Of each model on these rows.
    pairs : dict of str to Pair
        Each other model against the first: its verdict and why, the parts of the goal with their
        differences, and what changes, by group where the goal names groups.
    changed : dict of str to array of shape (m,)
        The rows that a model decides otherwise than the first, as columns that
        ``pandas.DataFrame`` takes: "row", its number in X from 0; "index", where X has one;
        "true", the label; "weight", where rows have weights; for each model
        "decision_<name>" and, where it has one score a row, "score_<name>"; for each but the
        first "change_<name>": "win" (from wrong to right), "loss" (from right to wrong), "other"
        (from one wrong class to another) or "none".
    frontiers : dict of str to Frontier
        The best that the scores of each model reach on these rows, as one bound moves; empty
        where none were asked for.
    points : dict of str to (float, float)
        The moving side and the objective, as each model decides.
    notes : tuple of str
        What to know beside the numbers: who was judged on rows of its fit, who has no frontier.

    Examples
    --------
    >>> from setpoint import compare
    >>> models = {"today": [0, 1, 1, 0, 1, 0], "new": [0, 1, 1, 1, 0, 0]}
    >>> found = compare("accuracy", models, None, [0, 1, 1, 1, 0, 0])
    >>> found.verdict, found.changed["row"].tolist(), found.changed["change_new"].tolist()
    ('too close to call', [3, 4], ['win', 'win'])
    """

    goal: Goal
    reports: Mapping[str, GoalReport]
    pairs: Mapping[str, Pair]
    changed: ChangedRows
    frontiers: Mapping[str, Frontier]
    points: Mapping[str, tuple[float, float]]
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models, the one in use first."""
        return tuple(self.reports)

    @property
    def differences(self) -> dict[str, Sequence[Part]]:
        """For each other model the objective and the constraints, with their differences."""
        return {name: pair.parts for name, pair in self.pairs.items()}

    @property
    def too_close(self) -> tuple[str, ...]:
        """The models that are shown to be neither better nor worse than the first."""
        return tuple(name for name, pair in self.pairs.items() if pair.verdict == OPEN)

    @property
    def verdict(self) -> str:
        """Whether a model is shown to be better than the first.

        "shown to be better" where at least one is, "shown to be worse" where all are, else "too
        close to call".
        """
        found = [pair.verdict for pair in self.pairs.values()]
        if BETTER in found:
            return BETTER
        return WORSE if all(one == WORSE for one in found) else OPEN

    @property
    def why(self) -> str:
        """What the verdict stands on, in a sentence for each other model."""
        if len(self.pairs) == 1:
            return next(iter(self.pairs.values())).why
        return " ".join(
            f"{name!r} is {pair.verdict}: {pair.why}" for name, pair in self.pairs.items()
        )

    def plot(self, ax: Canvas = None) -> ModelComparisonDisplay:
        """Draw the frontiers and the rules of all models; see :class:`ModelComparisonDisplay`.

        Parameters
        ----------
        ax : Axes or Figure, optional
            By default a new figure.
        """
        return ModelComparisonDisplay(self).plot(ax)

    def to_frame(self) -> pd.DataFrame:
        """Each part of the goal for each model as a pandas DataFrame, one row each.

        Beside the fields of an :class:`Entry`, which are the model's own, "difference", its
        limits "difference_low" and "difference_high", and what it "is" against the first.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        frame: pd.DataFrame = pandas().DataFrame(
            [row for name in self.names for row in self._rows(name)]
        )
        return frame

    def _rows(self, name: str) -> list[dict[str, Any]]:
        """The parts of one model."""
        parts: Sequence[Part | None] = [None] * len(self.reports[name].entries)
        if name in self.pairs:
            parts = self.pairs[name].parts
        out = []
        for i, (entry, part) in enumerate(zip(self.reports[name].entries, parts, strict=True)):
            gain = None if part is None else part.difference
            own = {f.name: getattr(entry, f.name) for f in fields(Entry)}
            out.append(
                {
                    "model": name,
                    "part": "constraint" if i else "objective",
                    **own,
                    "difference": None if gain is None else gain.value,
                    "difference_low": None if gain is None else gain.low,
                    "difference_high": None if gain is None else gain.high,
                    "is": None if part is None else part.verdict,
                }
            )
        return out

    def to_html(self, path: str | os.PathLike[str], *, header: Header | None = None) -> None:
        """Write one self-contained HTML page for the person who decides.

        No scripts and nothing from outside. The old file stays until the new one is whole.

        Parameters
        ----------
        path : path
        header : Header, optional
            File names and cautions.

        Raises
        ------
        ImportError
            If jinja2 or matplotlib is not installed.
        OSError
            If the file cannot be written.
        """
        atomic_write(path, as_page(document_of(self, header)).encode("utf-8"))

    def __str__(self) -> str:
        return text_of(self)

    def __repr__(self) -> str:
        return f"ModelComparison({', '.join(map(repr, self.names))}: {self.verdict})"

    def _repr_html_(self) -> str:
        """For notebooks: the finding, the text, and what to beware of."""
        return (
            f'<div class="setpoint-comparison"><p><strong>{escape(self.verdict.capitalize())}.'
            f"</strong> {escape(self.why)}</p><pre>{escape(str(self))}</pre></div>"
        )


def comparison_of(
    goal: Goal,
    models: Sequence[JudgedModel],
    X: Any = None,
    *,
    vary: bool | Constraint | str = True,
    apart: bool = False,
    named: bool = True,
) -> ModelComparison:
    """Compare models that were judged on the same rows."""
    today, others = models[0], models[1:]
    level = 1.0 - (1.0 - LEVEL) / len(others)
    pairs = {}
    for other in others:
        names = (f"{today.name!r}", f"{other.name!r}") if named else (TODAY, CANDIDATE)
        pairs[other.name] = pair_of(goal, today, other, apart=apart, level=level, names=names)
    notes = [
        f"{m.name} was judged on rows {fitted_on(m.report)}: they flatter it."
        for m in models
        if m.report.counts.seen > 0.0
    ]
    if today.report.rule.drawn:
        notes.append(f"{today.name} draws: the others are compared with what it drew here.")
    frontiers: dict[str, Frontier] = {}
    points: dict[str, tuple[float, float]] = {}
    if vary is not False and len(today.seen.classes.labels) == 2:
        moving: Any = vary if vary is not True else 0 if goal.constraints else _BY_SHARE
        wanted, place = vary_of(goal, moving)
        for m in models:
            seen = m.seen if wanted == goal else m.seen_by(wanted)
            points[m.name], found = m.stands(wanted, seen, place)
            if isinstance(found, Frontier):
                frontiers[m.name] = found
            else:
                notes.append(f"There is no frontier of {m.name}: {found}.")
    elif vary is not False:
        notes.append("There are no frontiers: they are those of two classes.")
    reports = {m.name: m.report for m in models}
    changed = changed_rows(models, X)
    return ModelComparison(goal, reports, pairs, changed, frontiers, points, tuple(notes))
