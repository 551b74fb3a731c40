"""Tails: limits of proportions, trials behind a ratio, and the sign test."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betainccinv, betaincinv

from setpoint.array_types import Codes, Floats
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.inference.profiles import CountedRates, Fraction
from setpoint.parameters import is_number
from setpoint.program import INF, RateFunction

# --- Limits of one proportion ---------------------------------------------------------------------


@lru_cache(maxsize=256)
def quantile(tail: float) -> float:
    """The normal quantile that leaves `tail` above it.

    Examples
    --------
    >>> round(quantile(0.025), 4)
    1.96
    """
    if not 0.0 < tail < 1.0:
        raise InputError(f"a tail lies between 0 and 1, got {tail}")
    return -NormalDist().inv_cdf(tail)


def clopper_pearson(
    hits: float, n: float, low: float = 0.025, high: float = 0.025
) -> tuple[float, float]:
    """Clopper and Pearson's limits of a proportion, also on effective rows.

    Examples
    --------
    >>> [round(x, 4) for x in clopper_pearson(81, 263)]
    [0.2527, 0.3676]
    >>> clopper_pearson(0, 0)
    (0.0, 1.0)
    """
    rest = n - hits
    bottom = float(betaincinv(hits, rest + 1.0, low)) if hits > 0.0 else 0.0
    top = float(betainccinv(hits + 1.0, rest, high)) if rest > 0.0 else 1.0
    # Of a tiny part of a row the limits are rounding.
    return (min(bottom, hits / n), max(top, hits / n)) if n > 0.0 else (bottom, top)


def limits_of_shares(hits: Floats, n: Floats, tail: float) -> Floats:
    """:func:`clopper_pearson` of many (2, m), of which there are some rows each."""
    rest, share = n - hits, hits / n
    bottom = np.where(hits > 0.0, betaincinv(hits, rest + 1.0, tail), 0.0)
    top = np.where(rest > 0.0, betainccinv(hits + 1.0, rest, tail), 1.0)
    return np.stack([np.minimum(bottom, share), np.maximum(top, share)])


_BORROWED = 10.0
"""Rows of average weight that a profile's own mean weight is drawn to."""


def of_two_sorts(
    above: Floats, below: Floats, rows: Floats, tails: tuple[float, float], at_zero: float
) -> tuple[float, float]:
    """Limits of a fraction of two sorts of rows (2,), of which there are so many each."""
    rises = above[0] * below[1] >= above[1] * below[0]
    ends = clopper_pearson(float(rows[0]), float(rows.sum()), *(tails if rises else tails[::-1]))
    out = []
    for share in ends if rises else ends[::-1]:
        up = above[0] * share + above[1] * (1 - share)
        down = below[0] * share + below[1] * (1 - share)
        out.append(float(up / down) if down > 0 else math.copysign(INF, up) if up else at_zero)
    return out[0], out[1]


def of_fraction(fraction: Fraction, low: float, high: float) -> tuple[float, float] | None:
    """Exact limits of a fraction that tells two sorts of rows apart; None if it has more."""
    units = fraction.units
    if units.amounts or fraction.above.shape[1] > 2:
        return None
    counts, squares = units.counts[0], units.products[0, 0]
    if len(counts) < 2 or counts.sum() <= 0:
        return fraction.range
    unit = units.typical[0][0]
    weight = (squares + _BORROWED * unit * unit) / (counts + _BORROWED * unit)
    above, below = fraction.above[0] * weight, fraction.below[0] * weight
    return of_two_sorts(above, below, counts / weight, (low, high), fraction.at_zero)


def difference_above(x: Floats, below: Floats, above: Floats, corr: Floats) -> Floats:
    """Lower limits of ``x_a - x_b`` for every ordered pair, by recovered variances.

    Examples
    --------
    >>> limits = np.array([[0.69183, 0.87695], [0.49045, 0.70038]]).T
    >>> out = difference_above(np.array([0.8, 0.6]), *limits, np.eye(2))
    >>> round(float(out[0, 1]), 4), round(float(-out[1, 0]), 4)
    (0.0524, 0.3339)
    """
    p, q = (x - below)[:, None], (above - x)[None, :]
    spread = p * p + q * q - 2.0 * corr * p * q
    return np.asarray(x[:, None] - x[None, :] - np.sqrt(np.maximum(spread, 0.0)))


