"""Where other libraries err in silence: groups, weights, folds, ties, draws, unreachable goals."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_validate
from sklearn.neighbors import KNeighborsClassifier

from plugin.samples import sample, table
from setpoint import Goal, InfeasibleError, PlugInClassifier, evaluate, goal_scorer, solve
from setpoint.classifiers import load_model, save_model
from setpoint.errors import EmptyPopulationError, GoalError
from setpoint.rules import Threshold
from setpoint.solvers import HoldOut

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning"),
]
FLOOR = "maximize recall subject to precision >= 0.6"
FAIR = "maximize accuracy subject to recall.difference(g) <= 0.05"


class ByScore(ClassifierMixin, BaseEstimator):
    """Takes the column `score` of a frame, or the first of an array, as it is."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.asarray(X["score"] if hasattr(X, "columns") else X[:, 0], dtype=float)


def test_a_group_that_the_folds_leave_out_is_known_but_not_decided():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    g = np.where(rng.random(400) < 0.4, "a", "b").astype(object)
    g[:30] = "aa"  # first in the order of the segments, and all of it in the training rows
    cv = [(np.arange(200), np.arange(200, 400))]

    def fitted(goal, **more):
        clf = PlugInClassifier(LogisticRegression(), goal, cv=cv, decide_on="g", **more)
        return clf.fit(X, y, sensitive_features={"g": g})

    with pytest.warns(UserWarning, match="there is no rule for g = aa: none of its rows"):
        clf = fitted("maximize f1")
    assert any("no rule for g = aa" in note for note in clf.goal_report_.warnings)
    assert clf.evidence_.rows.codebook.segments[0] == (("g", "a"),)
    assert [key[0][1] for key in clf.evidence_.segments] == ["a", "aa", "b"]
    assert [key[0][1] for key in clf.rule_.segment_keys] == ["a", "b"]
    with pytest.raises(GoalError, match="30 rows are of a group that fit did not see, as g = aa"):
        clf.predict(X, sensitive_features={"g": g})
    clf.set_params(response__unknown_group="largest")
    with pytest.warns(UserWarning, match="by the rule for g = b"):
        clf.predict(X, sensitive_features={"g": g})
    assert not fitted("maximize f1", evidence="soft").rule_.needs_segments  # one for everybody
    with pytest.raises(EmptyPopulationError, match=r"`cv`: .* 200 of 400 rows, .* g = aa"):
        fitted(FAIR)


def test_an_unseen_group_is_not_silently_class_0():
    X, y = table()
    model = PlugInClassifier(ByScore(), FAIR, sensitive_features="g").fit(X, y)
    new = X.head(4).assign(g="z", score=99.0)
    with pytest.raises(ValueError, match="4 rows are of a group that fit did not see"):
        model.predict(new)
    model.set_params(response__unknown_group="largest")
    with pytest.warns(UserWarning, match="they are decided by the rule for"):
        assert model.predict(new).tolist() == [1, 1, 1, 1]


def test_weights_are_honoured_or_refused():
    s = sample()
    with pytest.raises(ValueError, match="weights are never ignored"):
        PlugInClassifier(KNeighborsClassifier(), FLOOR).fit(
            s.scores[:, None], s.y, sample_weight=s.weight
        )
    heavy = np.where(s.y == 1, 9.0, 1.0)
    assert solve("f1", s.scores, s.y, sample_weight=heavy).rule != solve("f1", s.scores, s.y).rule


def test_a_difference_is_largest_minus_smallest():
    s = sample(4000)
    group = np.array(["a", "b", "c"])[np.arange(4000) % 3]
    scores = s.scores + (np.arange(4000) % 3) * 0.6
    for bound in (0.02, 0.1):
        goal = f"maximize accuracy subject to predicted_rate.difference(g) <= {bound}"
        found = solve(goal, scores, s.y, sensitive_features=group)
        accepted = found.rule.distribution(scores, found.rule.segment_codes({"g": group}))[:, 1]
        rates = [accepted[group == v].mean() for v in "abc"]
        assert max(rates) - min(rates) <= bound + 1e-9
        assert max(rates) - min(rates) > bound / 2  # not twice as strict either
        assert found.report.constraints[0].value == pytest.approx(max(rates) - min(rates), abs=1e-9)


