"""The loop over the rows: score, decide, count, learn, move the threshold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.online.compiled import inner, outer
from setpoint.online.dense import adapt, is_finite, margins, plain_margins, settle, update
from setpoint.online.layout import (
    AGE,
    ASK,
    AVERAGED,
    BINS,
    CENTRE,
    DECIDE,
    DUE,
    EXPECTED,
    FILLED,
    FOFO,
    HALF,
    INVERSE,
    LAG,
    LEARN,
    MARGIN,
    N_SCALARS,
    NEGATIVE,
    NEXT,
    NORMALISED,
    OPEN,
    RING_BIN,
    RING_CODE,
    RING_WEIGHT,
    ROWS_NUMBER,
    ROWS_SQUARES,
    ROWS_WEIGHT,
    RULE_NEGATIVE,
    SCORE,
    SKETCH,
    SKETCHED,
    SMALLEST,
    SOLVER,
    SQUARES,
    TALLY,
    THRESHOLD,
    TRACK,
    UPDATES,
    WEIGHT,
    WINDOW_WEIGHT,
    WINDOWED,
)
from setpoint.online.learners import CENTRED_ROWS
from setpoint.online.sketch import bin_of, posterior, refresh
from setpoint.online.solvers import fofo, is_due, ofo
from setpoint.online.sparse import (
    adapt_sparse,
    is_finite_sparse,
    margins_sparse,
    plain_margins_sparse,
    settle_sparse,
    strange_margins,
    update_sparse,
)
from setpoint.typing import Floats

__all__ = ["set_cut", "stream_dense", "stream_scores", "stream_sparse"]

Ints = NDArray[np.int64]


_HEAVY = 1e6
"""When a row so much heavier leaves the window, sums without it are mostly rounding."""


@inner
def _behind(last: float, behind: float, choices: Ints, memory: Floats) -> float:
    """The margin that decides: that of the averaged weights, or of the last ones."""
    if choices[TRACK] == 1 or memory[AVERAGED] == 0.0:
        return last
    return last - behind / float(memory[AVERAGED])


@outer
def _unlearnt(X: NDArray[Any], i: int, weights: Floats) -> tuple[float, float]:
    """The margins of a strange row that shall leave no trace."""
    apart = weights.copy()
    adapt(X, i, np.zeros(N_SCALARS), apart)
    last, behind, _, _ = margins(X, i, apart[WEIGHT], apart[LAG], apart[INVERSE], apart[CENTRE])
    return last, behind


@inner
def _recount(memory: Floats, ring: Floats, windowed: bool) -> None:
    """Count the window anew, so that rounding of weights does not pile up."""
    tally = TALLY + 4 * WINDOW_WEIGHT
    for k in range(4):
        memory[tally + k] = 0.0
    if windowed:
        for k in range(2 * BINS):
            memory[SKETCHED + RULE_NEGATIVE * BINS + k] = 0.0
    for k in range(ring.shape[0]):
        code, weight = int(ring[k, RING_CODE]), ring[k, RING_WEIGHT]
        memory[tally + code] += weight
        if windowed:
            row = RULE_NEGATIVE + (code >> 1)
            memory[SKETCHED + row * BINS + int(ring[k, RING_BIN])] += weight


@inner
def _observe(
    z: float,
    p: float,
    decided: int,
    y: int,
    weight: float,
    choices: Ints,
    memory: Floats,
    ring: Floats,
) -> None:
    """Count a row whose label came, and move the threshold."""
    k, code, windowed = bin_of(z), 2 * y + decided, choices[WINDOWED] == 1
    memory[AGE] += 1.0
    if y == 1:
        memory[OPEN] = 1.0
    memory[SMALLEST + y] = min(memory[SMALLEST + y], weight)
    memory[TALLY + 4 * ROWS_WEIGHT + code] += weight
    memory[TALLY + 4 * ROWS_SQUARES + code] += weight * weight
    memory[TALLY + 4 * ROWS_NUMBER + code] += 1.0
    memory[SKETCHED + (NEGATIVE + y) * BINS + k] += weight
    memory[SKETCHED + EXPECTED * BINS + k] += weight * p

    rule = SKETCHED + RULE_NEGATIVE * BINS
    place, gone = int(memory[NEXT]), 0.0
    if memory[FILLED] == ring.shape[0]:
        old, gone = int(ring[place, RING_CODE]), ring[place, RING_WEIGHT]
        memory[TALLY + 4 * WINDOW_WEIGHT + old] -= gone
        if windowed:
            memory[rule + (old >> 1) * BINS + int(ring[place, RING_BIN])] -= gone
    else:
        memory[FILLED] += 1.0
    ring[place, RING_BIN], ring[place, RING_CODE], ring[place, RING_WEIGHT] = k, code, weight
    memory[TALLY + 4 * WINDOW_WEIGHT + code] += weight
    age = 1.0 if windowed else memory[AGE]
    memory[rule + y * BINS + k] += weight * age * age
    memory[NEXT] = place + 1.0
    if place + 1 == ring.shape[0]:
        memory[NEXT] = 0.0
    if memory[NEXT] == 0.0 or gone > _HEAVY * weight:
        _recount(memory, ring, windowed)

    solver = choices[SOLVER]
    if solver == SKETCH:
        memory[DUE] = 1.0 if _is_due(windowed, memory) else 0.0
    elif solver == FOFO:
        negatives, positives = _by_class(memory, ROWS_WEIGHT)
        fofo(p, positives / (negatives + positives), weight, memory)
    elif solver != HALF:
        ofo(p, y, decided, weight, solver, memory)


@inner
def _by_class(memory: Floats, what: int) -> tuple[float, float]:
    at = TALLY + 4 * what
    return memory[at] + memory[at + 1], memory[at + 2] + memory[at + 3]


@inner
def _is_due(windowed: bool, memory: Floats) -> bool:
    """Whether the sketch's threshold is to be found anew: never before both classes came."""
    negatives, positives = _by_class(memory, ROWS_WEIGHT)
    counted, hits = negatives + positives, positives
    if windowed:
        counted, hits = _by_class(memory, WINDOW_WEIGHT)
        counted += hits
    return 0.0 < hits < counted and is_due(negatives + positives, positives, counted, hits, memory)


