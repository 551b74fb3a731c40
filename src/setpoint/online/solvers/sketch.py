"""The sketch: rows counted by score in a few hundred bins, and the best cut-off over them.

Scores are log-odds. Bins are even in z / (8 + |z|), which reaches to infinity and is fine
where posteriors are: three per cent of odds wide at z = 0, eight at z = -5.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from setpoint.array_types import Floats
from setpoint.online import state as at
from setpoint.online.compiled import inner, outer

__all__ = [
    "CENTRES",
    "best_cut",
    "bin_of",
    "calibrate",
    "cut_score",
    "edge",
    "expected",
    "is_due",
    "posterior",
    "refresh",
]


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
