"""Promises over values of rows: they hold on the population where the column's range is known."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import (
    Confidence,
    Dataset,
    GoalError,
    InputError,
    NotCertifiable,
    PlugInClassifier,
    certify,
    solve,
)
from setpoint.guarantees.p_values import betting_p
from setpoint.rules import Threshold

LEVEL, LIMIT = 0.05, 300.0
CAUGHT = "maximize precision subject to recall.weighted(amount) >= 0.8"
SURE = Confidence(1 - LEVEL, ranges={"amount": (0, LIMIT)})


def drawn(n, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, 3)) + 2.0 * y[:, None] * [1.0, 0.5, 0.0]
    amount = np.minimum(rng.lognormal(3.0, 1.0, n), LIMIT)
    return X, 1.0 / (1.0 + np.exp(2.0 - 2.0 * X[:, 0])), y, amount


@pytest.fixture(scope="module")
def rows():
    return drawn(4_000)


def solved(goal, rows, confidence=SURE, **more):
    _, scores, y, amount = rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return solve(
            goal, scores, y, sensitive_features={"amount": amount}, confidence=confidence, **more
        )


def recall(p, a):
    return p.amount[(p.y == 1) & a].sum() / p.amount[p.y == 1].sum() - 0.8


def precision(p, a):
    return p.amount[(p.y == 1) & a].sum() / p.amount[a].sum() - 0.75


def profit(p, a):
    return ((p.amount - 5.0) * (p.y == 1) * a - 5.0 * (p.y == 0) * a).mean() - 3.5


GOALS = {
    "recall": (CAUGHT, recall),
    "precision": ("maximize recall subject to precision.weighted(amount) >= 0.75", precision),
    "profit": ("maximize precision subject to profit(tp=amount - 5, fp=-5) >= 3.5", profit),
}


class Population:
    def __init__(self):
        _, self.scores, self.y, self.amount = drawn(200_000, seed=1)

    def simulated(self, name, n, draws, seed):
        """Shares of draws that broke, with a promise and without, and that were refused."""
        goal, slack = GOALS[name]
        rng = np.random.default_rng(seed)
        broken = {None: 0, "sure": 0}
        refused = 0
        for _ in range(draws):
            at = rng.integers(0, len(self.y), n)
            rows = None, self.scores[at], self.y[at], self.amount[at]
            for name, confidence in ((None, None), ("sure", SURE)):
                try:
                    rule = solved(goal, rows, confidence, decide_on=None).rule
                except NotCertifiable:
                    refused += 1
                    continue
                broken[name] += slack(self, rule.decide(self.scores) == 1) < 0.0
        return broken["sure"] / draws, broken[None] / draws, refused / draws


def most(draws):
    return LEVEL + 2.33 * math.sqrt(LEVEL * (1 - LEVEL) / draws)


def test_the_promise_is_kept_on_the_population():
    sure, without, refused = Population().simulated("recall", 1_500, 40, seed=2)
    assert sure <= most(40)
    assert without >= 0.25
    assert refused <= 0.2


@pytest.mark.long
@pytest.mark.parametrize("name", GOALS)
def test_the_promise_is_kept_for_every_sort_of_constraint(name):
    sure, without, refused = Population().simulated(name, 3_000, 200, seed=3)
    assert sure <= most(200)
    assert without >= 0.25
    assert refused <= 0.4


# ---------------------------------------------------------------------- what is said
@pytest.mark.parametrize(("goal", "slack"), list(GOALS.values()), ids=GOALS)
@pytest.mark.parametrize("strict", [False, True])
def test_a_rule_is_certified_by_the_range(goal, slack, strict, rows):
    found = solved(goal, rows, Confidence(0.95, strict=strict, ranges={"amount": (0, LIMIT)}))
    g = found.report.guarantee
    (shown,) = g.constraints
    assert g.state == "certified"
    assert shown.kind == ("betting" if strict else "gaffke")
    assert shown.p_value <= 0.05
    bound = shown.value - 2.0 if "profit" in goal else 0.7
    assert bound < shown.limit < shown.value
    assert found.report.constraints[0].value == pytest.approx(shown.value)


def test_groups_are_each_shown_at_the_full_level(rows):
    sex = np.random.default_rng(4).choice(["f", "m"], 4_000)
    _, scores, y, amount = rows
    goal = "maximize precision subject to recall.weighted(amount).min(sex) >= 0.7"
    g = solve(
        goal, scores, y, sensitive_features={"sex": sex, "amount": amount}, confidence=SURE
    ).report.guarantee
    assert (g.state, g.constraints[0].kind) == ("certified", "gaffke")
    gap = "maximize precision subject to recall.weighted(amount).difference(sex) <= 0.2"
    with pytest.raises(GoalError, match="several such rates of different rows"):
        solve(gap, scores, y, sensitive_features={"sex": sex, "amount": amount}, confidence=SURE)


def test_a_wider_range_costs_more(rows):
    ranges = [{"amount": (0.0, top)} for top in (LIMIT, 3 * LIMIT)]
    reached = [
        solved(CAUGHT, rows, Confidence(0.95, ranges=r), decide_on=None).report.guarantee.reached
        for r in ranges
    ]
    assert reached[0] > reached[1]


def test_other_constraints_stay_exact_beside_one_over_values(rows):
    goal = f"{CAUGHT} and predicted_rate <= 0.6"
    kinds = [c.kind for c in solved(goal, rows).report.guarantee.constraints]
    assert kinds == ["gaffke", "binomial"]


def test_rules_that_look_at_the_column_are_certified_too(rows):
    goal = "maximize profit(tp=amount - 5, fp=-5) subject to predicted_rate <= 0.15"
    seeing, blind = (solved(goal, rows, 0.95, decide_on=d) for d in ("amount", "auto"))
    g = seeing.report.guarantee
    assert g.state == blind.report.guarantee.state == "certified"
    assert "probability times amount" in str(seeing.report.rule)
    assert g.reached > 1.2 * blind.report.guarantee.reached
    assert g.rows == 2_800


# ---------------------------------------------------------------------- classifiers
class Unfit(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("a model was fitted")


def framed(rows):
    X, _, y, amount = rows
    return pd.DataFrame(X, columns=list("abc")).assign(amount=amount), y


def test_a_classifier_is_certified_by_rows_set_apart_and_by_others(rows):
    X, y = framed(rows)
    clf = PlugInClassifier(LogisticRegression(max_iter=1_000), CAUGHT, confidence=SURE).fit(X, y)
    assert clf.goal_report_.guarantee.state == "certified"
    assert clf.goal_report_.guarantee.rows == 1_200
    more, labels = framed(drawn(3_000, seed=5))
    clf.fit(X, y, certify_on=(more, labels))
    assert clf.goal_report_.guarantee.rows == 3_000
    again = certify(clf, None, *framed(drawn(3_000, seed=6)), confidence=SURE, new_rule=False)
    assert again.guarantee.constraints[0].kind == "gaffke"
    more.loc[7, "amount"] = 900.0
    with pytest.raises(InputError, match="`certify_on`: row 7 has amount = 900"):
        clf.fit(X, y, certify_on=Dataset(more, labels))


@pytest.mark.parametrize(
    ("goal", "confidence", "weight", "message"),
    [
        (CAUGHT, 0.95, None, r"`ranges=\{'amount': \(low, high\)\}` of Confidence"),
        (CAUGHT, Confidence(ranges={"amount": (0, 100)}), None, r"row \d+ has amount = "),
        (CAUGHT, Confidence(ranges={"amuont": (0, 300)}), None, "did you mean 'amount'"),
        (CAUGHT, Confidence(ranges={"amount": (-5, 300)}), None, "begins at 0 or above"),
        (CAUGHT, SURE, 2.0, "nothing can be promised for weighted rows"),
        (
            "maximize recall s.t. recall.weighted(amount) - precision.weighted(amount) >= 0",
            SURE, None, "Write a bound for each of them",
        ),
        (
            "maximize recall s.t. recall.weighted(amount) - precision.weighted(amount) >= 0",
            Confidence(guarantee="approximate", ranges={"amount": (0, 300)}), None,
            "Write a bound for each of them",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_promised_is_refused_before_a_model_is_fitted(
    goal, confidence, weight, message, rows
):
    X, y = framed(rows)
    weight = None if weight is None else np.full(len(y), weight)
    clf = PlugInClassifier(Unfit(), goal, confidence=confidence)
    with pytest.raises((GoalError, InputError), match=message):
        clf.fit(X, y, sample_weight=weight)


def test_a_rule_is_certified_as_it_is(rows):
    _, scores, y, amount = rows
    how = {"sensitive_features": {"amount": amount}, "confidence": SURE}
    found = certify([Threshold(0.1), Threshold(0.45), Threshold(0.95)], CAUGHT, scores, y, **how)
    assert found.index == 1
    with pytest.raises(NotCertifiable):
        certify(Threshold(0.95), CAUGHT, scores, y, **how)
    with pytest.raises(InputError, match="row 0 has amount"):
        certify(
            Threshold(0.1), CAUGHT, scores, y, confidence=SURE,
            sensitive_features={"amount": amount + 1_000.0},
        )  # fmt: skip


def test_columns_below_0_count_on_either_side():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 3_000)
    gain = np.where(y == 1, 20.0, -15.0) + rng.uniform(-5.0, 5.0, 3_000)
    found = solve(
        "maximize predicted_rate subject to profit(tp=gain, fp=gain) >= 5",
        rng.normal(2.0 * y, 1.0), y, sensitive_features={"gain": gain}, decide_on=None,
        confidence=Confidence(ranges={"gain": (-20, 25)}),
    )  # fmt: skip
    (shown,) = found.report.guarantee.constraints
    assert shown.kind == "gaffke"
    assert 5 <= shown.limit < shown.value < 10
    assert found.report.guarantee.passed > 5  # a path from safe to bold
    assert 4.0 < found.report.guarantee.path[0][0] < 9.0


def test_bets_on_a_mean_with_a_worst_row_that_did_not_come():
    p = betting_p(np.array([1.0, -9.0]), np.zeros(2), np.array([60.0, 0.0]), 0.0, 1.0)
    assert p < 0.05


@pytest.mark.parametrize(
    "ranges", [5, {"amount": 3}, {"amount": (5, 1)}, {"amount": (0, np.inf)}, {3: (0, 1)}]
)
def test_ranges_are_pairs_of_numbers(ranges):
    with pytest.raises(InputError, match="`ranges"):
        Confidence(ranges=ranges)
    assert Confidence(ranges={"x": [0, 1]}) == Confidence(ranges={"x": (0.0, 1.0)})
