"""Candidates judged by their scores: the best rule of each, verdicts, pairs, standing."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from plugin.samples import same, sample
from setpoint import GoalError, evaluate, solve
from setpoint.goals import Goal
from setpoint.inputs import CheckedData, GivenRows, classes_of
from setpoint.plugin import Options
from setpoint.plugin.fit.crossfit import left_out
from setpoint.plugin.fit.fitting import judge_by_rules

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
PRECISE = "maximize recall subject to precision >= 0.6"


def judge_of(goal, s, *, options=None, decide_on="auto", **given):
    goal = Goal.parse(goal)
    rows = GivenRows(len(s.y), s.y, given.get("sample_weight"), {"g": s.g}, s.deployed)
    inputs = CheckedData.check(goal, classes_of(s.y), {None: rows}, decide_on)
    return judge_by_rules(inputs) if options is None else judge_by_rules(inputs, options)


def scored(judge, name, scores):
    return judge.of_scores(name, {None: scores})


@pytest.mark.parametrize(
    "goal",
    [
        PRECISE,
        "maximize f1",
        "maximize accuracy subject to recall.difference(g) <= 0.1",
        "maximize f1 subject to churn <= 0.4",
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_by_the_best_rule_on_all_rows(goal, weighted):
    s = sample(300)
    given = s.options(weighted)
    found = scored(judge_of(goal, s, **given), "one", s.scores)
    rule = solve(goal, s.scores, s.y, decide_on="auto", on_infeasible="nearest", **given).rule
    segments = rule.segment_codes({"g": s.g}) if rule.needs_segments else None
    decided = rule.decide(s.scores, segments)
    np.testing.assert_array_equal(found.decided[None], decided)
    wanted = evaluate(goal, s.y, decided, pos_label=1, **given)
    same(found.report, wanted)
    assert found.report.status == "evaluated"
    assert [e.low for e in found.report.entries] == [e.low for e in wanted.entries]
    assert found.report.verdict == wanted.verdict
    assert found.report.deployed is not None


def test_weight_two_is_the_row_twice_and_order_does_not_matter():
    s = sample(240)
    twice = np.repeat(np.arange(len(s.y)), s.weight.astype(int))
    noise = np.random.default_rng(3).normal(size=len(s.y))
    weighted = judge_of(PRECISE, s, sample_weight=s.weight)
    repeated = judge_of(PRECISE, s.take(twice))
    order = np.random.default_rng(0).permutation(len(s.y))
    shuffled = judge_of(PRECISE, s.take(order), sample_weight=s.weight[order])
    pairs = [
        (scored(judge, "good", s.scores[i]), scored(judge, "noise", noise[i]))
        for judge, i in ((weighted, slice(None)), (repeated, twice), (shuffled, order))
    ]
    for one, other in pairs[1:]:
        for a, b in zip(pairs[0], (one, other), strict=True):
            same(a.report, b.report)
    np.testing.assert_array_equal(pairs[0][0].decided[None][twice], pairs[1][0].decided[None])
    np.testing.assert_array_equal(pairs[0][0].decided[None][order], pairs[2][0].decided[None])
    # The same difference, whatever the order; its limits know how many rows there are.
    gains = [j.difference(*p) for j, p in zip((weighted, repeated, shuffled), pairs, strict=True)]
    assert gains[0].value == pytest.approx(gains[1].value, abs=1e-12)
    assert gains[0] == gains[2]


def test_rows_of_weight_zero_judge_nothing():
    s = sample(200)
    kept = np.arange(len(s.y)) < 150
    weight = kept.astype(float)
    one = scored(judge_of(PRECISE, s, sample_weight=weight), "a", s.scores)
    other = scored(judge_of(PRECISE, s.take(kept)), "a", s.scores[kept])
    same(one.report, other.report, tol=0.0)


def test_differences_are_those_against_a_deployed_model():
    s = sample(400)
    judge = judge_of("maximize f1", s)
    rng = np.random.default_rng(1)
    one = scored(judge, "one", s.scores)
    other = scored(judge, "other", s.scores + rng.normal(size=len(s.y)))
    gain = judge.difference(one, other)
    wanted = evaluate(
        "maximize f1", s.y, one.decided[None], baseline=other.decided[None], pos_label=1
    )
    pairs_alone = wanted.deployed.difference
    assert gain.value == pairs_alone.value
    assert gain == pairs_alone  # without constraints nothing is added by the luck of the rules
    said = [judge.of_decisions(x.name, x.decided) for x in (one, other)]
    assert judge.difference(*said) == pairs_alone
    back = judge.difference(other, one)
    assert back.value == pytest.approx(-gain.value)
    assert judge.difference(one, one).low == judge.difference(one, one).high == 0.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "objective", ["f1", "recall", "accuracy - 0.5 * predicted_rate", "recall.min('g')"]
)
def test_differences_by_influence_are_near_those_by_strata(objective, weighted):
    s = sample(2000)
    weight = s.weight if weighted else None
    judge = judge_of(f"maximize {objective}", s, sample_weight=weight)
    noise = np.random.default_rng(1).normal(size=len(s.y))
    one, other = ((x > 0.7).astype(int) for x in (s.scores, s.scores + 0.5 * noise))
    by_strata = judge.difference_alone(one, other, 0.95)
    found = judge.difference_by_influence(one, other, 0.95)
    assert found.value == pytest.approx(by_strata.value, abs=1e-12)
    assert found.verdict == by_strata.verdict
    width, other_width = found.high - found.low, by_strata.high - by_strata.low
    if ".min" in objective:  # limits of the smallest of several hold for all of them
        assert width < other_width
    else:
        assert width == pytest.approx(other_width, rel=0.06)


def test_differences_of_objectives_about_the_deployed_model_and_of_deferral():
    s = sample(600)
    noise = np.random.default_rng(1).normal(size=len(s.y))
    for goal in ("minimize churn", "maximize accuracy.decided subject to deferral_rate <= 0.3"):
        judge = judge_of(goal, s)
        one, other = (scored(judge, "x", x) for x in (s.scores, s.scores + 2 * noise))
        gain = judge.difference(one, other)
        assert gain.value == pytest.approx(one.value - other.value, abs=1e-12)
        assert gain.low < gain.value < gain.high


def test_standing():
    s = sample(1200)
    judge = judge_of(PRECISE, s)
    noise = np.random.default_rng(1).normal(size=len(s.y))
    found = [
        scored(judge, "noise", noise),
        scored(judge, "near", s.scores + 0.02 * noise),
        scored(judge, "good", s.scores),
        scored(judge, "good again", s.scores),
        scored(judge, "poor", s.scores + 2.0 * noise),
    ]
    ranking = judge.ranking(found)
    assert ranking.order[-1] == 0
    assert found[2].rank == found[3].rank
    assert {1, 2, 3} <= set(ranking.ties)
    assert not {0, 4} & set(ranking.ties)
    assert ranking.ties[0] == ranking.best == ranking.order[0]
    assert ranking.level == pytest.approx(1 - 0.05 / 4)
    gain = ranking.differences[4]
    assert gain.high < 0 < -gain.value
    # Equal ones stand in the order in which they came.
    assert ranking.order.index(2) < ranking.order.index(3)


def test_where_all_are_shown_to_fail_the_nearest_is_best():
    s = sample(600)
    goal = "maximize recall subject to precision >= 0.99 and predicted_rate >= 0.5"
    judge = judge_of(goal, s)
    noise = np.random.default_rng(1).normal(size=len(s.y))
    found = [scored(judge, "noise", noise), scored(judge, "good", s.scores)]
    assert all(one.fails for one in found)
    ranking = judge.ranking(found)
    assert ranking.order == (1, 0)
    assert ranking.ties == (1,)


def test_decisions_and_classes():
    s = sample(300)
    judge = judge_of(PRECISE, s)
    decided = (s.scores > 0.7).astype(int)
    same(
        judge.of_decisions("today", {None: decided}).report,
        evaluate(PRECISE, s.y, decided, pos_label=1),
        tol=0.0,
    )
    with pytest.raises(GoalError, match="judged by goals that are counted"):
        judge_of('maximize blackbox("shop:revenue")', s)


def test_three_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(360, 3))
    y = np.argmax(X + rng.normal(size=X.shape), axis=1)
    goal = Goal.parse("maximize macro_f1 subject to recall.min() >= 0.3")
    inputs = CheckedData.check(goal, classes_of(y), {None: GivenRows(360, y)}, None)
    judge = judge_by_rules(inputs, Options(evidence="soft"))
    posteriors = LogisticRegression().fit(X, y).predict_proba(X)
    good, blind = scored(judge, "good", posteriors), scored(judge, "blind", posteriors[::-1])
    assert good.value > blind.value
    same(good.report, evaluate(goal, y, good.decided[None]), tol=0.0)
    assert judge.ranking([blind, good]).best == 1


def test_data_sets_of_their_own():
    s, new = sample(300), sample(200, seed=1)
    goal = Goal.parse(
        "maximize recall subject to precision >= 0.6 and predicted_rate.on('new') <= 0.5"
    )
    rows = {None: GivenRows(300, s.y), "new": GivenRows(200, None)}
    inputs = CheckedData.check(goal, classes_of(s.y), rows, None)
    judge = judge_by_rules(inputs)
    found = judge.of_scores("one", {None: s.scores, "new": new.scores})
    wanted = evaluate(
        goal, s.y, found.decided[None], datasets={"new": (None, found.decided["new"])}, pos_label=1
    )
    same(found.report, wanted, tol=0.0)
    assert judge.difference(found, found).value == 0.0


def test_splits_do_not_overlap():
    test = np.arange(40, 100)
    order, index, fold = left_out([(np.arange(40), test)], 100, once=True)
    np.testing.assert_array_equal(index, test)
    np.testing.assert_array_equal(order, np.arange(60))
    np.testing.assert_array_equal(fold, np.zeros(60))
    with pytest.raises(ValueError, match="`cv`: two splits leave out row 40"):
        left_out([(np.arange(40), test)] * 2, 100, once=True)
