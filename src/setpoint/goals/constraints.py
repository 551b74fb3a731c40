"""A constraint: what bounds an expression, as an immutable value."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from setpoint.errors import InputTypeError
from setpoint.goals.errors import GoalError
from setpoint.goals.populations import literal

if TYPE_CHECKING:
    from setpoint.goals.expressions import Expression

__all__ = ["Constraint", "Relation"]

Relation: TypeAlias = Literal[">=", "<="]


@dataclass(frozen=True, repr=False)
class Constraint:
    """``lhs >= rhs`` or ``lhs <= rhs``, kept as written (a number stands on the right).

    Comparing expressions gives one.

    Parameters
    ----------
    lhs : Expression
    relation : {">=", "<="}
    rhs : Expression
    confidence : float or None
        How sure it is to be kept on new rows, above 0 and below 1; None: no confidence of its own.

    Raises
    ------
    GoalError
        If both sides are numbers, or `confidence` is outside its range.
    TypeError
        If `confidence` is not a number.

    Examples
    --------
    >>> from setpoint.metrics import precision
    >>> bound = (precision >= 0.9).with_confidence(0.99)
    >>> print(bound)
    precision >= 0.9 with confidence 0.99
    >>> bound.confidence
    0.99
    """

    lhs: Expression
    relation: Relation
    rhs: Expression
    confidence: float | None = None

    def __post_init__(self) -> None:
        if self.confidence is not None:
            object.__setattr__(self, "confidence", _confidence(self.confidence))
        if self.lhs.is_number and self.rhs.is_number:
            raise GoalError("a constraint between two numbers says nothing about a classifier")
        if self.lhs.is_number:
            flipped = "<=" if self.relation == ">=" else ">="
            lhs, rhs = self.rhs, self.lhs
            object.__setattr__(self, "lhs", lhs)
            object.__setattr__(self, "rhs", rhs)
            object.__setattr__(self, "relation", flipped)

    def __bool__(self) -> bool:
        raise InputTypeError(
            "a constraint is neither true nor false before it is measured; write "
            "'0.3 <= x <= 0.5' as two constraints, and join constraints with commas: "
            "subject_to(a >= 0.3, a <= 0.5)"
        )

    def with_confidence(self, confidence: float) -> Constraint:
        """The same constraint, to be kept on new rows with a confidence of its own.

        Parameters
        ----------
        confidence : float
            Above 0 and below 1.

        Raises
        ------
        GoalError
            If it is outside that range.
        TypeError
            If it is not a number.
        """
        return replace(self, confidence=_confidence(confidence))

    def __str__(self) -> str:
        text = f"{self.lhs} {self.relation} {self.rhs}"
        if self.confidence is not None:
            text += f" with confidence {literal(self.confidence)}"
        return text

    def __repr__(self) -> str:
        return str(self)


def _confidence(value: object) -> float:
    wanted = "`confidence` is a number above 0 and below 1, such as 0.99"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputTypeError(f"{wanted}, got {value!r} ({type(value).__name__})")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    # NaN is in no range.
    if not 0.0 < number < 1.0:
        raise GoalError(f"{wanted}, got {value!r:.40}")
    return number
