"""GoalSearchCV: what is judged, how, and what users get."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import (
    GroupKFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    StratifiedKFold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from plugin.samples import same
from setpoint import (
    BlackBox,
    GoalError,
    GoalSearchCV,
    InfeasibleError,
    PlugInClassifier,
    RampClassifier,
    evaluate,
    load_model,
    save_model,
    solve,
)
from setpoint.choosing.search_result import JudgedCandidate, SearchResult

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
PRECISE = "maximize recall subject to precision >= 0.6"


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    y = (X["a"] + X["b"] * X["b"] + 0.7 * rng.normal(size=n) > 1.2).to_numpy().astype(int)
    X["g"] = (rng.random(n) < 0.4).astype(int)
    return X, y


def models():
    return {
        "linear": make_pipeline(StandardScaler(), LogisticRegression()),
        "tree": DecisionTreeClassifier(random_state=0),
        "neighbours": KNeighborsClassifier(),
    }


class Labels(ClassifierMixin, BaseEstimator):
    """Decides, and has no scores."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


GRID = {"tree": {"max_depth": [1, 4]}, "neighbours": {"n_neighbors": [5, 25]}}


@pytest.fixture(scope="module")
def search():
    return GoalSearchCV(models(), GRID, PRECISE, cv=4).fit(*rows())


def test_the_pooled_report_is_that_of_the_decisions_of_all_folds():
    X, y = rows(400)
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    model = RampClassifier("minimize error_rate", random_state=0)
    plain = RidgeClassifier()
    goal = "maximize accuracy subject to recall >= 0.5"
    found = GoalSearchCV({"ramp": model, "ridge": plain}, None, goal, cv=4).fit(X, y)
    decided = np.zeros(len(y), int)
    scores = np.zeros(len(y))
    for train, test in splits:
        ramp = clone(model).fit(X.iloc[train], y[train])
        decided[test] = ramp.predict(X.iloc[test])
        ridge = clone(plain).fit(X.iloc[train], y[train])
        scores[test] = ridge.decision_function(X.iloc[test])
    same(found.search_.candidates[0].report, evaluate(goal, y, decided), tol=0.0)
    for _, test in splits:
        rest = np.setdiff1d(np.arange(len(y)), test)
        rule = solve(goal, scores[rest], y[rest], on_infeasible="nearest").rule
        decided[test] = rule.decide(scores[test])
    same(found.search_.candidates[1].report, evaluate(goal, y, decided), tol=0.0)


def test_results(search):
    table = pd.DataFrame(search.cv_results_)
    assert len(table) == 5
    assert table["candidate"].tolist() == [
        "linear", "tree (max_depth=1)", "tree (max_depth=4)", "neighbours (n_neighbors=5)",
        "neighbours (n_neighbors=25)",
    ]  # fmt: skip
    assert list(table) == [
        "candidate", "params", "param_max_depth", "param_n_neighbors",
        "objective", "objective: low", "objective: high",
        "precision >= 0.6", "precision >= 0.6: low", "precision >= 0.6: high",
        "precision >= 0.6: verdict", "feasible", "verdict", "score", "rank",
        "difference", "difference: low", "difference: high", "against_the_best",
        "cannot_be_distinguished", "rows", "fit_seconds",
    ]  # fmt: skip
    best = search.best_index_
    row = table.iloc[best]
    assert row["rank"] == 1
    assert row["difference"] == 0.0
    assert search.best_params_ == row["params"]
    assert search.best_score_ == row["score"]
    assert row["cannot_be_distinguished"]
    assert search.ties_[0] == row["candidate"]
    assert sorted(search.ties_) == sorted(table["candidate"][table["cannot_be_distinguished"]])
    assert (table["rows"] == 600).all()
    assert search.best_report_.objective.value == row["objective"]
    assert search.best_report_.status == "evaluated"
    assert "This is the best of 5 candidates" in search.best_report_.warnings[-1]
    assert search.n_splits_ == 4
    worse = table[table["difference: high"] < 0]
    assert len(worse)
    assert not worse["cannot_be_distinguished"].any()


def test_words(search):
    text = str(search.search_)
    best = search.search_.candidates[search.best_index_]
    assert f"{best.name} is best of 5 candidates: recall " in text.replace("\n", " ")
    if len(search.ties_) > 1:
        assert "cannot be distinguished" in text
    assert "against the best" in text
    assert max(len(line) for line in text.splitlines()[:8]) <= 79
    page = search.search_._repr_html_()
    assert page.count("<tr>") == 6
    assert page in search._repr_html_()


