"""How many fresh labels show that a model is better than the deployed one.

Only rows on which the two models differ need labels, for on all others one is right
where the other is. So little churn makes the proof cheap.

References
----------
G. Goh, A. Cotter, M. Gupta and M. Friedlander (2016), Satisfying real-world goals with
dataset constraints (on churn).
"""

from __future__ import annotations

import math
import numbers
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.inference.proportions import quantile
from setpoint.inference.tails import at_least, successes_needed

__all__ = ["CONFIDENCE", "POWER", "ROUNDING", "FreshLabels", "fresh_labels"]


CONFIDENCE = 0.95
"""That the new model is better: one side, so the test errs in 5 % of cases at most."""

POWER = 0.8
"""The usual chance that the test succeeds, if wins and losses are as counted."""

ROUNDING = 1e-12
"""Shares below this, and differences, are what sums of floats leave."""

_MOST_EXACT = 1e5
"""Labels; beyond, the normal approximation is right to some thousandths and takes no time."""


class FreshLabels(NamedTuple):
    """How many fresh rows it takes to show that a model is better.

    Attributes
    ----------
    labels : int
        Rows to be labelled, on each of which the two models differ.
    rows : int
        Rows it takes, on average, to find so many. No sample size to fix beforehand: just
        as many rows hold fewer changes about half the time, and then show less.

    Examples
    --------
    >>> from setpoint.report import fresh_labels
    >>> labels, rows = fresh_labels(wins=0.02, losses=0.0)
    >>> labels, rows
    (5, 250)
    """

    labels: int
    rows: int


def fresh_labels(
    wins: float,
    losses: float,
    *,
    changed: float | None = None,
    confidence: float = CONFIDENCE,
    power: float = POWER,
) -> FreshLabels | None:
    """How many fresh rows show that a model is better than the deployed one.

    The test is the one-sided sign test: of m rows that are a win or a loss, k or more wins
    are shown, where k is the smallest number that one half as chance of a win reaches with a
    probability of at most ``1 - confidence``. The m here is the smallest with which the test
    succeeds with probability `power` at least, if a changed row is a win with probability
    ``wins / (wins + losses)``. The count is by the exact binomial distribution; beyond a
    hundred thousand rows by its normal approximation.

    Rows on which the models differ are labelled until m of them are a win or a loss. To find
    these takes ``m / (wins + losses)`` rows on average, of which ``changed`` times as many are
    labelled; both are rounded up. With two classes the labels are the m. To stop at that
    number of rows instead, however few of them differ, shows the gain less often: of 250
    rows in the first example with a chance of 0.56.

    Parameters
    ----------
    wins, losses : float
        Shares of all rows, in [0, 1].
    changed : float, optional
        Share of the rows on which the models differ. By default wins and losses; with more
        than two classes there are changes that are neither, whose labels decide nothing.
    confidence, power : float
        In (0, 1).

    Returns
    -------
    FreshLabels or None
        None where wins do not exceed losses.

    Raises
    ------
    ValueError
        If a share is none, or wins and losses exceed `changed`.
    TypeError
        If an argument is not a number.

    Examples
    --------
    >>> fresh_labels(0.02, 0.0)
    FreshLabels(labels=5, rows=250)
    >>> fresh_labels(0.06, 0.04)
    FreshLabels(labels=158, rows=1580)
    >>> fresh_labels(0.06, 0.04, changed=0.2).labels
    316
    """
    for name, share in (("wins", wins), ("losses", losses), ("changed", changed)):
        if not (_is_number(share) or (name == "changed" and share is None)):
            raise InputTypeError(
                f"{quoted(name)} is a share of the rows, from 0 to 1, got {share!r}"
            )
    decisive = wins + losses
    changed = decisive if changed is None else changed
    for name, share in (("wins", wins), ("losses", losses), ("changed", changed)):
        if not 0.0 <= share <= 1.0 + 1e-9:
            raise InputError(f"{quoted(name)} is a share of the rows, from 0 to 1, got {share}")
    if decisive > changed + 1e-9:
        raise InputError(f"wins and losses, {decisive}, exceed the share of changes, {changed}")
    for name, chance in (("confidence", confidence), ("power", power)):
        if not _is_number(chance):
            raise InputTypeError(f"{quoted(name)} lies between 0 and 1, got {chance!r}")
        if not 0.0 < chance < 1.0:
            raise InputError(f"{quoted(name)} lies between 0 and 1, got {chance}")
    if wins - losses <= ROUNDING:
        return None
    m = _decisive_rows(wins / decisive, 1.0 - confidence, power)
    per_row = max(changed, decisive) / decisive
    return FreshLabels(_up(m * per_row), _up(m / decisive))


def _decisive_rows(p: float, alpha: float, power: float) -> int:
    """The smallest number of wins and losses with which the sign test has that power."""
    by_normal = _by_normal(p, alpha, power)
    if by_normal > _MOST_EXACT:
        return math.ceil(by_normal)
    low, high = 0, 8
    while _power(np.array([high]), p, alpha, randomized=True)[0] < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = _power(np.array([middle]), p, alpha, randomized=True)[0] >= power
        low, high = (low, middle) if enough else (middle, high)
    length = 16
    while True:
        m = np.arange(high, high + length)
        found = np.flatnonzero(_power(m, p, alpha) >= power)
        if len(found):
            return int(m[found[0]])
        high, length = high + length, 2 * length


def _power(m: NDArray[np.int64], p: float, alpha: float, randomized: bool = False) -> Floats:
    """The chance (M,) that the sign test on m rows succeeds, if each is a win with chance p."""
    k = successes_needed(m, 0.5, alpha)
    reached = at_least(k, m, p)
    if not randomized:
        return reached
    level, before = at_least(k, m, 0.5), at_least(k - 1, m, 0.5)
    share = (alpha - level) / (before - level)
    return np.asarray(reached + share * (at_least(k - 1, m, p) - reached))


def _by_normal(p: float, alpha: float, power: float) -> float:
    spread = math.sqrt(p * (1.0 - p))
    return ((quantile(alpha) / 2.0 + quantile(1.0 - power) * spread) / (p - 0.5)) ** 2


def _is_number(x: Any) -> bool:
    return isinstance(x, numbers.Real) and not isinstance(x, bool)


def _up(x: float) -> int:
    """The next whole number, but for rounding."""
    return math.ceil(x * (1.0 - ROUNDING))
