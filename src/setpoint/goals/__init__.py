"""The language of goals: metrics, expressions and goals, without data."""

from setpoint.goals.constraints import Constraint
from setpoint.goals.errors import (
    EmptyPopulationError,
    GoalError,
    GoalSyntaxError,
    NoFormulaError,
    ShapeError,
    UnlabelledError,
)
from setpoint.goals.expressions import Expression
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
    "UnlabelledError",
    "as_goal",
    "maximize",
    "minimize",
]
