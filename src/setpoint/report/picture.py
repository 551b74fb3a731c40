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
    """One picture."""

    title: str
    plot: Callable[[Any], object]
    description: str
    caption: str
    size: tuple[float, float] = SIZE
    panels: bool = False
    detail: bool = False
