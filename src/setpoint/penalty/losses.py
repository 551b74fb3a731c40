"""What is descended: losses row by row whose few numbers are refreshed from all scores.

A goal is not a mean over rows. Each loss here becomes one between two refreshes: a refresh looks
at the last scores of all rows and sets a threshold, slopes and multipliers; after it the
loss of a row depends on that row alone, so that batches can be drawn. With a refresh before
each step, descent on all rows follows the gradient of what is meant.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from setpoint.array_types import Floats
from setpoint.compiled import kernel
from setpoint.counts import midway, ratio_at
from setpoint.parameters import SATISFIED
from setpoint.penalty.problem import Tradeoff, best_cut


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return expit(x) if isinstance(x, np.ndarray) else x.sigmoid()


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""
    if isinstance(x, np.ndarray):
        return np.logaddexp(0.0, x)
    from torch.nn.functional import softplus as of_torch

    return of_torch(x)


def ramp(x: Any) -> Any:
    """max(x, 0)."""
    return x.clip(min=0.0)


def pick(where: Any, a: Any, b: Any) -> Any:
    """`a` where true, else `b`; both may be numbers."""
    if isinstance(where, np.ndarray):
        return np.where(where, a, b)
    import torch

    return torch.where(where, a, b)


# --- The indicator written exactly, and the lifted decisions s in closed form ---------------------


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
    ratios = goal.accepted.ratios
    if ratios is not None and A.size * B.size <= _MOST_CELLS:
        k, l, cost = _best_pair(A, B, cost_A, cost_B, least, *ratios)
        return AcceptedCounts(k, l, cost, True)
    if ratios is None and A.size * B.size <= _MOST_SLOW:
        k, l, cost = _of_grid(
            goal, A, B, cost_A, cost_B, least, np.arange(A.size), np.arange(B.size)
        )
        return AcceptedCounts(k, l, cost, True)
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
) -> AcceptedCounts:
    """From a coarse grid to finer ones round the best pair: not certain to be the best."""
    low_k, high_k, low_l, high_l = 0, A.size - 1, 0, B.size - 1
    best = AcceptedCounts(-1, -1, np.inf, False)
    while True:
        some_k = np.unique(np.linspace(low_k, high_k, _COARSE).astype(np.int64))
        some_l = np.unique(np.linspace(low_l, high_l, _COARSE).astype(np.int64))
        k, l, cost = _of_grid(goal, A, B, cost_A, cost_B, least, some_k, some_l)
        if cost < best.cost:
            best = AcceptedCounts(k, l, cost, False)
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
    return Lifted(float(midway(zp, found.k)), float(midway(zn, found.l)), found.exact)


def _ranked(
    scores: Floats, of_class: NDArray[np.bool_], weight: Floats | None, scale: float
) -> tuple[Floats, Floats]:
    """Distinct scores of one class, descending, and their weights: ties are decided alike."""
    if weight is None:
        z, count = np.unique(-scores[of_class], return_counts=True)
        return -z, scale * count.astype(np.float64)
    z, block = np.unique(-scores[of_class], return_inverse=True)
    return -z, np.bincount(block, scale * weight[of_class], len(z)).astype(np.float64)


# --- What is descended: losses row by row whose few numbers are refreshed -------------------------


_STEEPEST = 100.0
"""Multipliers are kept below this."""
_REFRESHES, _FARTHEST = 500, 20.0
"""Of a training on all rows, for which steps of multipliers are meant; at most so many in one."""
_FEWEST = 5
"""Rows in the band round a threshold, at least."""


class RefreshBatch(NamedTuple):
    """The last scores of the rows a refresh looks at."""

    scores: Floats
    positive: NDArray[np.bool_]
    weight: Floats | None = None

    def mass(self, share: Floats) -> tuple[float, float]:
        """Weight of negatives and of positives, each row counted by its `share`."""
        if self.weight is not None:
            share = share * self.weight
        positives = float(share[self.positive].sum())
        return float(share.sum()) - positives, positives

    @property
    def totals(self) -> tuple[float, float]:
        """Weight of negatives and of positives."""
        if self.weight is not None:
            return self.mass(np.ones(len(self.scores)))
        positives = float(np.count_nonzero(self.positive))
        return len(self.positive) - positives, positives

    def scale(self, totals: Floats | tuple[float, float]) -> tuple[float, float] | None:
        """What makes these rows stand for all, class by class; None if a class is missing."""
        N, P = self.totals
        if N <= 0 or P <= 0:
            return None
        return _factor(totals[0], N), _factor(totals[1], P)


def _factor(all_: float, some: float) -> float:
    factor = float(all_) / some
    return 1.0 if abs(factor - 1.0) < 1e-12 else factor


class Loss:
    """A loss for one goal. Subclasses say what a refresh finds and what a row loses."""

    name: ClassVar[str]
    scheduled: ClassVar[bool] = False
    """Whether it follows `progress` to the end, so that nobody should stop it on the way."""

    def __init__(self, goal: Tradeoff, least: float = 0.0) -> None:
        self.aim(goal, least)

    def aim(self, goal: Tradeoff, least: float) -> None:
        """Take another goal, such as the same one with other totals, from the next refresh on."""
        self.goal = goal
        self.least = least
        self.total = float(goal.totals.sum())

    def refresh(self, seen: RefreshBatch, progress: float) -> None:
        """Look at scores; `progress` runs from 0 to 1 over the training."""
        scale = seen.scale(self.goal.totals)
        if scale is not None:
            self._refresh(seen, scale, progress)

    def _refresh(self, seen: RefreshBatch, scale: tuple[float, float], progress: float) -> None:
        """Look at rows of both classes, whose counts times `scale` are those of all."""

    def value(self, z: Any, positive: Any, rows: Any = None) -> Any:
        """The loss of each row (n,) at logits z (n,), NumPy or torch."""
        raise NotImplementedError

    def slope(self, z: Any, positive: Any, rows: Any = None) -> Any:
        """Its derivative by z."""
        raise NotImplementedError

    def advance(self, z: Any, positive: Any, rows: Any = None) -> None:
        """Move what is kept for each row, after a step of the model."""

    def state(self) -> dict[str, Any]:
        """The numbers that the next refresh starts from, for checkpoints."""
        return {}

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`."""
        self.__dict__.update(state)


