"""The paper's Algorithms 1 and 2: majorised ramps, and cutting planes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from setpoint.array_types import Floats
from setpoint.compiled import kernel
from setpoint.errors import ShapeError
from setpoint.estimators import linear_scores
from setpoint.program import Affine
from setpoint.ramp.problem import Problem
from setpoint.ramp.solvers.augmented_lagrangian import LARGEST_MULTIPLIER, RampSearch
from setpoint.ramp.solvers.svm import SVM
from setpoint.search import IncrementalLP
from setpoint.solvers import takes

# --- The upper model of a concave dual: cuts ------------------------------------------------------


INF = float("inf")
_STEPS = 300
"""Of the random walk, for each dimension."""
_USED = 1e-9


class Peak(NamedTuple):
    """The maximum of the model."""

    value: float
    v: Floats
    shares: Floats


class Hypograph:
    """Points (v, t) with v in [0, cap]^m and t under every cut ``b_s + g_s @ v``."""

    def __init__(self, m: int, cap: float) -> None:
        self.m, self.cap = m, cap
        self._lp = IncrementalLP()
        none = np.zeros(0)
        for _ in range(m):
            self._lp.add_column(none, 0.0, cap)
        self._lp.add_column(none, -INF, INF)
        self.b: list[float] = []
        self.g: list[Floats] = []

    def add(self, b: float, g: Floats) -> None:
        """Cut off all above ``b + g @ v``."""
        self._lp.add_row(np.append(-g, 1.0), -INF, b)
        self.b.append(b)
        self.g.append(g)

    def widen(self, cap: float) -> None:
        """Let the multipliers reach farther."""
        self.cap = cap
        for j in range(self.m):
            self._lp.set_bounds(j, 0.0, cap)

    def peak(self) -> Peak:
        """The maximum, by a linear program; there is at least one cut."""
        value, x, duals = self._solved(np.append(np.zeros(self.m), -1.0))
        shares = np.abs(duals)
        shares[shares < _USED] = 0.0
        return Peak(-value, x[:-1], shares / shares.sum())

    def centre(self, low: float, rng: np.random.Generator) -> tuple[Floats, float]:
        """The centre of mass of what lies above `low`: multipliers (m,) and height."""
        self._lp.set_bounds(self.m, low, INF)
        box = np.eye(self.m + 1)
        points = np.array([self._solved(sign * axis)[1] for axis in box for sign in (1.0, -1.0)])
        self._lp.set_bounds(self.m, -INF, INF)
        least, most = points.min(axis=0), points.max(axis=0)
        scale = np.maximum(most - least, 1e-12)
        A = np.column_stack([-np.array(self.g), np.ones(len(self.b))])
        room = np.array(self.b) - A @ least
        A = np.vstack([A * scale, box, -box])
        room = np.concatenate([room, np.ones(self.m + 1), np.zeros(self.m + 1)])
        start = ((points - least) / scale).mean(axis=0)
        n = _STEPS * (self.m + 1)
        x = least + scale * _walk(A, room, start, rng.normal(size=(n, self.m + 1)), rng.random(n))
        return np.clip(x[:-1], 0.0, self.cap), float(x[-1])

    def _solved(self, cost: Floats) -> tuple[float, Floats, Floats]:
        self._lp.set_costs(cost)
        solved = self._lp.solve()
        assert solved is not None
        return solved


@kernel()
def _walk(A: Floats, room: Floats, start: Floats, ways: Floats, u: Floats) -> Floats:
    """The mean of hit and run in ``A x <= room``: of the chords' middles, which vary less."""
    x = start.copy()
    slack = room - A @ x
    total = np.zeros(len(x))
    for i in range(len(ways)):
        slope = A @ ways[i]
        low, high = -np.inf, np.inf
        for k in range(len(slack)):
            if slope[k] > 1e-14:
                high = min(high, max(slack[k], 0.0) / slope[k])
            elif slope[k] < -1e-14:
                low = max(low, max(slack[k], 0.0) / slope[k])
        total += x + 0.5 * (low + high) * ways[i]
        step = low + u[i] * (high - low)
        x += step * ways[i]
        slack -= step * slope
    return total / len(ways)


# --- Problem 3: the convex upper bound on the ramp problem that is tight at -----------------------


