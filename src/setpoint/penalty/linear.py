"""Linear models by descent on all rows at once, dense or sparse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from setpoint.array_types import Floats
from setpoint.estimators.linear_rule import linear_scores
from setpoint.penalty.checkpoint import Checkpoint, pool_state, restore_pool
from setpoint.penalty.cuts import best_cut
from setpoint.penalty.losses import Loss
from setpoint.penalty.plan import DivergedError, Plan, Rows
from setpoint.penalty.solvers.evolution import MOST_PARAMETERS, polish
from setpoint.penalty.solvers.stages import Stage

__all__ = ["train_linear"]


_DECAY = 1e-4
"""Ridge on the coefficients of losses by L-BFGS, not on the intercept."""
_STEPS = 500
_ROUNDS, _ROUND_STEPS = 15, 20
_POLISH = "evolution strategy"


def train_linear(plan: Plan, polished: bool, checkpoint: Checkpoint | None = None) -> None:
    """Run the stages of a plan; candidates in its pool are parameters (d + 1,)."""
    descent = _Descent(plan)
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
class _Descent:
    plan: Plan

    def run(self, stage: Stage, theta: Floats) -> Floats:
        """One stage; where it ended."""
        plan, name = self.plan, stage.name
        loss = stage.loss(plan.goal, plan.least, len(plan.train))
        if stage.start == "zero":
            theta = _lbfgs(plan.train, loss, theta, _STEPS, plan.tick)
            self.judge(name, theta, self.scores(theta))
        elif stage.narrows:
            theta = self.narrow(loss, theta, name)
        else:
            theta = self.adam(loss, theta, name, stage.rate)
        return theta

    def scores(self, theta: Floats) -> Floats:
        return linear_scores(self.plan.train.X, theta)

    def judge(self, name: str, theta: Floats, z: Floats) -> None:
        """Offer an iterate; `z` are its scores on the training rows."""
        choose = self.plan.choose
        judged = z if choose is None else linear_scores(choose.X, theta)
        if self.plan.pool.offer(name, judged, theta.copy) is None or not np.isfinite(z).all():
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
        self.judge(name, theta, self.scores(theta))
        return theta

    def narrow(self, loss: Loss, theta: Floats, name: str) -> Floats:
        """L-BFGS between refreshes, for a loss that narrows from round to round."""
        rows = self.plan.train
        for i in range(_ROUNDS):
            z = self.scores(theta)
            self.judge(name, theta, z)
            loss.refresh(rows.seen(z), i / (_ROUNDS - 1))
            theta = _lbfgs(rows, loss, theta, _ROUND_STEPS, self.plan.tick)
        self.judge(name, theta, self.scores(theta))
        return theta

    def polish(self) -> None:
        """An evolution strategy on the training rows, its result judged like the others."""
        plan = self.plan
        rng = np.random.default_rng([plan.seed, 1])
        if plan.choose is None:
            polish(plan.train.X, plan.pool, _POLISH, rng, plan.tick)
            return
        own = plan.train_pool()
        for candidate in plan.pool.best.values():
            theta = candidate.parameters
            own.offer(candidate.method, self.scores(theta), theta.copy)
        polish(plan.train.X, own, _POLISH, rng, plan.tick)
        theta = own.best[_POLISH].parameters
        self.judge(_POLISH, theta, self.scores(theta))


def _pull(rows: Rows, slope: Floats) -> Floats:
    """The gradient (d + 1,) of a mean whose rows have these slopes."""
    w = rows.weight
    slope = slope / len(slope) if w is None else slope * (w / w.sum())
    out: Floats = np.append(rows.X.T @ slope, slope.sum())
    return out


def _lbfgs(rows: Rows, loss: Loss, theta: Floats, steps: int, tick: Callable[[], None]) -> Floats:
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