class CrossEntropyLoss(Loss):
    """Log-loss; `balanced` gives both classes the same weight."""

    name = "cross-entropy"

    def __init__(self, goal: Tradeoff, least: float = 0.0, balanced: bool = False) -> None:
        super().__init__(goal, least)
        negatives, positives = goal.totals
        self._of_positive, self._of_negative = 1.0, 1.0
        if balanced:
            self._of_positive = 0.5 * self.total / positives
            self._of_negative = 0.5 * self.total / negatives

    def value(self, z: Any, positive: Any, rows: Any = None) -> Any:
        p = softplus(pick(positive, -z, z))
        return pick(positive, self._of_positive * p, self._of_negative * p)

    def slope(self, z: Any, positive: Any, rows: Any = None) -> Any:
        p = sigmoid(pick(positive, -z, z))
        return pick(positive, -self._of_positive * p, self._of_negative * p)


def _accepted(seen: RefreshBatch, share: Floats, scale: tuple[float, float]) -> tuple[float, float]:
    """A and B, each row counted by its share of being accepted."""
    N, P = seen.mass(share)
    return scale[1] * P, scale[0] * N


class _Coefficients(NamedTuple):
    """What a unit of accepted positive, and of accepted negative, is worth in the mean."""

    positive: float = 0.0
    negative: float = 0.0


