"""ModelComparisonDisplay: the frontiers of several models in one picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

import numpy as np

from setpoint.comparing.facts import ComparisonFacts
from setpoint.errors import InputError, InputTypeError
from setpoint.goals.goal import Goal
from setpoint.goals.words import constraint_in_words
from setpoint.report.displays import style
from setpoint.report.displays.extent import drawstyle_of, known_line, shown_bounds
from setpoint.report.displays.scales import scale_of
from setpoint.report.printable import shortened
from setpoint.search.frontier import Frontier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["ModelComparisonDisplay"]

_INKS = (style.BLUE, style.GREEN, style.RED, style.ORANGE)
_DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))
MOST = 1 + len(_INKS)
"""Models that can be distinguished."""

_MOST_POINTS = 300


class ModelComparisonDisplay:
    """What each model's scores reach as one bound moves, and where each model stands.

    A line is the best of all thresholds on a model's scores, found on these very rows; a dot is
    the model as it decides: hollow for the one in use. A model below its line could decide better
    by its own scores.

    Parameters
    ----------
    comparison : ModelComparison
        Of at most five models.

    Attributes
    ----------
    comparison : ModelComparison
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from setpoint import Deployed, compare
    >>> y, scores = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]
    >>> models = {"today": [0, 0, 0, 1, 1, 1], "new": Deployed(scores, threshold=0.3)}
    >>> found = compare("maximize recall subject to precision >= 0.7", models, None, y)
    >>> display = found.plot()
    >>> display.ax_.get_ylabel(), list(found.frontiers)
    ('best recall', ['new'])
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    figure_: FigureBase

    def __init__(self, comparison: ComparisonFacts) -> None:
        if not isinstance(comparison, ComparisonFacts):
            raise InputTypeError(
                f"`comparison` is what compare returns, got {type(comparison).__name__}"
            )
        if not comparison.points:
            raise InputError(
                "`comparison` holds no frontiers: they are of two classes, and "
                "compare(frontier=True) finds them"
            )
        if len(comparison.names) > MOST:
            raise InputError(
                f"`comparison` is of {len(comparison.names)} models, and at most {MOST} can be "
                "distinguished in a picture"
            )
        self.comparison = comparison

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
        self.figure_, (self.ax_,), mode = style.axes(ax, (6.8, 4.4))
        found, ax_ = self.comparison, self.ax_
        lines = {name: f.thinned(_MOST_POINTS) for name, f in found.frontiers.items()}
        xs = [x for x, _ in found.points.values() if np.isfinite(x)]
        ends = [shown_bounds(f) for f in lines.values()] or [(min(xs) - 0.1, max(xs) + 0.1)]
        low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        for place, name in enumerate(found.names):
            ink = style.INK if place == 0 else _INKS[place - 1]
            if name in lines:
                self._line(lines[name], low, high, ink, place, name)
            x, y = found.points[name]
            self._dot(x, y, ink, place, name if name not in lines else "")
        ax_.set_xlim(low, high)
        ax_.margins(y=0.08)
        some = next(iter(lines.values()), None)
        self._named(some)
        style.legend(ax_, mode, columns=2)
        style.caption(ax_, mode, self._caption(some, lines))
        return self

    def _line(self, f: Frontier, low: float, high: float, ink: str, place: int, name: str) -> None:
        x, y = known_line(f, low, high)
        self.ax_.plot(
            x,
            y,
            color=ink,
            drawstyle=drawstyle_of(f),
            linestyle="-" if place == 0 else _DASHES[(place - 1) % len(_DASHES)],
            linewidth=style.THIN if place == 0 else style.LINE,
            marker="." if f.kind == "points" else "",
            label=shortened(name) if name else "",
            zorder=3,
        )

    def _dot(self, x: float, y: float, ink: str, place: int, name: str) -> None:
        if not np.isfinite(x + y):
            return
        self.ax_.scatter(
            [x],
            [y],
            s=70.0,
            facecolors=style.PAPER if place == 0 else ink,
            edgecolors=ink if place == 0 else style.PAPER,
            linewidths=1.8 if place == 0 else 1.2,
            zorder=4.8 if place == 0 else 5.0,
            clip_on=False,
            label=shortened(name) if name else "",
        )

    def _named(self, some: Frontier | None) -> None:
        """Axes in words, and a line at the bound that the goal asks for."""
        goal, ax_ = self.comparison.goal, self.ax_
        left = scale_of(str(goal.objective))
        if some is not None:
            side, how = some.side, " at least" if some.relation == ">=" else " at most"
            if any(str(c) == some.vary for c in goal.constraints):
                ax_.axvline(some.asked, **style.asked(), label="asked")
        else:
            moving = goal.constraints[0].lhs if goal.constraints else "predicted_rate"
            side, how = str(moving), ""
        below = scale_of(side)
        style.finish(
            ax_, style.wrapped(f"{below.words}{how}", 56), style.wrapped(f"best {left.words}", 56)
        )
        below.apply(ax_.xaxis)
        left.apply(ax_.yaxis)

    def _caption(self, some: Frontier | None, lines: Mapping[str, Frontier]) -> str:
        text = f"Dots: the models as they decide; hollow: {shortened(self.comparison.names[0])}."
        if some is None:
            return text
        goal = Goal.parse(some.goal)
        others = [constraint_in_words(c) for c in goal.constraints if str(c) != some.vary]
        text += " Lines: the best that each model's scores reach on these rows"
        text += f", with {' and '.join(others)}." if others else "."
        return text
