"""The best mixture over an achievable set, by the shape of the goal.

An :class:`~setpoint.search.achievable.AchievableSet` has columns of features, and a way
to find the best one for a linear objective. Here are the programs over its mixtures.
"""

from setpoint.search.achievable import ConstantGoalWarning, Outcome
from setpoint.search.frontier import Frontier
from setpoint.search.infeasibility import InfeasibleError
from setpoint.search.limits import StoppedError, StoppedWarning

__all__ = [
    "ConstantGoalWarning",
    "Frontier",
    "InfeasibleError",
    "Outcome",
    "StoppedError",
    "StoppedWarning",
]
