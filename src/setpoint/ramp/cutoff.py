"""Cut-offs on trained scores at which the counted rates meet their bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from setpoint.evidence import Evidence
from setpoint.exact.cutoff_set import CutoffSet
from setpoint.program.program import Program
from setpoint.ramp.problem import Row
from setpoint.tolerances import SATISFIED

__all__ = ["ROUNDING", "feasible_cutoffs"]

ROUNDING = 1e-9
"""What a floor may be missed by."""


def feasible_cutoffs(
    program: Program, evidence: Evidence, floors: Sequence[Row]
) -> tuple[float, float] | None:
    """The thresholds nearest to 0 and with the best objective, of those that meet all bounds.

    Parameters
    ----------
    program : Program
    evidence : Evidence
        With one slot and the trained scores.
    floors : sequence of Row
        Rows that must not exceed 0 either.

    Returns
    -------
    (float, float) or None
        None where no threshold meets them.
    """
    slot = CutoffSet(program.table, evidence, most=0).slots[0]
    curve = slot.curve
    kinds = [cell * (evidence.n_classes + 1) + true for cell, true in curve.kinds]
    nearest = best = (np.inf, 0.0)
    for cutoffs, v in slot.blocks():
        met = np.asarray(program.violation(v)) <= SATISFIED
        for row in floors:
            met &= row.coefs[kinds] @ curve.counts[:, cutoffs] + row.const <= ROUNDING
        at = np.flatnonzero(met)
        if not len(at):
            continue
        for j in _closest(at + cutoffs.start, curve.values):
            t = curve.threshold(j)
            nearest = min(nearest, (abs(t), t))
        lost = -program.sense * np.broadcast_to(program.value(v), met.shape)[at]
        k = int(np.argmin(lost))
        best = min(best, (float(lost[k]), curve.threshold(int(at[k]) + cutoffs.start)))
    return None if np.isinf(best[0]) and np.isinf(nearest[0]) else (nearest[1], best[1])


def _closest(met: NDArray[np.intp], values: NDArray[np.float64]) -> list[int]:
    """The two of some cut-offs on either side of 0: thresholds fall from one to the next."""
    middle = np.searchsorted(-values, 0.0)  # scores above 0 come first
    place = int(np.searchsorted(met, middle))
    return [int(met[i]) for i in (place - 1, place) if 0 <= i < len(met)]
