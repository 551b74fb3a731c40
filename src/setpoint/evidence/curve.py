"""Curves: everything that a threshold can do on the rows of one segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence.cutoffs import cutoffs, midway, midways
from setpoint.evidence.hull import hull

if TYPE_CHECKING:
    from setpoint.evidence.evidence import Evidence

__all__ = ["Curve", "curve_of", "plain_threshold"]


@dataclass(frozen=True, eq=False)
class Curve:
    """The distinct cut-offs of one segment."""

    values: Floats
    counts: Floats
    kinds: tuple[tuple[int, int], ...]
    highest: Floats | None = None

    @property
    def n_cutoffs(self) -> int:
        """Number of cut-offs, nobody and everybody included."""
        return int(self.counts.shape[1])

    @cached_property
    def hull(self) -> NDArray[np.int64]:
        """The cut-offs that a linear objective can pick, ascending."""
        if len(self.kinds) == 1:
            return np.array([0, self.n_cutoffs - 1])
        if len(self.kinds) == 2:
            return hull(self.counts[0], self.counts[1])
        return np.arange(self.n_cutoffs)

    def __add__(self, other: Curve) -> Curve:
        """The curve of the rows of both, such as those of two files; blocks are of one score.

        Examples
        --------
        >>> one = Curve(np.array([0.9]), np.array([[0.0, 1.0]]), ((0, 1),))
        >>> two = Curve(np.array([0.5]), np.array([[0.0, 2.0]]), ((0, 1),))
        >>> (one + two).values, (one + two).counts
        (array([0.9, 0.5]), array([[0., 1., 3.]]))
        """
        values = np.union1d(self.values, other.values)[::-1]
        kinds = tuple(sorted({*self.kinds, *other.kinds}))
        counts = np.zeros((len(kinds), len(values) + 1))
        for part in (self, other):
            # So many blocks of the part lie at or above each value.
            above = np.searchsorted(-part.values, -values, side="right")
            at = [kinds.index(kind) for kind in part.kinds]
            counts[at] += part.counts[:, np.concatenate([[0], above])]
        return Curve(values, counts, kinds)

    def piece(self, first: int, last: int) -> Curve:
        """The curve between two cut-offs, both included; counts go on from the first."""
        counts = np.ascontiguousarray(self.counts[:, first : last + 1])
        highest = None if self.highest is None else self.highest[first:last]
        return Curve(self.values[first:last], counts, self.kinds, highest)

    def threshold(self, cutoff: int) -> float:
        """A threshold that accepts exactly the first `cutoff` blocks.

        Examples
        --------
        >>> Curve(np.array([0.9, 0.5]), np.zeros((1, 3)), ((0, 1),)).threshold(1)
        0.7
        """
        return midway(self.values, cutoff, self.highest)

    def thresholds(self, cutoffs: NDArray[np.int64]) -> Floats:
        """The thresholds of several cut-offs."""
        return midways(self.values, cutoffs, self.highest)

    def nearest(self, cutoffs: NDArray[np.int64], plain: float | None) -> int:
        """Which of some cut-offs, ascending, departs least from the plain threshold.

        Examples
        --------
        >>> counts = np.array([[0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 2.0, 2.0]])
        >>> curve = Curve(np.array([0.9, 0.7, 0.2]), counts, ((0, 0), (0, 1)))
        >>> some = np.array([0, 1, 2, 3])
        >>> curve.nearest(some, 0.5), curve.nearest(some, 0.1), curve.nearest(some[:2], 0.5)
        (2, 2, 0)
        """
        if len(cutoffs) == 1:
            return 0
        no, yes = (self._accepted(t, cutoffs) for t in (0, 1))
        last = np.searchsorted(no, no, side="right") - 1
        first = np.searchsorted(yes, yes, side="left")
        left = np.flatnonzero((yes[last] <= yes) & (no[first] >= no))
        if plain is None:
            no, yes = (
                x / max(self._accepted(t, np.array([-1]))[0], 1e-300)
                for t, x in ((0, no), (1, yes))
            )
            return int(left[np.argmax((yes - no)[left])])
        lowest = (self.values if self.highest is None else self.highest, self.values)
        above = np.append(np.nextafter(lowest[0], np.inf), -np.inf)[cutoffs[left]]
        up_to = np.append(np.inf, lowest[1])[cutoffs[left]]
        return int(left[np.argmin(np.maximum(np.maximum(above - plain, plain - up_to), 0.0))])

    def _accepted(self, true: int, cutoffs: NDArray[np.int64]) -> Floats:
        """The accepted weight of a true class at some cut-offs."""
        rows = [k for k, (_, t) in enumerate(self.kinds) if t == true]
        return np.asarray(self.counts[rows][:, cutoffs].sum(axis=0))


def plain_threshold(curves: Sequence[Curve]) -> float | None:
    """The threshold of a plain decision: 0.5 of scores in [0, 1], 0 of others."""
    some = [c for c in curves if len(c.values)]
    low = min((float(c.values[-1]) for c in some), default=0.0)
    high = (
        max(float((c.values if c.highest is None else c.highest)[0]) for c in some) if some else 0.0
    )
    if low >= 0.0 and high <= 1.0:
        return 0.5
    return 0.0 if low < 0.0 < high else None


def curve_of(evidence: Evidence, segment: int) -> Curve:
    """The curve of one segment; see :meth:`Evidence.curve`."""
    rows, book, scores = evidence.rows, evidence.codebook, evidence.scores
    n = book.n_classes + 1
    marginals = evidence.marginals.weights
    strata = np.flatnonzero(book.stratum_segment[: book.n_plain] == segment)
    kinds = [(int(c), t) for c in strata for t in range(n) if marginals[c, t] > 0]
    narrow = np.uint8 if len(kinds) < 256 else np.int64
    place: NDArray[np.integer[Any]] = np.zeros(book.n_plain * n, narrow)
    for k, (c, t) in enumerate(kinds):
        place[c * n + t] = k
    kind: NDArray[np.integer[Any]] = rows.kind
    weight, measures = rows.weight, rows.by_measure
    if len(book.segments) > 1:
        own = np.flatnonzero(rows.segment == segment)
        scores, kind = scores[own], kind[own]
        weight = None if weight is None else weight[own]
        measures = tuple(w[own] for w in measures)
    if [c * n + t for c, t in kinds] != list(range(len(kinds))):
        kind = place[kind]
    values, counts = cutoffs(scores, kind, weight, len(kinds), measures)
    if measures:
        copies = [(c + k * book.n_plain, t) for k in range(len(measures) + 1) for c, t in kinds]
        some = np.array([counts[i, -1] > 0 for i in range(len(copies))], np.bool_)
        counts = np.ascontiguousarray(counts[some])
        kinds = [kind for kind, there in zip(copies, some, strict=True) if there]
    return Curve(values, counts, tuple(kinds))
