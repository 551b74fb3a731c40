"""The augmented Lagrangian, and what both solvers share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize

from setpoint.array_types import Floats
from setpoint.ramp.problem import Problem
from setpoint.search import Limits, StoppedError, solve_and_recount

# --- What both solvers of the ramp problem share: its iterates ------------------------------------


LARGEST_MULTIPLIER = 300.0
_MOVES, _MOVABLE = 5, 0.25
"""Times that the rows are moved by what is left of a violation, and how much that may be."""


@dataclass(frozen=True)
class Iterate:
    """The state after a round or a convex problem."""

    w: Floats
    loss: float
    excess: float

    def better(self, other: Iterate | None, tol: float) -> bool:
        """Whether it is to be kept: rows first, as far as `tol`, then the objective."""
        if other is None:
            return True
        mine, theirs = max(self.excess, tol), max(other.excess, tol)
        return (mine, self.loss) < (theirs, other.loss)


class RampSearch:
    """A search for the weights that knows the best so far, and the path to it, at any time."""

    moves = _MOVES

    def __init__(
        self,
        problem: Problem,
        start: Floats,
        *,
        tol: float = 1e-3,
        drawn: bool = True,
        limits: Limits | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.problem = replace(problem, tick=self.limits.tick)
        self.w, self.tol, self.drawn = np.array(start, np.float64), tol, drawn
        self.multipliers, self.shift = np.zeros((2, len(problem.const)))
        self.n_passes, self.converged = 0, False
        self.path: list[Iterate] = []
        self.kept: Iterate | None = None

    @property
    def best(self) -> Iterate:
        """What is kept; the last where nothing was."""
        return self.kept or self.path[-1]

    def solve(self) -> None:
        """From the beginning; once rows were moved, from where it stands."""
        raise NotImplementedError

    @property
    def why(self) -> str:
        """What was done, in words."""
        raise NotImplementedError

    def solved(self) -> Self:
        """Search; what ends it early leaves the best model, but for Ctrl-C before there is one."""
        with self.limits.keeping(lambda: self.path):
            try:
                solve_and_recount(self._solve_at, self._off, len(self.shift), self.moves)
            except StoppedError:
                if not self.path:
                    self.note(self.problem, self.tol)  # the start
                raise
        return self

    def note(self, problem: Problem, tol: float, *, counts: bool = True) -> None:
        """Keep the weights, if they count and are the best, and record them."""
        S = problem.accepted(self.w, self.drawn)
        self.n_passes += 1
        worst = float(problem.excess(S).max(initial=0.0))
        now = Iterate(self.w.copy(), problem.loss(S)[0], worst)
        self.path.append(now)
        if counts and now.better(self.kept, tol):
            self.kept = now
        if problem is not self.problem:
            S = self.problem.accepted(self.w, self.drawn)  # the trace is of all rows
        self.limits.calls = self.n_passes
        self.limits.record_rates(self.problem.program, self.problem.goal.rates(S))

    def worked_with(self, problem: Problem, S: Floats) -> Floats:
        """The rows (m,) that are worked with, at accepted weights."""
        return problem.excess(S) + self.shift

    def _solve_at(self, shift: Floats) -> Floats:
        self.shift = shift
        self.solve()
        return self.w

    def _off(self, w: Floats) -> Floats:
        """By how far decisions are off the rows that are meant."""
        excess = self.problem.excess(self.problem.accepted(w, self.drawn))
        self.n_passes += 1
        off = np.where(excess > 0.0, 1.1 * excess + 1e-5, 0.0)
        off = np.where((self.multipliers > 0.0) & (excess < -self.tol), 0.9 * excess, off)
        return off if excess.max(initial=0.0) <= _MOVABLE else np.zeros_like(off)


# --- The augmented Lagrangian on the ramp problem itself, non-convex as it is ---------------------


WIDTHS = (0.5, 0.25, 0.1, 0.05)
"""Of the smoothing, round by round. The last stays; without it 1 % of the objective is lost."""
_ROUNDS, _ROUNDS_A_WIDTH = 13, 4
"""At the last width, and at each of those before it."""
_NEARLY = 0.01
"""The next width comes when the rows of the smoothed ramp hold to this."""
_STEPS, _MEMORY = 60, 10
_PENALTY, _CORRECTING, _GROWTH, _LARGEST_PENALTY = 1.0, 20.0, 4.0, 300.0
"""A low penalty first: the objective finds its place before the rows hold it fast."""
_COMPLEMENTARY = 2e-3
_STILL, _PATIENCE = 0.9, 3
_FAR_PAST = 0.02
"""What a row has to be past for another beginning."""
_SAMPLE, _STEP = 60_000, 4
"""Rows of the sample that comes first where there are many more, and the factor to the next."""
_ROUGH = 1e-5


def _sizes(n_rows: int) -> list[int]:
    """Sizes of the samples that come before all rows, each some times larger than the last.

    Examples
    --------
    >>> _sizes(100_000), _sizes(1_000_000)
    ([], [60000, 240000])
    """
    sizes, size = [], _SAMPLE
    while _STEP * size <= n_rows:
        sizes.append(size)
        size *= _STEP
    return sizes


class AugmentedLagrangian(RampSearch):
    """w, the multipliers and the penalty, carried from round to round from any start."""

    def __init__(
        self, problem: Problem, start: Floats, *, rng: np.random.Generator | None = None, **how: Any
    ) -> None:
        super().__init__(problem, start, **how)
        self.rng = rng or np.random.default_rng(0)
        self.rho, self.worst = _PENALTY, np.inf

    def solve(self) -> None:
        """All rounds, and once more at a higher penalty where they end past the rows."""
        if self.shift.any():
            self.rho = max(self.rho, _CORRECTING)
            self.run(self.problem, WIDTHS[-1:], 2)
            return
        start = self.w
        self._from(start, _PENALTY)
        if not self.converged and self.kept is not None and self.kept.excess > _FAR_PAST:
            # A poor place to be stuck in: there, decisions that cost little were made first.
            self._from(start, _CORRECTING)

    def _from(self, start: Floats, penalty: float) -> None:
        """Rounds from a start: where there are very many rows, the first ones on samples."""
        problem = self.problem
        self.w, self.multipliers, self.rho = start, np.zeros(len(problem.const)), penalty
        widths: tuple[float, ...] = WIDTHS
        for size in _sizes(len(problem.kind)):
            known = self.kept
            self.run(problem.sampled(size, self.rng), widths, _ROUNDS)
            widths = WIDTHS[-1:]
            self.kept, self.rho = known, penalty  # an iterate seen on a sample is not a candidate
        self.run(problem, widths, _ROUNDS)

    def run(self, problem: Problem, widths: tuple[float, ...], rounds: int) -> None:
        """Rounds of descent and of multipliers, until rows and complementarity hold."""
        for t in widths[:-1]:
            for _ in range(_ROUNDS_A_WIDTH):
                if self._round(problem, t) <= _NEARLY:
                    break
        stuck = 0
        for _ in range(rounds):
            last = self.worst
            self._round(problem, widths[-1])
            # At the highest penalty nothing moves any more: these rows are not met from here.
            still = self.rho >= _LARGEST_PENALTY and self.worst > max(_STILL * last, self.tol)
            stuck = stuck + 1 if still else 0
            if self.converged or stuck == _PATIENCE:
                return

    def _round(self, problem: Problem, t: float) -> float:
        """One descent and one move of the multipliers; the largest row of the smoothed ramp."""
        self._descend(problem, t)
        smoothed = self.worked_with(problem, problem.smoothed(self.w, t)[0])
        self.multipliers = np.clip(self.multipliers + self.rho * smoothed, 0.0, LARGEST_MULTIPLIER)
        counted = self.worked_with(problem, problem.accepted(self.w))
        self.n_passes += 2
        # Without draws the cut-off makes up in the end for what a row is past.
        tol = 0.0 if self.drawn and self.shift.any() else self.tol
        self.note(problem, tol, counts=t == WIDTHS[-1])
        worst = float(counted.max(initial=0.0))
        slack = float(np.abs(self.multipliers * counted).max(initial=0.0))
        self.converged = worst <= self.tol and slack <= _COMPLEMENTARY
        if worst > max(0.3 * self.tol, 0.4 * self.worst):
            self.rho = min(self.rho * _GROWTH, _LARGEST_PENALTY)
        self.worst = worst
        return float(smoothed.max(initial=0.0))

    @property
    def why(self) -> str:
        """Rounds and passes."""
        n = len(self.path)
        return f"augmented Lagrangian, {n} rounds of L-BFGS, {self.n_passes:,} passes"

    def _descend(self, problem: Problem, t: float) -> None:
        def value(w: Floats) -> tuple[float, Floats]:
            self.n_passes += 1
            S, slope = problem.smoothed(w, t)
            loss, price = problem.loss(S)
            u = np.maximum(0.0, self.multipliers + self.rho * self.worked_with(problem, S))
            penalty = float((u**2 - self.multipliers**2).sum()) / (2.0 * self.rho)
            gradient = problem.pulled(slope, price + u @ problem.coefs) + problem.lam * w
            return loss + penalty + 0.5 * problem.lam * float(w @ w), gradient

        options: Any = {"maxiter": _STEPS, "maxcor": _MEMORY}
        if len(problem.kind) >= _STEP * _SAMPLE:
            options["ftol"] = _ROUGH  # each pass is dear, and the next round goes on from here
        found = minimize(value, self.w, jac=True, method="L-BFGS-B", options=options)
        self.w = np.asarray(found.x, np.float64)
