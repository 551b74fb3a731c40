"""From a path of rules to one that is certified, or to a refusal that says what would be."""

import copy
from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from guarantees.samples import Unfit
from guarantees.samples import rows as drawn
from setpoint import (
    Confidence,
    Dataset,
    GoalError,
    InfeasibleError,
    NotCertifiable,
    PlugInClassifier,
    certify,
    solve,
)
from setpoint.counts import Rows
from setpoint.goals import Goal
from setpoint.guarantees import Promise, RuleTests, check_enough
from setpoint.program import link
from setpoint.rules import Threshold
from thinning import over

PRECISION = "maximize recall subject to precision >= 0.7"
RECALL = "maximize precision subject to recall >= 0.8"
HARD = "maximize recall subject to precision >= 0.93"
X, Y, G = drawn(4_000)


def plug(goal, confidence=0.95, **more):
    return PlugInClassifier(LogisticRegression(), goal, confidence=confidence, **more)


@cache
def promised(goal, confidence=0.95):
    """What the fit on all rows promises."""
    return plug(goal, confidence).fit(X, Y).goal_report_.guarantee


# ---------------------------------------------------------------------- what is promised
@over("goal, method", [(PRECISION, "path of rules"), (RECALL, "every cut-off")])
def test_a_fit_is_certified_and_says_so(goal, method):
    report = plug(goal).fit(X, Y).goal_report_
    found, (entry,) = report.guarantee, report.constraints
    assert (found.state, found.method, found.confidence) == ("certified", method, 0.95)
    assert found.is_exact
    assert found.rows == report.counts.n_rows == 1_200
    assert 1 <= found.passed <= found.tried
    (shown,) = found.constraints
    assert shown.passed
    assert shown.p_value <= 0.05
    assert shown.value == entry.value
    assert entry.certified == entry.bound <= shown.limit
    assert found.without > found.reached == report.objective.value
    assert entry.verdict == "shown"
    plain = plug(goal, None).fit(X, Y).goal_report_.constraints
    assert [e.certified for e in plain] == [None]


def test_a_constraint_has_its_own_confidence():
    goal = "maximize recall subject to precision >= 0.7 with confidence 0.99 and recall >= 0.3"
    found = promised(goal, None)
    assert [c.text for c in found.constraints] == ["precision >= 0.7 with confidence 0.99"]
    assert found.constraints[0].p_value <= 0.01
    both = promised(goal, 0.9)
    assert [c.confidence for c in both.constraints] == [0.99, 0.9]
    assert both.confidence == 0.9


def test_more_confidence_and_what_is_proved_cost_more_of_the_objective():
    reached = [promised(RECALL, c).reached for c in (0.6, 0.95, 0.999)]
    assert reached == sorted(reached, reverse=True)
    assert reached[0] > reached[-1]
    following = promised(RECALL, Confidence(0.95, for_next=100))
    assert following.next_rows == 100
    assert following.reached < promised(RECALL).reached
    with pytest.raises(GoalError, match=r"^`for_next` promises the next rows for thresholds"):
        promised(PRECISION, Confidence(0.95, for_next=100))
    goal = "maximize precision subject to fbeta(2) >= 0.65"
    loose, strict = promised(goal), promised(goal, Confidence(0.95, strict=True))
    assert (loose.is_exact, strict.is_exact) == (False, True)
    assert strict.reached <= loose.reached


def test_data_sets_are_split_too():
    other, labels, _ = drawn(900, seed=4)
    goal = "maximize recall subject to precision >= 0.6 and accuracy.on('audit') >= 0.7"
    clf = plug(goal, 0.9).fit(X, Y, datasets={"audit": (other, labels)})
    assert clf.goal_report_.guarantee.state == "certified"
    assert clf.goal_report_.guarantee.rows == 1_200 + 270


def test_a_rule_that_draws_by_content_is_tested_as_the_function_that_it_is():
    by_row, anew = (plug(PRECISION, randomized=True, draw=d).fit(X, Y) for d in ("row", "random"))
    assert by_row.goal_report_.guarantee.constraints[0].kind == "binomial"
    assert anew.rule_.randomized
    assert anew.goal_report_.guarantee.constraints[0].kind != "binomial"


def test_rows_of_a_few_categories_are_not_called_copies():
    rows, y, _ = drawn(2_000)
    with pytest.raises(ValueError, match="of the rows equal others, labels included"):
        plug(RECALL, 0.9).fit(np.repeat(rows[:300], 3, axis=0), np.repeat(y[:300], 3))
    found = plug(RECALL, 0.9).fit(np.round(rows / 2.0), y).goal_report_.guarantee
    assert "copies are taken for rows that came independently" in found.assumptions


