"""What a search over mixtures returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from setpoint.program.functions import RateFunction
from setpoint.search.space import Choice, Floats, Space

__all__ = ["Mixed", "bounded", "mixed_of"]

_CLOSED = 1e-6
"""A gap up to this, relative to the objective, is called closed."""


@dataclass(frozen=True)
class Mixed:
    """A mixture and what is known of it; scores, so higher is better.

    Parameters
    ----------
    choice : Choice
    v : array of shape (d,)
    value : float
    bound : float
        No mixture that meets the constraints is better; inf where none is known.
    status : {"optimal", "feasible", "stationary"}
    method : str
    stopped : str
        The limit that ended the search; empty where it ended by itself.
    """

    choice: Choice
    v: Floats
    value: float
    bound: float
    status: Literal["optimal", "feasible", "stationary"]
    method: str
    stopped: str = ""


def mixed_of(
    space: Space,
    score: RateFunction,
    choice: Choice,
    bound: float,
    method: str,
    gap: float = 0.0,
    stopped: str = "",
) -> Mixed:
    """A choice with its features and value; "optimal" where the bound is reached."""
    v = space.features(choice)
    value = float(score.value(v))
    mixed = Mixed(choice, v, value, bound, "optimal", method, stopped)
    return bounded(mixed, bound, gap)


def bounded(mixed: Mixed, bound: float, gap: float = 0.0) -> Mixed:
    """A mixture with another bound; "optimal" becomes "feasible" where that is not reached."""
    value = mixed.value
    near = max(_CLOSED * (1 + abs(value)), gap)
    closed = bound == value or bound - value <= near < float("inf")
    status = mixed.status
    if status == "optimal" and not closed:
        status = "feasible"
    return replace(mixed, bound=max(bound, value), status=status)
