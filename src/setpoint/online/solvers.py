"""Thresholds, row by row: OFO, FOFO, and when the sketch's is due."""

from __future__ import annotations

import math
from typing import Final

from setpoint.online import layout as at
from setpoint.online.compiled import inner
from setpoint.typing import Floats

__all__ = ["FIRST_STAGE", "LEAST_ROWS", "fofo", "fofo_stages", "is_due", "ofo"]


LEAST_ROWS: Final = 44
"""With fewer rows FOFO as printed has no stage."""

FIRST_STAGE: Final = 4096.0
"""Rows of the first stage where stages double."""

_ROWS_TO_REACH: Final = 640.0
"""A stage needs so many rows, times (theta / prior)^2, to get to an optimum in its radius."""

_GROWN: Final = 0.02


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
def fofo(p: float, prior: float, weight: float, memory: Floats) -> None:
    """One row of SFO, and the next stage where one ends (the paper's Algorithms 1 and 2)."""
    most = 1.0 / (1.0 + memory[at.BETA2])
    if memory[at.STAGE_LENGTH] <= 0.0 or memory[at.STAGES_LEFT] == 0.0:
        return  # the printed algorithm has no stage for so many rows
    theta = memory[at.THETA]
    slope = memory[at.BETA2] * prior * theta - max(p - theta, 0.0)
    low = max(0.0, memory[at.START] - memory[at.RADIUS])
    high = min(most, memory[at.START] + memory[at.RADIUS])
    theta = min(high, max(low, theta - memory[at.RATE] * weight * slope))
    memory[at.THETA] = theta
    memory[at.STAGE] += 1.0
    memory[at.THRESHOLD] += (theta - memory[at.THRESHOLD]) / (memory[at.STAGE] + 1.0)
    if memory[at.STAGE] >= memory[at.STAGE_LENGTH]:
        theta = memory[at.THRESHOLD]
        memory[at.START] = memory[at.THETA] = theta
        memory[at.STAGE] = 0.0
        if memory[at.STAGES_LEFT] > 0.0:
            memory[at.STAGES_LEFT] -= 1.0
            memory[at.RADIUS] *= 0.5
        elif prior > 0.0:
            memory[at.RADIUS] *= 0.5
            enough = _ROWS_TO_REACH * (theta / prior) ** 2
            memory[at.STAGE_LENGTH] = max(2.0 * memory[at.STAGE_LENGTH], enough)
        memory[at.RATE] = memory[at.RADIUS] / math.sqrt(10.0 * memory[at.STAGE_LENGTH])


@inner
def ofo(p: float, y: int, decided: int, weight: float, solver: int, memory: Floats) -> None:
    """One row of OFO: F of the rows so far over 1 + beta^2; OFO-RB counts posteriors."""
    seen = p if solver == at.OFO_RB else float(y)
    memory[at.GAIN] += weight * seen * decided
    memory[at.COST] += weight * (memory[at.BETA2] * seen + decided)
    if memory[at.COST] > 0.0:
        memory[at.THRESHOLD] = memory[at.GAIN] / memory[at.COST]


@inner
def is_due(
    rows: float, positives: float, counted: float, counted_positives: float, memory: Floats
) -> bool:
    """Whether the sketch's counts changed by 2 % since its threshold was found.

    `rows` and `positives` are all so far, `counted` those that the sketch counts.
    """
    due = rows - memory[at.SOLVED_ROWS] >= _GROWN * counted
    if due or positives - memory[at.SOLVED_POSITIVES] >= _GROWN * counted_positives:
        memory[at.SOLVED_ROWS], memory[at.SOLVED_POSITIVES] = rows, positives
        return True
    return False
