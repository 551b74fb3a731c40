"""Candidates judged out of fold: rules from other folds, pooled verdicts, pairs, standing."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from plugin.samples import same, sample
from setpoint import GoalError, evaluate, solve
from setpoint.evidence import Column
from setpoint.goals import Goal
from setpoint.inputs import CheckedData, CheckedTable, GivenRows, classes_of
from setpoint.plugin import Options
from setpoint.plugin.auto import out_of_fold as pairs
from setpoint.plugin.auto.judge import Judge
from setpoint.plugin.auto.out_of_fold import JudgedRows

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
PRECISE = "maximize recall subject to precision >= 0.6"
FOLDS = 4


def judge_of(goal, s, *, fold=None, options=None, decide_on="auto", **given):
    goal = Goal.parse(goal)
    rows = GivenRows(len(s.y), s.y, given.get("sample_weight"), {"g": s.g}, s.deployed)
    inputs = CheckedData.check(goal, classes_of(s.y), {None: rows}, decide_on)
    fold = np.arange(len(s.y)) % FOLDS if fold is None else fold
    judged = JudgedRows(np.arange(len(s.y)), fold)
    return Judge(inputs, judged) if options is None else Judge(inputs, judged, options)


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
def test_each_fold_by_the_rule_of_the_others_and_one_pooled_verdict(goal, weighted):
    s = sample(300)
    given = s.options(weighted)
    found = judge_of(goal, s, **given).of_scores("one", s.scores)
    fold, decided = np.arange(len(s.y)) % FOLDS, np.zeros(len(s.y), int)
    for k in range(FOLDS):
        rest, own = s.take(fold != k), fold == k
        rule = solve(
            goal, rest.scores, rest.y, decide_on="auto", on_infeasible="nearest",
            **rest.options(weighted),
        ).rule  # fmt: skip
        sides = {"g": s.g[own]}
        segments = rule.segment_codes(sides) if rule.needs_segments else None
        decided[own] = rule.decide(s.scores[own], segments)
    np.testing.assert_array_equal(found.decided[None], decided)
    wanted = evaluate(goal, s.y, decided, pos_label=1, **given)
    same(found.report, wanted)
    assert found.report.status == "evaluated"
    assert [e.low for e in found.report.entries] == [e.low for e in wanted.entries]
    assert found.report.verdict == wanted.verdict
    assert found.report.deployed is not None


def test_weight_two_is_the_row_twice_and_order_does_not_matter():
    s = sample(240)
    fold = np.arange(len(s.y)) % FOLDS
    twice = np.repeat(np.arange(len(s.y)), s.weight.astype(int))
    noise = np.random.default_rng(3).normal(size=len(s.y))
    weighted = judge_of(PRECISE, s, fold=fold, sample_weight=s.weight)
    repeated = judge_of(PRECISE, s.take(twice), fold=fold[twice])
    order = np.random.default_rng(0).permutation(len(s.y))
    shuffled = judge_of(PRECISE, s.take(order), fold=fold[order], sample_weight=s.weight[order])
    pairs = [
        (judge.of_scores("good", s.scores[i]), judge.of_scores("noise", noise[i]))
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
    fold = np.arange(len(s.y)) % FOLDS
    one = judge_of(PRECISE, s, fold=fold, sample_weight=weight).of_scores("a", s.scores)
    other = judge_of(PRECISE, s.take(kept), fold=fold[kept]).of_scores("a", s.scores[kept])
    same(one.report, other.report, tol=0.0)


def test_differences_are_those_against_a_deployed_model():
    s = sample(400)
    judge = judge_of("maximize f1", s)
    rng = np.random.default_rng(1)
    one = judge.of_scores("one", s.scores)
    other = judge.of_scores("other", s.scores + rng.normal(size=len(s.y)))
    gain = judge.difference(one, other)
    wanted = evaluate(
        "maximize f1", s.y, one.decided[None], baseline=other.decided[None], pos_label=1
    )
    pairs_alone = wanted.deployed.difference
    assert gain.value == pairs_alone.value
    # The limits lie further away by the luck of the rules, found without one fold each.
    moved = one.chance.by_fold - other.chance.by_fold
    variance = (FOLDS - 1) / FOLDS * ((moved - moved.mean()) ** 2).sum()
    reach = norm.ppf(0.95) ** 2 * variance
    assert variance > 0.0
    for side in ("low", "high"):
        far = getattr(pairs_alone, side) - gain.value
        assert abs(getattr(gain, side) - gain.value) == pytest.approx((far**2 + reach) ** 0.5)
    said = [judge.of_decisions(x.name, x.decided[None]) for x in (one, other)]
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
    table = CheckedTable(s.y, weight, {"g": Column(s.g)}, None)
    goal = Goal.parse(f"maximize {objective}")
    noise = np.random.default_rng(1).normal(size=len(s.y))
    one, other = ((x > 0.7).astype(int) for x in (s.scores, s.scores + 0.5 * noise))
    by_strata = pairs.difference_of(goal, (0, 1), table, one, other, 0.95)
    found = pairs._by_influence(goal, (0, 1), table, one, other, 0.95)
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
        one, other = (judge.of_scores("x", x) for x in (s.scores, s.scores + 2 * noise))
        gain = judge.difference(one, other)
        assert gain.value == pytest.approx(one.value - other.value, abs=1e-12)
        assert gain.low < gain.value < gain.high


def test_standing():
    s = sample(1200)
    judge = judge_of(PRECISE, s)
    noise = np.random.default_rng(1).normal(size=len(s.y))
    found = [
        judge.of_scores("noise", noise),
        judge.of_scores("near", s.scores + 0.02 * noise),
        judge.of_scores("good", s.scores),
        judge.of_scores("good again", s.scores),
        judge.of_scores("poor", s.scores + 2.0 * noise),
    ]
    ranking = judge.ranking(found)
    assert found[0].fails
    assert ranking.order[-1] == 0
    assert ranking.ranks[2] == ranking.ranks[3]
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
    found = [judge.of_scores("noise", noise), judge.of_scores("good", s.scores)]
    assert all(one.fails for one in found)
    ranking = judge.ranking(found)
    assert ranking.order == (1, 0)
    assert ranking.ties == (1,)


def test_decisions_and_classes():
    s = sample(300)
    judge = judge_of(PRECISE, s)
    decided = (s.scores > 0.7).astype(int)
    same(
        judge.of_decisions("today", decided).report,
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
    judge = Judge(inputs, JudgedRows(np.arange(360), np.arange(360) % 3), Options(evidence="soft"))
    posteriors = LogisticRegression().fit(X, y).predict_proba(X)
    good, blind = judge.of_scores("good", posteriors), judge.of_scores("blind", posteriors[::-1])
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
    judge = Judge(inputs, JudgedRows(np.arange(300), np.arange(300) % FOLDS))
    found = judge.of_scores("one", {None: s.scores, "new": new.scores})
    wanted = evaluate(
        goal, s.y, found.decided[None], datasets={"new": (None, found.decided["new"])}, pos_label=1
    )
    same(found.report, wanted, tol=0.0)
    assert judge.difference(found, found).value == 0.0


def test_one_split_falls_into_parts_and_splits_do_not_overlap():
    kinds = np.arange(100) % 2
    test = np.arange(40, 100)
    rows = JudgedRows.of([(np.arange(40), test)], kinds)
    np.testing.assert_array_equal(rows.index, test)
    table = [np.bincount(rows.fold[kinds[test] == k], minlength=5) for k in (0, 1)]
    assert np.ptp(table) == 0
    with pytest.raises(ValueError, match="`cv`: two splits leave out row 40"):
        JudgedRows.of([(np.arange(40), test)] * 2, kinds)


def test_a_group_that_one_fold_has_alone():
    s = sample(200)
    fold = np.where(s.g == "b", 0, 1 + np.arange(len(s.y)) % 2)
    judge = judge_of("maximize accuracy subject to recall.difference(g) <= 0.1", s, fold=fold)
    with pytest.raises(GoalError, match="`cv`: the rule for a fold is found on the rows of the"):
        judge.of_scores("one", s.scores)
