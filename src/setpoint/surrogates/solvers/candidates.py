"""What both searches find: the moves that they made, and the best models."""

from __future__ import annotations

from dataclasses import dataclass, field

from setpoint.array_types import Floats

__all__ = ["Best", "Candidate", "Step"]


@dataclass(frozen=True)
class Step:
    """One move."""

    start: str
    gain: float
    used: int
    weights: Floats


@dataclass(frozen=True)
class Candidate:
    """Models (folds, d + 1) that may be kept, their gain, and where their path began."""

    gain: float
    models: Floats
    start: str


@dataclass
class Best:
    """The candidates with the largest gains, of all that were met."""

    most: int
    found: list[Candidate] = field(default_factory=list)

    def offer(self, candidate: Candidate) -> None:
        """Keep it, if it is one of the best; of equals the earlier."""
        self.found = sorted([*self.found, candidate], key=lambda c: -c.gain)[: self.most]
