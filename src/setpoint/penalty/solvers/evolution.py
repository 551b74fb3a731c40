"""A (1+1) evolution strategy on the goal itself, for models of few parameters.

A step in a random direction is as long as is best: all classifiers on a line through the
coefficients are judged exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.penalty.candidates import Pool
from setpoint.penalty.cuts import best_cut
from setpoint.penalty.plan import DivergedError
from setpoint.penalty.solvers.along import contenders

__all__ = ["MOST_PARAMETERS", "polish"]


MOST_PARAMETERS = 40
"""Beyond so many a random direction is hardly ever better."""

_ROUNDS = ((160, 60), (40, 150), (8, 500))
"""How many starts go on, and for how many steps each: the best go further."""
_ROWS_SEEN = 60_000_000
"""Steps times rows: more rows, fewer steps, from a tenth to all of the rounds."""
_FEWEST = 0.1
_FLATTEST = 1e-8
"""Of the largest variance: directions with less are left as they are."""


def polish(
    X: Any,
    pool: Pool[Floats],
    name: str,
    rng: np.random.Generator,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Go on from the candidates, and from random directions, to what reaches more."""
    starts = [c.parameters for c in sorted(pool.best.values(), key=lambda c: c.cut.rank)[::-1]]
    whitener, spreader = _whitening(X, name)
    white = np.asarray(X @ whitener)
    rows = np.column_stack([white, np.ones(len(white))])
    n_random = max(_ROUNDS[0][0] - len(starts), 0)
    drawn = rng.normal(size=(n_random, white.shape[1]))
    points = [*(spreader @ start[:-1] for start in starts), *drawn]
    weight = _summable(np.ones(len(rows)) if pool.weight is None else pool.weight)
    climbers = [_Climber(point, rows, weight, pool) for point in points]
    wanted = sum(n * steps for n, steps in _ROUNDS)
    part = min(max(_ROWS_SEEN / len(rows) / wanted, _FEWEST), 1.0)
    best: tuple[float, ...] = ()
    for n_kept, steps in _ROUNDS:
        climbers = sorted(climbers, key=lambda c: c.rank)[::-1][:n_kept]
        for climber in climbers:
            for _ in range(int(part * steps)):
                tick()
                climber.step(rng)
            if climber.rank > best:
                best, u = climber.rank, climber.at[:-1].copy()
                pool.offer(name, white @ u, lambda u=u: np.append(whitener @ u, 0.0))


def _whitening(X: Any, name: str) -> tuple[Floats, Floats]:
    """From whitened coefficients to coefficients, and back."""
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = np.cov(dense, rowvar=False).reshape(2 * (X.shape[1],))
    if not np.isfinite(covariance).all():
        raise DivergedError(name, "the features are too large to be whitened; it was left out")
    values, vectors = np.linalg.eigh(covariance)
    spread = np.sqrt(np.maximum(values, _FLATTEST * max(values.max(), 1e-300)))
    return vectors / spread, (vectors * spread).T


def _summable(weight: Floats) -> Floats:
    """Weights of so many digits that sums are the same in any order: what is equal looks it."""
    unit = 2.0 ** (np.ceil(np.log2(weight.sum())) - 52.0)
    return np.asarray(np.round(weight / unit) * unit)


class _Climber:
    """A classifier, intercept last, that moves to whatever is not worse."""

    def __init__(self, start: Floats, rows: Floats, weight: Floats, pool: Pool[Floats]) -> None:
        self.rows, self.weight, self.pool = rows, weight, pool
        norm = float(np.linalg.norm(start))
        start = start / norm if norm > 0 else np.eye(len(start))[0]
        cut = best_cut(pool.goal, rows[:, :-1] @ start, pool.true, weight, pool.least)
        self.at = np.append(start, -cut.shift)
        self.scores = rows @ self.at
        self.rank = (*cut.rank, cut.A - cut.B)
        """Of equals the one that accepts fewer negatives is on its way."""

    def step(self, rng: np.random.Generator) -> None:
        """Go to the best point of a line in a random direction."""
        pool = self.pool
        direction = rng.normal(size=len(self.at))
        moves = self.rows @ direction
        violation, value = -self.rank[0], self.rank[1]
        A, B, at = contenders(
            pool.goal, self.scores, moves, pool.true, self.weight, violation, value
        )
        best = pool.goal.best(A, B, pool.least)
        j = best.cutoff
        if j < 0:
            return
        rank = (-best.violation, best.value, float(A[j] - B[j]))
        if rank < self.rank or not np.isfinite(at[j]):
            return
        there = self.at + at[j] * direction
        there /= np.linalg.norm(there)
        self.at, self.scores, self.rank = there, self.rows @ there, rank
