"""Certified rules break their promise in no more draws than was said, counted on populations."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from guarantees.samples import LEVEL, Unfit, most
from oracles.populations import Cells, churn, fbeta, gap, precision, recall, solved
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
from setpoint.report import GoalReport
from setpoint.rules import Band, Threshold
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")


# ---------------------------------------------------------------------- of two answers
@pytest.fixture(scope="module")
def cells():
    return Cells()


# The goal, the rows of a draw, and what a rule leaves between its value and the bound.
CASES = {
    "nested, few rows": ("maximize precision s.t. recall >= 0.8", 300,
        lambda p, a: recall(p, a) - 0.8),
    "nested": ("maximize recall s.t. false_positive_rate <= 0.1", 2_000,
        lambda p, a: 0.1 - p.share(a == 1, p.y == 0)),
    "two windows": ("maximize precision s.t. recall.min(g) >= 0.8", 1_000,
        lambda p, a: min(recall(p, a, p.g == k) for k in (0, 1)) - 0.8),
    "precision": ("maximize recall s.t. precision >= 0.72", 1_000,
        lambda p, a: precision(p, a) - 0.72),
    "F1": ("maximize recall s.t. f1 >= 0.62", 3_000, lambda p, a: fbeta(p, a, 1) - 0.62),
    "F2": ("maximize precision s.t. fbeta(2) >= 0.7", 1_000, lambda p, a: fbeta(p, a, 2) - 0.7),
    "churn": ("maximize recall s.t. churn <= 0.15", 3_000,
        lambda p, a: 0.15 - churn(p, a)),
    "gain": ("maximize recall s.t. accuracy - accuracy.baseline() >= -0.005", 2_000,
        lambda p, a: p.share(a == p.y) - p.share(p.deployed == p.y) + 0.005),
    "difference": ("maximize f1 s.t. predicted_rate.difference(g) <= 0.06", 1_000,
        lambda p, a: 0.06 - gap(p, a)),
}  # fmt: skip
ALL = CASES | {
    "G-mean": ("maximize recall s.t. g_mean >= 0.6", 1_000,
        lambda p, a: math.sqrt(recall(p, a) * p.share(a == 0, p.y == 0)) - 0.6),
    "deferral": ("minimize deferral_rate s.t. accuracy.decided >= 0.8", 1_000,
        lambda p, a: p.share(a == p.y, a != 2) - 0.8),
}  # fmt: skip


def simulated(p, name, draws, seed, orders=(None,)):
    """Shares of draws that broke, and that were answered; `orders` sort the rows in turn."""
    goal, n, slack = ALL[name]
    rng, rules = np.random.default_rng(seed), []
    for i in range(draws):
        at, by = p.draw(n, rng), orders[i % len(orders)]
        at = at if by is None else at[np.argsort(by[at], kind="stable")]
        rules.append(p.solve(goal, at, 1 - LEVEL))
    answered = [rule for rule in rules if rule is not None]
    broke = sum(slack(p, p.decided(rule)) < -1e-12 for rule in answered)
    return broke / draws, len(answered) / draws


@over("name", ["nested, few rows", "precision"])
def test_the_promise_is_kept(cells, name):
    broke, answered = simulated(cells, name, 40, seed=1)
    assert broke <= most(40)
    assert answered >= 0.65  # 1,000 rows, of which the split leaves 700


@pytest.mark.long
def test_the_promise_is_kept_for_every_kind_of_test(cells):
    """And the tests are not needlessly careful: some draws do break."""
    found = {name: simulated(cells, name, 200, seed=2) for name in CASES}
    assert {k: v for k, v in found.items() if v[0] > most(200)} == {}
    assert {k: v for k, v in found.items() if v[1] < 0.5} == {}
    assert 0.01 <= np.mean([broke for broke, _ in found.values()]) <= LEVEL


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_the_promise_is_kept_on_tied_rows_sorted_by_class_by_group_and_by_score(name):
    p = Cells(n=40_000, seed=7)
    p.scores = np.round(p.scores, 1)
    broke, answered = simulated(p, name, 300, 4, (p.y, p.g, p.scores))
    assert broke <= most(300)
    assert answered >= 0.3


@pytest.mark.long
def test_the_next_rows_are_another_promise_than_the_population(cells):
    """A cut from 150 positives for the recall of the next 100."""
    goal, draws, held = "maximize precision s.t. recall >= 0.8", 1_000, []
    rng = np.random.default_rng(4)
    for confidence in (Confidence(for_next=100), Confidence()):
        kept = 0
        for _ in range(draws):
            at = cells.draw(300, rng)
            at = np.concatenate([at[cells.y[at] == 0], cells.positives(150, rng)])
            rule = cells.solve(goal, at, confidence)
            kept += cells.decided(rule, cells.positives(100, rng)).sum() >= 80
        held.append(kept / draws)
    error = math.sqrt(LEVEL * (1 - LEVEL) / draws)
    assert 0.95 - 2.33 * error <= held[0] <= 0.985
    assert held[1] <= 0.95 - 2.33 * error


# ---------------------------------------------------------------------- of rows that are decided
PRIOR, SHIFT = 0.4, 2.0
SURE = "minimize deferral_rate subject to accuracy.decided >= {}"


def drawn(n, rng):
    y = (rng.random(n) < PRIOR).astype(int)
    return rng.normal(SHIFT * y, 1.0), y


def on_population(rule):
    """The share of right decisions among those that are taken, and the share that is."""
    yes = np.array([norm.cdf(rule.low - SHIFT), norm.sf(rule.high - SHIFT)])
    no = np.array([norm.cdf(rule.low), norm.sf(rule.high)])
    decided = PRIOR * yes.sum() + (1 - PRIOR) * no.sum()
    return (PRIOR * yes[1] + (1 - PRIOR) * no[0]) / decided, decided


@pytest.mark.parametrize(("n", "bound", "draws", "refused"), [
    (1_500, 0.94, 30, 0.1),
    *(pytest.param(n, bound, 1_000, 0.4, marks=pytest.mark.long)
      for n, bound in [(800, 0.92), (3_000, 0.95), (10_000, 0.97)]),
])  # fmt: skip
def test_what_is_decided_alone_is_right_as_often_as_promised(n, bound, draws, refused):
    rng, goal, kept, plain = np.random.default_rng(0), SURE.format(bound), [], []
    for number in range(draws):
        scores, y = drawn(n, rng)
        if number % 2 == 0:
            plain.append(on_population(solved(goal, scores, y, None)))
        rule = solved(goal, scores, y, 1 - LEVEL)
        kept += [] if rule is None else [on_population(rule)]
    kept, plain = np.array(kept), np.array(plain)
    assert (kept[:, 0] < bound).sum() / draws <= most(draws)
    assert (plain[:, 0] < bound).mean() >= 0.4
    assert len(kept) / draws >= 1.0 - refused
    assert kept[:, 1].mean() <= plain[:, 1].mean()
    assert kept[:, 1].mean() >= 0.6 * plain[:, 1].mean() or draws == 1_000


@over("draws", [8, 200], every=2)
def test_what_two_groups_decide_alone_is_right_in_both(draws):
    """Intersection-union: each group at the full level."""
    rng, found = np.random.default_rng(5), []
    goal = "minimize deferral_rate s.t. accuracy.decided.min(g) >= 0.9"
    for _ in range(draws):
        scores, y = drawn(1_500, rng)
        groups = {"g": rng.integers(0, 2, 1_500)}
        rule = solved(goal, scores, y, 0.95, sensitive_features=groups, decide_on=None)
        found += [] if rule is None else [on_population(rule)[0] < 0.9]
    assert len(found) >= 0.75 * draws
    assert sum(found) <= most(draws) * draws


def promised(goal, scores, y, confidence=0.95, **more):
    found = solve(goal, scores, y, confidence=confidence, **more)
    return found.rule, found.report.guarantee


def test_bands_are_certified_by_a_path_of_bands():
    rng = np.random.default_rng(3)
    scores, y = drawn(4_000, rng)
    for strict in (False, True):
        rule, g = promised(SURE.format(0.94), scores, y, Confidence(0.95, strict=strict))
        assert isinstance(rule, Band)
        assert (g.state, g.method, g.rows) == ("certified", "path of rules", 3_200)
        assert g.constraints[0].kind == "binomial"
        assert g.constraints[0].p_value <= 0.05
        assert 1 < g.passed < g.tried
        assert g.reached >= g.without - 0.01
        margins = [rung.margin for rung in g.path]
        assert margins == sorted(margins, reverse=True)
    sex, fair = rng.choice(["f", "m"], 4_000), " and deferral_rate.difference(sex) <= 0.1"
    for decide_on in ("auto", None):
        how = {"sensitive_features": {"sex": sex}, "decide_on": decide_on}
        rule, g = promised(SURE.format(0.94) + fair, scores, y, **how)
        assert [c.kind for c in g.constraints] == ["binomial", "melding"]
        assert rule.needs_segments == (decide_on == "auto")


def test_a_path_goes_on_from_its_second_start_where_a_safe_rule_fails():
    rng = np.random.default_rng(7)
    group, y = rng.integers(0, 2, 3_000), (rng.random(3_000) < 0.25).astype(int)
    scores = rng.normal(y * np.where(group == 1, 1.1, 1.6), 1.0)
    goal = "maximize recall subject to precision >= 0.4 and recall.difference(group) <= 0.1"
    report = solve(goal, scores, y, sensitive_features={"group": group}, confidence=0.95).report
    g, (first, second) = report.guarantee, report.guarantee.starts.items()
    assert (first, second[1]) == ((0, 0.3), 0.7)
    tested = [rung.passed for rung in g.path if rung.share > 0.0]
    assert (len(tested), sum(tested)) == (g.tried, g.passed)
    before, after = g.path[: second[0]], g.path[second[0] :]
    assert not before[-1].passed
    assert max(rung.objective for rung in before if rung.passed) < 0.3
    assert any(rung.passed for rung in after)
    assert g.reached > 0.8  # not .1, where the first start ends
    assert max(shown.p_value for shown in g.constraints) <= 0.05 * 0.7
    assert GoalReport.from_json(report.to_json()).guarantee == g


def test_classifiers_and_lists_that_defer_are_certified():
    rng = np.random.default_rng(8)
    (scores, y), (new, true) = drawn(5_000, rng), drawn(5_000, rng)
    X, later = np.column_stack([scores, scores * 0.0]), np.column_stack([new, new * 0.0])
    clf = PlugInClassifier(LogisticRegression(), SURE.format(0.94), confidence=0.95).fit(X, y)
    g, answers = clf.goal_report_.guarantee, clf.predict(later)
    assert (g.state, g.rows) == ("certified", 1_500)
    decided = answers != "defer"
    assert (answers[decided] == true[decided]).mean() >= 0.93
    assert decided.mean() == pytest.approx(1 - g.reached, abs=0.05)
    for how in ({}, {"randomized": True, "draw": "random"}):
        clf = PlugInClassifier(LogisticRegression(), SURE.format(0.97), **how).fit(X, y)
        found = certify(clf, SURE.format(0.94), later, true, new_rule=False)
        assert found.guarantee.state == "certified"
        with pytest.raises(GoalError, match="the rule defers rows"):
            certify(clf, "maximize recall s.t. precision >= 0.5", later, true, new_rule=False)
    bands = [Band(-0.7, 2.7), Band(-0.3, 2.3), Threshold(1.0)]
    assert certify(bands, SURE.format(0.94), scores, y).index == 1


def test_more_classes_are_certified_by_posteriors():
    rng = np.random.default_rng(10)
    y = rng.integers(0, 3, 3_000)
    posterior = np.exp(rng.normal(size=(3_000, 3)) + 2.5 * np.eye(3)[y])
    posterior /= posterior.sum(axis=1, keepdims=True)
    _, g = promised(SURE.format(0.95), posterior, y, evidence="soft")
    assert (g.state, g.method) == ("certified", "path of rules")
    assert g.constraints[0].kind == "binomial"
    assert g.passed == g.tried == len(g.path)


# ---------------------------------------------------------------------- of sums of amounts
LIMIT = 300.0
CAUGHT = "maximize precision subject to recall.weighted(amount) >= 0.8"
GOALS = {
    "recall": (CAUGHT, lambda a, y, d: a[(y == 1) & d].sum() / a[y == 1].sum() - 0.8),
    "precision": ("maximize recall subject to precision.weighted(amount) >= 0.75",
        lambda a, y, d: a[(y == 1) & d].sum() / a[d].sum() - 0.75),
    "profit": ("maximize precision subject to profit(tp=amount - 5, fp=-5) >= 3.5",
        lambda a, y, d: ((a - 5.0) * (y == 1) * d - 5.0 * (y == 0) * d).mean() - 3.5),
}  # fmt: skip


def within(limit=LIMIT, **more):
    return Confidence(1 - LEVEL, ranges={"amount": (0, limit)}, **more)


def amounts(n, seed=0):
    """Features, their scores, labels, and amounts up to a limit."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, 3)) + 2.0 * y[:, None] * [1.0, 0.5, 0.0]
    amount = np.minimum(rng.lognormal(3.0, 1.0, n).round(), LIMIT)  # few values: a fast test
    return X, 1.0 / (1.0 + np.exp(2.0 - 2.0 * X[:, 0])), y, amount


