"""The picture of frontiers: the best objective as one bound moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.goals import Expression, Goal, as_goal, constraint_in_words
from setpoint.parameters import SATISFIED
from setpoint.report.displays import style
from setpoint.report.displays.style import Display, Panel, range_of_text, scale_of
from setpoint.report.facts import Facts
from setpoint.report.numbers import shortened
from setpoint.search import Frontier

_LINE = 0.01
"""Of the height of the axes: about the width of the line."""

_FEW = 40
"""Up to so many marks are large."""

_MODELS = (
    (style.INK, "-"),
    (style.BLUE, "-"),
    (style.GREEN, (0, (6, 2))),
    (style.RED, (0, (2, 1.5))),
    (style.ORANGE, (0, (6, 2, 1.5, 2))),
)
"""Inks and dashes of several models, the one in use first."""

MOST_MODELS = len(_MODELS)
"""Models that can be distinguished."""


def plot_frontier(
    frontier: Facts | Frontier | Mapping[str, Frontier],
    points: Mapping[str, tuple[float, float]] | None = None,
    goal: Goal | Expression | str | None = None,
    *,
    ax: style.Canvas = None,
) -> Display:
    """Draw what a stricter bound costs: the best objective over the bound of one constraint.

    Of several models a line is the best of all thresholds on a model's scores, found on these
    very rows; a dot is the model as it decides: hollow for the one in use. A model below its line
    could decide better by its own scores.

    Parameters
    ----------
    frontier : Frontier, GoalReport or dict of str to Frontier
        What :func:`setpoint.frontier` finds, a report that holds such a frontier, or the
        frontiers of at most five models.
    points : dict of str to (side, objective), optional
        Where each model stands, the one in use first; also of models without a frontier.
    goal : Goal, str or metric, optional
        Of several models.
    ax : Axes or Figure, optional
        By default a new figure. An empty figure is filled.

    Returns
    -------
    Display

    Raises
    ------
    ValueError
        If the report holds no frontier, or there are too many models.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from setpoint import Evidence, frontier
    >>> rows = Evidence.from_arrays((0, 1), np.array([0.9, 0.7, 0.4, 0.2]), np.array([1, 0, 1, 0]))
    >>> display = plot_frontier(frontier(rows, "maximize recall subject to precision >= 0.6"))
    >>> display.ax_.get_ylabel(), display.ax_.get_xlabel()
    ('best recall', 'precision at least')
    >>> plt.close(display.figure_)
    """
    if isinstance(frontier, Mapping):
        return _several(frontier, points or {}, goal, ax)
    none = "the report holds no frontier: setpoint.frontier finds one"
    found, _ = style.numbers_of(frontier, None, Frontier, "frontiers", "items", none)
    return _one(found if isinstance(found, Frontier) else found[0], ax)


def _one(f: Frontier, ax: style.Canvas) -> Display:
    """One frontier, with where it is proved, where no rule is, and the bound asked."""
    (panel,) = style.panels(ax, (6.8, 4.0))
    _name_axes(panel, f.side, _how(f), f.objective)
    low, high = shown_bounds(f)
    n = len(known_line(f, low, high)[0])
    if n:
        wide = style.THIN if f.kind == "points" else style.LINE
        look = {"color": style.BLUE, "linewidth": wide, "markersize": 7.0 if n <= _FEW else 3.5}
        _draw_line(panel, f, low, high, f"best {f.objective}", look)
    panel.ax.set_xlim(low, high)
    panel.ax.margins(y=0.08)
    x, y, past = not_excluded(f, low, high)
    bottom, top = panel.ax.get_ylim()
    more = np.abs(past - y) > _LINE * (top - bottom)
    # A stretch has two ends.
    more = (more[::2] | more[1::2]).repeat(2)
    if more.any():
        panel.ax.fill_between(x, y, past, where=more, label="not ruled out", **style.SHADED)
    panel.avoid(x, y)
    span = out_of_reach(f, low, high)
    if span is not None:
        _out_of_reach(panel, f, span)
    # A line at the bound asked, a dot at the best rule there, and words beside them.
    bottom, top = panel.ax.get_ylim()
    panel.asked(f.asked, upright=True, span=(bottom, top))
    known = f.kind != "points" or np.isclose(f.bounds, f.asked, rtol=0.0, atol=1e-12).any()
    value = f.at(f.asked) if known else np.nan
    words = f"asked: {scale_of(f.side).text(f.asked)}"
    if np.isfinite(value):
        panel.mark(f.asked, value)
        panel.dot(f.asked, value, style.RULE, f"{words}\nbest: {scale_of(f.objective).text(value)}")
    else:
        heights = [bottom + t * (top - bottom) for t in (0.06, 0.9, 0.3, 0.6)]
        panel.words(words, [(f.asked, h) for h in heights], style.INK)
    others = _others(f)
    kept = f"With {others}. " if others else ""
    panel.caption(kept + _proof(f) + (" Shaded: not ruled out." if more.any() else ""))
    return panel.display


def _several(
    frontiers: Mapping[str, Frontier],
    points: Mapping[str, tuple[float, float]],
    goal: Any,
    ax: style.Canvas,
) -> Display:
    """The frontiers of models, and where each stands as it decides."""
    names = list(dict.fromkeys([*points, *frontiers]))
    if len(names) > MOST_MODELS:
        raise InputError(
            f"`frontier` is of {len(names)} models, and at most {MOST_MODELS} can be "
            "distinguished in a picture"
        )
    (panel,) = style.panels(ax, (6.8, 4.4))
    lines = {name: f.thinned() for name, f in frontiers.items()}
    xs = [x for x, _ in points.values() if np.isfinite(x)]
    ends = [shown_bounds(f) for f in lines.values()] or [(min(xs) - 0.1, max(xs) + 0.1)]
    low, high = min(e[0] for e in ends), max(e[1] for e in ends)
    for i, name in enumerate(names):
        ink, dashes = _MODELS[i]
        if name in lines:
            wide = style.LINE if i else style.THIN
            line = {"color": ink, "linestyle": dashes, "linewidth": wide}
            _draw_line(panel, lines[name], low, high, shortened(name), line)
        x, y = points.get(name, (np.nan, np.nan))
        if np.isfinite(x + y):
            look = style.RULE | {"facecolors": ink} if i else style.DEPLOYED
            label = "" if name in lines else shortened(name)
            panel.ax.scatter([x], [y], **look | {"s": 70.0, "label": label})
    panel.ax.set_xlim(low, high)
    panel.ax.margins(y=0.08)
    some = next(iter(lines.values()), None)
    if some is None:
        asked = as_goal(goal)
        moving = asked.constraints[0].lhs if asked.constraints else "predicted_rate"
        _name_axes(panel, str(moving), "", str(asked.objective))
    else:
        if goal is None or any(str(c) == some.vary for c in as_goal(goal).constraints):
            panel.ax.axvline(some.asked, **style.ASKED, label="asked")
        _name_axes(panel, some.side, _how(some), some.objective)
    panel.legend(columns=2)
    text = f"Dots: the models as they decide; hollow: {shortened(names[0])}." if points else ""
    if some is not None:
        others = _others(some)
        text += " Lines: the best that each model's scores reach on these rows"
        text += f", with {others}." if others else "."
    panel.caption(text.strip())
    return panel.display


def _draw_line(
    panel: Panel, f: Frontier, low: float, high: float, label: str, look: style.Look
) -> None:
    """The best objective under each bound; between two bounds steps have that of the stricter."""
    joined = "default"
    if f.kind == "steps":
        joined = "steps-pre" if f.relation == ">=" else "steps-post"
    look = look | {"drawstyle": joined, "marker": "." if f.kind == "points" else "", "zorder": 3}
    panel.ax.plot(*known_line(f, low, high), label=label, **look)


def _name_axes(panel: Panel, side: str, how: str, objective: str) -> None:
    x, y = scale_of(side), scale_of(objective)
    panel.finish(f"{x.words}{how}", f"best {y.words}", x=x, y=y)


def _how(f: Frontier) -> str:
    return " at least" if f.relation == ">=" else " at most"


def _others(f: Frontier) -> str:
    """The constraints that are kept as the bound moves."""
    kept = [c for c in Goal.parse(f.goal).constraints if str(c) != f.vary]
    return " and ".join(map(constraint_in_words, kept))


def _out_of_reach(panel: Panel, f: Frontier, span: tuple[float, float]) -> None:
    """Grey and hatched where no rule meets the bound."""
    ax, (low, high), (bottom, top) = panel.ax, panel.ax.get_xlim(), panel.ax.get_ylim()
    ax.axvspan(*span, facecolor="none", edgecolor=style.GRID, hatch="///", linewidth=0, zorder=0.6)
    ax.axvspan(*span, color=style.RED, alpha=0.06, linewidth=0, zorder=0.5)
    edge = span[0] if f.relation == ">=" else span[1]
    if low < edge < high:
        ax.axvline(edge, color=style.RED, linewidth=1.0, zorder=1.5)
    middle = sum(span) / 2
    panel.avoid([middle] * 2, [bottom + t * (top - bottom) for t in (0.15, 0.85)])
    unknown = f.gaps[np.isnan(f.values)]
    words = "no rule found" if np.isinf(unknown).any() else "no rule meets it"
    place = {"transform": ax.get_xaxis_transform(), "ha": "center", "clip_on": True}
    turned = 0 if (span[1] - span[0]) / (high - low) > 0.4 else 90
    ax.text(middle, 0.5, words, color=style.RED, rotation=turned, **style.NOTE | place)


def _proof(f: Frontier) -> str:
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


# --- The shape of a frontier in a picture: what is shown, known -----------------------------------


def shown_bounds(f: Frontier) -> tuple[float, float]:
    """The ends of the horizontal axis: all bounds, with a margin, in the side's range."""
    at = np.append(f.bounds, f.asked)
    at = at[np.isfinite(at)]
    low, high = float(at.min()), float(at.max())
    air = 0.08 * (high - low) or 0.05
    least, most = range_of_text(f.side)
    low, high = max(low - air, min(least, low)), min(high + air, max(most, high))
    return (low, high) if low < high else (low - 0.05, high + 0.05)


