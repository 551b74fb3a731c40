"""What a comparison shows: its text, page and picture."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from setpoint.errors import InputError
from setpoint.goals import Goal, goal_in_words, in_words
from setpoint.inference import OPEN
from setpoint.inputs import atomic_write
from setpoint.judging.judge import BETTER, WORSE, Pair, Part
from setpoint.packages import pandas
from setpoint.report import (
    LEVEL,
    MOST_MODELS,
    Axis,
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
    as_notebook,
    as_page,
    as_text,
    bar_on,
    number,
    percent,
    plot_frontier,
    plural,
    sentence,
    shortened,
    shown,
    shown_bound,
    unit_of,
)
from setpoint.search import Frontier

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.report import Canvas, Display


# --- The document of a comparison: text, notebook and page ----------------------------------------


_TONES: dict[str | None, Tone] = {BETTER: "shown", WORSE: "fails", OPEN: "open", None: "unknown"}
_MOST_ROWS = 200
"""Rows that change, in the page."""


def document_of(found: ModelComparison, header: Header | None = None) -> Document:
    """The verdict on each other model, part by part; of a page also the rows that change."""
    pairs = tuple(found.pairs.values())
    rows = plural(pairs[0].changes.rows, "row")
    verdicts = []
    for pair in pairs:
        word = sentence(pair.verdict) if len(pairs) == 1 else f"{pair.candidate}: {pair.verdict}"
        plain = word if len(pairs) > 1 else ""
        tone = _TONES[pair.verdict]
        verdicts.append(Chapter("", [Prose((pair.why,))], plain, tone=tone, word=word))
    notes = [*(() if header is None else header.cautions), *found.notes]
    if len(pairs) > 1:
        notes.append(
            f"{len(pairs)} models are compared with {found.names[0]}: each limit of a difference "
            f"has {percent(pairs[0].level)} confidence, so that all of a kind hold at once with "
            f"{percent(LEVEL)}."
        )
        if found.too_close:
            names = ", ".join(found.too_close)
            notes.append(f"Neither better nor worse, as far as shown: {names}.")
    document = Document(
        f"{sentence(found.verdict)} on {rows}",
        str(found.goal),
        goal_in_words(found.goal, next(iter(found.reports.values())).counts.positive),
        [
            *verdicts,
            Chapter("Please note", [Prose(notes, "list", "cautions")]),
            *(_pair(pair, found.reports) for pair in pairs),
        ],
    )
    if header is None:
        return document
    own = version("setpoint")
    return replace(
        document,
        chapters=[
            *document.chapters,
            Chapter("What the scores of each could reach", [Figures(_pictures(found), True)]),
            _rows(found),
            Chapter("As text", [Prose((as_text(document),), "code")], folded=True),
        ],
        top=header.line(datetime.now(UTC).date().isoformat(), own, rows),
    )


def _pair(pair: Pair, reports: Mapping[str, GoalReport]) -> Chapter:
    """The first model and another one, part by part."""
    a, b, axes = pair.today, pair.candidate, _axes(pair.parts)
    pieces = [_part(pair, part, axes) for part in pair.parts]
    shares = [accepted(reports[name]) for name in (a, b)]
    if None not in shares:
        one, other = (float(x or 0.0) for x in shares)
        values = [shown(x, "share") for x in (one, other, other - one)]
        pieces.append(
            (
                [*map(Cell, ("Rows accepted", "", *values, "", ""))],
                ("rows accepted", f"{a} {values[0]}, {b} {values[1]}; {b} - {a} {values[2]}"),
            )
        )
    rows, lines = zip(*pieces, strict=True)
    head = ("Part of the goal", "The difference on an axis", a, b, "Difference", "On new rows")
    hint = (
        "The dot is the difference that was counted, by the pairs of decisions. The thick bar is "
        f"where it is on new rows of the same kind, each end with {percent(pair.level)} "
        f"confidence. At the upright stroke both are equal; on the shaded side {b} is better."
    )
    more = []
    if pair.rows_needed is not None:
        more.append(
            f"A difference in {pair.parts[0].today.text} as large as this one would be shown by "
            f"about {pair.rows_needed:,} rows."
        )
    groups = [
        [
            Cell(f"{group.column} = {group.value}"),
            Cell(f"{(c := group.changes).rows:,}"),
            *(Cell(percent(x or 0.0)) for x in (c.changed, c.wins, c.losses)),
        ]
        for group in pair.groups
    ]
    return Chapter(
        f"{b} against {a}",
        [
            Grid((*head, f"{b} is"), rows, "parts", lines),
            Prose([hint] if any(row[1].bar for row in rows) else (), "hint"),
            Prose([*changes_of(pair), *more], "each"),
            Grid(("Group", "Rows", "Change", "Wins", "Losses"), groups,
                  name="Decisions that change, by group"),
        ],
    )  # fmt: skip


def accepted(report: GoalReport) -> float | None:
    """The share of rows that are decided positive, of two classes; else None."""
    counts = report.counts
    total = counts.total
    if counts.positive is None or not total:
        return None
    return sum(row[1] for row in counts.confusion) / total


def _part(
    pair: Pair, part: Part, axes: Mapping[Unit, Axis | None]
) -> tuple[list[Cell], tuple[str, str]]:
    """Both values, and the difference on an axis around none: as a row, and in words."""
    unit, gain, axis = unit_of(part.side), part.difference, axes[unit_of(part.side)]
    one, other = (shown(e.value, unit) for e in (part.today, part.candidate))
    moved, limits, bar = "-", "", None
    if gain is not None:
        moved = shown(gain.value, unit)
        if gain.low is not None and gain.high is not None:
            limits = f"{shown(gain.low, unit)} to {shown(gain.high, unit)}"
        if axis is not None:
            ends = (shown_bound(axis.first, unit), shown_bound(axis.last, unit))
            bar = bar_on(
                axis, unit, gain.value, low=gain.low, high=gain.high, bound=0.0,
                relation=gain.relation,
            )  # fmt: skip
            bar = None if bar is None else replace(bar, ends=ends)
    is_objective = part is pair.parts[0]
    notes = [
        "" if is_objective else e.verdict or "not evaluated" for e in (part.today, part.candidate)
    ]
    word = (part.verdict or "not measured").removeprefix("shown to be ")
    cells = [
        Cell(sentence(in_words(part.side)), code=part.today.text),
        Cell(bar=bar),
        Cell(one, notes[0]),
        Cell(other, notes[1], style="strong"),
        Cell(moved),
        Cell(limits or "-", style="limits"),
        Cell(sentence(word), tone=_TONES[part.verdict]),
    ]
    a, b = (
        f"{name} {value}{note and f' ({note})'}"
        for name, value, note in zip((pair.today, pair.candidate), (one, other), notes, strict=True)
    )
    words = f"{a}, {b}; {pair.candidate} - {pair.today} {moved}"
    words += limits and f", on new rows {limits}"
    return cells, (f"{part.today.text}: {word}", words)


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


def _axes(parts: Sequence[Part]) -> dict[Unit, Axis | None]:
    """For each unit an axis for all differences, with none in the middle."""
    far: dict[Unit, float] = {}
    for part in parts:
        gain, unit = part.difference, unit_of(part.side)
        ends = () if gain is None else (gain.value, gain.low, gain.high)
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


def _pictures(found: ModelComparison) -> list[Picture]:
    """The frontiers in one picture, where they can be distinguished."""
    if not found.points or len(found.names) > MOST_MODELS:
        return []
    name = "The models and the best that their scores reach"
    stands = "; ".join(
        f"{one} at {number(x)} and {number(y)}" for one, (x, y) in found.points.items()
    )
    picture = Picture(
        name,
        found.plot,
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
    columns = [column[:_MOST_ROWS].tolist() for column in found.changed.values()]
    rows = [
        [Cell(number(x) if isinstance(x, float) else shortened(str(x))) for x in row]
        for row in zip(*columns, strict=True)
    ]
    inside = Grid(head, rows, name="Rows that change")
    shown_rows = Chapter(f"Show {len(rows)} of them", [inside], folded=True)
    return Chapter("Rows that change", [Prose((words,)), shown_rows] if n else [])


# --- What comparing models found: who is better, by how much --------------------------------------


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
    changed: dict[str, NDArray[Any]]
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

    def plot(self, ax: Canvas = None) -> Display:
        """Draw the frontiers and rules of all models, by :func:`setpoint.report.plot_frontier`.

        Parameters
        ----------
        ax : Axes or Figure, optional
            By default a new figure.

        Raises
        ------
        ValueError
            If there are no frontiers, or more than five models.
        """
        if not self.points:
            raise InputError(
                "the comparison holds no frontiers: they are of two classes, and "
                "compare(frontier=True) finds them"
            )
        return plot_frontier(self.frontiers, self.points, self.goal, ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Each part of the goal for each model as a pandas DataFrame, one row each.

        Beside the fields of an :class:`Entry`, which are the model's own, "difference", its
        limits "difference_low" and "difference_high", and what it "is" against the first.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        rows = []
        for name, report in self.reports.items():
            parts = self.pairs[name].parts if name in self.pairs else [None] * len(report.entries)
            for i, (entry, part) in enumerate(zip(report.entries, parts, strict=True)):
                gain = part and part.difference
                rows.append(
                    {
                        "model": name,
                        "part": "constraint" if i else "objective",
                        **{f.name: getattr(entry, f.name) for f in fields(Entry)},
                        "difference": gain and gain.value,
                        "difference_low": gain and gain.low,
                        "difference_high": gain and gain.high,
                        "is": part and part.verdict,
                    }
                )
        frame: pd.DataFrame = pandas().DataFrame(rows)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Of two models the verdict, the parts of the goal and what changes, as plain values."""
        (pair,) = self.pairs.values()
        *_, report = self.reports.values()
        return {
            "status": self.verdict,
            "why": self.why,
            "goal": str(self.goal),
            "rows": report.counts.n_rows,
            "parts": [
                {
                    "part": "constraint" if i else "objective",
                    "text": part.today.text,
                    "a": _facts(part.today),
                    "b": _facts(part.candidate),
                    "difference": _facts(part.difference),
                    "b_is": part.verdict,
                    "rows_needed": part.rows_needed,
                }
                for i, part in enumerate(pair.parts)
            ],
            "accepted": {name.lower(): accepted(r) for name, r in self.reports.items()},
            "changes": {name: getattr(pair.changes, name) for name in _CHANGES},
            "groups": [
                {"column": g.column, "value": g.value, "rows": g.changes.rows}
                | {name: getattr(g.changes, name) for name in _CHANGES}
                for g in pair.groups
            ],
        }

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
        atomic_write(path, as_page(document_of(self, header or Header())).encode("utf-8"))

    def __str__(self) -> str:
        return as_text(document_of(self))

    def __repr__(self) -> str:
        return f"ModelComparison({', '.join(map(repr, self.names))}: {self.verdict})"

    def _repr_html_(self) -> str:
        return as_notebook(document_of(self))


_CHANGES = ("changed", "wins", "losses")


def _facts(entry: Entry | None) -> dict[str, Any] | None:
    names = ("value", "low", "high", "bound", "verdict")
    return None if entry is None else {name: getattr(entry, name) for name in names}