@pytest.mark.parametrize(("name", "n", "draws"), [
    ("recall", 1_000, 12),
    *(pytest.param(name, 3_000, 200, marks=pytest.mark.long) for name in GOALS),
])  # fmt: skip
def test_the_promise_is_kept_over_amounts(name, n, draws):
    goal, slack = GOALS[name]
    _, scores, y, amount = amounts(50_000, seed=1)
    rng, broken, refused = np.random.default_rng(2), [0, 0], 0
    for _ in range(draws):
        at = rng.integers(0, len(y), n)
        columns = {"sensitive_features": {"amount": amount[at]}, "decide_on": None}
        for i, confidence in enumerate([within(), None]):
            rule = solved(goal, scores[at], y[at], confidence, **columns)
            refused += rule is None
            if rule is not None:
                broken[i] += slack(amount, y, rule.decide(scores) == 1) < 0.0
    assert broken[0] / draws <= most(draws)
    assert broken[1] / draws >= 0.25
    assert refused / draws <= (0.2 if draws < 100 else 0.4)


_, SCORES, Y, AMOUNT = amounts(3_000)


def of_amounts(goal, confidence=None, **more):
    columns = {"amount": AMOUNT, "sex": np.random.default_rng(4).choice(["f", "m"], len(Y))}
    confidence = within() if confidence is None else confidence
    found = solve(goal, SCORES, Y, sensitive_features=columns, confidence=confidence, **more)
    return found.rule, found.report.guarantee


