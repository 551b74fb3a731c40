"""PlugInClassifier: which scores a rule is found on, draws, inner models, weights, routing."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from plugin.samples import same, sample, table
from setpoint import InfeasibleError, PlugInClassifier, solve
from setpoint.solvers import HoldOut, ModelResponse
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning"),
]
FLOOR = "maximize recall subject to precision >= 0.6"
FAIR = "maximize accuracy subject to recall.difference(g) <= 0.05"
S = sample()
X, Y = np.column_stack([S.scores, np.random.default_rng(0).normal(size=400)]), S.y


def plug(goal=FLOOR, estimator=None, **options):
    return PlugInClassifier(estimator or LogisticRegression(), goal, **{"cv": 3, **options})


def agree(one, two, rows=X):
    assert one.rule_ == two.rule_
    np.testing.assert_array_equal(one.predict(rows), two.predict(rows))
    np.testing.assert_array_equal(one.decision_distribution(rows), two.decision_distribution(rows))


def quarter(seed):
    return StratifiedShuffleSplit(1, test_size=0.25, random_state=seed)


FOLDS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))
REPEATED = RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=0)
# cv, the splits that it means by the seed of the model, and what the report says of them.
SPLITS = [
    (4, lambda seed: StratifiedKFold(4, shuffle=True, random_state=seed).split(X, Y), ""),
    (None, lambda seed: StratifiedKFold(5, shuffle=True, random_state=seed).split(X, Y), ""),
    (StratifiedKFold(3), lambda seed: StratifiedKFold(3).split(X, Y), ""),
    (0.25, lambda seed: quarter(seed).split(X, Y), ""),
    (FOLDS[:2], lambda seed: FOLDS[:2], "cv never scores 133 of 400 rows"),
    (REPEATED, lambda seed: REPEATED.split(X, Y), "more than once"),
]


@over("goal, given", [(FLOOR, {}), (FAIR, {"sensitive_features": S.g, "sample_weight": S.weight})])
@over("cv, splits, note", SPLITS)
def test_the_rule_is_that_of_the_pooled_scores(cv, splits, note, goal, given):
    model = plug(goal, cv=cv, random_state=5).fit(X, Y, **given)
    splits, weight = list(splits(model.draw_key_)), given.get("sample_weight", np.ones(400))
    models = [LogisticRegression().fit(X[a], Y[a], sample_weight=weight[a]) for a, _ in splits]
    index = np.concatenate([test for _, test in splits])
    pairs = zip(models, splits, strict=True)
    scores = np.concatenate([one.predict_proba(X[test])[:, 1] for one, (_, test) in pairs])
    taken = {name: values[index] for name, values in given.items()}
    found = solve(goal, scores, Y[index], decide_on=None, **taken)
    report = model.goal_report_
    assert model.rule_ == found.rule
    same(report, found.report)
    assert report.search.folds == len(splits)
    assert note in " ".join(report.warnings)
    assert model.gap_ == report.certificate.gap
    assert model.n_oracle_calls_ == report.search.calls
    whole = LogisticRegression().fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_splits_as_lists_masks_or_drawn_once():
    plain = plug(cv=FOLDS).fit(X, Y)
    masks = [(np.isin(np.arange(400), a), np.isin(np.arange(400), b)) for a, b in FOLDS]
    by_state = StratifiedKFold(3, shuffle=True, random_state=np.random.RandomState(0))
    for cv in (masks, iter(FOLDS), by_state):
        agree(plug(cv=cv).fit(X, Y), plain)


def test_the_model_of_one_split_stays():
    model = plug(cv=HoldOut(0.25)).fit(X, Y)
    [(train, test)] = quarter(model.draw_key_).split(X, Y)
    inner = LogisticRegression().fit(X[train], Y[train])
    np.testing.assert_array_equal(model.estimator_.coef_, inner.coef_)
    assert model.rule_ == solve(FLOOR, inner.predict_proba(X[test])[:, 1], Y[test]).rule


def test_a_share_is_drawn_by_the_random_state():
    states = (0, 1, 2, np.random.default_rng(0), np.random.RandomState(0))
    assert len({plug(cv=0.3).fit(X, Y).rule_ for _ in range(3)}) == 1
    assert len({plug(cv=0.3, random_state=state).fit(X, Y).rule_ for state in states}) > 1


def test_what_draws_go_by():
    frame, y = table()
    scaled = make_column_transformer((StandardScaler(), ["score"]))
    base = make_pipeline(scaled, GaussianNB())
    options = {"randomized": True, "estimator": base, "cv": StratifiedKFold(3)}
    by_row = plug(**options).fit(frame, y)
    by_id = plug(draw="id", **options).fit(frame, y)
    free = plug(draw="random", **options).fit(frame, y)
    seeded = plug(draw="random", random_state=1, **options).fit(frame, y)
    assert by_row.rule_ == by_id.rule_ == free.rule_
    undecided = by_row.decision_distribution(frame)[:, 1] % 1 > 0
    assert undecided.sum() > 50
    moved = frame.assign(noise=0.0)
    for model, stays in ((by_row, False), (by_id, True), (seeded, True)):
        np.testing.assert_array_equal(model.predict(frame), model.predict(frame))
        assert (model.predict(moved) == model.predict(frame)).all() == stays
    state = pickle.dumps(np.random.get_state())  # noqa: NPY002
    assert any((free.predict(frame) != free.predict(frame)).any() for _ in range(5))
    assert pickle.dumps(np.random.get_state()) == state  # noqa: NPY002
    for model in (by_row, by_id, free, seeded):
        share = (model.predict(frame) == 1)[undecided].mean()
        assert abs(share - by_row.decision_distribution(frame)[undecided, 1].mean()) < 0.2


def test_a_mixture_is_evaluated_in_expectation():
    drawn = plug(cv=2, randomized=True).fit(X, Y)
    p, report = drawn.decision_distribution(X)[:, 1], drawn.evaluate(X, Y)
    assert report.objective.value == pytest.approx(p[Y == 1].mean(), abs=1e-12)
    assert report.constraints[0].value == pytest.approx(p[Y == 1].sum() / p.sum(), abs=1e-12)


def test_methods_of_the_inner_model_pass_through():
    model = plug().fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), model.estimator_.predict_proba(X))
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    np.testing.assert_array_equal(model.decision_function(X), model.estimator_.decision_function(X))
    outer = plug(FLOOR, model, response=ModelResponse(method="decision_function")).fit(X, Y)
    assert outer.goal_report_.constraints[0].satisfied


def test_a_search_that_fails_leaves_the_fitted_model_alone():
    model = plug().fit(X, Y)
    first = pickle.loads(pickle.dumps(model))
    model.set_params(goal="maximize recall subject to precision >= 0.99 and recall >= 0.9")
    with pytest.raises(InfeasibleError, match="the highest reachable is"):
        model.fit(X[:, ::-1], Y)
    agree(model, first)


def test_a_decision_function_is_turned_round_for_the_first_class():
    plain = plug(FLOOR, LinearSVC()).fit(X, Y)
    turned = plug(FLOOR, LinearSVC(), pos_label=0).fit(X, 1 - Y)
    np.testing.assert_array_equal(turned.predict(X), 1 - plain.predict(X))


def test_the_rule_in_the_place_of_posteriors():
    """So it decides in one-versus-rest, which asks each model for the larger probability."""
    rule = plug("f1", response="rule")
    assert not hasattr(rule, "decision_function")
    labels = np.column_stack([Y, S.g == "b"]).astype(int)
    found = OneVsRestClassifier(rule).fit(X, labels).predict(X)
    alone = [plug("f1").fit(X, labels[:, k]) for k in (0, 1)]
    np.testing.assert_array_equal(found, np.column_stack([one.predict(X) for one in alone]))
    one = rule.fit(X, Y)
    np.testing.assert_array_equal(one.predict_proba(X), one.decision_distribution(X))


@over("frozen", [True, False])
def test_a_fitted_model_need_not_take_weights(frozen):
    inner = KNeighborsClassifier().fit(X, Y)
    model = plug(FLOOR, FrozenEstimator(inner) if frozen else inner, cv="prefit")
    model.fit(X, Y, sample_weight=S.weight)
    scores = inner.predict_proba(X)[:, 1]
    assert model.rule_ == solve(FLOOR, scores, Y, sample_weight=S.weight).rule


@pytest.mark.usefixtures("routing")
class TestRouting:
    def test_weights_are_passed_to_a_model_that_wants_them(self):
        for wanted in (True, False):
            inner = LogisticRegression().set_fit_request(sample_weight=wanted)
            model = plug(FLOOR, inner).fit(X, Y, sample_weight=S.weight)
            plain = LogisticRegression().fit(X, Y, sample_weight=S.weight if wanted else None)
            np.testing.assert_array_equal(model.estimator_.coef_, plain.coef_)
            unweighted = plug(FLOOR, inner).fit(X, Y).goal_report_.objective.value
            assert model.goal_report_.objective.value != unweighted

    def test_everything_reaches_the_end_of_a_pipeline_in_cross_validation(self):
        goal = "maximize accuracy subject to recall.difference(g) <= 0.5 and churn <= 0.6"
        params = {"sample_weight": S.weight, "sensitive_features": S.g, "baseline": S.deployed}
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        inner = LogisticRegression().set_fit_request(sample_weight=True)

        def pipeline(**options):
            last = plug(goal, inner, cv=2, **options).set_fit_request(**dict.fromkeys(params, True))
            last.set_score_request(sample_weight=True)
            return make_pipeline(scaler, last.set_predict_request(sensitive_features=True))

        looks = pipeline(decide_on="g").fit(X, Y, **params)
        assert looks[-1].goal_report_.constraints[1].satisfied
        assert looks.predict(X, sensitive_features=S.g).size == 400
        found = cross_validate(pipeline(), X, Y, cv=2, params=params, error_score="raise")
        assert np.isfinite(found["test_score"]).all()


SEEN = set()


class Spy(ClassifierMixin, BaseEstimator):
    """Notes the rows that it gets."""

    def fit(self, rows, y):
        SEEN.add((type(rows), getattr(rows, "dtype", None), type(y)))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, rows):
        SEEN.add((type(rows), getattr(rows, "dtype", None), pd.Series))
        return np.column_stack([p := np.linspace(0.1, 0.9, rows.shape[0]), 1 - p])


@over("form", [np.float32, pd.DataFrame, sparse.csr_array])
def test_the_inner_model_gets_what_was_given(form):
    rows = form(X[:60])
    SEEN.clear()
    plug("f1", Spy()).fit(rows, pd.Series(Y[:60])).predict(rows)
    assert {(type(rows), getattr(rows, "dtype", None), pd.Series)} == SEEN
