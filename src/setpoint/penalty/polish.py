"""A (1+1) evolution strategy on the goal itself, for models of few parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.penalty.cuts import Cut
from setpoint.penalty.plan import DiedError
from setpoint.penalty.pool import Pool

__all__ = ["MOST_PARAMETERS", "polish"]

Floats = NDArray[np.float64]

MOST_PARAMETERS = 40
"""Beyond so many a random direction is hardly ever better."""

_ROUNDS = ((64, 200), (24, 400), (6, 600))
"""How many starts go on, and for how many evaluations each: the best go further."""
_ROWS_SEEN = 80_000_000
"""Evaluations times rows: more rows, fewer evaluations, from a fifth to all of the rounds."""
_GROW, _SHRINK = 1.5, 1.5**-0.25
"""The one-fifth rule."""
_TAIL = 1.5
"""Sizes of single steps vary by exp of a normal with this deviation: plateaus are wide."""
_WIDEST, _NARROWEST = 0.5, 1e-4
_FLATTEST = 1e-8
"""Of the largest variance: directions with less are left as they are."""


def polish(
    X: Any,
    pool: Pool[Floats],
    name: str,
    rng: np.random.Generator,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Search directions whose best threshold reaches more.

    The goal does not change with the length of the coefficients nor with the intercept, so
    directions on the sphere are searched, after whitening: the best direction is often the
    difference of two features that are nearly the same. Violations rank before the objective:
    from an infeasible start this is a phase 1.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows that choose.
    pool : Pool
        Its candidates are the starts, beside random ones.
    name : str
    rng : Generator

    Raises
    ------
    DiedError
        If the features have no finite covariance.
    """
    starts = [c.parameters for c in sorted(pool.best.values(), key=lambda c: c.cut.rank)[::-1]]
    whitener, spreader = _whitening(X)
    white = np.asarray(X @ whitener)
    if not np.isfinite(white).all():
        raise DiedError(f"{name}: features are too large to be whitened; it was left out")
    points = [spreader @ start[:-1] for start in starts]
    n_random = max(_ROUNDS[0][0] - len(points), 0)
    points += [rng.normal(size=len(points[0])) for _ in range(n_random)]

    def judged(u: Floats) -> Cut:
        cut = pool.offer(name, white @ u, lambda: np.append(whitener @ u, 0.0))
        assert cut is not None
        return cut

    climbers = [_Climber(point, judged) for point in points]
    wanted = sum(n * evaluations for n, evaluations in _ROUNDS)
    part = min(max(_ROWS_SEEN / len(white) / wanted, 0.2), 1.0)
    for n_kept, evaluations in _ROUNDS:
        climbers = sorted(climbers, key=lambda c: c.rank)[::-1][:n_kept]
        for climber in climbers:
            climber.climb(int(part * evaluations), rng, tick)


def _whitening(X: Any) -> tuple[Floats, Floats]:
    """From whitened coefficients to coefficients, and back."""
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    covariance = np.cov(dense, rowvar=False).reshape(2 * (X.shape[1],))
    if not np.isfinite(covariance).all():
        return np.full_like(covariance, np.nan), covariance
    values, vectors = np.linalg.eigh(covariance)
    spread = np.sqrt(np.maximum(values, _FLATTEST * max(values.max(), 1e-300)))
    return vectors / spread, (vectors * spread).T


class _Climber:
    """One point on the sphere that moves to whatever is not worse."""

    def __init__(self, start: Floats, judged: Callable[[Floats], Cut]) -> None:
        self.judged = judged
        norm = float(np.linalg.norm(start))
        self.at = start / norm if norm > 0 else np.eye(len(start))[0]
        self.size = _WIDEST
        self.cut = judged(self.at)

    @property
    def rank(self) -> tuple[float, ...]:
        """As candidates rank; of equals the one that accepts fewer negatives is on its way."""
        return _rank(self.cut)

    def climb(self, evaluations: int, rng: np.random.Generator, tick: Callable[[], None]) -> None:
        """Try so many steps; their size follows the one-fifth rule."""
        d = len(self.at)
        for _ in range(evaluations):
            tick()
            size = self.size * np.exp(_TAIL * rng.normal())
            there = self.at + rng.normal(size=d) * (size / np.sqrt(d))
            there /= np.linalg.norm(there)
            cut = self.judged(there)
            if _rank(cut) > self.rank:
                self.size = min(self.size * _GROW, _WIDEST)
            if _rank(cut) >= self.rank:
                self.at, self.cut = there, cut
                continue
            self.size *= _SHRINK
            if self.size < _NARROWEST:
                self.size = _WIDEST


def _rank(cut: Cut) -> tuple[float, ...]:
    return (*cut.rank, cut.A - cut.B)
