"""Logistic learners, one row at a time.

Averages
    The averaged weights weigh the iterate after row k by k, so that early ones fade as in
    an average over a suffix, without its jumps (Shamir and Zhang 2013). They are never
    formed: with S_k = 1 + ... + k and steps D_k, the average after row t is
    w_t - sum_k S_(k-1) D_k / S_t, and that sum is LAG. A row costs time in its own non-zero
    features only.

NAG
    Each step is divided by the root of the feature's sum of squared gradients and by its
    largest value so far; when that grows, the weight shrinks. Steps are also divided by the
    root of the mean squared norm of the rows, in units of the largest values, so that rows
    of many features do not overshoot (Ross, Mineiro and Langford 2013). The step as given is
    that of rows of four such features, about what the tables have on which it was chosen.

    A feature without a zero in the first 128 rows is centred, on its mean then and after
    256, 512 and 1024 rows: altitudes of 2,000 to 3,000 metres are else nearly one with the
    intercept, and learnt slowly. It then starts anew, and the intercept takes over what it
    had to say on average. Later moves of a centre change no score; at its first zero a
    feature loses its centre, after its weight has shrunk as for any value that far off.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from setpoint.online import layout as at
from setpoint.online.compiled import inner
from setpoint.typing import Floats

__all__ = ["CENTRED_ROWS", "TINY", "begin", "look", "move_centre", "shrink"]


TINY: Final = 1e-300
"""Keeps the root of no gradient at all from dividing by zero."""

_FEATURES: Final = 4.0
_CLOSE: Final = 1e-9

FIRST_ROWS: Final = 128
CENTRED_ROWS: Final = 1024
"""Rows after which features get a centre, and after which centres stay."""


@inner
def begin(norm: float, choices: NDArray[np.int64], memory: Floats) -> tuple[float, float]:
    """The step of this row, and the sum of the average's weights before it."""
    memory[at.UPDATES] += 1.0
    rate, adaptive = memory[at.STEP], choices[at.LEARNER] >= at.ADAGRAD
    if choices[at.LEARNER] == at.NAG:
        memory[at.NORMS] += norm
        rate *= math.sqrt(_FEATURES * memory[at.UPDATES] / memory[at.NORMS])
    if choices[at.TRACK] == 1:
        # Sums of squares over the number of rows are means: steps no longer shrink.
        return rate * math.sqrt(memory[at.UPDATES]) if adaptive else rate, 0.0
    before = memory[at.AVERAGED]
    memory[at.AVERAGED] += memory[at.UPDATES]
    return rate if adaptive else rate / math.sqrt(memory[at.UPDATES]), before


@inner
def move_centre(memory: Floats, weights: Floats, j: int, centre: float) -> None:
    """Centre a feature elsewhere; the intercept makes up for it."""
    if weights[at.CENTRE, j] != 0.0:
        memory[at.CENTRED] -= 1.0
    if centre != 0.0:
        memory[at.CENTRED] += 1.0
    far, last = centre - weights[at.CENTRE, j], weights.shape[1] - 1
    weights[at.WEIGHT, last] += weights[at.WEIGHT, j] * far
    weights[at.LAG, last] += weights[at.LAG, j] * far
    weights[at.CENTRE, j] = centre


@inner
def shrink(weights: Floats, j: int, size: float) -> None:
    """Shrink a weight whose feature is farther from its centre than ever."""
    past = size * weights[at.INVERSE, j]
    if past > 1.0:
        weights[at.WEIGHT, j] /= past
        weights[at.LAG, j] /= past
        weights[at.SQUARES, j] /= past * past
        weights[at.INVERSE, j] = 1.0 / size


@inner
def look(memory: Floats, weights: Floats, j: int, value: float) -> None:
    """Take note of a feature's value in the last row that was learnt, one of the first."""
    n_rows = memory[at.UPDATES]
    n = int(n_rows)
    if n <= FIRST_ROWS:
        weights[at.TOTAL, j] += value
        weights[at.PRESENT, j] += value != 0.0
        if n == FIRST_ROWS and weights[at.PRESENT, j] == n_rows:
            move_centre(memory, weights, j, weights[at.TOTAL, j] / n_rows)
            for row in (at.WEIGHT, at.LAG, at.SQUARES):
                weights[row, j] = 0.0
            weights[at.INVERSE, j] = at.UNSEEN
    elif weights[at.CENTRE, j] != 0.0:
        weights[at.TOTAL, j] += value
        if n & (n - 1) == 0:  # a power of two
            mean = weights[at.TOTAL, j] / n_rows
            # Differences by rounding are not a spread.
            if abs(mean - weights[at.CENTRE, j]) > _CLOSE * abs(mean):
                move_centre(memory, weights, j, mean)
