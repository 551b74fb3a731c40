"""The language of goals: metrics, expressions, goals, and the program they bind to."""

from setpoint.goals.errors import (
    EmptyPopulationError,
    GoalError,
    GoalSyntaxError,
    NoFormulaError,
    ShapeError,
)
from setpoint.goals.expressions import Constraint, Expression
from setpoint.goals.goal import Goal, SupportsGoal, as_goal, maximize, minimize

__all__ = [
    "Constraint",
    "EmptyPopulationError",
    "Expression",
    "Goal",
    "GoalError",
    "GoalSyntaxError",
    "NoFormulaError",
    "ShapeError",
    "SupportsGoal",
    "as_goal",
    "maximize",
    "minimize",
]
