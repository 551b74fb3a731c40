"""Whether what a search found is taken: only beyond a standard error of the gain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setpoint.goals.errors import EmptyPopulationError, MetricError
from setpoint.search.metered import Measured

__all__ = ["drawn_rows", "gain_error"]

Floats = NDArray[np.float64]

_TRIES = 10


def drawn_rows(metric: Measured, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows drawn with replacement, as many of each class as there are."""
    sides = [np.flatnonzero(metric.true == side) for side in (0, 1)]
    return np.concatenate([rng.choice(rows, len(rows)) for rows in sides])


def gain_error(
    metric: Measured,
    scores: Floats,
    n_draws: int,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> tuple[float, Floats]:
    """The bootstrap standard error of a gain, and the values that it comes from.

    Parameters
    ----------
    metric : Measured
    scores : array of shape (2, n)
        Of two models; the same rows are drawn for both.
    n_draws : int
        Each costs two evaluations.
    rng : Generator
    n_jobs : int, optional
        Processes, for a metric that is called.

    Returns
    -------
    error : float
    values : array of shape (draws, 2)
        In the user's units. A draw that leaves a group of the goal empty is made anew; one
        on which a function fails is left out.
    """
    draws = [drawn_rows(metric, rng) for _ in range(n_draws)]
    if metric.one_by_one and n_jobs not in (None, 1):
        from joblib import Parallel, delayed

        values = Parallel(n_jobs=n_jobs, backend="loky")(
            delayed(_value)(metric, scores, rows) for rows in draws
        )
    else:
        values = [_value(metric, scores, rows) for rows in draws]
    for _ in range(0 if metric.one_by_one else _TRIES):
        for i in [i for i, v in enumerate(values) if v is None]:
            values[i] = _value(metric, scores, drawn_rows(metric, rng))
    found = np.array([v for v in values if v is not None]).reshape(-1, 2)
    if len(found) < 2:
        return float("inf"), found
    return float(np.std(found[:, 0] - found[:, 1], ddof=1)), found


def _value(metric: Measured, scores: Floats, rows: NDArray[np.int64]) -> Floats | None:
    try:
        return metric.taken(rows)(scores[:, rows])
    except (EmptyPopulationError, MetricError):
        return None
