"""Training for the goal itself: the indicator written exactly, and its rivals."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.penalty.classifier import ExactPenaltyClassifier
    from setpoint.penalty.goal_loss import GoalLoss

__all__ = ["ExactPenaltyClassifier", "GoalLoss"]

# GoalLoss is a module of PyTorch, which is loaded for it and for nothing else here.
_HOME = {"ExactPenaltyClassifier": "classifier", "GoalLoss": "goal_loss"}

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
