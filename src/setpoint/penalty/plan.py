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
    """Scores or losses are no longer finite: the stage ends, its iterates before stay.

    Parameters
    ----------
    why : str
        What is noted of it.
    """

    def __init__(
        self, stage: str, why: str = "the scores were no longer finite; it was stopped there"
    ) -> None:
        super().__init__(f"{stage}: {why}")


@dataclass(frozen=True, eq=False)
class Rows:
    """Features and labels of some rows, none of weight zero.

    Parameters
    ----------
    X : array or CSR matrix of shape (N, d)
    positive : array of shape (N,)
    weight : array of shape (N,) or None
    """

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
    """How networks are trained, minibatch by minibatch.

    Parameters
    ----------
    max_epochs : int
        Of each stage.
    rate : float
        AdamW's step.
    decay : float
        AdamW's weight decay.
    refresh_every : int or None
        Steps between two looks at the stored scores; None: as often as costs little.
    patience : int
        Epochs without a better candidate after which a stage ends.
    """

    max_epochs: int = 50
    batch_size: int = 512
    rate: float = 1e-3
    decay: float = 1e-2
    refresh_every: int | None = None
    patience: int = 10


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be trained, for what, on which rows.

    Parameters
    ----------
    goal : Tradeoff
        With the totals of the training rows.
    choose : Rows or None
        Held-out rows on which candidates are ranked; None: the training rows.
    least : float
        Weight of training rows that have to be accepted.
    pool : Pool
        Of the rows that choose.
    tick : callable
        Called often; raises what ends the training early.
    notes : list of str
        What happened, for the report.
    """

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
