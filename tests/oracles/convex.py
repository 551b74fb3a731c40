"""Slow references for the convex part of the ramp family: cvxpy, and rates written out by hand."""

import cvxpy as cp
import numpy as np

from setpoint import Evidence, Goal
from setpoint.program import link
from setpoint.ramp.problem import Problem

LAM = 0.005


def two_groups(n=240, seed=0, d=4):
    """Rows whose group shows in the first feature; labels and a deployed model's classes."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d))
    X[:, 0] += 1.2 * group
    slope = np.linspace(1.5, -1.0, d)
    true = (X @ slope - 0.4 + rng.logistic(size=n) > 0).astype(np.int64)
    deployed = (X @ np.roll(slope, 1) - 0.5 > 0).astype(np.int64)
    return X, true, group, deployed


def problem_of(text, rows, lam=LAM, weight=None, least=0.0):
    """The ramp problem of a goal on rows of `two_groups`."""
    X, true, group, deployed = rows
    goal = Goal.parse(text)
    needs = goal.needs
    columns = {"g": group} if needs.names else {}
    evidence = Evidence.from_arrays(
        (0, 1),
        np.zeros(len(true)),
        true,
        needs=needs,
        weight=weight,
        columns=columns,
        baseline=deployed if needs.baseline else None,
    )
    kind = evidence.rows.kind.astype(np.int64)
    return Problem(
        X, kind, weight, link(goal, evidence.codebook).at(evidence.marginals), lam, least
    )


# ---------------------------------------------------------------------- rows by hand
# Each is a list of terms (share of the population a row has, sign of z) and a right side: the
# weighted sum of sigma(sign z) must not exceed it.
def share(mask, times=1.0):
    return times * mask / mask.sum()


def error_rate(true):
    n = len(true)
    return [((true == 0) / n, 1), ((true == 1) / n, -1)], 0.0


def fairness(group, k):
    """The rate of group 1 is at most 1/k times that of group 0."""
    return [(share(group == 1, k), 1), (share(group == 0), -1)], 1.0


def recall(true, k):
    return [(share(true == 1), -1)], 1.0 - k


def churn(deployed, k):
    n = len(deployed)
    return [((deployed == 1) / n, -1), ((deployed == 0) / n, 1)], k


def precision(true, k):
    more = k / (1 - k) * (true == 0).sum() / (true == 1).sum()
    return [(share(true == 1), -1), (share(true == 0, more), 1)], 1.0


def floor(n, least=1.0):
    """At least so many of the rows are accepted."""
    return [(np.full(n, 1.0 / n), -1)], 1.0 - least / n


def with_ones(X):
    X = X.toarray() if hasattr(X, "toarray") else X
    return np.column_stack([X, np.ones(len(X))])


def ramp_row(row, z):
    """The row's excess by the ramp."""
    terms, right = row
    return sum(float(m @ np.clip(0.5 + s * z, 0, 1)) for m, s in terms) - right


def majorised(row, z, old):
    """The row's excess by its convex bound, tight at the scores `old`; z of numpy or cvxpy."""
    terms, right = row
    total = -right
    for mass, sign in terms:
        still = sign * old <= 0.5
        hinge = cp.pos(0.5 + sign * z) if isinstance(z, cp.Expression) else None
        if hinge is None:
            hinge = np.maximum(0.5 + sign * z, 0.0)
        total = total + (mass * still) @ hinge + float(mass[~still].sum())
    return total


def problem_3(X, objective, rows, old, lam):
    """Value, coefficients, and multipliers of the convex problem, by an interior point."""
    A = with_ones(X)
    w = cp.Variable(A.shape[1])
    z = A @ w
    bounds = [majorised(r, z, old) <= 0 for r in rows]
    aim = 0.5 * lam * cp.sum_squares(w) + majorised(objective, z, old)
    solved = cp.Problem(cp.Minimize(aim), bounds)
    solved.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return solved.value, w.value, np.array([float(b.dual_value) for b in bounds])


def svm(X, a, c, lam):
    """Smallest value and the coefficients of the weighted SVM."""
    A = with_ones(X)
    w = cp.Variable(A.shape[1])
    z = A @ w
    aim = 0.5 * lam * cp.sum_squares(w) + a @ cp.pos(0.5 + z) + c @ cp.pos(0.5 - z)
    solved = cp.Problem(cp.Minimize(aim))
    solved.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return solved.value, w.value


def svm_value(X, a, c, lam, w):
    z = with_ones(X) @ w
    hinges = a @ np.maximum(0.5 + z, 0) + c @ np.maximum(0.5 - z, 0)
    return 0.5 * lam * w @ w + hinges
