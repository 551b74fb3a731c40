"""Binary problems, exactly: sweeps, hulls and the program over cut-offs."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.exact.cutoffs import (
        MOST_SEGMENTS,
        CutoffSet,
        cutoff_ladder,
        least_violation,
        sweep,
    )
    from setpoint.exact.nested import MonotoneConstraint, certified_windows, nests, sides_of
    from setpoint.exact.pairs import band_ladder
    from setpoint.exact.solver import find_rule, frontier_exact, solve_exact
    from setpoint.exact.tallied import CountPass, Ranges, solve_tallied

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
