"""The smallest move of the cut-off by which the counted rates meet their bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from setpoint.evidence import Evidence
from setpoint.exact.problem import Problem
from setpoint.goals.program import SATISFIED, Program
from setpoint.ramp.problem import Row

__all__ = ["ROUNDING", "nearest_cutoff"]

ROUNDING = 1e-9
"""What a floor may be missed by."""


def nearest_cutoff(program: Program, evidence: Evidence, floors: Sequence[Row]) -> float | None:
    """The threshold nearest to 0 at which all bounds and floors hold; None if there is none.

    The nearest and not the best one: far from 0 the counts on the training rows are better
    by chance as often as not.

    Parameters
    ----------
    program : Program
    evidence : Evidence
        With one slot and the trained scores.
    floors : sequence of Row
        Rows that must not exceed 0 either.
    """
    slot = Problem(program, evidence, most=0).slots[0]
    curve = slot.curve
    kinds = [cell * (evidence.n_classes + 1) + true for cell, true in curve.kinds]
    nearest, at = np.inf, None
    for cutoffs, v in slot.blocks():
        met = np.asarray(program.violation(v)) <= SATISFIED
        for row in floors:
            met &= row.coefs[kinds] @ curve.counts[:, cutoffs] + row.const <= ROUNDING
        for j in _closest(np.flatnonzero(met) + cutoffs.start, curve.values):
            t = curve.threshold(j)
            if abs(t) < nearest:
                nearest, at = abs(t), t
    return at


def _closest(met: np.ndarray, values: np.ndarray) -> list[int]:
    """The two of some cut-offs on either side of 0: thresholds fall from one to the next."""
    middle = np.searchsorted(-values, 0.0)  # scores above 0 come first
    place = np.searchsorted(met, middle)
    return [int(met[i]) for i in (place - 1, place) if 0 <= i < len(met)]
