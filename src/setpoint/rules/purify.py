"""Few atoms with the same mean: Caratheodory's theorem, step by step."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["purify"]

Floats: TypeAlias = NDArray[np.float64]

_DROP = 1e-15
"""A probability below this is rounding."""
_DEPENDENT = 1e-14
"""Points this near to affine dependence, in units of their spread, count as dependent."""
_TARGET_TOLERANCE = 1e-6


def purify(
    points: ArrayLike, probabilities: ArrayLike, target: ArrayLike | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """Find a convex combination of at most d + 1 of the points with the same mean.

    Points enter one by one, the likeliest first. Whenever those at hand are affinely
    dependent, probability is shifted along the dependence, which leaves the mean as it
    is, until one of them has none left. At the end the probabilities are solved for
    once more, so that rounding does not add up.

    Parameters
    ----------
    points : array, (T, d)
        Finite. Coordinates may differ in scale.
    probabilities : array, (T,)
        Not negative; sum to 1 within 1e-9.
    target : array, (d,), optional
        The mean to hit, where `probabilities` carry the rounding of a solver; within
        1e-6 of their mean, in units of each coordinate's largest size. Hit exactly
        where the atoms that are left can hit it. None: the mean itself.

    Returns
    -------
    indices : int64 array, (k,)
        Ascending, k <= d + 1.
    probabilities : float64 array, (k,)
        Positive, sum 1. The mean agrees to 1e-12 of each coordinate's largest size.

    Raises
    ------
    ValueError
        If a shape is wrong, a number is not finite, the probabilities are not such, or
        the target is far from their mean.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> indices, p = purify(points, [0.25, 0.25, 0.25, 0.25])
    >>> len(indices), float(p @ points[indices, 0])
    (2, 1.5)
    """
    x, p = _checked(points, probabilities)
    d = x.shape[1]
    mean = p @ x
    size = np.maximum(np.abs(x).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    goal = mean
    if target is not None:
        goal = np.asarray(target, dtype=np.float64)
        if goal.shape != (d,) or not np.isfinite(goal).all():
            raise ValueError(f"target must be finite, of shape ({d},)")
        if (np.abs(goal - mean) > _TARGET_TOLERANCE * size).any():
            raise ValueError(f"target {goal} is far from the mean {mean} of the points")

    used = np.flatnonzero(p > _DROP)
    spread = np.abs(x[used] - goal).max(axis=0)
    # columns (point, 1), centred at the goal and scaled: what is wanted is their mean (0, 1)
    columns = np.ones((d + 1, len(x)))
    columns[:d] = ((x - goal) / np.where(spread > 0.0, spread, 1.0)).T

    atoms: list[int] = []
    for entering in used[np.argsort(-p[used], kind="stable")].tolist():
        atoms.append(entering)
        if len(atoms) > d + 1:
            atoms = _shifted(p, atoms, _null_vector(columns[:, atoms]))
    while len(atoms) > 1:
        direction = _dependence(columns[:, atoms])
        if direction is None:
            break
        atoms = _shifted(p, atoms, direction)
    indices = np.array(sorted(atoms), dtype=np.int64)
    return indices, _polished(columns[:, indices], p[indices])


def _checked(points: ArrayLike, probabilities: ArrayLike) -> tuple[Floats, Floats]:
    x = np.asarray(points, dtype=np.float64)
    p = np.array(probabilities, dtype=np.float64)
    if x.ndim != 2 or len(x) < 1:
        raise ValueError(f"points must have shape (T, d) with T at least 1, got {x.shape}")
    if p.shape != (len(x),):
        raise ValueError(f"probabilities must have shape ({len(x)},), got {p.shape}")
    if not np.isfinite(x).all():
        raise ValueError("points must be finite")
    if not (p >= 0.0).all() or not abs(p.sum() - 1.0) <= 1e-9:
        raise ValueError("probabilities must not be negative and must sum to 1")
    return x, p / p.sum()


def _null_vector(columns: Floats) -> Floats:
    """Find a vector that d + 1 rows of d + 2 columns take to 0."""
    return np.array(np.linalg.qr(columns.T, mode="complete")[0][:, -1])


def _dependence(columns: Floats) -> Floats | None:
    """Find a vector that the columns take to 0; None where they are independent."""
    _, singular, right = np.linalg.svd(columns)
    return None if singular[-1] > _DEPENDENT * singular[0] else np.array(right[-1])


def _shifted(p: Floats, atoms: list[int], direction: Floats) -> list[int]:
    """Move along `direction`, the way that ends sooner; return the atoms with something left."""
    part = p[atoms]
    steps = np.full(len(atoms), np.inf)
    moving = direction != 0.0
    with np.errstate(over="ignore"):
        steps[moving] = part[moving] / np.abs(direction[moving])
    first = int(steps.argmin())
    sign = 1.0 if direction[first] > 0.0 else -1.0
    part -= sign * steps[first] * direction
    part[first] = 0.0
    p[atoms] = np.maximum(part, 0.0)
    return [i for i in atoms if p[i] > _DROP]


def _polished(columns: Floats, p: Floats) -> Floats:
    """Solve for the mean (0, 1) anew from `p`; `p` stays where that would turn negative."""
    wanted = np.zeros(len(columns))
    wanted[-1] = 1.0
    best: Floats = p / p.sum()
    error = np.abs(columns @ best - wanted).max()
    for _ in range(3):
        change = np.linalg.lstsq(columns, wanted - columns @ best, rcond=None)[0]
        trial = best + change
        if not (trial > 0.0).all():
            break
        trial /= trial.sum()
        reached = np.abs(columns @ trial - wanted).max()
        if not reached < error:
            break
        best, error = trial, reached
    return best
