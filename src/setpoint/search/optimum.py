"""The best that a search found: the one result of every search, with or without draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from setpoint.array_types import Floats
from setpoint.program.program import Program
from setpoint.search.achievable_set import AchievableSet, MixtureWeights
from setpoint.tolerances import SATISFIED

__all__ = ["Optimum", "Status", "measure"]

INF = float("inf")
Status: TypeAlias = Literal["optimal", "feasible", "stationary", "nearest", "evaluated"]

_CLOSED = 1e-6
"""A gap up to this, relative to the objective, is called closed."""


@dataclass(frozen=True)
class Optimum:
    """A choice and what is known of it; scores, so higher is better."""

    choice: MixtureWeights
    v: Floats
    value: float
    bound: float = INF
    status: Status = "feasible"
    method: str = ""
    stopped: str = ""
    draws: str = ""
    rivals: str = "rule"
    mixed: float = -INF
    violation: float = 0.0
    blame: Mapping[int, float] = field(default_factory=dict)

    @property
    def is_feasible(self) -> bool:
        """Whether there is a choice, and it meets the constraints."""
        return len(self.choice) > 0 and self.violation <= SATISFIED

    @property
    def is_drawn(self) -> bool:
        """Whether some block draws among columns."""
        return any(len(part) > 1 for part in self.choice)

    @property
    def why(self) -> str:
        """How it was found and whether it draws, in words."""
        return "; ".join(x for x in (self.method, self.stopped, self.draws) if x)

    def bounded(self, bound: float, gap: float = 0.0) -> Optimum:
        """The same with another bound; "optimal" becomes "feasible" where it is not reached."""
        value = self.value
        near = max(_CLOSED * (1 + abs(value)), gap)
        closed = bound == value or bound - value <= near < INF
        status = self.status
        if status == "optimal" and not closed:
            status = "feasible"
        return replace(self, bound=max(bound, value), status=status)


def measure(
    space: AchievableSet,
    program: Program,
    choice: MixtureWeights,
    status: Status = "feasible",
    method: str = "",
) -> Optimum:
    """A choice with its features, score and violation."""
    v = space.features(choice)
    violation = float(program.violation(v))
    return Optimum(
        choice, v, program.score_at(v), status=status, method=method, violation=violation
    )
