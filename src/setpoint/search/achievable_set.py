"""Achievable sets: the features that rules, and draws among them, can reach."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence import Confusion, Counted
from setpoint.program.program import Program
from setpoint.program.rate_table import RateTable
from setpoint.rules import Rule
from setpoint.search.columns import ColumnStore
from setpoint.search.limits import Limits

__all__ = ["AchievableSet", "Expected", "MixtureWeights", "Priced", "mixed_of"]

MixtureWeights: TypeAlias = Sequence[dict[int, float]]
"""For each block, columns and their probabilities."""


def mixed_of(choices: Sequence[MixtureWeights], shares: Sequence[float]) -> MixtureWeights:
    """A draw among choices, block by block."""
    out: list[dict[int, float]] = [{} for _ in choices[0]]
    for choice, share in zip(choices, shares, strict=True):
        for block, part in zip(out, choice, strict=True):
            for k, p in part.items():
                block[k] = block.get(k, 0.0) + share * p
    return out


class Priced(NamedTuple):
    """The best column of each block for one linear objective."""

    columns: NDArray[np.int64]
    values: Floats


@dataclass(frozen=True)
class Expected:
    """A rule by soft evidence: what is to be expected if the posteriors are right."""

    objective: float
    violation: float
    calibration: float | None


class AchievableSet(ABC):
    """The achievable features: a sum over blocks of mixtures of columns."""

    evidence: Counted
    is_certain = True
    otherwise = "a black-box method may"
    smoothing: tuple[float, ...] = ()

    def __init__(self, rates: RateTable, limits: Limits | None = None) -> None:
        self.rates = rates
        self._store = ColumnStore(len(rates))
        self.limits = limits or Limits()

    @property
    def n_calls(self) -> int:
        """Times that columns were priced."""
        return self.limits.calls

    @property
    def d(self) -> int:
        """Number of features."""
        return len(self.rates)

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """Number of blocks."""

    @abstractmethod
    def initial_columns(self, block: int) -> Sequence[int]:
        """The columns that a search begins with."""

    @abstractmethod
    def columns(self, block: int, numbers: Sequence[int]) -> Floats:
        """Features (k, d) of some columns of a block."""

    def numbers(self, block: int, keys: Sequence[int]) -> list[int]:
        """Where some columns stand in :attr:`table`."""
        return self._store.numbers(block, keys, lambda new: self.columns(block, new))

    @property
    def table(self) -> Floats:
        """Features (columns, d) of all columns that were asked for by number."""
        return self._store.features

    @abstractmethod
    def price(self, slopes: Floats) -> Priced:
        """The columns that maximise ``slopes @ features``."""

    @abstractmethod
    def constants(self) -> list[MixtureWeights]:
        """The classifiers that give everyone the same class."""

    def uniform(self) -> MixtureWeights:
        """A fair draw among :meth:`constants`."""
        constants = self.constants()
        return mixed_of(constants, [1.0 / len(constants)] * len(constants))

    @abstractmethod
    def rule(self, choice: MixtureWeights) -> Rule:
        """The rule that a choice stands for."""

    @abstractmethod
    def confusion(self, choice: MixtureWeights) -> Confusion:
        """The expected confusion of a choice."""

    @abstractmethod
    def randomized_share(self, choice: MixtureWeights) -> float:
        """The share of the rows' weight whose decision depends on a draw."""

    def expected(self, program: Program, choice: MixtureWeights) -> Expected | None:
        """What soft evidence says of a choice; None where labels are counted."""
        return None

    def within(self, limits: Limits) -> Self:
        """The same set, its columns shared, under other limits."""
        out = copy(self)
        out.limits = limits
        return out

    def features(self, choice: MixtureWeights) -> Floats:
        """Features (d,) of a choice, expected over its draws."""
        total = np.zeros(self.d)
        for block, part in enumerate(choice):
            total += np.array(list(part.values())) @ self.columns(block, list(part))
        return total

    def features_of_constants(self) -> Floats:
        """Features (k, d) of :meth:`constants`."""
        return np.array([self.features(c) for c in self.constants()])
