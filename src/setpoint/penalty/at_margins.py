"""Iterates that are worth trying on rows that certify: the best one at each of some margins.

The best iterate of all lies on its bounds, and overfits them. Those that reach a little less and
lie further inwards are kept beside it, so that there is a path from safe to bold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from setpoint.array_types import Floats
from setpoint.deciding import FitData, promise_of, times_of
from setpoint.guarantees.promise import RuleTests
from setpoint.inputs.inputs import CheckedData
from setpoint.program.link import link
from setpoint.rules import Threshold

__all__ = ["AtMargins", "at_margins"]

T = TypeVar("T")

_AT = np.array([40.0, 20.0, 12.0, 8.0, 6.0, 4.5, 3.5, 2.5, 1.5, 0.5, -1.0])
"""Standard errors of the rows that certify; where those that choose were trained on, they flatter,
and the far ones are needed."""

_MOST = 48
"""Cut-offs of an iterate that are looked at."""


class AtMargins(Generic[T]):
    """The best at each margin of what was offered."""

    def __init__(self, tests: RuleTests, squares: Any, times: Floats, least: float) -> None:
        self.tests, self.squares, self.times, self.least = tests, squares, times, least
        self.best: list[T | None] = [None] * len(_AT)
        self.values = np.full(len(_AT), -np.inf)

    def offer(self, A: Floats, B: Floats, make: Callable[[], T]) -> None:
        """Keep an iterate where it is better than those before."""
        # Of equal A the first has the fewest negatives, and a goal of this family likes it best.
        at = np.unique(np.searchsorted(A, np.linspace(0.0, A[-1], _MOST + 1)))
        at = np.append(at[A[at] + B[at] >= self.least], len(A) - 1)
        a, b = A[at], B[at]
        # By true class (the last: not known) and decided class.
        counts = np.stack([B[-1] - b, b, A[-1] - a, a, 0.0 * a, 0.0 * a])
        margins = self.tests.margins(counts, self.squares, self.times)
        scores = np.nan_to_num(self.tests.scores(counts), nan=-np.inf)
        reached = np.where(margins >= _AT[:, None], scores, -np.inf).max(axis=1)
        better = np.flatnonzero(reached > self.values)
        if not len(better):
            return
        made = make()
        for i in better.tolist():
            self.best[i], self.values[i] = made, reached[i]

    @property
    def kept(self) -> list[T]:
        """What is best at some margin, each once, from safe to bold."""
        return list({id(x): x for x in self.best if x is not None}.values())


def at_margins(data: FitData, judged: CheckedData, least: float) -> AtMargins[Any] | None:
    """An empty one of the rows that choose; None where nothing is certified."""
    if data.certifying is None or data.promised is None:
        return None
    rows = judged.evidence({None: np.zeros(judged.n_rows[None])})
    tested = data.certifying.evidence(lambda X: np.zeros(X.shape[0]))
    promise = promise_of(link(data.goal, rows.codebook), data.promised)
    squares = rows.confusion(Threshold(0.0))
    return AtMargins(promise.tests(rows.marginals), squares, times_of(rows, tested), least)
