"""Frontiers against brute force over thresholds, and against a solve for each bound."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from oracles.binary import Mcc
from oracles.problems import random_case
from search.samples import linked
from setpoint import Goal, InfeasibleError
from setpoint.errors import GoalError
from setpoint.program import link
from setpoint.search import ConstantGoalWarning, CutoffSet, frontier_exact, solve_exact
from thinning import over


@cache
def case_of(seed):
    """A random case, and which of its bounds moves."""
    case = random_case(seed)
    if not case.goal.constraints:
        pytest.skip("no bound to move")
    return case, int(np.random.default_rng(seed).integers(len(case.goal.constraints)))


def moved(case, i, level):
    """The program of a case with one bound moved, and its oracle."""
    limits = list(case.oracle.limits)
    limits[i] = replace(limits[i], level=level)
    return case.program.at_level(i, level), replace(case.oracle, limits=tuple(limits))


def levels_near(rng, frontier):
    """Some breakpoints, what lies just beside them and between them, and beyond the last."""
    known = frontier.bounds[np.isfinite(frontier.bounds)]
    some = rng.choice(known, min(len(known), 4), replace=False)
    spread = np.ptp(known) + 0.1
    near = [some, some - 1e-6, some + 1e-6]
    inside = rng.uniform(known.min() - 0.1, known.max() + 0.1, 3)
    return np.concatenate([*near, inside, [known.min() - spread, known.max() + spread]])


@over("seed", range(110), every=3)
def test_steps_against_brute_force(seed):
    (case, i), rng = case_of(seed), np.random.default_rng(seed)
    try:
        found = frontier_exact(case.goal, case.evidence, i, randomized=False)
    except InfeasibleError:
        for level in (-1e9, 1e9):
            assert moved(case, i, level)[1].best_threshold[0] == -np.inf
        return
    assert found.kind == "steps"
    assert (np.diff(found.bounds) > 0).all()
    exact = 1e-7 if isinstance(case.oracle.objective, Mcc) else 1e-9
    for level in levels_near(rng, found):
        best, _ = moved(case, i, level)[1].best_threshold
        got = float(found.at(level))
        if best == -np.inf:
            assert np.isnan(got)
        else:
            assert case.oracle.sense * got == pytest.approx(best, abs=exact)


@over("seed", range(66), every=9)
def test_mixtures_against_a_solve_for_each_bound(seed):
    (case, i), rng = case_of(seed), np.random.default_rng(seed)
    if not case.mixable:
        pytest.skip("no search over mixtures")
    try:
        whole = frontier_exact(case.goal, case.evidence, i, randomized=True)
    except InfeasibleError:
        for level in (-1e9, 1e9):
            with pytest.raises(InfeasibleError):
                solve_exact(moved(case, i, level)[0], case.evidence, randomized=True)
        return
    levels = np.unique(levels_near(rng, whole))
    given = frontier_exact(case.goal, case.evidence, i, levels, randomized=True)
    for k, level in enumerate(levels):
        program, _ = moved(case, i, level)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantGoalWarning)
            try:
                outcome = solve_exact(program, case.evidence, randomized=True)
            except InfeasibleError:
                outcome = None
        if outcome is None:
            assert np.isnan(given.values[k])
            continue
        value = float(program.value(outcome.values))
        if outcome.status == "optimal":
            assert given.values[k] == pytest.approx(value, abs=1e-7)
            if whole.kind == "lines":
                assert float(whole.at(level)) == pytest.approx(value, abs=1e-7)


def rows(n=400, groups=False):
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.3).astype(int)
    g = rng.choice(["a", "b"], n)
    s = rng.normal(size=n) + 1.2 * y + 0.4 * (g == "a")
    if groups:
        return made("accuracy subject to recall.difference(g) <= 0.1", s, y, g, decide_on=("g",))
    return made("recall subject to precision >= 0.6", s, y, g)


def made(text, s, y, g=None, **more):
    """A goal and its evidence."""
    program, evidence = linked(
        f"maximize {text}", s, y, columns={} if g is None else {"g": g}, **more
    )
    return program.goal, evidence


def test_thresholds_of_the_steps_reach_what_is_said():
    goal, evidence = rows()
    found = frontier_exact(goal, evidence, randomized=False)
    assert len(found.thresholds) > 10
    for t, bound, value in zip(found.thresholds, found.bounds, found.values, strict=True):
        accepted, y = evidence.scores >= t, evidence.rows.true == 1
        assert value == pytest.approx((accepted & y).sum() / y.sum())
        if accepted.any():
            assert bound == pytest.approx((accepted & y).sum() / accepted.sum())


def test_values_take_the_steps_at_these_bounds_and_say_nothing_of_others():
    goal, evidence = rows()
    levels = [0.95, 0.5, 0.6]
    whole = frontier_exact(goal, evidence, randomized=False)
    some = frontier_exact(goal, evidence, values=levels, randomized=False)
    assert some.bounds.tolist() == sorted(levels)
    np.testing.assert_array_equal(some.values, whole.at(sorted(levels)))
    assert (some.reached >= some.bounds - 1e-9).all()
    assert some.kind == "points"
    assert np.isnan(some.at([0.4, 0.96])).all()
    assert np.isfinite(some.at([0.5, 0.55, 0.95])).all()
    assert type(some.at(0.6)) is float
    assert some.at([0.6]).shape == (1,)


@over("randomized", [False, True])
def test_thinned_keeps_the_ends_and_what_is_asked(randomized):
    found = frontier_exact(*rows(3000, groups=randomized), randomized=randomized)
    thin = found.thinned(10)
    assert 4 <= len(thin.bounds) <= 10 < len(found.bounds)
    assert (thin.bounds[0], thin.bounds[-1]) == (found.bounds[0], found.bounds[-1])
    assert found.thinned(10_000) is found
    assert thin.at(found.asked) == pytest.approx(found.at(found.asked), abs=1e-12)
    assert thin.thresholds is None or len(thin.bounds) == len(thin.thresholds)
    with pytest.raises(ValueError, match="at least 7"):
        found.thinned(6)


def test_a_divergence_that_is_infinite_without_its_bound():
    y, s = np.array([0, 0, 1, 1, 0, 1]), np.array([0.1, 0.4, 0.35, 0.8, 0.7, 0.9])
    given = made("predicted_rate subject to prior_divergence <= 0.1", s, y)
    found = frontier_exact(*given, randomized=True)
    assert np.isfinite(found.bounds).all()
    assert (np.diff(found.values[np.isfinite(found.values)]) >= -1e-9).all()
    program = link(given[0], given[1].codebook).at(given[1].marginals)
    best = float(program.value(solve_exact(program, given[1], randomized=True).values))
    assert float(found.at(0.1)) == pytest.approx(best, abs=1e-7)


def test_a_laxer_bound_is_never_worse_even_at_stationary_points():
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.3).astype(int)
    s = np.round(rng.normal(size=200) + y, 1)
    given = made("recall + precision subject to false_positive_rate <= 0.3", s, y)
    levels = [0.01, 0.05, 0.1, 0.2, 0.3]
    drawn, plain = (frontier_exact(*given, values=levels, randomized=r) for r in (True, False))
    assert (np.diff(drawn.values) >= 0.0).all()
    assert (drawn.values >= plain.values).all()


def both():
    goal, evidence = rows(groups=True)
    return goal.subject_to(*rows()[0].constraints), evidence


PRECISE = "maximize recall subject to precision >= 0.5"
IN_BETWEEN = "maximize recall subject to 0.5 <= precision <= 0.9"
NEVER = f"{PRECISE} and false_positive_rate <= 0 and recall >= 0.9"


@over(
    ("goal", "vary", "error", "message"),
    [
        (None, None, GoalError, "the goal has 2; pass `vary`, one of '.*' or '"),
        ("maximize f1", None, GoalError, "pass a constraint such as 'precision >= 0.9'"),
        (None, 2, GoalError, "a number from 0 to 1, got 2"),
        (None, "recal", GoalError, "the left side of no constraint"),
        (None, "precision subject to f1 >= 0.2", GoalError, "'subject to' appears twice"),
        (None, "0.2 <= precision <= 0.3", GoalError, "one constraint, got 2"),
        (None, True, TypeError, "`vary` is a constraint"),
        (None, 2.0, TypeError, "`vary` is a constraint"),
        (IN_BETWEEN, "precision", GoalError, "left side of several constraints"),
        (IN_BETWEEN, "precision >= 0.6", GoalError, r"a second bound beside 'precision >= 0\.5'"),
        (NEVER, "precision", InfeasibleError, "no rule meets the other constraints either"),
    ],
)
@over("randomized", [False, True])
def test_unclear_constraints_are_refused(goal, vary, error, message, randomized):
    given = both() if goal is None else (Goal.parse(goal), rows()[1])
    with pytest.raises(error, match=message):
        frontier_exact(*given, vary, randomized=randomized)


@over("values", [[], [np.nan], [[0.1, 0.2]], 0.3, [np.inf]])
def test_bounds_are_a_list_of_finite_numbers(values):
    with pytest.raises(ValueError, match="`values` is a list of finite numbers"):
        frontier_exact(*rows(), values=values)


def test_a_confidence_stays_with_the_bound_that_moves():
    _, evidence = rows()
    goal = Goal.parse(f"{PRECISE} with confidence 0.99")
    (sure,) = goal.constraints
    plain = frontier_exact(Goal.parse(PRECISE), evidence)
    for vary in (None, 0, "precision", "precision >= 0.5", sure, str(sure)):
        found = frontier_exact(goal, evidence, vary)
        assert (found.goal, found.vary) == (str(goal), str(sure))
        np.testing.assert_array_equal(found.values, plain.values)
    with pytest.raises(GoalError, match=r"a second bound beside 'precision >= 0\.5 with confid"):
        frontier_exact(goal, evidence, "precision >= 0.5 with confidence 0.9")
    both = Goal.parse(f"{goal} and precision >= 0.5")
    assert frontier_exact(both, evidence, "precision >= 0.5").vary == "precision >= 0.5"
    assert frontier_exact(Goal.parse(IN_BETWEEN), evidence, 1).relation == "<="


@over("randomized", [False, True])
@over("decide_on", [(), ("g",)])
@over("values", [None, [0.5, 0.6, 0.7, 0.99]])
def test_each_point_keeps_its_rule(randomized, decide_on, values):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 30)
    s = np.round(rng.normal(size=30) + y, 1)
    group = np.where(rng.random(30) < 0.5, "a", "b")
    text = "recall subject to precision >= 0.6"
    goal, evidence = made(text, s, y, group, decide_on=decide_on)
    found = frontier_exact(goal, evidence, values=values, randomized=randomized)
    program = link(goal, evidence.codebook).at(evidence.marginals)
    problem = CutoffSet(program.table, evidence)
    assert len(found.choices) == len(found.bounds) > 2
    for bound, value, side, choice in zip(
        found.bounds, found.values, found.reached, found.choices, strict=True
    ):
        assert (choice is None) == np.isnan(value)
        if choice is None:
            continue
        v = problem.features(choice)
        assert float(program.value(v)) == pytest.approx(value, abs=1e-9)
        assert float(program.constraints[0].function.value(v)) == pytest.approx(side, abs=1e-8)
        assert side >= bound - 1e-8
    assert len(found.thinned(7).choices) <= 7
    assert "choices" not in found.to_dict()


def by_hand(scores, true, group, levels):
    """The best accuracy under each cap on the difference of shares accepted, by all thresholds."""
    right, share = np.zeros(1), np.zeros((1, 0))
    for g in range(3):
        s, t = scores[group == g], true[group == g]
        accepted = s >= np.append(np.unique(s), np.inf)[:, None]
        hits = (accepted == (t == 1)).sum(axis=1)
        own = accepted.mean(axis=1)
        right = (right[:, None] + hits).ravel()
        share = np.hstack([np.repeat(share, len(own), axis=0), np.tile(own, len(share))[:, None]])
    apart = np.ptp(share, axis=1)
    return np.array([right[apart <= k + 1e-9].max() for k in levels]) / len(true)


SMALL = {
    "cutoffs.Segment.at_once": 100,
    "cutoffs.Segment.at_last": 100,
    "deterministic.NEAR_A_MIXTURE": 8,
    "solver.NEAR_A_MIXTURE": 8,
    "proving._ALL_TRIED": 6,
    "proving._TRIED": 1,
    "proving._WORK": 100_000,
}


@over("seed", range(8), every=8)
def test_a_search_for_each_bound_finds_what_all_combinations_hold(seed, monkeypatch):
    room = "setpoint.search.binary"
    # A sweep over levels would leave nothing to branch and bound.
    monkeypatch.setattr(f"{room}.levels.solve_by_levels", lambda *args: None)
    for name, value in SMALL.items():
        monkeypatch.setattr(f"{room}.{name}", value)
    rng = np.random.default_rng(seed)
    true, group = rng.integers(0, 2, 40), np.arange(40) % 3
    scores = np.round(rng.normal(size=40) + true + 0.5 * group, 2)
    text = "accuracy subject to predicted_rate.difference(g) <= 0.1"
    goal, evidence = made(text, scores, true, group, decide_on=("g",))
    levels = np.linspace(0.0, 0.5, 12)
    found = frontier_exact(goal, evidence, values=levels)
    assert found.kind == "points"
    assert found.gap == 0.0
    np.testing.assert_allclose(found.values, by_hand(scores, true, group, levels), atol=1e-12)
    assert (found.reached <= levels + 1e-9).all()
    every = frontier_exact(goal, evidence)
    assert every.gap == 0.0
    best = by_hand(scores, true, group, every.bounds)
    np.testing.assert_allclose(every.values, best, atol=1e-12)
    with monkeypatch.context() as patch:
        patch.setattr(f"{room}.proving._MOST_BOXES", 1)
        early = frontier_exact(goal, evidence)
    assert early.gap > 0.0
    best = by_hand(scores, true, group, early.bounds)
    assert (early.values <= best + 1e-12).all()
    assert (best - early.values <= early.gaps + 1e-12).all()
    assert early.gap == early.gaps.max()
    # What is left open under one bound is not laid on those that are settled.
    assert early.gaps.min() < early.gap
