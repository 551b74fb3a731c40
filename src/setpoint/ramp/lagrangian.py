"""The augmented Lagrangian on the ramp problem itself, non-convex as it is.

No feasible start is needed and no convex upper bound: L-BFGS on a smoothed ramp that grows
sharper from round to round, with the multipliers moved in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize

from setpoint.ramp.problem import Problem
from setpoint.search.limits import StoppedError
from setpoint.typing import Floats

__all__ = ["Iterate", "Solved", "augmented_lagrangian", "carried_out", "correction"]


WIDTHS = (0.5, 0.25, 0.1, 0.05)
"""Of the smoothing, round by round. The last stays; without it 1 % of the objective is lost."""
_ROUNDS, _ROUNDS_A_WIDTH = 13, 4
"""At the last width, and at each of those before it."""
_NEARLY = 0.01
"""The next width comes when the rows of the smoothed ramp hold to this."""
_STEPS, _MEMORY = 60, 10
_PENALTY, _CORRECTING, _GROWTH, _LARGEST_PENALTY = 1.0, 20.0, 4.0, 300.0
"""A low penalty first: the objective finds its place before the rows hold it fast."""
LARGEST_MULTIPLIER = 300.0
_COMPLEMENTARY = 2e-3
CORRECTIONS, _CORRECTABLE = 5, 0.25
"""Times that the rows are moved by what is left of a violation, and how much that may be."""
_STILL, _PATIENCE = 0.9, 3
_FAR_PAST = 0.02
"""What a row has to be past for another beginning."""
_SAMPLE, _STEP = 60_000, 4
"""Rows of the sample that comes first where there are many more, and the factor to the next."""
_ROUGH = 1e-5


@dataclass(frozen=True)
class Iterate:
    """The state after a round or a convex problem.

    Rates are counted as in the end: by the ramp, or without draws by the sign of the scores.

    Parameters
    ----------
    w : array of shape (d + 1,)
    loss : float
        The objective turned down, without the regulariser.
    excess : float
        The largest row, at least 0; rows are scaled.
    """

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
    """What a solver of the ramp problem ended with.

    Parameters
    ----------
    multipliers : array of shape (m,)
        Of the scaled rows.
    converged : bool
        Whether the rows and complementarity hold to the tolerances.
    n_passes : int
        Passes over the rows.
    why : str
        What was done.
    stopped : str
        What ended it early, if anything did.
    """

    best: Iterate
    multipliers: Floats
    converged: bool
    n_passes: int
    path: list[Iterate] = field(default_factory=list)
    why: str = ""
    stopped: str = ""


Told = Callable[[Iterate, int], None]


def augmented_lagrangian(
    problem: Problem,
    start: Floats,
    *,
    tol: float = 1e-3,
    drawn: bool = True,
    told: Told | None = None,
    rng: np.random.Generator | None = None,
) -> Solved:
    """Minimise the ramp problem from a start that need not meet the rows.

    Parameters
    ----------
    start : array of shape (d + 1,)
    tol : float
        What a scaled row may exceed 0 by.
    drawn : bool
        Whether the ramp itself decides in the end; else the sign of the scores does.
    told : callable, optional
        Told of each round. If it raises StoppedError, or on Ctrl-C, the best round is kept.
    rng : Generator, optional
        Draws the rows of the first rounds where there are very many.
    """
    w = np.array(start, np.float64)
    state = _Descent(problem, w, tol, drawn, told, rng or np.random.default_rng(0))
    return carried_out(state)


class _Search(Protocol):
    """A search that knows the best model so far at any time."""

    path: list[Iterate]
    stopped: str

    def whole(self) -> None: ...

    def solved(self) -> Solved: ...


def carried_out(state: _Search) -> Solved:
    """Search; what ends it early leaves the best model, but for Ctrl-C before there is one."""
    try:
        state.whole()
    except StoppedError as error:
        state.stopped = str(error)
    except KeyboardInterrupt:
        if not state.path:
            raise
        state.stopped = "interrupted"
    return state.solved()


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


def correction(excess: Floats, v: Floats, tol: float) -> Floats | None:
    """What rows (m,) are to be moved by, as decisions are off them; None where they are not.

    A smoothed ramp overstates what a bound costs, and decisions without draws more so: what
    a bound with a price leaves is used.

    Parameters
    ----------
    excess, v : array of shape (m,)
        The rows by the decisions, and their multipliers.
    """
    off = np.where(excess > 0.0, 1.1 * excess + 1e-5, 0.0)
    off = np.where((v > 0.0) & (excess < -tol), 0.9 * excess, off)
    return off if off.any() and excess.max() <= _CORRECTABLE else None


class _Descent:
    """w, the multipliers and the penalty, carried from round to round."""

    def __init__(
        self,
        problem: Problem,
        w: Floats,
        tol: float,
        drawn: bool,
        told: Told | None,
        rng: np.random.Generator,
    ) -> None:
        self.problem, self.rng = problem, rng
        self.w, self.tol, self.drawn, self.told = w, tol, drawn, told
        self.v = np.zeros(len(problem.const))
        self.shift = np.zeros(len(problem.const))
        self.rho = _PENALTY
        self.n_passes = 0
        self.path: list[Iterate] = []
        self.best: Iterate | None = None
        self.worst = np.inf
        self.converged, self.stopped = False, ""

    def whole(self) -> None:
        """All rounds, and once more at a higher penalty where they end past the rows."""
        start = self.w
        self._from(start, _PENALTY)
        if not self.converged and self.best is not None and self.best.excess > _FAR_PAST:
            # A poor place to be stuck in: there, decisions that cost little were made first.
            self._from(start, _CORRECTING)
        for _ in range(CORRECTIONS):
            if not self.correct():
                break
            self.run(self.problem, WIDTHS[-1:], 2)

    def _from(self, start: Floats, penalty: float) -> None:
        """Rounds from a start: where there are very many rows, the first ones on samples."""
        problem = self.problem
        self.w, self.v, self.rho = start, np.zeros(len(problem.const)), penalty
        widths: tuple[float, ...] = WIDTHS
        for size in _sizes(len(problem.kind)):
            known = self.best
            self.run(problem.sampled(size, self.rng), widths, _ROUNDS)
            widths = WIDTHS[-1:]
            self.best, self.rho = known, penalty  # what is seen on a sample is no candidate
        self.run(problem, widths, _ROUNDS)

    def run(self, problem: Problem, widths: tuple[float, ...], rounds: int) -> None:
        """Rounds of descent and of multipliers, until rows and complementarity hold.

        A sharper ramp is harder to move: some rounds are spent on each width until its own
        rows nearly hold, and the rest of them on the last.
        """
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
        smoothed = problem.excess(problem.smoothed(self.w, t)[0]) + self.shift
        self.v = np.clip(self.v + self.rho * smoothed, 0.0, LARGEST_MULTIPLIER)
        moved = problem.excess(problem.accepted(self.w)) + self.shift
        self.n_passes += 2
        self._note(problem, t)
        worst = float(moved.max(initial=0.0))
        slack = float(np.abs(self.v * moved).max(initial=0.0))
        self.converged = worst <= self.tol and slack <= _COMPLEMENTARY
        if worst > max(0.3 * self.tol, 0.4 * self.worst):
            self.rho = min(self.rho * _GROWTH, _LARGEST_PENALTY)
        self.worst = worst
        return float(smoothed.max(initial=0.0))

    def correct(self) -> bool:
        """Move the rows by how far decisions are off them; False where they are not."""
        excess = self.problem.excess(self.problem.accepted(self.w, self.drawn))
        self.n_passes += 1
        off = correction(excess, self.v, self.tol)
        if off is None:
            return False
        self.shift += off
        self.rho = max(self.rho, _CORRECTING)
        return True

    def solved(self) -> Solved:
        """The best round at the sharpest ramp."""
        if not self.path:
            self.told = None  # stopped in the first round
            self._note(self.problem, WIDTHS[0])
        best = self.best or self.path[-1]
        n = len(self.path)
        why = f"augmented Lagrangian, {n} rounds of L-BFGS, {self.n_passes:,} passes"
        return Solved(best, self.v, self.converged, self.n_passes, self.path, why, self.stopped)

    def _note(self, problem: Problem, t: float) -> None:
        """Keep the model, if it is the best, and tell of it."""
        S = problem.accepted(self.w, self.drawn)
        self.n_passes += 1
        worst = float(problem.excess(S).max(initial=0.0))
        now = Iterate(self.w.copy(), problem.loss(S)[0], worst)
        self.path.append(now)
        if t == WIDTHS[-1] and now.better(self.best, self._tol):
            self.best = now
        if self.told is not None:
            self.told(now, self.n_passes)

    @property
    def _tol(self) -> float:
        """What a row may be past: without draws the cut-off makes up for it in the end."""
        return 0.0 if self.drawn and self.shift.any() else self.tol

    def _descend(self, problem: Problem, t: float) -> None:
        def value(w: Floats) -> tuple[float, Floats]:
            self.n_passes += 1
            S, slope = problem.smoothed(w, t)
            loss, price = problem.loss(S)
            u = np.maximum(0.0, self.v + self.rho * (problem.excess(S) + self.shift))
            penalty = float((u**2 - self.v**2).sum()) / (2.0 * self.rho)
            gradient = problem.pulled(slope, price + u @ problem.coefs) + problem.lam * w
            return loss + penalty + 0.5 * problem.lam * float(w @ w), gradient

        options: Any = {"maxiter": _STEPS, "maxcor": _MEMORY}
        if len(problem.kind) >= _STEP * _SAMPLE:
            options["ftol"] = _ROUGH  # each pass is dear, and the next round goes on from here
        found = minimize(value, self.w, jac=True, method="L-BFGS-B", options=options)
        self.w = np.asarray(found.x, np.float64)
