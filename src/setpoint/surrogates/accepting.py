"""Whether what a search found is taken: only beyond standard errors of the gain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setpoint.blackbox.budget import BudgetedMetric, RowMetric
from setpoint.goals.errors import EmptyPopulationError
from setpoint.typing import Floats

__all__ = ["drawn_rows", "errors_wanted", "gain_error"]


_TRIES = 10


def errors_wanted(n_surrogates: int) -> float:
    """The standard errors that a gain has to exceed: one for two surrogates.

    A search in K dimensions gains on its own rows where there is nothing to gain. Were the
    metric quadratic in the surrogates, T / 2 with T from a chi-squared distribution of K
    degrees would be gained, in units in which its standard error is the root of T. New rows
    gain where T exceeds 2 K, as in Akaike's criterion: beyond sqrt(K / 2) standard errors.

    Examples
    --------
    >>> errors_wanted(2), round(errors_wanted(10), 2)
    (1.0, 2.24)
    """
    return float(np.sqrt(max(n_surrogates, 2) / 2.0))


def drawn_rows(metric: RowMetric, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows drawn with replacement, as many of each class as there are.

    A draw that leaves a group of the goal empty is made anew, ten times at most.
    """
    sides = [np.flatnonzero(metric.true == side) for side in (0, 1)]
    for _ in range(_TRIES):
        rows = np.concatenate([rng.choice(side, len(side)) for side in sides])
        try:
            metric.take(rows)
        except EmptyPopulationError:
            continue
        break
    return rows


def gain_error(
    metered: BudgetedMetric, scores: Floats, n_draws: int, rng: np.random.Generator
) -> tuple[float, Floats]:
    """The bootstrap standard error of a gain, and the values that it comes from.

    Parameters
    ----------
    scores : array of shape (2, n)
        Of two models; the same rows are drawn for both.
    n_draws : int
        Each costs two evaluations.

    Returns
    -------
    error : float
        Infinite where less than two draws could be evaluated.
    values : array of shape (draws, 2)
        In the user's units, of the draws that could be evaluated.
    """
    draws = [drawn_rows(metered.metric, rng) for _ in range(n_draws)]
    values = metered.drawn(draws, scores)
    found = values[~np.isnan(values).any(axis=1)]
    if len(found) < 2:
        return float("inf"), found
    return float(np.std(found[:, 0] - found[:, 1], ddof=1)), found
