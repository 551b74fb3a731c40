"""The loop over the rows: score, decide, count, learn, move the threshold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats, Integers
from setpoint.errors import InputError
from setpoint.online import state as at
from setpoint.online.compiled import inner, outer
from setpoint.online.learners import CENTRED_ROWS, adapt, settle, update
from setpoint.online.margins import (
    Columns,
    Values,
    is_finite,
    margins,
    plain_margins,
    strange_margins,
)
from setpoint.online.solvers.fofo import fofo
from setpoint.online.solvers.ofo import ofo
from setpoint.online.solvers.sketch import bin_of, is_due, posterior, refresh
from setpoint.online.state import State

__all__ = ["NotFiniteError", "run", "set_cut"]

Codes = NDArray[np.int8]

_NO_WEIGHTS: Floats = np.empty(0)
_NO_LABELS: Codes = np.empty(0, np.int8)

_HEAVY = 1e6
"""When a row so much heavier leaves the window, sums without it are mostly rounding."""


class NotFiniteError(InputError):
    """A row cannot be scored; those before it were learnt."""


def run(
    state: State,
    X: Any,
    y: Codes | None,
    row_weight: Floats | None,
    out: Floats,
    decided: Codes,
    mode: int,
    start: int = 0,
) -> int:
    """Go through rows; the next row, where the caller is asked for a threshold."""
    if not state.record.flags.writeable:  # as joblib maps it from a file
        vars(state).update(vars(state.copy()))
    labels = _NO_LABELS if y is None else y
    weight = _NO_WEIGHTS if row_weight is None else row_weight
    rest = (labels, weight, start, mode, state.record, state.ring, out, decided)
    if X is None:
        end = _stream_scores(*rest)
    elif isinstance(X, np.ndarray):
        end = _stream(X.reshape(-1), None, None, state.weights, *rest)
    else:
        end = _stream(X.data, X.indices, X.indptr, state.weights, *rest)
    if end < 0:
        raise NotFiniteError(
            f"`X` holds NaN, infinite values or values too large for a score, in row {-1 - end}"
        )
    return int(end)


@outer
def _stream(
    values: Values,
    columns: Columns,
    ends: Integers | None,
    weights: Floats,
    y: Codes,
    row_weight: Floats,
    start: int,
    mode: int,
    record: Any,
    ring: Floats,
    out: Floats,
    decided: Codes,
) -> int:
    """As `run`; a row that is not finite ends it: -1 minus its number."""
    state, d = record[()], weights.shape[1] - 1
    for i in range(start, out.shape[0]):
        w = row_weight[i] if row_weight.size else 1.0
        learnt = mode & at.LEARN != 0 and w > 0.0
        low = _begin_of(ends, d, i)
        size, norm = _begin_of(ends, d, i + 1) - low, 1.0
        if state.normalised == 1:
            last, behind, norm, strange = margins(
                values, columns, low, size, state.centred, weights
            )
            if strange > 0:
                last, behind = strange_margins(values, columns, low, size, state.centred, weights)
                if learnt and is_finite(values, low, size) and math.isfinite(last + behind):
                    adapt(values, columns, low, size, state, weights)
                    _, _, norm, _ = margins(values, columns, low, size, state.centred, weights)
        else:
            last, behind, strange = plain_margins(values, columns, low, size, weights)
            if strange > 0:
                return -1 - i
        if not math.isfinite(last + behind):
            return -1 - i
        if mode & at.SCORE != 0:
            z = last
            # The margin that decides is that of the averaged weights, if there are any.
            if state.constant_step == 0 and state.averaged != 0.0:
                z -= behind / float(state.averaged)
            _score(z, i, mode, state, out, decided)
        if learnt:
            slope = w * (posterior(last) - y[i])
            update(values, columns, low, size, slope, norm, state, weights)
            if state.normalised == 1 and state.updates <= CENTRED_ROWS:
                settle(values, columns, low, size, state, weights)
            if _count(out[i, 0], out[i, 1], decided[i], y[i], w, state, ring):
                _recount(state, ring)
            _move(out[i, 1], decided[i], y[i], w, state)
            if state.due == 1:
                if state.asks == 1:
                    return i + 1
                _set_cut(refresh(state), state)
    return int(out.shape[0])


@outer
def _stream_scores(
    y: Codes,
    row_weight: Floats,
    start: int,
    mode: int,
    record: Any,
    ring: Floats,
    out: Floats,
    decided: Codes,
) -> int:
    """As `run`, of rows that something else has scored."""
    state = record[()]
    for i in range(start, out.shape[0]):
        w = row_weight[i] if row_weight.size else 1.0
        if mode & at.SCORE != 0:
            _score(out[i, 0], i, mode, state, out, decided)
        if mode & at.LEARN != 0 and w > 0.0:
            if _count(out[i, 0], out[i, 1], decided[i], y[i], w, state, ring):
                _recount(state, ring)
            _move(out[i, 1], decided[i], y[i], w, state)
            if state.due == 1:
                if state.asks == 1:
                    return i + 1
                _set_cut(refresh(state), state)
    return int(out.shape[0])


@inner
def _score(z: float, i: int, mode: int, state: Any, out: Floats, decided: Codes) -> None:
    p = posterior(z)
    out[i, 0], out[i, 1] = z, p
    if mode & at.DECIDE != 0:
        accepted = (z if state.margin == 1 else p) >= state.threshold
        decided[i] = accepted and state.open == 1


@inner
def _begin_of(ends: Integers | None, d: int, i: int) -> int:
    """Where row i begins."""
    if ends is None:
        return i * d
    return int(ends[i])


@outer
def _recount(state: Any, ring: Floats) -> None:
    """Count the window anew, so that rounding of weights does not pile up."""
    state.tally[at.WEIGHT_IN_WINDOW] = 0.0
    if state.windowed == 1:
        state.bins[: at.RULE_POSITIVE + 1] = 0.0
    for k in range(ring.shape[0]):
        code, weight = int(ring[k, at.RING_CODE]), ring[k, at.RING_WEIGHT]
        state.tally[at.WEIGHT_IN_WINDOW, code >> 1, code & 1] += weight
        if state.windowed == 1:
            state.bins[at.RULE_NEGATIVE + (code >> 1), int(ring[k, at.RING_BIN])] += weight


@inner
def _count(
    z: float, p: float, decided: int, y: int, weight: float, state: Any, ring: Floats
) -> bool:
    """Count a row whose label came; whether the window is to be counted anew."""
    k = bin_of(z)
    state.age += 1.0
    if y == 1:
        state.open = 1
    state.smallest[y] = min(state.smallest[y], weight)
    state.tally[at.WEIGHT_OF_ROWS, y, decided] += weight
    state.tally[at.SQUARED_WEIGHT, y, decided] += weight * weight
    state.tally[at.NUMBER_OF_ROWS, y, decided] += 1.0
    state.bins[at.NEGATIVE + y, k] += weight
    state.bins[at.EXPECTED, k] += weight * p

    place, gone = state.next, 0.0
    if state.filled == ring.shape[0]:
        old, gone = int(ring[place, at.RING_CODE]), ring[place, at.RING_WEIGHT]
        state.tally[at.WEIGHT_IN_WINDOW, old >> 1, old & 1] -= gone
        if state.windowed == 1:
            state.bins[at.RULE_NEGATIVE + (old >> 1), int(ring[place, at.RING_BIN])] -= gone
    else:
        state.filled += 1
    ring[place, at.RING_BIN] = k
    ring[place, at.RING_CODE] = 2 * y + decided
    ring[place, at.RING_WEIGHT] = weight
    state.tally[at.WEIGHT_IN_WINDOW, y, decided] += weight
    age = 1.0 if state.windowed == 1 else state.age
    state.bins[at.RULE_NEGATIVE + y, k] += weight * age * age
    state.next = place + 1 if place + 1 < ring.shape[0] else 0
    return state.next == 0 or gone > _HEAVY * weight


@inner
def _move(p: float, decided: int, y: int, weight: float, state: Any) -> None:
    """Move the threshold after a row."""
    if state.solver == at.SKETCH:
        state.due = 1 if is_due(state) else 0
    elif state.solver == at.FOFO:
        fofo(p, weight, state)
    elif state.solver != at.HALF:
        ofo(p, y, decided, weight, state)


@outer
def set_cut(z: float, record: Any) -> None:
    """Take a score as the threshold that was due."""
    _set_cut(z, record[()])


@inner
def _set_cut(z: float, state: Any) -> None:
    state.threshold = z if state.margin == 1 else posterior(z)
    state.due = 0
