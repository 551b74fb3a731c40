"""A goal as a function of two numbers: the weights of positives and negatives accepted."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.compiled import kernel
from setpoint.counts import BestCutoff, Codebook, Marginals, cutoffs, midway, ratio_at
from setpoint.errors import ShapeError
from setpoint.goals import Goal, Label, require_rows_alone
from setpoint.parameters import SATISFIED
from setpoint.program import Accepted, Program, link
from setpoint.solvers import Portfolio

_KINDS = ((0, 1), (0, 0))
"""Positives before negatives, as A is before B."""
_GRID = 33
"""Points along each axis where monotonicity is looked at."""
_ROUNDING = 1e-12
"""Share of the least weight accepted that sums in another order may miss."""
WHOLE = (
    f"a model is trained for {Portfolio.takes}; `PlugInClassifier` takes such goals, after training"
)
"""Why goals over more than that are refused."""


class Tradeoff:
    """A binary goal over A, the accepted positives, and B, the accepted negatives.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Tradeoff(Goal.parse("maximize recall subject to precision >= 0.75"), 90.0, 10.0)
    >>> float(goal.score(8.0, 2.0)), float(goal.violation(8.0, 2.0))
    (0.8, 0.0)
    >>> goal.slopes(8.0, 2.0).tolist()
    [0.1, 0.0]
    """

    def __init__(
        self,
        goal: Goal,
        negatives: float,
        positives: float,
        classes: tuple[Label, Label] = (0, 1),
        any_totals: bool = False,
    ) -> None:
        require_rows_alone(goal, WHOLE)
        self.goal = goal
        self.totals = np.array([negatives, positives])
        linked = link(goal, Codebook.of(classes))
        if any_totals:
            accepted = Accepted(linked.at_any_totals(), _KINDS)
            self.accepted = accepted.with_totals(self.totals[::-1])
        else:
            marginals = np.array([[negatives, positives, 0.0]])
            smallest = np.array([[1.0, 1.0, np.inf]])
            self.accepted = Accepted(linked.at(Marginals(marginals, smallest)), _KINDS)
        self.require_monotone()

    def with_totals(self, negatives: float, positives: float) -> Tradeoff:
        """The same goal on other rows, in microseconds: monotonicity is not looked at."""
        out = copy(self)
        out.totals = np.array([negatives, positives])
        out.accepted = self.accepted.with_totals(out.totals[::-1])
        return out

    @property
    def program(self) -> Program:
        """The goal over rates."""
        return self.accepted.program

    # ------------------------------------------------------------------ values
    def score(self, A: Floats | float, B: Floats | float) -> Floats:
        """The objective (...,), higher is better."""
        return self.accepted.score(_pairs(A, B))

    def violation(self, A: Floats | float, B: Floats | float) -> Floats:
        """The largest violation of any constraint (...,), in the user's units."""
        return self.accepted.violation(_pairs(A, B))

    def slacks(self, A: float, B: float) -> list[float]:
        """How far each constraint is met, negative where it is not."""
        v = self.accepted.rates(np.array([A, B]))
        return [float(c.slack(v)) for c in self.program.constraints]

    def best(self, A: Floats, B: Floats, least: float = 0.0) -> BestCutoff:
        """Which of some counts (m,) is best, with the largest A - B; else the least violation."""
        required = np.array([[1.0, 1.0, -least * (1.0 - _ROUNDING)]])
        return self.accepted.best(
            np.stack([A, B]),
            required=required,
            tiebreak=lambda ties: int(np.argmax(A[ties] - B[ties])),
            least_violation=True,
        )

    # ------------------------------------------------------------------ slopes
    def slopes(self, A: float, B: float, constraint: int | None = None) -> Floats:
        """Derivatives (2,) by A and by B, of the score or of the slack of one constraint."""
        p, S = self.program, np.array([A, B])
        if constraint is None:
            return p.sense * self.accepted.slope(p.objective, S)
        c = p.constraints[constraint]
        return c.sign * self.accepted.slope(c.function, S)

    def rows(self, A: float, B: float) -> list[tuple[float, Floats]]:
        """Slack and slopes of each constraint multiplied out, in weight."""
        total, ratios = float(self.totals.sum()), self.accepted.ratios
        out = []
        for i, slack in enumerate(self.slacks(A, B)):
            if ratios is None:
                out.append((total * slack, total * self.slopes(A, B, i)))
                continue
            c, (above, below) = self.program.constraints[i], ratios.forms[i + 1]
            row = total * c.sign * (above - (c.level - ratios.offsets[i + 1]) * below)
            out.append((float(row @ [A, B, 1.0]), row[:2]))
        return out

    # ------------------------------------------------------------------ monotonicity
    def require_monotone(self) -> None:
        """Refuse a goal that falls with A or rises with B on these totals."""
        share = np.linspace(0.0, 1.0, _GRID)
        B, A = np.meshgrid(self.totals[0] * share, self.totals[1] * share)
        v = self.accepted.rates(_pairs(A, B))
        objective = self.program.sense * self.program.value(v)
        parts = [(f"{self.goal.sense} {self.goal.objective}", objective)]
        parts += [(f"the constraint {c.written}", c.slack(v)) for c in self.program.constraints]
        for what, exact in parts:
            values = np.nan_to_num(exact, nan=0.0, posinf=1e300, neginf=-1e300)
            rises = (np.diff(values, axis=0) >= -SATISFIED).all()
            if rises and (np.diff(values, axis=1) <= SATISFIED).all():
                continue
            how = "rises with accepted negatives" if rises else "falls with accepted positives"
            raise ShapeError(
                f"{what}: it {how} somewhere, and a model is trained for {Portfolio.takes}, "
                "such as recall, precision, F-beta, accuracy, G-mean and cost; `PlugInClassifier` "
                "takes any goal, after training"
            )