class Split:
    """Linear functions of the accepted weights, written with coefficients of one sign."""

    def __init__(self, problem: Problem) -> None:
        program = problem.program
        if not isinstance(program.objective, Affine):
            raise ShapeError(
                f"{program.goal.objective}: {takes('cutting-plane', asked=True)}, and this one is "
                f"{program.objective.shape_name}; "
                "`solver='augmented-lagrangian'` takes it"
            )
        const, coefs = problem.loss(np.zeros(len(problem.totals)))
        signed = np.vstack([coefs, problem.coefs])
        self.up, self.down = np.maximum(signed, 0.0), np.maximum(-signed, 0.0)
        self.const = np.append(const, problem.const) - self.down @ problem.totals


class Majorizer:
    """Problem 3 at given scores."""

    def __init__(self, problem: Problem, old: Floats, split: Split | None = None) -> None:
        self.problem = problem
        self._split = Split(problem) if split is None else split
        weight = np.ones(len(old)) if problem.weight is None else problem.weight
        self._kind, self._n_kinds = problem.kind, len(problem.totals)
        # The weights under a hinge; those under a constant are counted once and for all.
        self._above = weight * (old <= 0.5)
        self.below = weight * (old >= -0.5)
        s = self._split
        lost_up, lost_down = self._sums(weight - self._above), self._sums(weight - self.below)
        self._const = s.const + s.up @ lost_up + s.down @ lost_down

    @property
    def n_constraints(self) -> int:
        """The number m of rows."""
        return len(self._const) - 1

    def values(self, z: Floats) -> tuple[float, Floats]:
        """The objective without the regulariser, and the rows (m,), at scores (N,)."""
        s = self._split
        up = self._sums(self._above * np.maximum(0.5 + z, 0.0))
        down = self._sums(self.below * np.maximum(0.5 - z, 0.0))
        out = s.up @ up + s.down @ down + self._const
        return float(out[0]), out[1:]

    def cut(self, w: Floats) -> tuple[float, Floats]:
        """``Psi(w, v) = b + g @ v`` at fixed w: the number b and g (m,), which is the rows."""
        loss, rows = self.values(linear_scores(self.problem.X, w))
        return loss + 0.5 * self.problem.lam * float(w @ w), rows

    def costs(self, v: Floats) -> tuple[Floats, Floats]:
        """What the SVM at multipliers (m,) pays for each row's two hinges: a and c (N,)."""
        price, s = np.append(1.0, v), self._split
        return self._above * (price @ s.up)[self._kind], self.below * (price @ s.down)[self._kind]

    def constant(self, v: Floats) -> float:
        """The part of Psi(., v) that no w changes."""
        return float(np.append(1.0, v) @ self._const)

    def _sums(self, x: Floats) -> Floats:
        return np.asarray(np.bincount(self._kind, x, self._n_kinds), np.float64)


# --- Algorithm 2: the dual of Problem 3 by cutting planes -----------------------------------------


_FIRST_CAP, _WIDENING = 4.0, 4.0
"""The box of multipliers grows only while the maximum lies at its end."""
_AT_END = 0.999
_SHARE = 0.25
"""Of the height that is left above the lower bound: how exact an SVM has to be."""
_OF_MISSED = 0.02
"""Of what is paid for missed rows: no exact solution is needed where there is none."""
_MOST_CUTS = 300


def cutting_planes(
    majorizer: Majorizer,
    svm: SVM,
    known: Sequence[Floats],
    *,
    eps: float = 1e-4,
    of_gain: float = 0.0,
    cap: float = 300.0,
    chooser: str = "max",
    xi: Floats | None = None,
    rng: np.random.Generator | None = None,
) -> Convex:
    """Maximise the dual of Problem 3 over multipliers in [0, cap]^m."""
    search = Convex(majorizer, min(cap, _FIRST_CAP), xi)
    model, rng = search.model, rng or np.random.default_rng(0)
    for w in known:
        search.cut(w)
    while True:
        peak = search.mixed()
        # What the mixture pays, at the most, for rows that it misses.
        missed = float(peak.v @ np.maximum(peak.shares @ np.array(model.g), 0.0))
        gap = eps * max(1.0, abs(peak.value)) + _OF_MISSED * missed
        # The largest value within the box of the first cut.
        first = model.b[0] + model.cap * float(np.maximum(model.g[0], 0.0).sum())
        gap = max(gap, of_gain * (first - peak.value))
        search.closed = peak.value - search.lower <= gap
        at_end = bool((peak.v >= _AT_END * model.cap).any())
        if search.closed and at_end and model.cap < cap:
            model.widen(min(cap, _WIDENING * model.cap))
            continue
        if search.closed or len(search.weights) >= _MOST_CUTS:
            # The mixture, and the weights that it is of.
            search.w, search.v, search.upper = search.mixture(peak), peak.v, peak.value
            shares = zip(search.weights, peak.shares, strict=True)
            search.kept = [w for w, share in shares if share > 0.0]
            return search
        v, height = peak.v, peak.value
        if chooser == "center":
            v, height = model.centre(search.lower, rng)
        a, c = majorizer.costs(v)
        solved = svm.solve(a, c, search.xi, max(0.5 * gap, _SHARE * (height - search.lower)))
        search.xi = solved.xi
        search.n_passes += solved.n_passes
        search.lower = max(search.lower, solved.dual + majorizer.constant(v))
        search.cut(solved.w)


