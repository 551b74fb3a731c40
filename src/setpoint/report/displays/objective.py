"""Pictures of the objective at every cut-off, and of a search's progress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.goals import Expression, Goal, as_goal
from setpoint.parameters import SATISFIED
from setpoint.report.displays import style
from setpoint.report.displays.scales import SHARE, Scale, range_of_text, scale_of
from setpoint.report.displays.style import PlacedLabels
from setpoint.report.facts import Facts
from setpoint.report.operating import OperatingCurve, OperatingPoints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase


# --- ObjectiveCurveDisplay: the goal's own objective at every cut-off -----------------------------


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
        labels = PlacedLabels(ax_)
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

    def _marks(self, ax: Axes, labels: PlacedLabels, scale: Scale) -> None:
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

    def _allowed(self, ax: Axes, labels: PlacedLabels) -> None:
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


# --- ConvergenceDisplay: objective, bound and violation along a search ----------------------------


_NO_TRACE = (
    "there is no trace: exact solvers of two classes have none. Searches over posteriors of "
    "three classes and more, or with another `solver`, record each call"
)


class ConvergenceDisplay:
    """How a search went: the best rule so far, and what no rule passes, call by call.

    Parameters
    ----------
    trace : sequence of (call, objective, bound, violation)
        Longer records may follow with more fields. A bound that is not finite is unknown.
    goal : Goal, str or metric, optional
        Names the objective.

    Attributes
    ----------
    calls, objective, bound, violation : array of shape (m,)
        What is known after each call; NaN where there is no bound.
    goal : Goal or None
    ax_ : Axes
        With objective and bound.
    violation_ax_ : Axes or None
        With the violation; None where there never is any.
    figure_ : Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> trace = [(1, 0.5, 0.9, 0.1), (2, 0.6, 0.8, 0.0), (3, 0.7, 0.72, 0.0)]
    >>> display = ConvergenceDisplay(trace, "maximize f1 subject to recall >= 0.5").plot()
    >>> display.ax_.get_ylabel(), display.violation.tolist()
    ('F1', [0.1, 0.0, 0.0])
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    violation_ax_: Axes | None
    figure_: FigureBase

    def __init__(
        self, trace: Sequence[Sequence[float]], goal: Goal | Expression | str | None = None
    ) -> None:
        if not len(trace):
            raise InputError(_NO_TRACE)
        if any(len(t) < 4 for t in trace):
            raise InputError("`trace` holds records (call, objective, bound, violation)")
        table = np.array([[float(x) for x in tuple(t)[:4]] for t in trace])
        self.calls, self.objective, bound, self.violation = table.T
        self.bound = np.where(np.isfinite(bound), bound, np.nan)
        self.goal = None if goal is None else as_goal(goal)

    # -- where the numbers come from --------------------------------------------------
    @classmethod
    def from_estimator(cls, clf: Any, *, ax: style.Canvas = None) -> Self:
        """Draw the search of a fitted classifier.

        Parameters
        ----------
        clf : classifier of this library, fitted
        ax
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If its solver kept no trace.
        """
        style.require_matplotlib()
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(clf)
        return cls(getattr(clf, "trace_", ()), clf.goal_report_.goal).plot(ax)

    @classmethod
    def from_report(cls, report: Facts, *, ax: style.Canvas = None) -> Self:
        """Draw the search that led to a report.

        Raises
        ------
        ValueError
            If there was none.
        """
        style.require_matplotlib()
        found = report.section("trace")
        return cls(() if found is None else found.steps, report.goal).plot(ax)

    # -- drawing ------------------------------------------------------------------------
    def plot(self, ax: style.Canvas = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or Figure, optional
            By default a new figure, with the violation in a panel of its own. An empty
            figure is filled. In axes given, the violation has a second vertical axis.

        Returns
        -------
        self
            With `ax_`, `violation_ax_` and `figure_`.
        """
        violated = bool((self.violation > SATISFIED).any())
        heights = (3.0, 1.2) if violated else (1.0,)
        self.figure_, panels, mode = style.axes(ax, (6.4, 4.6 if violated else 3.8), heights)
        self.ax_, self.violation_ax_ = panels[0], None
        scale = Scale("objective", "number")
        if self.goal is not None:
            scale = scale_of(str(self.goal.objective))
        self._objective(self.ax_)
        calls = "steps of the search"
        below = violated and mode == "own"
        style.finish(self.ax_, "" if below else calls, style.wrapped(scale.words, 56))
        scale.apply(self.ax_.yaxis)
        if below:
            lower = self.violation_ax_ = panels[1]
            lower.sharex(self.ax_)
            self.ax_.tick_params(labelbottom=False)
            self._violation(lower)
            style.finish(lower, calls, "violation")
        elif violated:
            twin = self.ax_.twinx()
            self.violation_ax_ = twin
            self._violation(twin, alpha=0.5)
            style.finish(twin)
            twin.set_ylabel("violation", fontsize=style.NAME, visible=True)
            twin.grid(visible=False)
            twin.spines["left"].set_visible(False)
            twin.spines["right"].set_visible(True)
            twin.yaxis.set_label_position("right")
            twin.yaxis.label.set_color(style.MUTED)
            twin.tick_params(axis="y", colors=style.MUTED)
        from matplotlib.ticker import MaxNLocator

        panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        # Above the panel: a search fills the panel itself.
        style.legend(self.ax_, mode, columns=3)
        return self

    def _objective(self, ax: Axes) -> None:
        met = self.violation <= SATISFIED
        few = "o" if len(self.calls) == 1 else ""
        ax.plot(
            self.calls,
            self.objective,
            color=style.BLUE,
            drawstyle="steps-post",
            linewidth=1.8,
            marker=few,
            label="best rule so far",
            zorder=3,
        )
        bound = np.where(self._is_bound(met), self.bound, np.nan)
        known = np.isfinite(bound)
        if not known.any():
            return
        ax.plot(
            self.calls,
            bound,
            color=style.INK,
            drawstyle="steps-post",
            linewidth=1.2,
            linestyle=(0, (5, 2)),
            marker=few,
            label="no rule passes",
            zorder=2.5,
        )
        ax.fill_between(
            self.calls,
            self.objective,
            bound,
            # A rule that violates a constraint may lie beyond the bound.
            where=(known & met).tolist(),
            step="post",
            color=style.BLUE,
            alpha=style.SHADE,
            linewidth=0,
            label="gap",
        )

    def _is_bound(self, met: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Where the bound holds: what a rule within the constraints passes is none."""
        if self.goal is None:
            return np.ones(len(met), np.bool_)
        sense = 1.0 if self.goal.sense == "maximize" else -1.0
        passed = met & (sense * (self.objective - self.bound) > 1e-6 * (1.0 + abs(self.bound)))
        return np.asarray(~passed)

    def _violation(self, ax: Axes, alpha: float = 1.0) -> None:
        """Logarithmic above what counts as met, linear below."""
        worst = np.where(np.isfinite(self.violation), self.violation, np.nan)
        ax.plot(
            self.calls,
            worst,
            color=style.MUTED,
            drawstyle="steps-post",
            linewidth=1.2,
            alpha=alpha,
            zorder=2,
        )
        top = max(float(np.nanmax(worst)), 1e-6) * 3.0
        ax.set_yscale("symlog", linthresh=SATISFIED, linscale=0.5)
        ax.set_ylim(0.0, top)
        ticks = [t for t in (1e-6, 1e-3, 1.0, 1e3, 1e6) if t <= top]
        ax.set_yticks([0.0, *ticks], ["0", *(f"{t:g}" for t in ticks)])
        ax.minorticks_off()
