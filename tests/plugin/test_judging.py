"""Candidates judged by their scores: the best rule of each, differences of pairs, a ranking."""

import numpy as np
import pytest

from plugin.samples import same, sample
from setpoint import GoalError, evaluate, solve
from setpoint.goals import Goal
from setpoint.inputs import CheckedData, GivenRows, classes_of
from setpoint.plugin.fit.crossfit import left_out
from setpoint.plugin.fit.fitting import judge_by_rules
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
PRECISE = "maximize recall subject to precision >= 0.6"


def judge_of(goal, s, sample_weight=None):
    rows = {None: GivenRows(len(s.y), s.y, sample_weight, {"g": s.g}, s.deployed)}
    return judge_by_rules(CheckedData.check(Goal.parse(goal), classes_of(s.y), rows, "auto"))


def scored(judge, name, scores):
    return judge.of_scores(name, {None: scores})


def noise(s, seed=1):
    return np.random.default_rng(seed).normal(size=len(s.y))


@over("weighted", [False, True])
@over(
    "goal",
    [
        PRECISE,
        "maximize f1",
        "maximize accuracy subject to recall.difference(g) <= 0.1",
        "maximize f1 subject to churn <= 0.4",
    ],
)
def test_by_the_best_rule_on_all_rows(goal, weighted):
    s = sample(300)
    given = s.options(weighted)
    found = scored(judge_of(goal, s, given.get("sample_weight")), "one", s.scores)
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


def test_weights_and_order_are_how_rows_are_written_down():
    s = sample(240)
    twice = np.repeat(np.arange(len(s.y)), s.weight.astype(int))
    blind = noise(s, 3)
    weighted = judge_of(PRECISE, s, s.weight)
    repeated = judge_of(PRECISE, s.take(twice))
    order = np.random.default_rng(0).permutation(len(s.y))
    shuffled = judge_of(PRECISE, s.take(order), s.weight[order])
    pairs = [
        (scored(judge, "good", s.scores[i]), scored(judge, "noise", blind[i]))
        for judge, i in ((weighted, slice(None)), (repeated, twice), (shuffled, order))
    ]
    for pair in pairs[1:]:
        for a, b in zip(pairs[0], pair, strict=True):
            same(a.report, b.report)
    np.testing.assert_array_equal(pairs[0][0].decided[None][twice], pairs[1][0].decided[None])
    np.testing.assert_array_equal(pairs[0][0].decided[None][order], pairs[2][0].decided[None])
    # The same difference, whatever the order; its limits know how many rows there are.
    gains = [j.difference(*p) for j, p in zip((weighted, repeated, shuffled), pairs, strict=True)]
    assert gains[0].value == pytest.approx(gains[1].value, abs=1e-12)
    assert gains[0] == gains[2]
    kept = np.arange(len(s.y)) < 150
    one = scored(judge_of(PRECISE, s, kept.astype(float)), "a", s.scores)
    other = scored(judge_of(PRECISE, s.take(kept)), "a", s.scores[kept])
    same(one.report, other.report, tol=0.0)


def test_differences_are_those_against_a_deployed_model():
    s = sample(400)
    judge = judge_of("maximize f1", s)
    one, other = scored(judge, "one", s.scores), scored(judge, "other", s.scores + noise(s))
    gain = judge.difference(one, other)
    deployed = other.decided[None]
    wanted = evaluate("maximize f1", s.y, one.decided[None], baseline=deployed, pos_label=1)
    assert gain == wanted.deployed.difference  # without constraints the rules add nothing
    given = [judge.of_decisions(x.name, x.decided) for x in (one, other)]
    assert judge.difference(*given) == gain
    assert judge.difference(other, one).value == pytest.approx(-gain.value)
    assert judge.difference(one, one).low == judge.difference(one, one).high == 0.0


@over("weighted", [False, True])
@over("objective", ["f1", "recall", "accuracy - 0.5 * predicted_rate", "recall.min('g')"])
def test_differences_by_influence_are_near_those_by_strata(objective, weighted):
    s = sample(2000)
    judge = judge_of(f"maximize {objective}", s, s.weight if weighted else None)
    one, other = ((x > 0.7).astype(int) for x in (s.scores, s.scores + 0.5 * noise(s)))
    by_strata = judge.difference_alone(one, other, 0.95)
    found = judge.difference_by_influence(one, other, 0.95)
    assert found.value == pytest.approx(by_strata.value, abs=1e-12)
    assert found.verdict == by_strata.verdict
    width, other_width = found.high - found.low, by_strata.high - by_strata.low
    if ".min" in objective:  # limits of the smallest of several hold for all of them
        assert width < other_width
    else:
        assert width == pytest.approx(other_width, rel=0.06)


@over("goal", ["minimize churn", "maximize accuracy.decided subject to deferral_rate <= 0.3"])
def test_differences_of_churn_and_of_deferral(goal):
    s = sample(600)
    judge = judge_of(goal, s)
    one, other = (scored(judge, "x", x) for x in (s.scores, s.scores + 2 * noise(s)))
    gain = judge.difference(one, other)
    assert gain.value == pytest.approx(one.value - other.value, abs=1e-12)
    assert gain.low < gain.value < gain.high


def test_ranking():
    s = sample(1200)
    judge, blind = judge_of(PRECISE, s), noise(s)
    names = ("noise", "near", "good", "good again", "poor")
    scores = (blind, s.scores + 0.02 * blind, s.scores, s.scores, s.scores + 2.0 * blind)
    found = [scored(judge, *one) for one in zip(names, scores, strict=True)]
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
    judge = judge_of("maximize recall subject to precision >= 0.99 and predicted_rate >= 0.5", s)
    found = [scored(judge, "noise", noise(s)), scored(judge, "good", s.scores)]
    assert all(one.fails for one in found)
    ranking = judge.ranking(found)
    assert ranking.order == (1, 0)
    assert ranking.ties == (1,)


def test_decisions_and_data_sets():
    s, new = sample(300), sample(200, seed=1)
    decided = (s.scores > 0.7).astype(int)
    found = judge_of(PRECISE, s).of_decisions("today", {None: decided}).report
    same(found, evaluate(PRECISE, s.y, decided, pos_label=1), tol=0.0)
    with pytest.raises(GoalError, match="judged by goals that are counted"):
        judge_of('maximize blackbox("shop:revenue")', s)

    goal = Goal.parse("maximize recall subject to predicted_rate.on('new') <= 0.5")
    rows = {None: GivenRows(300, s.y), "new": GivenRows(200, None)}
    judge = judge_by_rules(CheckedData.check(goal, classes_of(s.y), rows, None))
    found = judge.of_scores("one", {None: s.scores, "new": new.scores})
    sets = {"new": (None, found.decided["new"])}
    wanted = evaluate(goal, s.y, found.decided[None], datasets=sets, pos_label=1)
    same(found.report, wanted, tol=0.0)
    assert judge.difference(found, found).value == 0.0


def test_rows_that_folds_leave_out():
    test = np.arange(40, 100)
    order, index, fold = left_out([(np.arange(40), test)], 100, once=True)
    np.testing.assert_array_equal(index, test)
    np.testing.assert_array_equal(order, np.arange(60))
    np.testing.assert_array_equal(fold, np.zeros(60))
    with pytest.raises(ValueError, match="`cv`: two splits leave out row 40"):
        left_out([(np.arange(40), test)] * 2, 100, once=True)
