"""Candidates judged by their scores: the best rule of each, differences of pairs, a ranking."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from plugin.samples import same, sample
from setpoint import GoalError, evaluate, solve
from setpoint.goals import Const, Goal
from setpoint.inputs import CheckedData, GivenRows, classes_of
from setpoint.judging import Judge
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
PRECISE = "maximize recall subject to precision >= 0.6"
S = sample(600)


def judge_of(goal, y, weight=None, deployed=None, units=None, **columns):
    """A judge whose rules are those of `solve`."""
    rows = {None: GivenRows(len(y), y, weight, columns or None, deployed, units=units)}

    def find(goal, evidence):
        found = solve(goal, evidence.scores, y, sensitive_features=columns, decide_on=None)
        return SimpleNamespace(
            rule=found.rule, status=found.report.status, rows=SimpleNamespace(sees=())
        )

    return Judge(CheckedData.check(Goal.parse(goal), classes_of(y), rows, None), find)


def two(judge, s):
    """Scores, and the same with noise."""
    noise = np.random.default_rng(1).normal(size=len(s.y))
    return [
        judge.of_scores(str(k), {None: x}) for k, x in enumerate((s.scores, s.scores + 0.6 * noise))
    ]


def said(judge, *judged):
    """The same decisions, of which it is not known how they were found."""
    return [judge.of_decisions(x.name, x.decided) for x in judged]


def test_weights_and_order_are_how_rows_are_written_down():
    twice = np.repeat(np.arange(600), S.weight.astype(int))
    order = np.random.default_rng(0).permutation(600)
    one, other = ((x > 0.7).astype(int) for x in (S.scores, S.scores[::-1]))
    found = []
    for index, weight in ((slice(None), S.weight), (twice, None), (order, S.weight[order])):
        judge = judge_of(PRECISE, S.y[index], weight)
        pair = [judge.of_decisions("", {None: x[index]}) for x in (one, other)]
        same(pair[0].report, evaluate(PRECISE, S.y[index], one[index], sample_weight=weight))
        found.append(judge.difference(*pair))
    # Limits know how many rows there are.
    assert found[0].value == pytest.approx(found[1].value, abs=1e-12)
    assert found[0] == found[2]


def test_differences_are_those_against_a_deployed_model():
    judge = judge_of("maximize f1", S.y)
    one, other = two(judge, S)
    wanted = evaluate("maximize f1", S.y, one.decided[None], baseline=other.decided[None])
    gain = judge.difference(one, other)
    assert gain == wanted.deployed.difference  # without constraints the rules add nothing
    assert judge.difference(*said(judge, one, other)) == gain
    assert judge.difference(other, one).value == pytest.approx(-gain.value)
    assert judge.difference(one, one).low == judge.difference(one, one).high == 0.0
    with pytest.raises(GoalError, match="judged by goals that are counted"):
        judge_of('maximize blackbox("shop:revenue")', S.y)


@over("weighted", [False, True])
@over("objective", ["f1", "recall", "accuracy - 0.5 * predicted_rate", "recall.min('g')"])
def test_differences_by_influence_are_near_those_by_strata(objective, weighted):
    s = sample(2000)
    judge = judge_of(f"maximize {objective}", s.y, s.weight if weighted else None, g=s.g)
    noise = np.random.default_rng(1).normal(size=2000)
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


def test_ten_copies_of_a_unit_tell_as_much_as_one():
    ten = np.repeat(np.arange(600), 10)
    one, many = judge_of(PRECISE, S.y), judge_of(PRECISE, S.y[ten], units=ten)
    decided = [(x > 0.7).astype(int) for x in (S.scores, S.scores[::-1])]
    found = one.difference_by_influence(*decided, 0.95)
    copied = many.difference_by_influence(*(x[ten] for x in decided), 0.95)
    assert (copied.low, copied.high) == pytest.approx((found.low, found.high), rel=1e-9)
    rates = [(0.3,), (0.2,)]
    pairs = [
        [judge.of_decisions("", {None: x[index]}) for x in decided]
        for judge, index in ((one, slice(None)), (many, ten))
    ]
    added = [
        judge._variance_by_influence(p, rates) for judge, p in zip((one, many), pairs, strict=True)
    ]
    assert added[1] == pytest.approx(added[0], rel=1e-9)


@over("goal", ["minimize churn", "maximize accuracy.decided subject to deferral_rate <= 0.5"])
def test_differences_of_churn_and_of_deferral(goal):
    judge = judge_of(goal, S.y, deployed=S.deployed)
    answers = [np.digitize(S.scores[::step], [0.6, 1.2]) for step in (1, -1)]  # 2 is to defer
    answers = [np.minimum(x, 1) for x in answers] if "churn" in goal else answers
    one, other = (judge.of_decisions("", {None: x}) for x in answers)
    gain = judge.difference(one, other)
    assert gain.value == pytest.approx(one.value - other.value, abs=1e-12)
    assert gain.low < gain.value < gain.high


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


@over("text", [PRECISE, "minimize fpr subject to recall >= 0.5"])
def test_the_variance_is_that_of_the_best_within_the_bounds(text):
    s, goal = sample(1200), Goal.parse(text)
    judge = judge_of(text, s.y)
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


def test_where_one_has_no_scores_and_where_a_bound_is_loose():
    judge = judge_of(PRECISE, S.y)
    one, other = two(judge, S)
    # The rate of the other is its own.
    mixed = judge.difference(one, *said(judge, other))
    plain = judge.difference(*said(judge, one, other))
    assert mixed.low < plain.low
    assert mixed.high > plain.high
    loose = two(judge_of("maximize accuracy subject to recall >= 0.01", S.y), S)
    assert loose[0].rates == (0.0,)


def test_columns_of_values_take_the_errors_of_the_sides():
    amount = np.random.default_rng(0).random(600) * 5
    goal = 'maximize profit(tp="amount", fp=-2) subject to precision >= 0.8'
    judge = judge_of(goal, S.y, amount=amount)
    pair = two(judge, S)
    alone, gain = judge.difference(*said(judge, *pair)), judge.difference(*pair)
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
    judge, found = judge_of(goal, (np.arange(1000) < 400).astype(int)), []
    for right, wrong in (other, best, best):
        decided = np.zeros(1000, int)
        decided[:right] = decided[400 : 400 + wrong] = 1
        found.append(judge.of_decisions(f"{right}", {None: decided}))
    ranking = judge.ranking(found)
    assert ranking.order == (1, 2, 0)  # equal ones as they came
    assert ranking.ties == ((1, 2, 0) if tied else (1, 2))
    assert ranking.level == pytest.approx(1 - 0.05 / 2)
