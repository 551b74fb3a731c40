"""Values of rows: thresholds against all cut-offs, and what may not make a difference."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from setpoint import Goal, solve
from setpoint.counts import Evidence
from setpoint.program import link
from setpoint.search import InfeasibleError, solve_exact
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.search.achievable.ConstantGoalWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.report.report.FewRowsWarning"),
]

N_PROBLEMS = 200


class Sample:
    """Random rows, and what decisions (N,) or probabilities reach on them by hand."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(6, 26))
        self.rng, self.n = rng, n
        self.y = rng.integers(0, 2, n)
        self.y[:2] = 0, 1
        self.s = np.round(rng.normal(size=n) + self.y, int(rng.integers(0, 3)))
        self.w = [np.ones(n), rng.integers(1, 4, n) * 1.0, rng.lognormal(size=n)][seed % 3]
        self.g = np.array(["a", "b"])[rng.integers(0, 2, n)]
        self.g[:4] = ["a", "a", "b", "b"]
        self.y[:4] = 0, 1, 0, 1
        self.x = np.round(rng.exponential(3.0, n), 1) + (seed % 2) * 0.1
        self.z = np.round(rng.normal(scale=4.0, size=n), 1)  # goes below 0
        self.c = float(np.round(rng.uniform(0.5, 3.0), 1))
        self.level = float(np.round(rng.uniform(0.2, 0.8), 2))

    def mean(self, numbers, d):
        return float((self.w * d * numbers).sum() / self.w.sum())

    def recall(self, weight, d, where=True):
        own = self.w * weight * (self.y == 1) * where
        return float((own * d).sum() / own.sum())

    def precision(self, weight, d):
        own = self.w * weight * d
        return float((own * (self.y == 1)).sum() / own.sum()) if own.sum() > 0 else 0.0


ONE = np.array(1.0)

GOALS = {
    "profit": lambda r: (
        f"maximize profit(tp=x - {r.c}, fp=-{r.c})",
        lambda d: r.mean(np.where(r.y == 1, r.x - r.c, -r.c), d),
        [],
    ),
    "below 0": lambda r: (
        "maximize profit(tp=2 * z + x, fp=-0.5 * z, fn=-x, tn=0.1)",
        lambda d: (
            r.mean(np.where(r.y == 1, 2 * r.z + r.x, -0.5 * r.z), d)
            + r.mean(np.where(r.y == 1, -r.x, 0.1), 1 - d)
        ),
        [],
    ),
    "capped": lambda r: (
        f"maximize profit(tp=x, fp=-{r.c}) subject to predicted_rate <= {r.level}",
        lambda d: r.mean(np.where(r.y == 1, r.x, -r.c), d),
        [lambda d: r.level - r.mean(ONE, d)],
    ),
    "weighted recall": lambda r: (
        f"maximize recall.weighted(x) subject to precision >= {r.level}",
        lambda d: r.recall(r.x, d),
        [lambda d: r.precision(ONE, d) - r.level],
    ),
    "weighted precision": lambda r: (
        f"maximize recall subject to precision.weighted(x) >= {r.level}",
        lambda d: r.recall(ONE, d),
        [lambda d: r.precision(r.x, d) - r.level],
    ),
    "groups": lambda r: (
        f"maximize profit(tp=x, fp=-{r.c}) subject to recall.weighted(x).difference(g) <= 0.3",
        lambda d: r.mean(np.where(r.y == 1, r.x, -r.c), d),
        [lambda d: 0.3 - abs(r.recall(r.x, d, r.g == "a") - r.recall(r.x, d, r.g == "b"))],
    ),
    "floor": lambda r: (
        f"minimize predicted_rate subject to recall.weighted(x) >= {r.level}",
        lambda d: -r.mean(ONE, d),
        [lambda d: r.recall(r.x, d) - r.level],
    ),
}


def best_of_all(r, segments, value, slacks):
    """The largest value of thresholds that meet the bounds, None if none does."""
    cuts = [[*np.unique(r.s[own]), np.inf] for own in segments]
    best = None
    for chosen in product(*cuts):
        d = np.zeros(r.n)
        for own, t in zip(segments, chosen, strict=True):
            d[own] = r.s[own] >= t
        if all(s(d) >= -1e-9 for s in slacks):
            best = value(d) if best is None else max(best, value(d))
    return best


@over("seed", range(N_PROBLEMS))
def test_thresholds_are_the_best_of_all_cutoffs(seed):
    r = Sample(seed)
    name = list(GOALS)[seed % len(GOALS)]
    text, value, slacks = GOALS[name](r)
    by_group = bool(r.rng.integers(0, 2))
    goal = Goal.parse(text)
    sense = 1.0 if goal.sense == "maximize" else -1.0
    evidence = Evidence.from_arrays(
        (0, 1),
        r.s,
        r.y,
        needs=goal.needs,
        weight=None if (r.w == 1).all() else r.w,
        columns={"x": r.x, "z": r.z, "g": r.g},
        decide_on=["g"] if by_group else [],
    )
    segments = [r.g == "a", r.g == "b"] if by_group else [np.ones(r.n, bool)]
    best = best_of_all(r, segments, value, slacks)
    program = link(goal, evidence.codebook).at(evidence.marginals)
    if best is None:
        with pytest.raises(InfeasibleError):
            solve_exact(program, evidence)
        return
    found = solve_exact(program, evidence)
    segment = evidence.rows.segment if by_group else None
    d = found.rule.distribution(evidence.scores, segment)[:, 1]
    assert all(s(d) >= -1e-9 for s in slacks)
    reached = value(d)
    assert reached == pytest.approx(sense * program.value(found.values), abs=1e-9)
    if not by_group or found.status == "optimal":
        assert reached == pytest.approx(best, rel=1e-7, abs=1e-9)
    gap = found.certificate.gap
    assert gap is None or best <= reached + gap + 1e-7 * (1 + abs(best))


