"""Differences and ratios of two rates of different rows, without drawing.

Each rate has its own exact lower limit, a quantile of a beta distribution; the p-value is the
chance that two such quantiles, drawn independently of each other, miss the bound together. No
sample is known in which it is below what the level allows: numerically never, not by a proof.

References
----------
M. P. Fay, M. A. Proschan and E. Brittain (2015), Combining one-sample confidence procedures for
inference in the two-sample case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaincinv

from setpoint.array_types import Floats
from setpoint.guarantees.rates import Rates
from setpoint.guarantees.requirements import Requirement
from setpoint.program.functions import Affine, WeightedSum

__all__ = ["melded_p"]

_ROUNDING = 1e-9
_QUANTILES = 2_048
_MORE_QUANTILES = 8_192
"""Midpoints of a quantile function: so many are needed below a level of 5 %."""


@dataclass(frozen=True)
class _Term:
    """One rate times its coefficient, as a rising function of the share of good rows."""

    k: float
    n: float
    coef: float
    above: Floats
    below: Floats

    def value(self, share: Floats) -> Floats:
        """The term at shares of good rows."""
        up = self.above[0] * share + self.above[1] * (1.0 - share)
        down = self.below[0] * share + self.below[1] * (1.0 - share)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.coef * up / down)

    def lower(self, u: Floats) -> Floats:
        """Quantiles of the lower limit of the share."""
        return betaincinv(self.k, self.n - self.k + 1.0, u) if self.k > 0 else np.zeros(len(u))

    def below_chance(self, value: Floats) -> Floats:
        """The chance that the term at its lower limit is less than each value."""
        r = value / self.coef
        (a, c), (b, d) = self.above, self.below
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (r * d - c) / ((a - c) - r * (b - d))
        # Beyond the range of the term nothing, or everything, is less.
        low, high = self.value(np.array([0.0, 1.0]))
        share = np.where(value <= low, 0.0, np.where(value > high, 2.0, share))
        if self.k == 0:
            return (share > 0.0).astype(float)
        inside = betainc(self.k, self.n - self.k + 1.0, np.clip(share, 0.0, 1.0))
        return np.where(share > 1.0, 1.0, inside)


def melded_p(requirement: Requirement, rates: Rates, level: float) -> float | None:
    """The p-value of a bound on a weighted sum of two binomial rates of disjoint rows."""
    coefs = _coefficients(rates)
    if coefs is None or bool((rates.used(0) & rates.used(1)).any()):
        return None
    terms = [_term(rates, j, requirement.sign * coef) for j, coef in enumerate(coefs[:2])]
    first, second = terms
    if first is None or second is None:
        return None
    m = _QUANTILES if level >= 0.05 else _MORE_QUANTILES
    u = (np.arange(m) + 0.5) / m
    needed = requirement.sign * (requirement.level - coefs[2]) - first.value(first.lower(u))
    return float(np.mean(second.below_chance(needed)))


def _coefficients(rates: Rates) -> tuple[float, float, float] | None:
    """Those of the two rates in a weighted sum of them, and what is added."""
    x, out = rates.function, np.zeros(3)
    if len(rates) != 2:
        return None
    parts = [(1.0, x)]
    if isinstance(x, WeightedSum):
        parts = list(zip(x.coefs, x.children, strict=True))
    for k, part in parts:
        if not isinstance(part, Affine):
            return None
        for j, coef in part.terms.items():
            out[j] += k * coef
        out[2] += k * part.const
    return None if (out[:2] == 0.0).any() else (float(out[0]), float(out[1]), float(out[2]))


def _term(rates: Rates, j: int, coef: float) -> _Term | None:
    """A rate as a share of good rows; None where it tells more than two sorts apart."""
    used = np.flatnonzero(rates.used(j))
    pairs = np.stack([rates.above[j, used], rates.below[j, used]], axis=1)
    sorts, place = np.unique(np.round(pairs, 10), axis=0, return_inverse=True)
    if len(sorts) != 2:
        return None
    counts = np.bincount(place.ravel(), rates.counts[used], 2)
    if (np.abs(counts - np.rint(counts)) > _ROUNDING * np.maximum(counts, 1.0)).any():
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = coef * sorts[:, 0] / sorts[:, 1]
    good = int(np.argmax(ends))
    if not np.isfinite(ends).all():
        return None
    order = [good, 1 - good]
    k, n = float(np.rint(counts[good])), float(np.rint(counts.sum()))
    return _Term(k, n, coef, sorts[order, 0], sorts[order, 1])
