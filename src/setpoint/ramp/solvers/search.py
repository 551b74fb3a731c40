"""What both solvers of the ramp problem share: its iterates, the best of them, and the end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from setpoint.array_types import Floats
from setpoint.ramp.problem import Problem
from setpoint.search.limits import Limits, StoppedError
from setpoint.search.moved_bounds import solve_and_recount

__all__ = ["LARGEST_MULTIPLIER", "Iterate", "Search", "Solved"]


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


@dataclass
class Solved:
    """What a solver of the ramp problem ended with."""

    best: Iterate
    multipliers: Floats
    converged: bool
    n_passes: int
    path: list[Iterate] = field(default_factory=list)
    why: str = ""
    stopped: str = ""


class Search:
    """A search for the weights that knows the best so far at any time."""

    moves = _MOVES

    def __init__(
        self, problem: Problem, w: Floats, tol: float, drawn: bool, limits: Limits | None
    ) -> None:
        self.limits = limits or Limits()
        self.problem = replace(problem, tick=self.limits.tick)
        self.w, self.tol, self.drawn = w, tol, drawn
        self.v = np.zeros(len(problem.const))
        self.shift = np.zeros(len(problem.const))
        self.n_passes = 0
        self.path: list[Iterate] = []
        self.best: Iterate | None = None
        self.converged = False

    def solve(self) -> None:
        """From the beginning; once rows were moved, from where it stands."""
        raise NotImplementedError

    @property
    def why(self) -> str:
        """What was done, in words."""
        raise NotImplementedError

    def solved(self) -> Solved:
        """Search; what ends it early leaves the best model, but for Ctrl-C before there is one."""
        with self.limits.keeping(lambda: self.path):
            try:
                solve_and_recount(self._solve_at, self._off, len(self.shift), self.moves)
            except StoppedError:
                if not self.path:
                    self.note(self.problem, self.tol)  # the start
                raise
        best, stopped = self.best or self.path[-1], self.limits.stopped
        return Solved(best, self.v, self.converged, self.n_passes, self.path, self.why, stopped)

    def note(self, problem: Problem, tol: float, *, counts: bool = True) -> None:
        """Keep the weights, if they count and are the best, and record them."""
        S = problem.accepted(self.w, self.drawn)
        self.n_passes += 1
        worst = float(problem.excess(S).max(initial=0.0))
        now = Iterate(self.w.copy(), problem.loss(S)[0], worst)
        self.path.append(now)
        if counts and now.better(self.best, tol):
            self.best = now
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
        off = np.where((self.v > 0.0) & (excess < -self.tol), 0.9 * excess, off)
        return off if excess.max(initial=0.0) <= _MOVABLE else np.zeros_like(off)
