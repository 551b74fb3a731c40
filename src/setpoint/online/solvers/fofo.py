"""FOFO: stochastic descent on Q (Zhang, Liu, Zhou, Yang 2018), in stages."""

from __future__ import annotations

import math
from typing import Any, Final

from setpoint.online import state as at
from setpoint.online.compiled import inner

__all__ = ["FIRST_STAGE", "LEAST_ROWS", "fofo", "fofo_stages"]


LEAST_ROWS: Final = 44
"""With fewer rows FOFO as printed has no stage."""

FIRST_STAGE: Final = 4096.0
"""Rows of the first stage where stages double."""

_ROWS_TO_REACH: Final = 640.0
"""A stage needs so many rows, times (theta / prior)^2, to get to an optimum in its radius."""


def fofo_stages(n: int) -> tuple[int, int]:
    """Number of stages of FOFO as printed for n rows, and the rows of each.

    Examples
    --------
    >>> fofo_stages(1_000_000), fofo_stages(43)
    ((7, 142857), (0, 0))
    """
    stages = math.floor(0.5 * math.log2(2 * n / math.log2(n))) - 1 if n > 2 else 0
    return (stages, n // stages) if stages > 0 else (0, 0)


@inner
def fofo(p: float, weight: float, state: Any) -> None:
    """One row of SFO, and the next stage where one ends (the paper's Algorithms 1 and 2)."""
    most = 1.0 / (1.0 + state.beta2)
    if state.stage_length <= 0.0 or state.stages_left == 0.0:
        return  # the printed algorithm has no stage for so many rows
    rows = state.tally[at.WEIGHT_OF_ROWS]
    negatives, positives = rows[0, 0] + rows[0, 1], rows[1, 0] + rows[1, 1]
    prior = positives / (negatives + positives)
    theta = state.theta
    slope = state.beta2 * prior * theta - max(p - theta, 0.0)
    low = max(0.0, state.start - state.radius)
    high = min(most, state.start + state.radius)
    theta = min(high, max(low, theta - state.rate * weight * slope))
    state.theta = theta
    state.stage += 1.0
    state.threshold += (theta - state.threshold) / (state.stage + 1.0)
    if state.stage >= state.stage_length:
        theta = state.threshold
        state.start = state.theta = theta
        state.stage = 0.0
        if state.stages_left > 0.0:
            state.stages_left -= 1.0
            state.radius *= 0.5
        elif prior > 0.0:
            state.radius *= 0.5
            enough = _ROWS_TO_REACH * (theta / prior) ** 2
            state.stage_length = max(2.0 * state.stage_length, enough)
        state.rate = state.radius / math.sqrt(10.0 * state.stage_length)
