"""Goals that defer, against all pairs of cut-offs and linear programs over them."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from setpoint import InfeasibleError, frontier, solve
from setpoint.counts import DEFERRED, Evidence
from setpoint.goals import as_goal
from setpoint.search import ConstantGoalWarning
from thinning import over

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
        """Decisions (pairs, N) of all pairs of cut-offs on some rows; elsewhere -1."""
        values = np.unique(self.s[where])[::-1]
        cuts = [np.inf, *values]
        out = []
        for a, high in enumerate(cuts):
            for low in cuts[a:]:
                own = np.full(len(self.s), -1)
                own[where] = np.where(
                    self.s[where] >= high, ACCEPT, np.where(self.s[where] < low, REJECT, DEFER)
                )
                out.append(own)
        return np.array(out)

    def blocks(self, seen):
        if not seen:
            return [self.pairs(np.ones(len(self.s), bool))]
        return [self.pairs(self.sex == g) for g in ("f", "m")]

    def decisions(self, seen):
        """All deterministic rules, as decisions (rules, N)."""
        blocks = self.blocks(seen)
        if len(blocks) == 1:
            return blocks[0]
        return np.array([np.maximum(a, b) for a, b in product(*blocks)])


class Share:
    """The weight of rows with some answers among that of others: (rows, answers) tables (N, 3)."""

    def __init__(self, rows, above, below):
        self.above, self.below = above * rows.w[:, None], below * rows.w[:, None]

    def parts(self, p):
        return np.einsum("...na,na->...", p, self.above), np.einsum("...na,na->...", p, self.below)

    def value(self, p):
        a, b = self.parts(p)
        return np.where(b > 1e-12, a / np.where(b > 1e-12, b, 1.0), 0.0)


def table(mask, answers):
    return mask.astype(float)[:, None] * np.asarray(answers, float)


def shares(r):
    y, every = r.y, np.ones(len(r.y), bool)
    right = table(y == 0, [1, 0, 0]) + table(y == 1, [0, 1, 0])

    def on(mask):
        return {
            "deferral": Share(r, table(mask, [0, 0, 1]), table(mask, [1, 1, 1])),
            "accuracy.decided": Share(r, right * mask[:, None], table(mask, [1, 1, 0])),
            "recall": Share(r, table(mask & (y == 1), [0, 1, 0]), table(mask & (y == 1), [1] * 3)),
            "recall.decided": Share(
                r, table(mask & (y == 1), [0, 1, 0]), table(mask & (y == 1), [1, 1, 0])
            ),
            "precision": Share(r, table(mask & (y == 1), [0, 1, 0]), table(mask, [0, 1, 0])),
        }

    def cost(price):
        above = table(y == 0, [0, 1, price]) + table(y == 1, [4, 0, price])
        return Share(r, above, table(every, [1, 1, 1]))

    return on(every), on(r.sex == "f"), on(r.sex == "m"), cost


def onehot(decisions):
    return np.eye(3)[decisions]


def problem(rng, r, seen):
    """Text, sense, objective and limits (value of parts, sign, level, forms) of a random goal."""
    every, f, m, cost = shares(r)
    c, d, e = rng.uniform(0.5, 0.95), rng.uniform(0.05, 0.4), rng.uniform(0.1, 0.6)
    apart = [(f["deferral"], m["deferral"], d)]
    menu = [
        (
            f"minimize deferral_rate subject to accuracy.decided >= {c}",
            -1, every["deferral"], [(every["accuracy.decided"], 1, c)], [],
        ),
        (
            f"minimize deferral_rate subject to accuracy.decided >= {c} and "
            f"deferral_rate.difference(sex) <= {d}",
            -1, every["deferral"], [(every["accuracy.decided"], 1, c)], apart,
        ),
        (
            f"maximize recall subject to precision >= {c} and deferral_rate <= {e}",
            1, every["recall"], [(every["precision"], 1, c), (every["deferral"], -1, e)], [],
        ),
        (
            f"minimize cost({{(0,1):1,(1,0):4,(0,'defer'):{d},(1,'defer'):{d}}})",
            -1, cost(d), [], [],
        ),
        (
            f"minimize deferral_rate subject to recall.decided >= {c} and "
            f"accuracy.on(sex='f').decided >= {e}",
            -1, every["deferral"],
            [(every["recall.decided"], 1, c), (f["accuracy.decided"], 1, e)], [],
        ),
        (
            f"maximize accuracy.decided subject to deferral_rate <= {e}",
            1, every["accuracy.decided"], [(every["deferral"], -1, e)], [],
        ),
        (
            f"minimize deferral_rate subject to accuracy.on(sex='f').decided >= {c} and "
            f"accuracy.on(sex='m').decided >= {c}",
            -1, every["deferral"],
            [(f["accuracy.decided"], 1, c), (m["accuracy.decided"], 1, c)], [],
        ),
    ]  # fmt: skip
    return menu[int(rng.integers(len(menu)))]


def best_rule(r, seen, sense, objective, limits, apart):
    """The best value of all deterministic rules; None where none meets the limits."""
    p = onehot(r.decisions(seen))
    met = np.ones(len(p), bool)
    for share, sign, level in limits:
        met &= sign * (share.value(p) - level) >= -TOL
    for one, other, level in apart:
        met &= np.abs(one.value(p) - other.value(p)) <= level + TOL
    return sense * (sense * objective.value(p))[met].max() if met.any() else None


def best_mixture(r, seen, sense, objective, limits, apart):
    """The best value of all draws among pairs, by a linear program with a variable for each."""
    blocks = r.blocks(seen)
    sizes = [len(b) for b in blocks]
    cells = [onehot(np.maximum(b, 0)) * (b >= 0)[..., None] for b in blocks]
    p = np.concatenate(cells)  # features are sums over blocks
    above, below = objective.parts(p)
    rows, at = [], []
    for share, sign, level in limits:
        a, b = share.parts(p)
        rows.append(-sign * (a - level * b))
        least = share.below[share.below > 0].min()
        if sign > 0:  # at 0/0 a share is 0, and so is one of less than a row
            at.append((-b, -least))
    for one, other, _ in apart:
        a, b = one.parts(p), other.parts(p)
        # Denominators of deferral rates are the weights of all rows.
        first, second = (x.below[:, 0].sum() for x in (one, other))
        rows += [a[0] / first - b[0] / second, b[0] / second - a[0] / first]
    const = [0.0] * (len(rows) - 2 * len(apart)) + [x[2] for x in apart for _ in range(2)]
    eq = np.zeros((len(blocks), len(p)))
    for k in range(len(blocks)):
        eq[k, sum(sizes[:k]) : sum(sizes[: k + 1])] = 1.0
    # Charnes and Cooper: x = t p, below @ x = 1.
    ineq = [np.append(row, -c) for row, c in zip(rows, const, strict=True)]
    ineq += [np.append(row, -c) for row, c in at]
    least = objective.below[objective.below > 0].min()
    found = linprog(
        np.append(-sense * above, 0.0),
        np.array(ineq) if ineq else None,
        np.zeros(len(ineq)) if ineq else None,
        np.concatenate([np.append(below, 0.0)[None], np.column_stack([eq, -np.ones(len(eq))])]),
        np.append(1.0, np.zeros(len(eq))),
        bounds=[(0, None)] * len(p) + [(0, 1.0 / least)],
        method="highs",
    )
    return sense * -found.fun if found.status == 0 else None


def solved(text, r, seen, randomized):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return solve(
                text,
                r.s,
                r.y,
                sample_weight=r.weight,
                sensitive_features={"sex": r.sex},
                decide_on=["sex"] if seen else None,
                randomized=randomized,
            )
        except InfeasibleError:
            return None


def probabilities(solution, r, seen):
    if not seen:
        return solution.rule.distribution(r.s)
    at = [dict(key)["sex"] for key in solution.rule.segments].index("f")
    return solution.rule.distribution(r.s, np.where(r.sex == "f", at, 1 - at))


@over("seed", range(200))
def test_rule_without_draws_is_the_best_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    r, seen = Rows(rng), bool(rng.integers(2))
    text, sense, objective, limits, apart = problem(rng, r, seen)
    best = best_rule(r, seen, sense, objective, limits, apart)
    solution = solved(text, r, seen, randomized=False)
    if best is None:
        assert solution is None
        return
    assert solution is not None, text
    p = probabilities(solution, r, seen)
    assert set(np.unique(p)) <= {0.0, 1.0}
    value = float(objective.value(p))
    assert value == pytest.approx(best, abs=1e-9), text
    assert solution.report.objective.value == pytest.approx(best, abs=1e-9)
    assert solution.report.certificate.gap == pytest.approx(0.0, abs=1e-9)


@over("seed", range(100))
def test_what_multipliers_leave_holds_the_best_of_all_pairs(seed, monkeypatch):
    """The way of many rows, where not all pairs are tried: the gap holds, and is mostly 0."""
    monkeypatch.setattr("setpoint.search.binary.cutoffs.BandSegment.at_once", 0)
    monkeypatch.setattr("setpoint.search.binary.cutoffs.BandSegment.at_last", 0)
    rng = np.random.default_rng(2000 + seed)
    r, seen = Rows(rng), bool(rng.integers(2))
    text, sense, objective, limits, apart = problem(rng, r, seen)
    best = best_rule(r, seen, sense, objective, limits, apart)
    solution = solved(text, r, seen, randomized=False)
    if best is None:
        assert solution is None
        return
    assert solution is not None, text
    value = float(objective.value(probabilities(solution, r, seen)))
    found = solution.report.certificate
    assert sense * (best - value) + 1e-9 >= 0.0
    assert sense * (best - value) <= found.gap + 1e-9, text
    assert value == pytest.approx(best, abs=1e-9), text


@over("seed", range(200))
def test_draw_is_the_best_of_a_linear_program_over_all_pairs(seed):
    rng = np.random.default_rng(1000 + seed)
    r, seen = Rows(rng), bool(rng.integers(2))
    text, sense, objective, limits, apart = problem(rng, r, seen)
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


GOALS = (
    "minimize deferral_rate subject to accuracy.decided >= 0.8",
    "maximize recall subject to precision >= 0.8 and deferral_rate <= 0.3",
    "minimize cost({(0,1):1,(1,0):4,(0,'defer'):0.3,(1,'defer'):0.3})",
)


@pytest.mark.parametrize("text", GOALS)
@pytest.mark.parametrize("randomized", [False, True])
def test_weights_and_order_do_not_matter(text, randomized):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 80)
    s = np.round(rng.normal(size=80) + 1.5 * y, 1)
    w = rng.integers(0, 3, 80).astype(float)

    def found(s, y, w):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = solve(text, s, y, sample_weight=w, randomized=randomized)
        return solution.report.objective.value, solution.rule

    value, rule = found(s, y, w)
    repeated = np.repeat(np.arange(80), w.astype(int))
    for other in (
        found(s[repeated], y[repeated], None),
        found(s[w > 0], y[w > 0], w[w > 0]),
    ):
        assert other[0] == pytest.approx(value, abs=1e-9)
        np.testing.assert_allclose(
            other[1].distribution(s[w > 0]), rule.distribution(s[w > 0]), atol=1e-9
        )
    order = rng.permutation(80)
    assert found(s[order], y[order], w[order]) == (value, rule)


def test_constants_and_counts():
    """The report counts deferred rows by label, and all shares add up."""
    y, s = np.array([0, 0, 1, 0, 1, 1]), np.arange(6.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = solve("minimize deferral_rate subject to accuracy.decided >= 1", s, y)
    np.testing.assert_array_equal(solution.rule.decide(s), [0, 0, 2, 2, 1, 1])
    assert solution.report.objective.value == pytest.approx(2 / 6)


def scored(n=400):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return np.round(rng.normal(size=n) + 1.2 * y, 2), y


def test_a_price_at_which_nobody_is_deferred_is_warned_of():
    s, y = scored()
    goal = "minimize cost({(0,1):1,(1,0):1,(0,'defer'):0.9,(1,'defer'):0.9})"
    with pytest.warns(ConstantGoalWarning, match="defers nobody$"):
        solve(goal, s, y)


def test_a_price_at_which_everybody_is_deferred_is_warned_of():
    s, y = np.zeros(10), np.arange(10) % 2  # the score says nothing: a decision costs 0.5
    goal = "minimize cost({(0,1):1,(1,0):1,(0,'defer'):0.2,(1,'defer'):0.2})"
    with pytest.warns(ConstantGoalWarning, match="deferring everybody attains the optimum"):
        solve(goal, s, y)


@pytest.mark.parametrize("decide_on", [None, ["sex"]])
@pytest.mark.parametrize("randomized", [False, True, "auto"])
def test_frontier_is_solved_at_each_bound(randomized, decide_on):
    s, y = scored()
    sex = np.random.default_rng(1).choice(["f", "m"], len(y))
    goal = "minimize deferral_rate subject to accuracy.decided >= {}"
    given = {"sensitive_features": {"sex": sex}, "decide_on": decide_on}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = solve(goal.format(0.9), s, y, **given)
        evidence = evidence_of(goal.format(0.9), s, y, sex, decide_on)
        found = frontier(evidence, goal.format(0.9), values=[0.8, 0.9], randomized=randomized)
        assert len(frontier(evidence, goal.format(0.9), randomized=randomized).values) > 5
    if randomized is False:
        assert found.values[1] == pytest.approx(solution.report.objective.value, abs=1e-9)
    else:
        assert found.values[1] <= solution.report.objective.value + 1e-9
    assert found.values[0] < found.values[1]


def evidence_of(text, s, y, sex, decide_on):
    return Evidence.from_arrays(
        (0, 1, DEFERRED),
        s,
        y,
        needs=as_goal(text).needs,
        columns={"sex": sex},
        decide_on=decide_on or (),
    )
