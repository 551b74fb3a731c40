"""BoundPathDisplay: what models reach that were trained for one bound after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.estimators.path import BoundPath, check_trainable
from setpoint.goals.goal import Goal
from setpoint.report.displays import style
from setpoint.search.frontier import Vary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["BoundPathDisplay"]

Kind: TypeAlias = Literal["bound", "tradeoff"]

_AIR = 0.06
"""Of the extent of what is drawn, on each side."""


class BoundPathDisplay:
    """Models trained for one bound after another: what they reach, and at what price.

    Parameters
    ----------
    path : BoundPath

    Attributes
    ----------
    path : BoundPath
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from sklearn.datasets import make_classification
    >>> from setpoint import RampClassifier, bound_path
    >>> X, y = make_classification(600, random_state=0)
    >>> clf = RampClassifier("minimize error_rate subject to predicted_rate <= 0.3")
    >>> path = bound_path(clf, X[:400], y[:400], [0.2, 0.3, 0.4], held_out=(X[400:], y[400:]))
    >>> display = BoundPathDisplay(path).plot()
    >>> display.ax_.get_ylabel()
    'predicted_rate reached'
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    figure_: FigureBase

    def __init__(self, path: BoundPath) -> None:
        if not isinstance(path, BoundPath):
            raise InputTypeError(f"`path` is what bound_path returns, got {type(path).__name__}")
        self.path = path

    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any,
        y: Any,
        values: Sequence[float],
        *,
        vary: Vary = None,
        held_out: Mapping[str, Any] | tuple[Any, Any] | None = None,
        kind: Kind = "bound",
        ax: style.Canvas = None,
        **rows: Any,
    ) -> Self:
        """Train a classifier for each bound, and draw.

        Parameters
        ----------
        clf : classifier of this library
            It stays as it is.
        X, y, values, vary, held_out, **rows
            As in :func:`setpoint.bound_path`.
        kind, ax
            As in :meth:`plot`.
        """
        style.require_matplotlib()
        _check(kind)
        check_trainable(clf, "clf")
        path = clf._bound_path(X, y, values, vary=vary, held_out=held_out, **rows)
        return cls(path).plot(ax, kind=kind)

    def plot(self, ax: style.Canvas = None, *, kind: Kind = "bound") -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or Figure, optional
            By default a new figure. An empty figure is filled.
        kind : {"bound", "tradeoff"}
            "bound": the value reached over the bound asked, and where the bound is met.
            "tradeoff": the objective over the value reached.

        Returns
        -------
        self
            With `ax_` and `figure_`.
        """
        _check(kind)
        self.figure_, (self.ax_,), mode = style.axes(ax, (6.4, 4.4))
        p, ax_ = self.path, self.ax_
        if kind == "bound":
            self._lines(ax_, [(p.bounds, y) for y in (p.reached, p.held_reached)])
            self._met(ax_)
            below, left = f"bound on {p.side} ({p.relation})", f"{p.side} reached"
        else:
            pairs = ((p.reached, p.values), (p.held_reached, p.held_values))
            self._lines(ax_, pairs)
            ax_.margins(_AIR)
            below, left = f"{p.side} reached", p.objective
        style.finish(ax_, style.wrapped(below, 60), style.wrapped(left, 40))
        empty = "lower right" if p.relation == ">=" else "upper left"
        inside = empty if kind == "bound" else "best"
        style.legend(ax_, mode, inside=inside, columns=1 if mode == "tight" else 3)
        style.caption(ax_, mode, self._caption())
        return self

    # -- drawing ------------------------------------------------------------------------
    @staticmethod
    def _lines(ax: Axes, pairs: Sequence[tuple[Floats | None, Floats | None]]) -> None:
        """One mark a model, in the order of their bounds: rows of fit, rows held out."""
        looks: tuple[dict[str, Any], ...] = (
            {"color": style.BLUE, "marker": "o", "linestyle": "-", "label": "rows of fit"},
            {
                "color": style.INK,
                "marker": "s",
                "markerfacecolor": "none",
                "linestyle": (0, (4, 2)),
                "label": "rows held out",
            },
        )
        for (x, y), look in zip(pairs, looks, strict=True):
            if x is None or y is None:
                continue
            known = np.isfinite(x) & np.isfinite(y)
            if known.any():
                ax.plot(x[known], y[known], linewidth=1.3, markersize=5, zorder=3, **look)

    def _met(self, ax: Axes) -> None:
        """The diagonal, the side of it on which the bound is met, and where no model was found."""
        p = self.path
        y = np.concatenate([p.bounds, *self._reached()])
        (x0, x1), (y0, y1) = _ends(p.bounds), _ends(y[np.isfinite(y)])
        x = np.array([x0, x1])
        ax.plot(x, x, color=style.RED, linewidth=1.2, linestyle=(0, (1, 1.5)), label="the bound")
        far = y1 if p.relation == ">=" else y0
        ax.fill_between(
            x,
            x,
            np.maximum(x, far) if p.relation == ">=" else np.minimum(x, far),
            color=style.GREEN,
            alpha=0.12,
            linewidth=0,
            label="where it is met",
            zorder=0.5,
        )
        none = p.bounds[np.isnan(p.reached)]
        if len(none):
            ax.plot(
                none,
                np.full(len(none), 0.03),
                "x",
                color=style.RED,
                markersize=6,
                transform=ax.get_xaxis_transform(),
                label="no model found",
                zorder=4,
            )
        ax.set_xlim(x0, x1)
        ax.set_ylim(y0, y1)

    def _reached(self) -> Iterator[Floats]:
        for y in (self.path.reached, self.path.held_reached):
            if y is not None:
                yield y

    def _caption(self) -> str:
        p = self.path
        n = len(p.bounds)
        text = f"A model is trained for each bound, {p.bounds[0]:g} to {p.bounds[-1]:g}."
        if n == 1:
            text = f"One model, trained for the bound {p.bounds[0]:g}."
        others = [str(c) for c in Goal.parse(p.goal).constraints if str(c) != p.vary]
        if others:
            text += f" Each with {' and '.join(others)}."
        none = [f"{k:g}" for k in p.bounds[np.isnan(p.reached)]]
        if none:
            text += f" None was found for {', '.join(none)}."
        return text


def _ends(at: Floats) -> tuple[float, float]:
    """Two numbers that hold all others, with air."""
    low, high = float(at.min()), float(at.max())
    air = _AIR * (high - low) or 0.05
    return low - air, high + air


def _check(kind: str) -> None:
    if kind not in ("bound", "tradeoff"):
        raise InputError(f"`kind` is 'bound' or 'tradeoff', got {kind!r}")
