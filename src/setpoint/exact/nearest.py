"""The thresholds nearest to a goal that cannot be met."""

from __future__ import annotations

import numpy as np

from setpoint.exact.cutoff_set import CutoffSet
from setpoint.exact.deterministic import (
    MOST_COMBINATIONS,
    common_cutoffs,
    coordinate_descent,
    least_of_all,
    n_combinations,
)
from setpoint.exact.sweep import least_violation
from setpoint.goals.errors import ShapeError
from setpoint.program.program import Program
from setpoint.search.nearest import least_violating, nearest_mixture
from setpoint.search.optimum import Optimum, measure

__all__ = ["nearest_thresholds"]


def nearest_thresholds(cuts: CutoffSet, program: Program) -> Optimum:
    """Thresholds with the least largest violation; "nearest" where all were tried."""
    if len(cuts.segments) == 1:
        cutoff, _ = least_violation(program, cuts.segments[0])
        return measure(cuts, program, [{cutoff: 1.0}], "nearest")
    if n_combinations(cuts) <= MOST_COMBINATIONS:
        every = [np.arange(s.curve.n_cutoffs) for s in cuts.segments]
        return measure(cuts, program, least_of_all(cuts, program, every), "nearest")
    starts = [
        least_violating(cuts, program, [*cuts.constants(), *common_cutoffs(cuts, program)])[0]
    ]
    try:
        near = nearest_mixture(cuts, program)
        starts.append([{max(p, key=lambda j: p[j]): 1.0} for p in near.choice])
    except ShapeError:
        pass
    choice, _ = min((coordinate_descent(cuts, program, s) for s in starts), key=lambda r: r[1])
    return measure(cuts, program, choice, "feasible")
