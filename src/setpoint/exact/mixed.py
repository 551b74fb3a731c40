"""What a search over mixtures of cut-offs returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from setpoint.exact.problem import Choice, Floats, Problem
from setpoint.goals.atoms import Bound

__all__ = ["Mixed", "mixed_of"]

_CLOSED = 1e-6
"""A gap up to this, relative to the objective, is called closed."""


@dataclass(frozen=True)
class Mixed:
    """A mixture of cut-offs and what is known of it; scores, so higher is better.

    Parameters
    ----------
    choice : Choice
    v : array of shape (d,)
    value : float
    bound : float
        No mixture that meets the constraints is better; inf where none is known.
    status : {"optimal", "feasible", "stationary"}
    method : str
    """

    choice: Choice
    v: Floats
    value: float
    bound: float
    status: Literal["optimal", "feasible", "stationary"]
    method: str


def mixed_of(problem: Problem, score: Bound, choice: Choice, bound: float, method: str) -> Mixed:
    """A choice with its features and value; "optimal" where the bound is reached."""
    v = problem.features(choice)
    value = float(score.value(v))
    closed = bound == value or bound - value <= _CLOSED * (1 + abs(value)) < float("inf")
    status: Literal["optimal", "feasible"] = "optimal" if closed else "feasible"
    return Mixed(choice, v, value, max(bound, value), status, method)
