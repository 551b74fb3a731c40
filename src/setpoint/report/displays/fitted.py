"""What pictures ask of a fitted classifier of this library."""

from __future__ import annotations

from typing import Any, Protocol, cast

from setpoint.errors import InputTypeError
from setpoint.evidence import Evidence
from setpoint.report.facts import Facts
from setpoint.rules import Rule
from setpoint.search.frontier import Frontier

__all__ = ["FittedClassifier", "fitted"]


class FittedClassifier(Protocol):
    """A classifier with a goal, a rule and the rows that it was found on."""

    goal_report_: Facts
    rule_: Rule

    def _evidence(self, X: Any, y: Any, *rows: Any) -> Evidence: ...

    def _frontier(self, **options: Any) -> Frontier: ...


def fitted(clf: Any) -> FittedClassifier:
    """The classifier, if it is one of this library."""
    if not has_method(clf, "_frontier"):
        raise InputTypeError(
            f"`clf` is a fitted classifier of this library, got {class_or_object(clf)}; "
            "from_predictions takes scores of any model"
        )
    return cast(FittedClassifier, clf)


def has_method(x: Any, method: str) -> bool:
    """Whether an object, not a class, has a method."""
    return not isinstance(x, type) and hasattr(x, method)


def class_or_object(x: Any) -> str:
    """What was passed, for a message: a class, or an object of one."""
    return f"the class {x.__name__}" if isinstance(x, type) else f"a {type(x).__name__}"
