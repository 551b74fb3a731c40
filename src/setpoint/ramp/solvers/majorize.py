"""Algorithm 1: majorisation-minimisation, one convex problem after another.

Each is an upper bound on the ramp problem that is tight at the weights so far, so from weights
that meet the rows none of them makes things worse (Goh, Cotter, Gupta and Friedlander,
"Satisfying real-world goals with dataset constraints", section 2.1).
"""

from __future__ import annotations

import numpy as np

from setpoint.array_types import Floats
from setpoint.estimators.linear_rule import linear_scores
from setpoint.ramp.problem import Problem
from setpoint.ramp.solvers.cutting_plane import Convex, cutting_planes
from setpoint.ramp.solvers.majorizer import Majorizer, Split
from setpoint.ramp.solvers.search import LARGEST_MULTIPLIER, Search, Solved
from setpoint.ramp.solvers.svm import SVM
from setpoint.search.limits import Limits

__all__ = ["majorize_minimize"]


_PROBLEMS = 40
_EPS = 0.1
"""Of the tolerance: how exactly each convex problem is solved."""
_FIRST_CAP, _RAISING = 4.0, 4.0
"""Of the multipliers while the weights miss the rows: they need not be met at once."""
_OF_GAIN = 0.1
"""Of what a convex problem has gained: that near its optimum it is left."""
_SLOW = 0.02
"""A gain so small, relative to what is paid for missed rows, asks for a higher cap."""
_MET = 1e-9


def majorize_minimize(
    problem: Problem,
    start: Floats,
    *,
    tol: float = 1e-3,
    chooser: str = "max",
    svm: str = "sdca",
    drawn: bool = True,
    limits: Limits | None = None,
    seed: int = 0,
) -> Solved:
    """Minimise the ramp problem by convex problems, each solved by cutting planes."""
    w = np.array(start, np.float64)
    return _Majorized(problem, w, tol, chooser, svm, drawn, limits, seed).solved()


class _Majorized(Search):
    """w, the cuts' weights, the SVM's dual variables: carried from one problem to the next."""

    def __init__(
        self,
        problem: Problem,
        w: Floats,
        tol: float,
        chooser: str,
        svm: str,
        drawn: bool,
        limits: Limits | None,
        seed: int,
    ) -> None:
        super().__init__(problem, w, tol, drawn, limits)
        self.chooser = chooser
        self.svm = SVM(problem.X, problem.lam, svm, seed)
        self.split = Split(problem)
        self.moves = 0 if drawn else self.moves
        self.rng = np.random.default_rng(seed)
        self.cap, self.missed = _FIRST_CAP, np.inf
        self.xi: Floats | None = None
        self.kept: list[Floats] = []
        self.n_cuts = 0

    def solve(self) -> None:
        """Convex problems until one of them gains nothing."""
        worst = self._excess().max(initial=0.0)
        for i in range(_PROBLEMS):
            cap = LARGEST_MULTIPLIER if worst <= _MET else self.cap
            before = self._paid(cap)
            convex = self._solve(cap)
            self.note(self.problem, 0.0 if self.shift.any() else self.tol)
            gained = before - self._paid(cap)
            worst = self._excess().max(initial=0.0)
            self.converged = convex.closed and worst <= self.tol and gained <= _EPS * self.tol
            if self.converged:
                return
            if worst <= self.tol:
                continue
            if i == 0 and gained <= _MET and not self.shift.any():
                # All scores lie where the ramp is flat; where they are 0 nothing is lost.
                self.w, self.kept = np.zeros_like(self.w), []
            elif gained <= _SLOW * before:
                missed = self._missed()
                if cap >= LARGEST_MULTIPLIER or missed > (1.0 - _SLOW) * self.missed:
                    # What no price moves cannot be met: the multipliers would grow for ever.
                    self.v *= LARGEST_MULTIPLIER / max(self.v.max(), _MET)
                    return
                self.missed = missed
                self.cap = min(_RAISING * self.cap, LARGEST_MULTIPLIER)

    @property
    def why(self) -> str:
        """Convex problems, cuts and passes."""
        n = len(self.path)
        return (
            f"majorisation-minimisation, {n} convex problem{'s' * (n != 1)}, "
            f"{self.n_cuts:,} cuts, {self.n_passes:,} passes"
        )

    def _solve(self, cap: float) -> Convex:
        majorizer = Majorizer(self.problem, linear_scores(self.problem.X, self.w), self.split)
        # Any weights give a cut, so those of the last problem need no new SVM.
        convex = cutting_planes(
            majorizer,
            self.svm,
            [self.w, *self.kept],
            eps=_EPS * self.tol,
            of_gain=_OF_GAIN,
            cap=cap,
            chooser=self.chooser,
            xi=self.xi,
            rng=self.rng,
        )
        self.w, self.v, self.xi, self.kept = convex.w, convex.v, convex.xi, convex.kept
        self.n_cuts += convex.n_cuts
        self.n_passes += convex.n_passes + 4
        return convex

    def _off(self, w: Floats) -> Floats:
        off = super()._off(w)
        self.split.const[1:] += off  # the rows of the convex problems move along
        return off

    def _excess(self) -> Floats:
        return self.worked_with(self.problem, self.problem.accepted(self.w))

    def _missed(self) -> float:
        return float(np.maximum(self._excess(), 0.0).sum())

    def _paid(self, cap: float) -> float:
        """The regularised objective, and the cap for what each row is missed by."""
        loss = self.problem.loss(self.problem.accepted(self.w))[0]
        half = 0.5 * self.problem.lam * float(self.w @ self.w)
        return loss + half + cap * self._missed()
