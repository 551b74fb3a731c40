"""RowsNeededDisplay: rows by margin, a line for each confidence."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Self

import numpy as np

from setpoint.errors import InputTypeError
from setpoint.estimators.planning import RowsNeeded, short_percent
from setpoint.report.displays import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["RowsNeededDisplay"]

_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


class RowsNeededDisplay:
    """How many rows certify a constraint, by how far its value passes the bound.

    Parameters
    ----------
    plan : RowsNeeded

    Attributes
    ----------
    plan : RowsNeeded
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from setpoint import rows_needed
    >>> rates = {"prior": 0.1, "recall": 0.85, "precision": 0.6}
    >>> found = rows_needed("maximize precision subject to recall >= 0.8", rates=rates)
    >>> display = RowsNeededDisplay(found).plot()
    >>> display.ax_.get_ylabel()
    'rows that certify'
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    figure_: FigureBase

    def __init__(self, plan: RowsNeeded) -> None:
        if not isinstance(plan, RowsNeeded):
            raise InputTypeError(f"`plan` is what rows_needed returns, got {type(plan).__name__}")
        self.plan = plan

    def plot(self, ax: style.Canvas = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        """
        figure, (axes,), mode = style.axes(ax)
        plan, hardest = self.plan, self.plan.hardest
        for dash, confidence, row in zip(
            cycle(_DASHES), plan.confidences, plan.table, strict=False
        ):
            rows = np.array([np.nan if n is None else float(n) for n in row])
            label = f"{short_percent(confidence)}"
            axes.plot(plan.margins, rows, linestyle=dash, color=style.BLUE, marker=".", label=label)
        margin = abs(hardest.value - hardest.bound)
        if hardest.rows is not None:
            axes.plot([margin], [hardest.rows], "o", color=style.ORANGE, label="as assumed")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(plan.margins, [f"{m:g}" for m in plan.margins], minor=False)
        style.finish(axes, "how far the value passes the bound", "rows that certify")
        style.caption(axes, mode, hardest.text)
        style.legend(axes, mode, columns=3, title="confidence")
        self.ax_, self.figure_ = axes, figure
        return self
