"""Binary problems, exactly: sweeps, hulls and the program over cut-offs."""

from setpoint.exact.solver import solve_exact

__all__ = ["solve_exact"]
