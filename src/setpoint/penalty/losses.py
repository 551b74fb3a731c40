"""What is descended: losses row by row whose few numbers are refreshed from all scores.

A goal is not a mean over rows. Each loss here becomes one between two refreshes: a refresh looks
at the last scores of all rows and sets a threshold, slopes and multipliers; after it the
loss of a row depends on that row alone, so that batches can be drawn. With a refresh before
each step, descent on all rows follows the gradient of what is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from setpoint import solvers
from setpoint.array_types import Floats
from setpoint.penalty.problem import Lifted, Tradeoff, best_cut, lift
from setpoint.solvers import Portfolio, Solver


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


# --- The indicator written exactly ----------------------------------------------------------------


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
        return self.mass(np.ones(len(self.scores)))

    def scale(self, totals: Floats | tuple[float, float]) -> tuple[float, float] | None:
        """What makes these rows stand for all, class by class; None if a class is missing."""
        N, P = self.totals
        if N <= 0 or P <= 0:
            return None
        found = float(totals[0]) / N, float(totals[1]) / P
        negative, positive = (1.0 if abs(x - 1.0) < 1e-12 else x for x in found)
        return negative, positive


@dataclass(eq=False)
class Loss:
    """A loss for one goal. Subclasses say what a refresh finds and what a row loses."""

    scheduled: ClassVar[bool] = False
    """Whether it follows `progress` to the end, so that nobody should stop it on the way."""

    goal: Tradeoff
    least: float = 0.0
    n_rows: int = 0

    def __post_init__(self) -> None:
        self.aim(self.goal, self.least)

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
        """All numbers but the goal's, for checkpoints: arrays, tuples and plain values."""
        return {k: value for k, value in vars(self).items() if k not in ("goal", "n_rows")}

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`."""
        self.__dict__.update(state)


class CrossEntropyLoss(Loss):
    """Log-loss; `balanced` gives both classes the same weight."""

    def __init__(
        self, goal: Tradeoff, least: float = 0.0, n_rows: int = 0, balanced: bool = False
    ) -> None:
        super().__init__(goal, least, n_rows)
        self._of_positive, self._of_negative = 1.0, 1.0
        if balanced:
            self._of_negative, self._of_positive = (0.5 * self.total / goal.totals).tolist()

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


class Coefficients(NamedTuple):
    """What a unit of accepted positive, and of accepted negative, is worth in the mean."""

    positive: float = 0.0
    negative: float = 0.0


@dataclass(eq=False)
class _Accepting(Loss):
    """Losses ``-worth * accepted(z)`` with a stand-in for being accepted."""

    worth: Coefficients = field(default=Coefficients(), init=False)

    def _weigh(self, slopes: Floats, others: list[tuple[float, Floats]]) -> None:
        """Set the worth: the score's slopes and multiples of the slacks', brought to size."""
        size = 1.0 + sum(mu for mu, _ in others)
        P, N = (slopes + sum(mu * s for mu, s in others)).tolist()
        self.worth = Coefficients(self.total * P / size, self.total * N / size)

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


@dataclass(eq=False)
class ProfiledLoss(_Accepting):
    """The threshold is always the best one; soft counts in a band round it."""

    scheduled = True
    wide: float = 1.0
    narrow: float = 0.1
    threshold: float = field(default=0.0, init=False)
    width: float = field(default=1.0, init=False)

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
        slacks = self.goal.slacks(A, B)
        if slacks:
            dA, dB = _accepted(seen, -p * (1.0 - p) / self.width, scale)
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


@dataclass(eq=False)
class SigmoidLoss(_Accepting):
    """Sigmoids of temperature T for indicators, violations by an exact penalty."""

    temperature: float = 1.0
    penalty: float = 1.0

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


@dataclass(eq=False)
class LagrangianLoss(_Accepting):
    """Hinge or sigmoid rates for the model, true rates for the multipliers."""

    scheduled = True  # multipliers take their time
    rates: str = "hinge"
    step: float = 0.05
    progress: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.multipliers = [0.0] * len(self.goal.program.constraints)

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
        smooth = self.rates == "sigmoid"
        return sigmoid(z) if smooth else pick(positive, -ramp(1.0 - z), ramp(1.0 + z))

    def _accepts_more(self, z: Any, positive: Any) -> Any:
        smooth = self.rates == "sigmoid"
        return sigmoid(z) * sigmoid(-z) if smooth else pick(positive, z < 1.0, z > -1.0)


@dataclass(eq=False)
class ExactPenalty(Loss):
    """The exact reformulation with its decisions s in closed form ("ERO")."""

    scheduled = True
    wide: float = 8.0
    narrow: float = 0.5
    penalty: float = field(default=0.0, init=False)
    lifted: Lifted = field(default=Lifted(0.0, 0.0, True), init=False)

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


# --- Algorithm 3.1 as printed: model and lifted decisions s descend together ----------------------


_GROWTH = 1.3
"""rho: what penalty and regularisation grow by in each of K rounds."""
_ROUNDS = 50
_FIRST_PENALTY, _FIRST_TAIL = 100.0, 0.5
_STEP = 0.1
"""Of s; each row's own Adam, projected onto [0, 1]."""


@dataclass(eq=False)
class JointPenalty(Loss):
    """The exact penalty function (3.30), with s by Adam beside the model ("ero-adam")."""

    scheduled = True
    reformulation: str = "inequality"
    scale: str = "paper"
    regularised: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.s, self.multipliers = np.full(self.n_rows, 0.5), np.ones(self.n_rows)
        self.first, self.second, self.steps = np.zeros((3, self.n_rows))
        self.round, self.by_s = 0, (0.0, 0.0)

    # ------------------------------------------------------------------ the outer loop
    def _refresh(self, seen: RefreshBatch, scale: tuple[float, float], progress: float) -> None:
        now = min(int(progress * _ROUNDS), _ROUNDS - 1)
        if now > self.round and self.scale == "code":
            violated = self._violated(sigmoid(seen.scores), self.s, seen.positive) > 0
            self.multipliers *= np.where(violated, _GROWTH, 1.0 / _GROWTH)
        self.round = now
        B, A = seen.mass(self.s)
        penalty = _FIRST_PENALTY * _GROWTH**now
        by_s = -self.goal.slopes(A, B) / penalty
        for i, (slack, row) in enumerate(self.goal.rows(A, B)):
            if slack < 0:
                by_s = by_s - (self.goal.slopes(A, B, i) if self.scale == "code" else row)
        self.by_s = (float(by_s[0]), float(by_s[1]))

    # ------------------------------------------------------------------ rows
    def _of_rows(self, values: Floats, rows: Any, like: Any) -> Any:
        """What is kept for some rows, as an array of the kind of `like`."""
        if isinstance(like, np.ndarray):
            return values if rows is None else values[rows]
        import torch

        found = values if rows is None else values[rows.cpu().numpy()]
        return torch.as_tensor(found, dtype=like.dtype, device=like.device)

    def _violated(self, a: Any, s: Any, positive: Any) -> Any:
        if self.reformulation == "equality":
            return abs(tie(a, s, 0.5))
        return untied(a, s, 0.5, positive)

    def _prices(self, positive: Any, rows: Any, like: Any) -> tuple[Any, Any]:
        """What a unit of violation, and of cross-entropy to s, costs each row, times N."""
        n = self.total
        by_class = pick(positive, 1.0 / self.goal.totals[1], 1.0 / self.goal.totals[0])
        tail = _FIRST_TAIL / _FIRST_PENALTY
        if self.scale == "paper":
            return n, tail * by_class
        return by_class * self._of_rows(self.multipliers, rows, like), tail

    def value(self, z: Any, positive: Any, rows: Any = None) -> Any:
        s, a = self._of_rows(self.s, rows, z), sigmoid(z)
        price, tail = self._prices(positive, rows, z)
        out = price * self._violated(a, s, positive)
        if self.regularised:
            out = out + tail * (s * softplus(-z) + (1.0 - s) * softplus(z))
        return out

    def slope(self, z: Any, positive: Any, rows: Any = None) -> Any:
        s, a = self._of_rows(self.s, rows, z), sigmoid(z)
        price, tail = self._prices(positive, rows, z)
        inside = (s + a > 0.5) & (s + a < 1.5)
        side = self._side(a, s, positive)
        out = -price * side * inside * a * (1.0 - a)
        return out + tail * (a - s) if self.regularised else out

    def _side(self, a: Any, s: Any, positive: Any) -> Any:
        """The sign of H where it is penalised, else 0."""
        h = tie(a, s, 0.5)
        above, below = 1.0 * (h > 0), -1.0 * (h < 0)
        equal = self.reformulation == "equality"
        return above + below if equal else pick(positive, above, below)

    def advance(self, z: Any, positive: Any, rows: Any = None) -> None:
        """One Adam step of these rows' s, projected onto [0, 1]."""
        if not isinstance(z, np.ndarray):
            z, positive = z.detach().double().cpu().numpy(), positive.cpu().numpy()
            rows = None if rows is None else rows.cpu().numpy()
        at = slice(None) if rows is None else rows
        s, a = self.s[at], sigmoid(z)
        price, tail = self._prices(positive, at, z)
        outside = (s + a <= 0.5) | (s + a >= 1.5)
        g = self.total * np.where(positive, *self.by_s)
        g = g + price * self._side(a, s, positive) * outside
        if self.regularised:
            g = g + tail * (softplus(-z) - softplus(z))
        self.steps[at] += 1
        self.first[at] = 0.9 * self.first[at] + 0.1 * g
        self.second[at] = 0.999 * self.second[at] + 0.001 * g * g
        t = self.steps[:1] if rows is None else self.steps[at]  # then all are the same
        move = (self.first[at] / (1 - 0.9**t)) / (np.sqrt(self.second[at] / (1 - 0.999**t)) + 1e-12)
        self.s[at] = np.clip(s - _STEP * move, 0.0, 1.0)


# --- What each solver does, in stages -------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """One descent."""

    name: str
    loss: Callable[[Tradeoff, float, int], Loss]
    start: str = "cross-entropy"
    narrows: bool = False
    rate: float = 3e-2


def _cross_entropy(balanced: bool) -> Stage:
    name = "balanced cross-entropy" if balanced else "cross-entropy"
    return Stage(name, partial(CrossEntropyLoss, balanced=balanced), "zero")


def stages_of(solver: Solver, narrow: float = 0.1) -> tuple[Stage, ...]:
    """What a solver does, cross-entropy first: it is the start and stays a candidate."""
    if isinstance(solver, Portfolio):
        rest = [stage for member in solver.members for stage in _own(member, narrow)]
        return (_cross_entropy(False), _cross_entropy(True), *rest)
    balanced = isinstance(solver, solvers.FromCrossEntropy) and solver.balanced
    return (_cross_entropy(balanced), *_own(solver, narrow))


def _own(solver: Solver, narrow: float) -> list[Stage]:
    """The descents after cross-entropy; none of cross-entropy alone."""
    match solver:
        case solvers.Profiled():
            return [Stage("profiled threshold", partial(ProfiledLoss, narrow=narrow))]
        case solvers.Lagrangian(rates=rates):
            return [Stage(f"Lagrangian, {rates} rates", partial(LagrangianLoss, rates=rates))]
        case solvers.Sigmoid(temperature=given):
            return [
                Stage(f"sigmoid, T = {t:g}", partial(SigmoidLoss, temperature=t), "centred")
                for t in ((1.0, 5.0) if given is None else (float(given),))
            ]
        case solvers.Ero():
            return [Stage("exact penalty, s in closed form", ExactPenalty, narrows=True)]
        case solvers.EroAdam(reformulation=form, penalty_scale=scale, logit_regularization=tied):
            joint = partial(JointPenalty, reformulation=form, scale=scale, regularised=tied)
            return [Stage("exact penalty, s by Adam", joint, rate=0.1)]
    return []
