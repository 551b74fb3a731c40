"""How displays look: a few inks that read on white, in greyscale and for colour-blind eyes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase, SubFigure
    from matplotlib.legend import Legend

__all__ = [
    "BLUE",
    "GREEN",
    "GRID",
    "INK",
    "MUTED",
    "ORANGE",
    "RED",
    "Canvas",
    "Mode",
    "axes",
    "caption",
    "finish",
    "legend",
    "require_matplotlib",
    "wrapped",
]

INK = "#1b1f24"
"""Text, spines, ticks."""
MUTED = "#5b6470"
"""Captions, hulls, what stands back."""
GRID = "#d5dae1"
BLUE = "#1f5fbf"
"""Curves and objectives."""
ORANGE = "#b3540b"
"""What was chosen or asked for."""
GREEN = "#2c7a4b"
"""Where a goal is met."""
RED = "#b3261e"
"""Bounds, and where nothing meets them."""

SMALL = "small"

Canvas: TypeAlias = "Axes | Figure | SubFigure | None"
"""Where to draw: axes, an empty figure, or (None) a new figure of pyplot."""


Mode: TypeAlias = Literal["own", "roomy", "tight"]
"""A figure of our own; axes given, whose layout makes room around them; or axes alone."""


def require_matplotlib() -> None:
    """Say how to install matplotlib where it is missing.

    Raises
    ------
    ImportError
        If matplotlib cannot be imported.

    Examples
    --------
    >>> require_matplotlib()
    """
    try:
        import_module("matplotlib.figure")
    except ImportError:
        raise ImportError(
            "displays draw with matplotlib; install it with: pip install 'setpoint[report]'"
        ) from None


def axes(
    ax: Canvas, size: tuple[float, float] = (6.4, 4.4), heights: Sequence[float] = (1.0,)
) -> tuple[FigureBase, list[Axes], Mode]:
    """The figure, its panels from top to bottom, and how much room there is.

    Parameters
    ----------
    ax : Axes, Figure, SubFigure or None
        None makes a figure that pyplot knows. An empty figure is filled; it takes `size`.
    size : (width, height)
        In inches, of a figure of its own.
    heights : sequence of float
        Relative heights, one for each panel of a figure of its own.

    Raises
    ------
    TypeError
        If `ax` is something else.
    ValueError
        If the figure is not empty.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure, panels, mode = axes(Figure(), (4.0, 3.0))
    >>> len(panels), mode
    (1, 'own')
    """
    require_matplotlib()
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

    if isinstance(ax, Axes):
        own = ax.get_figure()
        assert own is not None
        return own, [ax], "tight" if own.get_layout_engine() is None else "roomy"
    figure: FigureBase
    if ax is None:
        from matplotlib import pyplot as plt

        figure = plt.figure(figsize=size, layout="constrained")
    elif isinstance(ax, FigureBase):
        if ax.axes:
            raise ValueError("ax= is a figure that has axes already; give one of them")
        figure = ax
        if isinstance(figure, Figure):
            figure.set_size_inches(*size)
            figure.set_layout_engine("constrained")
    else:
        raise TypeError(f"ax= is matplotlib axes or a figure, got {type(ax).__name__}")
    grid = figure.add_gridspec(len(heights), 1, height_ratios=list(heights))
    panels = [figure.add_subplot(grid[i, 0]) for i in range(len(heights))]
    return figure, panels, "own"


def finish(ax: Axes, xlabel: str = "", ylabel: str = "", grid: str = "both") -> None:
    """Labels, spines, ticks and grid in our inks.

    Parameters
    ----------
    xlabel, ylabel : str
        Taken as they are, dollars and all.
    grid : {"both", "x", "y"}

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().add_subplot()
    >>> finish(ax, "recall", "precision")
    >>> ax.xaxis.label.get_color() == INK
    True
    """
    ax.set_xlabel(xlabel, color=INK, parse_math=False)
    ax.set_ylabel(ylabel, color=INK, parse_math=False)
    ax.tick_params(which="both", colors=INK)
    for side, spine in ax.spines.items():
        spine.set(color=INK, linewidth=0.8, visible=side in ("left", "bottom"))
    ax.grid(visible=False)
    ax.grid(visible=True, axis=grid, color=GRID, linewidth=0.6, linestyle="-")  # type: ignore[arg-type]
    ax.set_axisbelow(True)


def legend(
    ax: Axes,
    mode: Mode,
    *,
    beside: bool = False,
    inside: str = "best",
    columns: int = 1,
    title: str = "",
) -> Legend | None:
    """A legend without a frame, outside the data where there is room; None without labels.

    Parameters
    ----------
    mode : {"own", "roomy", "tight"}
    beside : bool
        In a figure of its own to the right of the axes, else above them.
    inside : str
        The place in axes that have no room around them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> legend(Figure().add_subplot(), "own") is None
    True
    """
    handles, labels = ax.get_legend_handles_labels()
    # Several curves may share a label.
    shown = {label: handle for handle, label in reversed(list(zip(handles, labels, strict=True)))}
    if not shown:
        return None
    where: dict[str, Any] = {"loc": inside}
    if mode == "own" and beside:
        where = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0.0}
    elif mode != "tight":
        where = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.3}
    out = ax.legend(
        list(shown.values())[::-1],
        list(shown)[::-1],
        frameon=False,
        labelcolor=INK,
        fontsize=SMALL,
        ncols=columns,
        title=title or None,
        title_fontsize=SMALL,
        alignment="left",
        handlelength=1.7,
        columnspacing=1.0,
        **where,
    )
    out.get_title().set_color(INK)
    for text in [out.get_title(), *out.get_texts()]:
        text.set_parse_math(False)
    return out


def caption(ax: Axes, mode: Mode, text: str, width: int = 84) -> None:
    """A small line below the horizontal axis: what the picture leaves out.

    Where there is no room around the axes there is none.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().add_subplot()
    >>> caption(ax, "own", "Not shaded: churn <= 0.1.")
    >>> ax.texts[0].get_text()
    'Not shaded: churn <= 0.1.'
    """
    if not text or mode == "tight":
        return
    wide = width if mode == "own" else _columns(ax)
    ax.annotate(
        wrapped(text, wide),
        xy=(0.0, 0.0),
        xycoords=ax.transAxes,
        xytext=(0.0, -36.0),
        textcoords="offset points",
        ha="left",
        va="top",
        color=MUTED,
        fontsize=SMALL,
        annotation_clip=False,
        parse_math=False,
    )


def _columns(ax: Axes) -> int:
    """How many small characters fit below axes, at about 15 an inch."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    inches = figure.get_figwidth() * ax.get_position().width
    return max(24, int(15.0 * inches))


def wrapped(text: str, width: int) -> str:
    r"""The text in lines of at most so many characters where words allow it.

    Examples
    --------
    >>> wrapped("recall at least 0.9", 12)
    'recall at\nleast 0.9'
    """
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
