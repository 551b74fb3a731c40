"""Which of several tests count, so that all of them together go wrong no more often than one.

References
----------
S. Holm (1979), A simple sequentially rejective multiple test procedure.
B. L. Wiens (2003), A fixed sequence Bonferroni procedure for testing multiple endpoints.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats

__all__ = ["fixed_sequence", "holm", "level_of_try"]


def fixed_sequence(passed: Iterable[bool]) -> int:
    """How many rules of a path are certified: those before the first that fails its test.

    Examples
    --------
    >>> fixed_sequence([True, True, False, True])
    2
    """
    n = 0
    for one in passed:
        if not one:
            return n
        n += 1
    return n


def holm(ratios: Floats) -> NDArray[np.bool_]:
    """Which rules are certified where they come in no order.

    Examples
    --------
    >>> holm(np.array([0.02, 0.2, 0.01]) / 0.05)
    array([ True, False,  True])
    """
    order = np.argsort(ratios, kind="stable")
    left = np.arange(len(ratios), 0, -1)
    n = fixed_sequence((ratios[order] * left <= 1.0).tolist())
    out = np.zeros(len(ratios), bool)
    out[order[:n]] = True
    return out


def level_of_try(level: float, attempt: int) -> float:
    """The level at which the k-th try on the same rows is tested.

    Examples
    --------
    >>> [round(level_of_try(0.05, k), 4) for k in (1, 2, 3)]
    [0.05, 0.0076, 0.0034]
    """
    return level if attempt == 1 else level * 6.0 / (math.pi * attempt) ** 2
