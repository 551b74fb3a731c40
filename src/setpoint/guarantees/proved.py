"""P-values that are proved for any rows: bets on one rate, and boxes around several.

Betting: whoever bets a share of a fortune on each row that it speaks for the constraint gains
nothing on average where the constraint is broken, so a fortune multiplied by w has a chance of
at most 1/w. Fortunes of several shares are averaged; the order of the rows plays no part.

Boxes: each rate has an exact limit at its share of the level, and the constraint is met where it
is met in the whole box.

References
----------
I. Waudby-Smith and A. Ramdas (2024), Estimating means of bounded random variables by betting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import betainccinv, betaincinv, logsumexp

from setpoint.array_types import Floats
from setpoint.guarantees.kinks import directions
from setpoint.guarantees.rates import Rates
from setpoint.guarantees.requirements import Requirement
from setpoint.inference.fraction import value_at
from setpoint.program.functions import Affine, Node, RateFunction

__all__ = ["betting_p", "boxes_p"]

INF = float("inf")
_BETS: Floats = np.concatenate([np.geomspace(1e-4, 0.05, 30), np.linspace(0.06, 0.98, 40)])
"""Shares of a fortune that are bet on each row, each from an equal part of the fortune."""

_STEPS = 60
"""Halvings in a search for a level or a limit."""


def betting_p(above: Floats, below: Floats, counts: Floats, level: float, sign: float) -> float:
    """The p-value of ``sign * (rate - level) >= 0`` for one rate, proved for any rows.

    Examples
    --------
    >>> ones = np.ones(2)
    >>> round(betting_p(np.array([1.0, 0.0]), ones, np.array([95.0, 5.0]), 0.8, 1.0), 5)
    0.0005
    """
    x = sign * (above - level * below)
    worst = float(x.min())
    if worst >= 0.0:
        return 0.0 if counts.sum() > 0 else 1.0
    gains = np.log1p(_BETS[:, None] * (x / -worst)[None, :])
    wealth = float(logsumexp(gains @ counts) - math.log(len(_BETS)))
    return min(1.0, math.exp(-max(wealth, 0.0)))


def boxes_p(requirement: Requirement, rates: Rates, *, fractional: bool = False) -> float:
    """The p-value of a bound on a function of several rates, by exact limits of each."""
    # Where the counts decide which side is the bad one, a limit on that side alone would be
    # chosen after the fact.
    sides = [requirement.sign * _direction(rates.function, j) for j in range(len(rates))]

    def met(level: float) -> bool:
        tail = level / len(rates)
        boxes = [_box(rates, j, side, tail, fractional) for j, side in enumerate(sides)]
        low, high = _range_in(rates.function, boxes)
        worst = low if requirement.sign > 0 else -high
        return worst >= requirement.sign * requirement.level

    if not met(1.0 - 1e-12):
        return 1.0
    low, high = -700.0, 0.0  # logarithms of levels
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if met(math.exp(middle)) else (middle, high)
    return math.exp(high)


def _box(rates: Rates, j: int, side: float, tail: float, fractional: bool) -> tuple[float, float]:
    """Where a rate lies with confidence ``1 - tail``: above a limit, below one, or both."""
    bottom, top = rates.ranges[j]
    used = rates.used(j)
    one = rates.above[j, used], rates.below[j, used], rates.counts[used]

    def limit(side: float, tail: float) -> float:
        return _limit(*one, side, tail, (bottom, top), fractional)

    if side == 0.0:
        return limit(1.0, tail / 2), limit(-1.0, tail / 2)
    return (limit(side, tail), top) if side > 0 else (bottom, limit(side, tail))


def _limit(
    above: Floats,
    below: Floats,
    counts: Floats,
    side: float,
    tail: float,
    ends: tuple[float, float],
    fractional: bool,
) -> float:
    """The limit of one rate: exact for a proportion, by bets for a mean."""
    bottom, top = ends
    whole = bool((np.abs(counts - np.rint(counts)) <= 1e-9 * np.maximum(counts, 1.0)).all())
    if len(counts) == 2 and whole and not fractional:
        return _proportion(above, below, np.rint(counts), side, tail)
    if not (math.isfinite(bottom) and math.isfinite(top)):
        return bottom if side > 0 else top
    low, high = bottom, top
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        shown = betting_p(above, below, counts, middle, side) <= tail
        if shown == (side > 0):
            low = middle
        else:
            high = middle
    return low if side > 0 else high


def _proportion(above: Floats, below: Floats, counts: Floats, side: float, tail: float) -> float:
    """Clopper and Pearson's limit of a rate that tells two sorts of rows apart."""
    rising = above[0] * below[1] >= above[1] * below[0]
    k, n = float(counts[0]), float(counts.sum())
    if (side > 0) == rising:
        share = float(betaincinv(k, n - k + 1.0, tail)) if k > 0 else 0.0
    else:
        share = float(betainccinv(k + 1.0, n - k, tail)) if k < n else 1.0
    return value_at(share, above, below, math.nan)


def _direction(x: RateFunction, j: int) -> float:
    """1 where a function never falls with a rate, -1 where it never rises; 0 if unknown."""
    if isinstance(x, Affine):
        return float(np.sign(x.terms[j]))
    assert isinstance(x, Node)
    with_it = [(c, d) for c, d in zip(x.children, directions(x), strict=True) if j in c.features]
    found = {d * _direction(c, j) for c, d in with_it}
    return found.pop() if len(found) == 1 else 0.0


def _range_in(x: RateFunction, boxes: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The smallest and the largest value of a function of rates in boxes."""
    if isinstance(x, Affine):
        low = high = x.const
        for j, a in x.terms.items():
            ends = sorted((a * boxes[j][0], a * boxes[j][1]))
            low, high = low + ends[0], high + ends[1]
        return low, high
    assert isinstance(x, Node)
    low, high = x.interval(*(_range_in(c, boxes) for c in x.children))
    return (-INF if math.isnan(low) else low), (INF if math.isnan(high) else high)
