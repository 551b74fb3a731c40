"""The paper's Algorithms 1 and 2: majorised ramps, and cutting planes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from setpoint.array_types import Codes, Floats
from setpoint.classifiers import linear_scores
from setpoint.compiled import kernel
from setpoint.errors import ShapeError
from setpoint.program import Affine
from setpoint.ramp.problem import Problem
from setpoint.ramp.solvers.augmented_lagrangian import LARGEST_MULTIPLIER, RampSearch
from setpoint.search import IncrementalLP
from setpoint.solvers import takes

# --- Dual coordinate steps on an SVM whose rows pay on both sides ---------------------------------


@kernel()
def _step(xi: float, z: float, q: float, a: float, c: float) -> float:
    """The best xi of one row, at its score z and q = |x|^2 / lam."""
    up, low, middle = xi + (z - 0.5) / q, xi + (z + 0.5) / q, a - c
    if up > middle:
        return min(up, a)
    if low < middle:
        return max(low, -c)
    return middle


@kernel(fastmath={"reassoc", "nsz"})
def sweep_dense(
    X: Floats, order: Codes, w: Floats, xi: Floats, a: Floats, c: Floats, norms: Floats, lam: float
) -> None:
    """Steps over some rows in order; weights (d + 1,) and xi (N,) are moved in place."""
    d = X.shape[1]
    for r in order:
        z: Any = w[d]
        for j in range(d):
            z += X[r, j] * w[j]
        new = _step(xi[r], z, norms[r] / lam, a[r], c[r])
        moved = (xi[r] - new) / lam
        if moved != 0.0:
            xi[r] = new
            for j in range(d):
                w[j] += moved * X[r, j]
            w[d] += moved


@kernel()
def sweep_sparse(
    data: Floats,
    indices: Any,
    indptr: Any,
    order: Codes,
    w: Floats,
    xi: Floats,
    a: Floats,
    c: Floats,
    norms: Floats,
    lam: float,
) -> None:
    """As :func:`sweep_dense`, on the three arrays of a CSR matrix."""
    d = len(w) - 1
    for r in order:
        z = w[d]
        for k in range(indptr[r], indptr[r + 1]):
            z += data[k] * w[indices[k]]
        new = _step(xi[r], z, norms[r] / lam, a[r], c[r])
        moved = (xi[r] - new) / lam
        if moved != 0.0:
            xi[r] = new
            for k in range(indptr[r], indptr[r + 1]):
                w[indices[k]] += moved * data[k]
            w[d] += moved


@kernel()
def primal_and_dual(z: Floats, xi: Floats, a: Floats, c: Floats) -> tuple[float, float]:
    """The rows' part of the primal value, and of the dual one."""
    dual = primal = 0.0
    for r in range(len(z)):
        primal += a[r] * max(0.5 + z[r], 0.0) + c[r] * max(0.5 - z[r], 0.0)
        dual -= max(-0.5 * xi[r] - c[r], 0.5 * xi[r] - a[r])
    return primal, dual


def corners(z: Floats, a: Floats, c: Floats) -> Floats:
    """The xi (N,) that scores put rows at."""
    return np.where(z < -0.5, -c, np.where(z > 0.5, a, a - c))


def undecided(z: Floats, xi: Floats, a: Floats, c: Floats, rows: Codes, near: float) -> Codes:
    """The rows whose xi may still move: those near a kink, and those not where z puts them."""
    free = (xi != corners(z, a, c)) | (np.abs(np.abs(z) - 0.5) < near)
    return np.asarray(rows[free[rows]])


# --- The SVM inside the cutting planes: hinges on both sides of each row --------------------------


_ROUNDS = 400
_SWEEPS = 5
"""Over the undecided rows, between two looks at all of them."""
_NEAR = 0.1
"""Scores so near a kink may cross it before the next look."""
_MOST_HELD, _FEW_HELD, _NEWTON = 250, 50, 10
"""Rows at a kink, of which there are rarely more than features; few get steps till the end."""
_NEAR_SOLVED = 0.02
"""Scores of LIBLINEAR's so near a kink may be at it."""
_TOLERANCES = (1e-2, 1e-4, 1e-6, 1e-8)
"""LIBLINEAR's, one after the other until the gap is closed."""
_ITERATIONS = 2_000
_CERTIFYING = 10
"""Passes over the rows at most that the dual variables to its weights may take."""


