"""Counted data: what searches ask, whatever holds the rows; and rows known by bins of scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from setpoint.array_types import Bools, Codes, Floats
from setpoint.counts.codebook import Codebook, Marginals
from setpoint.counts.confusion import BinCounts, Confusion
from setpoint.counts.curves import Curve
from setpoint.errors import InputError, SetpointError
from setpoint.goals import Key, Label

# --- Counted data: rows in memory, or counts of rows out of core ----------------------------------


class Decider(Protocol):
    """A rule, as far as counting it needs to know."""

    @property
    def needs_segments(self) -> bool:
        """Whether a decision looks at the row's segment."""
        ...

    def distribution(self, scores: ArrayLike, segments: ArrayLike | None = None) -> Floats:
        """The probability (N, n) with which each row is decided each class."""
        ...


class Counted(ABC):
    """Rows of a codebook by what counting them gives: marginals, curves and confusions of rules."""

    if TYPE_CHECKING:  # a field of a subclass takes no default from here

        @property
        def codebook(self) -> Codebook: ...

        @property
        def marginals(self) -> Marginals: ...  # by labels, or by posteriors

        @property
        def n_rows(self) -> int: ...

        @property
        def n_scores(self) -> int | None: ...  # columns of the scores; None: one score a row

        @property
        def is_weighted(self) -> bool: ...  # by weights, or by what rows count by measures

    @abstractmethod
    def confusion(self, rule: Decider) -> Confusion:
        """What a rule does, in expectation over its draws, counted by labels."""

    @abstractmethod
    def _curve(self, segment: int) -> Curve:
        """The curve of one segment."""

    def curve(self, segment: int) -> Curve:
        """Binary: the cut-offs of one segment with prefix sums of the counts, ties one block.

        Sorted once: solver, frontier and pictures ask for the same.
        """
        if segment not in self._curves:
            self._curves[segment] = self._curve(segment)
        return self._curves[segment]

    @cached_property
    def _curves(self) -> dict[int, Curve]:
        return {}

    def confusion_of_accepted(self, accepted: Floats, deferred: Floats | None = None) -> Confusion:
        """Two classes, no weights: from how many are accepted by stratum and true class.

        Where rules may defer, `deferred` holds those that are.
        """
        book, held = self.codebook, self.marginals
        parts = [accepted] if deferred is None else [accepted, deferred]
        counts = np.stack([held.weights - sum(parts), *parts], axis=2)
        rows = held.weights.astype(np.int64)
        return Confusion(book, counts, counts[None, None], rows, held.smallest)

    @property
    def segment_weights(self) -> Floats:
        """The weight (segments,) of the rows of each segment."""
        book = self.codebook
        held = self.marginals.weights[: book.n_plain].sum(axis=1)
        at = book.stratum_segment[: book.n_plain]
        return np.asarray(np.bincount(at, held, len(book.segments)), np.float64)

    @property
    def classes(self) -> tuple[Label, ...]:
        """With two classes, (negative, positive)."""
        return self.codebook.classes

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.codebook.n_classes

    @property
    def segments(self) -> tuple[Key, ...]:
        """The segments, in the order of a rule's codes."""
        return self.codebook.segments


# --- Tallies: rows of two classes, known by counts of bins of their scores alone ------------------

# A bin whose lowest and highest score are equal is closed: it is one distinct score. Cut-offs
# between bins are true cut-offs with true counts; those inside an open bin are not known, but for
# the box that their counts lie in.


