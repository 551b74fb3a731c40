"""Values of rows: thresholds against all cut-offs, and what may not make a difference."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from oracles.values import GOALS, Sample, goal_of, met
from search.samples import linked
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
