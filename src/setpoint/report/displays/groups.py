"""GroupRatesDisplay: each group's rate with its interval, and what the goal asks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from setpoint.errors import InputError
from setpoint.goals.expressions import Const, Expression
from setpoint.goals.goal import Goal, as_goal, constraint_in_words
from setpoint.inputs.inputs import decided_inputs
from setpoint.program.linking import link
from setpoint.report.displays import style
from setpoint.report.displays.scales import Allowed, allowed_of, not_drawn, scale_of
from setpoint.report.entry import GroupRow, groups_on
from setpoint.report.facts import Facts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase


_MOST = 36
"""Characters of a group's name."""


class GroupRatesDisplay:
    """Each group's rate with its interval, and the bounds that the goal sets on them.

    Parameters
    ----------
    rows : sequence of GroupRow
    goal : Goal, str or metric
        A floor under the smallest or a cap on the largest is a line. A bound on the
        difference or the ratio is a band of that width, laid where it holds most groups.
    level : float
        Confidence of the intervals.

    Attributes
    ----------
    rows : tuple of GroupRow
    goal : Goal
    level : float
    metrics : tuple of str
        One panel each.
    ax_ : Axes
        The first panel.
    axes_ : tuple of Axes
    figure_ : Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> y_true, y_pred = [1, 1, 0, 1, 1, 0], [1, 0, 0, 1, 1, 1]
    >>> sex = ["f", "f", "f", "m", "m", "m"]
    >>> display = GroupRatesDisplay.from_predictions(
    ...     "maximize recall subject to recall.difference('sex') <= 0.1",
    ...     y_true,
    ...     y_pred,
    ...     sensitive_features={"sex": sex},
    ... )
    >>> [(row.name, row.value) for row in display.rows]
    [('sex = f', 0.5), ('sex = m', 1.0)]
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    axes_: tuple[Axes, ...]
    figure_: FigureBase

    def __init__(
        self, rows: Sequence[GroupRow], goal: Goal | Expression | str, level: float = 0.95
    ) -> None:
        self.rows = tuple(rows)
        self.goal = as_goal(goal)
        self.level = level
        if not self.rows:
            raise InputError(
                "the goal compares no groups, so there are none to draw; goals that do name a "
                "column in a reducer, as in recall.difference('sex') <= 0.05 or "
                "precision.min('country') >= 0.8"
            )
        self.metrics = tuple(dict.fromkeys(row.metric for row in self.rows))

    # -- where the numbers come from --------------------------------------------------
    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        ax: style.Canvas = None,
        metric: str | None = None,
    ) -> Self:
        """Draw what a fitted classifier reaches in each group.

        Parameters
        ----------
        clf : classifier of this library, fitted
        X, y, sample_weight, sensitive_features, baseline, datasets
            As in its ``evaluate``.
        ax, metric
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If its goal compares no groups.
        """
        style.require_matplotlib()
        report = clf.evaluate(
            X,
            y,
            sample_weight=sample_weight,
            sensitive_features=sensitive_features,
            baseline=baseline,
            datasets=datasets,
        )
        return cls.from_report(report, ax=ax, metric=metric)

    @classmethod
    def from_predictions(
        cls,
        goal: Goal | Expression | str,
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        pos_label: Any = None,
        level: float = 0.95,
        ax: style.Canvas = None,
        metric: str | None = None,
    ) -> Self:
        """Draw what some decisions reach in each group.

        Parameters
        ----------
        goal : Goal, str or metric
        y_true, y_pred : array-like of shape (N,)
            Labels.
        sensitive_features, sample_weight, baseline, datasets, pos_label
            As in :func:`setpoint.evaluate`.
        level : float
            Confidence of the intervals.
        ax, metric
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If the goal compares no groups.
        """
        style.require_matplotlib()
        goal = as_goal(goal)
        inputs, decisions = decided_inputs(
            goal,
            y_true,
            y_pred,
            sample_weight=sample_weight,
            sensitive_features=sensitive_features,
            baseline=baseline,
            datasets=datasets,
            pos_label=pos_label,
        )
        linked = link(goal, inputs.rows.codebook)
        groups = groups_on(linked, inputs.confusion(decisions), level)
        return cls(groups, goal, level).plot(ax, metric=metric)

    @classmethod
    def from_report(
        cls, report: Facts, *, ax: style.Canvas = None, metric: str | None = None
    ) -> Self:
        """Draw the groups of a report.

        Raises
        ------
        ValueError
            If its goal compares no groups.
        """
        style.require_matplotlib()
        groups = [g for g in report.groups if g.compared]
        return cls(groups, report.goal, report.level).plot(ax, metric=metric)

    def allowed(self, metric: str) -> tuple[Allowed, ...]:
        """What the goal allows the groups' values of one metric to be."""
        return allowed_of(self.goal, metric, self._of(metric))

    # -- drawing ------------------------------------------------------------------------
    def plot(self, ax: style.Canvas = None, *, metric: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or Figure, optional
            By default a new figure with a panel for each metric. An empty figure is
            filled. Axes hold one metric.
        metric : str, optional
            One of `metrics`; by default all of them, in axes given the first.

        Returns
        -------
        self
            With `ax_`, `axes_` and `figure_`.

        Raises
        ------
        ValueError
            If `metric` is not one of them.
        """
        if metric is not None and metric not in self.metrics:
            raise InputError(f"`metric` is one of {list(self.metrics)}, got {metric!r}")
        shown = self.metrics if metric is None else (metric,)
        sizes = [len(self._of(m)) for m in shown]
        n_bounds = [len(self.allowed(m)) for m in shown]
        tall = sum(0.27 * n + 1.0 + 0.2 * k for n, k in zip(sizes, n_bounds, strict=True))
        self.figure_, panels, mode = style.axes(ax, (6.8, max(2.2, tall)), [n + 1.0 for n in sizes])
        for panel, m in zip(panels, shown, strict=False):
            self._panel(panel, m, mode)
        self.axes_, self.ax_ = tuple(panels), panels[0]
        return self

    def _of(self, metric: str) -> list[GroupRow]:
        """The metric's rows, those of the same columns together."""
        rows = [row for row in self.rows if row.metric == metric]
        columns = [tuple(c for c, _ in row.columns) for row in rows]
        order = list(dict.fromkeys(columns))
        return [r for key in order for r, c in zip(rows, columns, strict=True) if c == key]

    def _panel(self, ax: Axes, metric: str, mode: style.Mode) -> None:
        rows, allowed = self._of(metric), self.allowed(metric)
        self._bounds(ax, rows, allowed)
        for y, row in enumerate(rows):
            if row.value is None:
                ax.text(
                    0.02,
                    y,
                    "no rows",
                    transform=ax.get_yaxis_transform(),
                    color=style.MUTED,
                    fontsize=style.SMALL,
                    va="center",
                )
                continue
            outside = any(not a.holds(row) for a in allowed)
            ink = style.RED if outside else style.BLUE
            low = row.value if row.low is None else row.low
            high = row.value if row.high is None else row.high
            ax.plot([low, high], [y, y], color=ink, linewidth=style.LINE, zorder=3)
            ax.plot([row.value], [y], "D" if outside else "o", color=ink, markersize=7.0, zorder=4)
        if any(not a.holds(row) for a in allowed for row in rows):
            ax.plot([], [], "D", color=style.RED, markersize=7.0, label="outside what is allowed")
        scale = scale_of(metric)
        name = style.wrapped(f"{scale.words}, with its {100 * self.level:.4g} % interval", 56)
        style.finish(ax, name, "", grid="x")
        scale.apply(ax.xaxis)
        ax.set_yticks(range(len(rows)), [_name(row) for row in rows], parse_math=False)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        self._limits(ax, rows, allowed)
        style.legend(ax, mode)
        left_out = not_drawn(self.goal, metric, rows)
        words = [constraint_in_words(c) for c in self.goal.constraints if str(c) in left_out]
        style.caption(ax, mode, f"Not drawn: {'; '.join(words)}." if words else "")

    def _bounds(self, ax: Axes, rows: list[GroupRow], allowed: Sequence[Allowed]) -> None:
        for i, a in enumerate(allowed):
            at = [y for y, row in enumerate(rows) if a.is_for(row)]
            span = (min(at) - 0.5, max(at) + 0.5)
            if a.is_band:
                assert a.low is not None
                assert a.high is not None
                ax.fill_between(
                    [a.low, a.high],
                    span[0],
                    span[1],
                    color=style.GREEN,
                    alpha=style.SHADE,
                    linewidth=0,
                    label=f"allowed: {self._words(a)}",
                    zorder=1,
                )
                ax.vlines([a.low, a.high], *span, colors=style.GREEN, linewidths=0.8, zorder=1.2)
            else:
                edge = a.low if a.low is not None else a.high
                assert edge is not None
                look = style.asked()
                ax.vlines(
                    edge,
                    *span,
                    colors=look["color"],
                    linewidths=1.4,
                    linestyles=look["linestyle"] if i % 2 == 0 else (0, (1, 1.5)),
                    label=f"asked: {self._words(a)}",
                    zorder=2,
                )

    def _words(self, a: Allowed) -> str:
        """A constraint in words, with its number as the axis has it."""
        c = next(c for c in self.goal.constraints if str(c) == a.text)
        how = "at least" if c.relation == ">=" else "at most"
        assert isinstance(c.rhs, Const)
        scale = scale_of(str(c.lhs))
        return style.wrapped(f"{scale.words} {how} {scale.text(c.rhs.value)}", 48)

    @staticmethod
    def _limits(ax: Axes, rows: Sequence[GroupRow], allowed: Sequence[Allowed]) -> None:
        """All intervals and bounds with some air; rates stay within 0 and 1."""
        at = [x for row in rows for x in (row.value, row.low, row.high) if x is not None]
        at += [x for a in allowed for x in (a.low, a.high) if x is not None]
        at = [x for x in at if np.isfinite(x)]
        if not at:
            ax.set_xlim(0.0, 1.0)
            return
        low, high = min(at), max(at)
        air = 0.06 * (high - low) or 0.05
        low, high = low - air, high + air
        if min(at) >= 0 and max(at) <= 1:
            low, high = max(low, -0.01), min(high, 1.01)
        ax.set_xlim(low, high)


def _name(row: GroupRow) -> str:
    name = row.name if len(row.name) <= _MOST else f"{row.name[: _MOST - 1]}…"
    return f"{name}  ({row.rows:,})" if row.rows else name
