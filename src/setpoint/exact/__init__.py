"""Binary problems, exactly: sweeps, hulls and the program over cut-offs; and what is measured."""

from setpoint.exact.post_shift import post_shift
from setpoint.exact.solver import solve_exact

__all__ = ["post_shift", "solve_exact"]
