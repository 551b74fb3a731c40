"""Columns and their features, stored once: sets add them, and masters name them by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from setpoint.array_types import Floats

__all__ = ["ColumnStore", "DenseColumns"]

_FIRST = 256


class ColumnStore:
    """Some columns of each block, numbered in the order in which they are first asked for.

    Examples
    --------
    >>> store = ColumnStore(1)
    >>> store.numbers(0, [7, 3], lambda keys: np.array([[float(k)] for k in keys]))
    [0, 1]
    >>> store.numbers(1, [7], lambda keys: np.array([[0.5]]))
    [2]
    >>> store.features.ravel()
    array([7. , 3. , 0.5])
    """

    def __init__(self, d: int) -> None:
        self._table = np.zeros((_FIRST, d))
        self._number: dict[tuple[int, int], int] = {}

    @property
    def features(self) -> Floats:
        """Features (columns, d) by number."""
        return self._table[: len(self._number)]

    def numbers(
        self, block: int, keys: Sequence[int], features_of: Callable[[Sequence[int]], Floats]
    ) -> list[int]:
        """The numbers of some columns; `features_of` gives the features (k, d) of new ones."""
        new = [k for k in keys if (block, k) not in self._number]
        if new:
            start = len(self._number)
            while start + len(new) > len(self._table):
                self._table = np.concatenate([self._table, np.zeros_like(self._table)])
            self._table[start : start + len(new)] = features_of(new)
            self._number.update({(block, k): start + i for i, k in enumerate(new)})
        return [self._number[block, k] for k in keys]


class DenseColumns:
    """Columns that come for all blocks at once; the k-th is the column `k` of each block."""

    def __init__(self, n_blocks: int, d: int) -> None:
        self._table = np.zeros((4, n_blocks, d))
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def add(self, features: Floats) -> None:
        """Columns (k, blocks, d)."""
        while self._n + len(features) > len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        self._table[self._n : self._n + len(features)] = features
        self._n += len(features)

    def drop_last(self) -> None:
        """Take the last one out."""
        self._n -= 1

    @property
    def by_key(self) -> Floats:
        """Features (k, blocks, d)."""
        return self._table[: self._n]

    @property
    def features(self) -> Floats:
        """Features (k * blocks, d) by number."""
        return self.by_key.reshape(-1, self._table.shape[-1])

    def numbers(self, block: int, keys: Sequence[int]) -> list[int]:
        """The numbers of some columns of a block."""
        n_blocks = self._table.shape[1]
        return [k * n_blocks + block for k in keys]
