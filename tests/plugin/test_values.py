"""Rules that look at values: against a linear program with a variable a row, and all subsets."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from setpoint import Goal
from setpoint.counts import Evidence
from setpoint.plugin import Options, search_rule
from setpoint.rules import Rule
from setpoint.search import InfeasibleError
from thinning import over

pytestmark = pytest.mark.filterwarnings(
    "ignore::setpoint.search.achievable.ConstantGoalWarning",
)
TOL = 1e-6


class Sample:
    """Rows with posteriors and values, and linear functions of the decisions (N, answers)."""

    def __init__(self, seed, n):
        rng = np.random.default_rng(seed)
        self.n = n
        self.p = rng.beta(1.0, 2.0, n)
        self.y = (rng.random(n) < self.p).astype(int)
        self.y[:2] = 0, 1
        self.x = np.round(rng.exponential(4.0, n), 2)
        self.z = np.round(rng.normal(scale=3.0, size=n), 2)
        self.g = np.array(["a", "b"])[np.arange(n) % 2]
        self.w = [None, rng.integers(1, 4, n) * 1.0, rng.lognormal(size=n)][seed % 3]
        self.weight = np.ones(n) if self.w is None else self.w
        self.c = float(np.round(rng.uniform(0.2, 2.0), 1))
        self.level = float(np.round(rng.uniform(0.25, 0.6), 2))

    def mean(self, positive, negative, where=True):
        """Coefficients (N,) of accepting a row that is worth so much by class."""
        w = self.weight * where
        return w * (self.p * positive + (1 - self.p) * negative) / w.sum()

    def found(self, weight, where=True):
        """Coefficients of the recall of class 1, each row weighing `weight`."""
        own = self.weight * weight * self.p * where
        return own / own.sum()

    def evidence(self, goal, by_group=False):
        rows = Evidence.from_arrays(
            (0, 1),
            self.p,
            self.y,
            needs=goal.needs,
            weight=self.w,
            columns={"x": self.x, "z": self.z, "g": self.g},
            decide_on=["g"] if by_group else [],
        )
        return rows.with_values(goal.needs.measure_names)


# Each: goal, coefficients of the objective (the larger the better), and rows a @ d <= b.
GOALS = {
    "profit": lambda r: (f"maximize profit(tp=x - {r.c}, fp=-{r.c})", r.mean(r.x - r.c, -r.c), []),
    "below 0": lambda r: (
        "maximize profit(tp=x + 2 * z, fp=-0.5 * x)",
        r.mean(r.x + 2 * r.z, -0.5 * r.x),
        [],
    ),
    "capped": lambda r: (
        f"maximize profit(tp=x, fp=-{r.c}) subject to predicted_rate <= {r.level}",
        r.mean(r.x, -r.c),
        [(r.mean(1.0, 1.0), r.level)],
    ),
    "precise": lambda r: (
        f"maximize recall.weighted(x) subject to precision >= {r.level}",
        r.found(r.x),
        [(r.mean(r.level - 1.0, r.level), 0.0)],
    ),
    "both": lambda r: (
        f"maximize recall subject to precision.weighted(x) >= {r.level} and predicted_rate <= 0.7",
        r.found(1.0),
        [(r.mean((r.level - 1.0) * r.x, r.level * r.x), 0.0), (r.mean(1.0, 1.0), 0.7)],
    ),
    "groups": lambda r: (
        f"maximize profit(tp=x, fp=-{r.c}) subject to predicted_rate.difference(g) <= 0.1",
        r.mean(r.x, -r.c),
        [
            (r.mean(1.0, 1.0, r.g == "a") - r.mean(1.0, 1.0, r.g == "b"), 0.1),
            (r.mean(1.0, 1.0, r.g == "b") - r.mean(1.0, 1.0, r.g == "a"), 0.1),
        ],
    ),
}


def problem(seed, n):
    r = Sample(seed, n)
    text, gains, rows = list(GOALS.values())[seed % len(GOALS)](r)
    goal = Goal.parse(text)
    return r, goal, gains, rows, r.evidence(goal, by_group="difference" in text)


def decisions(evidence: Evidence, rule: Rule):
    segments = evidence.rows.segment if rule.needs_segments else None
    return rule.distribution(evidence.scores, segments)[:, 1]


@over("seed", range(300), every=10)
def test_draws_reach_what_a_variable_a_row_does(seed):
    _, goal, gains, rows, evidence = problem(seed, 40)
    A, b = [a for a, _ in rows] or None, [b for _, b in rows] or None
    lp = linprog(-gains, A_ub=A, b_ub=b, bounds=(0.0, 1.0))
    options = Options.of("auto", evidence="soft", randomized=True)
    if lp.status == 2:
        with pytest.raises(InfeasibleError):
            search_rule(goal, evidence, options)
        return
    found = search_rule(goal, evidence, options)
    d = decisions(evidence, found.rule)
    size = 1.0 + abs(lp.fun)
    assert all(a @ d <= limit + TOL for a, limit in rows)
    assert gains @ d >= -lp.fun - 1e-4 * size
    assert found.certificate.gap is not None
    assert gains @ d + found.certificate.gap >= -lp.fun - TOL * size
    assert gains @ d == pytest.approx(found.by_posteriors, abs=1e-9 * size)


@over("seed", range(300), every=10)
def test_the_gap_covers_all_subsets(seed):
    r, goal, gains, rows, evidence = problem(seed, 10)
    every = np.array(list(product((0.0, 1.0), repeat=r.n)))
    kept = np.all([every @ a <= limit + 1e-9 for a, limit in rows], axis=0) if rows else True
    values = np.where(kept, every @ gains, -np.inf)
    options = Options.of("auto", evidence="soft", randomized=False)
    try:
        found = search_rule(goal, evidence, options)
    except InfeasibleError:
        assert values.max() == 0.0  # accepting nobody, whose precision meets no floor
        return
    d = decisions(evidence, found.rule)
    assert set(np.unique(d)) <= {0.0, 1.0}
    assert all(a @ d <= limit + TOL for a, limit in rows)
    assert found.certificate.gap is not None
    assert values.max() <= gains @ d + found.certificate.gap + TOL * (1.0 + abs(values.max()))