class ChangedTableError(SetpointError, RuntimeError):
    """Two passes over a table do not agree."""


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of one segment, in descending order of score."""

    low: Floats
    high: Floats
    counts: Codes
    kinds: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        # A bin above another one, and none reaches into the next.
        if (self.high < self.low).any() or (self.low[:-1] <= self.high[1:]).any():
            raise ChangedTableError(
                "bins of scores overlap: this engine does not compare numbers as it stores them, "
                "or the scores changed while they were counted"
            )

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.low)

    @property
    def is_open(self) -> Bools:
        """Whether a bin (m,) holds several scores."""
        return self.low < self.high

    @classmethod
    def of_lines(cls, lines: BinCounts, kinds: tuple[tuple[int, int], ...]) -> Bins:
        """The bins of lines of one segment, by stratum and class."""
        numbers, place = np.unique(-lines.bin, return_inverse=True)
        m = len(numbers)
        low, high = np.full(m, np.inf), np.full(m, -np.inf)
        np.minimum.at(low, place, lines.low)
        np.maximum.at(high, place, lines.high)
        index = {kind: k for k, kind in enumerate(kinds)}
        kind = np.array(
            [index[stratum, true] for stratum, true in lines.codes.T.tolist()], np.int64
        )
        counts = np.zeros((3, len(kinds), m), np.int64)
        for part, values in zip(counts, (lines.rows, lines.weight, lines.squares), strict=True):
            np.add.at(part, (kind, place), values)
        # A zero of either sign is one score.
        return cls(low + 0.0, high + 0.0, counts, kinds)

    def replaced(self, ranges: list[tuple[int, int]], new: Bins) -> Bins:
        """The bins with some ranges of them, first and last, counted again."""
        parts: list[Bins] = []
        start = 0
        for first, last in ranges:
            inside = (new.high <= self.high[first]) & (new.low >= self.low[last])
            again = new._piece(inside)
            before = self._piece(slice(first, last + 1))
            same = len(again.low) > 0 and (
                again.low[-1] == before.low[-1] and again.high[0] == before.high[0]
            )
            if not same or (again.counts.sum(axis=2) != before.counts.sum(axis=2)).any():
                raise ChangedTableError(
                    "the table changed between two passes, or is another one each time (a view "
                    "with a random number or a moving window in it), or this engine does not "
                    "compare numbers as it stores them: count a table that stays, such as a copy"
                )
            parts += [self._piece(slice(start, first)), again]
            start = last + 1
        parts.append(self._piece(slice(start, self.n_bins)))
        return Bins(
            np.concatenate([p.low for p in parts]),
            np.concatenate([p.high for p in parts]),
            np.concatenate([p.counts for p in parts], axis=2),
            self.kinds,
        )

    def _piece(self, which: slice | Bools) -> Bins:
        return Bins(self.low[which], self.high[which], self.counts[:, :, which], self.kinds)


@dataclass(frozen=True, eq=False)
class Tally(Counted):
    """Counts of bins of scores: what a search needs of rows out of core.

    Examples
    --------
    >>> bins = Bins(np.array([0.5, 0.1]), np.array([0.9, 0.1]), np.array([[[1, 2], [3, 0]]] * 3),
    ...             ((0, 0), (0, 1)))
    >>> tally = Tally(Codebook.of(("no", "yes")), (bins,), np.array([[1.0, 1.0, np.inf]]))
    >>> tally.marginals.weights, tally.curve(0).counts
    (array([[3., 3., 0.]]), array([[0., 1., 3.], [0., 3., 3.]]))
    """

    codebook: Codebook
    bins: tuple[Bins, ...]
    smallest: Floats
    unit: float = 1.0
    is_weighted: bool = False

    @classmethod
    def of_lines(
        cls,
        codebook: Codebook,
        lines: BinCounts,
        unit: float = 1.0,
        is_weighted: bool = False,
    ) -> Tally:
        """The tally of lines counted by stratum and class, bins by one binning."""
        present = np.zeros((len(codebook.strata), codebook.n_classes + 1), np.int64)
        smallest = np.full(present.shape, np.inf)
        np.add.at(present, tuple(lines.codes), lines.rows)
        np.minimum.at(smallest, tuple(lines.codes), lines.least)
        bins = []
        for segment in range(len(codebook.segments)):
            strata = np.flatnonzero(codebook.stratum_segment == segment)
            kinds = tuple((int(c), t) for c in strata for t in range(3) if present[c, t] > 0)
            own = lines.take(codebook.stratum_segment[lines.codes[0]] == segment)
            bins.append(Bins.of_lines(own, kinds))
        return cls(codebook, tuple(bins), smallest, unit, is_weighted)

    def refined(self, ranges: dict[int, list[tuple[int, int]]], lines: BinCounts) -> Tally:
        """The tally with some ranges of bins of each segment counted again."""
        bins = list(self.bins)
        segment = self.codebook.stratum_segment[lines.codes[0]]
        for s, own in ranges.items():
            mine = lines.take(segment == s)
            inside = np.zeros(len(mine.low), bool)
            for first, last in own:
                inside |= (mine.low >= bins[s].low[last]) & (mine.high <= bins[s].high[first])
            try:
                new = Bins.of_lines(mine.take(inside), bins[s].kinds)
            except KeyError:
                raise ChangedTableError(
                    "rows of a kind that was not there before: the table changed between two passes"
                ) from None
            bins[s] = bins[s].replaced(own, new)
        return replace(self, bins=tuple(bins))

    n_scores = None

    @cached_property
    def totals(self) -> Codes:
        """Rows, weight and squared weight (3, strata, 3), in whole units."""
        out = np.zeros((3, len(self.codebook.strata), 3), np.int64)
        for bins in self.bins:
            for k, (stratum, true) in enumerate(bins.kinds):
                out[:, stratum, true] += bins.counts[:, k].sum(axis=1)
        return out

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.totals[0].sum())

    @cached_property
    def marginals(self) -> Marginals:
        """The weight by stratum and true class."""
        return Marginals(self.totals[1] * self.unit, self.smallest)

    def _curve(self, segment: int) -> Curve:
        """The cut-offs between the bins of a segment."""
        bins = self.bins[segment]
        counts = np.zeros((len(bins.kinds), bins.n_bins + 1))
        # Summed as whole numbers: as floats the order would matter.
        counts[:, 1:] = np.cumsum(bins.counts[1], axis=1) * self.unit
        return Curve(bins.low, counts, bins.kinds, bins.high)

    def confusion(self, rule: Decider) -> Confusion:
        """What a rule does whose thresholds lie between bins."""
        counts = np.zeros((3, len(self.codebook.strata), 3, 2))
        for s, bins in enumerate(self.bins):
            segment = np.full(bins.n_bins, s) if rule.needs_segments else None
            decided = rule.distribution(bins.low, segment)
            if (decided != rule.distribution(bins.high, segment)).any():
                raise InputError("a threshold of the rule lies inside a bin: count the rows by it")
            for k, (stratum, true) in enumerate(bins.kinds):
                counts[:, stratum, true] = bins.counts[:, k] @ decided
        squares = counts[None, None, 2] * self.unit
        return Confusion(
            self.codebook, counts[1] * self.unit, squares, self.totals[0], self.smallest
        )
