"""Candidates: every iterate, judged after exact threshold adjustment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence.cutoffs import cutoffs
from setpoint.penalty.at_margins import AtMargins
from setpoint.penalty.cuts import Cut, best_of
from setpoint.penalty.problem import Tradeoff
from setpoint.search.limits import Limits

__all__ = ["Candidate", "Pool"]

P = TypeVar("P")
"""Parameters of a model, in whatever form the trainer keeps them."""


@dataclass(frozen=True)
class Candidate(Generic[P]):
    """Parameters, and what the best threshold on them reaches."""

    parameters: P
    cut: Cut
    method: str


@dataclass
class Pool(Generic[P]):
    """The best candidate of each method on the rows that choose."""

    goal: Tradeoff
    true: NDArray[np.uint8]
    weight: Floats | None
    least: float
    best: dict[str, Candidate[P]] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    beside: AtMargins[Candidate[P]] | None = None

    @property
    def n_offered(self) -> int:
        """Candidates so far."""
        return self.limits.calls

    def offer(self, method: str, scores: Floats, parameters: Any) -> Cut | None:
        """Judge an iterate; its parameters, called for if kept, are a copy."""
        if not np.isfinite(scores).all():
            return None
        self.limits.calls += 1
        values, (B, A) = cutoffs(scores, self.true, self.weight, 2)
        cut = best_of(self.goal, values, A, B, self.least)
        made: list[Candidate[P]] = []

        def candidate() -> Candidate[P]:
            if not made:
                made.append(Candidate(parameters(), cut, method))
            return made[0]

        if self.beside is not None:
            self.beside.offer(A, B, candidate)
        known = self.best.get(method)
        if known is None or cut.rank > known.cut.rank:
            first = self.best and cut.rank <= self.champion.cut.rank
            self.best[method] = candidate()
            if not first:
                sense = self.goal.program.sense
                self.limits.record(sense * cut.score, sense * np.inf, cut.violation)
        return cut

    @property
    def champion(self) -> Candidate[P]:
        """The best of all; of equals the earliest method."""
        return max(self.best.values(), key=lambda c: c.cut.rank)

    @property
    def kept(self) -> list[Candidate[P]]:
        """All that are kept, each once: those best at some margin, and those of the methods."""
        beside = [] if self.beside is None else self.beside.kept
        return list({id(c): c for c in (*beside, *self.best.values())}.values())

    def table(self) -> list[dict[str, Any]]:
        """The best candidate of each method in plain words and the user's units, best first."""
        ranked = sorted(self.best.values(), key=lambda c: c.cut.rank, reverse=True)
        sense = self.goal.program.sense
        return [
            {
                "method": c.method,
                "objective": sense * c.cut.score,
                "violation": c.cut.violation,
                "threshold": c.cut.threshold,
            }
            for c in ranked
        ]
