"""The best mixture over an achievable set, by the shape of the goal.

An achievable set is a :class:`~setpoint.search.space.Space`: columns of features, and a way
to find the best one for a linear objective. Here are the programs over its mixtures. A metric
without a formula is searched under a budget: :class:`~setpoint.search.metered.Metered`.
"""

from setpoint.search.frontier import Frontier
from setpoint.search.infeasible import Infeasible
from setpoint.search.metered import BudgetSpentError, Measured, Metered
from setpoint.search.outcome import ConstantGoalWarning, Outcome
from setpoint.search.watch import StoppedError, StoppedWarning

__all__ = [
    "BudgetSpentError",
    "ConstantGoalWarning",
    "Frontier",
    "Infeasible",
    "Measured",
    "Metered",
    "Outcome",
    "StoppedError",
    "StoppedWarning",
]
