"""The luck of which rules were found: its formula, and what is said of two candidates."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from plugin.samples import sample
from plugin.test_judging import FOLDS, PRECISE, judge_of
from setpoint import evaluate, solve
from setpoint.goals import Const, Goal
from setpoint.inputs import CheckedData, GivenRows, classes_of
from setpoint.plugin.auto.judge import Judge
from setpoint.plugin.auto.out_of_fold import JudgedRows, difference_of

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")


def two(judge, s):
    noise = np.random.default_rng(1).normal(size=len(s.y))
    return [judge.of_scores(str(k), x) for k, x in enumerate((s.scores, s.scores + 0.6 * noise))]


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


@pytest.mark.parametrize(
    "text",
    [
        PRECISE,
        "maximize precision subject to recall >= 0.5",
        "minimize fpr subject to recall >= 0.5",
    ],
)
def test_the_variance_is_that_of_the_best_within_the_bounds(text):
    s, goal = sample(1200), Goal.parse(text)
    judge = judge_of(text, s)
    pair = two(judge, s)
    sense = 1.0 if goal.sense == "maximize" else -1.0
    plain, whole = 0.0, 0.0
    for one, sign, scores in zip(pair, (1, -1), (s.scores, None), strict=True):
        (entry,) = one.report.constraints
        error = (entry.high - entry.low) / (2 * norm.ppf(0.95))
        if scores is not None:
            loose, tight = (objective_at(goal, s, step) for step in (-error, error))
            assert one.chance.rates[0] == pytest.approx(sense * (loose - tight) / (2 * error))
        assert one.chance.rates[0] > 0.0
        own, side = influences(goal, s.y, one.decided[None])
        plain = plain + sign * own
        whole = whole + sign * (own + sense * one.chance.rates[0] * side)
    extra = (whole**2).sum() - (plain**2).sum()
    assert extra > 0.0
    table, labels = judge._tables[None], judge._inputs.answers
    alone = difference_of(goal, labels, table, *(x.decided[None] for x in pair), 0.95)
    gain, reach = judge.difference(*pair), norm.ppf(0.95) ** 2 * extra
    for side in ("low", "high"):
        far = getattr(alone, side) - alone.value
        assert abs(getattr(gain, side) - gain.value) == pytest.approx((far**2 + reach) ** 0.5)


def test_limits_are_never_nearer_and_a_loose_bound_has_no_rate():
    s = sample(600)
    goal = "maximize recall subject to predicted_rate <= 0.3"  # rows accepted are no luck
    judge = judge_of(goal, s)
    pair = two(judge, s)
    said = [judge.of_decisions(x.name, x.decided[None]) for x in pair]
    assert said[0].chance is None
    assert judge.difference(*pair).low <= judge.difference(*said).low
    # Where one has no scores, the rate of the other is its own.
    wide = judge_of(PRECISE, s)
    one, other = two(wide, s)
    mixed = wide.difference(one, wide.of_decisions("said", other.decided[None]))
    plain = wide.difference(*(wide.of_decisions(x.name, x.decided[None]) for x in (one, other)))
    assert mixed.low < plain.low
    assert mixed.high > plain.high
    loose = two(judge_of("maximize accuracy subject to recall >= 0.01", s), s)
    assert loose[0].chance.rates == (0.0,)
    assert len(loose[0].chance.by_fold) == FOLDS


def test_columns_of_values_take_the_errors_of_the_sides():
    rng = np.random.default_rng(0)
    n = 800
    y = (rng.random(n) < 0.3).astype(int)
    goal = Goal.parse('maximize profit(tp="amount", fp=-2) subject to precision >= 0.6')
    given = GivenRows(n, y, None, {"amount": rng.random(n) * 5})
    inputs = CheckedData.check(goal, classes_of(y), {None: given}, None)
    judge = Judge(inputs, JudgedRows(np.arange(n), np.arange(n) % FOLDS))
    pair = [judge.of_scores(str(k), 1.2 * y + rng.normal(size=n)) for k in (0, 1)]
    said = [judge.of_decisions(x.name, x.decided[None]) for x in pair]
    alone, gain = judge.difference(*said), judge.difference(*pair)
    extra = sum(
        (x.chance.rates[0] * (c.high - c.low) / (2 * norm.ppf(0.95))) ** 2
        for x in pair
        for c in x.report.constraints
    )
    assert extra > 0.0
    wanted = np.hypot(alone.low - alone.value, norm.ppf(0.95) * extra**0.5)
    assert gain.value - gain.low == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("goal", "best", "other", "verdict", "doubt"),
    [
        (PRECISE, (200, 130), (150, 98), "shown to be worse", ""),
        (PRECISE, (200, 130), (120, 40), "worse, but surer of a bound", "precision >= 0.6"),
        (PRECISE, (200, 132), (206, 150), "better, but misses the bounds by more", ""),
        (PRECISE, (200, 130), (198, 129), "cannot be distinguished", ""),
        (PRECISE, (200, 130), (200, 300), "shown to fail the goal", ""),
        (
            "maximize recall subject to precision >= 0.95",
            (200, 130),
            (210, 260),
            "shown to miss the bounds by more",
            "",
        ),
        (
            "maximize recall subject to precision >= 0.95",
            (200, 130),
            (180, 120),
            "cannot be distinguished by how far it misses the bounds",
            "",
        ),
    ],
)
def test_what_is_said_against_the_best(goal, best, other, verdict, doubt):
    y, goal = (np.arange(1000) < 400).astype(int), Goal.parse(goal)
    inputs = CheckedData.check(goal, classes_of(y), {None: GivenRows(1000, y)}, None)
    judge = Judge(inputs, JudgedRows(np.arange(1000), np.arange(1000) % FOLDS))
    found = []
    for right, wrong in (best, other):
        decided = np.zeros(1000, int)
        decided[:right] = decided[400 : 400 + wrong] = 1
        found.append(judge.of_decisions(f"{right}", decided))
    ranking = judge.ranking(found)
    assert ranking.verdicts == ("best", verdict)
    assert ranking.doubts == ("", doubt)
    assert ranking.ties == ((0, 1) if verdict.startswith("cannot") else (0,))
    assert (1 in ranking.open) == (not verdict.startswith("shown"))
