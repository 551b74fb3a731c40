"""The eight algorithms of the confusion-matrix paper, by name.

Each name stands for an algorithm without constraints and its counterpart with them. All
explore by calls to the oracle and end with the exact recombination of what they gathered.

All take a space with whole rules as columns (Achievable), a program, the number of oracle
`calls`, and the `gap` at which the run ends: no mixture is better by more. They give an Optimum,
"optimal" where a bound closed to within `gap`, or raise InfeasibleMasterError if no mixture of the
rules gathered meets the constraints. Bisection with constraints knows no bound.

References
----------
Narasimhan, Ramaswamy, Tavker, Khurana, Netrapalli and Agarwal, "Consistent multiclass algorithms
for complex metrics and constraints" (CMA).
"""

from setpoint.plugin.solvers.named import bisection, ellipsoid, frank_wolfe, gda
from setpoint.plugin.solvers.steps import recombine

__all__ = ["ALGORITHMS", "bisection", "ellipsoid", "frank_wolfe", "gda", "recombine"]

ALGORITHMS = {one.solver: one for one in (frank_wolfe, gda, ellipsoid, bisection)}
"""Called with a space of whole rules and ``gap=``."""
