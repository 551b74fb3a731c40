"""Surrogates of the top of a ranking: precision at a recall, at K, and where both are equal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.surrogates.losses import Back

__all__ = ["PRBEP", "PrecisionAtK", "PrecisionAtRecall", "TopLoss"]


_SMOOTH = 0.02
"""The cut is a mean over this share of the ranks it is drawn from, so that its slope is not
that of one row."""


@dataclass(frozen=True)
class PrecisionAtRecall:
    """A surrogate of the precision where a given recall is reached.

    The cut is the quantile of the positives' scores that leaves `recall` of them above;
    hinge losses of the negatives and of the positives above it, with the gradient through
    the cut (Mackey, Luo and Eban, "Constrained classification and ranking via quantiles").

    Parameters
    ----------
    recall : float
        Between 0 and 1, both excluded.

    Examples
    --------
    >>> from setpoint import AdaptiveSurrogateClassifier
    >>> from setpoint.surrogates import PrecisionAtRecall
    >>> AdaptiveSurrogateClassifier("g_mean", surrogates=[PrecisionAtRecall(0.9)])
    AdaptiveSurrogateClassifier(goal='g_mean',
                                surrogates=[PrecisionAtRecall(recall=0.9)])
    """

    recall: float

    def __post_init__(self) -> None:
        if isinstance(self.recall, bool) or not 0 < self.recall < 1:
            raise InputError(f"`recall` lies between 0 and 1, got {self.recall!r}")

    def __str__(self) -> str:
        return f"precision at recall {self.recall:g}"


@dataclass(frozen=True)
class PrecisionAtK:
    """A surrogate of the precision among the rows with the `k` largest scores.

    Parameters
    ----------
    k : int or float
        Rows, or below 1 a share of them.

    Examples
    --------
    >>> from setpoint import AdaptiveSurrogateClassifier
    >>> from setpoint.surrogates import PrecisionAtK
    >>> AdaptiveSurrogateClassifier("g_mean", surrogates=[PrecisionAtK(100)])
    AdaptiveSurrogateClassifier(goal='g_mean', surrogates=[PrecisionAtK(k=100)])
    """

    k: float

    def __post_init__(self) -> None:
        whole = self.k >= 1 and not self.k % 1
        if isinstance(self.k, bool) or not (whole or 0 < self.k < 1):
            raise InputError(f"`k` is a whole number of rows, or a share below 1, got {self.k!r}")

    def __str__(self) -> str:
        return f"precision at {self.k:g}"


@dataclass(frozen=True)
class PRBEP:
    """A surrogate of the precision where it equals recall: at K, the number of positives.

    Examples
    --------
    >>> from setpoint import AdaptiveSurrogateClassifier
    >>> from setpoint.surrogates import PRBEP
    >>> AdaptiveSurrogateClassifier("g_mean", surrogates=[PRBEP(), "hinge"])
    AdaptiveSurrogateClassifier(goal='g_mean', surrogates=[PRBEP(), 'hinge'])
    """

    def __str__(self) -> str:
        return "precision-recall break-even point"


@dataclass(frozen=True, eq=False)
class TopLoss:
    """One of the above on rows."""

    kind: PrecisionAtRecall | PrecisionAtK | PRBEP
    true: NDArray[np.int64]
    weight: Floats
    names: tuple[str, ...]

    def values(self, scores: Floats) -> Floats:
        """Losses (m, k) at score vectors (m, n)."""
        return np.array([self._loss(f)[0] for f in scores])[:, None]

    def at(self, scores: Floats) -> tuple[Floats, Back]:
        """Losses at scores (n,), and the way back to rows."""
        loss, slope, (rows, shares) = self._loss(scores)
        slope[rows] -= slope.sum() * shares  # through the cut, which moves with its rows
        return np.array([loss]), lambda c: np.asarray(c[0] * slope)

    def _loss(self, scores: Floats) -> tuple[float, Floats, tuple[NDArray[np.int64], Floats]]:
        """The loss, its slope with the cut held, and of what rows' scores the cut is a mean."""
        rows, shares = self._cut(scores)
        over = 1.0 + scores - shares @ scores[rows]  # by how much negatives pass the cut
        above = self._positive * (over >= 1.0)
        above /= max(above.sum(), 1e-300)
        under = 2.0 - over
        loss = self._negative @ np.maximum(over, 0.0) + above @ np.maximum(under, 0.0)
        slope = self._negative * (over > 0) - above * (under > 0)
        return float(loss), slope, (rows, shares)

    @cached_property
    def _positive(self) -> Floats:
        return np.asarray(self.weight * (self.true == 1))

    @cached_property
    def _negative(self) -> Floats:
        found = self.weight * (self.true == 0)
        return np.asarray(found / found.sum())

    @cached_property
    def _ranked(self) -> tuple[NDArray[np.int64], Floats, float]:
        """The rows that the cut is a quantile of, their weights, and the weight above it."""
        positives = float(self._positive.sum())
        if isinstance(self.kind, PrecisionAtRecall):
            rows = np.flatnonzero(self._positive)
            return rows, self._positive[rows], self.kind.recall * positives
        rows = np.flatnonzero(self.weight)
        weight = self.weight[rows]
        total = float(weight.sum())
        if isinstance(self.kind, PRBEP):
            return rows, weight, positives
        k = self.kind.k
        return rows, weight, k * total if k < 1 else min(k, total)

    def _cut(self, scores: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Rows around the cut, and their shares in it."""
        among, weight, wanted = self._ranked
        order = np.argsort(-scores[among], kind="stable")
        weight = weight[order]
        ends = np.cumsum(weight)
        # The weight of each row within a window of ranks around the one wanted.
        half = max(_SMOOTH * ends[-1], weight.max()) / 2.0
        low, high = max(wanted - half, 0.0), min(wanted + half, ends[-1])
        inside = np.minimum(ends, high) - np.maximum(ends - weight, low)
        near = np.flatnonzero(inside > 0)
        return among[order[near]], inside[near] / inside[near].sum()
