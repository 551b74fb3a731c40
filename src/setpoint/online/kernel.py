"""The loop over the rows: score, decide, count, learn, move the threshold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.online import layout as at
from setpoint.online.compiled import inner, outer
from setpoint.online.dense import adapt, is_finite, margins, plain_margins, settle, update
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
    if choices[at.TRACK] == 1 or memory[at.AVERAGED] == 0.0:
        return last
    return last - behind / float(memory[at.AVERAGED])


@outer
def _unlearnt(X: NDArray[Any], i: int, weights: Floats) -> tuple[float, float]:
    """The margins of a strange row that shall leave no trace."""
    apart = weights.copy()
    adapt(X, i, np.zeros(at.N_SCALARS), apart)
    last, behind, _, _ = margins(
        X, i, apart[at.WEIGHT], apart[at.LAG], apart[at.INVERSE], apart[at.CENTRE]
    )
    return last, behind


@inner
def _recount(memory: Floats, ring: Floats, windowed: bool) -> None:
    """Count the window anew, so that rounding of weights does not pile up."""
    tally = at.TALLY + 4 * at.WINDOW_WEIGHT
    for k in range(4):
        memory[tally + k] = 0.0
    if windowed:
        for k in range(2 * at.BINS):
            memory[at.SKETCHED + at.RULE_NEGATIVE * at.BINS + k] = 0.0
    for k in range(ring.shape[0]):
        code, weight = int(ring[k, at.RING_CODE]), ring[k, at.RING_WEIGHT]
        memory[tally + code] += weight
        if windowed:
            row = at.RULE_NEGATIVE + (code >> 1)
            memory[at.SKETCHED + row * at.BINS + int(ring[k, at.RING_BIN])] += weight


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
    k, code, windowed = bin_of(z), 2 * y + decided, choices[at.WINDOWED] == 1
    memory[at.AGE] += 1.0
    if y == 1:
        memory[at.OPEN] = 1.0
    memory[at.SMALLEST + y] = min(memory[at.SMALLEST + y], weight)
    memory[at.TALLY + 4 * at.ROWS_WEIGHT + code] += weight
    memory[at.TALLY + 4 * at.ROWS_SQUARES + code] += weight * weight
    memory[at.TALLY + 4 * at.ROWS_NUMBER + code] += 1.0
    memory[at.SKETCHED + (at.NEGATIVE + y) * at.BINS + k] += weight
    memory[at.SKETCHED + at.EXPECTED * at.BINS + k] += weight * p

    rule = at.SKETCHED + at.RULE_NEGATIVE * at.BINS
    place, gone = int(memory[at.NEXT]), 0.0
    if memory[at.FILLED] == ring.shape[0]:
        old, gone = int(ring[place, at.RING_CODE]), ring[place, at.RING_WEIGHT]
        memory[at.TALLY + 4 * at.WINDOW_WEIGHT + old] -= gone
        if windowed:
            memory[rule + (old >> 1) * at.BINS + int(ring[place, at.RING_BIN])] -= gone
    else:
        memory[at.FILLED] += 1.0
    ring[place, at.RING_BIN] = k
    ring[place, at.RING_CODE] = code
    ring[place, at.RING_WEIGHT] = weight
    memory[at.TALLY + 4 * at.WINDOW_WEIGHT + code] += weight
    age = 1.0 if windowed else memory[at.AGE]
    memory[rule + y * at.BINS + k] += weight * age * age
    memory[at.NEXT] = place + 1.0
    if place + 1 == ring.shape[0]:
        memory[at.NEXT] = 0.0
    if memory[at.NEXT] == 0.0 or gone > _HEAVY * weight:
        _recount(memory, ring, windowed)

    solver = choices[at.SOLVER]
    if solver == at.SKETCH:
        memory[at.DUE] = 1.0 if _is_due(windowed, memory) else 0.0
    elif solver == at.FOFO:
        negatives, positives = _by_class(memory, at.ROWS_WEIGHT)
        fofo(p, positives / (negatives + positives), weight, memory)
    elif solver != at.HALF:
        ofo(p, y, decided, weight, solver, memory)


@inner
def _by_class(memory: Floats, what: int) -> tuple[float, float]:
    first = at.TALLY + 4 * what
    return memory[first] + memory[first + 1], memory[first + 2] + memory[first + 3]


@inner
def _is_due(windowed: bool, memory: Floats) -> bool:
    """Whether the sketch's threshold is to be found anew: never before both classes came."""
    negatives, positives = _by_class(memory, at.ROWS_WEIGHT)
    counted, hits = negatives + positives, positives
    if windowed:
        counted, hits = _by_class(memory, at.WINDOW_WEIGHT)
        counted += hits
    return 0.0 < hits < counted and is_due(negatives + positives, positives, counted, hits, memory)


@outer
def set_cut(z: float, choices: Ints, memory: Floats) -> None:
    """Take a score as the threshold that was due."""
    memory[at.THRESHOLD] = z if choices[at.MARGIN] == 1 else posterior(z)
    memory[at.DUE] = 0.0


@outer
def _renew(choices: Ints, memory: Floats) -> None:
    """Find the sketch's threshold anew."""
    set_cut(refresh(memory, choices[at.WINDOWED] == 1), choices, memory)


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
    score, learn = mode & at.SCORE != 0, mode & at.LEARN != 0
    weight, lag, squares = weights[at.WEIGHT], weights[at.LAG], weights[at.SQUARES]
    inverse, centre = weights[at.INVERSE], weights[at.CENTRE]
    normalised = choices[at.NORMALISED] == 1
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
            if normalised and memory[at.UPDATES] <= CENTRED_ROWS:
                settle(X, i, memory, weights)
            _observe(out[i, 0], out[i, 1], decided[i], y[i], w, choices, memory, ring)
            if memory[at.DUE] == 1.0:
                if choices[at.ASK] == 1:
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
    score, learn = mode & at.SCORE != 0, mode & at.LEARN != 0
    weight, lag, squares = weights[at.WEIGHT], weights[at.LAG], weights[at.SQUARES]
    inverse, centre = weights[at.INVERSE], weights[at.CENTRE]
    normalised = choices[at.NORMALISED] == 1
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
            if normalised and memory[at.UPDATES] <= CENTRED_ROWS:
                settle_sparse(data, indices, low, high, memory, weights)
            _observe(out[i, 0], out[i, 1], decided[i], y[i], w, choices, memory, ring)
            if memory[at.DUE] == 1.0:
                if choices[at.ASK] == 1:
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
    score, learn = mode & at.SCORE != 0, mode & at.LEARN != 0
    for i in range(start, out.shape[0]):
        if score:
            _score(out[i, 0], i, mode, choices, memory, out, decided)
        w = row_weight[i] if row_weight.size else 1.0
        if learn and w > 0.0:
            _observe(out[i, 0], out[i, 1], decided[i], y[i], w, choices, memory, ring)
            if memory[at.DUE] == 1.0:
                if choices[at.ASK] == 1:
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
    if mode & at.DECIDE != 0:
        accepted = (z if choices[at.MARGIN] == 1 else p) >= memory[at.THRESHOLD]
        decided[i] = accepted and memory[at.OPEN] == 1.0