@outer
def set_cut(z: float, choices: Ints, memory: Floats) -> None:
    """Take a score as the threshold that was due."""
    memory[THRESHOLD] = z if choices[MARGIN] == 1 else posterior(z)
    memory[DUE] = 0.0


@outer
def _renew(choices: Ints, memory: Floats) -> None:
    """Find the sketch's threshold anew."""
    set_cut(refresh(memory, choices[WINDOWED] == 1), choices, memory)


@outer
def stream_dense(
    X: NDArray[Any],
    y: NDArray[np.int8],
    row_weight: Floats,
    start: int,
    mode: int,
    choices: Ints,
    weights: Floats,
    memory: Floats,
    ring: Floats,
    out: Floats,
    decided: NDArray[np.int8],
) -> int:
    """Go through rows of a matrix; the next row, where the caller is asked for a threshold.

    A row that is not finite ends it: -1 minus its number. What came before it was learnt.

    Parameters
    ----------
    X : array (N, d)
    y : array (N,)
        1 for positives; not looked at where nothing is learnt.
    row_weight : array (N,), or (0,) for ones
    start : int
        The first row to look at.
    mode : int
        A sum of SCORE, DECIDE and LEARN.
    choices, weights, memory, ring : array
        The state; see :mod:`setpoint.online.layout`.
    out : array (N, 2)
        Log-odds and posterior of each row, written where rows are scored, else read.
    decided : array (N,)
        Decisions, written where rows are decided, else read.
    """
    score, learn = mode & SCORE != 0, mode & LEARN != 0
    weight, lag, squares = weights[WEIGHT], weights[LAG], weights[SQUARES]
    inverse, centre = weights[INVERSE], weights[CENTRE]
    normalised = choices[NORMALISED] == 1
    for i in range(start, X.shape[0]):
        w = row_weight[i] if row_weight.size else 1.0
        norm = 1.0
        if normalised:
            last, behind, norm, strange = margins(X, i, weight, lag, inverse, centre)
        else:
            last, behind, strange = plain_margins(X, i, weight, lag)
        if normalised and strange > 0 and is_finite(X, i):
            if learn and w > 0.0:
                adapt(X, i, memory, weights)
                last, behind, norm, _ = margins(X, i, weight, lag, inverse, centre)
            else:
                last, behind = _unlearnt(X, i, weights)
        if not math.isfinite(last + behind) or (strange > 0 and not normalised):
            return -1 - i
        if score:
            _score(_behind(last, behind, choices, memory), i, mode, choices, memory, out, decided)
        if learn and w > 0.0:
            slope = w * (posterior(last) - y[i])
            update(X, i, slope, norm, choices, memory, weight, lag, squares, inverse, centre)
            if normalised and memory[UPDATES] <= CENTRED_ROWS:
                settle(X, i, memory, weights)
            _observe(out[i, 0], out[i, 1], decided[i], y[i], w, choices, memory, ring)
            if memory[DUE] == 1.0:
                if choices[ASK] == 1:
                    return i + 1
                _renew(choices, memory)
    return len(X)