def test_another_try_on_the_same_rows_is_tested_more_strictly():
    clf = plug(PRECISION).fit(X, Y)
    assert clf.fit(X, Y).goal_report_.guarantee.attempt == 1  # the same path
    clf.set_params(estimator__C=0.001).fit(X, Y)
    assert clf.goal_report_.guarantee.attempt == 2
    assert clf.fit(*drawn(3_000, seed=5)[:2]).goal_report_.guarantee.attempt == 1
    stricter = promised(PRECISION, Confidence(0.95, attempt=3))
    assert stricter.attempt == 3
    assert stricter.constraints[0].p_value <= 0.05 * 6 / (3 * np.pi) ** 2


def test_changed_models_lose_what_was_promised():
    new, labels, _ = drawn(1_000, seed=8)
    clf = plug(PRECISION).fit(X, Y)
    other = copy.deepcopy(clf)
    assert other.evaluate(new, labels).warnings == clf.evaluate(new, labels).warnings == ()
    other.estimator_.fit(new, labels)
    with pytest.warns(UserWarning, match=r"^The rule was certified for another model or rule"):
        assert other.evaluate(new, labels).warnings
    clf.rule_ = Threshold(0.2)
    with pytest.warns(UserWarning, match="nothing is promised of it"):
        clf.evaluate(new, labels)


# ---------------------------------------------------------------------- refusals
def test_a_refusal_says_what_could_be_certified():
    rows, y, _ = drawn(1_500)
    with pytest.raises(NotCertifiable) as caught:
        plug(HARD, 0.99).fit(rows, y)
    error = caught.value
    bound = error.reachable["precision >= 0.93"]
    assert 0.0 < bound <= error.limit < 0.93
    assert error.limit <= error.value <= 1.0
    assert error.rows_needed > 450
    assert f"precision >= {bound:g}; recall is then" in str(error)
    again = plug(f"maximize recall subject to precision >= {bound}", 0.99).fit(rows, y)
    assert again.goal_report_.guarantee.state == "certified"
    # The fit before stays.
    rule = again.rule_
    with pytest.raises(NotCertifiable):
        again.set_params(goal=HARD).fit(rows[:500], y[:500])
    assert again.rule_ == rule


def test_nearest_returns_the_safest_rule_and_says_that_nothing_is_certified():
    rows, y, _ = drawn(600)
    clf = plug(HARD, Confidence(0.95, on_uncertified="nearest")).fit(rows, y)
    found, (entry,) = clf.goal_report_.guarantee, clf.goal_report_.constraints
    assert (found.state, found.passed) == ("not certified", 0)
    assert not found.constraints[0].passed
    assert entry.certified == found.constraints[0].limit < 0.93


def test_what_no_rule_reaches_stays_infeasible():
    with pytest.raises(InfeasibleError) as caught:
        plug("maximize recall subject to g_mean >= 0.97").fit(X, Y)
    assert not isinstance(caught.value, NotCertifiable)


WEIGHED = {"sample_weight": np.linspace(0.5, 2.0, 4_000)}
APART = Dataset(X[G == 0] + 9.0, Y[G == 0], sensitive_features={"g": G[G == 0]})


@over("goal, confidence, given, message", [
    (RECALL, 0.9, WEIGHED, "nothing can be promised for weighted rows"),
    (RECALL, Confidence(0.9, guarantee="approximate"), WEIGHED, "nothing can be promised for wei"),
    ("maximize f1 subject to accuracy.difference(g) <= 0.3", 0.9,
     {"sensitive_features": {"g": G}, "certify_on": APART}, r"certif"),
    (PRECISION, 0.95, {"certify_on": (X[:50] + 1.0, None)}, "needs labels"),
])  # fmt: skip
def test_what_cannot_be_promised_is_refused_before_a_model_is_fitted(
    goal, confidence, given, message
):
    with pytest.raises(GoalError, match=message):
        PlugInClassifier(Unfit(), goal, confidence=confidence).fit(X, Y, **given)


# ---------------------------------------------------------------------- too few rows
FEW = "maximize precision subject to recall >= 0.9"


def few(n_positive, n=400):
    y = (np.arange(n) < n_positive).astype(int)
    return np.random.default_rng(0).normal(y[:, None], 1.0, (n, 2)), y


def test_rows_that_could_certify_nothing_are_refused_before_a_fit():
    rows, y = few(40)
    clf = PlugInClassifier(Unfit(), FEW, confidence=0.95)
    with pytest.raises(NotCertifiable, match=r"takes 29 rows that speak for it") as caught:
        clf.fit(rows, y)
    assert caught.value.rows_needed == 580
    with pytest.raises(NotCertifiable, match="there are 20 that could"):
        clf.fit(rows, y, certify_on=(rows[20:] + 9, y[20:]))
    with pytest.raises(NotCertifiable, match="could"):
        solve(FEW, rows[:, 0], few(28)[1], confidence=0.95)
    clf.set_params(goal="maximize precision subject to recall.min(g) >= 0.9")
    with pytest.raises(NotCertifiable, match="could"):
        clf.fit(*few(200), sensitive_features={"g": (np.arange(400) % 10 == 0).astype(int)})
    clf = plug(FEW, Confidence(0.95, on_uncertified="nearest"))
    with pytest.warns(UserWarning, match="takes 29 rows that speak for it"):
        clf.fit(rows, y)
    assert clf.goal_report_.guarantee.state == "not certified"