def _pairs(A: Floats | float, B: Floats | float) -> Floats:
    """Accepted weights (..., 2)."""
    return np.stack(np.broadcast_arrays(np.asarray(A, np.float64), B), axis=-1)


# --- The best threshold of some scores, counted exactly -------------------------------------------


class Cut(NamedTuple):
    """A threshold and what it reaches."""

    threshold: float
    A: float
    B: float
    score: float
    violation: float

    @property
    def rank(self) -> tuple[float, float]:
        """Higher is better: feasible first, then the objective; else the least violation."""
        return (-self.violation, self.score)

    @property
    def shift(self) -> float:
        """What to take off scores so that 0 is the threshold; 0 where it is infinite."""
        return self.threshold if np.isfinite(self.threshold) else 0.0


def best_cut(
    goal: Tradeoff,
    scores: Floats,
    true: NDArray[np.integer[Any]] | NDArray[np.bool_],
    weight: Floats | None = None,
    least: float = 0.0,
    scale: tuple[float, float] = (1.0, 1.0),
) -> Cut:
    """The best threshold on these scores; where none is feasible, the least violation.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Tradeoff(Goal.parse("maximize recall subject to precision >= 0.6"), 3.0, 2.0)
    >>> best_cut(goal, np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([1, 0, 1, 0, 0]))
    Cut(threshold=2.5, A=2.0, B=1.0, score=1.0, violation=0.0)
    """
    values, (B, A) = cutoffs(scores, true.astype(np.uint8, copy=False), weight, 2)
    if scale != (1.0, 1.0):
        B, A = scale[0] * B, scale[1] * A
    return best_of(goal, values, A, B, least)


def best_of(goal: Tradeoff, values: Floats, A: Floats, B: Floats, least: float = 0.0) -> Cut:
    """The best of some cut-offs; where none is feasible, the least violation."""
    best = goal.best(A, B, min(least, float(A[-1] + B[-1])))
    j = best.cutoff
    return Cut(float(midway(values, j)), float(A[j]), float(B[j]), best.value, best.violation)


# --- The lifted decisions s of all rows in closed form --------------------------------------------


_MOST_CELLS = 4_000_000
"""Pairs (k, l) that are all looked at; beyond, a coarse grid is refined."""
_MOST_SLOW = 500_000
"""The same for goals that no kernel knows."""
_COARSE = 64


class AcceptedCounts(NamedTuple):
    """How many of each class to accept, best scores first."""

    k: int
    l: int
    cost: float
    exact: bool


def best_pair(
    goal: Tradeoff, A: Floats, B: Floats, cost_A: Floats, cost_B: Floats, least: float = 0.0
) -> AcceptedCounts:
    """Minimise ``cost_A[k] + cost_B[l] - score(A[k], B[l])`` over what meets the goal."""

    def of_grid(some_k: NDArray[np.int64], some_l: NDArray[np.int64]) -> tuple[int, int, float]:
        a, b = np.broadcast_arrays(A[some_k][:, None], B[some_l][None, :])
        cost = cost_A[some_k][:, None] + cost_B[some_l][None, :] - goal.score(a, b)
        allowed = (goal.violation(a, b) <= SATISFIED) & (a + b >= least - SATISFIED)
        cost = np.where(allowed, cost, np.inf)
        i, j = np.unravel_index(int(np.argmin(cost)), cost.shape)
        if not np.isfinite(cost[i, j]):
            return -1, -1, np.inf
        return int(some_k[i]), int(some_l[j]), float(cost[i, j])

    ratios, n_cells = goal.accepted.ratios, A.size * B.size
    if ratios is not None and n_cells <= _MOST_CELLS:
        return AcceptedCounts(*_best_pair(A, B, cost_A, cost_B, least, *ratios), True)
    if ratios is None and n_cells <= _MOST_SLOW:
        return AcceptedCounts(*of_grid(np.arange(A.size), np.arange(B.size)), True)
    # From a coarse grid to finer ones round the best pair: not certain to be the best.
    low_k, high_k, low_l, high_l = 0, A.size - 1, 0, B.size - 1
    best = AcceptedCounts(-1, -1, np.inf, False)
    while True:
        some_k = np.unique(np.linspace(low_k, high_k, _COARSE).astype(np.int64))
        some_l = np.unique(np.linspace(low_l, high_l, _COARSE).astype(np.int64))
        k, l, cost = of_grid(some_k, some_l)
        if cost < best.cost:
            best = AcceptedCounts(k, l, cost, False)
        step_k = -(-(high_k - low_k) // (_COARSE - 1))
        step_l = -(-(high_l - low_l) // (_COARSE - 1))
        if max(step_k, step_l) <= 1 or best.k < 0:
            return best
        low_k, high_k = max(best.k - 2 * step_k, 0), min(best.k + 2 * step_k, A.size - 1)
        low_l, high_l = max(best.l - 2 * step_l, 0), min(best.l + 2 * step_l, B.size - 1)


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
    return Lifted(float(midway(zp, found.k)), float(midway(zn, found.l)), found.exact)


def _ranked(
    scores: Floats, of_class: NDArray[np.bool_], weight: Floats | None, scale: float
) -> tuple[Floats, Floats]:
    """Distinct scores of one class, descending, and their weights: ties go together."""
    if weight is None:
        z, count = np.unique(-scores[of_class], return_counts=True)
        return -z, scale * count.astype(np.float64)
    z, block = np.unique(-scores[of_class], return_inverse=True)
    return -z, np.bincount(block, scale * weight[of_class], len(z)).astype(np.float64)
