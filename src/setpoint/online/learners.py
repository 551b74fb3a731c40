"""Learners of streams: their state, margins and updates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar

import numpy as np
from numpy import uintp
from numpy.typing import NDArray

from setpoint.array_types import Floats, Integers
from setpoint.compiled import kernel

# --- How the kernels of streams are compiled ------------------------------------------------------


F = TypeVar("F", bound=Callable[..., Any])

# Counting references to an array costs as much as a row's arithmetic. numba leaves it out where
# what is called for every row is inlined, makes no arrays, and passes none to what is not.
_OUTER: dict[str, Any] = {"error_model": "numpy"}
_INNER: dict[str, Any] = _OUTER | {"forceinline": True}


def outer(function: F) -> F:
    """Compile a loop over rows, or what is called now and then."""
    return kernel(**_OUTER)(function)


def inner(function: F) -> F:
    """Compile what is called for every row."""
    return kernel(**_INNER)(function)


def inner_sums(function: F) -> F:
    """Compile sums, whose terms may be added in the order that suits the machine."""
    return kernel(place="sums", fastmath={"reassoc", "nsz"}, **_INNER)(function)


# --- The state of a stream: one record, the learner's weights -------------------------------------


# ------------------------------------------------------------------ what to do with a row
SCORE, DECIDE, LEARN = 1, 2, 4

# ------------------------------------------------------------------ learners
SGD, ADAGRAD, NAG = range(3)
"""From ADAGRAD on steps are divided by the root of the sum of squared gradients."""

# ------------------------------------------------------------------ solvers
SKETCH, FOFO, OFO, OFO_RB, HALF = range(5)

# ------------------------------------------------------------------ weights, (7, d + 1)
# The last column is the intercept's.
# LAG: weights minus this over the record's `averaged` are the averaged weights.
# SQUARES: sums of squared gradients, in units of the largest distance.
# INVERSE: one over the largest distance of the feature from its centre; 1 without normalisation.
# CENTRE: what is taken off the feature; 0 where nothing is.
# TOTAL and PRESENT: sums over the first rows, and in how many of them it was not zero.
WEIGHT, LAG, SQUARES, INVERSE, CENTRE, TOTAL, PRESENT = range(7)

LARGEST: Final = 1e100
"""Without normalisation: larger values would end in infinite weights."""

UNSEEN: Final = 1e100
"""INVERSE of a feature that was always zero, or so small that it may as well be."""

# ------------------------------------------------------------------ tables of the tally
WEIGHT_OF_ROWS, SQUARED_WEIGHT, NUMBER_OF_ROWS, WEIGHT_IN_WINDOW = range(4)

# ------------------------------------------------------------------ rows of the bins
BINS: Final = 512
RULE_NEGATIVE, RULE_POSITIVE, NEGATIVE, POSITIVE, EXPECTED = range(5)
"""What the rule goes by: weighted by the square of the row's number, or the window's rows; weight
of all rows by class, and the sum of their posteriors."""

# ------------------------------------------------------------------ the last rows, (rows, 3)
RING_BIN, RING_CODE, RING_WEIGHT = range(3)
"""The code: 2 y + decided."""

STATE: Final = np.dtype(
    [
        # What was chosen, in codes.
        ("learner", np.int64),
        ("solver", np.int64),
        ("constant_step", np.int64),  # 1: steps that do not shrink, and no average
        ("windowed", np.int64),  # 1: the sketch counts the rows of the window only
        ("asks", np.int64),  # 1: stop where a threshold is due, and let the caller find it
        ("margin", np.int64),  # 1: scores are not posteriors; the threshold is one of log-odds
        ("normalised", np.int64),  # 1: weights shrink when a feature is larger than ever
        ("step", np.float64),
        ("beta2", np.float64),  # the squared beta of F-beta
        # The learner.
        ("updates", np.float64),  # rows that it has learnt
        ("averaged", np.float64),  # sum of the weights of the average
        ("norms", np.float64),  # of squared features, in units of the largest distances
        ("centred", np.int64),  # number of features that have a centre
        # The threshold.
        ("threshold", np.float64),  # decide positive when the score is at least this
        ("open", np.int64),  # 1 once a positive came: before, nobody is decided positive
        ("due", np.int64),  # 1 when the threshold is to be found anew
        # The sketch: Platt's calibration, and the weight of rows and of positives when the
        # threshold was found last.
        ("slope", np.float64),
        ("intercept", np.float64),
        ("solved_rows", np.float64),
        ("solved_positives", np.float64),
        # FOFO: iterate, start and radius of the stage, its step, rows so far and in all, and
        # how many stages go on alike; negative: for ever, doubling.
        ("theta", np.float64),
        ("start", np.float64),
        ("radius", np.float64),
        ("rate", np.float64),
        ("stage", np.float64),
        ("stage_length", np.float64),
        ("stages_left", np.float64),
        # OFO: numerator and denominator of its threshold.
        ("gain", np.float64),
        ("cost", np.float64),
        # Counts.
        ("age", np.float64),  # rows of positive weight
        ("smallest", np.float64, (2,)),  # positive weight of a row, by class
        ("next", np.int64),  # where the next row goes in the ring
        ("filled", np.int64),  # rows in the ring
        ("tally", np.float64, (4, 2, 2)),  # by what is counted, true class and decision
        ("bins", np.float64, (5, BINS)),  # weight by score
    ]
)


@dataclass(eq=False)
class State:
    """What kernels read and write."""

    record: Any
    weights: Floats
    ring: Floats

    def copy(self) -> State:
        """Another state like this one."""
        return State(*(getattr(self, f.name).copy() for f in fields(self)))

    @property
    def tally(self) -> Floats:
        """Weights, squared weights, numbers of rows and the window's weights (4, 2, 2)."""
        tally: Floats = self.record["tally"]
        return tally

    @property
    def bins(self) -> Floats:
        """The sketch (5, BINS)."""
        bins: Floats = self.record["bins"]
        return bins


