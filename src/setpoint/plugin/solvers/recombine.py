"""The exact end of every algorithm of the paper: the best mixture of the rules gathered.

The paper ends with averages of iterates (Algorithms 1, 2, 5, 6) or a master over them
(Algorithms 3 and 7). The master with the true objective and constraints, at the mixture, is
never worse than an average, and what it returns meets the constraints.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from setpoint.array_types import Floats
from setpoint.evidence import Confusion
from setpoint.program.program import Program
from setpoint.rules import Rule
from setpoint.search.achievable_set import AchievableSet, MixtureWeights, Priced
from setpoint.search.limits import Limits
from setpoint.search.mixtures import best_mixture
from setpoint.search.optimum import Optimum

__all__ = ["Gathered", "recombine"]

INF = float("inf")
_NEAR = 1e-7
"""To within so much the master is solved."""


class Gathered(AchievableSet):
    """The columns that a space already has, and no others: asking costs no oracle call."""

    def __init__(self, space: AchievableSet, start: MixtureWeights | None = None) -> None:
        super().__init__(space.rates, Limits())
        self.space = space
        self.is_certain = True  # all columns are looked through
        self._start = [*space.constants(), *([] if start is None else [start])]
        self._numbers = [np.array(space.initial_columns(b)) for b in range(space.n_blocks)]
        self._columns = [space.columns(b, list(k)) for b, k in enumerate(self._numbers)]

    @property
    def n_blocks(self) -> int:
        """As in the space."""
        return self.space.n_blocks

    def initial_columns(self, block: int) -> Sequence[int]:
        """The constants and the start."""
        return sorted({k for choice in self._start for k in choice[block]})

    def columns(self, block: int, numbers: Sequence[int]) -> Floats:
        """As in the space."""
        return self.space.columns(block, numbers)

    def numbers(self, block: int, keys: Sequence[int]) -> list[int]:
        """As in the space."""
        return self.space.numbers(block, keys)

    @property
    def table(self) -> Floats:
        """As in the space."""
        return self.space.table

    def price(self, slopes: Floats) -> Priced:
        """The best of all columns gathered."""
        best, values = [], []
        for numbers, columns in zip(self._numbers, self._columns, strict=True):
            worth = columns @ slopes
            at = int(worth.argmax())
            best.append(numbers[at])
            values.append(worth[at])
        return Priced(np.array(best), np.array(values))

    def constants(self) -> list[MixtureWeights]:
        """As in the space."""
        return self.space.constants()

    def rule(self, choice: MixtureWeights) -> Rule:
        """As in the space."""
        return self.space.rule(choice)

    def confusion(self, choice: MixtureWeights) -> Confusion:
        """As in the space."""
        return self.space.confusion(choice)

    def randomized_share(self, choice: MixtureWeights) -> float:
        """As in the space."""
        return self.space.randomized_share(choice)


def recombine(
    space: AchievableSet,
    program: Program,
    method: str = "recombined",
    *,
    bound: float = INF,
    gap: float = 0.0,
    stopped: str = "",
    start: MixtureWeights | None = None,
) -> Optimum:
    """The best mixture of the columns gathered, without any oracle call."""
    choice = best_mixture(Gathered(space, start), program, _NEAR).choice
    v = space.features(choice)
    value = float(program.score.value(v))
    return Optimum(choice, v, value, INF, "optimal", method, stopped).bounded(bound, gap)
