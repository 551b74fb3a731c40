"""The ellipsoid method (CMA, Algorithm 3), with constraints ConEllipsoid (Algorithm 7)."""

from __future__ import annotations

import numpy as np

from setpoint.array_types import Floats
from setpoint.plugin.problem import Achievable
from setpoint.plugin.solvers.explore import Explorer
from setpoint.plugin.solvers.inner import Inner
from setpoint.plugin.solvers.losses import Losses
from setpoint.program import algebra
from setpoint.program.program import Program
from setpoint.search.optimum import Optimum

__all__ = ["Ellipsoid", "ellipsoid"]

CALLS = 1000
_RADIUS = 1000.0
"""Of the ball around 0 in which multipliers are sought. Bounds hold for any radius."""
_CUTS = 10
"""At most so many cuts for each call of the budget."""
_TINY = 1e-300


class Ellipsoid:
    """``{x + J u : |u| <= 1}``, which shrinks around a maximiser."""

    def __init__(self, n: int, radius: float) -> None:
        self.x = np.zeros(n)
        self.J = radius * np.eye(n)

    def cut(self, w: Floats) -> bool:
        """The smallest ellipsoid around the half where ``w @ (y - x) >= 0`` (Algorithm 3a)."""
        n = len(self.x)
        u = self.J.T @ w
        size = float(np.linalg.norm(u))
        if not size > _TINY:
            return False
        u /= size
        Ju = self.J @ u
        self.x = self.x + Ju / (n + 1)
        along = n / (n + 1)
        across = n / np.sqrt(n * n - 1.0) if n > 1 else 1.0
        self.J = across * self.J + (along - across) * np.outer(Ju, u)
        return True


def ellipsoid(
    space: Achievable,
    program: Program,
    *,
    calls: int | None = None,
    gap: float = 1e-4,
) -> Optimum:
    """The ellipsoid method for concave scores; ConEllipsoid where there are constraints."""
    losses = Losses(space, program, "ellipsoid")
    name = "constrained ellipsoid" if losses.phi else "ellipsoid"
    run = Explorer(space, program, name, CALLS if calls is None else calls, gap)
    return run.finish(lambda: _shrink(run, losses))


def _shrink(run: Explorer, losses: Losses) -> None:
    """Algorithm 7, which without constraints is Algorithm 3."""
    d = len(losses.low)
    inner = Inner(losses, [algebra.scaled(-1.0, losses.score), *losses.phi])
    duals = Ellipsoid(d + len(losses.phi), _RADIUS)
    for _ in range(_CUTS * run.calls):
        if not run.goes_on(losses.middle):
            break
        lam, mu = duals.x[:d], duals.x[d:]
        if float(np.linalg.norm(duals.x)) > _RADIUS:
            w = -duals.x
        elif (mu < 0.0).any():
            w = np.concatenate([np.zeros(d), np.maximum(-mu, 0.0)])
        else:
            C = run.ask(lam)
            least, xi = inner.minimise(-lam, [1.0, *mu])
            run.learn(-(least + float(lam @ C)))
            w = np.concatenate([C - xi, losses.excess(xi)])
        if not duals.cut(w):
            break
