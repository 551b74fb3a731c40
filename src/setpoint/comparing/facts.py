"""The facts of a comparison, which text, page and picture read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from setpoint.comparing.better import BETTER, WORSE, Part
from setpoint.comparing.changed import ChangedRows
from setpoint.comparing.pairs import Pair
from setpoint.goals.goal import Goal
from setpoint.inference.verdicts import OPEN
from setpoint.report import GoalReport
from setpoint.search.frontier import Frontier

__all__ = ["ComparisonFacts"]


@dataclass(frozen=True, eq=False)
class ComparisonFacts:
    """What :class:`ModelComparison` holds, with what follows from it."""

    goal: Goal
    reports: Mapping[str, GoalReport]
    pairs: Mapping[str, Pair]
    changed: ChangedRows
    frontiers: Mapping[str, Frontier]
    points: Mapping[str, tuple[float, float]]
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models, the one in use first."""
        return tuple(self.reports)

    @property
    def differences(self) -> dict[str, Sequence[Part]]:
        """For each other model the objective and the constraints, with their differences."""
        return {name: pair.parts for name, pair in self.pairs.items()}

    @property
    def too_close(self) -> tuple[str, ...]:
        """The models that are shown to be neither better nor worse than the first."""
        return tuple(name for name, pair in self.pairs.items() if pair.verdict == OPEN)

    @property
    def verdict(self) -> str:
        """Whether a model is shown to be better than the first."""
        found = [pair.verdict for pair in self.pairs.values()]
        if BETTER in found:
            return BETTER
        return WORSE if all(one == WORSE for one in found) else OPEN

    @property
    def why(self) -> str:
        """What the verdict stands on, in a sentence for each other model."""
        if len(self.pairs) == 1:
            return next(iter(self.pairs.values())).why
        return " ".join(
            f"{name!r} is {pair.verdict}: {pair.why}" for name, pair in self.pairs.items()
        )
