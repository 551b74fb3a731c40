"""Cut-offs on trained scores at which the counted rates meet their bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from setpoint.evidence import Evidence
from setpoint.program.accepted import Accepted
from setpoint.program.program import Program
from setpoint.ramp.problem import Row

__all__ = ["feasible_cutoffs"]


def feasible_cutoffs(
    program: Program, evidence: Evidence, floors: Sequence[Row]
) -> tuple[float, float] | None:
    """The thresholds nearest to 0 and with the best objective, of those that meet all bounds."""
    curve = evidence.curve(0)
    kinds = [stratum * (evidence.n_classes + 1) + true for stratum, true in curve.kinds]
    required = np.array([-np.append(row.coefs[kinds], row.const) for row in floors])
    around = int(np.searchsorted(-curve.values, 0.0, side="right"))
    found = Accepted(program, curve.kinds, curve.counts[:, -1]).best(
        curve.counts,
        required=required.reshape(len(floors), len(kinds) + 1),
        near=around + (curve.threshold(around) > 0.0),  # thresholds fall from one to the next
    )
    if found.cutoff < 0:
        return None
    nearest = [curve.threshold(j) for j in (found.below, found.above) if j >= 0]
    return min(nearest, key=lambda t: (abs(t), t)), curve.threshold(found.cutoff)
