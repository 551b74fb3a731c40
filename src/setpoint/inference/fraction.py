"""Fractions of counts: what a ratio of linear functions makes of each profile.

Each profile of rows has two weights, one above and one below the line. Where there are only
two different pairs of weights, the ratio is a monotone function of one proportion:
recall, precision, Jaccard, F1, 1 - precision, wins over losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.program.functions import INF

__all__ = ["Fraction", "effective", "rounded", "summed", "typical_weights", "value_at"]


@dataclass(frozen=True, eq=False)
class Fraction:
    """``(above @ counts) / (below @ counts)``; profiles with neither weight are left out."""

    above: Floats
    below: Floats
    counts: Floats
    squares: Floats
    around: Floats
    at_zero: float

    @cached_property
    def units(self) -> Floats:
        """Weight of a typical row of each profile (profiles,)."""
        return typical_weights(self.counts, self.squares, self.around)

    @property
    def numerator(self) -> float:
        """Weight above the line."""
        return float(self.above @ self.counts) + 0.0

    @property
    def denominator(self) -> float:
        """Weight below the line."""
        return float(self.below @ self.counts) + 0.0

    @property
    def effective_rows(self) -> float:
        """``(sum w)^2 / sum w^2`` of the rows that count."""
        return effective(float(self.counts.sum()), float(self.squares.sum()))

    @cached_property
    def range(self) -> tuple[float, float]:
        """The smallest and largest value that any counts give."""
        ends = [
            float(a / b) if b > 0 else INF if a > 0 else -INF
            for a, b in zip(self.above, self.below, strict=True)
        ]
        return min(ends, default=self.at_zero), max(ends, default=self.at_zero)

    @cached_property
    def merged(self) -> Fraction:
        """The same fraction with profiles of equal weights in one."""
        pairs = np.stack([rounded(self.above), rounded(self.below)], axis=1)
        _, first, place = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        place = place.ravel()
        return Fraction(
            self.above[first],
            self.below[first],
            summed(place, self.counts, len(first)),
            summed(place, self.squares, len(first)),
            np.stack([summed(place, x, len(first)) for x in self.around]),
            self.at_zero,
        )


def effective(total: float, squares: float) -> float:
    """Effective rows of some weight (Kish 1965); equal weights count as rows."""
    return total * total / squares if squares > 0 else 0.0


def typical_weights(counts: Floats, squares: Floats, around: Floats) -> Floats:
    """Weight of a typical row of each profile (profiles,), wherever weights come from."""
    total = float(counts.sum())
    pooled = float(squares.sum()) / total if total > 0 else 1.0
    seen = around[0] > 0
    units = np.where(seen, around[1] / np.where(seen, around[0], 1.0), pooled)
    level = float(counts @ units)
    return units * (float(squares.sum()) / level) if level > 0 else units


def value_at(share: float, above: Floats, below: Floats, at_zero: float) -> float:
    """The value of a fraction of two profiles at the share of rows that have the first.

    Examples
    --------
    >>> round(value_at(0.6, np.array([2.0, 0.0]), np.array([2.0, 1.0]), 0.0), 4)
    0.75
    """
    up = above[0] * share + above[1] * (1 - share)
    down = below[0] * share + below[1] * (1 - share)
    if down > 0:
        return float(up / down)
    return math.copysign(INF, up) if up else at_zero


def rounded(x: Floats) -> Floats:
    """The array in ten digits of its largest entry, so that equal weights compare equal."""
    largest = float(np.abs(x).max(initial=0.0))
    return np.round(x / largest, 10) if largest > 0 else x


def summed(place: NDArray[np.int64], x: Floats, size: int) -> Floats:
    """Sums (size,) of the entries of x that have the same place."""
    return np.bincount(place, x, size).astype(float)
