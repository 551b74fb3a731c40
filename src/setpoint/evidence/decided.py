"""Rows with what was decided for them: where counts are not enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence.rows import Rows

__all__ = ["DecidedRows"]


@dataclass(frozen=True, eq=False)
class DecidedRows:
    """Rows and decisions."""

    rows: Rows
    decisions: NDArray[Any]

    def sums(self, weights: Floats) -> Floats:
        """What each row (N,) adds to a sum over tables of counts.

        Examples
        --------
        >>> rows = Rows.from_arrays((0, 1), np.array([0, 1]), 2)
        >>> of_right = np.array([[[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]]])
        >>> DecidedRows(rows, np.array([1, 1])).sums(of_right)
        array([0., 1.])
        """
        rows = self.rows
        at = weights[:, rows.stratum, rows.true]  # (tables, N, n)
        if self.decisions.ndim == 1:
            own = at[:, np.arange(rows.n_rows), self.decisions]
        else:
            own = (at * self.decisions).sum(axis=2)
        out = own[0].copy()
        measures = () if rows.measures is None else rows.measures
        for part, measure in zip(own[1:], measures, strict=True):
            out += part * measure
        return np.asarray(out)
