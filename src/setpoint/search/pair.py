"""One block and one row: the best mixture draws between two columns at most.

Found without a linear program: between a column that meets the row and one that does not,
the column that is furthest out in the direction normal to both takes the place of one of
them, until there is none (Newton's method for the row's multiplier).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from setpoint.array_types import Floats

__all__ = ["Pair", "best_pair"]

_ROUNDS = 100
_OUT = 1e-14


class Pair(NamedTuple):
    """A draw between two columns: `inside` with probability `p`, else `outside`."""

    inside: int
    outside: int
    p: float
    multiplier: float


def best_pair(gains: Floats, slack: Floats) -> Pair | None:
    """The mixture with the largest gain among those with slack of at least 0.

    Examples
    --------
    >>> best_pair(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.8, -0.8]))
    Pair(inside=1, outside=2, p=0.5, multiplier=0.625)
    """
    meets = slack >= 0.0
    if not meets.any():
        return None
    best = int(np.argmax(gains))
    if meets[best]:
        return Pair(best, best, 1.0, 0.0)
    inside = int(np.argmax(np.where(meets, gains, -np.inf)))
    outside = best
    for _ in range(_ROUNDS):
        wide = slack[inside] - slack[outside]
        multiplier = float((gains[outside] - gains[inside]) / wide)
        both = gains + multiplier * slack
        k = int(np.argmax(both))
        if both[k] - both[inside] <= _OUT * (abs(both[inside]) + abs(multiplier * slack[inside])):
            return Pair(inside, outside, float(-slack[outside] / wide), multiplier)
        if k in (inside, outside):
            return None
        if meets[k]:
            inside = k
        else:
            outside = k
    return None
