"""solve: equivalences, inputs of many kinds, and what the report says."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from plugin.samples import GOALS, same, sample
from setpoint import Dataset, Goal, InfeasibleError, SearchLimits, evaluate, maximize, solve
from setpoint.metrics import f1, precision, recall
from setpoint.rules import Threshold
from setpoint.search import ConstantGoalWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning"),
]
SEEDS = st.integers(0, 10_000)


def solved(goal, s, **options):
    options = {**s.options(), "on_infeasible": "nearest", **options}
    return solve(goal, s.scores, s.y, **options)


@pytest.mark.parametrize("goal", GOALS)
@settings(max_examples=8)
@given(seed=SEEDS)
def test_a_weight_of_two_is_the_row_twice(goal, seed):
    s = sample(60, seed)
    twice = s.take(np.repeat(np.arange(60), s.weight.astype(int)))
    one, two = solved(goal, s), solved(goal, twice, sample_weight=None)
    assert one.rule == two.rule
    same(one.report, two.report)


@pytest.mark.parametrize("goal", GOALS)
@settings(max_examples=8)
@given(seed=SEEDS)
def test_a_weight_of_zero_is_not_a_row(goal, seed):
    s = sample(60, seed)
    gone = np.random.default_rng(seed).random(60) < 0.2
    s.weight[gone] = 0.0
    one, two = solved(goal, s), solved(goal, s.take(~gone))
    assert one.rule == two.rule
    same(one.report, two.report)


@pytest.mark.parametrize("goal", GOALS)
@settings(max_examples=8)
@given(seed=SEEDS)
def test_the_order_of_rows_does_not_matter(goal, seed):
    s = sample(60, seed)
    order = np.random.default_rng(seed).permutation(60)
    one, two = solved(goal, s), solved(goal, s.take(order))
    assert one.rule == two.rule
    same(one.report, two.report)


@pytest.mark.parametrize("goal", GOALS)
def test_the_scale_of_weights_does_not_matter(goal):
    s = sample()
    one, two = solved(goal, s), solved(goal, s, sample_weight=s.weight * 4.0)
    assert one.rule == two.rule
    same(one.report, two.report)


@pytest.mark.parametrize("goal", GOALS)
def test_the_report_is_what_evaluate_finds(goal):
    s = sample()
    found = solved(goal, s, randomized=False)
    columns = {"g": s.g}
    segments = found.rule.segment_codes(columns) if found.rule.needs_segments else None
    decided = found.rule.decide(s.scores, segments)
    same(found.report, evaluate(goal, s.y, decided, **s.options()))


@given(seed=SEEDS, cut=st.integers(1, 99))
@settings(max_examples=25)
def test_batches_do_not_matter_to_a_rule(seed, cut):
    s = sample(100, seed)
    rule = solved("maximize recall subject to precision >= 0.6", s, randomized=True).rule
    u = np.random.default_rng(seed).random(100)
    parts = [rule.decide(s.scores[i], u=u[i]) for i in (slice(cut), slice(cut, None))]
    np.testing.assert_array_equal(np.concatenate(parts), rule.decide(s.scores, u=u))


@pytest.mark.parametrize(
    "labels",
    [(0, 1), (-1, 1), (-1.0, 1.0), (False, True), ("bad", "good"), (3, 7)],
    ids=str,
)
@pytest.mark.parametrize("pos", [0, 1], ids=["positive first", "positive last"])
def test_labels_of_any_kind(labels, pos):
    s = sample()
    plain = solve("f1", s.scores, s.y)
    names = labels if pos else labels[::-1]  # class 1 gets the name labels[pos]
    y = np.array([names[0], names[1]])[s.y]
    found = solve("f1", s.scores, y, pos_label=labels[pos])
    assert found.rule == plain.rule
    assert found.report.counts.positive == labels[pos]
    same(found.report, plain.report)


def test_without_pos_label_the_larger_number_and_yes_are_positive():
    s = sample()
    want = solve("f1", s.scores, s.y).rule
    for positive, negative in ((7, 3), ("yes", "no"), ("ja", "nein")):
        assert solve("f1", s.scores, np.where(s.y == 1, positive, negative)).rule == want
    y = np.where(s.y == 1, "b", "a")
    assert solve("f1", s.scores, y, pos_label="b").rule == want
    with pytest.raises(ValueError, match="pass `pos_label='a'` or `pos_label='b'`"):
        solve("f1", s.scores, y)


def test_posteriors_stand_in_sorted_class_order():
    s = sample()
    p = 1 / (1 + np.exp(-s.scores))
    both = np.column_stack([1 - p, p])
    assert solve("f1", both, s.y).rule == solve("f1", p, s.y).rule
    assert solve("f1", both, s.y, pos_label=0).rule == solve("f1", 1 - p, s.y, pos_label=0).rule
    assert solve("f1", p[:, None], s.y).rule == solve("f1", p, s.y).rule


@pytest.mark.parametrize("kind", [list, np.float32, pd.Series, pl.Series])
def test_scores_and_labels_of_any_kind(kind):
    s = sample()
    if kind is np.float32:
        scores, y = s.scores.astype(np.float32).astype(float), s.y.astype(np.int8)
        found = solve("f1", s.scores.astype(np.float32), y)
        assert found.rule == solve("f1", scores, s.y).rule
    else:
        assert solve("f1", kind(s.scores), kind(s.y)).rule == solve("f1", s.scores, s.y).rule


def test_goals_of_any_kind():
    s = sample()
    text = "maximize recall subject to precision >= 0.7"
    built = maximize(recall).subject_to(precision >= 0.7)
    assert solve(text, s.scores, s.y).rule == solve(built, s.scores, s.y).rule
    assert solve(f1, s.scores, s.y).rule == solve("maximize f1", s.scores, s.y).rule
    assert Goal.parse(solve(built, s.scores, s.y).report.goal) == built


def test_the_best_f1_of_all_thresholds():
    s = sample()
    found = solve("f1", s.scores, s.y)
    best = max(
        evaluate("f1", s.y, s.scores >= t, classes=[0, 1]).objective.value
        for t in np.unique(s.scores)[::4]
    )
    assert found.report.objective.value >= best - 1e-12
    decided = found.rule.decide(s.scores)
    assert found.report.objective.value == pytest.approx(f1_score(s.y, decided), abs=1e-12)
    assert found.report.certificate.gap == 0.0
    assert found.report.status == "optimal"
    assert isinstance(found.rule, Threshold)


def test_decide_on():
    s = sample()
    goal = "maximize accuracy subject to recall.difference(g) <= 0.05"
    looks = solve(goal, s.scores, s.y, sensitive_features=s.g)
    blind = solve(goal, s.scores, s.y, sensitive_features=s.g, decide_on=None)
    named = solve(goal, s.scores, s.y, sensitive_features={"g": s.g}, decide_on="g")
    assert looks.rule.segment_keys == ((("g", "a"),), (("g", "b"),))
    assert looks.report.rule.decides_on == ("g",)
    assert not blind.rule.needs_segments
    assert blind.report.rule.decides_on == ()
    assert named.rule == looks.rule
    assert looks.report.objective.value >= blind.report.objective.value - 1e-12


def test_deciding_on_a_column_that_the_goal_does_not_name():
    s = sample()
    found = solve("accuracy", s.scores, s.y, sensitive_features={"g": s.g}, decide_on=["g"])
    apart = [solve("accuracy", s.scores[s.g == v], s.y[s.g == v]) for v in "ab"]
    assert found.rule.rules == tuple(part.rule for part in apart)


def test_one_value_and_the_rest():
    s = sample()
    country = np.array([f"c{i % 80}" for i in range(len(s.y))], dtype=object)
    country[:150] = "IN"
    found = solve(
        "maximize precision subject to recall.on(country='IN') >= 0.8 and recall >= 0.6",
        s.scores,
        s.y,
        sensitive_features={"country": country},
    )
    codes = found.rule.segment_codes({"country": ["IN", "c3", "never seen"]})
    assert codes[0] != codes[1] == codes[2] >= 0
    assert all(c.satisfied for c in found.report.constraints)


def test_data_sets():
    s, t = sample(), sample(seed=1)
    goal = "maximize recall subject to predicted_rate.on('new') <= 0.3"
    for new in (t.scores, (t.scores, None), (t.scores, t.y), Dataset(t.scores)):
        found = solve(goal, s.scores, s.y, datasets={"new": new}, randomized=False)
        assert (found.rule.decide(t.scores)).mean() <= 0.3 + 1e-12
    assert found.report.constraints[0].value == pytest.approx(found.rule.decide(t.scores).mean())


def test_data_sets_with_weights_groups_and_a_baseline():
    s, t = sample(), sample(seed=1)
    new = Dataset(
        t.scores, t.y, sample_weight=t.weight, sensitive_features={"g": t.g}, baseline=t.deployed
    )
    goal = "maximize recall subject to churn.on('new') <= 0.4 and recall.on('new', g='b') >= 0.4"
    found = solve(goal, s.scores, s.y, datasets={"new": new}, randomized=False)
    decided = found.rule.decide(t.scores)
    churn, at_b = (c.value for c in found.report.constraints)
    assert churn == pytest.approx(np.average(decided != t.deployed, weights=t.weight), abs=1e-12)
    b = (t.g == "b") & (t.y == 1)
    assert at_b == pytest.approx(np.average(decided[b], weights=t.weight[b]), abs=1e-12)
    assert found.report.rule.decides_on == ()  # X was not given the column


def test_churn_and_the_deployed_model():
    s = sample()
    found = solve(
        "maximize recall subject to churn <= 0.4 and precision >= precision.baseline() - 0.2",
        s.scores,
        s.y,
        baseline=s.deployed,
        randomized=False,
    )
    assert np.mean(found.rule.decide(s.scores) != s.deployed) <= 0.4
    deployed = s.deployed[s.y == 1].mean()
    assert found.report.deployed.objective == pytest.approx(deployed, abs=1e-12)


def test_infeasible():
    s = sample()
    goal = "maximize recall subject to precision >= 0.999 and recall >= 0.9"
    with pytest.raises(InfeasibleError, match="the highest reachable is") as caught:
        solve(goal, s.scores, s.y)
    assert caught.value.violation > 0
    assert set(caught.value.blame) <= {"precision >= 0.999", "recall >= 0.9"}
    near = solve(goal, s.scores, s.y, on_infeasible="nearest")
    assert near.report.status == "nearest"
    worst = max(-c.slack for c in near.report.constraints)
    assert worst == pytest.approx(caught.value.violation, abs=1e-6)
    assert near.report.certificate.gap is None


def test_a_goal_that_a_constant_attains_warns():
    s = sample()
    with pytest.warns(ConstantGoalWarning, match="predicting 1 for everyone attains the optimum"):
        found = solve("maximize recall", s.scores, s.y)
    assert any("for everyone" in text for text in found.report.warnings)


def test_randomized():
    s = sample()
    goal = "maximize recall subject to precision >= 0.7"
    draws = solve(goal, s.scores, s.y, randomized=True)
    plain = solve(goal, s.scores, s.y, randomized=False)
    assert not plain.rule.randomized
    assert plain.report.rule.drawn == 0.0
    assert draws.rule.randomized
    assert draws.report.rule.drawn > 0
    assert draws.report.objective.value >= plain.report.objective.value
    lenient = solve(goal, s.scores, s.y, limits=SearchLimits(tol=1.0))
    assert not lenient.rule.randomized
    value = draws.rule.distribution(s.scores)[s.y == 1, 1].mean()
    assert draws.report.objective.value == pytest.approx(value, abs=1e-12)


def test_a_solution_prints_its_report():
    s = sample()
    found = solve("f1", s.scores, s.y)
    assert str(found) == str(found.report)