# --- Scores of rows by the weights of a learner ---------------------------------------------------


Values = NDArray[np.floating[Any]]
Columns = Integers | None


@inner
def column(columns: Columns, low: int, k: int) -> Any:
    """The column of a row's k-th value."""
    if columns is None:
        return uintp(k)
    return uintp(columns[uintp(low + k)])


@inner
def holds(values: Values, columns: Columns, low: int, size: int, j: int) -> bool:
    """Whether a row is not zero in column j."""
    if columns is None:
        return bool(values[uintp(low + j)] != 0.0)
    for k in range(size):
        if columns[uintp(low + k)] == j:
            return bool(values[uintp(low + k)] != 0.0)
    return False


@inner
def is_finite(values: Values, low: int, size: int) -> bool:
    """Whether all values of a row are finite."""
    n = 0
    for k in range(size):
        n += not math.isfinite(values[uintp(low + k)])
    return n == 0


def _margins(
    values: Values, columns: Columns, low: int, size: int, centred: int, weights: Floats
) -> tuple[float, float, float, int]:
    """The body of `margins`."""
    d = weights.shape[1] - 1
    last, behind, norm = float(weights[WEIGHT, d]), float(weights[LAG, d]), 1.0
    far, there = 0, 0
    for k in range(size):
        j = column(columns, low, k)
        value = values[uintp(low + k)] - weights[CENTRE, j]
        last += weights[WEIGHT, j] * value
        behind += weights[LAG, j] * value
        share = value * weights[INVERSE, j]
        norm += share * share
        far += abs(share) > 1.0
        there += (weights[CENTRE, j] != 0.0) & (values[uintp(low + k)] != 0.0)
    return last, behind, norm, far + centred - there


def _plain_margins(
    values: Values, columns: Columns, low: int, size: int, weights: Floats
) -> tuple[float, float, int]:
    """The body of `plain_margins`."""
    d = weights.shape[1] - 1
    last, behind, huge = float(weights[WEIGHT, d]), float(weights[LAG, d]), 0
    for k in range(size):
        j = column(columns, low, k)
        last += weights[WEIGHT, j] * values[uintp(low + k)]
        behind += weights[LAG, j] * values[uintp(low + k)]
        huge += abs(values[uintp(low + k)]) > LARGEST
    return last, behind, huge


# Dense rows are added up as suits the machine, four times as fast. Sparse ones in their order, so
# that a zero that is stored changes no bit.
_margins_dense, _margins_sparse = inner_sums(_margins), inner(_margins)
_plain_dense, _plain_sparse = inner_sums(_plain_margins), inner(_plain_margins)


@inner
def margins(
    values: Values, columns: Columns, low: int, size: int, centred: int, weights: Floats
) -> tuple[float, float, float, int]:
    """The margin of a row by the last weights, and how far the average is behind it."""
    if columns is None:
        return _margins_dense(values, columns, low, size, centred, weights)
    return _margins_sparse(values, columns, low, size, centred, weights)


@inner
def plain_margins(
    values: Values, columns: Columns, low: int, size: int, weights: Floats
) -> tuple[float, float, int]:
    """As `margins`, for learners that take features as they are; how many are too large."""
    if columns is None:
        return _plain_dense(values, columns, low, size, weights)
    return _plain_sparse(values, columns, low, size, weights)


