"""Small data, plans and modules for tests of networks."""

from __future__ import annotations

import numpy as np

from setpoint import Goal
from setpoint.penalty import Tradeoff
from setpoint.penalty.losses import stages_of
from setpoint.penalty.selection import Pool, TrainingPlan, TrainingRows
from setpoint.solvers import Minibatches, solver_of

FPOR = "maximize recall subject to precision >= 0.7"


def ring(n=600, seed=0):
    """Positives lie outside of an ellipse, with noise; about a fifth of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] ** 2 + X[:, 1] + 0.5 * rng.normal(size=n) > 1.9


def tradeoff(goal, positive, weight=None):
    totals = np.bincount(positive.astype(int), weight, minlength=2)
    return Tradeoff(Goal.parse(goal), float(totals[0]), float(totals[1]))


def plan_of(X, positive, *, goal=FPOR, solver="profiled", weight=None, choose=None, **options):
    """A plan; further options are of the plan, or else of the schedule."""
    train = TrainingRows(X, positive, weight)
    judged = train if choose is None else choose
    pool = Pool(tradeoff(goal, judged.positive, judged.weight), judged, 5.0)
    own = {k: options.pop(k) for k in ("seed", "tick", "device") if k in options}
    stages = options.pop("stages", None) or stages_of(solver_of(solver, "penalty"), 0.3)
    schedule = Minibatches(
        **{"max_epochs": 6, "batch_size": 64, "learning_rate": 1e-2, "weight_decay": 1e-2} | options
    )
    goal_ = tradeoff(goal, positive, weight)
    return TrainingPlan(goal_, stages, train, 5.0, pool, schedule, **own)


def outcome(plan):
    """All that a training leaves, but for seconds."""
    best = {
        name: (
            c.cut,
            c.method,
            c.parameters if isinstance(c.parameters, bytes) else c.parameters.tobytes(),
        )
        for name, c in plan.pool.best.items()
    }
    return best, [t[:4] for t in plan.pool.limits.trace], plan.pool.limits.calls, plan.notes


class Enough(Exception):
    """What ends a training early."""


def after(n):
    """A tick that raises at its n-th call."""
    left = [n]

    def tick():
        left[0] -= 1
        if left[0] <= 0:
            raise Enough

    return tick
