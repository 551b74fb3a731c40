"""From a path of rules to one that is certified, or to a refusal that says what would be."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

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
from setpoint.goals import Goal
from setpoint.rules import Threshold

PRECISION = "maximize recall subject to precision >= 0.7"
RECALL = "maximize precision subject to recall >= 0.8"


def drawn(n, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.35).astype(int)
    X = rng.normal(0.0, 1.0, (n, 3)) + 1.6 * y[:, None] * [1.0, 0.3, 0.0]
    return X, y, rng.integers(0, 2, n)


@pytest.fixture(scope="module")
def rows():
    return drawn(4_000)


def plug(goal, **more):
    return PlugInClassifier(LogisticRegression(), goal, **more)


# ---------------------------------------------------------------------- what is promised
@pytest.mark.parametrize(
    ("goal", "method"), [(PRECISION, "path of rules"), (RECALL, "every cut-off")]
)
def test_a_fit_is_certified_and_says_so(rows, goal, method):
    X, y, _ = rows
    clf = plug(goal, confidence=0.95).fit(X, y)
    report = clf.goal_report_
    found = report.guarantee
    assert (found.state, found.method, found.confidence) == ("certified", method, 0.95)
    assert found.is_exact
    assert found.rows == report.counts.n_rows == 1_200
    assert 1 <= found.passed <= found.tried
    (entry,), (shown,) = report.constraints, found.constraints
    assert shown.passed
    assert shown.p_value <= 0.05
    assert shown.value == entry.value
    assert entry.certified == entry.bound
    assert shown.limit >= entry.bound
    assert found.reached == report.objective.value
    assert found.without > found.reached
    assert entry.verdict == "shown"


def test_the_report_counts_the_rows_that_certify(rows):
    X, y, _ = rows
    clf = plug(PRECISION, confidence=0.95).fit(X, y)
    plain = plug(PRECISION).fit(X, y)
    assert clf.goal_report_.counts.n_rows + clf.evidence_.n_rows == len(y)
    assert plain.goal_report_.guarantee is None
    assert all(e.certified is None for e in plain.goal_report_.constraints)


def test_rows_that_certify_take_no_part_in_the_fit(rows):
    X, y, _ = rows
    clf = plug(PRECISION, confidence=0.95).fit(X, y)
    trained = clf.evidence_.n_rows
    again = LogisticRegression()
    # The model is that of the other rows alone, whatever the rows that certify hold.
    seen = []

    class Spy(LogisticRegression):
        def fit(self, X, y, **params):
            seen.append(len(y))
            return super().fit(X, y, **params)

    PlugInClassifier(Spy(), PRECISION, confidence=0.95).fit(X, y)
    assert max(seen) == trained == 2_800
    assert again is not None


def test_copies_are_refused_and_rows_of_a_few_categories_are_not():
    X, y, _ = drawn(2_000)
    with pytest.raises(ValueError, match="of the rows equal others, labels included"):
        plug(RECALL, confidence=0.9).fit(np.repeat(X[:300], 3, axis=0), np.repeat(y[:300], 3))
    few = np.round(X / 2.0)
    found = plug(RECALL, confidence=0.9).fit(few, y).goal_report_.guarantee
    assert "copies are taken for rows that came independently" in found.assumptions


def test_a_constraint_has_its_own_confidence(rows):
    X, y, _ = rows
    goal = "maximize recall subject to precision >= 0.7 with confidence 0.99 and recall >= 0.3"
    found = plug(goal).fit(X, y).goal_report_.guarantee
    assert [c.text for c in found.constraints] == ["precision >= 0.7 with confidence 0.99"]
    assert found.constraints[0].p_value <= 0.01
    both = plug(goal, confidence=0.9).fit(X, y).goal_report_.guarantee
    assert [c.confidence for c in both.constraints] == [0.99, 0.9]
    assert both.confidence == 0.9


def test_more_confidence_costs_more_of_the_objective(rows):
    X, y, _ = rows
    reached = [
        plug(RECALL, confidence=c).fit(X, y).goal_report_.guarantee.reached
        for c in (0.6, 0.95, 0.999)
    ]
    assert reached == sorted(reached, reverse=True)
    assert reached[0] > reached[-1]


def test_own_rows_certify(rows):
    X, y, g = rows
    more, labels, groups = drawn(2_000, seed=9)
    clf = plug(PRECISION, confidence=0.95).fit(X, y, certify_on=(more, labels))
    assert clf.goal_report_.guarantee.rows == 2_000
    assert clf.evidence_.n_rows == len(y)
    fair = plug("maximize f1 subject to accuracy.difference(g) <= 0.2", confidence=0.95)
    apart = Dataset(more, labels, sensitive_features={"g": groups})
    fair.fit(X, y, sensitive_features={"g": g}, certify_on=apart)
    assert fair.goal_report_.guarantee.rows == 2_000


def test_a_path_over_many_classes():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 6_000)
    X = rng.normal(size=(6_000, 4)) + 1.5 * np.eye(4)[y]
    clf = plug("maximize accuracy subject to recall(label=1) >= 0.75", confidence=0.95)
    found = clf.fit(X, y).goal_report_.guarantee
    assert found.state == "certified"
    assert found.tried > 2


def test_data_sets_are_split_too(rows):
    X, y, _ = rows
    other, labels, _ = drawn(900, seed=4)
    goal = "maximize recall subject to precision >= 0.6 and accuracy.on('audit') >= 0.7"
    clf = plug(goal, confidence=0.9).fit(X, y, datasets={"audit": (other, labels)})
    found = clf.goal_report_.guarantee
    assert found.state == "certified"
    assert found.rows == 1_200 + 270


def test_a_rule_that_draws_by_content_is_tested_as_the_function_that_it_is(rows):
    X, y, _ = rows
    goal = "maximize recall subject to precision >= 0.7"
    by_row = plug(goal, confidence=0.95, randomized=True).fit(X, y).goal_report_.guarantee
    assert by_row.constraints[0].kind == "binomial"
    anew = plug(goal, confidence=0.95, randomized=True, draw="random").fit(X, y)
    if anew.rule_.randomized:
        assert anew.goal_report_.guarantee.constraints[0].kind != "binomial"


def test_approximate_is_never_certified(rows):
    X, y, _ = rows
    how = Confidence(0.95, guarantee="approximate")
    clf = plug(PRECISION, confidence=how).fit(X, y)
    found = clf.goal_report_.guarantee
    assert found.state == "approximate"
    assert "fitted on all rows afterwards" in found.assumptions


def test_weighted_rows_are_not_certified(rows):
    X, y, _ = rows
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    for how in (0.9, Confidence(0.9, guarantee="approximate")):
        with pytest.raises(GoalError, match="nothing can be promised for weighted rows"):
            plug(RECALL, confidence=how).fit(X, y, sample_weight=weight)


def test_strict_uses_what_is_proved_and_costs_more(rows):
    X, y, _ = rows
    goal = "maximize precision subject to fbeta(2) >= 0.65"
    loose = plug(goal, confidence=0.95).fit(X, y).goal_report_.guarantee
    strict = plug(goal, confidence=Confidence(0.95, strict=True)).fit(X, y).goal_report_.guarantee
    assert (loose.is_exact, strict.is_exact) == (False, True)
    assert strict.reached <= loose.reached


def test_the_next_rows_in_place_of_the_population(rows):
    X, y, _ = rows
    how = Confidence(0.95, for_next=100)
    found = plug(RECALL, confidence=how).fit(X, y).goal_report_.guarantee
    assert found.next_rows == 100
    assert found.reached < plug(RECALL, confidence=0.95).fit(X, y).goal_report_.guarantee.reached
    with pytest.raises(
        GoalError, match=r"^`for_next` promises the next rows for thresholds of one"
    ):
        plug(PRECISION, confidence=how).fit(X, y)


# ---------------------------------------------------------------------- refusals
HARD = "maximize recall subject to precision >= 0.93"


def test_a_refusal_says_what_could_be_certified():
    X, y, _ = drawn(1_500)
    with pytest.raises(NotCertifiable) as caught:
        plug(HARD, confidence=0.99).fit(X, y)
    error = caught.value
    assert isinstance(error, InfeasibleError)
    assert error.constraint == "precision >= 0.93"
    assert 0.0 < error.limit < 0.93
    assert error.limit <= error.value <= 1.0
    assert error.rows_needed > 450
    bound = error.reachable["precision >= 0.93"]
    assert 0.0 < bound <= error.limit
    assert f"precision >= {bound:g}; recall is then" in str(error)
    again = plug(f"maximize recall subject to precision >= {bound}", confidence=0.99).fit(X, y)
    assert again.goal_report_.guarantee.state == "certified"
    assert f"{error.rows_needed:,}" in str(error)
    assert "`on_uncertified='nearest'`" in str(error)


def test_nearest_returns_the_safest_rule_and_says_that_nothing_is_certified():
    X, y, _ = drawn(600)
    how = Confidence(0.95, on_uncertified="nearest")
    clf = plug(HARD, confidence=how).fit(X, y)
    found, (entry,) = clf.goal_report_.guarantee, clf.goal_report_.constraints
    assert (found.state, found.passed) == ("not certified", 0)
    assert not found.constraints[0].passed
    assert entry.certified == found.constraints[0].limit < 0.93


def test_what_no_rule_reaches_stays_infeasible(rows):
    X, y, _ = rows
    with pytest.raises(InfeasibleError) as caught:
        plug("maximize recall subject to g_mean >= 0.97", confidence=0.95).fit(X, y)
    assert not isinstance(caught.value, NotCertifiable)


def test_a_failed_fit_leaves_the_fit_before(rows):
    X, y, _ = rows
    clf = plug(PRECISION, confidence=0.95).fit(X, y)
    rule = clf.rule_
    clf.set_params(goal="maximize recall subject to precision >= 0.95", confidence__level=0.9999)
    with pytest.raises(NotCertifiable):
        clf.fit(X[:500], y[:500])
    assert clf.rule_ == rule


# ---------------------------------------------------------------------- tries
def test_another_try_on_the_same_rows_is_tested_more_strictly(rows):
    X, y, _ = rows
    clf = plug(PRECISION, confidence=0.95).fit(X, y)
    assert clf.goal_report_.guarantee.attempt == 1
    assert clf.fit(X, y).goal_report_.guarantee.attempt == 1  # the same path
    clf.set_params(estimator__C=0.001).fit(X, y)
    assert clf.goal_report_.guarantee.attempt == 2
    assert clf.fit(*drawn(3_000, seed=5)[:2]).goal_report_.guarantee.attempt == 1
    stricter = plug(PRECISION, confidence=Confidence(0.95, attempt=3)).fit(X, y)
    assert stricter.goal_report_.guarantee.attempt == 3
    assert stricter.goal_report_.guarantee.constraints[0].p_value <= 0.05 * 6 / (3 * np.pi) ** 2


# ---------------------------------------------------------------------- bad input
@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.5, True, "0.95", np.nan])
def test_a_confidence_lies_between_0_and_1(rows, level):
    X, y, _ = rows
    with pytest.raises(ValueError, match=r"^`confidence` is a number above 0 and below 1, Conf"):
        plug(PRECISION, confidence=level).fit(X, y)


def test_there_has_to_be_something_to_promise(rows):
    X, y, _ = rows
    with pytest.raises(ValueError, match=r"^`confidence` promises constraints, and 'maximize f1'"):
        plug("maximize f1", confidence=0.95).fit(X, y)
    with pytest.raises(
        ValueError, match=r"^`certify_on` holds rows that certify, and nothing is to"
    ):
        plug(PRECISION).fit(X, y, certify_on=(X, y))


def test_rows_of_the_fit_do_not_certify(rows):
    X, y, _ = rows
    both = np.vstack([drawn(500, seed=3)[0], X[:100]])
    labels = np.concatenate([drawn(500, seed=3)[1], y[:100]])
    with pytest.raises(ValueError, match=r"^`certify_on`: 16\.7 % of its rows are among those"):
        plug(PRECISION, confidence=0.95).fit(X, y, certify_on=(both, labels))


def test_rows_that_certify_have_every_group(rows):
    X, y, g = rows
    more, labels, groups = drawn(500, seed=3)
    apart = Dataset(more[groups == 0], labels[groups == 0], sensitive_features={"g": np.zeros(
        int((groups == 0).sum()), int)})  # fmt: skip
    clf = plug("maximize f1 subject to accuracy.difference(g) <= 0.3", confidence=0.9)
    with pytest.raises(GoalError, match=r"certif"):
        clf.fit(X, y, sensitive_features={"g": g}, certify_on=apart)


def test_unlabelled_rows_certify_nothing(rows):
    X, y, _ = rows
    with pytest.raises(GoalError, match="needs labels"):
        plug(PRECISION, confidence=0.95).fit(X, y, certify_on=(X[:50] + 1.0, None))


# ---------------------------------------------------------------------- habits of scikit-learn
def test_parameters_copies_and_searches(rows):
    X, y, _ = rows
    clf = clone(plug(PRECISION, confidence=Confidence(0.9, strict=True)))
    assert clf.get_params()["confidence"] == Confidence(0.9, strict=True)
    assert clf.set_params(confidence__level=0.8).confidence == Confidence(0.8, strict=True)
    clf = plug(PRECISION, confidence=0.95)
    assert clf.set_params(confidence__strict=True).confidence == Confidence(0.95, strict=True)
    search = GridSearchCV(plug(PRECISION, confidence=0.9), {"confidence": [0.6, 0.9]}, cv=2)
    assert search.fit(X, y).best_estimator_.goal_report_.guarantee.state == "certified"


def test_copies_keep_what_is_promised_and_changed_models_lose_it(rows):
    X, y, _ = rows
    new, labels, _ = drawn(1_000, seed=8)
    clf = plug(PRECISION, confidence=0.95).fit(X, y)
    for other in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        assert other.evaluate(new, labels).warnings == clf.evaluate(new, labels).warnings == ()
    other.estimator_.fit(new, labels)
    with pytest.warns(UserWarning, match=r"^The rule was certified for another model or rule"):
        assert other.evaluate(new, labels).warnings
    clf.rule_ = Threshold(0.2)
    with pytest.warns(UserWarning, match="nothing is promised of it"):
        clf.evaluate(new, labels)


# ---------------------------------------------------------------------- scores alone
def test_scores_alone_are_certified(rows):
    X, y, _ = rows
    scores = X[:, 0]
    nested = solve(RECALL, scores, y, confidence=0.95).report.guarantee
    assert (nested.rows, nested.method) == (4_000, "every cut-off")
    path = solve(PRECISION, scores, y, confidence=0.95).report.guarantee
    assert (path.rows, path.method) == (2_800, "path of rules")
    half = solve(PRECISION, scores, y, confidence=Confidence(0.95, certification_size=0.5))
    assert half.report.guarantee.rows == 2_000


# ---------------------------------------------------------------------- certify
@pytest.fixture(scope="module")
def model():
    X, y, _ = drawn(2_000, seed=11)
    return LogisticRegression().fit(X, y)


def test_a_model_of_another_library_gets_a_rule(rows, model):
    X, y, _ = rows
    found = certify(model, PRECISION, X, y)
    assert isinstance(found.model, PlugInClassifier)
    assert found.guarantee.state == "certified"
    assert found.model.predict(X).mean() > 0
    kept = certify(model, "maximize recall s.t. precision >= 0.6", X, y, new_rule=False)
    assert (kept.model, kept.guarantee.method) == (model, "one rule")


def test_a_classifier_of_this_library_is_tested_as_it_decides(rows):
    X, y, _ = rows
    clf = plug(PRECISION).fit(*drawn(2_000, seed=11)[:2])
    loose = "maximize recall subject to precision >= 0.6"
    found = certify(clf, loose, X, y)
    assert (found.guarantee.method, found.guarantee.rows) == ("one rule", len(y))
    assert found.report.constraints[0].value == clf.evaluate(X, y).constraints[0].value
    with pytest.raises(NotCertifiable):
        certify(clf, "maximize recall subject to precision >= 0.75", X, y)
    with pytest.raises(ValueError, match="are among those that the model was fitted on"):
        certify(clf, loose, *drawn(2_000, seed=11)[:2])


def test_a_list_is_tested_in_its_order_or_in_none(rows):
    X, y, _ = rows
    scores = X[:, 0]
    rules = [Threshold(t) for t in (3.0, 2.5, 2.0, 1.5, 0.0)]
    found = certify(rules, PRECISION, scores, y)
    assert found.guarantee.method == "list of rules"
    assert found.index == found.guarantee.passed - 1
    assert found.guarantee.passed < len(rules)
    unordered = certify(rules[::-1], PRECISION, scores, y, ordered=False)
    assert unordered.guarantee.method == "rules in no order"
    assert unordered.model.threshold >= found.model.threshold
    with pytest.raises(NotCertifiable):
        certify(rules[::-1], PRECISION, scores, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": None}, "certify needs `X` and `y`"),
        ({"model": []}, "`model`: the list is empty"),
        ({"goal": None}, "`goal` is missing"),
        ({"confidence": 2}, "`confidence` is a number"),
        ({"confidence": Confidence(0.9, guarantee="approximate")}, "certify fits none"),
        ({"new_rule": "yes"}, "`new_rule` is 'auto', True or False"),
    ],
)
def test_wrong_arguments_are_named(rows, model, change, message):
    X, y, _ = rows
    given = {"model": model, "goal": Goal.parse(PRECISION), "X": X, "y": y} | change
    with pytest.raises((TypeError, ValueError), match=message):
        certify(**given)
