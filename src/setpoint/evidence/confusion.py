"""Confusions: what counting one decision gives. They add."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.evidence.codebook import Cell, Codebook, Marginals
from setpoint.goals.populations import Label

__all__ = ["Confusion"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Confusion:
    """Weighted counts by cell, true class and predicted class.

    Sums and never shares, so two parts of the data, two workers or two days add.

    Parameters
    ----------
    classes : tuple of labels
    cells : tuple of Cell
    counts : array of shape (cells, n + 1, n)
        Sums of weights; row n of axis 1 holds unlabelled rows.
    squares : array of shape (cells, n + 1, n)
        Sums of squared weights: what the variance of a rate needs.
    rows : array of shape (cells, n + 1)
        Numbers of rows, whatever their weight.
    smallest : array of shape (cells, n + 1)
        The smallest positive row weight; inf where there are no rows.

    Examples
    --------
    >>> one = Confusion.of_counts(("no", "yes"), [[5, 1], [2, 4], [0, 0]])
    >>> (one + one).counts[0]
    array([[10.,  2.],
           [ 4.,  8.],
           [ 0.,  0.]])
    """

    classes: tuple[Label, ...]
    cells: tuple[Cell, ...]
    counts: Floats
    squares: Floats
    rows: NDArray[np.int64]
    smallest: Floats

    @classmethod
    def of_counts(cls, classes: tuple[Label, ...], counts: Any) -> Confusion:
        """One cell of unit rows, from counts (n + 1, n)."""
        table = np.asarray(counts, dtype=float)[None]
        rows = table.sum(axis=2)
        return cls(
            classes,
            (Cell(),),
            table,
            table.copy(),
            rows.astype(np.int64),
            np.where(rows > 0, 1.0, np.inf),
        )

    @property
    def codebook(self) -> Codebook:
        """The classes, the cells, and the columns that their keys name."""
        return Codebook.of(self.classes, self.cells)

    @property
    def marginals(self) -> Marginals:
        """The weight by cell and true class, the same for every decision."""
        return Marginals(np.asarray(self.counts.sum(axis=2)), self.smallest)

    def __add__(self, other: Confusion) -> Confusion:
        if not isinstance(other, Confusion):
            return NotImplemented
        if self.classes != other.classes:
            raise ValueError(f"classes differ: {self.classes} and {other.classes}")
        cells = tuple(dict.fromkeys(self.cells + other.cells))
        place = {c: i for i, c in enumerate(cells)}
        mine = [place[c] for c in self.cells]
        theirs = [place[c] for c in other.cells]

        def added(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
            out = np.zeros((len(cells), *a.shape[1:]), a.dtype)
            out[mine] += a
            out[theirs] += b
            return out

        smallest = np.full((len(cells), len(self.classes) + 1), np.inf)
        smallest[mine] = self.smallest
        smallest[theirs] = np.minimum(smallest[theirs], other.smallest)
        return Confusion(
            self.classes,
            cells,
            added(self.counts, other.counts),
            added(self.squares, other.squares),
            added(self.rows, other.rows),
            smallest,
        )
