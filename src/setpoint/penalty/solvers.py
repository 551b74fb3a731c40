"""Linear models by descent on all rows, and by steps along lines whose best points are sorted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from setpoint.array_types import Floats
from setpoint.classifiers import linear_scores
from setpoint.compiled import kernel
from setpoint.counts import ratio_at
from setpoint.parameters import SATISFIED
from setpoint.penalty.losses import Loss, Stage
from setpoint.penalty.problem import Tradeoff, best_cut
from setpoint.penalty.selection import (
    Checkpoint,
    DivergedError,
    Pool,
    TrainingPlan,
    TrainingRows,
    pool_state,
    restore_pool,
)

# --- Linear models by descent on all rows at once, dense or sparse --------------------------------


_DECAY = 1e-4
"""Ridge on the coefficients of losses by L-BFGS, not on the intercept."""
_STEPS = 500
_REFRESHES, _ROUND_STEPS = 15, 20
_POLISH = "evolution strategy"


def train_linear(plan: TrainingPlan, polished: bool, checkpoint: Checkpoint | None = None) -> None:
    """Run the stages of a plan; candidates in its pool are parameters (d + 1,)."""
    descent = _LinearDescent(plan)
    zero = np.zeros(plan.train.X.shape[1] + 1)
    starts = {"zero": zero, "cross-entropy": zero, "centred": zero}
    saved = None if checkpoint is None else checkpoint.read()
    done = 0
    if saved is not None:
        restore_pool(plan, saved["pool"])
        done, starts = saved["stage"], saved["starts"]
    for i, stage in enumerate(plan.stages[done:], done):
        try:
            last = descent.run(stage, starts[stage.start])
        except DivergedError as error:
            plan.notes.append(str(error))
        else:
            if stage.start == "zero" and not starts["cross-entropy"].any():
                starts |= {"cross-entropy": last, "centred": descent.centred(last)}
        if checkpoint is not None and checkpoint.due:
            checkpoint.write({"stage": i + 1, "starts": starts, "pool": pool_state(plan)})
    if polished and plan.train.X.shape[1] <= MOST_PARAMETERS and plan.pool.best:
        try:
            descent.polish()
        except DivergedError as error:
            plan.notes.append(str(error))
    if checkpoint is not None:
        checkpoint.remove()


@dataclass(frozen=True, eq=False)
class _LinearDescent:
    plan: TrainingPlan

    def run(self, stage: Stage, theta: Floats) -> Floats:
        """One stage; where it ended."""
        plan, name = self.plan, stage.name
        loss = stage.loss(plan.goal, plan.least, len(plan.train))
        if stage.start == "zero":
            theta = _lbfgs(plan.train, loss, theta, _STEPS, plan.tick)
        elif stage.narrows:
            theta = self.narrow(loss, theta, name)
        else:
            theta = self.adam(loss, theta, name, stage.rate)
        self.judge(name, theta, self.scores(theta))
        return theta

    def scores(self, theta: Floats) -> Floats:
        return linear_scores(self.plan.train.X, theta)

    def judge(self, name: str, theta: Floats, z: Floats) -> None:
        """Offer an iterate; `z` are its scores on the training rows."""
        plan = self.plan
        judged = linear_scores(plan.pool.rows.X, theta) if plan.holds_out else z
        if plan.pool.offer(name, judged, theta.copy) is None or not np.isfinite(z).all():
            raise DivergedError(name)

    def centred(self, theta: Floats) -> Floats:
        """With the intercept moved so that the best threshold is 0."""
        out = theta.copy()
        plan = self.plan
        out[-1] -= best_cut(plan.goal, *plan.train.seen(self.scores(theta)), plan.least).shift
        return out

    def adam(self, loss: Loss, theta: Floats, name: str, rate: float) -> Floats:
        """Adam with a cosine schedule; every iterate is a candidate."""
        rows = self.plan.train
        first, second = np.zeros_like(theta), np.zeros_like(theta)
        for i in range(_STEPS):
            self.plan.tick()
            z = self.scores(theta)
            self.judge(name, theta, z)
            loss.refresh(rows.seen(z), i / _STEPS)
            gradient = _pull(rows, loss.slope(z, rows.positive))
            loss.advance(z, rows.positive)
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            scale = np.sqrt(second / (1 - 0.999 ** (i + 1))) + 1e-8
            size = 0.5 * rate * (1.0 + np.cos(np.pi * i / _STEPS))
            theta = theta - size * first / (1 - 0.9 ** (i + 1)) / scale
        return theta

    def narrow(self, loss: Loss, theta: Floats, name: str) -> Floats:
        """L-BFGS between refreshes, for a loss that narrows from round to round."""
        rows = self.plan.train
        for i in range(_REFRESHES):
            z = self.scores(theta)
            self.judge(name, theta, z)
            loss.refresh(rows.seen(z), i / (_REFRESHES - 1))
            theta = _lbfgs(rows, loss, theta, _ROUND_STEPS, self.plan.tick)
        return theta

    def polish(self) -> None:
        """An evolution strategy on the training rows, its result judged like the others."""
        plan, own = self.plan, self.plan.pool
        if plan.holds_out:
            own = Pool(plan.goal, plan.train, plan.least)
            for c in plan.pool.best.values():
                own.offer(c.method, self.scores(c.parameters), c.parameters.copy)
        polish(plan.train.X, own, _POLISH, np.random.default_rng([plan.seed, 1]), plan.tick)
        if plan.holds_out:
            theta = own.best[_POLISH].parameters
            self.judge(_POLISH, theta, self.scores(theta))


def _pull(rows: TrainingRows, slope: Floats) -> Floats:
    """The gradient (d + 1,) of a mean whose rows have these slopes."""
    w = rows.weight
    slope = slope / len(slope) if w is None else slope * (w / w.sum())
    out: Floats = np.append(rows.X.T @ slope, slope.sum())
    return out


def _lbfgs(
    rows: TrainingRows, loss: Loss, theta: Floats, steps: int, tick: Callable[[], None]
) -> Floats:
    """The parameters after some iterations on a loss that stays as it is."""

    def objective(theta: Floats) -> tuple[float, Floats]:
        tick()
        z = linear_scores(rows.X, theta)
        ridge = np.append(_DECAY * theta[:-1], 0.0)
        value = np.average(loss.value(z, rows.positive), weights=rows.weight)
        gradient = _pull(rows, loss.slope(z, rows.positive))
        return float(value) + 0.5 * float(ridge @ theta), gradient + ridge

    found = minimize(objective, theta, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return np.asarray(found.x, np.float64)


# --- Which classifiers on a line may be best, and what each accepts -------------------------------


_BINS = 512
_FEW = 2000
"""Fewer rows are all sorted where no kernel knows the goal: bins cost as much as they save."""


def contenders(
    goal: Tradeoff,
    scores: Floats,
    moves: Floats,
    true: NDArray[np.uint8],
    weight: Floats,
    violation: float,
    value: float,
) -> tuple[Floats, Floats, Floats]:
    """Accepted weight of both classes, and a t, of classifiers that may not be worse.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Tradeoff(Goal.parse("maximize accuracy"), 2.0, 1.0)
    >>> true, scores = np.array([0, 1, 0], np.uint8), np.array([-1.0, -2.0, -8.0])
    >>> A, B, t = contenders(goal, scores, np.ones(3), true, np.ones(3), 0.0, 0.6)
    >>> A.tolist(), B.tolist(), t.tolist()
    ([0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 2.0], [-1.0, 1.5, 5.0, 17.0])
    """
    points, bins, sums = _binned(scores, moves, true, weight)
    limit = violation + 2.0 * SATISFIED
    floor = -np.inf if violation > 0.0 else value - SATISFIED * (1.0 + abs(value))
    A, B = sums[:, 2], sums[:, 3]
    if goal.accepted.ratios is not None:
        hopeful = _hopeful(A, B, limit, floor, *goal.accepted.ratios)
    elif len(scores) < _FEW:
        hopeful = np.ones(len(sums), np.bool_)
    else:
        hopeful = ~((goal.score(A, B) < floor) | (goal.violation(A, B) > limit))
    some = _rows_of(bins, sums, hopeful)
    order = some[np.argsort(points[some])]
    return _along(order, points, bins, moves, true, weight, sums, hopeful)


@kernel(error_model="numpy")
def _binned(
    scores: Floats, moves: Floats, true: NDArray[np.uint8], weight: Floats
) -> tuple[Floats, NDArray[np.int16], Floats]:
    """Where rows change sides, the bin of each, and of each bin five sums."""
    n = scores.size
    points, bins = np.empty(n), np.empty(n, np.int16)
    for i in range(n):
        p = -scores[i] / moves[i]
        part = 1.0 / (1.0 + abs(p))
        place = part if p < 0.0 else 2.0 - part  # rises from 0 to 2, rounded too
        points[i] = p
        bins[i] = np.int16(place * (_BINS // 2)) if place < 2.0 else _BINS - 1
    changes = np.zeros((_BINS, 4))
    a, b = 0.0, 0.0
    for i in range(n):
        if moves[i] != 0.0:
            changes[bins[i], 2 * true[i] + (moves[i] > 0.0)] += weight[i]
            continue
        bins[i] = _BINS
        if scores[i] >= 0.0:
            a, b = a + weight[i] * true[i], b + weight[i] * (1 - true[i])
    sums = np.zeros((_BINS + 1, 5))
    a, b = a + changes[:, 2].sum(), b + changes[:, 0].sum()
    for k in range(_BINS):
        lost_b, more_b, lost_a, more_a = changes[k]
        sums[k] = a, b, a + more_a, max(b - lost_b, 0.0), lost_b + more_b + lost_a + more_a
        a, b = a + (more_a - lost_a), b + (more_b - lost_b)
    return points, bins, sums


@kernel(error_model="numpy")
def _hopeful(
    A: Floats,
    B: Floats,
    limit: float,
    floor: float,
    forms: Floats,
    zeros: Floats,
    offsets: Floats,
    lower: Floats,
    upper: Floats,
) -> NDArray[np.bool_]:
    """Whether counts miss no bound by more than `limit` and reach `floor`."""
    out = np.empty(A.size, np.bool_)
    for k in range(A.size):
        missed = ratio_at(forms[0], zeros[0], offsets[0], A[k], B[k]) < floor
        for i in range(lower.size):
            value = ratio_at(forms[i + 1], zeros[i + 1], offsets[i + 1], A[k], B[k])
            missed |= (lower[i] - value > limit) | (value - upper[i] > limit)
        out[k] = not missed
    return out


def _rows_of(
    bins: NDArray[np.int16], sums: Floats, hopeful: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """The rows of some bins, of the first that has any, and of the next ones that have."""
    filled = np.flatnonzero(sums[:, 4] > 0.0)
    wanted = np.zeros(len(hopeful), np.bool_)
    wanted[filled] = hopeful[filled] | np.append(True, hopeful[filled[:-1]])
    return np.flatnonzero(wanted[bins])


@kernel()
def _along(
    order: NDArray[np.int64],
    points: Floats,
    bins: NDArray[np.int16],
    moves: Floats,
    true: NDArray[np.uint8],
    weight: Floats,
    sums: Floats,
    hopeful: NDArray[np.bool_],
) -> tuple[Floats, Floats, Floats]:
    """Accepted weights and a t after each point in a bin of hope, and before all points."""
    n = order.size
    A, B, at = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1)
    a, b = sums[0, 0], sums[0, 1]
    A[0], B[0], at[0] = a, b, 0.0
    m, last = 0, -1
    for j in range(n):
        i = order[j]
        here, k = points[i], bins[i]
        if j == 0:
            at[0] = here - abs(here) - 1.0
        if not hopeful[k]:
            continue
        if k != last:
            a, b, last = sums[k, 0], sums[k, 1], k
        w = weight[i] if moves[i] > 0.0 else -weight[i]
        if true[i]:
            a += w
        else:
            b += w
        if j + 1 < n and points[order[j + 1]] == here:
            continue
        m += 1
        A[m], B[m] = a, b
        at[m] = 0.5 * (here + points[order[j + 1]]) if j + 1 < n else here + abs(here) + 1.0
    return A[: m + 1], B[: m + 1], at[: m + 1]


# --- A (1+1) evolution strategy on the goal itself ------------------------------------------------


MOST_PARAMETERS = 40
"""Beyond so many a random direction is hardly ever better."""

_ROUNDS = ((160, 60), (40, 150), (8, 500))
"""How many starts go on, and for how many steps each: the best go further."""
_ROWS_SEEN = 60_000_000
"""Steps times rows: more rows, fewer steps, from a tenth to all of the rounds."""
_FEWEST = 0.1
_FLATTEST = 1e-8
"""Of the largest variance: directions with less are left as they are."""


def polish(
    X: Any,
    pool: Pool,
    name: str,
    rng: np.random.Generator,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Go on from the candidates, and from random directions, to what reaches more."""
    starts = [c.parameters for c in sorted(pool.best.values(), key=lambda c: c.cut.rank)[::-1]]
    whitener, spreader = _whitening(X, name)
    white = np.asarray(X @ whitener)
    rows = np.column_stack([white, np.ones(len(white))])
    n_random = max(_ROUNDS[0][0] - len(starts), 0)
    drawn = rng.normal(size=(n_random, white.shape[1]))
    points = [*(spreader @ start[:-1] for start in starts), *drawn]
    weight = _summable(np.ones(len(rows)) if pool.rows.weight is None else pool.rows.weight)
    climbers = [_Climber(point, rows, weight, pool) for point in points]
    wanted = sum(n * steps for n, steps in _ROUNDS)
    part = min(max(_ROWS_SEEN / len(rows) / wanted, _FEWEST), 1.0)
    best: tuple[float, ...] = ()
    for n_kept, steps in _ROUNDS:
        climbers = sorted(climbers, key=lambda c: c.rank)[::-1][:n_kept]
        for climber in climbers:
            for _ in range(int(part * steps)):
                tick()
                climber.step(rng)
            if climber.rank > best:
                best, u = climber.rank, climber.at[:-1].copy()
                pool.offer(name, white @ u, lambda u=u: np.append(whitener @ u, 0.0))


