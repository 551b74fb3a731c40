"""Training for the goal itself: the indicator written exactly, and its rivals."""

from typing import TYPE_CHECKING, Any

from setpoint.penalty.classifier import ExactPenaltyClassifier

if TYPE_CHECKING:
    from setpoint.penalty.goal_loss import GoalLoss

__all__ = ["ExactPenaltyClassifier", "GoalLoss"]


def __getattr__(name: str) -> Any:
    # GoalLoss is a module of PyTorch, which is loaded for it and for nothing else here.
    if name == "GoalLoss":
        from setpoint.penalty.goal_loss import GoalLoss

        return GoalLoss
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
