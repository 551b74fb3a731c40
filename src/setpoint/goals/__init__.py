"""The language of goals: metrics, expressions, goals, and the program they bind to."""

from setpoint.goals.blackbox import BlackBox
from setpoint.goals.errors import (
    EmptyPopulationError,
    GoalError,
    GoalSyntaxError,
    MetricError,
    NoFormulaError,
    ShapeError,
)
from setpoint.goals.expressions import Constraint, Expression
from setpoint.goals.goal import Goal, as_goal, maximize, minimize

__all__ = [
    "BlackBox",
    "Constraint",
    "EmptyPopulationError",
    "Expression",
    "Goal",
    "GoalError",
    "GoalSyntaxError",
    "MetricError",
    "NoFormulaError",
    "ShapeError",
    "as_goal",
    "maximize",
    "minimize",
]
