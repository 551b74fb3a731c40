"""The best mixture over an achievable set, by the shape of the goal.

An achievable set is a :class:`~setpoint.search.space.Space`: columns of features, and a way
to find the best one for a linear objective. Here are the programs over its mixtures.
"""

from setpoint.search.frontier import Frontier
from setpoint.search.infeasible import Infeasible
from setpoint.search.outcome import ConstantGoalWarning, Outcome
from setpoint.search.watch import StoppedError, StoppedWarning

__all__ = [
    "ConstantGoalWarning",
    "Frontier",
    "Infeasible",
    "Outcome",
    "StoppedError",
    "StoppedWarning",
]
