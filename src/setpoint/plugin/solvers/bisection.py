"""Bisection for ratios (CMA, Algorithm 4), with constraints ConBisection (Algorithm 8)."""

from __future__ import annotations

from itertools import product

from setpoint.goals.errors import ShapeError
from setpoint.plugin.problem import Achievable
from setpoint.plugin.solvers.explore import Explorer
from setpoint.plugin.solvers.gda import STEPS, Descent
from setpoint.plugin.solvers.losses import Losses
from setpoint.plugin.solvers.recombine import recombine
from setpoint.program.functions import Affine, Ratio
from setpoint.program.program import Program
from setpoint.search.master import InfeasibleMasterError
from setpoint.search.optimum import Optimum
from setpoint.solvers import takes

__all__ = ["bisection"]

CALLS, CONSTRAINED_CALLS = 100, 10_000
_ROUNDS = 20
"""With constraints, how often the bracket is halved."""
_TINY = 1e-12
_FINE = 1e-3


def bisection(
    space: Achievable,
    program: Program,
    *,
    calls: int | None = None,
    gap: float = 1e-4,
) -> Optimum:
    """Bisection for ratios of linear functions; ConBisection where there are constraints."""
    score = _ratio(program)
    if not program.constraints:
        run = Explorer(space, program, "bisection", CALLS if calls is None else calls, gap)
        return run.finish(lambda: _halve(run, score))
    losses = Losses(space, program, "bisection", score.above, by_row=True)
    run = Explorer(
        space, program, "constrained bisection", CONSTRAINED_CALLS if calls is None else calls, gap
    )
    return run.finish(lambda: _halve_constrained(run, score, losses))


def _ratio(program: Program) -> Ratio:
    score = program.score
    if isinstance(score, Affine):
        return Ratio(score, Affine({}, 1.0))
    if not isinstance(score, Ratio):
        other = f"{takes('gda')}, " if score.shape.concave else ""
        raise ShapeError(
            f"{program.goal.objective}: {takes('bisection', asked=True)}, this score is "
            f"{score.shape_name}; {other}{takes('auto')}"
        )
    if program.table.range(score.below)[0] <= _TINY:
        raise ShapeError(
            f"{program.goal.objective}: `solver='bisection'` takes ratios whose denominator is "
            "above 0 whatever is decided, this one can vanish; 'auto' puts a floor under it"
        )
    return score


def _halve(run: Explorer, score: Ratio) -> None:
    """Algorithm 4 for a score: the largest gamma with max A - gamma B >= 0."""
    space = run.space
    b_low, b_high = run.program.table.range(score.below)
    points = [space.features(c) for c in space.constants()]
    v = max(points, key=lambda x: float(score.value(x)))
    # A bracket from a point that is reached, not [0, 1].
    low, high = float(score.value(v)), score.high
    while high - low > _FINE * run.gap and run.goes_on(v):
        gamma = 0.5 * (low + high)
        asked = score.above.plus(score.below.scaled(score.offset - gamma))
        s = run.ask(-asked.gradient(v))
        left, value = float(asked.value(s)), float(score.value(s))
        # What is left of A - gamma B bounds the score from above on either side of gamma.
        high = min(high, gamma + left / (b_low if left > 0 else b_high))
        run.learn(high)
        if value > low:
            v, low = s, value


def _halve_constrained(run: Explorer, score: Ratio, losses: Losses) -> None:
    """Algorithm 8: the candidate of a round is the best feasible mixture gathered so far."""
    descents = [Descent(losses, *pair) for pair in product(STEPS, STEPS)]
    low, high = score.low, score.high
    best: Optimum | None = None
    v = losses.middle
    for k in range(_ROUNDS):
        gamma = 0.5 * (low + high)
        losses.score = score.above.plus(score.below.scaled(score.offset - gamma))
        while run.made * _ROUNDS < run.calls * (k + 1):
            if not run.goes_on(v):
                return
            descents[run.made % len(descents)].step(run)
        try:
            best = recombine(run.space, run.program, start=None if best is None else best.choice)
        except InfeasibleMasterError:
            low, high = score.low, score.high
            continue
        v = best.v
        if best.value >= gamma:
            low = best.value
        else:
            high = gamma
        low, high = max(low, best.value), max(high, best.value)