class _Accepting(Loss):
    """Losses ``-worth * accepted(z)`` with a stand-in for being accepted."""

    def __init__(self, goal: Tradeoff, least: float = 0.0) -> None:
        super().__init__(goal, least)
        self.worth = _Coefficients()

    def _weigh(self, slopes: Floats, others: list[tuple[float, Floats]]) -> None:
        """Set the worth: the score's slopes and multiples of the slacks', brought to size."""
        size = 1.0 + sum(mu for mu, _ in others)
        P, N = (slopes + sum(mu * s for mu, s in others)).tolist()
        self.worth = _Coefficients(self.total * P / size, self.total * N / size)

    def value(self, z: Any, positive: Any, rows: Any = None) -> Any:
        return -self._worth(positive) * self._accepts(z, positive)

    def slope(self, z: Any, positive: Any, rows: Any = None) -> Any:
        return -self._worth(positive) * self._accepts_more(z, positive)

    def _worth(self, positive: Any) -> Any:
        return pick(positive, self.worth.positive, self.worth.negative)

    def _accepts(self, z: Any, positive: Any) -> Any:
        """The stand-in for being accepted, row by row."""
        raise NotImplementedError

    def _accepts_more(self, z: Any, positive: Any) -> Any:
        """Its derivative by z."""
        raise NotImplementedError


def _nearest(away: Floats, weight: Floats | None, wanted: float) -> float:
    """The distance within which rows of so much weight lie, five of them at least."""
    if weight is None:
        i = min(max(_FEWEST, int(wanted)), len(away) - 1)
        return float(np.partition(away, i)[i])
    order = np.argsort(away)
    i = int(np.searchsorted(np.cumsum(weight[order]), wanted, side="right"))
    return float(away[order[min(max(_FEWEST, i), len(away) - 1)]])


class ProfiledLoss(_Accepting):
    """The threshold is always the best one; soft counts in a band round it."""

    name = "profiled"
    scheduled = True

    def __init__(
        self, goal: Tradeoff, least: float = 0.0, wide: float = 1.0, narrow: float = 0.1
    ) -> None:
        super().__init__(goal, least)
        self.wide, self.narrow = wide, narrow
        self.threshold, self.width = 0.0, 1.0

    def _refresh(self, seen: RefreshBatch, scale: tuple[float, float], progress: float) -> None:
        z, positive, weight = seen
        cut = best_cut(self.goal, z, positive, weight, self.least, scale)
        self.threshold = float(np.clip(cut.threshold, z.min(), z.max()))
        m = self.wide * (self.narrow / self.wide) ** progress
        self.width = max(_nearest(np.abs(z - self.threshold), weight, m * seen.totals[1]), 1e-6)
        p = sigmoid((z - self.threshold) / self.width)
        A, B = _accepted(seen, p, scale)
        slopes = self.goal.slopes(A, B)
        others = []
        if self.goal.n_constraints:
            dA, dB = _accepted(seen, -p * (1.0 - p) / self.width, scale)
            slacks = self.goal.slacks(A, B)
            i = int(np.argmin(slacks))  # the constraint that ties the threshold
            of_slack = self.goal.slopes(A, B, i)
            by_t = float(of_slack[0] * dA + of_slack[1] * dB)
            mu = -float(slopes[0] * dA + slopes[1] * dB) / by_t if by_t else _STEEPEST
            others = [(float(np.clip(mu, 0.0, _STEEPEST)), of_slack)]
        self._weigh(slopes, others)

    def _accepts(self, z: Any, positive: Any) -> Any:
        return sigmoid((z - self.threshold) / self.width)

    def _accepts_more(self, z: Any, positive: Any) -> Any:
        p = self._accepts(z, positive)
        return p * (1.0 - p) / self.width


class SigmoidLoss(_Accepting):
    """Sigmoids of temperature T for indicators, violations by an exact penalty."""

    name = "sigmoid"

    def __init__(
        self, goal: Tradeoff, least: float = 0.0, temperature: float = 1.0, penalty: float = 1.0
    ) -> None:
        super().__init__(goal, least)
        self.temperature, self.penalty = temperature, penalty

    def _refresh(self, seen: RefreshBatch, scale: tuple[float, float], progress: float) -> None:
        A, B = _accepted(seen, sigmoid(self.temperature * seen.scores), scale)
        others = [
            (self.penalty, self.goal.slopes(A, B, i))
            for i, slack in enumerate(self.goal.slacks(A, B))
            if slack < 0
        ]
        self._weigh(self.goal.slopes(A, B), others)

    def _accepts(self, z: Any, positive: Any) -> Any:
        return sigmoid(self.temperature * z)

    def _accepts_more(self, z: Any, positive: Any) -> Any:
        p = self._accepts(z, positive)
        return self.temperature * p * (1.0 - p)


