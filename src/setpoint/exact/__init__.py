"""Binary problems, exactly: sweeps, hulls and the program over cut-offs."""

from setpoint.exact.cutoffs import (
    MOST_SEGMENTS,
    CutoffSet,
    MonotoneConstraint,
    certified_windows,
    cutoff_ladder,
    least_violation,
    nests,
    sides_of,
    sweep,
)
from setpoint.exact.pairs import band_ladder
from setpoint.exact.solver import find_rule, frontier_exact, solve_exact
from setpoint.exact.tallied import CountPass, Ranges, solve_tallied
