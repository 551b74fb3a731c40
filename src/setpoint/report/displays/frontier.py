"""FrontierDisplay: the best objective as one bound moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from setpoint.errors import InputError
from setpoint.goals.expressions import Expression
from setpoint.goals.goal import Goal, as_goal
from setpoint.goals.words import constraint_in_words
from setpoint.inputs.inputs import DecideOn
from setpoint.report.displays import style
from setpoint.report.displays.extent import (
    drawstyle_of,
    known_line,
    not_excluded,
    out_of_reach,
    shown_bounds,
)
from setpoint.report.displays.fitted import fitted
from setpoint.report.displays.inputs import scored_rows
from setpoint.report.displays.labels import Labels
from setpoint.report.displays.scales import scale_of
from setpoint.report.facts import Facts
from setpoint.search.frontier import Frontier, Vary, vary_of
from setpoint.search.outcome import Randomized
from setpoint.tolerances import SATISFIED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["FrontierDisplay"]


_LINE = 0.01
"""Of the height of the axes: about the width of the line."""

_FEW = 40
"""Up to so many marks are large."""


class FrontierDisplay:
    """What a stricter bound costs: the best objective over the bound of one constraint.

    Parameters
    ----------
    frontier : Frontier

    Attributes
    ----------
    frontier : Frontier
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> import numpy as np
    >>> from setpoint.search.frontier import Frontier
    >>> at, best = np.array([0.5, 0.7, 0.9]), np.array([0.95, 0.8, 0.4])
    >>> goal, vary = "maximize recall subject to precision >= 0.8", "precision >= 0.8"
    >>> frontier = Frontier(
    ...     goal, vary, "recall", "precision", ">=", 0.8, at, best, at, "lines"
    ... )
    >>> display = FrontierDisplay(frontier).plot()
    >>> display.ax_.get_ylabel(), round(float(display.value_asked), 2)
    ('best recall', 0.6)
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    figure_: FigureBase

    def __init__(self, frontier: Frontier) -> None:
        self.frontier = frontier

    # -- where the numbers come from --------------------------------------------------
    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any = None,
        y: Any = None,
        *,
        vary: Vary = None,
        values: Any = None,
        ax: style.Canvas = None,
        **rows: Any,
    ) -> Self:
        """Draw the frontier of a fitted classifier's goal.

        Parameters
        ----------
        clf : classifier of this library, fitted
        X, y : optional
            Rows; by default those that its rule was found on.
        vary, values
            As in :meth:`from_predictions`.
        ax
            As in :meth:`plot`.
        **rows
            What else belongs to the rows of X, as in its ``evaluate``.
        """
        style.require_matplotlib()
        return cls(fitted(clf)._frontier(vary=vary, values=values, X=X, y=y, **rows)).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        goal: Goal | Expression | str,
        y_true: Any,
        scores: Any,
        *,
        vary: Vary = None,
        values: Any = None,
        randomized: Randomized = False,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        pos_label: Any = None,
        decide_on: DecideOn = "auto",
        ax: style.Canvas = None,
    ) -> Self:
        """Draw the frontier of thresholds on scores of two classes.

        Parameters
        ----------
        goal : Goal, str or metric
        y_true : array-like of shape (N,)
        scores : array-like of shape (N,) or posteriors (N, 2)
        vary : Constraint, str or int, optional
            Which bound moves: a constraint, its text, the text of its left side, or its
            number. One that the goal lacks is added. By default the only one.
        values : sequence of float, optional
            Bounds to look at; by default all that matter.
        randomized, sample_weight, sensitive_features, baseline, datasets, pos_label, decide_on
            As in :func:`setpoint.solve`.
        ax
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If there are more than two classes, or `vary` is not a constraint.
        """
        style.require_matplotlib()
        from setpoint.exact.frontier import frontier_exact

        # A constraint that is added may refer to columns of its own.
        goal, moving = vary_of(as_goal(goal), vary)
        evidence = scored_rows(
            goal,
            y_true,
            scores,
            sample_weight=sample_weight,
            sensitive_features=sensitive_features,
            baseline=baseline,
            datasets=datasets,
            pos_label=pos_label,
            decide_on=decide_on,
        )
        return cls(frontier_exact(goal, evidence, moving, values, randomized=randomized)).plot(ax)

    @classmethod
    def from_report(cls, report: Facts, i: int = 0, *, ax: style.Canvas = None) -> Self:
        """Draw the i-th frontier of a report.

        Raises
        ------
        ValueError
            If it holds none of that number.
        """
        style.require_matplotlib()
        found = report.section("frontiers")
        if found is None:
            raise InputError(
                "the report holds no frontier: ask for one with FrontierDisplay.from_estimator or "
                "from_predictions"
            )
        if not 0 <= i < len(found.items):
            raise InputError(f"`i` is a number from 0 to {len(found.items) - 1}, got {i}")
        return cls(found.items[i]).plot(ax)

    @property
    def value_asked(self) -> float:
        """The best objective at the bound that the goal sets; NaN where it is not known."""
        f = self.frontier
        if f.kind == "points" and not np.isclose(f.bounds, f.asked, rtol=0.0, atol=1e-12).any():
            return float("nan")
        return f.at(f.asked)

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
        f = self.frontier
        self.figure_, (self.ax_,), mode = style.axes(ax, (6.8, 4.0))
        ax_ = self.ax_
        below, left = scale_of(f.side), scale_of(f.objective)
        how = "at least" if f.relation == ">=" else "at most"
        style.finish(
            ax_,
            style.wrapped(f"{below.words} {how}", 56),
            style.wrapped(f"best {left.words}", 56),
        )
        below.apply(ax_.xaxis)
        left.apply(ax_.yaxis)
        low, high = shown_bounds(f)
        x, y = known_line(f, low, high)
        if len(x):
            marked = f.kind == "points"
            ax_.plot(
                x,
                y,
                color=style.BLUE,
                drawstyle=drawstyle_of(f),
                linewidth=style.THIN if marked else style.LINE,
                marker="." if marked else "",
                markersize=7.0 if len(x) <= _FEW else 3.5,
                label=f"best {f.objective}",
                zorder=3,
            )
        ax_.set_xlim(low, high)
        ax_.margins(y=0.08)
        open_ = self._beyond(ax_, low, high)
        labels = Labels(ax_)
        labels.avoid(*not_excluded(f, low, high)[:2])
        self._infeasible(ax_, low, high, labels)
        self._asked(ax_, labels)
        others = [
            constraint_in_words(c) for c in Goal.parse(f.goal).constraints if str(c) != f.vary
        ]
        kept = f"With {' and '.join(others)}. " if others else ""
        style.caption(
            ax_, mode, kept + self._proof() + (" Shaded: not ruled out." if open_ else "")
        )
        return self

    def _beyond(self, ax: Axes, low: float, high: float) -> bool:
        """What may be had beyond the line at most, where that is wider than the line anywhere."""
        x, y, past = not_excluded(self.frontier, low, high)
        bottom, top = ax.get_ylim()
        wide = np.abs(past - y) > _LINE * (top - bottom)
        # A stretch has two ends.
        wide = (wide[::2] | wide[1::2]).repeat(2)
        if not wide.any():
            return False
        ax.fill_between(
            x,
            y,
            past,
            where=wide.tolist(),
            color=style.BLUE,
            alpha=style.SHADE,
            linewidth=0,
            label="not ruled out",
        )
        return True

    def _infeasible(self, ax: Axes, low: float, high: float, labels: Labels) -> None:
        """Grey and hatched where no rule meets the bound."""
        span = out_of_reach(self.frontier, low, high)
        if span is None:
            return
        ax.axvspan(
            *span, facecolor="none", edgecolor=style.GRID, hatch="///", linewidth=0, zorder=0.6
        )
        ax.axvspan(*span, color=style.RED, alpha=0.06, linewidth=0, zorder=0.5)
        edge = span[0] if self.frontier.relation == ">=" else span[1]
        unknown = self.frontier.gaps[np.isnan(self.frontier.values)]
        if low < edge < high:
            ax.axvline(edge, color=style.RED, linewidth=1.0, zorder=1.5)
        middle = sum(span) / 2
        bottom, top = ax.get_ylim()
        labels.avoid([middle] * 2, [bottom + t * (top - bottom) for t in (0.15, 0.85)])
        ax.text(
            middle,
            0.5,
            "no rule found" if np.isinf(unknown).any() else "no rule meets it",
            transform=ax.get_xaxis_transform(),
            color=style.RED,
            fontsize=style.SMALL,
            ha="center",
            va="center",
            rotation=0 if (span[1] - span[0]) / (high - low) > 0.4 else 90,
            clip_on=True,
        )

    def _asked(self, ax: Axes, labels: Labels) -> None:
        """A line at the bound asked, a dot at the best rule there, and words beside them."""
        f, value = self.frontier, self.value_asked
        ax.axvline(f.asked, **style.asked())
        bottom, top = ax.get_ylim()
        labels.avoid([f.asked, f.asked], [bottom, top])
        best = f"\nbest: {scale_of(f.objective).text(value)}" if np.isfinite(value) else ""
        if best:
            style.mark_rule(ax, f.asked, value)
            labels.mark(f.asked, value)
        text = f"asked: {scale_of(f.side).text(f.asked)}"
        heights = [bottom + t * (top - bottom) for t in (0.06, 0.9, 0.3, 0.6)]
        anchors = [(f.asked, h) for h in ([value] if best else heights)]
        ink = style.ORANGE if best else style.INK
        labels.add(text + best, anchors, ink)

    def _proof(self) -> str:
        f = self.frontier
        number = scale_of(f.objective).text
        if f.kind != "points" and SATISFIED < f.gap < np.inf:
            kind = "Rules without draws" if f.kind == "steps" else "The best mixtures"
            return f"{kind}; what is left out is worth up to {number(f.gap)}."
        caption = {
            "steps": "Rules without draws; every step is shown.",
            "lines": "The best mixtures; every breakpoint is shown.",
            "points": "Known at the marks alone.",
        }[f.kind]
        if not np.isfinite(f.gap):
            return f"{caption} Better rules may exist."
        if f.gap > SATISFIED:
            return f"{caption} No rule is better by more than {number(f.gap)}."
        return caption
