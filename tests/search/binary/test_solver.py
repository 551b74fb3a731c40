"""What the exact solver promises beside the optimum."""

import pickle
from string import ascii_lowercase

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.samples import linked
from setpoint.counts import DEFERRED
from setpoint.errors import ShapeError
from setpoint.search import ConstantGoalWarning, InfeasibleError, solve_exact
from thinning import over

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
AMOUNTS = (
    "maximize profit(tp=x - 1, fp=-1) subject to predicted_rate <= 0.5",
    "maximize recall.weighted(x) subject to precision >= 0.6",
)
MORE = (
    *GOALS,
    *AMOUNTS,
    "minimize deferral_rate subject to accuracy.decided >= 0.8",
    "maximize recall subject to precision >= 0.8 and deferral_rate <= 0.3",
    "minimize cost({(0,1):1,(1,0):4,(0,'defer'):0.3,(1,'defer'):0.3})",
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


def solve(text, scores, true, group=None, weight=None, decide_on=("g",), baseline=None, **options):
    """The outcome, the evidence and the program."""
    group = np.full(len(true), "a") if group is None else group
    program, rows = linked(
        *(text, scores, true),
        classes=(0, 1, DEFERRED) if "defer" in text else (0, 1),
        columns={"g": group, "x": 2.0 + np.sin(7.0 * scores + true)},
        weight=weight,
        decide_on=decide_on,
        baseline=baseline,
    )
    return solve_exact(program, rows, **{"randomized": "auto", **options}), rows, program


def twice(s, y, g, w, seed):
    """Rows as often as they weigh."""
    return [np.repeat(x, w.astype(int)) for x in (s, y, g)]


def shuffled(s, y, g, w, seed):
    order = np.random.default_rng(seed).permutation(len(y))
    return [x[order] for x in (s, y, g, w)]


def joined(s, y, g, w, seed):
    """Further rows of weight 0."""
    further = data(seed + 1)
    return [np.append(x, z) for x, z in zip((s, y, g, w), (*further[:3], 0 * w), strict=True)]


@KINDS
@given(seed=seeds, text=st.sampled_from(MORE), way=st.sampled_from([twice, shuffled, joined]))
def test_the_same_rows_in_another_way_have_the_same_rule(randomized, way, seed, text):
    arrays = data(seed)
    first, second = (
        outcome_or_error(lambda a=a: solve(text, *a, randomized=randomized)[0])
        for a in (arrays, way(*arrays, seed))
    )
    if isinstance(first, InfeasibleError):
        assert second.violation == pytest.approx(first.violation, abs=1e-12)
        return
    assert first.rule == second.rule
    assert first.status == second.status
    # Sums of whole numbers are the same to the bit.
    near = 1e-12 if text in AMOUNTS else 0.0
    np.testing.assert_allclose(first.values, second.values, rtol=0, atol=near)


def outcome_or_error(run):
    try:
        return run()
    except InfeasibleError as error:
        return error


@KINDS
@given(seed=seeds, text=st.sampled_from(GOALS))
def test_only_the_ranking_of_scores_matters(randomized, seed, text):
    scores, true, group, weight = data(seed)

    def decisions(s):
        outcome, rows, _ = solve(text, s, true, group, weight, randomized=randomized)
        return outcome.rule.distribution(s, rows.rows.segment)

    # Above one no threshold is plain, so that not even ties go by more than the ranking.
    high = 2.0 + np.exp(scores)
    before, after = (outcome_or_error(lambda s=s: decisions(s)) for s in (high, high**2))
    if isinstance(before, InfeasibleError):
        assert isinstance(after, InfeasibleError)
    else:
        np.testing.assert_array_equal(before, after)


@over(
    ("groups", "text"),
    [
        (4, "accuracy subject to predicted_rate.difference(g) <= 0.02 and recall >= 0.4"),
        (8, "g_mean subject to recall.difference(g) <= 0.1 and precision >= 0.5"),
        (26, "accuracy subject to predicted_rate.deviation(g) <= 0.1"),
    ],
)
def test_too_many_combinations_are_rounded_and_say_so(groups, text):
    rows = data(0, n=300 * groups, groups=groups, digits=4)
    fixed, evidence, program = solve(f"maximize {text}", *rows, randomized=False)
    mixed = solve(f"maximize {text}", *rows, randomized=True)[0]
    assert np.prod([float(evidence.curve(s).n_cutoffs) for s in range(groups)]) > 1e6
    assert (fixed.status, mixed.status) == ("feasible", "optimal")
    assert not fixed.rule.randomized
    assert float(program.violation(fixed.values)) <= 1e-9
    lost = float(program.value(mixed.values) - program.value(fixed.values))
    assert 0.0 <= lost <= fixed.certificate.gap + 1e-9
    assert fixed.certificate.gap < 0.01


HOPELESS = "maximize recall subject to precision >= 0.95"
EIGHT = np.arange(8.0), np.array([0, 1, 0, 1, 0, 1, 1, 0])


def test_one_hopeless_constraint_is_named_with_what_is_reachable():
    with pytest.raises(InfeasibleError) as caught:
        solve(HOPELESS, *EIGHT)
    error, message = caught.value, str(caught.value)
    assert "precision >= 0.95 cannot be met: the highest reachable is 0.6667, at recall" in message
    assert "`on_infeasible='nearest'`" in message
    assert list(error.blame) == ["precision >= 0.95"]
    assert error.reachable == {"precision >= 0.95": pytest.approx(2 / 3)}
    assert error.violation == pytest.approx(0.95 - 2 / 3, abs=1e-6)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), vars(copy)) == (message, vars(error))
    assert isinstance(copy, ValueError)


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


