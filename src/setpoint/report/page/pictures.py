"""The pictures of a page, each with a sentence that tells how to read it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from setpoint.goals.goal import Goal
from setpoint.goals.populations import Label
from setpoint.report.entry import GroupRow
from setpoint.report.operating import OperatingCurve, OperatingPoints
from setpoint.report.page.svg import cleaned, drawn
from setpoint.report.words import number

if TYPE_CHECKING:
    from setpoint.report.report import GoalReport

__all__ = ["Picture", "pictures_of"]

T = TypeVar("T")

_SIZE = (4.8, 3.4)
"""Inches, without the legend: at this width the letters are readable on a telephone."""

_FRAME, _ROW = 0.9, 0.22
"""Inches: a picture of groups without its rows, and one row of it."""

_AXES = 0.6
"""Inches of axis labels below and between panels."""

_MOST_POINTS = 1000
"""Thresholds in one picture, over all of its curves."""

_MOST_CURVES = 12
"""More are a tangle; the groups have a picture of their own."""

_LONGEST = 18
"""Characters of a group's value in a picture."""

_MOST_GROUPS = 60
"""More rows make no picture; the table has them all."""


@dataclass(frozen=True)
class Picture:
    """One picture.

    Parameters
    ----------
    plot : callable
        Draws on the axes or the empty figure that it is given.
    description : str
        The picture in words, for who cannot see it.
    caption : str
        How to read it.
    size : (width, height) in inches
    panels : bool
        Whether it wants a figure, for panels of its own.
    """

    title: str
    plot: Callable[[Any], object]
    description: str
    caption: str
    size: tuple[float, float] = _SIZE
    panels: bool = False

    def svg(self, prefix: str) -> str:
        """The picture as one SVG element, with ids that begin with `prefix`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        return drawn(
            self.plot,
            size=self.size,
            prefix=prefix,
            description=self.description,
            panels=self.panels,
        )


def pictures_of(report: GoalReport) -> list[Picture]:
    """Every picture that the report has numbers for."""
    goal = Goal.parse(report.goal)
    out = [
        *_adaptive(report, goal),
        *_operating(report, goal),
        *_frontiers(report),
        *_groups(report, goal),
    ]
    return [*out, *_convergence(report, goal)]


def _adaptive(report: GoalReport, goal: Goal) -> Iterator[Picture]:
    found = report.adaptive
    if found is None or not found.path:
        return
    from setpoint.report.displays import SurrogatePathDisplay

    found = replace(found, surrogates=tuple(cleaned(name) for name in found.surrogates))
    display = SurrogatePathDisplay(found, goal)
    yield Picture(
        "The metric along the search",
        display.plot,
        f"The metric of {len(found.path):,} models in the order of the search, best "
        f"{number(found.best_value)}, against the baseline {number(found.baseline_value)}; below, "
        "the weights of the surrogates along the best path.",
        "Each mark is one model, the dashed line the baseline: a model with a cut-off and no "
        "search. Below, what the models of the best path weighed more and less.",
        (_SIZE[0], _AXES + sum(display.heights)),
        panels=True,
    )


def _operating(report: GoalReport, goal: Goal) -> Iterator[Picture]:
    points = report.operating
    if points is None or not 1 <= len(points.curves) <= _MOST_CURVES:
        return
    from setpoint.report.displays import OperatingPointDisplay

    points = _fit_to_draw(points)
    display = OperatingPointDisplay(points, goal)
    here = (
        f"the rule has recall {number(points.recall)}, precision {number(points.precision)} and "
        f"false positive rate {number(points.false_positive_rate)}"
    )
    yield Picture(
        "Precision and recall",
        lambda ax: display.plot(ax, kind="precision-recall"),
        f"Precision against recall for every threshold; {here}.",
        "Each point of a line is one threshold. To the right more of the class is found; higher "
        "up, more of what is reported is right. The full dot or diamond is the rule.",
    )
    yield Picture(
        "Hits and false alarms",
        lambda ax: display.plot(ax, kind="roc"),
        f"Recall against the false positive rate for every threshold; {here}.",
        "Each point of a line is one threshold. Higher up more of the class is found; to the "
        "left there are fewer false alarms. The full dot or diamond is the rule.",
    )


def _fit_to_draw(points: OperatingPoints) -> OperatingPoints:
    """Fewer thresholds where there are many curves; names that matplotlib can set."""
    most = max(_MOST_POINTS // len(points.curves), 12)
    return replace(
        points,
        curves=tuple(_thin(replace(c, name=_short(c.name)), most) for c in points.curves),
        # Whole, for the goal may name them.
        labels=tuple(cleaned(x) if isinstance(x, str) else x for x in points.labels),  # type: ignore[arg-type]
    )


def _thin(curve: OperatingCurve, most: int) -> OperatingCurve:
    n = len(curve.thresholds)
    if n <= most:
        return curve
    keep = sorted({round(i * (n - 1) / (most - 1)) for i in range(most)})

    def cut(values: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(values[j] for j in keep)

    hull = set(curve.hull)
    return replace(
        curve,
        thresholds=cut(curve.thresholds),
        recall=cut(curve.recall),
        false_positive_rate=cut(curve.false_positive_rate),
        precision=cut(curve.precision),
        feasible=cut(curve.feasible) if curve.feasible else (),
        hull=tuple(i for i, j in enumerate(keep) if j in hull),
    )


def _frontiers(report: GoalReport) -> Iterator[Picture]:
    for frontier in (f.thinned() for f in report.frontiers):
        from setpoint.report.displays import FrontierDisplay

        proof = ""
        if math.isinf(frontier.gap):
            proof = " It is not proved that no rule does better."
        elif frontier.gap > 5e-5:
            proof = f" The best may be better than the line by up to {number(frontier.gap)}."
        strict = "right" if frontier.relation == ">=" else "left"
        yield Picture(
            f"What {frontier.side} costs",
            FrontierDisplay(frontier).plot,
            f"The best {frontier.objective} as the bound on {frontier.side} moves; the goal "
            f"asks for {frontier.relation} {number(frontier.asked)}.",
            f"The line shows the best {frontier.objective} under each bound on {frontier.side}; "
            f"further to the {strict} the bound is stricter. The marked bound is the one the "
            f"goal asks for.{proof}",
        )


def _groups(report: GoalReport, goal: Goal) -> Iterator[Picture]:
    for metric in dict.fromkeys(g.metric for g in report.groups):
        rows = tuple(_printable(g) for g in report.groups if g.metric == metric)
        if len(rows) > _MOST_GROUPS or all(g.value is None for g in rows):
            continue
        from setpoint.report.displays import GroupRatesDisplay

        yield Picture(
            f"{metric} by group",
            GroupRatesDisplay(rows, goal, report.level).plot,
            f"{metric} in each of {len(rows)} groups; the table has the numbers.",
            f"A point is the value of one group, the line through it its {100 * report.level:.4g} "
            "% interval. Where intervals overlap, groups may differ by chance alone.",
            (_SIZE[0], _FRAME + _ROW * max(len(rows), 4)),
        )


def _printable(row: GroupRow) -> GroupRow:
    """The row with values that leave room for the picture; the table has them whole."""
    return replace(row, columns=tuple((c, _clean(v)) for c, v in row.columns))


def _clean(label: Label) -> Label:
    return _short(label, _LONGEST) if isinstance(label, str) else label


def _short(text: str, most: int = 2 * _LONGEST) -> str:
    return cleaned(text if len(text) <= most else f"{text[: most - 1]}…")


def _convergence(report: GoalReport, goal: Goal) -> Iterator[Picture]:
    if len(report.trace) < 3:
        return
    from setpoint.report.displays import ConvergenceDisplay

    last = report.trace[-1]
    bound = (
        "Where the line and the limit that no rule passes meet, nothing better is left to find."
        if math.isfinite(last[2])
        else "No limit is known that no rule passes."
    )
    steps = "passes over the data" if report.n_oracle_calls is not None else "steps"
    yield Picture(
        "How the search went",
        ConvergenceDisplay(report.trace, goal).plot,
        f"The best objective after each of {last[0]:,} {steps}; at the end {number(last[1])}.",
        f"To the right the search has looked longer. {bound}",
        panels=True,
    )
