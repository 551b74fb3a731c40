"""Candidates judged by their scores: the best rule of each, differences of pairs, a ranking."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from plugin.samples import same, sample
from setpoint import GoalError, evaluate, solve
from setpoint.goals import Const, Goal
from setpoint.inputs import CheckedData, GivenRows, classes_of
from setpoint.plugin.fit.fitting import judge_by_rules
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
PRECISE = "maximize recall subject to precision >= 0.6"


def judge_of(goal, s, sample_weight=None):
    rows = {None: GivenRows(len(s.y), s.y, sample_weight, {"g": s.g}, s.deployed)}
    return judge_by_rules(CheckedData.check(Goal.parse(goal), classes_of(s.y), rows, "auto"))


def judge_of_labels(goal, y, **columns):
    rows = {None: GivenRows(len(y), y, None, columns or None)}
    return judge_by_rules(CheckedData.check(Goal.parse(goal), classes_of(y), rows, None))


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


# --- What it adds to a difference that rules are found on rows


def two(judge, s):
    noise = np.random.default_rng(1).normal(size=len(s.y))
    return [scored(judge, str(k), x) for k, x in enumerate((s.scores, s.scores + 0.6 * noise))]


def objective_at(goal, s, step):
    """Of the rule on all rows where the bound is moved."""
    (bound,) = goal.constraints
    moved = replace(goal, constraints=(replace(bound, rhs=Const(bound.rhs.value + step)),))
    decided = solve(moved, s.scores, s.y).rule.decide(s.scores)
    return evaluate(goal, s.y, decided, pos_label=1).objective.value


def influences(goal, y, decided):
    """Of each row on recall, precision and the false positive rate, by hand."""
    value = {
        "recall": y * (decided - (y @ decided) / y.sum()) / y.sum(),
        "precision": decided * (y - (y @ decided) / decided.sum()) / decided.sum(),
        "false_positive_rate": (1 - y)
        * (decided - ((1 - y) @ decided) / (1 - y).sum())
        / (1 - y).sum(),
    }
    return value[str(goal.objective)], value[str(goal.constraints[0].lhs)]


@over(
    "text",
    [
        PRECISE,
        "maximize precision subject to recall >= 0.5",
        "minimize fpr subject to recall >= 0.5",
    ],
)
def test_the_variance_is_that_of_the_best_within_the_bounds(text):
    s, goal = sample(1200), Goal.parse(text)
    judge = judge_of_labels(text, s.y)
    pair = two(judge, s)
    sense = 1.0 if goal.sense == "maximize" else -1.0
    plain, whole = 0.0, 0.0
    for one, sign, scores in zip(pair, (1, -1), (s.scores, None), strict=True):
        (entry,) = one.report.constraints
        error = (entry.high - entry.low) / (2 * norm.ppf(0.95))
        if scores is not None:
            loose, tight = (objective_at(goal, s, step) for step in (-error, error))
            assert one.rates[0] == pytest.approx(sense * (loose - tight) / (2 * error))
        assert one.rates[0] > 0.0
        own, side = influences(goal, s.y, one.decided[None])
        plain = plain + sign * own
        whole = whole + sign * (own + sense * one.rates[0] * side)
    extra = (whole**2).sum() - (plain**2).sum()
    assert extra > 0.0
    alone = judge.difference_alone(*(x.decided[None] for x in pair), 0.95)
    gain, reach = judge.difference(*pair), norm.ppf(0.95) ** 2 * extra
    for side in ("low", "high"):
        far = getattr(alone, side) - alone.value
        assert abs(getattr(gain, side) - gain.value) == pytest.approx((far**2 + reach) ** 0.5)


def test_limits_are_never_nearer_and_a_loose_bound_has_no_rate():
    s = sample(600)
    goal = "maximize recall subject to predicted_rate <= 0.3"
    judge = judge_of_labels(goal, s.y)
    pair = two(judge, s)
    said = [judge.of_decisions(x.name, x.decided) for x in pair]
    assert said[0].rates is None
    assert judge.difference(*pair).low <= judge.difference(*said).low
    # Where one has no scores, the rate of the other is its own.
    wide = judge_of_labels(PRECISE, s.y)
    one, other = two(wide, s)
    mixed = wide.difference(one, wide.of_decisions("said", other.decided))
    plain = wide.difference(*(wide.of_decisions(x.name, x.decided) for x in (one, other)))
    assert mixed.low < plain.low
    assert mixed.high > plain.high
    loose = two(judge_of_labels("maximize accuracy subject to recall >= 0.01", s.y), s)
    assert loose[0].rates == (0.0,)


def test_columns_of_values_take_the_errors_of_the_sides():
    rng = np.random.default_rng(0)
    n = 800
    y = (rng.random(n) < 0.3).astype(int)
    goal = 'maximize profit(tp="amount", fp=-2) subject to precision >= 0.6'
    judge = judge_of_labels(goal, y, amount=rng.random(n) * 5)
    pair = [scored(judge, str(k), 1.2 * y + rng.normal(size=n)) for k in (0, 1)]
    said = [judge.of_decisions(x.name, x.decided) for x in pair]
    alone, gain = judge.difference(*said), judge.difference(*pair)
    extra = sum(
        (x.rates[0] * (c.high - c.low) / (2 * norm.ppf(0.95))) ** 2
        for x in pair
        for c in x.report.constraints
    )
    assert extra > 0.0
    wanted = np.hypot(alone.low - alone.value, norm.ppf(0.95) * extra**0.5)
    assert gain.value - gain.low == pytest.approx(wanted)


@over(
    ("goal", "best", "other", "tied"),
    [
        (PRECISE, (200, 130), (150, 98), False),  # shown to be worse
        (PRECISE, (200, 130), (120, 40), False),  # worse, but surer of the bound
        (PRECISE, (200, 132), (206, 150), False),  # better, but misses the bound by more
        (PRECISE, (200, 130), (198, 129), True),
        (PRECISE, (200, 130), (200, 300), False),  # shown to fail the goal
        # Where all fail, by how far they miss the bound.
        ("maximize recall subject to precision >= 0.95", (200, 130), (210, 260), False),
        ("maximize recall subject to precision >= 0.95", (200, 130), (180, 120), True),
    ],
)
def test_what_cannot_be_distinguished_from_the_best(goal, best, other, tied):
    judge, found = judge_of_labels(goal, (np.arange(1000) < 400).astype(int)), []
    for right, wrong in (best, other):
        decided = np.zeros(1000, int)
        decided[:right] = decided[400 : 400 + wrong] = 1
        found.append(judge.of_decisions(f"{right}", {None: decided}))
    ranking = judge.ranking(found)
    assert ranking.best == 0
    assert ranking.ties == ((0, 1) if tied else (0,))
