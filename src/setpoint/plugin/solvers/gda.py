"""Gradient descent-ascent (CMA, Algorithm 2), with constraints ConGDA (Algorithm 6)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from setpoint.plugin.problem import Achievable
from setpoint.plugin.solvers.explore import Explorer
from setpoint.plugin.solvers.inner import Inner
from setpoint.plugin.solvers.losses import Losses
from setpoint.program import algebra
from setpoint.program.program import Program
from setpoint.search.optimum import Optimum

__all__ = ["Descent", "gda"]

CALLS, CONSTRAINED_CALLS = 5000, 10_000
STEPS = (0.001, 0.01, 0.1)


class Descent:
    """One search for a saddle point: xi descends, lambda and mu ascend, C answers lambda."""

    def __init__(self, losses: Losses, eta: float, eta_dual: float) -> None:
        self.losses = losses
        self.eta, self.eta_dual = eta, eta_dual
        self.xi = losses.into_box(np.zeros(len(losses.low)))
        self.lam = np.zeros(len(losses.low))
        self.mu = np.zeros(len(losses.phi))

    def step(self, run: Explorer, inner: Inner | None = None) -> None:
        """One oracle call, and one step of each variable from where all of them stood."""
        losses, xi, lam, mu = self.losses, self.xi, self.lam, self.mu
        C = run.ask(lam)
        if inner is not None:
            least, _ = inner.minimise(-lam, [1.0, *mu])
            run.learn(-(least + float(lam @ C)))
        slope = losses.slope(xi) - lam + losses.excess_slope(xi, mu)
        self.xi = losses.into_box(xi - self.eta * slope)
        self.lam = lam + self.eta_dual * (C - xi)
        if len(mu):
            self.mu = np.maximum(mu + self.eta_dual * losses.excess(xi), 0.0)


def gda(
    space: Achievable,
    program: Program,
    *,
    calls: int | None = None,
    gap: float = 1e-4,
    steps: Sequence[float] = STEPS,
) -> Optimum:
    """Gradient descent-ascent for concave scores; ConGDA where there are constraints."""
    losses = Losses(space, program, "gda", by_row=True)
    name = "constrained GDA" if losses.phi else "GDA"
    if calls is None:
        calls = CONSTRAINED_CALLS if losses.phi else CALLS
    run = Explorer(space, program, name, calls, gap)
    descents = [Descent(losses, *pair) for pair in product(steps, steps)]
    inner = Inner(losses, [algebra.scaled(-1.0, losses.score), *losses.phi])

    def body() -> None:
        while run.goes_on(losses.middle):
            # A bound costs more than a call: each pair tells one before a recombination.
            due = run.is_due(within=len(descents))
            descents[run.made % len(descents)].step(run, inner if due else None)

    return run.finish(body)