@dataclass(frozen=True)
class Separated:
    """An SVM solved to a gap."""

    w: Floats
    primal: float
    dual: float
    xi: Floats
    n_passes: int


class SVM:
    """Minimises ``lam / 2 |w|^2 + sum_r a_r (1/2 + z_r)_+ + c_r (1/2 - z_r)_+``.

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0]])
    >>> solved = SVM(X, lam=0.1).solve(np.array([0.5, 0.0]), np.array([0.0, 0.5]))
    >>> solved.w.round(3), round(solved.primal, 4)
    (array([0.5, 0. ]), 0.0125)
    """

    def __init__(self, X: Any, lam: float, method: str = "sdca", seed: int = 0) -> None:
        self.sparse = sp.issparse(X)
        self.X: Any = sp.csr_array(X) if self.sparse else np.ascontiguousarray(X, np.float64)
        self.lam, self.method, self.seed = lam, method, seed
        self._rng = np.random.default_rng(seed)

    def solve(self, a: Floats, c: Floats, xi: Floats | None = None, eps: float = 1e-6) -> Separated:
        """Weights whose value is within `eps` of the smallest, where the steps suffice."""
        self.a, self.c, self.eps = a, c, eps
        self.xi = np.zeros(len(a)) if xi is None else np.clip(xi, -c, a)
        self.rows = np.flatnonzero((a > 0.0) | (c > 0.0))
        if self.method == "liblinear" and len(self.rows):
            return self._liblinear()
        return self._ascend()

    # ------------------------------------------------------------------ dual coordinate ascent
    def _ascend(self) -> Separated:
        w = self._pulled()
        z = linear_scores(self.X, w)
        n_passes, visits = 2, 0
        for _ in range(_ROUNDS):
            primal, dual = self._values(w, z, w)
            if primal - dual <= self.eps:
                break
            self._sweep(self.rows, w)
            z = linear_scores(self.X, w)
            few = undecided(z, self.xi, self.a, self.c, self.rows, _NEAR)
            w = self._settled(few, w)
            z = linear_scores(self.X, w)
            n_passes, visits = n_passes + 2, visits + len(self.rows) + _SWEEPS * len(few)
        primal, dual = self._values(w, z, w)
        return Separated(w, primal, dual, self.xi, n_passes + round(visits / len(self.xi)))

    def _sweep(self, rows: Codes, w: Floats) -> None:
        X, order = self.X, self._rng.permutation(rows)
        state = order, w, self.xi, self.a, self.c, self._norms, self.lam
        if self.sparse:
            sweep_sparse(X.data, X.indices, X.indptr, *state)
        else:
            sweep_dense(X, *state)

    def _settled(self, few: Codes, w: Floats) -> Floats:
        """Sweeps over some rows, and Newton steps on those that a kink holds."""
        for _ in range(_SWEEPS):
            self._sweep(few, w)
        xi, a, c = self.xi, self.a, self.c
        at, up, down = xi[few], a[few], c[few]
        # Strictly between two neighbours of -c, a - c and a: single steps settle them but slowly.
        few = few[(at > -down) & (at < up) & (at != up - down)]
        if not 0 < len(few) <= _MOST_HELD:
            return w
        X = self._with_ones[few]
        X = X.toarray() if self.sparse else X
        gram = X @ X.T / self.lam
        gram[np.diag_indices_from(gram)] *= 1.0 + 1e-10  # there may be more rows than features
        at, middle = xi[few], a[few] - c[few]
        upper = at > middle
        kink = np.where(upper, 0.5, -0.5)
        low, high = np.where(upper, middle, -c[few]), np.where(upper, a[few], middle)
        z, now, free = X @ w, at.copy(), np.ones(len(few), bool)
        for _ in range(len(few) if len(few) <= _FEW_HELD else _NEWTON):
            step = np.zeros(len(few))
            step[free] = np.linalg.solve(gram[np.ix_(free, free)], (z - kink)[free])
            room = np.full(len(few), np.inf)
            np.divide(high - now, step, out=room, where=step > 0.0)
            np.divide(low - now, step, out=room, where=step < 0.0)
            share = max(min(1.0, room.min()), 0.0)
            now += share * step
            z -= share * (gram @ step)
            free &= room > share
            if share == 1.0 or not free.any():
                break
        xi[few] = np.clip(now, low, high)
        return np.asarray(w - (xi[few] - at) @ X / self.lam)

    def _values(self, w: Floats, z: Floats, dual_w: Floats) -> tuple[float, float]:
        """The primal value at w, of scores z, and the dual one at xi, of weights `dual_w`."""
        primal, dual = primal_and_dual(z, self.xi, self.a, self.c)
        half = 0.5 * self.lam
        return primal + half * float(w @ w), dual - half * float(dual_w @ dual_w)

    def _pulled(self) -> Floats:
        return np.append(self.X.T @ self.xi, self.xi.sum()) / -self.lam

    @cached_property
    def _norms(self) -> Floats:
        squares = self.X.multiply(self.X) if self.sparse else self.X * self.X
        return np.asarray(squares.sum(axis=1), np.float64).ravel() + 1.0

    # ------------------------------------------------------------------ LIBLINEAR
    def _liblinear(self) -> Separated:
        """Weights by LIBLINEAR, and dual variables that show how good they are."""
        up, down = np.flatnonzero(self.c > 0.0), np.flatnonzero(self.a > 0.0)
        index = np.concatenate([up, down])
        classes = np.repeat([1.0, -1.0], [len(up), len(down)])
        sign = np.ones(len(index))
        if not (len(up) and len(down)):
            # It wants both classes: a row of the other class is its mirror image.
            sign[0] = -1.0
            classes[0] *= -1.0
        X = self._with_ones[index]
        X = sp.csr_array(X.multiply(sign[:, None])) if self.sparse else X * sign[:, None]
        weight = 2.0 / self.lam * np.concatenate([self.c[up], self.a[down]])
        n_passes, start = 0, self.xi
        for tol in _TOLERANCES:
            model = LinearSVC(
                loss="hinge", dual=True, fit_intercept=False, tol=tol, max_iter=_ITERATIONS,
                random_state=int(self._rng.integers(2**31)),
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X, classes, sample_weight=weight)
            w = model.coef_[0] / 2.0
            out = self._certified(w, start)
            n_passes += int(model.n_iter_) + out.n_passes
            if out.primal - out.dual <= self.eps:
                break
        return replace(out, n_passes=n_passes)

    def _certified(self, w: Floats, start: Floats) -> Separated:
        """Dual variables for given weights: far from the kinks the scores say what they are."""
        z, n = linear_scores(self.X, w), len(start)
        said = corners(z, self.a, self.c)
        self.xi = np.where(np.abs(np.abs(z) - 0.5) < _NEAR_SOLVED, start, said)
        free = undecided(z, said, self.a, self.c, self.rows, _NEAR_SOLVED)
        own = self._pulled()
        n_passes, visits = 2, 0
        while True:
            primal, dual = self._values(w, z, own)
            if primal - dual <= self.eps or visits >= _CERTIFYING * n:
                break
            own = self._settled(free, own)
            visits += (_SWEEPS + 1) * max(len(free), n // 50)
            its = linear_scores(self.X, own)
            if self._values(own, its, own)[0] < primal:
                w, z = own.copy(), its
            n_passes += 1
        return Separated(w, primal, dual, self.xi, n_passes + round(visits / n))

    @cached_property
    def _with_ones(self) -> Any:
        ones = np.ones((self.X.shape[0], 1))
        if self.sparse:
            blocks: Any = [self.X, ones]
            return sp.csr_array(sp.hstack(blocks))
        return np.hstack([self.X, ones])


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
        self.m, self.cap, self._lp = m, cap, IncrementalLP()
        for ends in [(0.0, cap)] * m + [(-INF, INF)]:
            self._lp.add_column(np.zeros(0), *ends)
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
        self.problem, s = problem, Split(problem) if split is None else split
        weight = np.ones(len(old)) if problem.weight is None else problem.weight
        self._split, self._kind, self._n_kinds = s, problem.kind, len(problem.totals)
        # The weights under a hinge; those under a constant are counted once and for all.
        self._above, self.below = weight * (old <= 0.5), weight * (old >= -0.5)
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
        if self.majorizer.problem.tick is not None:
            self.majorizer.problem.tick()
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
        solved = f"majorisation-minimisation, {n} convex problem{'s' * (n != 1)}"
        return f"{solved}, {self.n_cuts:,} cuts, {self.n_passes:,} passes"

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