def test_two_sides_that_leave_no_room_say_that_no_number_of_rows_would_do():
    goal = "maximize accuracy subject to recall >= 0.78 and false_positive_rate <= 0.22"
    with pytest.raises(NotCertifiable) as caught:
        solve(goal, X[:, 0], Y, confidence=0.95)
    assert caught.value.rows_needed is None


def test_scores_alone_are_certified_on_all_rows_or_on_the_rest():
    for goal, n, method in ((RECALL, 4_000, "every cut-off"), (PRECISION, 3_200, "path of rules")):
        found = solve(goal, X[:, 0], Y, confidence=0.95).report.guarantee
        assert (found.state, found.rows, found.method) == ("certified", n, method)


def test_auto_sets_more_rows_apart_where_fewer_could_not_pass():
    def share(n_positive, **how):
        y, goal, settings = few(n_positive)[1], Goal.parse(FEW), Confidence(0.95, **how)
        data = Rows.from_arrays((0, 1), y, len(y), needs=goal.needs)
        tests = RuleTests(Promise.of(link(goal, data.codebook), settings), data.marginals)
        return check_enough(tests, data, settings, 0.3)

    assert share(200) == 0.3
    assert 29 / 70 <= share(70) <= 0.5
    assert share(200, certification_size=0.2) == 0.2
    with pytest.raises(NotCertifiable):
        share(100, certification_size=0.2)


# ---------------------------------------------------------------------- scores, models and rules
LOOSE = "maximize recall subject to precision >= 0.6"
OTHERS = drawn(2_000, seed=11)[:2]


def test_models_are_certified_as_they_decide():
    model = LogisticRegression().fit(*OTHERS)
    found = certify(model, PRECISION, X, Y)
    assert isinstance(found.model, PlugInClassifier)
    assert found.guarantee.state == "certified"
    assert found.model.predict(X).mean() > 0
    kept = certify(model, LOOSE, X, Y, new_rule=False)
    assert (kept.model, kept.guarantee.method) == (model, "one rule")
    clf = plug(PRECISION, None).fit(*OTHERS)
    found = certify(clf, LOOSE, X, Y)
    assert (found.guarantee.method, found.guarantee.rows) == ("one rule", len(Y))
    assert found.report.constraints[0].value == clf.evaluate(X, Y).constraints[0].value
    with pytest.raises(NotCertifiable):
        certify(clf, "maximize recall subject to precision >= 0.75", X, Y)
    with pytest.raises(ValueError, match="are among those that the model was fitted on"):
        certify(clf, LOOSE, *OTHERS)


def test_a_list_is_tested_in_its_order_or_in_none():
    scores, rules = X[:, 0], [Threshold(t) for t in (3.0, 2.5, 2.0, 1.5, 0.0)]
    found = certify(rules, PRECISION, scores, Y)
    assert found.guarantee.method == "list of rules"
    assert found.index == found.guarantee.passed - 1
    assert found.guarantee.passed < len(rules)
    unordered = certify(rules[::-1], PRECISION, scores, Y, ordered=False)
    assert unordered.guarantee.method == "rules in no order"
    assert unordered.model.threshold >= found.model.threshold
    with pytest.raises(NotCertifiable):
        certify(rules[::-1], PRECISION, scores, Y)


def test_another_list_on_the_same_rows_is_another_try():
    first = Threshold(2.125)  # tries are counted for as long as it is there
    lists = ([first, Threshold(t)] for t in (2.5, 1.9, 2.5))
    tries = [certify(rules, PRECISION, X[:, 0], Y).guarantee.attempt for rules in lists]
    assert tries == [1, 2, 1]


@over("change, message", [
    ({"X": None}, "certify needs `X` and `y`"), ({"model": []}, "`model`: the list is empty"),
    ({"goal": None}, "`goal` is missing"), ({"confidence": 2}, "`confidence` is a number"),
    ({"confidence": Confidence(0.9, guarantee="approximate")}, "certify fits none"),
    ({"new_rule": "yes"}, "`new_rule` is 'auto', True or False"),
])  # fmt: skip
def test_wrong_arguments_are_named(change, message):
    given = {"model": Threshold(0.5), "goal": PRECISION, "X": X[:, 0], "y": Y} | change
    with pytest.raises((TypeError, ValueError), match=message):
        certify(**given)