def test_where_only_draws_help_the_error_says_so():
    scores, true = np.zeros(4), np.array([0, 1, 0, 1])
    text = "maximize accuracy subject to abs(predicted_rate - prior) <= 0.1"
    said = "mixture of rules does: allow it with `randomized='auto'`"
    with pytest.raises(InfeasibleError, match=said):
        solve(text, scores, true, randomized=False)
    drawn = solve(text, scores, true)[0]
    assert drawn.rule.randomized
    assert "mixture" in drawn.why


@KINDS
def test_the_nearest_rule_is_returned_on_request(randomized):
    options = {"randomized": randomized, "on_infeasible": "nearest"}
    outcome, _, program = solve(HOPELESS, *EIGHT, **options)
    assert outcome.status == "nearest"
    assert (outcome.certificate.gap, outcome.certificate.bound) == (None, None)
    assert float(program.violation(outcome.values)) == pytest.approx(0.95 - 2 / 3, abs=1e-6)
    assert "least violation is 0.2833" in outcome.why


def test_the_nearest_rule_where_constants_are_infinitely_far():
    """The divergence of a constant classifier is infinite; a random classifier is a start."""
    scores, true = np.arange(6.0), np.array([1, 0, 1, 0, 1, 0])
    text = "maximize accuracy subject to prior_divergence <= 0.01 and recall >= 0.9"
    outcome, _, program = solve(text, scores, true, randomized=True, on_infeasible="nearest")
    assert outcome.status == "nearest"
    assert 0.0 < float(program.violation(outcome.values)) < 0.5


def test_shapes_without_a_method_are_refused_with_a_way_out():
    scores, true, group, _ = data(0, n=1200, groups=4, digits=4)
    with pytest.raises(ShapeError, match=r"`randomized=True`.*tries every cut-off"):
        solve("maximize mcc", scores, true, randomized=True)
    for text in ("maximize mcc", "maximize accuracy subject to mcc >= 0.2"):
        with pytest.raises(ShapeError, match="`decide_on=None`"):
            solve(text, scores, true, group)
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
    solve("maximize accuracy", scores, true)


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
