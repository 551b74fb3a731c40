"""A constraint: what bounds an expression, as an immutable value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from setpoint.goals.errors import GoalError

if TYPE_CHECKING:
    from setpoint.goals.expressions import Expression

__all__ = ["Constraint", "Relation"]

Relation: TypeAlias = Literal[">=", "<="]


@dataclass(frozen=True, repr=False)
class Constraint:
    """``lhs >= rhs`` or ``lhs <= rhs``, kept as written (a number stands on the right)."""

    lhs: Expression
    relation: Relation
    rhs: Expression

    def __post_init__(self) -> None:
        if self.lhs.is_number and self.rhs.is_number:
            raise GoalError("a constraint between two numbers says nothing about a classifier")
        if self.lhs.is_number:
            flipped = "<=" if self.relation == ">=" else ">="
            lhs, rhs = self.rhs, self.lhs
            object.__setattr__(self, "lhs", lhs)
            object.__setattr__(self, "rhs", rhs)
            object.__setattr__(self, "relation", flipped)

    def __bool__(self) -> bool:
        raise TypeError(
            "a constraint is neither true nor false before it is measured; write "
            "'0.3 <= x <= 0.5' as two constraints, and join constraints with commas: "
            "subject_to(a >= 0.3, a <= 0.5)"
        )

    def __str__(self) -> str:
        return f"{self.lhs} {self.relation} {self.rhs}"

    def __repr__(self) -> str:
        return str(self)
