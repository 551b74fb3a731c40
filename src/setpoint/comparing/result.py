"""What comparing models found: who is better, by how much, and which rows change."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Any

from setpoint.comparing.better import CANDIDATE, TODAY, Part
from setpoint.comparing.changed import changed_rows
from setpoint.comparing.display import ModelComparisonDisplay
from setpoint.comparing.facts import ComparisonFacts
from setpoint.comparing.judged import JudgedModel
from setpoint.comparing.pairs import pair_of
from setpoint.comparing.words import text_of
from setpoint.goals.constraints import Constraint
from setpoint.goals.goal import Goal
from setpoint.report.counting import LEVEL
from setpoint.report.entry import Entry
from setpoint.report.findings import fitted_on
from setpoint.search.frontier import Frontier

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.report.displays.style import Canvas
    from setpoint.report.page import Header

__all__ = ["ModelComparison", "comparison_of"]

_BY_SHARE = "predicted_rate <= 1"
"""What moves where the goal bounds nothing: the share of rows that is accepted at most."""


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(ComparisonFacts):
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
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "to_frame gives a pandas DataFrame; install pandas with: pip install pandas"
            ) from None
        rows = [row for name in self.names for row in self._rows(name)]
        return pd.DataFrame(rows)

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
        from setpoint.comparing.page import write_comparison

        write_comparison(path, self, header)

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
        points = {m.name: m.point(moving) for m in models}
        for m in models:
            found = _frontier(m, moving)
            if isinstance(found, Frontier):
                frontiers[m.name] = found
            else:
                notes.append(f"There is no frontier of {m.name}: {found}.")
    elif vary is not False:
        notes.append("There are no frontiers: they are those of two classes.")
    reports = {m.name: m.report for m in models}
    changed = changed_rows(models, X)
    return ModelComparison(goal, reports, pairs, changed, frontiers, points, tuple(notes))


def _frontier(model: JudgedModel, vary: Any) -> Frontier | str:
    """The frontier of a model, or why there is none."""
    if model.scores is None:
        return model.why
    try:
        return model.frontier(vary)
    except ValueError as error:  # a shape that no method takes, or no rule meets the others
        return str(error).rstrip(".")
