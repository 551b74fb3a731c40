"""What it adds to a difference that rules are found on rows: its formula, and ties."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from plugin.samples import sample
from setpoint import evaluate, solve
from setpoint.goals import Const, Goal
from setpoint.inputs import CheckedData, GivenRows, classes_of
from setpoint.plugin.fit.fitting import judge_by_rules
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
PRECISE = "maximize recall subject to precision >= 0.6"


def judge_of(goal, y, **columns):
    given = {None: GivenRows(len(y), y, None, columns or None)}
    return judge_by_rules(CheckedData.check(Goal.parse(goal), classes_of(y), given, None))


def scored(judge, name, scores):
    return judge.of_scores(name, {None: scores})


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


def test_limits_are_never_nearer_and_a_loose_bound_has_no_rate():
    s = sample(600)
    goal = "maximize recall subject to predicted_rate <= 0.3"
    judge = judge_of(goal, s.y)
    pair = two(judge, s)
    said = [judge.of_decisions(x.name, x.decided) for x in pair]
    assert said[0].rates is None
    assert judge.difference(*pair).low <= judge.difference(*said).low
    # Where one has no scores, the rate of the other is its own.
    wide = judge_of(PRECISE, s.y)
    one, other = two(wide, s)
    mixed = wide.difference(one, wide.of_decisions("said", other.decided))
    plain = wide.difference(*(wide.of_decisions(x.name, x.decided) for x in (one, other)))
    assert mixed.low < plain.low
    assert mixed.high > plain.high
    loose = two(judge_of("maximize accuracy subject to recall >= 0.01", s.y), s)
    assert loose[0].rates == (0.0,)


def test_columns_of_values_take_the_errors_of_the_sides():
    rng = np.random.default_rng(0)
    n = 800
    y = (rng.random(n) < 0.3).astype(int)
    goal = 'maximize profit(tp="amount", fp=-2) subject to precision >= 0.6'
    judge = judge_of(goal, y, amount=rng.random(n) * 5)
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
    judge, found = judge_of(goal, (np.arange(1000) < 400).astype(int)), []
    for right, wrong in (best, other):
        decided = np.zeros(1000, int)
        decided[:right] = decided[400 : 400 + wrong] = 1
        found.append(judge.of_decisions(f"{right}", {None: decided}))
    ranking = judge.ranking(found)
    assert ranking.best == 0
    assert ranking.ties == ((0, 1) if tied else (0,))
