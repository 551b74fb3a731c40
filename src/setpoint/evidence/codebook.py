"""Codebooks: the classes, strata and columns of some data; and the weight of the rows in each.

A codebook is made once, of the rows that are there first, and is all that a goal is linked to.
Later rows are encoded into the strata that it knows, whether or not each has some.
Marginals are what counting its rows before any decision gives: they add up over parts of the
data, and a linked goal takes any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.errors import InputError
from setpoint.evidence.measures import Measure
from setpoint.evidence.strata import Stratum, segments_of
from setpoint.goals.errors import GoalError
from setpoint.goals.populations import Key, Label

__all__ = ["DEFERRED", "Codebook", "Deferred", "Marginals", "with_measures"]


class Deferred(str):
    """The answer that is not a class; the last of the classes of a codebook whose rules defer."""

    __slots__ = ()


DEFERRED = Deferred("defer")


@dataclass(frozen=True, eq=False)
class Codebook:
    """What distinguishes the rows, before any is counted."""

    classes: tuple[Label, ...]
    strata: tuple[Stratum, ...]
    columns: dict[str | None, tuple[str, ...]]
    decide_on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.labels) < 2:
            raise InputError(f"a codebook has at least two classes, got {self.classes}")

    @property
    def n_classes(self) -> int:
        """Number of classes, of which DEFERRED may be one."""
        return len(self.classes)

    @cached_property
    def defers(self) -> bool:
        """Whether a rule may defer."""
        return isinstance(self.classes[-1], Deferred)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes that rows have."""
        return self.classes[:-1] if self.defers else self.classes

    @property
    def positive(self) -> int | None:
        """Code of the positive class: 1 with two classes, else None."""
        return 1 if len(self.labels) == 2 else None

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """By what rows count beside once each, in the order of the copies of the strata."""
        return tuple(dict.fromkeys(s.measure for s in self.strata if s.measure is not None))

    @cached_property
    def n_plain(self) -> int:
        """The number of strata that rows are encoded into."""
        return sum(s.measure is None for s in self.strata)

    @property
    def segments(self) -> tuple[Key, ...]:
        """The segments, in the order of a rule's codes."""
        return self._segments[0]

    @property
    def stratum_segment(self) -> Codes:
        """The segment of each stratum (strata,)."""
        return self._segments[1]

    @cached_property
    def _segments(self) -> tuple[tuple[Key, ...], Codes]:
        return segments_of(self.strata, self.decide_on)

    @property
    def hides_strata(self) -> bool:
        """Whether there are strata that a rule cannot tell apart."""
        return self.n_plain > len(self.segments)

    def place_of(self, measure: Measure) -> int:
        """How far behind a stratum its copy by a measure stands."""
        return self.n_plain * (1 + self.measures.index(measure))

    def __or__(self, other: Codebook) -> Codebook:
        """The strata of both, those of this one first."""
        if self.classes != other.classes or self.decide_on != other.decide_on:
            raise GoalError("evidence to be joined has other classes or another `decide_on`")
        plain = dict.fromkeys(s for s in self.strata + other.strata if s.measure is None)
        strata = with_measures(tuple(plain), sorted({*self.measures, *other.measures}, key=_order))
        return Codebook(self.classes, strata, {**self.columns, **other.columns}, self.decide_on)

    @classmethod
    def of(cls, classes: tuple[Label, ...], strata: tuple[Stratum, ...] = (Stratum(),)) -> Codebook:
        """The codebook of strata whose keys name all columns."""
        return cls(classes, strata, {c.dataset: tuple(k for k, _ in c.key) for c in strata})


def with_measures(strata: tuple[Stratum, ...], measures: Sequence[Measure]) -> tuple[Stratum, ...]:
    """Strata, and a copy of them all for each measure.

    Examples
    --------
    >>> [str(s) for s in with_measures((Stratum(),), [Measure("amount")])]
    ['all rows', 'by amount']
    """
    return strata + tuple(replace(s, measure=m) for m in measures for s in strata)


def _order(measure: Measure) -> tuple[str, int]:
    return measure.column, -measure.sign


@dataclass(frozen=True, eq=False)
class Marginals:
    """The weight of the rows by stratum and true class, the same for every decision."""

    weights: Floats
    smallest: Floats

    def __post_init__(self) -> None:
        if self.weights.shape != self.smallest.shape:
            raise InputError(
                f"`smallest` has shape {self.smallest.shape}, weights {self.weights.shape}"
            )

    def __add__(self, other: Marginals) -> Marginals:
        """Those of the rows of both, under one codebook."""
        smallest = np.minimum(self.smallest, other.smallest)
        return Marginals(self.weights + other.weights, smallest)

    @classmethod
    def of_counts(cls, counts: Floats) -> Marginals:
        """The marginals of counts (strata, n + 1, n) of unit rows, for tests and examples.

        Examples
        --------
        >>> Marginals.of_counts(np.array([[[5.0, 1.0], [2.0, 4.0], [0.0, 0.0]]])).weights
        array([[6., 6., 0.]])
        """
        weights = np.asarray(counts.sum(axis=2))
        return cls(weights, np.where(weights > 0, 1.0, np.inf))
