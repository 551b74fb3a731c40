"""A training, all arguments checked: what trainers of linear models and of networks take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import SetpointError
from setpoint.penalty.candidates import Pool
from setpoint.penalty.losses import RefreshBatch
from setpoint.penalty.problem import Tradeoff
from setpoint.penalty.solvers.stages import Stage

__all__ = ["DivergedError", "Plan", "Rows", "Schedule"]


class DivergedError(SetpointError, ArithmeticError):
    """Scores or losses are no longer finite: the stage ends, its iterates before stay."""

    def __init__(
        self, stage: str, why: str = "the scores were no longer finite; it was stopped there"
    ) -> None:
        super().__init__(f"{stage}: {why}")


@dataclass(frozen=True, eq=False)
class Rows:
    """Features and labels of some rows, none of weight zero."""

    X: Any
    positive: NDArray[np.bool_]
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.positive)

    def seen(self, scores: Floats) -> RefreshBatch:
        """All rows, for a refresh."""
        return RefreshBatch(scores, self.positive, self.weight)


@dataclass(frozen=True)
class Schedule:
    """How networks are trained, minibatch by minibatch."""

    max_epochs: int = 50
    batch_size: int = 512
    rate: float = 1e-3
    decay: float = 1e-2
    refresh_every: int | None = None
    patience: int = 10


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be trained, for what, on which rows."""

    goal: Tradeoff
    stages: tuple[Stage, ...]
    train: Rows
    choose: Rows | None
    least: float
    pool: Pool[Any]
    schedule: Schedule = Schedule()
    seed: int = 0
    device: str = "cpu"
    tick: Callable[[], None] = lambda: None
    notes: list[str] = field(default_factory=list)

    @property
    def chooser(self) -> Rows:
        """The rows that choose."""
        return self.train if self.choose is None else self.choose

    def train_pool(self) -> Pool[Any]:
        """An empty pool of the training rows."""
        rows = self.train
        return Pool(self.goal, rows.positive.view(np.uint8), rows.weight, self.least)
