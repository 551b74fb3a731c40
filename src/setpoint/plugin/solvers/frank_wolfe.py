"""Frank-Wolfe (CMA, Algorithm 1) with exact line search, and split Frank-Wolfe (Algorithm 5)."""

from __future__ import annotations

import numpy as np

from setpoint.array_types import Floats
from setpoint.goals.errors import ShapeError
from setpoint.plugin.problem import Achievable
from setpoint.plugin.solvers.explore import Explorer
from setpoint.plugin.solvers.losses import Losses
from setpoint.plugin.solvers.slack import Slack
from setpoint.program.functions import RateFunction
from setpoint.program.program import Program
from setpoint.search.optimum import Optimum
from setpoint.solvers import takes

__all__ = ["frank_wolfe"]

CALLS, SPLIT_CALLS = 5000, 10_000
_ZETA, _STEPS = 10.0, (0.5, 0.1, 0.001)
"""Of split Frank-Wolfe: weight of the penalty; steps eta, each for an equal part of the calls."""
_TRUSTED = 1e-9


def frank_wolfe(
    space: Achievable,
    program: Program,
    *,
    calls: int | None = None,
    gap: float = 1e-4,
) -> Optimum:
    """Frank-Wolfe for concave scores; split Frank-Wolfe where there are constraints."""
    losses = Losses(space, program, "frank-wolfe")
    if losses.score.has_kinks:
        raise ShapeError(
            f"{program.goal.objective}: {takes('frank-wolfe', asked=True)}, this one has kinks, "
            "where a gradient says too little; 'gda' and 'ellipsoid' take it, and 'auto' "
            "certifies it"
        )
    if losses.phi:
        run = Explorer(
            space, program, "split Frank-Wolfe", SPLIT_CALLS if calls is None else calls, gap
        )
        return run.finish(lambda: _split(run, losses))
    run = Explorer(
        space, program, "Frank-Wolfe with line search", CALLS if calls is None else calls, gap
    )
    return run.finish(lambda: _plain(run, losses))


def _plain(run: Explorer, losses: Losses) -> None:
    """Algorithm 1 in features, from the uniform mixture of the constants."""
    score = losses.score
    v, value = losses.middle, float(score.value(losses.middle))
    while run.goes_on(v):
        gain = score.gradient(v)
        s = run.ask(-gain)
        left = float(gain @ (s - v))
        # A gradient that a floor bends proves nothing.
        if score.smallest_floored_argument(v) >= _TRUSTED:
            run.learn(value + left)
            if left <= run.gap:
                break
        step = line_search(score, v, s)
        if step == 0.0:
            break  # nothing is left that floating point can tell
        v = (1.0 - step) * v + step * s
        value = float(score.value(v))


def line_search(score: RateFunction, v: Floats, s: Floats) -> float:
    """The step in [0, 1] from v to s with the largest concave score."""

    def loss(step: float) -> float:
        return -float(score.value((1.0 - step) * v + step * s))

    from scipy.optimize import minimize_scalar  # slow to load, and few goals need it

    found = minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9})
    return min((0.0, 1.0, float(found.x)), key=loss)


def _split(run: Explorer, losses: Losses) -> None:
    """Algorithm 5: C stays achievable, F feasible, and an augmented Lagrangian joins them."""
    feasible = Slack(losses, under_zero=losses.phi)
    C = losses.middle
    _, F = feasible.minimise(losses.slope(C))
    lam = np.zeros(len(C))
    while run.goes_on(C):
        t = run.made + 1
        at_C, at_F = losses.slope(C), losses.slope(F)
        joint = lam + _ZETA * (C - F)
        s = run.ask(at_C + joint)
        least, f = feasible.minimise(at_F - joint)
        if (
            min(
                losses.score.smallest_floored_argument(C), losses.score.smallest_floored_argument(F)
            )
            >= _TRUSTED
        ):
            # The Lagrangian at `joint` bounds 2 psi from below by its two linear parts.
            psi = -float(losses.score.value(C)) - float(losses.score.value(F))
            psi += float((at_C + joint) @ s - at_C @ C) + least - float(at_F @ F)
            run.learn(-psi / 2.0)
        step = 2.0 / (t + 2)
        C, F = (1.0 - step) * C + step * s, (1.0 - step) * F + step * f
        eta = _STEPS[min(len(_STEPS) * (t - 1) // run.calls, len(_STEPS) - 1)]
        lam = lam + eta * (C - F)