class Convex:
    """Problem 3, as far as it is solved: cuts, the weights behind them, the best lower bound."""

    w: Floats
    v: Floats
    upper: float
    kept: list[Floats]
    closed: bool

    def __init__(self, majorizer: Majorizer, cap: float, xi: Floats | None) -> None:
        self.majorizer, self.xi = majorizer, xi
        self.model = Hypograph(majorizer.n_constraints, cap)
        self.weights: list[Floats] = []
        # No hinge is below 0, so without any multiplier the constant is a lower bound.
        self.lower = majorizer.constant(np.zeros(majorizer.n_constraints))
        self.n_passes = 0

    def cut(self, w: Floats) -> None:
        tick = self.majorizer.problem.tick
        if tick is not None:
            tick()
        self.model.add(*self.majorizer.cut(w))
        self.weights.append(w)
        self.n_passes += 1

    def mixture(self, peak: Peak) -> Floats:
        return np.asarray(peak.shares @ np.array(self.weights))

    def mixed(self) -> Peak:
        """The maximum, after the mixture behind it has become a cut of its own."""
        peak = self.model.peak()
        if np.count_nonzero(peak.shares) < 2:
            return peak
        self.cut(self.mixture(peak))
        return self.model.peak()


# --- Algorithm 1: majorisation-minimisation, one convex problem after another ---------------------


_PROBLEMS = 40
_EPS = 0.1
"""Of the tolerance: how exactly each convex problem is solved."""
_MAJORIZE_FIRST_CAP, _RAISING = 4.0, 4.0
"""Of the multipliers while the weights miss the rows: they need not be met at once."""
_OF_GAIN = 0.1
"""Of what a convex problem has gained: that near its optimum it is left."""
_SLOW = 0.02
"""A gain so small, relative to what is paid for missed rows, asks for a higher cap."""
_MET = 1e-9


class MajorizeMinimize(RampSearch):
    """w, the cuts' weights, the SVM's dual variables: carried from one problem to the next."""

    def __init__(
        self,
        problem: Problem,
        start: Floats,
        *,
        chooser: str = "max",
        svm: str = "sdca",
        seed: int = 0,
        **how: Any,
    ) -> None:
        super().__init__(problem, start, **how)
        self.chooser = chooser
        self.svm = SVM(problem.X, problem.lam, svm, seed)
        self.split = Split(problem)
        self.moves = 0 if self.drawn else self.moves
        self.rng = np.random.default_rng(seed)
        self.cap, self.missed = _MAJORIZE_FIRST_CAP, np.inf
        self.xi: Floats | None = None
        self.cuts: list[Floats] = []
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
                self.w, self.cuts = np.zeros_like(self.w), []
            elif gained <= _SLOW * before:
                missed = self._missed()
                if cap >= LARGEST_MULTIPLIER or missed > (1.0 - _SLOW) * self.missed:
                    # What no price moves cannot be met: the multipliers would grow for ever.
                    self.multipliers *= LARGEST_MULTIPLIER / max(self.multipliers.max(), _MET)
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
        how: dict[str, Any] = {"cap": cap, "chooser": self.chooser, "xi": self.xi, "rng": self.rng}
        convex = cutting_planes(
            majorizer, self.svm, [self.w, *self.cuts], eps=_EPS * self.tol, of_gain=_OF_GAIN, **how
        )
        self.w, self.multipliers = convex.w, convex.v
        self.xi, self.cuts = convex.xi, convex.kept
        self.n_cuts += len(convex.weights)
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