class LagrangianLoss(_Accepting):
    """Hinge or sigmoid rates for the model, true rates for the multipliers."""

    name = "lagrangian"
    scheduled = True  # multipliers take their time

    def __init__(
        self, goal: Tradeoff, least: float = 0.0, rates: str = "hinge", step: float = 0.05
    ) -> None:
        super().__init__(goal, least)
        self.rates, self.step = rates, step
        self.multipliers = [0.0] * goal.n_constraints
        self.progress = 0.0

    def _refresh(self, seen: RefreshBatch, scale: tuple[float, float], progress: float) -> None:
        A, B = _accepted(seen, (seen.scores >= 0).astype(np.float64), scale)
        # Where nearly nobody is accepted, ratios have no slope worth following.
        A = max(A, self.least)
        slacks = self.goal.slacks(A, B)
        # With few refreshes each has to go further.
        step = self.step * min(max(_REFRESHES * (progress - self.progress), 1.0), _FARTHEST)
        self.progress = progress
        self.multipliers = [
            min(max(0.0, mu - step * slack), _STEEPEST)
            for mu, slack in zip(self.multipliers, slacks, strict=True)
        ]
        slopes = [self.goal.slopes(A, B, i) for i in range(len(slacks))]
        self._weigh(self.goal.slopes(A, B), list(zip(self.multipliers, slopes, strict=True)))

    def _accepts(self, z: Any, positive: Any) -> Any:
        if self.rates == "sigmoid":
            return sigmoid(z)
        return pick(positive, -ramp(1.0 - z), ramp(1.0 + z))

    def _accepts_more(self, z: Any, positive: Any) -> Any:
        if self.rates == "sigmoid":
            return sigmoid(z) * sigmoid(-z)
        return pick(positive, z < 1.0, z > -1.0)

    def state(self) -> dict[str, Any]:
        return {"multipliers": self.multipliers, "progress": self.progress}


class ExactPenalty(Loss):
    """The exact reformulation with its decisions s in closed form ("ERO")."""

    name = "ero"
    scheduled = True

    def __init__(
        self, goal: Tradeoff, least: float = 0.0, wide: float = 8.0, narrow: float = 0.5
    ) -> None:
        super().__init__(goal, least)
        self.wide, self.narrow = wide, narrow
        self.penalty = 0.0
        self.lifted = Lifted(0.0, 0.0, True)

    def _refresh(self, seen: RefreshBatch, scale: tuple[float, float], progress: float) -> None:
        width = self.wide * (self.narrow / self.wide) ** progress
        self.penalty = self.total / (float(self.goal.totals[1]) * width)
        each = self.penalty / self.total
        found = lift(self.goal, *seen, each, each, self.least, scale)
        if found is not None:
            self.lifted = found

    def _decided(self, z: Any, positive: Any) -> tuple[Any, Any]:
        """The s of each row, and how far the score speaks against it."""
        s = pick(positive, z >= self.lifted.positive, z >= self.lifted.negative)
        return s, pick(s, -z, z)

    def value(self, z: Any, positive: Any, rows: Any = None) -> Any:
        s, against = self._decided(z, positive)
        return self.penalty * (pick(s == positive, ramp(against), 0.0) + softplus(against))

    def slope(self, z: Any, positive: Any, rows: Any = None) -> Any:
        s, against = self._decided(z, positive)
        d = self.penalty * (1.0 * ((s == positive) & (against > 0)) + sigmoid(against))
        return pick(s, -d, d)

    def state(self) -> dict[str, Any]:
        return {"lifted": self.lifted}
