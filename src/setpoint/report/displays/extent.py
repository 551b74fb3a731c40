"""The shape of a frontier in a picture: what is shown, known, and out of reach."""

from __future__ import annotations

import numpy as np

from setpoint.array_types import Floats
from setpoint.report.displays.scales import range_of_text
from setpoint.search.frontier import Frontier

__all__ = ["drawstyle_of", "known_line", "not_excluded", "out_of_reach", "shown_bounds"]


def shown_bounds(f: Frontier) -> tuple[float, float]:
    """The ends of the horizontal axis: all bounds, with a margin, in the side's range."""
    at = np.append(f.bounds, f.asked)
    at = at[np.isfinite(at)]
    low, high = float(at.min()), float(at.max())
    air = 0.08 * (high - low) or 0.05
    least, most = range_of_text(f.side)
    low, high = max(low - air, min(least, low)), min(high + air, max(most, high))
    return (low, high) if low < high else (low - 0.05, high + 0.05)


def drawstyle_of(f: Frontier) -> str:
    """How matplotlib joins its points: between two bounds steps have the value of the stricter."""
    if f.kind != "steps":
        return "default"
    return "steps-pre" if f.relation == ">=" else "steps-post"


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
