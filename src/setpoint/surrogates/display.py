"""SurrogatePathDisplay: how an adaptive search went, and which surrogates it weighed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.goals.expressions import BlackBoxMetric, Expression
from setpoint.goals.goal import Goal, as_goal
from setpoint.report.displays import style
from setpoint.report.facts import Facts
from setpoint.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from setpoint.surrogates.summary import AdaptiveSummary

__all__ = ["SurrogatePathDisplay"]


_MOST_BANDS = 10

_BANDS = [
    (ink, alpha)
    for alpha in (0.6, 0.28)
    for ink in (style.BLUE, style.ORANGE, style.GREEN, style.RED, style.INK)
]

_OTHERS = ((style.GREEN, (0, (5, 2))), (style.MUTED, (0, (1, 1.5))), (style.INK, (0, (6, 2, 1, 2))))
"""Paths beside the best: ink and dashes."""

_WIDE, _LONGEST = 26, 60
"""Characters of a surrogate's name before it is broken, and before it is cut."""

_LINE = 0.185
"""Inches of one line of a name."""


class SurrogatePathDisplay:
    """A search over surrogates: the metric model by model, and the weights it went by.

    Parameters
    ----------
    summary : AdaptiveSummary
    goal : Goal, str or metric, optional
        Names the metric.

    Attributes
    ----------
    summary : AdaptiveSummary
    goal : Goal or None
    ax_ : Axes
        With the metric over evaluations.
    weights_ax_ : Axes or None
        With the weights along the best path; None in axes given, for a single surrogate, and
        where that path has no step.
    figure_ : Figure

    Raises
    ------
    ValueError
        If the search made no step.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from setpoint.surrogates import AdaptiveStep, AdaptiveSummary
    >>> first = AdaptiveStep("zero", 40, 0.40, (0.5, 0.5))
    >>> second = AdaptiveStep("zero", 80, 0.43, (0.7, 0.3))
    >>> summary = AdaptiveSummary(
    ...     "logistic regression with a cut-off", 0.41, 0.43, True, "", 0.008, 200, 480, 2000,
    ...     "gradient", "interpolation", "zero", ("sigmoid of positives", "sigmoid of negatives"),
    ...     (first, second),
    ... )
    >>> display = SurrogatePathDisplay(summary, "f1").plot()
    >>> display.ax_.get_ylabel()
    'f1'
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    weights_ax_: Axes | None
    figure_: FigureBase

    def __init__(
        self, summary: AdaptiveSummary, goal: Goal | Expression | str | None = None
    ) -> None:
        if isinstance(summary, type) or getattr(summary, "name", "") != "adaptive":
            raise InputTypeError(
                f"`summary` is the adaptive part of a report, got {type(summary).__name__}; "
                "reports on a search over surrogates have one"
            )
        if not summary.path:
            raise InputError("the search made no step: there is no path to draw")
        self.summary = summary
        self.goal = None if goal is None else as_goal(goal)

    # -- where the numbers come from --------------------------------------------------
    @classmethod
    def from_estimator(cls, clf: Any, *, ax: style.Canvas = None) -> Self:
        """Draw the search of a fitted classifier.

        Parameters
        ----------
        clf : fitted classifier
            One that searched over surrogates.
        ax
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If it did not search over surrogates.
        """
        style.require_matplotlib()
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(clf)
        return cls.from_report(clf.goal_report_, ax=ax)

    @classmethod
    def from_report(cls, report: Facts, *, ax: style.Canvas = None) -> Self:
        """Draw the search that led to a report.

        Raises
        ------
        ValueError
            If it was not a search over surrogates.
        """
        style.require_matplotlib()
        found = report.section("adaptive")
        if found is None:
            raise InputError(
                "the report is not on a search over surrogates, and only such a search has a path"
            )
        return cls(found, report.goal).plot(ax)

    # -- drawing ------------------------------------------------------------------------
    def plot(self, ax: style.Canvas = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or Figure, optional
            By default a new figure, with the weights in a panel of their own. An empty
            figure is filled. Axes hold the metric alone.

        Returns
        -------
        self
            With `ax_`, `weights_ax_` and `figure_`.
        """
        bands, heights = self._bands(), self.heights
        style.require_matplotlib()
        from matplotlib.ticker import MaxNLocator

        self.figure_, panels, mode = style.axes(ax, (6.4, 1.2 + sum(heights)), heights)
        self.ax_, self.weights_ax_ = panels[0], None
        self._metric(self.ax_)
        stacked = len(panels) > 1
        evaluations = "evaluations of the metric"
        style.finish(self.ax_, "" if stacked else evaluations, self._metric_name())
        if stacked:
            lower = self.weights_ax_ = panels[1]
            lower.sharex(self.ax_)
            self.ax_.tick_params(labelbottom=False)
            self._weights(lower, bands)
            style.finish(lower, evaluations, "weights", grid="x")
        # Large numbers of evaluations, in a panel that shares its width with names.
        panels[-1].tick_params(axis="x", labelsize=style.SMALL)
        panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        style.legend(self.ax_, mode, columns=1 if mode == "tight" else 2)
        return self

    @property
    def heights(self) -> tuple[float, ...]:
        """Inches of the panels: what the names of the surrogates need."""
        lines = [1 + name.count("\n") for name, _ in self._bands()]
        return (2.4, max(1.3, _LINE * sum(lines) + 0.1)) if lines else (2.4,)

    def _metric_name(self) -> str:
        if self.goal is None:
            return "metric"
        if isinstance(self.goal.objective, BlackBoxMetric):
            # An import path: it holds no spaces to break it at.
            return _cut(self.goal.objective.name, _LONGEST).replace(":", ":\n")
        return style.wrapped(str(self.goal.objective), 30)

    @property
    def _end(self) -> int:
        """The last evaluation of the search; the bootstrap's come later."""
        return max(step.used for step in self.summary.path)

    def _metric(self, ax: Axes) -> None:
        summary = self.summary
        best_first = sorted(
            dict.fromkeys(step.start for step in summary.path),
            key=lambda start: start != summary.start,
        )
        for i, start in enumerate(best_first):
            steps = [step for step in summary.path if step.start == start]
            ink, dashes = _OTHERS[(i - 1) % len(_OTHERS)]
            own = start == summary.start
            ax.plot(
                [step.used for step in steps],
                [step.value for step in steps],
                color=style.BLUE if own else ink,
                linestyle="-" if own else dashes,
                linewidth=1.8 if own else 1.2,
                marker="o",
                markersize=2.5 if len(steps) > 1 else 5.0,
                label=f"from {start}" + (" (the best path)" if own else ""),
                zorder=3.0 if own else 2.5,
            )
        ax.axhline(
            summary.baseline_value,
            color=style.RED,
            linewidth=1.2,
            linestyle=(0, (4, 2)),
            label=f"baseline {number(summary.baseline_value)}"
            + ("" if summary.accepted else ", returned"),
            zorder=2,
        )
        if summary.best_value != summary.baseline_value:
            self._best(ax)
        ax.margins(x=0.03, y=0.1)
        ax.set_xlim(ax.get_xlim())

    def _best(self, ax: Axes) -> None:
        """The best model, at the step that it comes from."""
        summary = self.summary
        at = summary.best_step()
        x = self._end if at is None else at.used
        if at is not None and at.value != summary.best_value:
            # The model of the step with its cut-off set anew.
            ax.plot([x, x], [at.value, summary.best_value], color=style.ORANGE, linewidth=1.0)
        ax.plot(
            [x],
            [summary.best_value],
            "D",
            color=style.ORANGE,
            markersize=7,
            linestyle="none",
            label=f"best {number(summary.best_value)}" + (", returned" if summary.accepted else ""),
            zorder=5,
        )

    def _bands(self) -> list[tuple[str, Floats]]:
        """Names and shares (m,) of the surrogates along the best path, those of few pooled."""
        summary = self.summary
        steps = [step for step in summary.path if step.start == summary.start]
        if not steps or len(summary.surrogates) < 2:
            return []
        shares = np.array([step.weights for step in steps])
        names = [_broken(name) for name in summary.surrogates]
        if len(names) <= _MOST_BANDS:
            return list(zip(names, shares.T, strict=True))
        large = np.sort(np.argsort(-shares.mean(axis=0), kind="stable")[: _MOST_BANDS - 1])
        rest = np.setdiff1d(np.arange(len(names)), large)
        pooled = (f"{len(rest)} others", shares[:, rest].sum(axis=1))
        return [*((names[k], shares[:, k]) for k in large), pooled]

    def _weights(self, ax: Axes, bands: Sequence[tuple[str, Floats]]) -> None:
        """Stacked shares; each holds until the path moves on."""
        summary = self.summary
        used = [step.used for step in summary.path if step.start == summary.start]
        x = np.array([*used, ax.get_xlim()[1]])
        top = np.zeros(len(x))
        middles = []
        for (_, share), (ink, alpha) in zip(bands, _BANDS, strict=False):
            foot, top = top, top + np.append(share, share[-1])
            ax.fill_between(
                x,
                foot,
                top,
                step="post",
                facecolor=ink,
                alpha=alpha,
                edgecolor="none",
                linewidth=0,
            )
            ax.step(x, top, where="post", color="#ffffff", linewidth=0.8)
            middles.append(float(foot[-1] + top[-1]) / 2.0)
        ax.set_ylim(0.0, 1.0)
        ax.set_yticks([0.0, 0.5, 1.0], ["0", "50 %", "100 %"])
        self._name(ax, bands, middles)

    @staticmethod
    def _name(ax: Axes, bands: Sequence[tuple[str, Floats]], middles: Sequence[float]) -> None:
        """Names to the right, in the order of the bands, with a line to each."""
        lines = [1 + name.count("\n") for name, _ in bands]
        for (name, _), (ink, alpha), middle, y in zip(
            bands, _BANDS, middles, _spread(middles, lines), strict=False
        ):
            ax.plot(
                [1.0, 1.03, 1.06],
                [middle, y, y],
                transform=ax.transAxes,
                color=ink,
                alpha=alpha,
                linewidth=2.0,
                clip_on=False,
            )
            ax.annotate(
                name,
                (1.07, y),
                xycoords="axes fraction",
                color=style.INK,
                fontsize=style.SMALL,
                va="center",
                ha="left",
                annotation_clip=False,
                parse_math=False,
            )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _broken(name: str) -> str:
    """A name in lines, with the group on lines of its own."""
    what, comma, where = _cut(name, _LONGEST).partition(", ")
    parts = [f"{what},", where] if comma and len(name) > _WIDE else [what + comma + where]
    lines = [line for part in parts for line in style.wrapped(part, _WIDE).split("\n")]
    return "\n".join(_cut(line, _WIDE) for line in lines)


def _spread(middles: Sequence[float], lines: Sequence[int]) -> Floats:
    """Heights of names in [0, 1], near the bands' middles and clear of each other."""
    half = np.asarray(lines, np.float64) / (2.0 * max(sum(lines), 6))
    y = np.clip(np.asarray(middles, np.float64), half, 1.0 - half)
    for i in range(1, len(y)):
        y[i] = max(y[i], y[i - 1] + half[i - 1] + half[i])
    over = 1.0 - half[-1]
    for i in range(len(y) - 1, -1, -1):
        y[i] = min(y[i], over)
        over = y[i] - half[i] - (half[i - 1] if i else 0.0)
    return np.asarray(y)
