"""MonitorDisplay: what was won against each statement, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from setpoint.errors import InputTypeError
from setpoint.estimators.monitor import Monitor
from setpoint.report.displays import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["MonitorDisplay"]

_INKS = (style.BLUE, style.GREEN, style.RED, style.MUTED)
_DASHES = ("-", "--", ":")
MOST = 6
"""Lines that can be distinguished."""

LOWEST = 0.1
"""A wealth below this says nothing more."""

_WIDE, _HALF = 56, 34
"""Characters of a name in the legend, and of names that stand in two columns."""


class MonitorDisplay:
    """The wealth that was won against each statement, and the line of the alarm.

    Parameters
    ----------
    monitor : Monitor

    Attributes
    ----------
    monitor : Monitor
    ax_ : Axes
    figure_ : Figure

    Notes
    -----
    A point is the largest wealth of a stretch of rows. Of many statements those are drawn that
    came nearest to the alarm.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from setpoint import Monitor
    >>> monitor = Monitor(goal="maximize recall subject to precision >= 0.9", classes=[0, 1])
    >>> display = MonitorDisplay(monitor.update_decisions([1] * 80, [1, 0] * 40)).plot()
    >>> display.ax_.get_yscale(), display.ax_.get_xlabel()
    ('log', 'rows')
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    figure_: FigureBase

    def __init__(self, monitor: Monitor) -> None:
        if not isinstance(monitor, Monitor):
            raise InputTypeError(f"`monitor` is a Monitor, got {type(monitor).__name__}")
        self.monitor = monitor

    def plot(self, ax: style.Canvas = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        """
        figure, (axes,), mode = style.axes(ax)
        monitor, names = self.monitor, self.monitor.names()
        rows, wealth = monitor.picture()
        peaks = wealth.max(axis=1, initial=0.0)
        shown = np.sort(np.argsort(-peaks, kind="stable")[:MOST])
        for place, j in enumerate(shown.tolist()):
            axes.plot(
                rows,
                np.maximum(wealth[j], LOWEST),
                color=_INKS[place % len(_INKS)],
                linestyle=_DASHES[place // len(_INKS) % len(_DASHES)],
                linewidth=style.LINE,
                label=style.wrapped(names[j], _WIDE),
            )
        axes.axhline(monitor.limit, **style.asked(), label="alarm")
        crossed = [a.row for a in monitor.alarms_]
        if crossed:
            axes.plot(
                crossed, [monitor.limit] * len(crossed), "o", color=style.ORANGE,
                label="first seen", clip_on=False, zorder=5,
            )  # fmt: skip
        most = max(monitor.limit, float(peaks.max(initial=0.0)))
        axes.set_ylim(LOWEST, min(10.0 * most, 1e6 * monitor.limit))
        axes.set_yscale("log")
        axes.set_xlim(0, max(monitor.n_rows_, 1))
        style.finish(axes, "rows", "evidence that the bound is broken")
        short = max(map(len, names)) <= _HALF
        style.legend(axes, mode, columns=2 if short else 1)
        if len(shown) < len(names):
            style.caption(
                axes, mode, f"Of {len(names)} statements, the {len(shown)} nearest to the alarm."
            )
        self.ax_, self.figure_ = axes, figure
        return self
