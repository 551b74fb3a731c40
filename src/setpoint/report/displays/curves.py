"""The parts of a picture of operating points: region, bounds, curves, the point chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from setpoint.report.displays import style
from setpoint.report.displays.plane import Plane, plain_bound
from setpoint.report.operating import OperatingCurve, OperatingPoints

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_bounds", "draw_chosen", "draw_curves", "draw_region"]

_GRID = 241
_MOST_NAMED = 8
_FEW = 40
"""Up to so many thresholds are marked one by one."""

# Several segments differ by ink and by dashes, so in greyscale too.
_LINES: tuple[tuple[str, Any], ...] = (
    (style.BLUE, "-"),
    (style.INK, (0, (6, 2))),
    (style.MUTED, (0, (1, 1.2))),
    (style.BLUE, (0, (6, 2, 1, 2))),
    (style.INK, (0, (1, 1.2))),
    (style.MUTED, (0, (6, 2))),
    (style.BLUE, (0, (2, 2))),
    (style.INK, (0, (6, 2, 1, 2))),
)


def draw_region(ax: Axes, plane: Plane, roc: bool) -> None:
    """Shade where all constraints hold that a point of the plane settles.

    Parameters
    ----------
    roc : bool
        Recall over the false positive rate, else precision over recall.
    """
    if not plane.constraints:
        return
    grid = np.linspace(0.0, 1.0, _GRID)
    x, y = np.meshgrid(grid, grid)
    if roc:
        slack = plane.slack(x, y)
    else:
        slack = plane.slack_by_precision(x, y)
    if not (slack >= -1e-9).any():
        return
    ax.contourf(x, y, slack, levels=[-1e-9, 1e9], colors=[style.GREEN], alpha=0.14, zorder=0.5)
    lines = [style.wrapped(str(c), 27) for c in plane.constraints]
    if len(lines) > 3:
        lines = [*lines[:3], f"{len(lines) - 3} more"]
    label = "meets " + "\nand ".join(lines)
    ax.fill_between([], [], color=style.GREEN, alpha=0.14, linewidth=0, label=label)


def draw_bounds(ax: Axes, plane: Plane, positive: Any, roc: bool) -> None:
    """A line where a constraint is a plain bound on recall, precision or false alarms."""
    thin: Any = {"color": style.RED, "linewidth": 1.0, "linestyle": (0, (4, 3)), "zorder": 1.5}
    for c in plane.constraints:
        rate, level = plain_bound(c, positive) or ("", 0.0)
        if rate == ("false positive rate" if roc else "recall"):
            ax.axvline(level, **thin)
        elif rate == ("recall" if roc else "precision"):
            ax.axhline(level, **thin)
        elif rate == "precision" and level > 0:
            # Equal precision is a ray from the origin.
            ax.plot([0.0, float(plane.fpr(1.0, level))], [0.0, 1.0], **thin)


def draw_curves(ax: Axes, points: OperatingPoints, plane: Plane, roc: bool, goal: bool) -> None:
    """Each segment's thresholds, the hull over them, thicker where the goal is met.

    Parameters
    ----------
    goal : bool
        Whether there is any constraint to meet.
    """
    several = len(points.curves) > 1
    for i, curve in enumerate(points.curves):
        ink, dashes = _LINES[i % len(_LINES)]
        name = style.wrapped((curve.name if several else "") or "every threshold", 30)
        if i >= _MOST_NAMED:
            name = f"and {len(points.curves) - i} more" if i == _MOST_NAMED else "_"
        own = _plane_of(curve, plane, several)
        path = own.path(curve.false_positive_rate, curve.recall, roc=roc)
        ax.plot(*path, color=ink, linestyle=dashes, linewidth=1.5, label=name, zorder=2.5)
        if len(curve.recall) <= _FEW:
            ax.plot(*_shown(curve, roc), ".", color=ink, markersize=5, zorder=2.6)
        if goal and any(curve.feasible):
            _thicker(ax, curve, own, roc)
        if len(curve.hull) > 1 and (roc or not several):
            fpr = [curve.false_positive_rate[j] for j in curve.hull]
            ax.plot(
                *plane.path(fpr, [curve.recall[j] for j in curve.hull], roc=roc),
                color=style.MUTED,
                linewidth=0.9,
                linestyle=(0, (3, 2)),
                label="with draws" if i == len(points.curves) - 1 else "_",
                zorder=2.2,
            )


def draw_chosen(ax: Axes, points: OperatingPoints, plane: Plane, roc: bool) -> None:
    """The rule as a filled marker; hollow ones where it draws, or has several thresholds."""
    several = len(points.curves) > 1
    atoms = [a for curve in points.curves for a in curve.chosen]
    if len(atoms) > 1:
        for curve in points.curves:
            ends = sorted((a[3], a[2]) for a in curve.chosen)
            if len(ends) > 2:
                ends.append(ends[0])  # mixtures of three lie within their triangle
            path = _plane_of(curve, plane, several).path(*zip(*ends, strict=True), roc=roc)
            ax.plot(*path, color=style.ORANGE, linewidth=1.2, zorder=3.5)
        ax.scatter(
            [a[3] if roc else a[2] for a in atoms],
            [a[2] if roc else a[4] for a in atoms],
            s=[18.0 + 110.0 * a[0] for a in atoms],
            facecolors="none",
            edgecolors=style.ORANGE,
            linewidths=1.4,
            zorder=4,
            clip_on=False,
            label="its thresholds",
        )
    x, y, text = points.recall, points.precision, f"precision {points.precision:.3g}"
    if roc:
        x, y = points.false_positive_rate, points.recall
        text = f"false positives {points.false_positive_rate:.3g}"
    ax.scatter(
        [x],
        [y],
        s=64.0,
        marker="D" if several else "o",
        color=style.ORANGE,
        linewidths=0,
        zorder=5,
        clip_on=False,
        label=f"the rule:\nrecall {points.recall:.3g},\n{text}",
    )


def _shown(curve: OperatingCurve, roc: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The points of the picture; nobody accepted has no precision to show."""
    if roc:
        return curve.false_positive_rate, curve.recall
    first = int(curve.false_positive_rate[0] == curve.recall[0] == 0)
    return curve.recall[first:], curve.precision[first:]


def _thicker(ax: Axes, curve: OperatingCurve, plane: Plane, roc: bool) -> None:
    """Where thresholds meet every constraint, neighbours joined."""
    fpr, recall = np.array(curve.false_positive_rate), np.array(curve.recall)
    met = np.array(curve.feasible)
    met[:1] &= roc or fpr[0] + recall[0] > 0
    label = "meets the whole goal"
    for run in np.split(np.arange(len(met)), np.flatnonzero(np.diff(met)) + 1):
        if not met[run[0]]:
            continue
        x, y = plane.path(fpr[run], recall[run], roc=roc)
        ax.plot(
            x,
            y,
            color=style.BLUE,
            linewidth=3.6,
            solid_capstyle="round",
            marker="o" if len(run) == 1 else "",
            markersize=4.5,
            label=label,
            zorder=2.7,
        )
        label = "_"


def _plane_of(curve: OperatingCurve, plane: Plane, several: bool) -> Plane:
    """The plane with the prior of one segment, which is the precision of everybody."""
    if not several:
        return plane
    prior = curve.precision[-1]
    return Plane(prior, 1.0 - prior, (), (), ())
