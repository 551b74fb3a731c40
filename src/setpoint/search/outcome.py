"""What the exact solver returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from setpoint.evidence import Confusion
from setpoint.rules import Rule
from setpoint.search.space import Choice, Floats
from setpoint.search.watch import Traced

__all__ = [
    "ConstantGoalWarning",
    "Expected",
    "Found",
    "NoRuleError",
    "Outcome",
    "Randomized",
    "Status",
]

Randomized: TypeAlias = Literal["auto"] | bool
Status: TypeAlias = Literal["optimal", "feasible", "stationary", "nearest", "evaluated"]


class ConstantGoalWarning(UserWarning):
    """A classifier that gives everyone the same class attains the goal's optimum."""


@dataclass(frozen=True)
class Expected:
    """A rule by soft evidence: what is to be expected if the posteriors are right.

    Parameters
    ----------
    objective, violation : float
        In the user's units.
    calibration : float or None
        The largest difference between a share of rows by true and predicted class, by
        posteriors and by labels; None without labels.
    """

    objective: float
    violation: float
    calibration: float | None


@dataclass(frozen=True)
class Outcome:
    """A rule and what is known of it.

    Parameters
    ----------
    rule : Rule
    v : array of shape (d,)
        Features of the program, expected over the rule's draws.
    confusion : Confusion
        Of the rule on the rows, expected over its draws.
    drawn : float
        The share of rows whose decision depends on a draw.
    status : {"optimal", "feasible", "stationary", "nearest", "evaluated"}
    gap : float or None
        No other rule of this kind on these scores is better by more; None: not known.
    bound : float or None
        The objective that no rule of this kind passes.
    why : str
        The method, and whether the rule needs draws.
    rivals : {"rule", "rule without draws"}
        What `gap` and `bound` speak of.
    n_calls : int
        Passes over the cut-offs, or calls of the oracle.
    blame : dict of str to float
        Constraints that cannot hold together.
    solver : str
    expected : Expected or None
        What soft evidence says, where the rule was found on it.
    choice : Choice or None
        What the rule was made of, where the space that found it is asked further.
    trace : tuple of Traced
    """

    rule: Rule
    v: Floats
    confusion: Confusion
    drawn: float
    status: Status
    gap: float | None
    bound: float | None
    why: str
    rivals: str
    n_calls: int
    blame: dict[str, float] = field(default_factory=dict)
    solver: str = "exact"
    expected: Expected | None = None
    choice: Choice | None = None
    trace: tuple[Traced, ...] = ()


@dataclass(frozen=True)
class Found:
    """What a search found; `bound` is a score, inf where none is known, over `rivals`."""

    choice: Choice
    bound: float
    status: Status
    why: str
    rivals: str = "rule"


class NoRuleError(Exception):
    """Nothing feasible; `certain` unless only a part was searched."""

    def __init__(self, certain: bool, drawing_helps: bool = False) -> None:
        super().__init__()
        self.certain = certain
        self.drawing_helps = drawing_helps
