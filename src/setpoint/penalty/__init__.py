"""Training for the goal itself: the indicator written exactly, and its rivals."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.penalty.classifier import ExactPenaltyClassifier
    from setpoint.penalty.goal_loss import GoalLoss
    from setpoint.penalty.problem import Tradeoff

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
