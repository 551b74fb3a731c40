"""The indicator written exactly, and the lifted decisions s in closed form.

After Peng, Travadi, He, Cui and Sun, "Exact reformulation and optimization for direct
metric optimization in binary imbalanced classification": each row has a decision s in
[0, 1] beside its score a, tied to 1{a > t} by a function that is continuous.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.compiled import kernel
from setpoint.evidence.cutoffs import midway
from setpoint.evidence.ratios import ratio_at
from setpoint.penalty.ops import pick
from setpoint.penalty.problem import Tradeoff
from setpoint.tolerances import SATISFIED

__all__ = ["Lifted", "Pair", "best_pair", "lift", "tie", "untied"]


_MOST_CELLS = 4_000_000
"""Pairs (k, l) that are all looked at; beyond, a coarse grid is refined."""
_MOST_SLOW = 500_000
"""The same for goals that no kernel knows."""
_COARSE = 64


def tie(a: Any, s: Any, t: float) -> Any:
    """H_t(a, s), which is 0 exactly where s = 1{a > t}, for any real a != t (Lemma 3.1).

    Examples
    --------
    >>> tie(np.array([0.75, 0.75, 0.25]), np.array([1.0, 0.5, 0.0]), 0.5).tolist()
    [0.0, -0.25, 0.0]
    """
    return s - (s + a - t).clip(0.0, 1.0)


def untied(a: Any, s: Any, t: float, positive: Any) -> Any:
    """How far s says more than the scores allow: eta of (3.29), one-sided by class."""
    h = tie(a, s, t)
    return pick(positive, h, -h).clip(min=0.0)


class Pair(NamedTuple):
    """How many of each class to accept, best scores first."""

    k: int
    l: int
    cost: float
    exact: bool


def best_pair(
    goal: Tradeoff, A: Floats, B: Floats, cost_A: Floats, cost_B: Floats, least: float = 0.0
) -> Pair:
    """Minimise ``cost_A[k] + cost_B[l] - score(A[k], B[l])`` over what meets the goal."""
    ratios = goal.accepted.ratios
    if ratios is not None and A.size * B.size <= _MOST_CELLS:
        k, l, cost = _best_pair(A, B, cost_A, cost_B, least, *ratios)
        return Pair(k, l, cost, True)
    if ratios is None and A.size * B.size <= _MOST_SLOW:
        k, l, cost = _of_grid(
            goal, A, B, cost_A, cost_B, least, np.arange(A.size), np.arange(B.size)
        )
        return Pair(k, l, cost, True)
    return _refined(goal, A, B, cost_A, cost_B, least)


@kernel(error_model="numpy")
def _best_pair(
    A: Floats,
    B: Floats,
    cost_A: Floats,
    cost_B: Floats,
    least: float,
    forms: Floats,
    zeros: Floats,
    offsets: Floats,
    lower: Floats,
    upper: Floats,
) -> tuple[int, int, float]:
    best, best_k, best_l = np.inf, -1, -1
    for k in range(A.size):
        for l in range(B.size):
            met = True
            for i in range(lower.size):
                value = ratio_at(forms[i + 1], zeros[i + 1], offsets[i + 1], A[k], B[l])
                if lower[i] - value > SATISFIED or value - upper[i] > SATISFIED:
                    met = False
            if not met:
                break  # more negatives meet no more
            if A[k] + B[l] < least - SATISFIED:
                continue
            value = ratio_at(forms[0], zeros[0], offsets[0], A[k], B[l])
            cost = cost_A[k] + cost_B[l] - value
            if cost < best:
                best, best_k, best_l = cost, k, l
    return best_k, best_l, best


def _of_grid(
    goal: Tradeoff,
    A: Floats,
    B: Floats,
    cost_A: Floats,
    cost_B: Floats,
    least: float,
    some_k: NDArray[np.int64],
    some_l: NDArray[np.int64],
) -> tuple[int, int, float]:
    a, b = A[some_k][:, None], B[some_l][None, :]
    a, b = np.broadcast_arrays(a, b)
    cost = cost_A[some_k][:, None] + cost_B[some_l][None, :] - goal.score(a, b)
    allowed = (goal.violation(a, b) <= SATISFIED) & (a + b >= least - SATISFIED)
    cost = np.where(allowed, cost, np.inf)
    i, j = np.unravel_index(int(np.argmin(cost)), cost.shape)
    if not np.isfinite(cost[i, j]):
        return -1, -1, np.inf
    return int(some_k[i]), int(some_l[j]), float(cost[i, j])


def _refined(
    goal: Tradeoff, A: Floats, B: Floats, cost_A: Floats, cost_B: Floats, least: float
) -> Pair:
    """From a coarse grid to finer ones round the best pair: not certain to be the best."""
    low_k, high_k, low_l, high_l = 0, A.size - 1, 0, B.size - 1
    best = Pair(-1, -1, np.inf, False)
    while True:
        some_k = np.unique(np.linspace(low_k, high_k, _COARSE).astype(np.int64))
        some_l = np.unique(np.linspace(low_l, high_l, _COARSE).astype(np.int64))
        k, l, cost = _of_grid(goal, A, B, cost_A, cost_B, least, some_k, some_l)
        if cost < best.cost:
            best = Pair(k, l, cost, False)
        step_k = -(-(high_k - low_k) // (_COARSE - 1))
        step_l = -(-(high_l - low_l) // (_COARSE - 1))
        if max(step_k, step_l) <= 1 or best.k < 0:
            return best
        low_k, high_k = max(best.k - 2 * step_k, 0), min(best.k + 2 * step_k, A.size - 1)
        low_l, high_l = max(best.l - 2 * step_l, 0), min(best.l + 2 * step_l, B.size - 1)


class Lifted(NamedTuple):
    """The decisions s of all rows as two thresholds."""

    positive: float
    negative: float
    exact: bool


def lift(
    goal: Tradeoff,
    scores: Floats,
    positive: NDArray[np.bool_],
    weight: Floats | None,
    ramp: float,
    tail: float,
    least: float = 0.0,
    scale: tuple[float, float] = (1.0, 1.0),
) -> Lifted | None:
    """The best s for scores: the goal is met by s, agreement with the scores is paid for."""
    zp, wp = _ranked(scores, positive, weight, scale[1])
    zn, wn = _ranked(scores, ~positive, weight, scale[0])
    A, B = (np.concatenate([[0.0], np.cumsum(w)]) for w in (wp, wn))
    # What it costs to turn the decision of a row from refused to accepted.
    d_p = wp * (ramp * np.maximum(-zp, 0.0) + tail * -zp)
    d_n = wn * (-ramp * np.maximum(zn, 0.0) - tail * zn)
    # Accepting a negative pays where d < 0, or to reach `least`.
    n = max(int(np.searchsorted(-zn, 0.0)), int(np.searchsorted(B, least)))
    n = min(n, len(zn))
    cost_A = np.concatenate([[0.0], np.cumsum(d_p)])
    cost_B = np.concatenate([[0.0], np.cumsum(d_n[:n])])
    found = best_pair(goal, A, B[: n + 1], cost_A, cost_B, least)
    if found.k < 0:
        return None
    return Lifted(midway(zp, found.k), midway(zn, found.l), found.exact)


def _ranked(
    scores: Floats, of_class: NDArray[np.bool_], weight: Floats | None, scale: float
) -> tuple[Floats, Floats]:
    """Distinct scores of one class, descending, and their weights: ties are decided alike."""
    if weight is None:
        z, count = np.unique(-scores[of_class], return_counts=True)
        return -z, scale * count.astype(np.float64)
    z, block = np.unique(-scores[of_class], return_inverse=True)
    return -z, np.bincount(block, scale * weight[of_class], len(z)).astype(np.float64)