def test_new_rows_go_to_the_best(search):
    X, y = rows(seed=1)
    best = search.best_estimator_
    assert isinstance(best, PlugInClassifier)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    np.testing.assert_array_equal(search.predict_proba(X), best.predict_proba(X))
    assert not hasattr(search, "decision_function")
    assert search.score(X, y) == best.score(X, y)
    same(search.evaluate(X, y), evaluate(PRECISE, y, best.predict(X)))
    assert search.classes_.tolist() == [0, 1]
    assert search.n_features_in_ == 5
    assert search.feature_names_in_.tolist() == list(X)


def test_without_refit():
    X, y = rows(200)
    found = GoalSearchCV(GaussianNB(), None, "f1", cv=2, refit=False).fit(X, y)
    assert found.best_index_ == 0
    assert found.best_params_ == {}
    with pytest.raises(AttributeError, match=r"`refit` is False: .* fit GaussianNB by itself"):
        found.predict(X)
    with pytest.raises(NotFittedError):
        clone(found).predict(X)


def test_weights_are_rows_and_order_does_not_matter():
    X, y = rows(300)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    fold = np.arange(len(y)) % 3
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    order = np.random.default_rng(1).permutation(len(y))
    goal = "maximize recall subject to precision >= 0.4"
    grid = {"max_depth": [1, 3]}
    new = GoalSearchCV(DecisionTreeClassifier(random_state=0), grid, goal, refit=False)
    found = [
        clone(new).set_params(cv=PredefinedSplit(fold[i])).fit(X.iloc[i], y[i], **given)
        for i, given in (
            (np.arange(len(y)), {"sample_weight": weight}),
            (twice, {}),
            (order, {"sample_weight": weight[order]}),
        )
    ]
    for other in found[1:]:
        for one, two in zip(found[0].search_.candidates, other.search_.candidates, strict=True):
            same(one.report, two.report)
        assert found[0].best_index_ == other.best_index_


def test_groups_of_rows_and_columns():
    X, y = rows()
    blocks = np.arange(len(y)) // 3
    goal = "maximize accuracy subject to recall.difference(g) <= 0.2"
    model = make_pipeline(FunctionTransformer(), LogisticRegression())
    for given, sides in (({"sensitive_features": "g"}, {}), ({}, {"sensitive_features": X["g"]})):
        found = GoalSearchCV(model, None, goal, cv=GroupKFold(3), **given)
        found.fit(X, y, groups=blocks, **sides)
        uses = found.best_estimator_.goal_report_.rule.decides_on
        assert uses == (("g",) if given else ())
        groups = found.search_.candidates[0].report.groups
        assert [row.name for row in groups if row.compared] == ["g = 0", "g = 1"]
    # A classifier of this library takes the columns of the search.
    both = {"plain": model, "own": PlugInClassifier(model, goal, cv=2)}
    found = GoalSearchCV(both, None, goal, cv=2, sensitive_features="g").fit(X, y)
    assert found.search_.candidates[1].report is not None
    churn = "maximize accuracy subject to churn <= 0.3"
    old = (X["a"] > 0.5).astype(int)
    found = GoalSearchCV(model, {"logisticregression__C": [0.1, 1.0]}, churn, cv=2)
    found.fit(X, y, baseline=old)
    assert found.best_report_.deployed.changed <= 0.4


def test_several_fits_at_a_time_change_nothing():
    X, y = rows(200)
    new = GoalSearchCV(models(), None, PRECISE, cv=2, refit=False)
    with parallel_config(backend="threading"):
        two = clone(new).set_params(n_jobs=2).fit(X, y)
    assert str(two.search_) == str(new.fit(X, y).search_)


@pytest.mark.parametrize(
    ("verdict", "doubt", "sentence", "cell"),
    [
        (
            "worse, but surer of a bound",
            "precision >= 0.6",
            "By recall b is shown to be worse, but precision >= 0.6 is less sure to hold for a: "
            "too close to call.",
            "worse, but surer of precision >= 0.6",
        ),
        (
            "better, but misses the bounds by more",
            "",
            "By recall b is shown to be better, but it misses the bounds by more.",
            "better, but misses the bounds by more",
        ),
        (
            "shown to fail the goal",
            "",
            "Every other candidate is shown to fail the goal.",
            "shown to fail the goal",
        ),
    ],
)
def test_words_on_another_candidate(verdict, doubt, sentence, cell):
    report = evaluate(PRECISE, [0, 1, 1, 0, 1, 0], [0, 1, 1, 0, 0, 0])
    gain = replace(report.objective, value=-0.1, low=-0.2, high=-0.05)
    a = JudgedCandidate("a", 1, report, gain, "best", 6, 0.6)
    b = JudgedCandidate("b", 2, report, gain, verdict, 6, 0.5, doubt=doubt)
    found = SearchResult(PRECISE, (a, b), best=0, level=0.95, n_folds=2)
    assert sentence in found.sentences()
    assert found.ties == ("a",)
    assert f"{cell}\n" in str(found)
    assert "Every other" in " ".join(found.sentences()) or verdict[0] != "s"


