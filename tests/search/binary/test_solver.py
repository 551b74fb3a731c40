"""What the exact solver promises beside the optimum."""

import pickle
import warnings
from string import ascii_lowercase

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint import Goal
from setpoint.counts import Evidence
from setpoint.errors import ShapeError
from setpoint.program import link
from setpoint.rules import Mixture, PerSegment, Threshold
from setpoint.search import ConstantGoalWarning, InfeasibleError, solve_exact

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.search.achievable.ConstantGoalWarning")
seeds = st.integers(0, 2**32 - 1)
KINDS = pytest.mark.parametrize("randomized", [False, True, "auto"])
GOALS = (
    "maximize f1",
    "maximize recall subject to precision >= 0.6",
    "maximize accuracy subject to predicted_rate.difference(g) <= 0.1",
    "maximize g_mean subject to recall.difference(g) <= 0.2",
    "maximize f1.min(g)",
    "minimize error_rate subject to recall.on(g='a') >= 0.5",
)


def data(seed, n=40, groups=2, digits=1):
    """Scores, classes, groups and weights; every group has rows of both classes."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, n)
    group = rng.integers(0, groups, n)
    true[: 2 * groups] = np.arange(2 * groups) % 2
    group[: 2 * groups] = np.arange(2 * groups) // 2
    scores = np.round(rng.normal(size=n) + true, digits)
    return scores, true, np.array(list(ascii_lowercase))[group], rng.integers(1, 4, n).astype(float)


def evidence(goal, scores, true, group, weight=None, decide_on=("g",), **more):
    return Evidence.from_arrays(
        (0, 1),
        scores,
        true,
        needs=goal.needs,
        weight=weight,
        columns={"g": group},
        decide_on=decide_on,
        **more,
    )


def solve(text, scores, true, group=None, weight=None, decide_on=("g",), **options):
    options = {"randomized": "auto", **options}
    goal = Goal.parse(text)
    group = np.full(len(true), "a") if group is None else group
    rows = evidence(goal, scores, true, group, weight, decide_on)
    return (
        solve_exact(link(goal, rows.codebook).at(rows.marginals), rows, **options),
        rows,
        link(goal, rows.codebook).at(rows.marginals),
    )


# -- equivalences ---------------------------------------------------------------------------


@KINDS
@given(seed=seeds, text=st.sampled_from(GOALS))
def test_a_row_of_weight_two_is_two_rows(randomized, seed, text):
    scores, true, group, weight = data(seed)
    twice = np.repeat(np.arange(len(true)), weight.astype(int))
    assert_same(
        lambda: solve(text, scores, true, group, weight, randomized=randomized),
        lambda: solve(text, scores[twice], true[twice], group[twice], randomized=randomized),
    )


@KINDS
@given(seed=seeds, text=st.sampled_from(GOALS))
def test_the_order_of_rows_does_not_matter(randomized, seed, text):
    scores, true, group, weight = data(seed)
    order = np.random.default_rng(seed).permutation(len(true))
    arrays = [x[order] for x in (scores, true, group, weight)]
    assert_same(
        lambda: solve(text, scores, true, group, weight, randomized=randomized),
        lambda: solve(text, *arrays, randomized=randomized),
    )


@KINDS
@given(seed=seeds, text=st.sampled_from(GOALS))
def test_rows_of_weight_zero_are_absent(randomized, seed, text):
    scores, true, group, weight = data(seed)
    extra = data(seed + 1)
    joined = [np.concatenate(x) for x in zip((scores, true, group), extra[:3], strict=True)]
    weights = np.concatenate([weight, np.zeros(len(weight))])
    assert_same(
        lambda: solve(text, scores, true, group, weight, randomized=randomized),
        lambda: solve(text, *joined, weights, randomized=randomized),
    )


@KINDS
@given(seed=seeds, text=st.sampled_from(GOALS))
def test_only_the_ranking_of_scores_matters(randomized, seed, text):
    scores, true, group, weight = data(seed)

    def decisions(s):
        outcome, rows, _ = solve(text, s, true, group, weight, randomized=randomized)
        return outcome.rule.distribution(s, rows.rows.segment)

    # Above one no threshold is plain, so that not even ties go by more than the ranking.
    high = 2.0 + np.exp(scores)
    try:
        before = decisions(high)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            decisions(high**2)
        return
    np.testing.assert_array_equal(before, decisions(high**2))


def assert_same(one, two):
    """Both give the same rule, or neither meets the goal."""
    first, second = outcome_or_error(one), outcome_or_error(two)
    if isinstance(first, InfeasibleError):
        assert second.violation == pytest.approx(first.violation, abs=1e-12)
        return
    assert first.rule == second.rule
    assert first.status == second.status
    np.testing.assert_array_equal(first.values, second.values)


def outcome_or_error(run):
    try:
        return run()[0]
    except InfeasibleError as error:
        return error


# -- the rule and what is said of it --------------------------------------------------------


@KINDS
@given(seed=seeds, text=st.sampled_from(GOALS), visible=st.booleans())
def test_the_rule_decides_what_the_features_say(randomized, seed, text, visible):
    decide_on = ("g",) if visible else ()
    scores, true, group, weight = data(seed, groups=3)
    try:
        outcome, rows, program = solve(
            text, scores, true, group, weight, decide_on, randomized=randomized
        )
    except InfeasibleError:
        return
    segment = rows.rows.segment if visible else None
    counts = rows.rows.confusion(outcome.rule.distribution(scores, segment)).counts
    np.testing.assert_allclose(program.rates_of(counts), outcome.values, atol=1e-12)
    assert float(program.violation(program.rates_of(counts))) <= 1e-9
    for rule in outcome.rule.rules if isinstance(outcome.rule, PerSegment) else [outcome.rule]:
        assert isinstance(rule, (Threshold, Mixture))
        if isinstance(rule, Mixture):
            assert randomized is not False
            assert len(rule.atoms) <= len(program.rates) + 1


@given(seed=seeds, text=st.sampled_from(GOALS))
def test_the_gap_is_no_smaller_than_it_is(seed, text):
    scores, true, group, weight = data(seed)
    try:
        best = solve(text, scores, true, group, weight, randomized=True)[0]
    except InfeasibleError:
        return
    for tol in (0.0, 1e-4, 0.05):
        outcome, _, program = solve(text, scores, true, group, weight, tol=tol)
        assert outcome.status in ("optimal", "feasible")
        lost = program.sense * float(program.value(best.values) - program.value(outcome.values))
        assert -1e-9 <= lost <= outcome.certificate.gap + 1e-9 <= tol + 2e-9
        value = float(program.value(outcome.values)) + program.sense * outcome.certificate.gap
        assert outcome.certificate.bound == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        (4, "maximize accuracy subject to predicted_rate.difference(g) <= 0.02 and recall >= 0.4"),
        (8, "maximize g_mean subject to recall.difference(g) <= 0.1 and precision >= 0.5"),
        (26, "maximize accuracy subject to predicted_rate.deviation(g) <= 0.1"),
    ],
)
def test_too_many_combinations_are_rounded_and_say_so(groups, text):
    scores, true, group, weight = data(0, n=300 * groups, groups=groups, digits=4)
    fixed, rows, program = solve(text, scores, true, group, weight, randomized=False)
    mixed = solve(text, scores, true, group, weight, randomized=True)[0]
    assert len(rows.segments) == groups
    assert np.prod([float(rows.curve(s).n_cutoffs) for s in range(groups)]) > 1e6
    assert fixed.status == "feasible"
    assert not fixed.rule.randomized
    assert float(program.violation(fixed.values)) <= 1e-9
    lost = float(program.value(mixed.values) - program.value(fixed.values))
    assert 0.0 <= lost <= fixed.certificate.gap + 1e-9
    assert fixed.certificate.gap < 0.01
    assert mixed.status == "optimal"


@pytest.mark.parametrize("groups", [4, 26])
def test_one_difference_is_proved_for_any_number_of_groups(groups):
    scores, true, group, weight = data(0, n=300 * groups, groups=groups, digits=4)
    text = "maximize accuracy subject to predicted_rate.difference(g) <= 0.02"
    fixed, _, program = solve(text, scores, true, group, weight, randomized=False)
    mixed = solve(text, scores, true, group, weight, randomized=True)[0]
    assert (fixed.status, fixed.certificate.gap, fixed.rule.randomized) == ("optimal", 0.0, False)
    assert float(program.violation(fixed.values)) <= 1e-9
    gain = program.value(mixed.values) - program.value(fixed.values)
    assert 0.0 <= gain <= 0.02


def test_sums_of_ratios_end_at_a_stationary_point():
    scores, true, _, _ = data(3)
    outcome = solve("maximize recall + precision", scores, true, randomized=True)[0]
    assert outcome.status == "stationary"
    assert "conditional gradients" in outcome.why or "sweep" in outcome.why
    assert outcome.certificate.gap >= 0.0


def test_draws_are_announced():
    text = "maximize recall subject to precision >= 0.9"
    scores, true = np.arange(10.0), np.array([0, 0, 1, 0, 1, 0, 1, 1, 0, 1])
    drawn = solve(text, scores, true)[0]
    assert drawn.rule.rules[0].randomized
    assert "mixture" in drawn.why
    fixed = solve(text, scores, true, randomized=False)[0]
    assert not fixed.rule.randomized
    assert "no draws" in fixed.why


# -- traps ----------------------------------------------------------------------------------


@KINDS
def test_a_precision_floor_is_not_met_by_predicting_nobody(randomized):
    scores, true = np.arange(6.0), np.array([1, 1, 1, 0, 0, 0])
    for text in (
        "maximize specificity subject to precision >= 0.6",
        "minimize predicted_rate subject to precision >= 0.6",
        "maximize accuracy subject to precision >= 0.6",
    ):
        with pytest.raises(InfeasibleError):
            solve(text, scores, true, randomized=randomized)


@KINDS
def test_a_gap_is_not_a_deviation(randomized):
    """A bound on the largest difference of two groups is not one on the distance to the mean."""
    true = np.array([1, 1, 0, 0] * 10)
    group = np.array(["a", "a", "b", "b"] * 10)
    scores = true + np.linspace(0, 0.1, 40)
    gap = "maximize accuracy subject to predicted_rate.difference(g) <= 0.2"
    outcome, _, program = solve(gap, scores, true, group, randomized=randomized)
    rates = outcome.values[[f.event.words == "predicted" for f in program.rates]]
    assert np.ptp(rates) == pytest.approx(0.2, abs=1e-9)
    each = "maximize accuracy subject to predicted_rate.deviation(g) <= 0.2"
    wider, _, other = solve(each, scores, true, group, randomized=randomized)
    assert float(other.value(wider.values)) > float(program.value(outcome.values)) + 0.05


def test_a_ratio_of_groups_is_not_met_by_predicting_nobody():
    scores, true, group, _ = data(5)
    text = "minimize predicted_rate subject to predicted_rate.ratio(g) >= 0.8"
    outcome = solve(text, scores, true, group)[0]
    assert outcome.values.max() > 0.0


def test_wins_over_losses_hold_without_losses():
    goal = Goal.parse("maximize accuracy subject to win_loss_ratio >= 2")
    scores, true = np.arange(6.0), np.array([0, 0, 0, 1, 1, 1])
    deployed = np.array([0, 0, 1, 1, 1, 1])
    rows = evidence(goal, scores, true, np.full(6, "a"), baseline=deployed, decide_on=())
    outcome = solve_exact(link(goal, rows.codebook).at(rows.marginals), rows)
    assert outcome.rule == Threshold(2.5)
    # Here the one win costs one loss; agreeing with the deployed model wins nothing.
    scores, true, deployed = np.arange(4.0), np.array([0, 1, 0, 1]), np.array([0, 0, 0, 1])
    rows = evidence(goal, scores, true, np.full(4, "a"), baseline=deployed, decide_on=())
    with pytest.raises(InfeasibleError, match="highest reachable is 1,"):
        solve_exact(link(goal, rows.codebook).at(rows.marginals), rows)


# -- what cannot be met ---------------------------------------------------------------------


def test_one_hopeless_constraint_is_named_with_what_is_reachable():
    scores, true = np.arange(8.0), np.array([0, 1, 0, 1, 0, 1, 1, 0])
    text = "maximize recall subject to precision >= 0.95"
    with pytest.raises(InfeasibleError) as caught:
        solve(text, scores, true)
    error = caught.value
    message = str(error)
    assert "precision >= 0.95 cannot be met: the highest reachable is 0.6667, at recall" in message
    assert "`on_infeasible='nearest'`" in message
    assert list(error.blame) == ["precision >= 0.95"]
    assert error.reachable == {"precision >= 0.95": pytest.approx(2 / 3)}
    assert error.violation == pytest.approx(0.95 - 2 / 3, abs=1e-6)


def test_constraints_that_exclude_each_other_are_both_named():
    scores, true = np.arange(8.0), np.array([0, 1, 0, 1, 0, 1, 1, 1])
    text = (
        "maximize accuracy subject to recall >= 0.9 and predicted_rate <= 0.3 and specificity >= 0"
    )
    with pytest.raises(InfeasibleError, match="cannot hold together") as caught:
        solve(text, scores, true)
    assert set(caught.value.blame) == {"recall >= 0.9", "predicted_rate <= 0.3"}
    assert sum(caught.value.blame.values()) == pytest.approx(1.0)
    assert set(caught.value.reachable) == set(caught.value.blame)
    assert "specificity" not in str(caught.value)


def test_the_error_survives_pickling():
    with pytest.raises(InfeasibleError) as caught:
        solve("maximize recall subject to precision >= 0.9", np.arange(4.0), np.array([1, 1, 0, 0]))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert copy.violation == caught.value.violation
    assert copy.blame == caught.value.blame
    assert copy.reachable == caught.value.reachable
    assert isinstance(copy, ValueError)


def test_where_only_draws_help_the_error_says_so():
    scores, true = np.zeros(4), np.array([0, 1, 0, 1])
    text = "maximize accuracy subject to abs(predicted_rate - prior) <= 0.1"
    with pytest.raises(
        InfeasibleError, match="mixture of rules does: allow it with `randomized='auto'`"
    ):
        solve(text, scores, true, randomized=False)
    outcome = solve(text, scores, true)[0]
    assert outcome.rule.randomized


@KINDS
def test_the_nearest_rule_is_returned_on_request(randomized):
    scores, true = np.arange(8.0), np.array([0, 1, 0, 1, 0, 1, 1, 0])
    text = "maximize recall subject to precision >= 0.95"
    outcome, _, program = solve(text, scores, true, randomized=randomized, on_infeasible="nearest")
    assert outcome.status == "nearest"
    assert outcome.certificate.gap is None
    assert outcome.certificate.bound is None
    assert float(program.violation(outcome.values)) == pytest.approx(0.95 - 2 / 3, abs=1e-6)
    assert "least violation is 0.2833" in outcome.why


def test_the_nearest_rule_where_constants_are_infinitely_far():
    """The divergence of a constant classifier is infinite; a random classifier is a start."""
    scores, true = np.arange(6.0), np.array([1, 0, 1, 0, 1, 0])
    text = "maximize accuracy subject to prior_divergence <= 0.01 and recall >= 0.9"
    outcome, _, program = solve(text, scores, true, randomized=True, on_infeasible="nearest")
    assert outcome.status == "nearest"
    assert 0.0 < float(program.violation(outcome.values)) < 0.5


# -- refusals and warnings ------------------------------------------------------------------


def test_shapes_without_a_method_are_refused_with_a_way_out():
    scores, true, group, _ = data(0, n=1200, groups=4, digits=4)
    with pytest.raises(ShapeError, match=r"`randomized=True`.*tries every cut-off"):
        solve("maximize mcc", scores, true, randomized=True)
    with pytest.raises(ShapeError, match="`decide_on=None`"):
        solve("maximize mcc", scores, true, group)
    with pytest.raises(ShapeError, match="`decide_on=None`"):
        solve("maximize accuracy subject to mcc >= 0.2", scores, true, group)
    outcome = solve("maximize mcc", scores, true)[0]
    assert outcome.status == "optimal"
    assert outcome.certificate.gap == 0.0


@pytest.mark.filterwarnings("error")
def test_a_goal_that_a_constant_attains_is_announced():
    scores, true = np.arange(4.0), np.array([0, 1, 0, 1])
    with pytest.warns(ConstantGoalWarning, match=r"predicting 1 for everyone.*'maximize recall'"):
        solve("maximize recall", scores, true)
    with pytest.warns(ConstantGoalWarning, match="predicting 0 for everyone"):
        solve("minimize predicted_rate", scores, true)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve("maximize accuracy", scores, true)


# -- effort ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("maximize f1", 1),
        ("maximize mcc", 1),
        ("maximize recall subject to precision >= 0.8", 20),
        ("maximize g_mean", 30),
        ("maximize accuracy subject to predicted_rate.difference(g) <= 0.05", 20),
        ("maximize accuracy subject to recall.difference(g) <= 0.05 and precision >= 0.7", 30),
        ("maximize f1.min(g)", 30),
        ("maximize macro_f1 subject to recall >= 0.8", 150),
    ],
)
@pytest.mark.parametrize("visible", [False, True])
def test_few_passes_over_the_cutoffs(text, most, visible):
    scores, true, group, _ = data(1, n=20_000, digits=6)
    decide_on = ("g",) if visible and "(g)" in text else ()
    outcome, rows, _ = solve(text, scores, true, group, decide_on=decide_on)
    assert outcome.n_calls <= most * len(rows.segments)


# -- what a draw would gain -----------------------------------------------------------------


def test_what_draws_would_gain_is_what_they_reach():
    gains = 0
    for seed in range(30):
        scores, true, group, weight = data(seed)
        for text in ("maximize recall subject to precision >= 0.6", "maximize f1.min(g)"):
            try:
                fixed = solve(text, scores, true, group, weight, randomized=False)[0]
            except InfeasibleError:
                continue
            drawn, _, program = solve(text, scores, true, group, weight, randomized=True)
            gain = float(program.value(drawn.values)) - float(program.value(fixed.values))
            if fixed.certificate.with_draws is None:
                # Worth no more than the row that moves the objective furthest.
                moved = np.abs(program.table.tensor(program.gradient(fixed.values))).max()
                assert gain <= 2 * moved * weight.max() + 1e-9
                continue
            gains += 1
            value = float(program.value(drawn.values))
            assert fixed.certificate.with_draws == pytest.approx(value, abs=1e-9)
            assert drawn.certificate.with_draws is None
    assert gains > 5
