"""ConvergenceDisplay: objective, bound and violation along a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputError
from setpoint.goals.expressions import Expression
from setpoint.goals.goal import Goal, as_goal
from setpoint.report.displays import style
from setpoint.report.displays.scales import Scale, scale_of
from setpoint.report.facts import Facts
from setpoint.tolerances import SATISFIED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["ConvergenceDisplay"]


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