def test_a_share_judges_the_rows_that_it_leaves_out():
    X, y = rows()
    new = GoalSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 0.1]}, "f1", cv=0.4, random_state=0)
    found = new.fit(X, y)
    assert (found.cv_results_["rows"] == 240).all()
    again = clone(new).fit(X, y)
    assert again.cv_results_["score"].tolist() == found.cv_results_["score"].tolist()


def test_three_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.array(["u", "v", "w"])[np.argmax(X + 0.5 * rng.normal(size=X.shape), axis=1)]
    goal = "maximize macro_f1 subject to recall.min() >= 0.3"
    both = {"bayes": GaussianNB(), "blind": DummyClassifier(strategy="stratified", random_state=0)}
    found = GoalSearchCV(both, None, goal, cv=2, on_infeasible="nearest").fit(X, y)
    assert found.ties_ == ["bayes"]
    assert set(found.predict(X)) <= set("uvw")


def test_halving_drops_only_what_is_shown_to_be_worse():
    X, y = rows(4000)
    grid = {"n_neighbors": [1, 3, 9, 15, 25, 35, 45, 61, 81]}
    new = GoalSearchCV(KNeighborsClassifier(), grid, "f1", cv=2, halving=True, random_state=0)
    found = new.fit(X, y)
    whole = clone(new).set_params(halving=False).fit(X, y)
    n = found.cv_results_["rows"]
    assert n.min() < n.max() == 4000
    dropped = n < 4000
    assert not dropped[found.best_index_]
    # What was dropped on the way is no better on all rows, and ranks behind what was not.
    assert whole.cv_results_["score"][dropped].max() <= found.best_score_
    ranks = found.cv_results_["rank"]
    assert ranks[dropped].min() > ranks[~dropped].max()
    assert sorted(ranks) == list(range(1, 10))
    assert "dropped on " in str(found.search_)
    np.testing.assert_array_equal(
        found.cv_results_["objective"][~dropped], whole.cv_results_["objective"][~dropped]
    )


def test_a_fit_that_fails_comes_last():
    X, y = rows(200)
    X.loc[3, "a"] = np.nan
    both = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=2)}
    with pytest.warns(FitFailedWarning, match="bayes could not be fitted and comes last: Value"):
        found = GoalSearchCV(both, None, "f1", cv=2).fit(X, y)
    assert found.ties_ == ["tree"]
    assert found.cv_results_["rank"].tolist() == [2, 1]
    assert np.isnan(found.cv_results_["score"][0])
    assert "failed: ValueError: Input X contains NaN" in str(found.search_)
    assert "The fit of bayes failed.\n" in str(found.search_)
    assert "shown to be worse" not in str(found.search_)
    with pytest.raises(ValueError, match="NaN") as caught:
        GoalSearchCV(both, None, "f1", cv=2, error_score="raise").fit(X, y)
    assert caught.value.__notes__ == ["The candidate was bayes."]
    with pytest.raises(ValueError, match="NaN"):  # and no warning beside it
        GoalSearchCV(GaussianNB(), None, "f1", cv=2).fit(X, y)


def test_where_no_candidate_meets_the_goal():
    X, y = rows(400)
    goal = "maximize recall subject to precision >= 0.99 and predicted_rate >= 0.6"
    new = GoalSearchCV({"a": GaussianNB(), "b": DecisionTreeClassifier(max_depth=3)}, None, goal)
    with pytest.raises(InfeasibleError) as caught:
        new.fit(X, y)
    assert "`search_` prints the table" in caught.value.__notes__[0]
    assert len(new.cv_results_["rank"]) == 2
    assert new.best_report_.verdict == "shown to fail"
    with pytest.raises(AttributeError, match="the last fit of all rows failed"):
        new.predict(X)
    found = new.set_params(on_infeasible="nearest").fit(X, y)
    text = str(found.search_).replace("\n", " ")
    assert "Even the best is shown to fail the goal: " in text
    assert "All are ranked by how far they miss the bounds, and not by recall." in text
    assert "distinguished on these rows" not in text
    assert not found.cv_results_["feasible"].any()


def test_copies_and_files(tmp_path):
    X, _ = rows(50, seed=2)
    both = {"bayes": GaussianNB(), "linear": LogisticRegression()}
    new = GoalSearchCV(both, {"bayes": {"var_smoothing": [1e-9, 0.1]}}, PRECISE, cv=2)
    search = new.fit(*rows(300))
    save_model(search, tmp_path / "search.skops")
    for copy in (pickle.loads(pickle.dumps(search)), load_model(tmp_path / "search.skops")):
        np.testing.assert_array_equal(copy.predict(X), search.predict(X))
        assert str(copy.search_) == str(search.search_)
        assert copy.cv_results_["rank"].tolist() == search.cv_results_["rank"].tolist()
    assert not hasattr(clone(search), "search_")