def _whitening(X: Any, name: str) -> tuple[Floats, Floats]:
    """From whitened coefficients to coefficients, and back."""
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = np.cov(dense, rowvar=False).reshape(2 * (X.shape[1],))
    if not np.isfinite(covariance).all():
        raise DivergedError(name, "the features are too large to be whitened; it was left out")
    values, vectors = np.linalg.eigh(covariance)
    spread = np.sqrt(np.maximum(values, _FLATTEST * max(values.max(), 1e-300)))
    return vectors / spread, (vectors * spread).T


def _summable(weight: Floats) -> Floats:
    """Weights of so many digits that sums are the same in any order: what is equal looks it."""
    unit = 2.0 ** (np.ceil(np.log2(weight.sum())) - 52.0)
    return np.asarray(np.round(weight / unit) * unit)


class _Climber:
    """A classifier, intercept last, that moves to whatever is not worse."""

    def __init__(self, start: Floats, rows: Floats, weight: Floats, pool: Pool) -> None:
        self.rows, self.weight, self.pool = rows, weight, pool
        norm = float(np.linalg.norm(start))
        start = start / norm if norm > 0 else np.eye(len(start))[0]
        cut = best_cut(pool.goal, rows[:, :-1] @ start, pool.true, weight, pool.least)
        self.at = np.append(start, -cut.shift)
        self.scores = rows @ self.at
        self.rank = (*cut.rank, cut.A - cut.B)
        """Of equals the one that accepts fewer negatives is on its way."""

    def step(self, rng: np.random.Generator) -> None:
        """Go to the best point of a line in a random direction."""
        pool = self.pool
        direction = rng.normal(size=len(self.at))
        moves = self.rows @ direction
        violation, value = -self.rank[0], self.rank[1]
        A, B, at = contenders(
            pool.goal, self.scores, moves, pool.true, self.weight, violation, value
        )
        best = pool.goal.best(A, B, pool.least)
        j = best.cutoff
        if j < 0:
            return
        rank = (-best.violation, best.value, float(A[j] - B[j]))
        if rank < self.rank or not np.isfinite(at[j]):
            return
        there = self.at + at[j] * direction
        there /= np.linalg.norm(there)
        self.at, self.scores, self.rank = there, self.rows @ there, rank
