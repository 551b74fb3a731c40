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
    Sums of squares begin with one mistake, a slope of 1 at the largest value. Otherwise the
    first gradient of a feature, however small, makes a whole step, and all features of a row make
    theirs at once: the first negatives among rows of 20 words drove log-odds to -18, from
    where thousands of rows did not bring them back.

    A feature without a zero in the first 128 rows is centred, on its mean then and after
    256, 512 and 1024 rows: altitudes of 2,000 to 3,000 metres are else nearly one with the
    intercept, and learnt slowly. It then starts anew, and the intercept takes over what it
    had to say on average. Later moves of a centre change no score; at its first zero a
    feature loses its centre, after its weight has shrunk as for any value that far off.
"""

from __future__ import annotations

import math
from typing import Any, Final

from numpy import uintp

from setpoint.array_types import Floats
from setpoint.online import state as at
from setpoint.online.compiled import inner
from setpoint.online.margins import Columns, Values, column, holds

__all__ = ["CENTRED_ROWS", "adapt", "settle", "update"]


_TINY: Final = 1e-300
"""Keeps the root of no gradient at all from dividing by zero."""

_ONE_MISTAKE: Final = 1.0
"""What NAG's sums of squared gradients begin with."""

_FEATURES: Final = 4.0
_CLOSE: Final = 1e-9
_BLOCK: Final = 16

_FIRST_ROWS: Final = 128
CENTRED_ROWS: Final = 1024
"""Rows after which features get a centre, and after which centres stay."""


@inner
def update(
    values: Values,
    columns: Columns,
    low: int,
    size: int,
    slope: float,
    norm: float,
    state: Any,
    weights: Floats,
) -> None:
    """Learn a row at which the loss has this slope in the margin."""
    rate, before = _begin(norm, state)
    weight, lag, squares = weights[at.WEIGHT], weights[at.LAG], weights[at.SQUARES]
    inverse, centre, d = weights[at.INVERSE], weights[at.CENTRE], weights.shape[1] - 1
    if state.learner >= at.ADAGRAD:
        careful = state.learner == at.NAG and state.constant_step == 0
        first = _ONE_MISTAKE if careful else _TINY
        for start in range(0, size, _BLOCK):
            end, present = min(start + _BLOCK, size), 0
            for k in range(start, end):
                present += values[uintp(low + k)] != 0.0
            # Roots and quotients are dear, and most features of one-hot rows are zero.
            if present > 0:
                for k in range(start, end):
                    j = column(columns, low, k)
                    gradient = slope * ((values[uintp(low + k)] - centre[j]) * inverse[j])
                    squares[j] += gradient * gradient
                    step = -rate * gradient * inverse[j] / math.sqrt(squares[j] + first)
                    weight[j] += step
                    lag[j] += before * step
        squares[d] += slope * slope
        step = -rate * slope / math.sqrt(squares[d] + first)
    else:
        for k in range(size):
            j = column(columns, low, k)
            step = -rate * slope * values[uintp(low + k)]
            weight[j] += step
            lag[j] += before * step
        step = -rate * slope
    weight[d] += step
    lag[d] += before * step


@inner
def _begin(norm: float, state: Any) -> tuple[float, float]:
    """The step of this row, and the sum of the average's weights before it."""
    state.updates += 1.0
    rate, adaptive = state.step, state.learner >= at.ADAGRAD
    if state.learner == at.NAG:
        state.norms += norm
        rate *= math.sqrt(_FEATURES * state.updates / state.norms)
    if state.constant_step == 1:
        # Sums of squares over the number of rows are means: steps no longer shrink.
        return rate * math.sqrt(state.updates) if adaptive else rate, 0.0
    before = state.averaged
    state.averaged += state.updates
    return rate if adaptive else rate / math.sqrt(state.updates), before


@inner
def _move_centre(state: Any, weights: Floats, j: int, centre: float) -> None:
    """Centre a feature elsewhere; the intercept makes up for it."""
    if weights[at.CENTRE, j] != 0.0:
        state.centred -= 1
    if centre != 0.0:
        state.centred += 1
    far, last = centre - weights[at.CENTRE, j], weights.shape[1] - 1
    weights[at.WEIGHT, last] += weights[at.WEIGHT, j] * far
    weights[at.LAG, last] += weights[at.LAG, j] * far
    weights[at.CENTRE, j] = centre


@inner
def _shrink(weights: Floats, j: int, size: float) -> None:
    """Shrink a weight whose feature is farther from its centre than ever."""
    past = size * weights[at.INVERSE, j]
    if past > 1.0:
        weights[at.WEIGHT, j] /= past
        weights[at.LAG, j] /= past
        weights[at.SQUARES, j] /= past * past
        weights[at.INVERSE, j] = 1.0 / size


@inner
def _look(state: Any, weights: Floats, j: int, value: float) -> None:
    """Take note of a feature's value in the last row that was learnt, one of the first."""
    n_rows = state.updates
    n = int(n_rows)
    if n <= _FIRST_ROWS:
        weights[at.TOTAL, j] += value
        weights[at.PRESENT, j] += value != 0.0
        if n == _FIRST_ROWS and weights[at.PRESENT, j] == n_rows:
            _move_centre(state, weights, j, weights[at.TOTAL, j] / n_rows)
            for row in (at.WEIGHT, at.LAG, at.SQUARES):
                weights[row, j] = 0.0
            weights[at.INVERSE, j] = at.UNSEEN
    elif weights[at.CENTRE, j] != 0.0:
        weights[at.TOTAL, j] += value
        if n & (n - 1) == 0:  # a power of two
            mean = weights[at.TOTAL, j] / n_rows
            # Differences by rounding are not a spread.
            if abs(mean - weights[at.CENTRE, j]) > _CLOSE * abs(mean):
                _move_centre(state, weights, j, mean)


@inner
def adapt(
    values: Values, columns: Columns, low: int, size: int, state: Any, weights: Floats
) -> None:
    """Make room for what is strange in a row."""
    there = 0
    for k in range(size):
        there += (weights[at.CENTRE, column(columns, low, k)] != 0.0) & (
            values[uintp(low + k)] != 0.0
        )
    if there < state.centred:
        for j in range(weights.shape[1] - 1):
            if weights[at.CENTRE, j] != 0.0 and not holds(values, columns, low, size, j):
                _shrink(weights, j, abs(weights[at.CENTRE, j]))
                _move_centre(state, weights, j, 0.0)
    for k in range(size):
        j = column(columns, low, k)
        _shrink(weights, j, abs(values[uintp(low + k)] - weights[at.CENTRE, j]))


@inner
def settle(
    values: Values, columns: Columns, low: int, size: int, state: Any, weights: Floats
) -> None:
    """After one of the first rows: see to the centres."""
    for k in range(size):
        _look(state, weights, column(columns, low, k), values[uintp(low + k)])
