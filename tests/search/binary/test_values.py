"""Values of rows: thresholds against all cut-offs, and what may not make a difference."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from oracles.values import GOALS, Sample, goal_of, met
from search.samples import linked
from setpoint import solve
from setpoint.search import InfeasibleError, solve_exact
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.search.achievable.ConstantGoalWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.report.report.FewRowsWarning"),
]


def decided(r, segments):
    """Decisions (rules, N) of all thresholds."""
    cuts = [
        [own & (r.scores >= t) for t in (*np.unique(r.scores[own]), np.inf)] for own in segments
    ]
    return np.array([np.any(chosen, axis=0) for chosen in product(*cuts)], float)


@over("seed", range(300), every=10)
@over("by_group", [False, True])
def test_thresholds_are_the_best_of_all_cutoffs(seed, by_group):
    r = Sample(seed, 6 + seed % 20, by_labels=True)
    text, gains, rows = goal_of(r)
    program, evidence = linked(
        *(text, r.scores, r.y), decide_on=("g",) if by_group else (), **r.given
    )
    every = decided(r, [r.g == "a", r.g == "b"] if by_group else [np.ones(r.n, bool)])
    kept = met(rows, every, 1e-9)
    if not kept.any():
        with pytest.raises(InfeasibleError):
            solve_exact(program, evidence)
        return
    best = (every @ gains)[kept].max()
    found = solve_exact(program, evidence)
    segment = evidence.rows.segment if by_group else None
    d = found.rule.distribution(evidence.scores, segment)[:, 1]
    assert met(rows, d, 1e-9)
    # Without the constant of a profit: what accepting nobody is worth.
    nobody = program.value(program.rates_of(evidence.rows.confusion(np.zeros(r.n, int)).counts))
    sense = 1.0 if text.startswith("maximize") else -1.0
    reached = sense * float(program.value(found.values) - nobody)
    assert gains @ d == pytest.approx(reached, abs=1e-9)
    if not by_group or found.status == "optimal":
        assert reached == pytest.approx(best, rel=1e-7, abs=1e-9)
    gap = found.certificate.gap
    assert gap is None or best <= reached + gap + 1e-7 * (1 + abs(best))


@over("seed", range(0, 300, 4), every=3)
def test_draws_reach_what_a_linear_program_does(seed):
    r = Sample(seed, 6 + seed % 20, by_labels=True)
    text, gains, ((rates, most, _),) = GOALS["capped"](r)
    program, evidence = linked(text, r.scores, r.y, **r.given)
    found = solve_exact(program, evidence, randomized=True)
    cuts = decided(r, [np.ones(r.n, bool)])
    shares = np.ones((1, len(cuts)))
    lp = linprog(-cuts @ gains, A_ub=[cuts @ rates], b_ub=[most], A_eq=shares, b_eq=[1.0])
    assert program.value(found.values) == pytest.approx(-lp.fun, abs=1e-7)


def sample():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 60)
    return np.round(rng.normal(size=60) + y, 1), y, rng.exponential(2.0, 60)


@over(
    ("goal", "other", "scale"),
    [
        # Other units are another scale.
        (
            "maximize profit(tp=x - 1, fp=-1) subject to predicted_rate <= 0.5",
            "maximize profit(tp=100 * x - 100, fp=-100) subject to predicted_rate <= 0.5",
            100.0,
        ),
        # Numbers alone are costs.
        (
            "maximize profit(tp=3, fp=-2, fn=-1, tn=0.5)",
            "minimize cost({(1, 1): -3, (0, 1): 2, (1, 0): 1, (0, 0): -0.5})",
            -1.0,
        ),
        # Equal amounts do not weigh.
        *(
            (f"maximize {metric}", f"maximize {metric}.weighted(four)", 1.0)
            for metric in ("recall", "f1", "precision", "accuracy", "g_mean")
        ),
    ],
)
def test_the_same_goal_in_other_words(goal, other, scale):
    s, y, x = sample()
    columns = {"sensitive_features": {"x": x, "four": np.full(60, 4.0)}, "decide_on": None}
    first, second = (solve(text, s, y, **columns) for text in (goal, other))
    assert first.rule == second.rule
    assert second.report.objective.value == pytest.approx(scale * first.report.objective.value)


def test_amounts_that_weigh_all_are_sample_weights():
    s, y, x = sample()
    goal = "maximize recall.weighted(x) subject to precision.weighted(x) >= 0.6"
    first = solve(goal, s, y, sensitive_features={"x": x}, decide_on=None)
    second = solve(goal.replace(".weighted(x)", ""), s, y, sample_weight=x)
    assert first.rule == second.rule
    assert first.report.objective.value == pytest.approx(second.report.objective.value)
