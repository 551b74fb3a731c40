"""ObjectiveCurveDisplay: the goal's own objective at every cut-off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.goals.expressions import Expression
from setpoint.goals.goal import Goal, as_goal
from setpoint.report.displays import style
from setpoint.report.displays.labels import Labels
from setpoint.report.displays.scales import SHARE, Scale, range_of_text, scale_of
from setpoint.report.facts import Facts
from setpoint.report.operating import OperatingCurve, OperatingPoints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["ObjectiveCurveDisplay"]

_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


class ObjectiveCurveDisplay:
    """The goal's objective over the share of rows that are accepted.

    Parameters
    ----------
    points : OperatingPoints
        Of one threshold for all rows.
    goal : Goal, str or metric
    value : float, optional
        The objective of the rule; by default that of its threshold, if it has one.
    deployed : (share accepted, objective), optional
        Of the deployed model on the same rows.

    Attributes
    ----------
    accepted, objective : array of shape (m,)
        Share of rows accepted and objective at each threshold, from nobody to everybody.
    rule : (share accepted, objective)
        The objective is NaN where it is not known.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from setpoint import solve
    >>> y, scores = [0, 0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.8, 0.7, 0.9]
    >>> report = solve("minimize cost({(0, 1): 1, (1, 0): 5})", scores, y).report
    >>> display = ObjectiveCurveDisplay.from_report(report)
    >>> [round(float(x), 3) for x in display.rule], display.ax_.get_ylabel()
    ([0.833, 0.333], 'cost per 10,000 rows')
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    figure_: FigureBase

    def __init__(
        self,
        points: OperatingPoints,
        goal: Goal | Expression | str,
        value: float | None = None,
        deployed: tuple[float, float] | None = None,
    ) -> None:
        self.goal, self.deployed = as_goal(goal), deployed
        self.curve = _curve_of(points)
        self.accepted = np.array(self.curve.accepted)
        self.objective = np.array(self.curve.objective)
        self.rule = self._rule(value)

    @classmethod
    def from_report(
        cls,
        report: Facts,
        *,
        deployed: tuple[float, float] | None = None,
        ax: style.Canvas = None,
    ) -> Self:
        """Draw what a report knows.

        Parameters
        ----------
        report : GoalReport
        deployed : (share accepted, objective), optional
            Of the deployed model on the same rows.
        ax
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If it does not know the objective at every cut-off.
        """
        style.require_matplotlib()
        found = report.section("operating")
        if found is None:
            raise InputError(_NONE)
        return cls(found.points, report.goal, report.objective.value, deployed).plot(ax)

    def _rule(self, value: float | None) -> tuple[float, float]:
        """Where the rule stands: what it accepts in expectation, and its objective."""
        chosen, thresholds = self.curve.chosen, list(self.curve.thresholds)
        at = [thresholds.index(c[1]) for c in chosen]
        share = sum(c[0] * self.curve.accepted[j] for c, j in zip(chosen, at, strict=True))
        if value is None:
            value = self.curve.objective[at[0]] if len(at) == 1 else float("nan")
        return float(share), float(value)

    # -- drawing ------------------------------------------------------------------------
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
        self.figure_, (self.ax_,), mode = style.axes(ax, (7.4, 4.0))
        ax_, scale = self.ax_, scale_of(str(self.goal.objective))
        x, y = self.accepted, np.where(np.isfinite(self.objective), self.objective, np.nan)
        ax_.plot(x, y, color=style.BLUE, linewidth=style.LINE, label="every threshold", zorder=2.5)
        style.finish(
            ax_,
            "share of rows accepted, and the score from which on",
            style.wrapped(scale.words, 56),
        )
        ax_.set_xlim(-0.01, 1.01)
        self._heights(ax_, y)
        scale.apply(ax_.yaxis)
        ax_.set_xticks(_TICKS, [self._tick(t) for t in _TICKS])
        labels = Labels(ax_)
        labels.avoid(x, y)
        self._marks(ax_, labels, scale)
        if self.goal.constraints:
            self._allowed(ax_, labels)
        style.caption(ax_, mode, self._caption(), 96, below=50.0)
        return self

    def _heights(self, ax: Axes, y: Floats) -> None:
        """Room for words above and below the curve; hardly any where there can be no values."""
        known = y[np.isfinite(y)]
        if not len(known):
            return
        low, high = float(known.min()), float(known.max())
        room = 0.34 * (high - low) or 0.05 * max(abs(high), 1.0)
        least, most = range_of_text(str(self.goal.objective))
        bottom = max(low - room, min(least - 0.2 * room, low))
        top = min(high + room, max(most + 0.2 * room, high + 0.6 * room))
        ax.set_ylim(bottom, top)

    def _tick(self, share: float) -> str:
        """A share of rows, and below it the threshold that accepts so many, or just more."""
        at = min(int(np.searchsorted(self.accepted, share - 1e-12)), len(self.accepted) - 1)
        threshold = self.curve.thresholds[at]
        return SHARE.tick(share) + (f"\n{threshold:.3g}" if np.isfinite(threshold) else "\n ")

    def _marks(self, ax: Axes, labels: Labels, scale: Scale) -> None:
        """The rule, the deployed model, and what needs no model."""
        share, value = self.rule
        for at in (self.rule, self.deployed):
            if at is not None and np.isfinite(at[1]):
                labels.mark(*at)
        if np.isfinite(value):
            style.mark_rule(ax, share, value)
            text = f"the rule: {scale.text(value)}\nwith {SHARE.text(share)} accepted"
            labels.add(text, [(share, value)], style.ORANGE)
        if self.deployed is not None:
            style.mark_deployed(ax, *self.deployed)
            text = f"deployed model:\n{scale.text(self.deployed[1])}"
            labels.add(text, [self.deployed], style.INK)
        for name, j in (("nobody", 0), ("everybody", -1)):
            end = (float(self.accepted[j]), float(self.objective[j]))
            if np.isfinite(end[1]):
                ax.plot(*end, "s", color=style.BLUE, markersize=5.5, clip_on=False, zorder=4)
                labels.add(f"{name}: {scale.text(end[1])}", [end], style.BLUE)

    def _allowed(self, ax: Axes, labels: Labels) -> None:
        """Shade the cut-offs that meet every constraint."""
        runs = _runs(np.array(self.curve.feasible))
        widest = (0.0, 0.0)
        for i, j in runs:
            # A cut-off by itself is as wide as a line.
            low, high = self.accepted[i], max(self.accepted[j], self.accepted[i] + 0.004)
            ax.axvspan(low, high, color=style.GREEN, alpha=style.SHADE, linewidth=0, zorder=0.5)
            for edge in (low, high):
                ax.axvline(edge, **style.asked() | {"linewidth": 0.7})
            if high - low > widest[1] - widest[0]:
                widest = (float(low), float(high))
        if not runs:
            return
        bottom, top = ax.get_ylim()
        middle = 0.5 * sum(widest)
        heights = [bottom + t * (top - bottom) for t in (0.05, 0.93, 0.3, 0.7)]
        ways = [(0, 0), (-1, 0), (1, 0)]
        labels.add("allowed", [(middle, h) for h in heights], style.GREEN, ways=ways, most=30.0)

    def _caption(self) -> str:
        constraints = self.goal.constraints
        if not constraints:
            return ""
        if not any(self.curve.feasible):
            return "No threshold meets every constraint."
        every = "the constraint holds" if len(constraints) == 1 else "all constraints hold"
        return f"Shaded: where {every}."


_NONE = (
    "the objective at every threshold is known where two classes are decided by one threshold "
    "for all rows"
)


def _curve_of(points: OperatingPoints) -> OperatingCurve:
    """The one curve with an objective."""
    if len(points.curves) != 1 or not points.curves[0].objective:
        raise InputError(_NONE)
    return points.curves[0]


def _runs(met: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last of each stretch of neighbours that hold."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], met, [False]]).astype(np.int8)))
    return [(int(i), int(j) - 1) for i, j in edges.reshape(-1, 2)]
