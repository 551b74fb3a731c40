"""Binnings: non-decreasing functions from scores to whole numbers, for counting by bin.

An engine evaluates one as ``first[j] + floor((s - edges[j]) * scale[j])``, where j is the piece
that s lies in. Subtraction, a positive multiple and floor are monotone under rounding, so no
engine puts a row of a higher bin below one of a lower. Nothing else is assumed of bins: what a
bin holds is known by its lowest and highest score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats

__all__ = ["Binning"]

PIECES = 10
"""Pieces of a binning: an engine finds the piece of a row with three or four comparisons."""

_LARGEST = 1e300
"""A scale or a width beyond it may overflow: such a piece is one bin."""

_MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF


@dataclass(frozen=True, eq=False)
class Binning:
    """Pieces of the line, each cut into equal bins.

    Examples
    --------
    >>> binning = Binning(np.array([0.0, 0.5, 1.0]), np.array([2, 1]))
    >>> binning.of(np.array([-3.0, 0.1, 0.3, 0.5, 0.9, 1.0, 7.0]))
    array([0, 0, 1, 3, 3, 3, 3])
    """

    edges: Floats
    parts: NDArray[np.int64]

    @property
    def first(self) -> NDArray[np.int64]:
        """Number of the first bin of each piece (J,); rounding may put a score one bin higher."""
        return np.append(0, np.cumsum(self.parts[:-1] + 1))

    @property
    def scale(self) -> Floats:
        """Bins of each piece in a unit of score (J,); 0 where the piece is one bin."""
        width = np.diff(self.edges)
        with np.errstate(over="ignore"):
            scale = self.parts / width
        fine = (width < _LARGEST) & (scale < _LARGEST) & (self.parts > 1)
        return np.where(fine, scale, 0.0)

    @property
    def n_bins(self) -> int:
        """Numbers of bins are below it."""
        return int((self.parts + 1).sum())

    def of(self, scores: Floats) -> NDArray[np.int64]:
        """The bin of each score (N,)."""
        inside = np.clip(scores, self.edges[0], self.edges[-1])
        piece = np.searchsorted(self.edges[:-1], inside, side="right") - 1
        offset = (inside - self.edges[piece]) * self.scale[piece]
        return np.asarray(self.first[piece] + np.floor(offset).astype(np.int64))

    @classmethod
    def from_sample(cls, scores: Floats, n_bins: int, pieces: int = PIECES) -> Binning:
        """Pieces of about as many scores of a sample each; without a sample, bins for shares."""
        if not len(scores):
            return cls.default(n_bins)
        # A quarter of the pieces halves the top again and again: few rows are accepted there, and
        # scores thin out, so that equal bins of one piece would hold very different numbers.
        top = pieces // 4
        shares = np.linspace(0.0, 1.0, pieces - top + 1)
        shares = np.append(shares[:-1], 1.0 - (1.0 - shares[-2]) * 0.5 ** np.arange(1, top + 1))
        shares = np.append(shares, 1.0)
        edges = np.unique(np.quantile(scores, shares, method="lower"))
        return cls._even(edges, n_bins)

    @classmethod
    def default(cls, n_bins: int) -> Binning:
        """Bins for scores of any kind: most between 0 and 1, by powers of two beyond."""
        near = np.append(0.0, 2.0 ** -np.arange(11.0, 1.0, -1.0))
        beyond = 2.0 ** np.arange(0.0, 1000.0, 200.0)
        edges = np.unique(np.concatenate([-beyond, near, 1.0 - near, beyond]))
        return cls._even(edges, n_bins)

    @classmethod
    def from_ranges(cls, ranges: Sequence[tuple[float, float]], n_bins: int) -> Binning:
        """Bins inside some ranges (lowest, highest); every end of a range begins a piece."""
        ends = np.unique(np.array(ranges, np.float64).ravel())
        steps = max(min(256 // len(ranges), 64), 2)
        inner = [_steps(low, high, steps) for low, high in ranges]
        # The last end begins a piece, too: it is parted from the number just below it.
        beyond = [_score(_key(float(ends[-1])) + 1)]
        edges = np.unique(np.concatenate([ends, beyond, *inner]))
        return cls._even(edges[np.isfinite(edges)], max(n_bins, len(edges)))

    @classmethod
    def _even(cls, edges: Floats, n_bins: int) -> Binning:
        """As many bins in each piece; no piece is so wide that a difference overflows."""
        if edges[0] < -_LARGEST or edges[-1] > _LARGEST:
            edges = np.union1d(edges, [0.0])
        if len(edges) == 1:
            edges = np.append(edges, _score(_key(float(edges[0])) + 1))
        pieces = len(edges) - 1
        return cls(edges, np.full(pieces, max(n_bins // pieces, 1), np.int64))


def _steps(low: float, high: float, n: int) -> Floats:
    """Numbers between two at equal steps of the order of floats."""
    # Python's integers: differences of two keys pass 2**63.
    a, b = _key(low), _key(high)
    keys = sorted({a + (b - a) * i // n for i in range(1, n)} - {a, b})
    return np.array([_score(key) for key in keys], np.float64)


def _key(score: float) -> int:
    bits = int(np.float64(score).view(np.int64))
    return bits if bits >= 0 else -(bits & _MAGNITUDE)


def _score(key: int) -> float:
    magnitude = float(np.int64(abs(key)).view(np.float64))
    return magnitude if key >= 0 else -magnitude
