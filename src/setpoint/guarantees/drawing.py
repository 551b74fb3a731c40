"""Counts drawn from what was counted, with one row more that speaks against the constraint.

Each cell's count N becomes a draw of Gamma(N), each rate gets an exponential share of its worst
row, and the p-value is the chance that the function then misses its bound. Of one mean this is
Gaffke's bound; of a proportion it is the exact binomial; of smooth functions of several rates it
is right to first order, with one row a rate to the safe side (a Bayesian bootstrap).

References
----------
N. Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the mean of a
nonnegative variable. E. Learned-Miller and P. Thomas (2019), A new confidence interval for the
mean of a bounded random variable. D. B. Rubin (1981), The Bayesian bootstrap.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from setpoint.array_types import Floats
from setpoint.guarantees.rates import Rates
from setpoint.guarantees.requirements import Requirement

__all__ = ["drawn_p", "number_of_draws"]

FEWEST = 20_000
PER_LEVEL = 200
"""Draws times level: so many beyond a p-value at its level."""


def number_of_draws(level: float) -> int:
    """How many draws tell a p-value at this level.

    Examples
    --------
    >>> number_of_draws(0.05), number_of_draws(0.001)
    (20000, 200000)
    """
    return max(FEWEST, math.ceil(PER_LEVEL / level - 1e-9))


def drawn_p(requirement: Requirement, rates: Rates, draws: int, seed: int) -> float:
    """The share of draws in which a requirement is not met."""
    sign, level = requirement.sign, requirement.level
    drawn = _draws(
        rates.above.shape,
        *(x.tobytes() for x in (rates.above, rates.below, rates.counts)),
        draws,
        seed,
    )
    if rates.is_one:
        # Linear, and monotone in the level together with its worst row.
        j = rates.worst_at(level, sign)
        row = sign * (rates.above[0, j] - level * rates.below[0, j])
        slack = sign * (drawn.above[0] - level * drawn.below[0]) + row * drawn.rows[0]
    else:
        sides = rates.sides(sign)
        worst = [rates.worst(j, side) for j, side in enumerate(sides)]
        each = np.arange(len(rates))
        above = drawn.above + rates.above[each, worst][:, None] * drawn.rows
        below = drawn.below + rates.below[each, worst][:, None] * drawn.rows
        with np.errstate(invalid="ignore", divide="ignore"):
            values = rates.function.value((above / below).T)
            slack = sign * (values - level)
    # What is not a number does not meet its bound.
    bad = draws - int(np.count_nonzero(slack >= 0.0))
    return (1 + bad) / (1 + draws)


class _Draws(NamedTuple):
    above: Floats
    below: Floats
    rows: Floats


@lru_cache(maxsize=4)
def _draws(
    shape: tuple[int, int],
    above: bytes,
    below: bytes,
    counts: bytes,
    draws: int,
    seed: int,
) -> _Draws:
    """Drawn sums (rates, draws) above and below the line, and shares of the row added."""
    rng = np.random.default_rng(seed)
    a, b = (np.frombuffer(x).reshape(shape) for x in (above, below))
    rows = rng.standard_exponential((shape[0], draws))
    out = _Draws(np.zeros((shape[0], draws)), np.zeros((shape[0], draws)), rows)
    for c, n in enumerate(np.frombuffer(counts)):
        if n > 0:
            # One profile after the other: with many of them, their draws would fill the memory.
            cell = rng.standard_gamma(n, draws)
            for j in range(shape[0]):
                if a[j, c]:
                    out.above[j] += a[j, c] * cell
                if b[j, c]:
                    out.below[j] += b[j, c] * cell
    return out
