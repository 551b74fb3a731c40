"""Slow references in plain Python and NumPy: every s, every pair, every cut-off, counted."""

from __future__ import annotations

import math

import numpy as np
from sklearn.metrics import precision_score, recall_score

GOALS = {
    "FPOR": "maximize recall subject to precision >= 0.8",
    "FROP": "maximize precision subject to recall >= 0.8",
    "OFBS": "maximize f1",
}
OTHERS = {
    "g-mean": "maximize g_mean subject to specificity >= 0.7",
    "cost": "minimize cost({(1, 0): 5, (0, 1): 1})",
    "two bounds": "maximize accuracy subject to recall >= 0.5 and precision >= 0.6",
    "jaccard": "maximize jaccard subject to negative_predictive_value >= 0.85",
}
_NEAR = 1e-9


def over(a, b):
    return a / b if b else 0.0


def reached(kind, A, B, P, N):
    """Score and violation of accepting A positives and B negatives, written by hand."""
    recall, precision = over(A, P), over(A, A + B)
    if kind == "FPOR":
        return recall, max(0.8 - precision, 0.0)
    if kind == "FROP":
        return precision, max(0.8 - recall, 0.0)
    if kind == "OFBS":
        return over(2 * A, A + B + P), 0.0
    specificity, npv = over(N - B, N), over(N - B, N - B + P - A)
    if kind == "g-mean":
        return math.sqrt(recall * specificity), max(0.7 - specificity, 0.0)
    if kind == "cost":
        return -(5 * (P - A) + B) / (P + N), 0.0
    if kind == "two bounds":
        return (A + N - B) / (P + N), max(0.5 - recall, 0.6 - precision, 0.0)
    assert kind == "jaccard"
    return over(A, B + P), max(0.85 - npv, 0.0)


# ---------------------------------------------------------------------- thresholds
def best_threshold(kind, scores, true, weight=None, least=0.0, scale=(1.0, 1.0)):
    """The best (violation, score, accepted rows) of all cut-offs, each counted anew."""
    w = np.ones(len(true)) if weight is None else np.asarray(weight, float)
    w = w * np.where(true == 1, scale[1], scale[0])
    P, N = math.fsum(w[true == 1]), math.fsum(w[true == 0])
    found, least = [], min(least, P + N)  # more than there is: everything is accepted
    for t in [math.inf, *np.unique(scores[w > 0])]:
        accepted = scores >= t
        A, B = math.fsum(w[accepted & (true == 1)]), math.fsum(w[accepted & (true == 0)])
        if least - _NEAR <= A + B:
            score, violation = reached(kind, A, B, P, N)
            violation = 0.0 if violation <= _NEAR else violation
            found.append((violation, -score, int((accepted & (w > 0)).sum())))
    violation, score, n = min(found)
    return violation, -score, n


def by_sklearn(true, accepted):
    """Recall and precision."""
    return recall_score(true, accepted), precision_score(true, accepted, zero_division=0)


# ---------------------------------------------------------------------- lifted decisions
def softplus(x):
    return np.logaddexp(0.0, x)


def row_costs(scores, positive, ramp, tail):
    """What a row pays if s is 0, and if s is 1."""
    m = np.where(positive, scores, -scores)
    keep = ramp * np.maximum(-m, 0.0) + tail * softplus(-m)
    drop = tail * softplus(m)
    return np.where(positive, drop, keep), np.where(positive, keep, drop)


def cost_of(kind, s, scores, positive, ramp, tail, weight=None, scale=(1.0, 1.0)):
    """The cost of decisions s, and whether they meet the goal."""
    w = np.ones(len(s)) if weight is None else weight
    w = w * np.where(positive, scale[1], scale[0])
    no, yes = row_costs(scores, positive, ramp, tail)
    A, B = (s * w)[positive].sum(), (s * w)[~positive].sum()
    score, violation = reached(kind, A, B, w[positive].sum(), w[~positive].sum())
    return float((w * np.where(s, yes, no)).sum() - score), violation <= _NEAR, A + B


def best_of_all(kind, scores, positive, ramp, tail, weight=None, least=0.0):
    """The least cost over every s in {0, 1}^N that meets the goal; inf where none does."""
    n, best = len(scores), math.inf
    for code in range(2**n):
        s = (code >> np.arange(n)) & 1
        cost, met, accepted = cost_of(kind, s == 1, scores, positive, ramp, tail, weight)
        if met and accepted >= least - _NEAR:
            best = min(best, cost)
    return best


def best_of_grid(kind, A, B, cost_A, cost_B, least=0.0):
    """The least cost over all pairs of counts that meet the goal, in plain loops."""
    P, N, best = A[-1], B[-1], math.inf
    for a, cost_a in zip(A, cost_A, strict=True):
        for b, cost_b in zip(B, cost_B, strict=True):
            score, violation = reached(kind, a, b, P, N)
            if violation <= _NEAR and a + b >= least - _NEAR:
                best = min(best, cost_a + cost_b - score)
    return best


def ladders(scores, positive, ramp, tail, weight=None):
    """Accepted weights and costs of the k highest scores of each class, k from 0."""
    w = np.ones(len(scores)) if weight is None else weight
    no, yes = row_costs(scores, positive, ramp, tail)
    out = []
    for of_class in (positive, ~positive):
        order = np.argsort(-scores[of_class], kind="stable")
        mine, d = w[of_class][order], (yes - no)[of_class][order]
        base = float((w * no)[of_class].sum())
        out.append([0.0, *np.cumsum(mine).tolist()])
        out.append([base, *(base + np.cumsum(mine * d)).tolist()])
    A, cost_A, B, cost_B = out
    return A, B, cost_A, cost_B
