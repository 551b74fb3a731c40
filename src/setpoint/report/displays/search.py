"""Pictures of a search step by step, and of rules from safe to bold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.goals import Expression, Goal, as_goal
from setpoint.guarantees import Rung
from setpoint.parameters import SATISFIED
from setpoint.report.displays import style
from setpoint.report.displays.style import Display, Panel, Scale, scale_of
from setpoint.report.facts import Facts

# --- Objective, bound and violation along a search ------------------------------------------------


def plot_convergence(
    trace: Facts | Sequence[Sequence[float]],
    goal: Goal | Expression | str | None = None,
    *,
    ax: style.Canvas = None,
) -> Display:
    """Draw how a search went: the best rule so far, and what no rule passes, call by call.

    Parameters
    ----------
    trace : GoalReport or sequence of (call, objective, bound, violation)
        Longer records may follow with more fields. A bound that is not finite is unknown.
    goal : Goal, str or metric, optional
        Names the objective; by default that of the report.
    ax : Axes or Figure, optional
        By default a new figure, with the violation in a panel of its own. An empty
        figure is filled. In axes given, the violation has a second vertical axis.

    Returns
    -------
    Display
        With second axes where a constraint was violated.

    Raises
    ------
    ValueError
        If there is no trace.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> trace = [(1, 0.5, 0.9, 0.1), (2, 0.6, 0.8, 0.0), (3, 0.7, 0.72, 0.0)]
    >>> display = plot_convergence(trace, "maximize f1 subject to recall >= 0.5")
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['F1', 'violation']
    >>> plt.close(display.figure_)
    """
    steps, goal = style.numbers_of(
        trace, goal, Sequence, "trace", "steps",
        "there is no trace: exact solvers of two classes have none. Searches over posteriors of "
        "three classes and more, or with another `solver`, record each call",
    )  # fmt: skip
    if any(len(t) < 4 for t in steps):
        raise InputError("`trace` holds records (call, objective, bound, violation)")
    calls, objective, bound, violation = np.array([[*map(float, tuple(t)[:4])] for t in steps]).T
    goal = None if goal is None else as_goal(goal)
    scale = scale_of(str(goal.objective)) if goal else Scale("objective", "number")
    violated = bool((violation > SATISFIED).any())
    heights = (3.0, 1.2) if violated else (1.0,)
    panels = style.panels(ax, (6.4, 4.6 if violated else 3.8), heights)
    (top, bottom), words = (panels[0], panels[-1]), "steps of the search"
    _objective(top, calls, objective, _holding(bound, objective, violation, goal), violation)
    top.finish(words if top is bottom else "", scale.words, y=scale)
    if top is not bottom:
        bottom.ax.sharex(top.ax)
        top.ax.tick_params(labelbottom=False)
        _violation(bottom, calls, violation)
        bottom.finish(words, "violation")
    elif violated:
        panels.append(Panel(top.ax.twinx()))
        _beside(panels[-1], calls, violation)
    from matplotlib.ticker import MaxNLocator

    bottom.ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    # Above the panel: a search fills the panel itself.
    top.legend(columns=3)
    return Display(tuple(panel.ax for panel in panels))


def _objective(
    panel: Panel, calls: Floats, objective: Floats, bound: Floats, violation: Floats
) -> None:
    """The best rule so far, what no rule passes, and the gap between them."""
    look = style.STEPS | {"marker": "o" if len(calls) == 1 else ""}
    curve = style.CURVE | look | {"zorder": 3}
    panel.ax.plot(calls, objective, label="best rule so far", **curve)
    known = np.isfinite(bound)
    if not known.any():
        return
    panel.ax.plot(calls, bound, label="no rule passes", **style.BOUND | look)
    # A rule that violates a constraint may lie beyond the bound.
    gap: Any = {"where": known & (violation <= SATISFIED), "step": "post", "label": "gap"}
    panel.ax.fill_between(calls, objective, bound, **style.SHADED | gap)


def _holding(bound: Floats, objective: Floats, violation: Floats, goal: Goal | None) -> Floats:
    """The bound where it holds: what a rule within the constraints passes is none."""
    bound = np.where(np.isfinite(bound), bound, np.nan)
    if goal is None:
        return bound
    past = (objective - bound) * (1.0 if goal.sense == "maximize" else -1.0)
    passed = (violation <= SATISFIED) & (past > 1e-6 * (1.0 + abs(bound)))
    return np.where(passed, np.nan, bound)


def _violation(panel: Panel, calls: Floats, violation: Floats, alpha: float = 1.0) -> None:
    """Logarithmic above what counts as met, linear below."""
    ax, worst = panel.ax, np.where(np.isfinite(violation), violation, np.nan)
    look = style.STEPS | {"color": style.MUTED, "linewidth": 1.2, "zorder": 2}
    ax.plot(calls, worst, alpha=alpha, **look)
    top = max(float(np.nanmax(worst)), 1e-6) * 3.0
    ax.set_yscale("symlog", linthresh=SATISFIED, linscale=0.5)
    ax.set_ylim(0.0, top)
    ticks = [t for t in (1e-6, 1e-3, 1.0, 1e3, 1e6) if t <= top]
    ax.set_yticks([0.0, *ticks], ["0", *(f"{t:g}" for t in ticks)])
    ax.minorticks_off()


def _beside(panel: Panel, calls: Floats, violation: Floats) -> None:
    """The violation on a second vertical axis."""
    _violation(panel, calls, violation, alpha=0.5)
    panel.finish()
    ax = panel.ax
    ax.set_ylabel("violation", fontsize=style.NAME, visible=True)
    ax.grid(visible=False)
    ax.spines["left"].set_visible(False)
    ax.spines["right"].set_visible(True)
    ax.yaxis.set_label_position("right")
    ax.yaxis.label.set_color(style.MUTED)
    ax.tick_params(axis="y", colors=style.MUTED)


# --- The rules from safe to bold ------------------------------------------------------------------


_STRAIGHT = 6.0
"""Margins up to so many standard errors are drawn to scale, larger ones closer and closer."""

_TICKS = (60.0, 20.0, 6.0, 3.0, 1.0, 0.0, -1.0, -3.0, -20.0, -60.0)


def plot_rule_path(path: Sequence[Rung], objective: str, *, ax: style.Canvas = None) -> Display:
    """What caution costs: the objective of each rule of a path over its margin.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from setpoint.guarantees import Rung
    >>> path = [Rung(6, 0.5, 0.3, True), Rung(3, 0.6, 1.0, False), Rung(1, 0.7, 0.0, False)]
    >>> display = plot_rule_path(path, "recall")
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['passed', 'did not pass', 'not tested']
    >>> plt.close("all")
    """
    (panel,) = style.panels(ax, (6.4, 4.0))
    path = [rung for rung in path if math.isfinite(rung.objective)]
    largest = max((r.margin for r in path if math.isfinite(r.margin)), default=_STRAIGHT)
    known = [(_place(min(r.margin, largest)), r.objective, r.share, r.passed) for r in path]
    x, y, share, passed = np.array(known).T
    panel.ax.plot(x, y, color=style.GRID, linewidth=style.THIN, zorder=1)
    for label, part, ink, marker in (
        ("passed", passed == 1.0, style.BLUE, "o"),
        ("did not pass", (passed == 0.0) & (share > 0.0), style.ORANGE, "X"),
        ("not tested", share == 0.0, style.MUTED, "o"),
    ):
        if part.any():
            filled = "none" if ink == style.MUTED else ink
            look: Any = {"color": ink, "markerfacecolor": filled, "markersize": 5, "zorder": 2}
            panel.ax.plot(x[part], y[part], marker, label=label, **look)
    # Safe rules on the left, bold ones on the right.
    low, high = x.min(), x.max()
    room = 0.05 * max(high - low, 1.0)
    panel.ax.set_xlim(high + room, low - room)
    shown = [t for t in _TICKS if low - room <= _place(t) <= high + room]
    panel.ax.set_xticks([_place(t) for t in shown], [f"{t:g}" for t in shown])
    scale = scale_of(objective)
    panel.finish("margin, in standard errors", scale.words, y=scale)
    panel.legend(columns=3)
    return panel.display


def _place(margin: float) -> float:
    """Where a margin stands on the axis."""
    size = abs(margin)
    if size > _STRAIGHT:
        size = _STRAIGHT * (1.0 + math.log(size / _STRAIGHT) / 2.0)
    return math.copysign(size, margin)