def test_model_and_threshold_are_of_the_same_split():
    drawn, fitted = [], []

    class Shuffled(StratifiedKFold):
        def split(self, X, y, groups=None):
            for train, test in super().split(X, y, groups):
                drawn.append((set(train.tolist()), set(test.tolist())))
                yield train, test

    class Spy(ByScore):
        def fit(self, X, y):
            self.rows_ = set(X[:, 1].astype(int).tolist())
            fitted.append(self.rows_)
            return super().fit(X, y)

        def decision_function(self, X):
            if len(X) < 400:
                assert not self.rows_ & set(X[:, 1].astype(int).tolist())
            return super().decision_function(X)

    s = sample()
    X = np.column_stack([s.scores, np.arange(400.0)])
    cv = Shuffled(4, shuffle=True, random_state=np.random.RandomState(3))
    PlugInClassifier(Spy(), FLOOR, cv=cv).fit(X, s.y)
    assert len(drawn) == 4
    assert fitted[:4] == [train for train, _ in drawn]
    share = PlugInClassifier(Spy(), FLOOR, cv=HoldOut(0.25)).fit(X, s.y)
    held = sorted(set(range(400)) - share.estimator_.rows_)
    assert share.rule_ == solve(FLOOR, s.scores[held], s.y[held]).rule


def test_constraints_are_judged_on_pooled_rows_not_averaged_over_folds():
    rng = np.random.default_rng(0)
    n = 2000
    y = (rng.random(n) < 0.05).astype(int)
    X = (rng.normal(size=n) + 1.2 * y)[:, None]
    goal = "maximize recall subject to precision >= 0.3"
    cv = StratifiedKFold(5)
    model = PlugInClassifier(LogisticRegression(), goal, cv=cv, randomized=False).fit(X, y)
    scores = cross_val_predict(LogisticRegression(), X, y, cv=cv, method="predict_proba")[:, 1]
    decided = model.rule_.decide(scores)
    _, fp, fn, tp = confusion_matrix(y, decided).ravel()
    report = model.goal_report_
    assert report.objective.value == pytest.approx(tp / (tp + fn), abs=1e-12)
    assert report.constraints[0].value == pytest.approx(tp / (tp + fp), abs=1e-12)
    assert tp / (tp + fp) >= 0.3
    folds = [decided[test] @ y[test] / max(1, decided[test].sum()) for _, test in cv.split(X, y)]
    assert abs(np.mean(folds) - tp / (tp + fp)) > 1e-4  # the average is another number


def test_precision_without_predicted_positives_is_0_and_meets_no_floor():
    report = evaluate("maximize recall subject to precision >= 0.1", [0, 1, 1], [0, 0, 0])
    assert report.constraints[0].value == 0.0
    assert report.constraints[0].satisfied is False
    s = sample()
    with pytest.raises(InfeasibleError):
        solve("minimize predicted_rate subject to precision >= 0.99", -s.scores, s.y)
    found = solve("minimize predicted_rate subject to precision >= 0.6", s.scores, s.y)
    assert found.report.objective.value > 0


def test_positive_from_the_threshold_on():
    assert Threshold(0.5).decide([0.5, np.nextafter(0.5, 0)]).tolist() == [1, 0]
    rule = solve("accuracy", [0.2, 0.2, 0.8, 0.8], [0, 0, 1, 1]).rule
    assert rule.decide([0.2, 0.8]).tolist() == [0, 1]
    tied = solve("f1", [0.1, 0.5, 0.5, 0.5], [0, 1, 0, 1])
    assert tied.rule.decide([0.5, 0.5, 0.5]).tolist() == [1, 1, 1]
    X = np.array([0.1, 0.5, 0.5, 0.9] * 10)[:, None]
    model = PlugInClassifier(ByScore(), "accuracy").fit(X, np.array([0, 1, 1, 1] * 10))
    assert model.predict(X).tolist() == [0, 1, 1, 1] * 10


