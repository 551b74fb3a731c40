"""Binary problems, exactly: sweeps, hulls and the program over cut-offs."""

from setpoint.exact.infeasible import Infeasible
from setpoint.exact.solver import ConstantGoalWarning, Outcome, solve_exact

__all__ = ["ConstantGoalWarning", "Infeasible", "Outcome", "solve_exact"]