@over("goal", [goal for goal, _ in GOALS.values()])
@over("strict", [False, True])
def test_a_rule_is_certified_by_the_range(goal, strict):
    _, g = of_amounts(goal, within(strict=strict), decide_on=None)
    (shown,) = g.constraints
    assert g.state == "certified"
    assert shown.kind == ("betting" if strict else "gaffke")
    assert shown.p_value <= 0.05
    assert (shown.value - 2.0 if "profit" in goal else 0.7) < shown.limit < shown.value


def test_wider_ranges_cost_more_and_groups_and_other_constraints_have_their_own_tests():
    narrow, wide = (of_amounts(CAUGHT, within(k * LIMIT), decide_on=None)[1] for k in (1, 3))
    assert narrow.reached > wide.reached
    goal = "maximize precision subject to recall.weighted(amount).min(sex) >= 0.7"
    g = of_amounts(f"{goal} and predicted_rate <= 0.6")[1]
    assert [c.kind for c in g.constraints] == ["gaffke", "binomial"]
    with pytest.raises(GoalError, match="several such rates of different rows"):
        of_amounts("maximize precision s.t. recall.weighted(amount).difference(sex) <= 0.2")


def test_rules_that_look_at_the_column_are_certified_too():
    goal = "maximize profit(tp=amount - 5, fp=-5) subject to predicted_rate <= 0.15"
    (rule, seeing), (_, blind) = (of_amounts(goal, 0.95, decide_on=d) for d in ("amount", "auto"))
    assert seeing.state == blind.state == "certified"
    assert rule.value_columns == ("amount",)
    assert seeing.reached > 1.2 * blind.reached


