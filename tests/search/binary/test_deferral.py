"""Goals that defer, against all pairs of cut-offs and linear programs over them."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.binary import INF, Limit, Lin, Many, Oracle, Ratio
from setpoint import InfeasibleError, frontier, solve
from setpoint.counts import DEFERRED, Evidence
from setpoint.goals import as_goal
from setpoint.search import ConstantGoalWarning
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore")
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
        """Answers (pairs, 3 N) of all pairs of cut-offs on some rows; none on the others."""
        cuts = [np.inf, *np.unique(self.s[where])[::-1]]
        answers = [
            np.where(self.s >= high, ACCEPT, np.where(self.s < low, REJECT, DEFER))
            for a, high in enumerate(cuts)
            for low in cuts[a:]
        ]
        return (np.eye(3)[np.array(answers)] * where[:, None]).reshape(len(answers), -1)

    def share(self, above, below, where=True):
        """The weight of rows with some answers among that of others, by tables (N, 3)."""
        w = (self.w * where)[:, None]
        return Ratio(Lin((above * w).ravel()), Lin((below * w).ravel()))


def problem(rng, r, seen):
    """The text of a goal, and its oracle."""
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
    of_f, of_m = ((1 / r.w[where].sum()) * deferral(where).above for where in (f, m))
    apart = Limit(Many("abs", (of_f - of_m,)), d, -1)
    fewest = "minimize deferral_rate subject to"
    menu = [
        (f"{fewest} accuracy.decided >= {c}", deferral(), [Limit(accuracy(), c, 1)]),
        (
            f"{fewest} accuracy.decided >= {c} and deferral_rate.difference(sex) <= {d}",
            *(deferral(), [Limit(accuracy(), c, 1), apart]),
        ),
        (
            f"maximize recall subject to precision >= {c} and deferral_rate <= {e}",
            *(recall, [Limit(precision, c, 1), Limit(deferral(), e, -1)]),
        ),
        (f"minimize cost({{(0,1):1,(1,0):4,(0,'defer'):{d},(1,'defer'):{d}}})", cost, []),
        (
            f"{fewest} recall.decided >= {c} and accuracy.on(sex='f').decided >= {e}",
            *(deferral(), [Limit(caught, c, 1), Limit(accuracy(f), e, 1)]),
        ),
        (
            f"maximize accuracy.decided subject to deferral_rate <= {e}",
            *(accuracy(), [Limit(deferral(), e, -1)]),
        ),
        (
            f"{fewest} accuracy.on(sex='f').decided >= {c} and accuracy.on(sex='m').decided >= {c}",
            *(deferral(), [Limit(accuracy(f), c, 1), Limit(accuracy(m), c, 1)]),
        ),
    ]
    text, objective, limits = menu[int(rng.integers(len(menu)))]
    oracle = Oracle(r, 1.0 if text.startswith("maximize") else -1.0, objective, tuple(limits))
    parts = (f, m) if seen else (np.ones(len(r.s), bool),)
    oracle.cutoffs = [r.pairs(where) for where in parts]
    return text, oracle


def solved(text, r, seen, randomized):
    options = {"sensitive_features": {"sex": r.sex}, "decide_on": ["sex"] if seen else None}
    try:
        return solve(text, r.s, r.y, sample_weight=r.weight, randomized=randomized, **options)
    except InfeasibleError:
        return None


def probabilities(solution, r, seen):
    if not seen:
        return solution.rule.distribution(r.s).ravel()
    at = [dict(key)["sex"] for key in solution.rule.segments].index("f")
    return solution.rule.distribution(r.s, np.where(r.sex == "f", at, 1 - at)).ravel()


def drawn(seed):
    """Rows, whether the rule sees the sex, a goal, and its oracle."""
    rng = np.random.default_rng(seed)
    r, seen = Rows(rng), bool(rng.integers(2))
    return r, seen, *problem(rng, r, seen)


@over("seed", range(300), every=10)
@over("many_rows", [False, True])
def test_rule_without_draws_is_the_best_of_all_pairs(seed, many_rows, monkeypatch):
    """Also as many rows are searched, by what multipliers leave."""
    r, seen, text, oracle = drawn(seed + 2000 * many_rows)
    best, _ = oracle.best_threshold
    with monkeypatch.context() as patch:
        for name in ("at_once", "at_last") if many_rows else ():
            patch.setattr(f"setpoint.search.binary.cutoffs.BandSegment.{name}", 0)
        solution = solved(text, r, seen, randomized=False)
    if best == -INF:
        assert solution is None
        return
    assert solution is not None, text
    p = probabilities(solution, r, seen)
    value, gap = float(oracle.objective.value(p)), solution.report.certificate.gap
    assert set(np.unique(p)) <= {0.0, 1.0}
    assert oracle.sense * value == pytest.approx(best, abs=1e-9), text
    assert solution.report.objective.value == pytest.approx(value, abs=1e-9)
    assert gap >= 0.0 if many_rows else gap == pytest.approx(0.0, abs=1e-9)


@over("seed", range(1000, 1300), every=10)
def test_draw_is_the_best_of_a_linear_program_over_all_pairs(seed):
    r, seen, text, oracle = drawn(seed)
    best = oracle.best_mixture()
    solution = solved(text, r, seen, randomized=True)
    if best == -INF:
        assert solution is None
        return
    assert solution is not None, text
    p = probabilities(solution, r, seen)
    assert oracle.violation(p) <= 1e-8
    assert oracle.sense * float(oracle.objective.value(p)) == pytest.approx(best, abs=1e-7), text
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