def not_excluded(f: Frontier, low: float, high: float) -> tuple[Floats, Floats, Floats]:
    """What the best may be beyond the line: bounds, the line, and what no rule passes.

    Examples
    --------
    >>> at = np.array([0.5, 0.9])
    >>> f = Frontier(
    ...     "maximize recall subject to precision >= 0.5", "precision >= 0.5", "recall",
    ...     "precision", ">=", 0.5, at, np.array([0.8, 0.4]), at, "steps", np.array([0.3, 0.1]),
    ... )
    >>> [x.tolist() for x in not_excluded(f, 0.25, 1.0)]
    [[0.25, 0.5, 0.5, 0.9], [0.8, 0.8, 0.4, 0.4], [1.0, 1.0, 0.5, 0.5]]
    """
    least, most = range_of_text(f.objective)
    if f.goal.startswith("maximize"):
        past = np.minimum(f.values + f.gaps, most)
    else:
        past = np.maximum(f.values - f.gaps, least)
    past = np.where(np.isfinite(f.gaps), past, np.nan)
    x, y = known_line(f, low, high)
    _, past = _extended(f, past, low, high)
    here = np.arange(len(x)).repeat(2)[1:-1]
    line = here
    if f.kind == "steps":  # the value of a stretch is that of its stricter end
        line = (np.arange(1, len(x)) if f.relation == ">=" else np.arange(len(x) - 1)).repeat(2)
    return x[here], y[line], past[line]


