"""What pictures ask of a fitted classifier of this library."""

from __future__ import annotations

from typing import Any, Protocol, cast

from setpoint.evidence import Evidence
from setpoint.report.path import class_or_object, has_method
from setpoint.report.report import GoalReport
from setpoint.rules import Rule
from setpoint.search.frontier import Frontier

__all__ = ["FittedClassifier", "fitted"]


class FittedClassifier(Protocol):
    """A classifier with a goal, a rule and the rows that it was found on."""

    goal_report_: GoalReport
    rule_: Rule

    def _evidence(self, X: Any, y: Any, *rows: Any) -> Evidence: ...

    def _frontier(self, **options: Any) -> Frontier: ...


def fitted(clf: Any) -> FittedClassifier:
    """The classifier, if it is one of this library.

    Raises
    ------
    TypeError
        If it is not. Its methods say so where it is not fitted.
    """
    if not has_method(clf, "_frontier"):
        raise TypeError(
            f"clf= is a fitted classifier of this library, got {class_or_object(clf)}; "
            "from_predictions takes scores of any model"
        )
    return cast(FittedClassifier, clf)
