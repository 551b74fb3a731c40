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
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import betainccinv, betaincinv, logsumexp

from setpoint.array_types import Floats
from setpoint.errors import GoalError
from setpoint.goals.populations import Constraint
from setpoint.guarantees.requirements import Part, Rates, Requirement, directions, leaves
from setpoint.inference.profiles import CountedRates, fraction_in, value_at
from setpoint.program.functions import Affine, Node, RateFunction

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


# --- Gaffke's p-value of a mean of bounded values, computed and not drawn -------------------------


_MOST = 1_000
"""Different values that are distinguished."""

_HALVINGS = 80
_LINE = np.arange(0.0, 36.0, 0.05)
"""Where the line is looked at, by the inverse hyperbolic sine: it has parts of every size."""


def gaffke_p(values: Floats, worst: float) -> float:
    """The p-value of a mean of at least 0.

    Examples
    --------
    >>> round(gaffke_p(np.ones(29), -9.0), 3), round(gaffke_p(np.ones(28), -9.0), 3)
    (0.047, 0.052)
    """
    worst = min(worst, float(values.min(initial=np.inf)))
    if not (values > 0.0).any():
        return 1.0
    if worst >= 0.0:
        return 0.0
    each, counts = rounded_down(values)
    t, n = np.append(each, worst), np.append(counts, 1.0)
    t = t / float(np.sqrt((n * t * t).sum()))
    p = _below_zero(t, n) if float(n @ t) >= 0.0 else 1.0 - _below_zero(-t, n)
    return float(np.clip(p, 0.0, 1.0))


def _below_zero(t: Floats, n: Floats) -> float:
    """The chance that the weighted sum of values, whose mean is 0 or above, is below 0."""
    at = _left_of_saddle(t, n)
    with np.errstate(over="ignore", invalid="ignore"):
        u = 0.1 * np.sinh(_LINE)
        s = at + 1j * u
        logs = -(n @ np.log(1.0 - np.outer(t, s)))
        top = float(logs[0].real)
        heights = np.exp(logs - top) / -s * np.cosh(_LINE) * 0.1
    parts = np.nan_to_num(heights.real)
    total = (parts.sum() - 0.5 * parts[0]) * (_LINE[1] - _LINE[0]) / np.pi
    return float(np.exp(top) * total)


def rounded_down(values: Floats, most: int = _MOST) -> tuple[Floats, Floats]:
    """Different values other than 0 and how often they occur, some rounded down.

    Examples
    --------
    >>> rounded_down(np.array([2.0, 0.0, -1.0, 2.0]))
    (array([-1.,  2.]), array([1., 2.]))
    """
    each, counts = np.unique(values[values != 0.0], return_counts=True)
    if len(each) > most:
        quantiles = np.linspace(0, len(each), most // 2, endpoint=False).astype(np.int64)
        even = np.searchsorted(each, np.linspace(each[0], each[-1], most // 2))
        edges = np.unique(np.concatenate([quantiles, even]))
        counts = np.add.reduceat(counts, edges)
        each = each[edges]
    return each, counts.astype(np.float64)


def _left_of_saddle(t: Floats, n: Floats) -> float:
    """Where the line crosses the real axis: left of 0, near the saddle point of the sum."""
    low, high = 1.0 / float(t.min()), 0.0
    farthest = 0.999 * low
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if (n * t / (1.0 - middle * t)).sum() > 0.0:
            high = middle
        else:
            low = middle
    # Close to 0 there is a pole: the line keeps away from it by half a standard error.
    return max(min(high, -0.5), farthest)


# --- Tests of constraints in which rows count by columns of numbers -------------------------------


Ranges = Mapping[str, tuple[float, float]]
"""The smallest and the largest value that a column could have."""


def require_bounded_sums(part: Part, counted: CountedRates, written: Constraint) -> None:
    """Refuse what is over values of rows and has no test."""
    for x in leaves(part):
        if counted.is_measured(x.function) and _fraction(x.function, counted) is None:
            raise GoalError(
                f"{written} cannot be promised: it counts rows by a column of numbers, and "
                "combines several such rates of different rows. Write a bound for each of them, "
                "as .min() and .max() of groups do"
            )


def bounded_p(x: Requirement, counted: CountedRates, ranges: Ranges, *, strict: bool) -> float:
    """The p-value of a bound on one fraction of sums over values of rows."""
    parts, decided = _fraction(x.function, counted), counted.confusion.decided
    assert parts is not None
    assert decided is not None
    added = x.sign * (parts[0] - x.level * parts[1])
    values = decided.sums(added)
    worst = float(_ends(added, counted, ranges)[0].min(initial=0.0))
    if not strict:
        return gaffke_p(values, worst)
    each, counts = rounded_down(values)
    each, counts = np.append(each, worst), np.append(counts, 0.0)
    return betting_p(each, np.zeros(len(each)), counts, 0.0, 1.0)


def bounded_range(
    x: RateFunction, counted: CountedRates, ranges: Ranges
) -> tuple[float, float] | None:
    """Between which values a mean of a column lies whatever the rows; None for other fractions."""
    parts = _fraction(x, counted)
    if parts is None:
        return None
    above, below = parts
    if below[1:].any():
        return None
    low, high = _ends(above, counted, ranges)
    inside = below[0] > 0.0
    rows = below[0][inside]
    return float((low[inside] / rows).min()), float((high[inside] / rows).max())


def _fraction(x: RateFunction, counted: CountedRates) -> tuple[Floats, Floats] | None:
    """What a row adds above and below the line (tables, plain strata, n + 1, n)."""
    index = sorted(x.features)
    found = fraction_in(x, index, counted.event(index), counted.given(index))
    if found is None:
        return None
    shape = (-1, counted.n_plain, *counted.confusion.counts.shape[1:])
    return found[0].reshape(shape), found[1].reshape(shape)


def _ends(added: Floats, counted: CountedRates, ranges: Ranges) -> tuple[Floats, Floats]:
    """The least and the most that a row of each entry (plain strata, n + 1, n) could add."""
    measures = counted.confusion.codebook.measures
    low, high = added[0].copy(), added[0].copy()
    for column in dict.fromkeys(m.column for m in measures):
        # A column that goes below 0 is two measures, which add c x together.
        m, part = next(
            (m, part)
            for m, part in zip(measures, added[1:], strict=True)
            if m.column == column and (m.sign > 0 or (column, 1) not in measures)
        )
        if column not in ranges:
            assert not part.any()
            continue
        ends = [m.sign * part * end for end in ranges[column]]
        low += np.minimum(*ends)
        high += np.maximum(*ends)
    return low, high