def ratio_above(x: Floats, below: Floats, above: Floats, corr: Floats) -> Floats:
    """Lower limits of ``x_a / x_b`` for every ordered pair of values >= 0."""
    turned = ratio_below(x, below, above, corr).T
    with np.errstate(divide="ignore"):
        return np.where(turned > 0, 1.0 / turned, 0.0)


def ratio_below(x: Floats, below: Floats, above: Floats, corr: Floats) -> Floats:
    """Upper limits of ``x_a / x_b`` for every ordered pair; inf where x_b may be 0."""
    p, q = (above - x)[:, None], (x - below)[None, :]
    a, b = x[:, None], x[None, :]
    half = a * b - corr * p * q
    inner = np.maximum((b - q) * (b + q), 0.0)
    root = np.sqrt(np.maximum(half * half - (a - p) * (a + p) * inner, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(inner > 0, np.maximum(half + root, 0.0) / inner, np.inf)


# --- Exact tails of the binomial distribution -----------------------------------------------------


def at_least(k: ArrayLike, n: ArrayLike, share: ArrayLike) -> Floats:
    """The chance of `k` successes or more in `n` trials.

    Examples
    --------
    >>> float(at_least(5, 5, 0.5))
    0.03125
    """
    k, n, share = (np.asarray(x, np.float64) for x in (k, n, share))
    inside = (k >= 1) & (k <= n)
    a, b = np.where(inside, k, 1.0), np.where(inside, n - k + 1, 1.0)
    return np.where(inside, betainc(a, b, share), np.where(k < 1, 1.0, 0.0))


def successes_needed(n: ArrayLike, share: float, tail: float) -> Codes:
    """The smallest count of successes that as many or more reach with a chance of `tail` at most.

    Examples
    --------
    >>> successes_needed([28, 29, 100], 0.9, 0.05).tolist()
    [29, 29, 96]
    """
    m = np.asarray(n, np.int64)
    guess = share * m + quantile(tail) * np.sqrt(m * share * (1.0 - share))
    k = np.floor(guess).clip(0, m + 1).astype(np.int64)
    while (short := at_least(k, m, share) > tail).any():
        k = k + short
    while (far := (at_least(k - 1, m, share) <= tail) & (k > 0)).any():
        k = k - far
    return np.asarray(k, np.int64)


# --- How many fresh labels show that a model is better than the deployed one ----------------------


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
    >>> from setpoint.inference import fresh_labels
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
        if not (is_number(share) or (name == "changed" and share is None)):
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
        if not is_number(chance):
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
    spread = math.sqrt(p * (1.0 - p))
    by_normal = ((quantile(alpha) / 2.0 + quantile(1.0 - power) * spread) / (p - 0.5)) ** 2
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


def _power(m: Codes, p: float, alpha: float, randomized: bool = False) -> Floats:
    """The chance (M,) that the sign test on m rows succeeds, if each is a win with chance p."""
    k = successes_needed(m, 0.5, alpha)
    reached = at_least(k, m, p)
    if not randomized:
        return reached
    level, before = at_least(k, m, 0.5), at_least(k - 1, m, 0.5)
    share = (alpha - level) / (before - level)
    return np.asarray(reached + share * (at_least(k - 1, m, p) - reached))


def _up(x: float) -> int:
    """The next whole number, but for rounding."""
    return math.ceil(x * (1.0 - ROUNDING))


# --- Constraints that are one binomial in disguise ------------------------------------------------


_ROUNDING = 1e-9
"""Relative: values of rows, and counts of whole rows, are sums of a few floats."""

_CANCELLED = 8 * float(np.finfo(float).eps)
"""Relative: what is left where the two parts of ``a - c b`` cancel."""


class Trials(NamedTuple):
    """A constraint as a statement about one share."""

    successes: int
    trials: int
    share: float

    @property
    def p_value(self) -> float:
        """The chance of so many successes or more if the constraint is just not met.

        Examples
        --------
        >>> round(Trials(81, 131, 0.5).p_value, 4)
        0.0043
        """
        return float(at_least(self.successes, self.trials, self.share)) if self.successes else 1.0


def trials_of(x: RateFunction, counted: CountedRates, relation: str, bound: float) -> Trials | None:
    """The trials of a constraint, if it is one binomial in disguise.

    Examples
    --------
    >>> from setpoint.counts import Confusion
    >>> from setpoint.inference.profiles import bind_counted
    >>> from setpoint.metrics import f1, g_mean
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 50], [19, 81], [0, 0]])
    >>> (x, y), counted = bind_counted([f1, g_mean], found)
    >>> found = trials_of(x, counted, ">=", 0.6)
    >>> found.successes, found.trials, round(found.share, 4), round(found.p_value, 4)
    (81, 150, 0.4286, 0.0039)
    >>> trials_of(y, counted, ">=", 0.6) is None
    True
    """
    found = _of_alike_rows(x, counted)
    if found is None:
        return None
    fraction, weight = found
    added = added_by(fraction.above[0], fraction.below[0], bound, 1.0 if relation == ">=" else -1.0)
    good, bad = added > 0, added < 0
    counts = fraction.units.counts[0]
    successes, failures = (_whole(float(counts[one].sum()) / weight) for one in (good, bad))
    if successes is None or failures is None:
        return None
    if not good.any():  # at best the bound is met with nothing to spare
        return Trials(successes, successes + failures, 1.0)
    if not bad.any():  # no row speaks against it
        return Trials(successes, successes + failures, 0.0)
    share = share_needed(added)
    return None if share is None else Trials(successes, successes + failures, share)


def added_by(above: Floats, below: Floats, bound: float, sign: float) -> Floats:
    """What rows add to the sum that a bound wants to be at least 0.

    Examples
    --------
    >>> added_by(np.array([0.3, 1.0]), np.array([3.0, 0.0]), 0.1, 1.0)
    array([0., 1.])
    """
    part = bound * below
    added = sign * (above - part)
    cancelled = np.abs(added) <= _CANCELLED * np.maximum(np.abs(above), np.abs(part))
    return np.where(cancelled, 0.0, added)


def share_needed(added: Floats) -> float | None:
    """The share of successes from which on rows that add one of two values meet a bound."""
    good, bad = added[added > 0], added[added < 0]
    if not (len(good) and len(bad) and _are_same(good) and _are_same(bad)):
        return None
    gain, loss = float(good.min()), -float(bad.min())
    return loss / (gain + loss)


def exact_limits(
    x: RateFunction, counted: CountedRates, low: float, high: float
) -> tuple[float, float] | None:
    """Clopper-Pearson limits of the value of a fraction that tells two profiles apart.

    Examples
    --------
    >>> from setpoint.counts import Confusion
    >>> from setpoint.inference.profiles import bind_counted
    >>> from setpoint.metrics import precision
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 50], [19, 81], [0, 0]])
    >>> (x,), counted = bind_counted([precision], found)
    >>> [round(limit, 4) for limit in exact_limits(x, counted, 0.025, 0.025)]
    [0.5294, 0.7018]
    """
    found = _of_alike_rows(x, counted)
    if found is None or found[0].above.shape[1] != 2:
        return None
    two, weight = found
    rows = [_whole(float(count) / weight) for count in two.units.counts[0]]
    if None in rows:
        return None
    return of_two_sorts(two.above[0], two.below[0], np.array(rows), (low, high), two.at_zero)


def _of_alike_rows(x: RateFunction, counted: CountedRates) -> tuple[Fraction, float] | None:
    """An expression as a fraction of rows that all have the same weight."""
    counts_say_all = not (counted.is_large or counted.is_clustered)
    weight = counted.weight_of_rows(x) if counts_say_all else None
    fraction = None if weight is None else counted.fraction(x)
    return None if weight is None or fraction is None else (fraction, weight)


def _whole(x: float) -> int | None:
    nearest = round(x)
    return nearest if abs(x - nearest) <= _ROUNDING * max(nearest, 1) else None


def _are_same(values: Floats) -> bool:
    return bool(np.ptp(values) <= _ROUNDING * np.abs(values).max())