@outer
def stream_sparse(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    y: NDArray[np.int8],
    row_weight: Floats,
    start: int,
    mode: int,
    choices: Ints,
    weights: Floats,
    memory: Floats,
    ring: Floats,
    out: Floats,
    decided: NDArray[np.int8],
) -> int:
    """As :func:`stream_dense`, of a matrix in compressed sparse rows."""
    score, learn = mode & SCORE != 0, mode & LEARN != 0
    weight, lag, squares = weights[WEIGHT], weights[LAG], weights[SQUARES]
    inverse, centre = weights[INVERSE], weights[CENTRE]
    normalised = choices[NORMALISED] == 1
    for i in range(start, indptr.size - 1):
        low, high = indptr[i], indptr[i + 1]
        w = row_weight[i] if row_weight.size else 1.0
        norm = 1.0
        if normalised:
            last, behind, norm, strange = margins_sparse(
                data, indices, low, high, memory, weight, lag, inverse, centre
            )
        else:
            last, behind, strange = plain_margins_sparse(data, indices, low, high, weight, lag)
        if normalised and strange > 0 and is_finite_sparse(data, low, high):
            if learn and w > 0.0:
                adapt_sparse(data, indices, low, high, memory, weights)
                last, behind, norm, _ = margins_sparse(
                    data, indices, low, high, memory, weight, lag, inverse, centre
                )
            else:
                last, behind = strange_margins(data, indices, low, high, memory, weights)
        if not math.isfinite(last + behind) or (strange > 0 and not normalised):
            return -1 - i
        if score:
            _score(_behind(last, behind, choices, memory), i, mode, choices, memory, out, decided)
        if learn and w > 0.0:
            slope = w * (posterior(last) - y[i])
            update_sparse(
                data, indices, low, high, slope, norm, choices, memory, weight, lag, squares,
                inverse, centre,
            )  # fmt: skip
            if normalised and memory[UPDATES] <= CENTRED_ROWS:
                settle_sparse(data, indices, low, high, memory, weights)
            _observe(out[i, 0], out[i, 1], decided[i], y[i], w, choices, memory, ring)
            if memory[DUE] == 1.0:
                if choices[ASK] == 1:
                    return i + 1
                _renew(choices, memory)
    return int(indptr.size - 1)


@outer
def stream_scores(
    y: NDArray[np.int8],
    row_weight: Floats,
    start: int,
    mode: int,
    choices: Ints,
    memory: Floats,
    ring: Floats,
    out: Floats,
    decided: NDArray[np.int8],
) -> int:
    """As :func:`stream_dense`, of rows that something else has scored: log-odds in `out`."""
    score, learn = mode & SCORE != 0, mode & LEARN != 0
    for i in range(start, out.shape[0]):
        if score:
            _score(out[i, 0], i, mode, choices, memory, out, decided)
        w = row_weight[i] if row_weight.size else 1.0
        if learn and w > 0.0:
            _observe(out[i, 0], out[i, 1], decided[i], y[i], w, choices, memory, ring)
            if memory[DUE] == 1.0:
                if choices[ASK] == 1:
                    return i + 1
                _renew(choices, memory)
    return int(out.shape[0])


@inner
def _score(
    z: float,
    i: int,
    mode: int,
    choices: Ints,
    memory: Floats,
    out: Floats,
    decided: NDArray[np.int8],
) -> None:
    p = posterior(z)
    out[i, 0], out[i, 1] = z, p
    if mode & DECIDE != 0:
        accepted = (z if choices[MARGIN] == 1 else p) >= memory[THRESHOLD]
        decided[i] = accepted and memory[OPEN] == 1.0