def known_line(f: Frontier, low: float, high: float) -> tuple[Floats, Floats]:
    """The breakpoints with a value, ascending; where it is known, on to the lax end.

    Examples
    --------
    >>> at, best = np.array([0.5, 0.9]), np.array([0.8, np.nan])
    >>> f = Frontier(
    ...     "maximize recall subject to precision >= 0.5", "precision >= 0.5", "recall",
    ...     "precision", ">=", 0.5, at, best, at, "steps",
    ... )
    >>> [x.tolist() for x in known_line(f, 0.25, 1.0)], out_of_reach(f, 0.25, 1.0)
    ([[0.25, 0.5], [0.8, 0.8]], (0.5, 1.0))
    """
    return _extended(f, f.values, low, high)


def _extended(f: Frontier, y: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    known = np.isfinite(f.values)
    x, y = f.bounds[known], y[known]
    if not len(x) or f.kind == "points":
        return x, y
    if f.relation == ">=" and low < x[0]:
        return np.append(low, x), np.append(y[0], y)
    if f.relation == "<=" and high > x[-1]:
        return np.append(x, high), np.append(y, y[-1])
    return x, y


def out_of_reach(f: Frontier, low: float, high: float) -> tuple[float, float] | None:
    """From where to where no rule meets the bound; None where that is nowhere, or not known."""
    strict = f.relation == ">="
    known = ~np.isnan(f.values)
    if not known.any():
        return low, high
    edge = float(f.bounds[known].max() if strict else f.bounds[known].min())
    if f.kind == "points":
        # What is between the last bound met and the first one missed is not known.
        gone = f.bounds[~known]
        gone = gone[gone > edge] if strict else gone[gone < edge]
        if not len(gone):
            return None
        edge = float(gone.min() if strict else gone.max())
    start, end = (edge, high) if strict else (low, edge)
    return (start, end) if end - start > 1e-6 * (high - low) else None