@over("seed", range(0, N_PROBLEMS, 4))
def test_draws_reach_what_a_linear_program_does(seed):
    r = Sample(seed)
    text, _, _ = GOALS["capped"](r)
    goal = Goal.parse(text)
    evidence = Evidence.from_arrays(
        (0, 1), r.s, r.y, needs=goal.needs, weight=r.w, columns={"x": r.x}
    )
    program = link(goal, evidence.codebook).at(evidence.marginals)
    found = solve_exact(program, evidence, randomized=True)
    cuts = [(r.s >= t) * 1.0 for t in (*np.unique(r.s), np.inf)]
    gains = [r.mean(np.where(r.y == 1, r.x, -r.c), d) for d in cuts]
    rates = [r.mean(ONE, d) for d in cuts]
    lp = linprog(
        -np.array(gains), A_ub=[rates], b_ub=[r.level], A_eq=[np.ones(len(cuts))], b_eq=[1.0]
    )
    assert program.value(found.values) == pytest.approx(-lp.fun, abs=1e-7)


def solved(goal, s, y, **more):
    return solve(goal, s, y, decide_on=None, **more)


class TestEquivalences:
    goal = "maximize profit(tp=x - 1, fp=-1) subject to predicted_rate <= 0.5"

    def sample(self):
        rng = np.random.default_rng(3)
        y = rng.integers(0, 2, 60)
        return np.round(rng.normal(size=60) + y, 1), y, rng.exponential(2.0, 60)

    def reached(self, s, y, x, **more):
        found = solved(self.goal, s, y, sensitive_features={"x": x}, **more)
        return found.report.objective.value, found.rule

    def test_a_weight_of_two_is_the_row_twice(self):
        s, y, x = self.sample()
        w = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
        twice = np.repeat(np.arange(60), w.astype(int))
        one = self.reached(s, y, x, sample_weight=w)
        two = self.reached(s[twice], y[twice], x[twice])
        assert one[0] == pytest.approx(two[0], rel=1e-12)
        assert one[1] == two[1]

    def test_order_does_not_matter(self):
        s, y, x = self.sample()
        order = np.random.default_rng(0).permutation(60)
        assert self.reached(s, y, x)[1] == self.reached(s[order], y[order], x[order])[1]

    def test_a_weight_of_zero_is_as_if_absent(self):
        s, y, x = self.sample()
        w = (np.arange(60) % 4 > 0) * 1.0
        kept = w > 0
        one = self.reached(s, y, np.where(kept, x, 1e9), sample_weight=w)
        assert one == self.reached(s[kept], y[kept], x[kept])

    def test_other_units_are_another_scale(self):
        s, y, x = self.sample()
        found = solved(self.goal, s, y, sensitive_features={"x": x})
        cents = solved(
            "maximize profit(tp=x - 100, fp=-100) subject to predicted_rate <= 0.5",
            s,
            y,
            sensitive_features={"x": 100 * x},
        )
        assert cents.rule == found.rule
        assert cents.report.objective.value == pytest.approx(100 * found.report.objective.value)

    @pytest.mark.parametrize("metric", ["recall", "f1", "precision", "accuracy", "g_mean"])
    def test_equal_amounts_do_not_weigh(self, metric):
        s, y, _ = self.sample()
        plain = solved(f"maximize {metric}", s, y)
        weighted = solved(
            f"maximize {metric}.weighted(x)", s, y, sensitive_features={"x": np.full(60, 4.0)}
        )
        assert weighted.rule == plain.rule
        assert weighted.report.objective.value == pytest.approx(plain.report.objective.value)

    def test_amounts_that_weigh_all_are_sample_weights(self):
        s, y, x = self.sample()
        weighted = solved(
            "maximize recall.weighted(x) subject to precision.weighted(x) >= 0.6",
            s,
            y,
            sensitive_features={"x": x},
        )
        other = solved("maximize recall subject to precision >= 0.6", s, y, sample_weight=x)
        assert weighted.rule == other.rule
        assert weighted.report.objective.value == pytest.approx(other.report.objective.value)

    def test_numbers_alone_are_costs(self):
        s, y, _ = self.sample()
        profit = solved("maximize profit(tp=3, fp=-2, fn=-1, tn=0.5)", s, y)
        cost = solved("minimize cost({(1, 1): -3, (0, 1): 2, (1, 0): 1, (0, 0): -0.5})", s, y)
        assert profit.rule == cost.rule
        assert profit.report.objective.value == pytest.approx(-cost.report.objective.value)
