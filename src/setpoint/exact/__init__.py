"""Binary problems, exactly: sweeps, hulls and the program over cut-offs."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.exact.cutoffs import CutoffSet
    from setpoint.exact.deterministic import least_violation, sweep
    from setpoint.exact.frontier import MOST_SEGMENTS, candidate_path, frontier_exact
    from setpoint.exact.nested import MonotoneConstraint, certified_windows, monotone_constraints
    from setpoint.exact.solver import find_rule, solve_exact
    from setpoint.exact.tallied import CountPass, Ranges, solve_tallied

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
