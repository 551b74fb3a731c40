"""Slow, plain references: losses by loops, slopes by differences, projections by cvxpy."""

import math

import numpy as np


def margin_loss(kind, z):
    """A loss at one margin."""
    if kind == "hinge":
        return max(1.0 - z, 0.0)
    if kind == "logistic":
        return math.log(1.0 + math.exp(-z)) / math.log(2.0)
    return 1.0 / (1.0 + math.exp(1.5 * z))


def mean_loss(kind, scores, true, side, weight=None, rows=None):
    """The weighted mean of a margin loss over the rows of a class, row by row."""
    total = weights = 0.0
    for i, f in enumerate(scores):
        if true[i] == side and (rows is None or rows[i]):
            w = 1.0 if weight is None else weight[i]
            total += w * margin_loss(kind, f if side == 1 else -f)
            weights += w
    return total / weights


def _mean_rank_score(scores, weight, wanted):
    """The mean score of the ranks near `wanted`, the largest score first."""
    half = max(0.01 * sum(weight), 0.5 * max(weight))
    low, high = max(wanted - half, 0.0), min(wanted + half, sum(weight))
    rank = area = length = 0.0
    for f, w in sorted(zip(scores, weight, strict=True), reverse=True):
        inside = max(min(rank + w, high) - max(rank, low), 0.0)
        area, length, rank = area + inside * f, length + inside, rank + w
    return area / length


def cut_off(scores, weight, wanted, among):
    """The score at a rank among some rows: a mean over the ranks near it."""
    rows = [i for i in range(len(scores)) if among[i] and weight[i] > 0]
    return _mean_rank_score([scores[i] for i in rows], [weight[i] for i in rows], wanted)


def top_loss(scores, true, w, q):
    """Hinge losses of the negatives and of the positives above a cut-off, on its sides."""
    wrong = [(w[i], max(1.0 + scores[i] - q, 0.0)) for i in range(len(true)) if true[i] == 0]
    right = [
        (w[i], max(1.0 - scores[i] + q, 0.0))
        for i in range(len(true))
        if true[i] == 1 and scores[i] >= q
    ]
    return sum(
        sum(a * b for a, b in side) / sum(a for a, _ in side)
        for side in (wrong, right)
        if sum(a for a, _ in side) > 0
    )


def numerical_gradient(function, x, h=1e-6):
    """Central differences."""
    out = np.empty(len(x))
    for i in range(len(x)):
        e = np.zeros(len(x))
        e[i] = h
        out[i] = (function(x + e) - function(x - e)) / (2.0 * h)
    return out


def _convex(kind, theta, X, true):
    import cvxpy as cp

    f = X @ theta[:-1] + theta[-1]
    out = []
    for side, sign in ((1, 1.0), (0, -1.0)):
        z = sign * f[true == side]
        loss = cp.pos(1.0 - z) if kind == "hinge" else cp.logistic(-z) / math.log(2.0)
        out.append(cp.sum(loss) / int((true == side).sum()))
    return out


def projected(kind, X, true, target):
    """The least sum of squares of what convex losses lie above their targets, and the losses."""
    import cvxpy as cp

    theta = cp.Variable(X.shape[1] + 1)
    losses = _convex(kind, theta, X, true)
    above = [cp.square(cp.pos(u - t)) for u, t in zip(losses, target, strict=True)]
    problem = cp.Problem(cp.Minimize(sum(above)))
    problem.solve(solver="CLARABEL")
    return float(problem.value), np.array([float(u.value) for u in losses])


def least_weighted(kind, X, true, weights):
    """The least weighted sum of convex losses."""
    import cvxpy as cp

    theta = cp.Variable(X.shape[1] + 1)
    losses = _convex(kind, theta, X, true)
    problem = cp.Problem(cp.Minimize(sum(w * u for w, u in zip(weights, losses, strict=True))))
    problem.solve(solver="CLARABEL")
    return float(problem.value)


def best_on_grid(function, reach=6.0, n=61, rounds=4):
    """The least value of a function of two parameters: grids, each finer around the best."""
    centre, best = np.zeros(2), math.inf
    for _ in range(rounds):
        axis = np.linspace(-reach, reach, n)
        for a in axis:
            for b in axis:
                here = centre + np.array([a, b])
                value = function(here)
                if value < best:
                    best, at = value, here
        centre, reach = at, 3.0 * reach / n
    return best
