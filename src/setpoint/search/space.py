"""Achievable sets: what rules, and draws among them, can do to the features of a program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from setpoint.evidence import Confusion
from setpoint.program.program import Program
from setpoint.rules import Rule
from setpoint.search.watch import Watch

__all__ = ["Choice", "Floats", "Priced", "Space"]

Floats: TypeAlias = NDArray[np.float64]
Choice: TypeAlias = Sequence[dict[int, float]]
"""For each block, columns and their probabilities."""


class Priced(NamedTuple):
    """The best column of each block for one linear objective.

    Parameters
    ----------
    columns : int array of shape (blocks,)
    values : array of shape (blocks,)
        ``slopes @ column``.
    """

    columns: NDArray[np.int64]
    values: Floats


class Space(ABC):
    """The achievable features of a program: a sum over blocks of mixtures of columns.

    A block is a part of the rows that a rule can tell apart, a column what one way of
    deciding them adds to the features: a cut-off of a slot, an answer of an oracle. A
    column keeps its number for good; there may be more of them than are at hand.

    Parameters
    ----------
    program : Program

    Attributes
    ----------
    watch : Watch
        Limits on calls of :meth:`price`, and their trace.
    is_certain : bool
        Whether :meth:`price` really finds the best of all columns, so that bounds hold.
    otherwise : str
        What a message about a shape that no search takes goes on with.
    smoothing : float
        How far multipliers to ask with are drawn back to the best ones so far; in [0, 1).
    """

    is_certain = True
    otherwise = "a black-box method may"
    smoothing = 0.0

    def __init__(self, program: Program, watch: Watch | None = None) -> None:
        self.program = program
        self.watch = watch or Watch()

    @property
    def n_calls(self) -> int:
        """Times that columns were priced."""
        return self.watch.calls

    @property
    def d(self) -> int:
        """Number of features."""
        return len(self.program.rates)

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """Number of blocks."""

    @abstractmethod
    def at_hand(self, block: int) -> Sequence[int]:
        """The columns that a search begins with."""

    @abstractmethod
    def columns(self, block: int, numbers: Sequence[int]) -> Floats:
        """Features (k, d) of some columns of a block."""

    @abstractmethod
    def price(self, slopes: Floats) -> Priced:
        """The columns that maximise ``slopes @ features``."""

    @abstractmethod
    def constants(self) -> list[Choice]:
        """The classifiers that give everyone the same class."""

    @abstractmethod
    def rule(self, choice: Choice) -> Rule:
        """The rule that a choice stands for."""

    @abstractmethod
    def confusion(self, choice: Choice) -> Confusion:
        """The expected confusion of a choice."""

    @abstractmethod
    def drawn(self, choice: Choice) -> float:
        """The share of the rows' weight whose decision depends on a draw."""

    @abstractmethod
    def with_program(self, program: Program) -> Self:
        """Another program on the same rows."""

    def features(self, choice: Choice) -> Floats:
        """Features (d,) of a choice, expected over its draws."""
        total = np.zeros(self.d)
        for block, part in enumerate(choice):
            total += np.array(list(part.values())) @ self.columns(block, list(part))
        return total

    def features_of_constants(self) -> Floats:
        """Features (k, d) of :meth:`constants`."""
        return np.array([self.features(c) for c in self.constants()])

    def value(self, v: Floats) -> float:
        """The objective as a score: higher is better."""
        return self.program.sense * float(self.program.value(v))
