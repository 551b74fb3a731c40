"""Limits of one expression: of a proportion in disguise, or by influence.

A row of weight w moves the value by w times its influence, so the variance is the sum of
``w^2 influence^2``: the squares of a confusion are all that is needed (the delta method,
or infinitesimal jackknife). At zero and at full marks that variance vanishes although
nobody is certain. Therefore the influence is taken at smoothed counts, a few rows more,
spread over the profiles, as Agresti and Caffo (2000) do for differences of proportions and
Bonett and Price (2012) for paired ones.

References
----------
A. Agresti and B. Caffo (2000), Simple and effective confidence intervals for proportions
and differences of proportions result from adding two successes and two failures.
D. G. Bonett and R. M. Price (2012), Adjusted Wald confidence interval for a difference of
binomial proportions based on paired data. L. Kish (1965), Survey sampling.
"""

from __future__ import annotations

import math

import numpy as np

from setpoint.inference.fraction import Fraction, value_at
from setpoint.inference.profiles import Counted, RowProfiles
from setpoint.inference.proportions import in_far_tails, quantile
from setpoint.program.functions import RateFunction
from setpoint.typing import Floats

__all__ = ["by_influence", "influence_of", "of_two_profiles", "unsmoothed"]

SMOOTHING = (0.25, 0.75)
"""Rows added in all, in equal parts to each profile, as multiples of the squared quantile.

At 95 % these are 1 and 3 rows, and the limits hold those of both. One row draws the
middle too little away from zero and full marks, three draw it so far that the true value
is passed. With both, 93.6 to 98.4 % were covered in simulations of 60 to 2,000 rows with
rates of .3 to .99.
"""

_BORROWED = 10.0
"""Rows of average weight that a profile's own mean weight is drawn to."""


def of_two_profiles(fraction: Fraction, low: float, high: float) -> tuple[float, float] | None:
    """Wilson limits of a fraction that tells two profiles apart; None if it has more.

    With p the share of rows of the first profile, the value is
    ``(a1 w1 p + a2 w2 (1 - p)) / (b1 w1 p + b2 w2 (1 - p))``, where w1 and w2 are the
    mean weights of the profiles. That is monotone in p, so Wilson's limits of p become
    limits of the value. Equal weights give Wilson's interval on the rows themselves.

    Mean weights of few rows borrow from all rows of the same strata and true classes. Where
    weights depend on the decision itself and few rows are accepted, that misleads: a
    nominal 95 % for precision then covered 87 to 92 % of simulated draws.

    Parameters
    ----------
    fraction : Fraction
    low, high : float
        Tail of the lower and of the upper limit.
    """
    two = fraction.merged
    if len(two.counts) == 0:
        return None
    if len(two.counts) == 1:
        return two.range
    if len(two.counts) > 2:
        return None
    if two.counts.sum() <= 0:
        return two.range
    unit = two.units
    weight = (two.squares + _BORROWED * unit * unit) / (two.counts + _BORROWED * unit)
    rows = two.counts / weight
    a, b = two.above * weight, two.below * weight
    rising = a[0] * b[1] >= a[1] * b[0]
    tails = (low, high) if rising else (high, low)
    ends = in_far_tails(float(rows[0]), float(rows.sum()), *tails)

    first, last = (value_at(p, a, b, two.at_zero) for p in ends)
    return (first, last) if rising else (last, first)


def influence_of(
    x: RateFunction, profiles: RowProfiles, counts: Floats, v: Floats
) -> tuple[float, Floats]:
    """Value and influence (profiles,) of each unit of weight, marginals moving.

    Parameters
    ----------
    x : Bound
    profiles : RowProfiles
        Of x's features.
    counts : array of shape (profiles,)
        Where to take it, every population with some weight.
    v : array of shape (d,)
        All features; x's own are overwritten.
    """
    norms = profiles.given @ counts
    own = (profiles.event @ counts) / norms
    at = v.copy()
    at[profiles.index] = own
    slope = x.gradient(at)[profiles.index] / norms
    return float(x.value(at)), slope @ profiles.event - (slope * own) @ profiles.given


def by_influence(x: RateFunction, counted: Counted, low: float, high: float) -> tuple[float, float]:
    """Limits of a smooth expression, by influence at smoothed counts.

    In a finite range the limits are symmetric on the logit scale, else on the plain one.

    Parameters
    ----------
    x : Bound
    counted : Counted
    low, high : float
        Tail of the lower and of the upper limit.
    """
    bottom, top = counted.range(x)
    profiles = counted.profiles(x.features)
    value = counted.value(x)
    if profiles.counts.sum() <= 0 or not math.isfinite(value):
        return min(bottom, value), max(top, value)

    def ends(z: float) -> list[float]:
        out = [value]
        for share in SMOOTHING:
            extra = share * z * z / len(profiles.counts) * profiles.units
            middle, influence = influence_of(x, profiles, profiles.counts + extra, counted.v)
            variance = (profiles.squares + extra * profiles.units) @ (influence * influence)
            out.append(shifted(middle, z * math.sqrt(float(variance)), bottom, top))
        return out

    return min(ends(-quantile(low))), max(ends(quantile(high)))


def shifted(middle: float, by: float, bottom: float, top: float) -> float:
    """`middle` moved `by` inside its range, on the logit scale where both ends are finite.

    Examples
    --------
    >>> round(shifted(0.9, 0.2, 0.0, 1.0), 4), shifted(3.0, -4.0, 0.0, float("inf"))
    (0.9881, 0.0)
    """
    if not (math.isfinite(bottom) and math.isfinite(top) and bottom < middle < top):
        return min(max(middle + by, bottom), top)
    below, above = middle - bottom, top - middle
    t = math.log(below / above) + by * (top - bottom) / (below * above)
    share = 1.0 / (1.0 + math.exp(-t)) if t > -700.0 else 0.0
    return bottom + (top - bottom) * share


def unsmoothed(x: RateFunction, counted: Counted, low: float, high: float) -> tuple[float, float]:
    """Plain delta limits without profiles, for thousands of classes.

    The parameters are those of :func:`by_influence`.
    """
    table, confusion = counted.table, counted.confusion
    value = counted.value(x)
    slope = x.gradient(counted.v)
    influence = table.tensor(slope)
    moved = np.einsum("j,jct->ct", slope * counted.v / table.norms, counted.truth)
    influence = influence - moved[:, :, None]
    error = math.sqrt(float((confusion.squares * influence * influence).sum()))
    first = value - quantile(low) * error
    return max(first, x.low), min(value + quantile(high) * error, x.high)
