"""The SVM inside the cutting planes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from setpoint.array_types import Codes, Floats
from setpoint.compiled import kernel
from setpoint.estimators import linear_scores

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
        start = np.zeros(len(a)) if xi is None else np.clip(xi, -c, a)
        rows = np.flatnonzero((a > 0.0) | (c > 0.0))
        search = self._liblinear if self.method == "liblinear" and len(rows) else self._ascend
        return search(a, c, start, rows, eps)

    # ------------------------------------------------------------------ dual coordinate ascent
    def _ascend(self, a: Floats, c: Floats, xi: Floats, rows: Codes, eps: float) -> Separated:
        w = self._pulled(xi)
        z = linear_scores(self.X, w)
        n_passes, visits = 2, 0
        for _ in range(_ROUNDS):
            primal, dual = self._values(w, z, w, xi, a, c)
            if primal - dual <= eps:
                break
            self._sweep(rows, w, xi, a, c)
            few = undecided(linear_scores(self.X, w), xi, a, c, rows, _NEAR)
            for _ in range(_SWEEPS):
                self._sweep(few, w, xi, a, c)
            w = self._settled(w, few, xi, a, c)
            z = linear_scores(self.X, w)
            n_passes, visits = n_passes + 2, visits + len(rows) + _SWEEPS * len(few)
        primal, dual = self._values(w, z, w, xi, a, c)
        return Separated(w, primal, dual, xi, n_passes + round(visits / len(xi)))

    def _sweep(self, rows: Codes, w: Floats, xi: Floats, a: Floats, c: Floats) -> None:
        X, state = self.X, (self._rng.permutation(rows), w, xi, a, c, self._norms, self.lam)
        if self.sparse:
            sweep_sparse(X.data, X.indices, X.indptr, *state)
        else:
            sweep_dense(X, *state)

    def _settled(self, w: Floats, few: Codes, xi: Floats, a: Floats, c: Floats) -> Floats:
        """Newton steps on the rows that a kink holds, which single steps settle but slowly."""
        few = few[_inside(xi[few], a[few], c[few])]
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

    def _values(
        self, w: Floats, z: Floats, dual_w: Floats, xi: Floats, a: Floats, c: Floats
    ) -> tuple[float, float]:
        """The primal value at w, of scores z, and the dual one at xi, of weights `dual_w`."""
        primal, dual = primal_and_dual(z, xi, a, c)
        half = 0.5 * self.lam
        return primal + half * float(w @ w), dual - half * float(dual_w @ dual_w)

    def _pulled(self, xi: Floats) -> Floats:
        return np.append(self.X.T @ xi, xi.sum()) / -self.lam

    @cached_property
    def _norms(self) -> Floats:
        squares = self.X.multiply(self.X) if self.sparse else self.X * self.X
        return np.asarray(squares.sum(axis=1), np.float64).ravel() + 1.0

    # ------------------------------------------------------------------ LIBLINEAR
    def _liblinear(self, a: Floats, c: Floats, xi: Floats, rows: Codes, eps: float) -> Separated:
        """Weights by LIBLINEAR, and dual variables that show how good they are."""
        up, down = np.flatnonzero(c > 0.0), np.flatnonzero(a > 0.0)
        index = np.concatenate([up, down])
        classes = np.repeat([1.0, -1.0], [len(up), len(down)])
        sign = np.ones(len(index))
        if not (len(up) and len(down)):
            # It wants both classes: a row of the other class is its mirror image.
            sign[0] = -1.0
            classes[0] *= -1.0
        X = self._with_ones[index]
        X = sp.csr_array(X.multiply(sign[:, None])) if self.sparse else X * sign[:, None]
        weight = 2.0 / self.lam * np.concatenate([c[up], a[down]])
        n_passes = 0
        for tol in _TOLERANCES:
            model = LinearSVC(
                loss="hinge", dual=True, fit_intercept=False, tol=tol, max_iter=_ITERATIONS,
                random_state=int(self._rng.integers(2**31)),
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X, classes, sample_weight=weight)
            w = model.coef_[0] / 2.0
            n_passes += int(model.n_iter_)
            out = self._certified(w, xi, a, c, rows, eps)
            n_passes += out.n_passes
            if out.primal - out.dual <= eps:
                break
        return replace(out, n_passes=n_passes)

    def _certified(
        self, w: Floats, xi: Floats, a: Floats, c: Floats, rows: Codes, eps: float
    ) -> Separated:
        """Dual variables for given weights: far from the kinks the scores say what they are."""
        z = linear_scores(self.X, w)
        said = corners(z, a, c)
        xi = np.where(np.abs(np.abs(z) - 0.5) < _NEAR_SOLVED, xi, said)
        free = undecided(z, said, a, c, rows, _NEAR_SOLVED)
        own = self._pulled(xi)
        n_passes, visits = 2, 0
        while True:
            primal, dual = self._values(w, z, own, xi, a, c)
            if primal - dual <= eps or visits >= _CERTIFYING * len(xi):
                break
            for _ in range(_SWEEPS):
                self._sweep(free, own, xi, a, c)
            own = self._settled(own, free, xi, a, c)
            visits += (_SWEEPS + 1) * max(len(free), len(xi) // 50)
            its = linear_scores(self.X, own)
            if self._values(own, its, own, xi, a, c)[0] < primal:
                w, z = own.copy(), its
            n_passes += 1
        return Separated(w, primal, dual, xi, n_passes + round(visits / len(xi)))

    @cached_property
    def _with_ones(self) -> Any:
        ones = np.ones((self.X.shape[0], 1))
        if self.sparse:
            blocks: Any = [self.X, ones]
            return sp.csr_array(sp.hstack(blocks))
        return np.hstack([self.X, ones])


def _inside(xi: Floats, a: Floats, c: Floats) -> NDArray[np.bool_]:
    """Whether xi lies strictly between two neighbours of -c, a - c and a."""
    return np.asarray((xi > -c) & (xi < a) & (xi != a - c))
