"""Rules that look at values: against a linear program with a variable a row, and all subsets."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from oracles.values import Sample, goal_of, met
from setpoint import Goal
from setpoint.counts import Evidence
from setpoint.plugin import Options, search_rule
from setpoint.search import InfeasibleError
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.search.achievable.ConstantGoalWarning")
TOL = 1e-6


def searched(r, text, randomized):
    """What is found by posteriors and values, and who is accepted; None where nothing is."""
    goal = Goal.parse(text)
    by_group = ("g",) if "(g)" in text else ()
    rows = Evidence.from_arrays(
        *((0, 1), r.scores, r.y), needs=goal.needs, decide_on=by_group, **r.given
    )
    evidence = rows.with_values(goal.needs.measure_names)
    options = Options.of("auto", evidence="soft", randomized=randomized)
    try:
        found = search_rule(goal, evidence, options)
    except InfeasibleError:
        return None, None
    segments = evidence.rows.segment if found.rule.needs_segments else None
    return found, found.rule.distribution(evidence.scores, segments)[:, 1]


@over("seed", range(300), every=10)
def test_draws_reach_what_a_variable_a_row_does(seed):
    r = Sample(seed, 40)
    text, gains, rows = goal_of(r)
    A, b = [a for a, *_ in rows] or None, [b for _, b, _ in rows] or None
    lp = linprog(-gains, A_ub=A, b_ub=b, bounds=(0.0, 1.0))
    found, d = searched(r, text, randomized=True)
    if lp.status == 2:
        assert found is None
        return
    size = 1.0 + abs(lp.fun)
    assert met(rows, d, TOL)
    assert gains @ d >= -lp.fun - 1e-4 * size
    assert found.certificate.gap is not None
    assert gains @ d + found.certificate.gap >= -lp.fun - TOL * size
    if "tn=" not in text:  # there accepting nobody is worth something
        sense = 1.0 if text.startswith("maximize") else -1.0
        assert gains @ d == pytest.approx(sense * found.by_posteriors, abs=1e-9 * size)


@over("seed", range(300), every=10)
def test_the_gap_covers_all_subsets(seed):
    r = Sample(seed, 10)
    text, gains, rows = goal_of(r)
    every = np.array(list(product((0.0, 1.0), repeat=r.n)))
    kept = met(rows, every, 1e-9)
    found, d = searched(r, text, randomized=False)
    if found is None:
        assert not kept.any()
        return
    assert set(np.unique(d)) <= {0.0, 1.0}
    assert met(rows, d, TOL)
    assert found.certificate.gap is not None
    best = (every @ gains)[kept].max()
    assert best <= gains @ d + found.certificate.gap + TOL * (1.0 + abs(best))
