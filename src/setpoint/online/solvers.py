"""Thresholds of streams: FOFO, OFO and the sketch, and the loop that runs them."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats, Integers
from setpoint.errors import InputError
from setpoint.online import learners as at
from setpoint.online.learners import (
    CENTRED_ROWS,
    Columns,
    State,
    Values,
    adapt,
    inner,
    is_finite,
    margins,
    outer,
    plain_margins,
    settle,
    strange_margins,
    update,
)

# --- FOFO: stochastic descent on Q (Zhang, Liu, Zhou, Yang 2018), in stages -----------------------


LEAST_ROWS: Final = 44
"""With fewer rows FOFO as printed has no stage."""

FIRST_STAGE: Final = 4096.0
"""Rows of the first stage where stages double."""

_ROWS_TO_REACH: Final = 640.0
"""A stage needs so many rows, times (theta / prior)^2, to get to an optimum in its radius."""


def fofo_stages(n: int) -> tuple[int, int]:
    """Number of stages of FOFO as printed for n rows, and the rows of each.

    Examples
    --------
    >>> fofo_stages(1_000_000), fofo_stages(43)
    ((7, 142857), (0, 0))
    """
    stages = math.floor(0.5 * math.log2(2 * n / math.log2(n))) - 1 if n > 2 else 0
    return (stages, n // stages) if stages > 0 else (0, 0)


@inner
def fofo(p: float, weight: float, state: Any) -> None:
    """One row of SFO, and the next stage where one ends (the paper's Algorithms 1 and 2)."""
    most = 1.0 / (1.0 + state.beta2)
    if state.stage_length <= 0.0 or state.stages_left == 0.0:
        return  # the printed algorithm has no stage for so many rows
    rows = state.tally[at.WEIGHT_OF_ROWS]
    negatives, positives = rows[0, 0] + rows[0, 1], rows[1, 0] + rows[1, 1]
    prior = positives / (negatives + positives)
    theta = state.theta
    slope = state.beta2 * prior * theta - max(p - theta, 0.0)
    low = max(0.0, state.start - state.radius)
    high = min(most, state.start + state.radius)
    theta = min(high, max(low, theta - state.rate * weight * slope))
    state.theta = theta
    state.stage += 1.0
    state.threshold += (theta - state.threshold) / (state.stage + 1.0)
    if state.stage >= state.stage_length:
        theta = state.threshold
        state.start = state.theta = theta
        state.stage = 0.0
        if state.stages_left > 0.0:
            state.stages_left -= 1.0
            state.radius *= 0.5
        elif prior > 0.0:
            state.radius *= 0.5
            enough = _ROWS_TO_REACH * (theta / prior) ** 2
            state.stage_length = max(2.0 * state.stage_length, enough)
        state.rate = state.radius / math.sqrt(10.0 * state.stage_length)


# --- OFO: F of the rows so far over 1 + beta^2 (Busa-Fekete and others, 2015) ---------------------


@inner
def ofo(p: float, y: int, decided: int, weight: float, state: Any) -> None:
    """One row of OFO: F of the rows so far over 1 + beta^2; OFO-RB counts posteriors."""
    seen = p if state.solver == at.OFO_RB else float(y)
    state.gain += weight * seen * decided
    state.cost += weight * (state.beta2 * seen + decided)
    if state.cost > 0.0:
        state.threshold = state.gain / state.cost


# --- The sketch: rows counted by score in a few hundred bins --------------------------------------


_HALF: Final = at.BINS // 2
_SPREAD: Final = 8.0
_FARTHEST: Final = 16.0
"""Log-odds beyond this are one to Platt's calibration, or a single row would lever it."""
_RIDGE: Final = 50.0
"""Rows that speak for scores that are calibrated already."""
_TRUST: Final = 300.0
"""Positives at which the share of labels in a bin counts as much as the calibration."""
_EARLY: Final = 10.0
"""Positives at which F may still come half of the way from what it is to 1."""
_MOST_STEPS: Final = 25
_CLOSE: Final = 1e-6
_GROWN: Final = 0.02
"""Share of new rows, or of new positives, from which on the threshold is found anew."""


@inner
def posterior(z: float) -> float:
    """The logistic function, without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@inner
def bin_of(z: float) -> int:
    """The bin of a score."""
    k = int(_HALF + _HALF * (z / (_SPREAD + abs(z))))
    return min(at.BINS - 1, max(0, k))


@outer
def edge(k: int) -> float:
    """The lowest score of a bin; infinite at both ends."""
    v = (k - _HALF) / _HALF
    if v <= -1.0:
        return -np.inf
    return np.inf if v >= 1.0 else _SPREAD * v / (1.0 - abs(v))


def _centres() -> Floats:
    middle = (np.arange(at.BINS) + 0.5 - _HALF) / _HALF
    z = _SPREAD * middle / (1.0 - np.abs(middle))
    return np.clip(z, -_FARTHEST, _FARTHEST)


CENTRES: Floats = _centres()
"""A score in the middle of each bin."""


@outer
def calibrate(
    negative: Floats, positive: Floats, scale: float, ridge: float, a: float, b: float
) -> tuple[float, float]:
    """Platt's calibration of the bins, slope and intercept, by Newton steps from a and b."""
    for _ in range(_MOST_STEPS):
        ga, gb = ridge * (a - 1.0), ridge * b
        haa, hab, hbb = ridge, 0.0, ridge
        for k in range(at.BINS):
            rows = (negative[k] + positive[k]) * scale
            if rows > 0.0:
                z = CENTRES[k]
                p = posterior(a * z + b)
                miss = rows * p - positive[k] * scale
                curve = rows * p * (1.0 - p)
                ga += miss * z
                gb += miss
                haa += curve * z * z
                hab += curve * z
                hbb += curve
        det = haa * hbb - hab * hab
        da = (hbb * ga - hab * gb) / det
        db = (haa * gb - hab * ga) / det
        # Far from the optimum a full step may overshoot.
        far = max(abs(da), abs(db))
        if far > 1.0:
            da, db = da / far, db / far
        a -= da
        b -= db
        if far < _CLOSE:
            break
    return a, b


@inner
def is_due(state: Any) -> bool:
    """Whether the counts changed by 2 % since the threshold was found."""
    rows, positives = _counted(state, at.WEIGHT_OF_ROWS)
    counted, hits = _counted(
        state, at.WEIGHT_IN_WINDOW if state.windowed == 1 else at.WEIGHT_OF_ROWS
    )
    if not 0.0 < hits < counted:
        return False
    due = rows - state.solved_rows >= _GROWN * counted
    if due or positives - state.solved_positives >= _GROWN * hits:
        state.solved_rows, state.solved_positives = rows, positives
        return True
    return False


@inner
def _counted(state: Any, what: int) -> tuple[float, float]:
    """Weight of rows, and of positives."""
    positives = state.tally[what, 1, 0] + state.tally[what, 1, 1]
    return state.tally[what, 0, 0] + state.tally[what, 0, 1] + positives, positives


@outer
def expected(record: Any) -> Floats:
    """What the rule expects in each bin: weight of negatives and of positives (2, BINS)."""
    return _expected(record[()])


@outer
def _expected(state: Any) -> Floats:
    bins = state.bins
    negative, positive = bins[at.RULE_NEGATIVE], bins[at.RULE_POSITIVE]
    weight, rows, positives = 0.0, 0.0, 0.0
    skip = 0 if state.windowed == 1 else at.NEGATIVE - at.RULE_NEGATIVE
    for k in range(at.BINS):
        weight += negative[k] + positive[k]
        rows += bins[at.RULE_NEGATIVE + skip, k] + bins[at.RULE_POSITIVE + skip, k]
        positives += bins[at.RULE_POSITIVE + skip, k]
    scale = rows / weight if weight > 0.0 else 0.0
    a, b = calibrate(negative, positive, scale, _RIDGE, state.slope, state.intercept)
    state.slope, state.intercept = a, b
    trust = _TRUST / (_TRUST + positives)
    counts = np.zeros((2, at.BINS))
    for k in range(at.BINS):
        here = negative[k] + positive[k]
        if here > 0.0:
            p = posterior(a * CENTRES[k] + b)
            p = trust * p + (1.0 - trust) * positive[k] / here
            counts[1, k] = scale * here * p
            counts[0, k] = scale * here * (1.0 - p)
    return counts


@outer
def best_cut(counts: Floats, beta2: float, hope: float) -> int:
    """The bin from which on to decide positive for the largest F-beta; BINS: never."""
    # `evidence.sweep.sweep` finds the same in 4.6 microseconds instead of 1.3, which is a fifth
    # of a refresh: it needs forms and cumulative counts, and looks for ties in a second pass.
    positives = counts[1].sum()
    hits, accepted, best, cut = 0.0, 0.0, 0.0, at.BINS
    for k in range(at.BINS - 1, -1, -1):
        hits += counts[1, k]
        accepted += counts[0, k] + counts[1, k]
        below = beta2 * positives + accepted
        f = (1.0 + beta2) * hits / below if below > 0.0 else 0.0
        if f > best:
            best, cut = f, k
    if hope == 0.0:
        return cut
    level = best + hope * (1.0 - best)
    hits, accepted, most, cut = 0.0, 0.0, 0.0, at.BINS
    for k in range(at.BINS - 1, -1, -1):
        hits += counts[1, k]
        accepted += counts[0, k] + counts[1, k]
        gained = (1.0 + beta2) * hits - level * accepted
        if gained > most:
            most, cut = gained, k
    return cut


@outer
def cut_score(counts: Floats, cut: int) -> float:
    """A score that splits the rows at a bin: midway through the empty bins below it."""
    if cut >= at.BINS:
        return np.inf
    low = cut
    while low > 0 and counts[0, low - 1] + counts[1, low - 1] <= 0.0:
        low -= 1
    return -np.inf if low == 0 else edge((low + cut + 1) // 2)


@outer
def refresh(state: Any) -> float:
    """The score from which on to decide positive for the largest F-beta."""
    counts = _expected(state)
    positives = state.tally[at.NUMBER_OF_ROWS, 1, 0] + state.tally[at.NUMBER_OF_ROWS, 1, 1]
    return cut_score(counts, best_cut(counts, state.beta2, _EARLY / (_EARLY + positives)))


# --- The loop over the rows: score, decide, count, learn, move the threshold ----------------------


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
    values = columns = ends = None
    if isinstance(X, np.ndarray):
        values = X.reshape(-1)
    elif X is not None:
        values, columns, ends = X.data, X.indices, X.indptr
    labels = _NO_LABELS if y is None else y
    weight = _NO_WEIGHTS if row_weight is None else row_weight
    rest = labels, weight, start, mode, state.record, state.ring, out, decided
    end = _stream(values, columns, ends, state.weights, *rest)
    if end < 0:
        raise NotFiniteError(
            f"`X` holds NaN, infinite values or values too large for a score, in row {-1 - end}"
        )
    return int(end)


@outer
def _stream(
    values: Values | None,
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
        if values is None:
            z = out[i, 0]
        else:
            low = _begin_of(ends, d, i)
            size, norm = _begin_of(ends, d, i + 1) - low, 1.0
            if state.normalised == 1:
                last, behind, norm, strange = margins(
                    values, columns, low, size, state.centred, weights
                )
                if strange > 0:
                    last, behind = strange_margins(
                        values, columns, low, size, state.centred, weights
                    )
                    if learnt and is_finite(values, low, size) and math.isfinite(last + behind):
                        adapt(values, columns, low, size, state, weights)
                        _, _, norm, _ = margins(values, columns, low, size, state.centred, weights)
            else:
                last, behind, strange = plain_margins(values, columns, low, size, weights)
                if strange > 0:
                    return -1 - i
            if not math.isfinite(last + behind):
                return -1 - i
            z = last
            # The margin that decides is that of the averaged weights, if there are any.
            if state.constant_step == 0 and state.averaged != 0.0:
                z -= behind / float(state.averaged)
        if mode & at.SCORE != 0:
            _score(z, i, mode, state, out, decided)
        if learnt:
            if values is not None:
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
