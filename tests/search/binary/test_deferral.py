"""Goals that defer, against all pairs of cut-offs and linear programs over them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

import cvxpy as cp
import numpy as np
import pytest

from setpoint import InfeasibleError, frontier, solve
from setpoint.counts import DEFERRED, Evidence
from setpoint.goals import as_goal
from setpoint.search import ConstantGoalWarning
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore")
TOL = 1e-9
REJECT, ACCEPT, DEFER = 0, 1, 2


class Rows:
    """Rows with all that may be decided about them, by arrays of decisions."""

    def __init__(self, rng):
        n = int(rng.integers(6, 22))
        self.y = rng.integers(0, 2, n)
        self.y[:2] = 0, 1
        self.s = np.round(rng.normal(size=n) + 1.0 * self.y, int(rng.integers(0, 2)))
        self.sex = rng.choice(["f", "m"], n)
        self.sex[:4] = "f", "m", "m", "f"
        self.y[2:4] = 0, 1
        kind = rng.integers(0, 3)
        self.w = [np.ones(n), rng.integers(1, 4, n).astype(float), rng.lognormal(size=n)][kind]
        self.weight = None if kind == 0 else self.w

    def pairs(self, where):
        """Answers (pairs, N, 3) of all pairs of cut-offs on some rows; none on the others."""
        cuts = [np.inf, *np.unique(self.s[where])[::-1]]
        answers = [
            np.where(self.s >= high, ACCEPT, np.where(self.s < low, REJECT, DEFER))
            for a, high in enumerate(cuts)
            for low in cuts[a:]
        ]
        return np.eye(3)[np.array(answers)] * where[:, None]

    def blocks(self, seen):
        every = np.ones(len(self.s), bool)
        return [self.pairs(self.sex == g) for g in "fm"] if seen else [self.pairs(every)]

    def rules(self, seen):
        """All deterministic rules, as answers (rules, N, 3)."""
        return np.array([sum(chosen) for chosen in product(*self.blocks(seen))])

    def share(self, above, below, where=True):
        """The weight of rows with some answers among that of others, by tables (N, 3)."""
        w = (self.w * where)[:, None]
        return Share(above * w, below * w)


@dataclass(frozen=True)
class Share:
    above: np.ndarray
    below: np.ndarray

    def parts(self, p):
        return np.einsum("...na,na->...", p, self.above), np.einsum("...na,na->...", p, self.below)

    def value(self, p):
        a, b = self.parts(p)
        return np.where(b > 1e-12, a / np.where(b > 1e-12, b, 1.0), 0.0)

    @property
    def least(self):
        return self.below[self.below > 0].min()


def problem(rng, r):
    """Text, sense, objective, limits (share, sign, level) and a largest gap of deferral."""
    positive = (r.y == 1)[:, None]
    answers = np.eye(3)
    decided, accepted, whole = answers[0] + answers[1], answers[ACCEPT], np.ones(3)
    right = np.where(positive, accepted, answers[REJECT])

    def deferral(where=True):
        return r.share(answers[DEFER], whole, where)

    def accuracy(where=True):
        return r.share(right, decided, where)

    recall = r.share(accepted * positive, whole * positive)
    caught = r.share(accepted * positive, decided * positive)
    precision = r.share(accepted * positive, accepted)
    f, m = r.sex == "f", r.sex == "m"
    c, d, e = rng.uniform(0.5, 0.95), rng.uniform(0.05, 0.4), rng.uniform(0.1, 0.6)
    cost = r.share(np.where(positive, [4, 0, d], [0, 1, d]), whole)
    fewest = "minimize deferral_rate subject to"
    menu = [
        (f"{fewest} accuracy.decided >= {c}", -1, deferral(), [(accuracy(), 1, c)], None),
        (
            f"{fewest} accuracy.decided >= {c} and deferral_rate.difference(sex) <= {d}",
            *(-1, deferral(), [(accuracy(), 1, c)], d),
        ),
        (
            f"maximize recall subject to precision >= {c} and deferral_rate <= {e}",
            *(1, recall, [(precision, 1, c), (deferral(), -1, e)], None),
        ),
        (f"minimize cost({{(0,1):1,(1,0):4,(0,'defer'):{d},(1,'defer'):{d}}})", -1, cost, [], None),
        (
            f"{fewest} recall.decided >= {c} and accuracy.on(sex='f').decided >= {e}",
            *(-1, deferral(), [(caught, 1, c), (accuracy(f), 1, e)], None),
        ),
        (
            f"maximize accuracy.decided subject to deferral_rate <= {e}",
            *(1, accuracy(), [(deferral(), -1, e)], None),
        ),
        (
            f"{fewest} accuracy.on(sex='f').decided >= {c} and accuracy.on(sex='m').decided >= {c}",
            *(-1, deferral(), [(accuracy(f), 1, c), (accuracy(m), 1, c)], None),
        ),
    ]
    text, sense, objective, limits, gap = menu[int(rng.integers(len(menu)))]
    return text, sense, objective, limits, [] if gap is None else [(deferral(f), deferral(m), gap)]


def best_rule(r, seen, sense, objective, limits, apart):
    """The best value of all deterministic rules; None where none meets the limits."""
    p = r.rules(seen)
    met = np.ones(len(p), bool)
    for share, sign, level in limits:
        met &= sign * (share.value(p) - level) >= -TOL
    for one, other, level in apart:
        met &= np.abs(one.value(p) - other.value(p)) <= level + TOL
    return sense * (sense * objective.value(p))[met].max() if met.any() else None


def best_mixture(r, seen, sense, objective, limits, apart):
    """The best value of all draws among pairs, by a linear program with a variable for each.

    Charnes and Cooper: x is t times the probabilities, and the objective's denominator is 1.
    """
    blocks = r.blocks(seen)
    p = np.concatenate(blocks)  # numerators and denominators are sums over blocks
    x, t = cp.Variable(len(p), nonneg=True), cp.Variable(nonneg=True)
    above, below = objective.parts(p)
    rows = [below @ x == 1, t <= 1 / objective.least]
    ends = np.cumsum([0, *map(len, blocks)])
    rows += [cp.sum(x[a:b]) == t for a, b in pairwise(ends)]
    for share, sign, level in limits:
        a, b = share.parts(p)
        rows.append(sign * (a - level * b) @ x >= 0)
        if sign > 0:  # at 0/0 a share is 0, and so is one of less than a row
            rows.append(b @ x >= share.least * t)
    for one, other, level in apart:
        # Denominators of deferral rates are the weights of all rows.
        first, second = (y.parts(p)[0] / y.below[:, 0].sum() for y in (one, other))
        rows.append(cp.abs((first - second) @ x) <= level * t)
    program = cp.Problem(cp.Maximize(sense * above @ x), rows)
    near = {f"{kind}_feasibility_tolerance": 1e-10 for kind in ("primal", "dual")}
    program.solve(solver=cp.HIGHS, **near)
    return sense * program.value if program.status == "optimal" else None


def solved(text, r, seen, randomized):
    options = {"sensitive_features": {"sex": r.sex}, "decide_on": ["sex"] if seen else None}
    try:
        return solve(text, r.s, r.y, sample_weight=r.weight, randomized=randomized, **options)
    except InfeasibleError:
        return None


def probabilities(solution, r, seen):
    if not seen:
        return solution.rule.distribution(r.s)
    at = [dict(key)["sex"] for key in solution.rule.segments].index("f")
    return solution.rule.distribution(r.s, np.where(r.sex == "f", at, 1 - at))


def drawn(seed):
    """Rows, whether the rule sees the sex, and a goal."""
    rng = np.random.default_rng(seed)
    r, seen = Rows(rng), bool(rng.integers(2))
    return r, seen, problem(rng, r)


@over("seed", range(300), every=10)
@over("many_rows", [False, True])
def test_rule_without_draws_is_the_best_of_all_pairs(seed, many_rows, monkeypatch):
    """Also as many rows are searched, by what multipliers leave."""
    r, seen, (text, sense, objective, limits, apart) = drawn(seed + 2000 * many_rows)
    best = best_rule(r, seen, sense, objective, limits, apart)
    with monkeypatch.context() as patch:
        for name in ("at_once", "at_last") if many_rows else ():
            patch.setattr(f"setpoint.search.binary.cutoffs.BandSegment.{name}", 0)
        solution = solved(text, r, seen, randomized=False)
    if best is None:
        assert solution is None
        return
    assert solution is not None, text
    p = probabilities(solution, r, seen)
    value, gap = float(objective.value(p)), solution.report.certificate.gap
    assert set(np.unique(p)) <= {0.0, 1.0}
    assert value == pytest.approx(best, abs=1e-9), text
    assert solution.report.objective.value == pytest.approx(best, abs=1e-9)
    assert gap >= 0.0 if many_rows else gap == pytest.approx(0.0, abs=1e-9)


@over("seed", range(1000, 1300), every=10)
def test_draw_is_the_best_of_a_linear_program_over_all_pairs(seed):
    r, seen, (text, sense, objective, limits, apart) = drawn(seed)
    best = best_mixture(r, seen, sense, objective, limits, apart)
    solution = solved(text, r, seen, randomized=True)
    if best is None:
        assert solution is None
        return
    assert solution is not None, text
    p = probabilities(solution, r, seen)
    for share, sign, level in limits:
        assert sign * (float(share.value(p)) - level) >= -1e-8
    for one, other, level in apart:
        assert abs(float(one.value(p) - other.value(p))) <= level + 1e-8
    assert float(objective.value(p)) == pytest.approx(best, abs=1e-7), text
    assert solution.report.certificate.gap <= 1e-6


def scored(n=400):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return np.round(rng.normal(size=n) + 1.2 * y, 2), y


@over(
    ("price", "rows", "said"),
    [
        (0.9, scored(), "defers nobody$"),
        # The score says nothing: a decision costs 0.5.
        (0.2, (np.zeros(10), np.arange(10) % 2), "deferring everybody attains the optimum"),
    ],
)
def test_a_price_at_which_nobody_or_everybody_is_deferred_is_warned_of(price, rows, said):
    goal = f"minimize cost({{(0,1):1,(1,0):1,(0,'defer'):{price},(1,'defer'):{price}}})"
    with pytest.warns(ConstantGoalWarning, match=said):
        solve(goal, *rows)


@over("decide_on", [(), ("sex",)])
@over("randomized", [False, True, "auto"])
def test_frontier_is_solved_at_each_bound(randomized, decide_on):
    s, y = scored()
    sex = np.random.default_rng(1).choice(["f", "m"], len(y))
    goal = as_goal("minimize deferral_rate subject to accuracy.decided >= 0.9")
    solution = solve(goal, s, y, sensitive_features={"sex": sex}, decide_on=decide_on or None)
    evidence = Evidence.from_arrays(
        (0, 1, DEFERRED), s, y, needs=goal.needs, columns={"sex": sex}, decide_on=decide_on
    )
    found = frontier(evidence, goal, values=[0.8, 0.9], randomized=randomized)
    assert len(frontier(evidence, goal, randomized=randomized).values) > 5
    if randomized is False:
        assert found.values[1] == pytest.approx(solution.report.objective.value, abs=1e-9)
    else:
        assert found.values[1] <= solution.report.objective.value + 1e-9
    assert found.values[0] < found.values[1]