def test_columns_reach_predict_inside_cross_validation():
    X, y = table()
    model = PlugInClassifier(ByScore(), FAIR, sensitive_features="g", cv=2)
    scores = cross_validate(
        model, X, y, cv=3, scoring={"goal": goal_scorer(FAIR), "acc": "accuracy"},
        error_score="raise", return_estimator=True,
    )  # fmt: skip
    assert np.isfinite(scores["test_goal"]).all()
    assert all(m.rule_.needs_segments for m in scores["estimator"])


def test_the_global_generator_is_left_alone():
    s = sample()
    X = s.scores[:, None]
    state = pickle.dumps(np.random.get_state())  # noqa: NPY002
    for draw in ("row", "random"):
        model = PlugInClassifier(ByScore(), FLOOR, cv=0.5, draw=draw, randomized=True)
        model.fit(X, s.y).predict(X)
    assert pickle.dumps(np.random.get_state()) == state  # noqa: NPY002
    one = PlugInClassifier(ByScore(), FLOOR, random_state=1, randomized=True).fit(X, s.y)
    np.random.seed(0)  # noqa: NPY002
    two = clone(one).fit(X, s.y)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_nothing_is_returned_quietly_where_a_goal_cannot_be_met():
    s = sample()
    goal = "maximize recall subject to precision >= 0.99 and recall >= 0.9"
    model = PlugInClassifier(ByScore(), goal)
    with pytest.raises(InfeasibleError, match="the highest reachable is"):
        model.fit(s.scores[:, None], s.y)
    assert not hasattr(model, "rule_")
    near = model.set_params(on_infeasible="nearest").fit(s.scores[:, None], s.y).goal_report_
    assert near.status == "nearest"
    assert not all(c.satisfied for c in near.constraints)


def test_mixture_weights_are_not_a_posterior():
    s = sample()
    X = s.scores[:, None]
    model = PlugInClassifier(LogisticRegression(), FLOOR, randomized=True).fit(X, s.y)
    np.testing.assert_array_equal(model.predict_proba(X), model.estimator_.predict_proba(X))
    assert not np.allclose(model.decision_distribution(X), model.predict_proba(X))
    assert not hasattr(PlugInClassifier(ByScore(), FLOOR).fit(X, s.y), "predict_proba")


def test_a_bound_that_holds_in_training_is_reported_with_its_interval():
    s = sample(2000, positives=0.055)
    goal = "maximize precision subject to recall >= 0.8"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        entry = solve(goal, s.scores, s.y).report.constraints[0]
    assert entry.satisfied
    assert entry.low < 0.8 < entry.high  # about as likely as not on new rows
    assert entry.effective_rows == pytest.approx(s.y.sum())
    assert any("few rows" in str(w.message) for w in caught)


def test_no_lambdas_in_a_fitted_model(tmp_path):
    X, y = table()
    for goal in (FLOOR, FAIR, "maximize f1 subject to churn <= 0.5"):
        model = PlugInClassifier(
            LogisticRegression(), Goal.parse(goal), sensitive_features="g", baseline="deployed"
        )
        model.estimator = ByScore()
        model.fit(X, y)
        model.estimator = model.estimator_ = None  # a class of these tests is not one of ours
        save_model(model, tmp_path / "m.skops")
        assert load_model(tmp_path / "m.skops").rule_ == model.rule_
        pickle.loads(pickle.dumps(model))


def test_batches_without_a_positive():
    X, y = table()
    model = PlugInClassifier(ByScore(), FAIR, sensitive_features="g").fit(X, y)
    whole = model.predict(X)
    one_by_one = [model.predict(X.iloc[[i]])[0] for i in range(40)]
    np.testing.assert_array_equal(one_by_one, whole[:40])
    negatives = X[y == 0]
    report = model.evaluate(negatives, y[y == 0])
    assert report.constraints[0].value is None
    assert report.constraints[0].satisfied is None
    assert report.objective.value == pytest.approx(np.mean(model.predict(negatives) == 0), abs=0.05)