@inner
def strange_margins(
    values: Values, columns: Columns, low: int, size: int, centred: int, weights: Floats
) -> tuple[float, float]:
    """The margins of a strange row once there is room for it; nothing changes."""
    d, there = weights.shape[1] - 1, 0
    last, behind = float(weights[WEIGHT, d]), float(weights[LAG, d])
    for k in range(size):
        there += (weights[CENTRE, column(columns, low, k)] != 0.0) & (values[uintp(low + k)] != 0.0)
    if there < centred:
        for j in range(d):
            centre = weights[CENTRE, j]
            if centre != 0.0 and not holds(values, columns, low, size, j):
                past = max(1.0, abs(centre) * weights[INVERSE, j])
                last -= weights[WEIGHT, j] / past * centre
                behind -= weights[LAG, j] / past * centre
    for k in range(size):
        j = column(columns, low, k)
        value = values[uintp(low + k)] - (
            weights[CENTRE, j] if values[uintp(low + k)] != 0.0 else 0.0
        )
        past = max(1.0, abs(value) * weights[INVERSE, j])
        last += weights[WEIGHT, j] / past * value
        behind += weights[LAG, j] / past * value
    return last, behind


# --- Logistic learners, one row at a time ---------------------------------------------------------


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
    weight, lag, squares = weights[WEIGHT], weights[LAG], weights[SQUARES]
    inverse, centre, d = weights[INVERSE], weights[CENTRE], weights.shape[1] - 1
    if state.learner >= ADAGRAD:
        careful = state.learner == NAG and state.constant_step == 0
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
    rate, adaptive = state.step, state.learner >= ADAGRAD
    if state.learner == NAG:
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
    if weights[CENTRE, j] != 0.0:
        state.centred -= 1
    if centre != 0.0:
        state.centred += 1
    far, last = centre - weights[CENTRE, j], weights.shape[1] - 1
    weights[WEIGHT, last] += weights[WEIGHT, j] * far
    weights[LAG, last] += weights[LAG, j] * far
    weights[CENTRE, j] = centre


@inner
def _shrink(weights: Floats, j: int, size: float) -> None:
    """Shrink a weight whose feature is farther from its centre than ever."""
    past = size * weights[INVERSE, j]
    if past > 1.0:
        weights[WEIGHT, j] /= past
        weights[LAG, j] /= past
        weights[SQUARES, j] /= past * past
        weights[INVERSE, j] = 1.0 / size


@inner
def _look(state: Any, weights: Floats, j: int, value: float) -> None:
    """Take note of a feature's value in the last row that was learnt, one of the first."""
    n_rows = state.updates
    n = int(n_rows)
    if n <= _FIRST_ROWS:
        weights[TOTAL, j] += value
        weights[PRESENT, j] += value != 0.0
        if n == _FIRST_ROWS and weights[PRESENT, j] == n_rows:
            _move_centre(state, weights, j, weights[TOTAL, j] / n_rows)
            for row in (WEIGHT, LAG, SQUARES):
                weights[row, j] = 0.0
            weights[INVERSE, j] = UNSEEN
    elif weights[CENTRE, j] != 0.0:
        weights[TOTAL, j] += value
        if n & (n - 1) == 0:  # a power of two
            mean = weights[TOTAL, j] / n_rows
            # Differences by rounding are not a spread.
            if abs(mean - weights[CENTRE, j]) > _CLOSE * abs(mean):
                _move_centre(state, weights, j, mean)


@inner
def adapt(
    values: Values, columns: Columns, low: int, size: int, state: Any, weights: Floats
) -> None:
    """Make room for what is strange in a row."""
    there = 0
    for k in range(size):
        there += (weights[CENTRE, column(columns, low, k)] != 0.0) & (values[uintp(low + k)] != 0.0)
    if there < state.centred:
        for j in range(weights.shape[1] - 1):
            if weights[CENTRE, j] != 0.0 and not holds(values, columns, low, size, j):
                _shrink(weights, j, abs(weights[CENTRE, j]))
                _move_centre(state, weights, j, 0.0)
    for k in range(size):
        j = column(columns, low, k)
        _shrink(weights, j, abs(values[uintp(low + k)] - weights[CENTRE, j]))


@inner
def settle(
    values: Values, columns: Columns, low: int, size: int, state: Any, weights: Floats
) -> None:
    """After one of the first rows: see to the centres."""
    for k in range(size):
        _look(state, weights, column(columns, low, k), values[uintp(low + k)])
