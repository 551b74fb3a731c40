"""The rows that judge, and the fold of each: no row judges a rule that it chose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from setpoint.array_types import Codes, Integers
from setpoint.errors import InputError
from setpoint.estimators.splitting import Fold
from setpoint.evidence.folds import parts_of

__all__ = ["JudgedRows"]

_PARTS = 5
"""Parts that the rows of a single fold fall into, so that rules have rows of their own."""


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Which rows of X judge, and which of them choose a rule together."""

    index: Codes
    fold: Codes

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max(initial=-1)) + 1

    @classmethod
    def of(cls, splits: Sequence[Fold], kinds: Integers) -> JudgedRows:
        """The rows that the splits leave out.

        Examples
        --------
        >>> halves = [(np.array([0, 1]), np.array([2, 3])), (np.array([2, 3]), np.array([0, 1]))]
        >>> rows = JudgedRows.of(halves, np.zeros(4, int))
        >>> rows.index, rows.fold
        (array([0, 1, 2, 3]), array([1, 1, 0, 0]))
        """
        fold = np.full(len(kinds), -1)
        for k, (_, test) in enumerate(splits):
            again = test[fold[test] >= 0]
            if len(again):
                raise InputError(
                    f"`cv`: two splits leave out row {again[0]}, and a row judges a candidate "
                    "once: give folds that do not overlap, such as StratifiedKFold, or one share"
                )
            fold[test] = k
        index = np.flatnonzero(fold >= 0)
        if len(splits) == 1:
            return cls(index, parts_of(kinds[index], _PARTS))
        return cls(index, fold[index])
