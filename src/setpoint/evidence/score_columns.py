"""Columns of scores: posteriors, and values of rows that rules look at beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from setpoint.array_types import Floats

__all__ = ["ScoreColumns", "beside"]


def beside(scores: Floats, values: Sequence[Floats]) -> Floats:
    """Posteriors with columns of values behind them (N, n + values).

    Examples
    --------
    >>> beside(np.array([0.25]), [np.array([8.0])])
    array([[0.75, 0.25, 8.  ]])
    """
    both = np.column_stack([1.0 - scores, scores]) if scores.ndim == 1 else scores
    return np.column_stack([both, *values])


class ScoreColumns(NamedTuple):
    """What the columns of scores (N, n + values) are, and what totals are linear in.

    Examples
    --------
    >>> scores = np.array([[0.75, 0.25, 8.0]])
    >>> ScoreColumns(2, False, ("amount",)).expanded(scores)
    array([[0.75, 0.25, 6.  , 2.  ]])
    >>> ScoreColumns(2, True).expanded(scores[:, :2])
    array([[0.75, 0.25, 0.  ]])
    """

    n_labels: int
    defers: bool = False
    values: tuple[str, ...] = ()

    @property
    def n_columns(self) -> int:
        """How many columns totals are linear in."""
        return (self.n_labels + self.defers) * (1 + len(self.values))

    def posteriors(self, scores: Floats) -> Floats:
        """The posteriors (N, n), with a column of zeros where rules may defer."""
        if not (self.values or self.defers):
            return scores
        own = scores[:, : self.n_labels]
        if not self.defers:
            return np.ascontiguousarray(own)
        return np.concatenate([own, np.zeros((len(own), 1))], axis=1)

    def expanded(self, scores: Floats) -> Floats:
        """What totals are linear in (N, n * (1 + values)): posteriors, and these times values."""
        own = self.posteriors(scores)
        if not self.values:
            return own
        values = [scores[:, [self.n_labels + k]] for k in range(len(self.values))]
        return np.concatenate([own, *(own * x for x in values)], axis=1)

    def rows_of(self, G: Floats) -> Floats:
        """The rows of a matrix (n * (1 + values), n) that refer to classes of rows.

        Examples
        --------
        >>> ScoreColumns(2, True).rows_of(np.arange(9.0).reshape(3, 3))
        array([[0., 1., 2.],
               [3., 4., 5.]])
        """
        if not self.defers:
            return G
        parts = G.reshape(1 + len(self.values), self.n_labels + 1, -1)
        return np.asarray(parts[:, : self.n_labels].reshape(-1, G.shape[-1]))
