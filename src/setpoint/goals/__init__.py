"""The language of goals: metrics, expressions and goals, without data."""

from setpoint.errors import (
    EmptyPopulationError,
    GoalError,
    GoalSyntaxError,
    NoFormulaError,
    ShapeError,
    UnlabelledError,
)
from setpoint.goals.expressions import Expression
from setpoint.goals.goal import Goal, SupportsGoal, as_goal, maximize, minimize
from setpoint.goals.populations import Constraint

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
    "UnlabelledError",
    "as_goal",
    "maximize",
    "minimize",
]