def test_parameters_of_several_classifiers():
    given = models()
    new = GoalSearchCV(given, GRID, PRECISE)
    assert new.get_params()["tree__max_depth"] is None
    changed = clone(new).set_params(tree__max_depth=7, cv=3, linear__logisticregression__C=0.5)
    assert changed.estimator["tree"].max_depth == 7
    assert changed.get_params()["linear__logisticregression__C"] == 0.5
    assert given["tree"].max_depth is None
    one = GoalSearchCV(GaussianNB(), None, "f1").set_params(estimator__var_smoothing=0.5)
    assert one.estimator.var_smoothing == 0.5
    with pytest.raises(ValueError, match="Invalid parameter"):
        new.set_params(forest__max_depth=2)


BAD = [
    ({"goal": None}, "`goal` is missing: candidates are judged by a goal"),
    ({"goal": BlackBox(lambda y_true, y_pred: 0.5)}, "judged by goals that are counted"),
    ({"goal": "maximize recall subject to recall.on('new') >= 0.5"}, r"data sets \['new'\]"),
    ({"estimator": {}}, "`estimator` is an empty dict"),
    ({"estimator": GaussianNB}, "`estimator` is a classifier, .* found the class GaussianNB"),
    ({"estimator": {"a__b": GaussianNB()}}, "named by text without '__'"),
    ({"estimator": {"a": 3}}, r"`estimator\['a'\]` is a classifier"),
    ({"estimator": StandardScaler()}, "with fit and predict, found StandardScaler"),
    ({"estimator": {"a": Labels()}}, "a: `estimator`: Labels has no predict_proba and no decision"),
    ({"grid": {"C": [1.0]}}, r"`grid`: GaussianNB has no parameter 'C' \(known: "),
    ({"grid": {"var_smoothin": [1.0]}}, "did you mean 'var_smoothing'"),
    ({"grid": {"var_smoothing": []}}, "values of 'var_smoothing' are a list with one or more"),
    ({"grid": {"var_smoothing": "abc"}}, "values of 'var_smoothing' are a list"),
    ({"grid": 3}, "`grid` is a dict from parameters to lists"),
    ({"estimator": {"a": GaussianNB()}, "grid": {"b": {}}}, "'b' is not a name in `estimator`"),
    ({"estimator": {"a": GaussianNB()}, "grid": [1]}, "a dict of their names to grids"),
    ({"cv": RepeatedStratifiedKFold(n_splits=2, n_repeats=2)}, "two splits leave out row"),
    ({"halving": 1}, r"`halving` is one of \[False, True\], got 1"),
    ({"refit": "f1"}, "`refit` is one of"),
    ({"error_score": 0}, "`error_score` is 'raise' or nan, got 0"),
    ({"on_infeasible": "skip"}, "`on_infeasible` is one of"),
    ({"sensitive_features": np.ones(3)}, "`sensitive_features` in the constructor names"),
    ({"baseline": "old"}, "old"),
    ({"pos_label": 7}, "7"),
]


@pytest.mark.parametrize(("given", "words"), BAD)
def test_bad_input_before_any_fit(given, words, monkeypatch):
    def fit(*args, **kwargs):
        raise AssertionError("fitted")

    monkeypatch.setattr(GaussianNB, "fit", fit)
    monkeypatch.setattr(Labels, "fit", fit)
    X, y = rows(60)
    if "goal" not in given:
        given = {
            "goal": "maximize f1 subject to churn <= 1" if "baseline" in given else "f1",
            **given,
        }
    with pytest.raises((GoalError, ValueError, TypeError), match=words):
        GoalSearchCV(**{"estimator": GaussianNB(), **given}).fit(X, y)


def test_bad_rows_before_any_fit(monkeypatch):
    X, y = rows(60)
    other = FrozenEstimator(GaussianNB().fit(X, y + 1))
    both = {"linear": LogisticRegression(), "k": KNeighborsClassifier()}

    def fit(*args, **kwargs):
        raise AssertionError("fitted")

    monkeypatch.setattr(GaussianNB, "fit", fit)
    with pytest.raises(
        ValueError, match=r"was fitted to the classes \[1, 2\], and y holds \[0, 1\]"
    ):
        GoalSearchCV({"a": GaussianNB(), "b": other}, None, "f1").fit(X, y)
    with pytest.raises(ValueError, match=r"`sample_weight`: .* of the candidate k takes none"):
        GoalSearchCV(both, None, "f1").fit(X, y, sample_weight=np.ones(60))
    with pytest.raises(ValueError, match="requires y to be passed"):
        GoalSearchCV(GaussianNB(), None, "f1").fit(X, None)
    with pytest.raises(ValueError, match="`baseline` is given twice"):
        GoalSearchCV(GaussianNB(), None, "f1", baseline="old").fit(X, y, baseline=y)