def framed(n, seed):
    X, _, y, amount = amounts(n, seed)
    return pd.DataFrame(X, columns=list("abc")).assign(amount=amount), y


def test_a_classifier_is_certified_by_rows_set_apart_and_by_others():
    X, y = framed(2_000, 0)
    clf = PlugInClassifier(LogisticRegression(max_iter=1_000), CAUGHT, confidence=within())
    more, labels = framed(1_200, seed=5)
    assert clf.fit(X, y, certify_on=(more, labels)).goal_report_.guarantee.rows == 1_200
    again = certify(clf, None, *framed(2_000, seed=6), confidence=within(), new_rule=False)
    assert again.guarantee.constraints[0].kind == "gaffke"
    more.loc[7, "amount"] = 900.0
    with pytest.raises(InputError, match="`certify_on`: row 7 has amount = 900"):
        clf.fit(X, y, certify_on=Dataset(more, labels))


def test_rules_are_certified_as_they_are():
    how = {"sensitive_features": {"amount": AMOUNT}, "confidence": within()}
    rules = [Threshold(0.1), Threshold(0.45), Threshold(0.95)]
    assert certify(rules, CAUGHT, SCORES, Y, **how).index == 1
    with pytest.raises(NotCertifiable):
        certify(rules[2], CAUGHT, SCORES, Y, **how)
    how["sensitive_features"] = {"amount": AMOUNT + 1_000.0}
    with pytest.raises(InputError, match="row 0 has amount"):
        certify(rules[0], CAUGHT, SCORES, Y, **how)


