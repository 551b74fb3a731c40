"""How many rows a rule has to accept before its precision says anything."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["least_accepted", "row_unit"]

_LEAST_ROWS, _LEAST_SHARE = 20.0, 0.02


def row_unit(weight: NDArray[np.float64] | None) -> float:
    """The weight of one row: weights below 1 on average are shares, not numbers of rows.

    Examples
    --------
    >>> row_unit(None), row_unit(np.array([2.0, 3.0])), row_unit(np.array([0.5, 0.5]))
    (1.0, 1.0, 0.5)
    """
    return 1.0 if weight is None else min(float(weight.mean()), 1.0)


def least_accepted(wanted: Any, positives: float, unit: float = 1.0) -> float:
    """The weight of rows that have to be predicted positive.

    Examples
    --------
    >>> least_accepted("auto", 5_000.0), least_accepted("auto", 30.0), least_accepted(7, 30.0)
    (100.0, 15.0, 7.0)
    """
    if wanted != "auto":
        return float(wanted)
    return min(max(_LEAST_ROWS * unit, _LEAST_SHARE * positives), 0.5 * positives)
