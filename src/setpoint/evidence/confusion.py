"""Confusions: what counting one decision gives. They add."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.evidence.strata import Stratum
from setpoint.goals.populations import Label

if TYPE_CHECKING:
    from setpoint.evidence.decided import DecidedRows

__all__ = ["Confusion"]


@dataclass(frozen=True, eq=False)
class Confusion:
    """Weighted counts by stratum, true class and predicted class.

    Sums and never shares, so two parts of the data, two workers or two days add.

    Parameters
    ----------
    classes : tuple of labels
    strata : tuple of Stratum
    counts : array of shape (strata, n + 1, n)
        Sums of weights; row n of axis 1 holds unlabelled rows.
    squares : array of shape (strata, n + 1, n)
        Sums of squared weights: what the variance of a rate needs.
    rows : array of shape (strata, n + 1)
        Numbers of rows, whatever their weight.
    smallest : array of shape (strata, n + 1)
        The smallest positive row weight; inf where there are no rows.
    products : array of shape (1 + measures, 1 + measures, plain strata, n + 1, n) or None
        Sums of products of what a row weighs in two tables, that of rows counted once each and
        those of the measures: what the covariance of rates needs. None without measures.
    decided : DecidedRows, optional
        The rows behind the counts, for tests that need the values of each. A sum has none.

    Examples
    --------
    >>> one = Confusion.of_counts(("no", "yes"), [[5, 1], [2, 4], [0, 0]])
    >>> (one + one).counts[0]
    array([[10.,  2.],
           [ 4.,  8.],
           [ 0.,  0.]])
    """

    classes: tuple[Label, ...]
    strata: tuple[Stratum, ...]
    counts: Floats
    squares: Floats
    rows: NDArray[np.int64]
    smallest: Floats
    products: Floats | None = None
    decided: DecidedRows | None = None

    @classmethod
    def of_counts(cls, classes: tuple[Label, ...], counts: Any) -> Confusion:
        """One stratum of unit rows, from counts (n + 1, n)."""
        table = np.asarray(counts, dtype=float)[None]
        rows = table.sum(axis=2)
        return cls(
            classes,
            (Stratum(),),
            table,
            table.copy(),
            rows.astype(np.int64),
            np.where(rows > 0, 1.0, np.inf),
        )

    @property
    def codebook(self) -> Codebook:
        """The classes, the strata, and the columns that their keys name."""
        return Codebook.of(self.classes, self.strata)

    @property
    def marginals(self) -> Marginals:
        """The weight by stratum and true class, the same for every decision."""
        return Marginals(np.asarray(self.counts.sum(axis=2)), self.smallest)

    def __add__(self, other: Confusion) -> Confusion:
        if not isinstance(other, Confusion):
            return NotImplemented
        if self.classes != other.classes:
            raise InputError(f"classes differ: {self.classes} and {other.classes}")
        strata = (self.codebook | other.codebook).strata
        place = {c: i for i, c in enumerate(strata)}
        mine = [place[c] for c in self.strata]
        theirs = [place[c] for c in other.strata]

        def added(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
            out = np.zeros((len(strata), *a.shape[1:]), a.dtype)
            out[mine] += a
            out[theirs] += b
            return out

        smallest = np.full((len(strata), len(self.classes) + 1), np.inf)
        smallest[mine] = self.smallest
        smallest[theirs] = np.minimum(smallest[theirs], other.smallest)
        return Confusion(
            self.classes,
            strata,
            added(self.counts, other.counts),
            added(self.squares, other.squares),
            added(self.rows, other.rows),
            smallest,
            _products(Codebook.of(self.classes, strata), self, other),
        )


def _products(book: Codebook, *parts: Confusion) -> Floats | None:
    """The products of several confusions, added up under one codebook."""
    if not book.measures:
        return None
    k, n = 1 + len(book.measures), book.n_classes
    plain = {c: i for i, c in enumerate(book.strata[: book.n_plain])}
    out = np.zeros((k, k, book.n_plain, n + 1, n))
    for part in parts:
        own = part.codebook
        tables = np.array([0, *(1 + book.measures.index(m) for m in own.measures)])
        strata = np.array([plain[c] for c in own.strata[: own.n_plain]])
        products = part.squares[None, None] if part.products is None else part.products
        out[np.ix_(tables, tables, strata)] += products
    return out
