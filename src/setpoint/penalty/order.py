"""Which rows come when: the order of each epoch, and the rows a refresh looks at."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Order"]

Rows = NDArray[np.int64]

_MOST_SEEN = 65_536
"""Rows that a refresh looks at; of a class with less than half as many, all."""


class Order:
    """Orders of the epochs of one stage, from a key alone: nothing else has to be stored.

    Examples
    --------
    >>> order = Order((0, 0), np.arange(5) < 2)
    >>> sorted(order.of(0).tolist()), order.refresh_rows(0, 0)
    ([0, 1, 2, 3, 4], slice(0, 5, None))
    """

    def __init__(self, key: tuple[int, int], positive: NDArray[np.bool_], all_seen: bool = False):
        self.key, self.positive, self.all_seen = key, positive, all_seen
        self._known: dict[int, Rows] = {}

    def of(self, epoch: int) -> Rows:
        """All rows; the order before the first epoch, -1, is only looked at."""
        if epoch not in self._known:
            self._known = {e: rows for e, rows in self._known.items() if e == epoch - 1}
            rng = np.random.default_rng([*self.key, epoch + 1])
            self._known[epoch] = rng.permutation(len(self.positive))
        return self._known[epoch]

    def refresh_rows(self, epoch: int, done: int) -> Rows | slice:
        """The rows that a refresh looks at, after so many of an epoch."""
        n = len(self.positive)
        if n <= _MOST_SEEN or self.all_seen:
            return slice(0, n)
        before = max(_MOST_SEEN - done, 0)
        rows = self.of(epoch)[max(done - _MOST_SEEN, 0) : done]
        if before:
            rows = np.concatenate([self.of(epoch - 1)[n - before :], rows])
        for kind, rare in self._rare.items():
            rows = np.concatenate([rare, rows[self.positive[rows] != kind]])
        return rows

    @property
    def n_refresh_rows(self) -> int:
        """About how many those are."""
        return len(self.positive) if self.all_seen else min(len(self.positive), _MOST_SEEN)

    @cached_property
    def _rare(self) -> dict[bool, Rows]:
        classes = {True: np.flatnonzero(self.positive), False: np.flatnonzero(~self.positive)}
        return {kind: rows for kind, rows in classes.items() if len(rows) <= _MOST_SEEN // 2}
