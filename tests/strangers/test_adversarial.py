"""Random goals on tables that are not shuffled, balanced and clean: no wrong optimum."""

import warnings

import numpy as np
import pytest

from oracles.binary import INF, Mcc
from oracles.problems import ORDERS, random_case
from setpoint import Dataset, InfeasibleError, solve
from thinning import over

GOALS = 200
"""Random goals for each order of the rows: 1,000 in all."""


# -- optima -------------------------------------------------------------------------------------


def side_of(case, at):
    """What belongs to some rows of a case, beside scores and labels."""
    rows = case.oracle.rows
    weighted = case.evidence.is_weighted
    return {
        "sample_weight": rows.weight[at] if weighted else None,
        "sensitive_features": {"g": rows.group[at]},
        "baseline": rows.deployed[at] if case.goal.needs.baseline else None,
    }


def solved(case):
    """What the public function finds on the rows of a case, in their order."""
    rows = case.oracle.rows
    own = rows.part == "X"
    others = {
        name: Dataset(
            rows.scores[at],
            rows.true[at] if (rows.true[at] >= 0).all() else None,
            **side_of(case, at),
        )
        for name in np.unique(rows.part[~own])
        for at in [rows.part == name]
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return solve(
            case.text,
            rows.scores[own],
            rows.true[own],
            datasets=others or None,
            decide_on=list(case.evidence.codebook.decide_on) or None,
            **side_of(case, own),
        )


def check(case):
    """The rule against all thresholds of the oracle, which counts it by its decisions."""
    best, least = case.oracle.best_threshold
    if best == -INF:
        with pytest.raises(InfeasibleError) as caught:
            solved(case)
        assert caught.value.violation == pytest.approx(least, abs=1e-7)
        return False
    found = solved(case)
    p = case.accepted(found.rule)
    value = float(case.oracle.objective.value(p))
    close = 1e-7 if isinstance(case.oracle.objective, Mcc) else 1e-9
    assert set(p.tolist()) <= {0.0, 1.0}
    assert float(case.oracle.violation(p)) <= 1e-9
    assert case.oracle.sense * value == pytest.approx(best, abs=close)
    assert found.report.objective.value == pytest.approx(value, abs=close)
    assert found.report.status == "optimal"
    return True


@pytest.mark.parametrize("order", ORDERS)
@over("seeds", [range(12), range(12, GOALS)], every=2)
def test_no_wrong_optimum(order, seeds):
    feasible = [check(random_case(seed, order)) for seed in seeds]
    assert 0.3 * len(feasible) < sum(feasible) < len(feasible)


# -- tables with too many pairs of cut-offs to try ------------------------------------------------


class Pairs:
    """Every pair of cut-offs of two groups, counted: the confusion of all is a sum of theirs."""

    def __init__(self, scores, y, group):
        counts = []
        for g in (0, 1):
            s, t = scores[group == g], y[group == g]
            ends = np.append(np.flatnonzero(np.diff(np.sort(s)[::-1])) + 1, len(s))
            hits = np.append(0, np.cumsum(t[np.argsort(-s, kind="stable")]))
            ends = np.append(0, ends)
            counts.append((hits[ends], ends - hits[ends], t.sum(), len(t) - t.sum()))
        (a, b, self.p0, self.n0), (c, d, self.p1, self.n1) = counts
        self.tp0, self.fp0, self.tp1, self.fp1 = a[:, None], b[:, None], c[None], d[None]
        self.tp, self.fp = self.tp0 + self.tp1, self.fp0 + self.fp1
        self.p, self.n = self.p0 + self.p1, self.n0 + self.n1
        self.accuracy = (self.tp + self.n - self.fp) / (self.p + self.n)
        self.rate = (self.tp + self.fp) / (self.p + self.n)
        self.recall, self.fpr = self.tp / self.p, self.fp / self.n
        self.f1 = 2 * self.tp / (self.tp + self.fp + self.p)
        self.g_mean = np.sqrt(self.recall * (1 - self.fpr))
        self.recalls = (self.tp0 / self.p0, self.tp1 / self.p1)
        self.fprs = (self.fp0 / self.n0, self.fp1 / self.n1)
        self.rates = (
            (self.tp0 + self.fp0) / (self.p0 + self.n0),
            (self.tp1 + self.fp1) / (self.p1 + self.n1),
        )


def apart(pair):
    return np.abs(pair[0] - pair[1])


def precise(t, k):
    """Whether precision is at least k; that of nobody is 0."""
    return (t.tp - k * (t.tp + t.fp) >= -1e-9) & (t.tp + t.fp > 0)


LARGE = {
    "accuracy s.t. predicted_rate.difference(g) <= 0.02":
        (lambda t: t.accuracy, lambda t: apart(t.rates) <= 0.02),
    "accuracy s.t. predicted_rate.difference(g) <= 0":
        (lambda t: t.accuracy, lambda t: apart(t.rates) <= 0),
    "f1 s.t. recall.difference(g) <= 0.01":
        (lambda t: t.f1, lambda t: apart(t.recalls) <= 0.01),
    "accuracy s.t. recall.difference(g) <= 0.02 and false_positive_rate.difference(g) <= 0.02":
        (lambda t: t.accuracy, lambda t: (apart(t.recalls) <= 0.02) & (apart(t.fprs) <= 0.02)),
    "g_mean s.t. recall.difference(g) <= 0.02":
        (lambda t: t.g_mean, lambda t: apart(t.recalls) <= 0.02),
    "g_mean s.t. predicted_rate <= 0.25 and predicted_rate.difference(g) <= 0.1":
        (lambda t: t.g_mean, lambda t: (t.rate <= 0.25) & (apart(t.rates) <= 0.1)),
    "f1 s.t. predicted_rate.difference(g) <= 0.05 and precision >= 0.5":
        (lambda t: t.f1, lambda t: (apart(t.rates) <= 0.05) & precise(t, 0.5)),
    "recall s.t. precision >= 0.4 and recall.difference(g) <= 0.03":
        (lambda t: t.recall, lambda t: (apart(t.recalls) <= 0.03) & precise(t, 0.4)),
}  # fmt: skip


@pytest.mark.parametrize("goal", LARGE)
@over("seed", range(6), every=6)
def test_no_wrong_optimum_where_there_are_too_many_pairs_to_try(goal, seed):
    rng = np.random.default_rng(seed)
    n = 2_200
    group = np.sort(rng.integers(0, 2, n))
    y = (rng.random(n) < np.where(group == 1, 0.35, 0.15)).astype(int)
    scores = np.round(rng.normal(1.3 * y + 0.6 * group, 1.0), 6)
    order = (np.argsort(y, kind="stable"), np.arange(n), np.argsort(-scores))[seed % 3]
    scores, y, group = scores[order], y[order], group[order]
    value, met = LARGE[goal]
    table = Pairs(scores, y, group)
    assert table.f1.size > 1_000_000
    values = np.where(met(table), value(table), -INF)
    best = values.max()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = solve(f"maximize {goal}", scores, y, sensitive_features={"g": group}).report
    assert all(c.satisfied for c in report.constraints)
    assert best - 1e-4 <= report.objective.value <= best + 1e-9
    assert report.certificate.bound >= best - 1e-9
    assert report.certificate.gap <= 1e-4
    assert report.status == "optimal"
