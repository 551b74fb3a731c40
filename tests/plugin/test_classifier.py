"""PlugInClassifier in scikit-learn's house: copies, searches, inputs, splits, draws."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_predict,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from plugin.samples import GOALS, same, sample, table
from setpoint import Goal, PlugInClassifier, evaluate, goal_scorer, maximize, solve
from setpoint.classifiers import UnknownGroupWarning, load_model, save_model
from setpoint.metrics import accuracy, f1, recall
from setpoint.solvers import HoldOut, ModelResponse
from thinning import thinned

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning"),
]
WAYS = ("prefit", "frozen")
FLOOR = "maximize recall subject to precision >= 0.6"
FAIR = "maximize accuracy subject to recall.difference(g) <= 0.05"


def numbers(n=400, seed=0):
    s = sample(n, seed)
    return np.column_stack([s.scores, np.random.default_rng(seed).normal(size=n)]), s.y


def plug(goal="f1", estimator=None, **options):
    return PlugInClassifier(estimator or LogisticRegression(), goal, **{"cv": 3, **options})


def agree(one, two, X):
    assert one.rule_ == two.rule_
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(one.decision_distribution(X), two.decision_distribution(X))


# ----------------------------------------------------------------------------- the contract


def test_fitted_attributes():
    X, y = numbers()
    model = plug(FLOOR).fit(X, y)
    report = model.goal_report_
    assert model.estimator_.coef_.shape == (1, 2)
    assert model.classes_.tolist() == [0, 1]
    assert model.positive_ == 1
    assert model.gap_ == report.certificate.gap <= 1e-9
    assert model.n_oracle_calls_ == report.search.calls
    assert model.n_features_in_ == 2
    assert report.goal == FLOOR
    assert report.status == "optimal"
    assert report.search.folds == 3
    assert report.constraints[0].satisfied


@pytest.mark.parametrize("goal", ["f1", Goal.parse(FLOOR), f1], ids=["text", "Goal", "metric"])
def test_goals_of_any_kind(goal, tmp_path):
    X, y = numbers()
    model = plug(goal).fit(X, y)
    assert model.goal is goal
    save_model(model, tmp_path / "m.skops")
    agree(load_model(tmp_path / "m.skops"), model, X)
    agree(pickle.loads(pickle.dumps(model)), model, X)
    agree(clone(model).fit(X, y), model, X)


def test_fit_leaves_the_parameters_alone():
    X, y = table()
    inner = make_pipeline(StandardScaler(), GaussianNB())
    goal = maximize(accuracy).subject_to(recall.difference("g") <= 0.05)
    names = ["g"]
    model = plug(goal, inner, sensitive_features=names)
    before = {**model.get_params(deep=False)}
    text = repr(goal)
    numeric = X[["score", "id"]]
    plug(goal, inner).fit(numeric, y, sensitive_features=X["g"])
    with pytest.raises(ValueError, match="could not convert string"):
        model.fit(X, y)  # the inner model does not take text
    after = model.get_params(deep=False)
    assert all(after[k] is before[k] for k in before)
    assert repr(goal) == text
    assert names == ["g"]
    assert not hasattr(inner[-1], "classes_")
    assert not hasattr(model, "classes_")


def test_a_fit_that_fails_leaves_the_fitted_model_alone():
    X, y = numbers()
    model = plug(FLOOR).fit(X, y)
    first = pickle.loads(pickle.dumps(model))
    model.set_params(goal="maximize recall subject to precision >= 0.99 and recall >= 0.9")
    with pytest.raises(ValueError, match="highest reachable"):
        model.fit(X[:, ::-1], y)
    agree(model, first, X)


def test_set_params():
    X, y = numbers()
    model = plug().set_params(goal=FLOOR, estimator__C=0.01, randomized=False)
    agree(model.fit(X, y), plug(FLOOR, LogisticRegression(C=0.01), randomized=False).fit(X, y), X)


def test_jobs_do_not_matter():
    X, y = numbers()
    agree(plug(FLOOR, n_jobs=2).fit(X, y), plug(FLOOR).fit(X, y), X)


def test_methods_of_the_inner_model_pass_through():
    X, y = numbers()
    model = plug().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), model.estimator_.predict_proba(X))
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    np.testing.assert_array_equal(model.decision_function(X), model.estimator_.decision_function(X))
    assert not hasattr(plug(estimator=LinearSVC()), "predict_proba")
    assert not hasattr(plug(estimator=GaussianNB()), "decision_function")
    assert model.score(X, y) == np.mean(model.predict(X) == y)


# --------------------------------------------------------------------------- in other houses


def test_last_in_a_pipeline_and_around_one():
    X, y = numbers()
    last = make_pipeline(StandardScaler(), plug(FLOOR)).fit(X, y)
    inner = plug(FLOOR, make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)
    assert np.mean(last.predict(X) == inner.predict(X)) > 0.97
    assert last[-1].goal_report_.constraints[0].satisfied


def test_grid_search_over_goals_and_over_the_inner_model():
    X, y = numbers()
    goals = [f1, Goal.parse(FLOOR), "maximize accuracy subject to predicted_rate <= 0.3"]
    search = GridSearchCV(
        plug(),
        {"goal": goals, "estimator__C": [1.0]},
        scoring=goal_scorer("maximize recall subject to precision >= 0.5"),
        cv=2,
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 3
    assert search.best_estimator_.goal_report_.goal
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(X).shape == y.shape


def test_stacking_and_cross_validation():
    X, y = numbers()
    stack = StackingClassifier([("plug", plug()), ("nb", GaussianNB())], cv=2).fit(X, y)
    assert stack.predict(X).shape == y.shape
    scores = cross_validate(plug(), X, y, cv=2, scoring={"g": goal_scorer("f1"), "a": "accuracy"})
    assert (scores["test_g"] > 0.5).all()


def test_inside_itself():
    X, y = numbers()
    outer = plug(FLOOR, plug("f1"), response=ModelResponse(method="decision_function")).fit(X, y)
    assert outer.goal_report_.constraints[0].satisfied


# ------------------------------------------------------------------------------------ inputs


def frame_model(kind):
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    transform = make_column_transformer((encode, ["g"]), remainder="passthrough")
    transform.set_output(transform=kind)
    return make_pipeline(transform, HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4))


@pytest.mark.parametrize("draws", [True, False], ids=["draws", "plain"])
def test_frames_with_text_and_gaps_pass_through(draws):
    X, y = table()
    options = {"sensitive_features": "g", "randomized": draws, "decide_on": "auto"}
    with threadpool_limits(1):  # threads of several tests get in each other's way
        pandas = plug(FAIR, frame_model("pandas"), **options).fit(X, y)
    assert pandas.goal_report_.rule.decides_on == ("g",)
    assert pandas.feature_names_in_.tolist() == list(X.columns)
    other = pl.from_pandas(X)
    with threadpool_limits(1):
        polars = plug(FAIR, frame_model("polars"), **options).fit(other, y)
    assert pandas.rule_ == polars.rule_
    np.testing.assert_array_equal(pandas.predict(X), polars.predict(other))


def test_the_inner_model_gets_what_was_given():
    seen = []

    class Spy(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            seen.append((type(X), X.dtype if hasattr(X, "dtype") else None, type(y)))
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            seen.append((type(X), X.dtype if hasattr(X, "dtype") else None, None))
            p = np.linspace(0.1, 0.9, X.shape[0])
            return np.column_stack([1 - p, p])

    X, y = numbers(60)
    words = np.array([["a", "b"]] * 60, dtype=object)
    for rows in (X.astype(np.float32), words, sparse.csr_array(X), pd.DataFrame(words)):
        seen.clear()
        plug(estimator=Spy()).fit(rows, pd.Series(y)).predict(rows)
        kinds = {(kind, dtype) for kind, dtype, _ in seen}
        assert kinds == {(type(rows), getattr(rows, "dtype", None))}
        assert {k for *_, k in seen if k} == {pd.Series}


def test_lists_and_sparse_matrices():
    X, y = numbers()
    dense = plug(FLOOR, randomized=True).fit(X, y)
    thin = plug(FLOOR, randomized=True).fit(sparse.csr_matrix(X), y)
    assert dense.goal_report_.objective.value == pytest.approx(
        thin.goal_report_.objective.value, abs=0.02
    )
    assert dense.draw_key_ == thin.draw_key_
    np.testing.assert_array_equal(dense.predict(X), dense.predict(sparse.csr_array(X)))
    agree(plug(FLOOR).fit(X.tolist(), y.tolist()), plug(FLOOR).fit(X, y), X)


LABELS = [("no", "yes"), (False, True), (-1, 1), (-1.0, 1.0), (0, 1)]


@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_labels_of_any_kind_for_a_model_without_posteriors(labels):
    X, y = numbers()
    model = LinearSVC()
    plain = plug(FLOOR, model).fit(X, y)
    named = plug(FLOOR, model).fit(X, np.array(labels)[y])
    assert named.rule_ == plain.rule_
    assert named.classes_.tolist() == list(labels)
    assert named.classes_.dtype == np.array(labels).dtype
    np.testing.assert_array_equal(named.predict(X), np.array(labels)[plain.predict(X)])
    assert named.predict(X).dtype == np.array(labels).dtype


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC()], ids=["proba", "decision"])
def test_the_positive_label_first_or_last(model):
    X, y = numbers()
    plain = plug(FLOOR, model, pos_label=1).fit(X, y)
    agree(plain, plug(FLOOR, model).fit(X, y), X)
    turned = plug(FLOOR, model, pos_label=0).fit(X, 1 - y)
    np.testing.assert_array_equal(turned.predict(X), 1 - plain.predict(X))
    assert turned.positive_ == 0
    value = turned.goal_report_.objective.value
    assert value == pytest.approx(plain.goal_report_.objective.value, abs=1e-12)
    np.testing.assert_allclose(
        turned.decision_distribution(X), plain.decision_distribution(X)[:, ::-1]
    )


# ------------------------------------------------------------------------------------ splits


@pytest.mark.parametrize(
    "cv",
    [4, StratifiedKFold(3, shuffle=True, random_state=1), None],
    ids=["int", "splitter", "default"],
)
@pytest.mark.parametrize("goal", [FLOOR, "maximize f1 subject to predicted_rate <= 0.35"])
def test_constraints_are_judged_on_the_pooled_rows(cv, goal):
    X, y = numbers()
    model = plug(goal, cv=cv, randomized=False).fit(X, y)
    drawn = cv if hasattr(cv, "split") else StratifiedKFold(cv or 5, shuffle=True, random_state=0)
    scores = cross_val_predict(LogisticRegression(), X, y, cv=drawn, method="predict_proba")[:, 1]
    found = solve(goal, scores, y, randomized=False)
    assert model.rule_ == found.rule
    same(model.goal_report_, found.report)
    same(model.goal_report_, evaluate(goal, y, model.rule_.decide(scores)))


def test_an_iterable_of_splits_and_one_that_repeats_rows():
    X, y = numbers()
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    agree(plug(FLOOR, cv=folds).fit(X, y), plug(FLOOR).fit(X, y), X)
    masks = [(np.isin(np.arange(400), a), np.isin(np.arange(400), b)) for a, b in folds]
    agree(plug(FLOOR, cv=masks).fit(X, y), plug(FLOOR).fit(X, y), X)
    part = plug(FLOOR, cv=folds[:2]).fit(X, y)
    index = np.concatenate([test for _, test in folds[:2]])
    scores = np.concatenate(
        [LogisticRegression().fit(X[a], y[a]).predict_proba(X[b])[:, 1] for a, b in folds[:2]]
    )
    assert part.rule_ == solve(FLOOR, scores, y[index]).rule


def test_repeated_cross_validation():
    X, y = numbers()
    s = sample()
    cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=0)
    model = plug(FAIR, cv=cv).fit(X, y, sensitive_features=s.g, sample_weight=s.weight)
    scores, index = [], []
    for train, test in cv.split(X, y):
        inner = LogisticRegression().fit(X[train], y[train], sample_weight=s.weight[train])
        scores.append(inner.predict_proba(X[test])[:, 1])
        index.append(test)
    index = np.concatenate(index)
    found = solve(
        FAIR,
        np.concatenate(scores),
        y[index],
        sample_weight=s.weight[index],
        sensitive_features=s.g[index],
        decide_on=None,
    )
    assert model.rule_ == found.rule
    same(model.goal_report_, found.report)
    assert any("more than once" in text for text in model.goal_report_.warnings)


@pytest.mark.parametrize("refit", [True, False])
def test_a_share_is_split_off_once(refit):
    X, y = numbers()
    model = plug(FLOOR, cv=0.25 if refit else HoldOut(0.25), random_state=5).fit(X, y)
    seed = model.draw_key_
    train, test = next(StratifiedShuffleSplit(1, test_size=0.25, random_state=seed).split(X, y))
    inner = LogisticRegression().fit(X[train], y[train])
    assert model.rule_ == solve(FLOOR, inner.predict_proba(X[test])[:, 1], y[test]).rule
    wanted = LogisticRegression().fit(X, y) if refit else inner
    np.testing.assert_array_equal(model.estimator_.coef_, wanted.coef_)
    assert model.goal_report_.search.folds == 1


def test_a_share_is_drawn_by_the_random_state_and_not_from_the_global_generator():
    X, y = numbers()
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    assert len({plug(cv=0.3).fit(X, y).rule_ for _ in range(3)}) == 1
    assert len({plug(cv=0.3, random_state=i).fit(X, y).rule_ for i in range(4)}) > 1
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize(
    ("goal", "how"),  # in every run each goal with one of them
    thinned([(goal, WAYS[(i + j) % 2]) for i, goal in enumerate(GOALS) for j in (0, 1)], 2),
)
@settings(max_examples=4)
@given(seed=st.integers(0, 1000))
def test_equivalences_of_fitted_models(how, goal, seed):
    s = sample(90, seed)
    X = np.column_stack([s.scores, s.deployed])
    inner = LogisticRegression().fit(X, s.y)
    s.weight[np.random.default_rng(seed).random(90) < 0.1] = 0.0

    def at(index, weight):
        base = inner if how == "prefit" else FrozenEstimator(inner)
        model = plug(goal, base, cv="prefit" if how == "prefit" else 3, on_infeasible="nearest")
        part = s.take(index)
        return model.fit(X[index], part.y, **{**part.options(), "sample_weight": weight})

    rows = np.arange(90)
    model = at(rows, s.weight)
    assert model.estimator_.predict(X).tolist() == inner.predict(X).tolist()
    twice = at(np.repeat(rows, s.weight.astype(int)), None)
    order = np.random.default_rng(seed).permutation(90)
    for other in (
        twice,
        at(rows[s.weight > 0], s.weight[s.weight > 0]),
        at(order, s.weight[order]),
    ):
        assert other.rule_ == model.rule_
        same(other.goal_report_, model.goal_report_)


# ------------------------------------------------------------------------------------- draws


@pytest.fixture(scope="module")
def drawn():
    X, y = numbers()
    return plug(FLOOR, cv=2, randomized=True).fit(X, y), X


@settings(max_examples=20)
@given(cut=st.integers(1, 399), seed=st.integers(0, 100))
def test_neither_batches_nor_the_order_matter_to_predictions(drawn, cut, seed):
    model, X = drawn
    assert model.rule_.randomized
    whole = model.predict(X)
    parts = np.concatenate([model.predict(X[:cut]), model.predict(X[cut:])])
    np.testing.assert_array_equal(parts, whole)
    order = np.random.default_rng(seed).permutation(400)
    np.testing.assert_array_equal(model.predict(X[order]), whole[order])


def test_the_order_of_columns_does_not_matter_to_draws():
    X, y = table()
    X = X[["score", "id"]]
    base = make_pipeline(make_column_transformer((StandardScaler(), ["id", "score"])), GaussianNB())
    model = plug(FLOOR, base, randomized=True).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.predict(X[["id", "score"]]))


def test_draws():
    X, y = table()
    base = make_pipeline(make_column_transformer((StandardScaler(), ["score"])), GaussianNB())
    options = {"randomized": True, "estimator": base, "cv": StratifiedKFold(3)}
    by_row = plug(FLOOR, **options).fit(X, y)
    by_id = plug(FLOOR, draw="id", **options).fit(X, y)
    free = plug(FLOOR, draw="random", **options).fit(X, y)
    seeded = plug(FLOOR, draw="random", random_state=1, **options).fit(X, y)
    assert by_row.rule_ == by_id.rule_ == free.rule_
    undecided = by_row.decision_distribution(X)[:, 1] % 1 > 0
    assert undecided.sum() > 50
    moved = X.assign(noise=0.0)
    for model, stays in ((by_row, False), (by_id, True), (seeded, True)):
        np.testing.assert_array_equal(model.predict(X), model.predict(X))
        assert (model.predict(moved) == model.predict(X)).all() == stays
    assert any((free.predict(X) != free.predict(X)).any() for _ in range(5))
    other = plug(FLOOR, random_state=2, **options).fit(X, y)
    assert (other.predict(X) != by_row.predict(X))[undecided].any()
    for model in (by_row, by_id, free, seeded, other):
        share = (model.predict(X) == 1)[undecided].mean()
        assert abs(share - by_row.decision_distribution(X)[undecided, 1].mean()) < 0.2


def test_the_distribution_is_not_a_posterior():
    X, y = numbers()
    model = plug(FLOOR, randomized=True).fit(X, y)
    shares = model.decision_distribution(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert len(np.unique(shares)) <= 6
    np.testing.assert_array_equal(model.predict_proba(X), model.estimator_.predict_proba(X))
    plain = plug(FLOOR, randomized=False).fit(X, y)
    np.testing.assert_array_equal(
        plain.classes_[plain.decision_distribution(X).argmax(axis=1)], plain.predict(X)
    )


def test_random_states():
    X, y = numbers()
    for state in (np.random.default_rng(0), np.random.RandomState(0), 7):
        assert plug(FLOOR, random_state=state, randomized=True).fit(X, y).predict(X).size == 400
    with pytest.raises(ValueError, match="`random_state` is None, an int or a generator, got 'x'"):
        plug(random_state="x").fit(X, y)


# ------------------------------------------------------------------- groups, baseline, data sets


def grouped():
    X, y = table()
    base = make_pipeline(
        make_column_transformer((StandardScaler(), ["score"])), LogisticRegression()
    )
    return X, y, base


def test_groups_by_name_or_given_to_fit():
    X, y, base = grouped()
    named = plug(FAIR, base, sensitive_features="g").fit(X, y)
    given_too = plug(FAIR, base, decide_on=["g"]).fit(X, y, sensitive_features=X["g"])
    blind = plug(FAIR, base).fit(X, y, sensitive_features=X["g"])
    assert named.rule_ == given_too.rule_
    assert named.goal_report_.rule.decides_on == ("g",)
    np.testing.assert_array_equal(
        named.predict(X), given_too.predict(X, sensitive_features={"g": X["g"]})
    )
    assert not blind.rule_.needs_segments
    assert any("does not look at g" in text for text in blind.goal_report_.warnings)
    assert blind.predict(X).size == len(X)
    never = plug(FAIR, base, sensitive_features="g", decide_on=None).fit(X, y)
    assert never.rule_ == blind.rule_
    assert not any("does not look" in text for text in never.goal_report_.warnings)


def test_evaluate_on_new_rows():
    X, y, base = grouped()
    model = plug(FAIR, base, sensitive_features="g", randomized=False).fit(X, y)
    Z, z = table(seed=7)
    report = model.evaluate(Z, z)
    assert report.status == "evaluated"
    same(report, evaluate(FAIR, z, model.predict(Z), sensitive_features=Z["g"]))
    weight = np.arange(len(z)) % 3.0
    same(
        model.evaluate(Z, z, sample_weight=weight),
        evaluate(FAIR, z, model.predict(Z), sensitive_features=Z["g"], sample_weight=weight),
    )


def test_a_mixture_is_evaluated_in_expectation():
    X, y = numbers()
    model = plug(FLOOR, randomized=True).fit(X, y)
    p = model.decision_distribution(X)[:, 1]
    report = model.evaluate(X, y)
    assert report.objective.value == pytest.approx(p[y == 1].mean(), abs=1e-12)
    assert report.constraints[0].value == pytest.approx(p[y == 1].sum() / p.sum(), abs=1e-12)


def test_an_unseen_group():
    X, y, base = grouped()
    new = X.head(6).assign(g=["a", "b", "z", "a", "zz", "b"])
    strict = plug(FAIR, base, sensitive_features="g").fit(X, y)
    with pytest.raises(ValueError, match="2 rows are of a group that fit did not see, as g = z in"):
        strict.predict(new)
    lenient = plug(
        FAIR, base, sensitive_features="g", response=ModelResponse(unknown_group="largest")
    ).fit(X, y)
    largest = X["g"].mode()[0]
    with pytest.warns(UnknownGroupWarning, match=f"decided by the rule for g = {largest}"):
        decided = lenient.predict(new)
    wanted = lenient.predict(new.assign(g=["a", "b", largest, "a", largest, "b"]))
    np.testing.assert_array_equal(decided, wanted)


def test_values_that_a_goal_does_not_name_are_the_rest():
    X, y, base = grouped()
    X = X.assign(country=[f"c{i % 70}" for i in range(len(X))])
    X.loc[:199, "country"] = "IN"
    goal = "maximize accuracy subject to recall.on(country='IN') >= 0.9"
    model = plug(goal, base, sensitive_features="country").fit(X, y)
    new = X.assign(country="never seen")
    assert model.predict(new).size == len(X)
    np.testing.assert_array_equal(model.predict(new), model.predict(X.assign(country="c1")))


def test_two_columns():
    X, y, base = grouped()
    X = X.assign(h=np.where(X["id"] % 2, "odd", "even"))
    goal = "maximize accuracy subject to predicted_rate.difference(g, h) <= 0.1"
    model = plug(goal, base, sensitive_features=["g", "h"]).fit(X, y)
    assert model.goal_report_.rule.decides_on == ("g", "h")
    assert len(model.rule_.segment_keys) == 4
    assert model.goal_report_.constraints[0].satisfied
    np.testing.assert_array_equal(
        model.predict(X), model.predict(X, sensitive_features=X[["h", "g"]])
    )


def test_a_baseline_as_array_column_or_model():
    X, y, base = grouped()
    goal = "maximize recall subject to churn <= 0.45"
    by_array = plug(goal, base).fit(X, y, baseline=X["deployed"])
    by_name = plug(goal, base, baseline="deployed").fit(X, y)

    class Deployed:
        def predict(self, X):
            return X["deployed"].to_numpy()

    by_model = plug(goal, base).fit(X, y, baseline=Deployed())
    assert by_array.rule_ == by_name.rule_ == by_model.rule_
    same(by_array.goal_report_, by_name.goal_report_)
    same(by_name.evaluate(X, y), by_array.evaluate(X, y, baseline=X["deployed"]))
    frozen = FrozenEstimator(base.fit(X, y))
    copy = clone(plug(goal, base, baseline=frozen)).fit(X, y)
    assert copy.goal_report_.constraints[0].satisfied


def test_data_sets():
    X, y, base = grouped()
    Z, z = table(300, seed=3)
    goal = (
        "maximize recall subject to predicted_rate.on('new') <= 0.4 "
        "and recall.on('checked', g='b') >= 0.3 and churn.on('checked') <= 0.6"
    )
    sets = {"new": Z, "checked": (Z, z)}
    model = plug(goal, base, sensitive_features="g", baseline="deployed", randomized=False)
    model.fit(X, y, datasets=sets)
    decided = model.predict(Z)
    report = model.goal_report_
    b = ((Z["g"] == "b") & (z == 1)).to_numpy()
    values = [decided.mean(), decided[b].mean(), np.mean(decided != Z["deployed"])]
    assert [c.value for c in report.constraints] == pytest.approx(values, abs=1e-12)
    again = model.evaluate(X, y, datasets=sets)
    assert [c.value for c in again.constraints] == pytest.approx(values, abs=1e-12)
    assert report.rule.decides_on == ()  # the goal names no column of X


def test_data_sets_with_groups_of_their_own():
    from setpoint import Dataset

    X, y, base = grouped()
    Z, z = table(300, seed=3)
    goal = "maximize accuracy subject to recall.on(g='b') >= 0.6 and recall.on('new', g='b') >= 0.6"
    new = Dataset(Z[["score"]], z, sensitive_features={"g": Z["g"]})
    model = plug(goal, base, sensitive_features="g").fit(X, y, datasets={"new": new})
    assert model.goal_report_.rule.decides_on == ("g",)
    assert all(c.satisfied for c in model.goal_report_.constraints)
