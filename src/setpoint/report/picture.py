"""A picture of a report: what draws it, and the words that belong to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["SIZE", "Picture"]

SIZE = (4.8, 3.4)
"""Inches, without the legend: at this width the letters are readable on a telephone."""


@dataclass(frozen=True)
class Picture:
    """One picture.

    Parameters
    ----------
    title : str
    plot : callable
        Draws on the axes or the empty figure that it is given.
    description : str
        The picture in words, for who cannot see it.
    caption : str
        How to read it.
    size : (width, height) in inches
    panels : bool
        Whether it wants a figure, for panels of its own.
    detail : bool
        Whether it is for statisticians, and not for everybody.
    """

    title: str
    plot: Callable[[Any], object]
    description: str
    caption: str
    size: tuple[float, float] = SIZE
    panels: bool = False
    detail: bool = False
