"""Slow references in plain Python and NumPy: every s, every pair, every cut-off, counted."""

import math
from itertools import product

import numpy as np

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
ALL = {**GOALS, **OTHERS}
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


def best_threshold(kind, scores, true, weight=None, least=0.0):
    """The best (violation, score) of all cut-offs, each counted anew."""
    w = np.ones(len(true)) if weight is None else np.asarray(weight, float)
    P, N = math.fsum(w[true == 1]), math.fsum(w[true == 0])
    found, least = [], min(least, P + N)  # more than there is: everything is accepted
    for t in [math.inf, *np.unique(scores[w > 0])]:
        accepted = scores >= t
        A, B = math.fsum(w[accepted & (true == 1)]), math.fsum(w[accepted & (true == 0)])
        if least - _NEAR <= A + B:
            score, violation = reached(kind, A, B, P, N)
            found.append((0.0 if violation <= _NEAR else violation, -score))
    violation, score = min(found)
    return violation, -score


# ---------------------------------------------------------------------- lifted decisions
def row_costs(scores, positive, ramp, tail):
    """What a row pays if s is 0, and if s is 1."""
    m = np.where(positive, scores, -scores)
    keep = ramp * np.maximum(-m, 0.0) + tail * np.logaddexp(0.0, -m)
    drop = tail * np.logaddexp(0.0, m)
    return np.where(positive, drop, keep), np.where(positive, keep, drop)


def cost_of(kind, s, scores, positive, ramp, tail):
    """The cost of decisions s, whether they meet the goal, and how many they accept."""
    no, yes = row_costs(scores, positive, ramp, tail)
    A, B = s[positive].sum(), s[~positive].sum()
    score, violation = reached(kind, A, B, positive.sum(), (~positive).sum())
    return float(np.where(s, yes, no).sum() - score), violation <= _NEAR, A + B


def best_of_all(kind, scores, positive, ramp, tail, least=0.0):
    """The least cost over every s in {0, 1}^N that meets the goal; inf where none does."""
    s = (np.arange(2 ** len(scores))[:, None] >> np.arange(len(scores))) & 1
    no, yes = row_costs(scores, positive, ramp, tail)
    costs, A, B = np.where(s, yes, no).sum(axis=1), s[:, positive].sum(1), s[:, ~positive].sum(1)
    P, N, best = positive.sum(), (~positive).sum(), math.inf
    for a, b in product(range(P + 1), range(N + 1)):
        score, violation = reached(kind, a, b, P, N)
        if violation <= _NEAR and a + b >= least - _NEAR:
            best = min(best, costs[(a == A) & (b == B)].min() - score)
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
        out.append(np.append(0.0, np.cumsum(mine)))
        out.append(np.append(base, base + np.cumsum(mine * d)))
    A, cost_A, B, cost_B = out
    return A, B, cost_A, cost_B