def test_columns_below_0_count_on_either_side():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 1_500)
    gain = np.where(y == 1, 20.0, -15.0) + rng.uniform(-5.0, 5.0, 1_500)
    _, g = promised(
        "maximize predicted_rate subject to profit(tp=gain, fp=gain) >= 5",
        rng.normal(2.0 * y, 1.0), y, Confidence(ranges={"gain": (-20, 25)}),
        sensitive_features={"gain": gain}, decide_on=None,
    )  # fmt: skip
    (shown,) = g.constraints
    assert shown.kind == "gaffke"
    assert 5 <= shown.limit < shown.value < 10
    assert g.passed > 5  # a path from safe to bold
    assert 4.0 < g.path[0].margin < 9.0


APART = "maximize recall s.t. recall.weighted(amount) - precision.weighted(amount) >= 0"


@over("goal, confidence, weight, message", [
    (CAUGHT, 0.95, None, r"`ranges=\{'amount': \(low, high\)\}` of Confidence"),
    (CAUGHT, within(100), None, r"row \d+ has amount = "),
    (CAUGHT, Confidence(ranges={"amuont": (0, 300)}), None, "did you mean 'amount'"),
    (CAUGHT, Confidence(ranges={"amount": (-5, 300)}), None, "begins at 0 or above"),
    (CAUGHT, within(), 2.0, "nothing can be promised for weighted rows"),
    (APART, within(), None, "Write a bound for each of them"),
    (APART, within(guarantee="approximate"), None, "Write a bound for each of them"),
])  # fmt: skip
def test_what_cannot_be_promised_is_refused_before_a_model_is_fitted(
    goal, confidence, weight, message
):
    X, y = framed(1_000, 0)
    weight = None if weight is None else np.full(len(y), weight)
    clf = PlugInClassifier(Unfit(), goal, confidence=confidence)
    with pytest.raises((GoalError, InputError), match=message):
        clf.fit(X, y, sample_weight=weight)


@over("ranges", [5, {"amount": 3}, {"amount": (5, 1)}, {"amount": (0, np.inf)}, {3: (0, 1)}])
def test_ranges_are_pairs_of_numbers(ranges):
    with pytest.raises(InputError, match="`ranges"):
        Confidence(ranges=ranges)
    assert Confidence(ranges={"x": [0, 1]}) == Confidence(ranges={"x": (0.0, 1.0)})
