"""Metadata routing, and weights without it."""

import numpy as np
import pytest
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plugin.samples import sample
from setpoint import PlugInClassifier, solve
from setpoint.solvers import HoldOut

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning"),
]
GOAL = "maximize recall subject to precision >= 0.6"


def data():
    s = sample()
    return np.column_stack([s.scores, s.deployed]), s


def test_weights_reach_the_model_and_the_counts():
    X, s = data()
    model = PlugInClassifier(LogisticRegression(), GOAL, cv=HoldOut(0.5), random_state=0)
    model.fit(X, s.y, sample_weight=s.weight)
    plain = PlugInClassifier(LogisticRegression(), GOAL, cv=HoldOut(0.5), random_state=0)
    plain.fit(X, s.y)
    assert (model.estimator_.coef_ != plain.estimator_.coef_).all()
    assert model.rule_ != plain.rule_


def test_weights_are_refused_where_the_model_takes_none():
    X, s = data()
    model = PlugInClassifier(KNeighborsClassifier(), GOAL)
    with pytest.raises(
        ValueError, match=r"`sample_weight`: KNeighborsClassifier\.fit takes none, and"
    ):
        model.fit(X, s.y, sample_weight=s.weight)


@pytest.mark.parametrize("frozen", [True, False])
def test_a_fitted_model_need_not_take_weights(frozen):
    X, s = data()
    inner = KNeighborsClassifier().fit(X, s.y)
    model = PlugInClassifier(FrozenEstimator(inner) if frozen else inner, GOAL, cv="prefit")
    model.fit(X, s.y, sample_weight=s.weight)
    scores = inner.predict_proba(X)[:, 1]
    assert model.rule_ == solve(GOAL, scores, s.y, sample_weight=s.weight).rule


def test_further_parameters_need_routing():
    X, s = data()
    with pytest.raises(ValueError, match=r"fit got \['groups'\]; further parameters need metadata"):
        PlugInClassifier(LogisticRegression(), GOAL).fit(X, s.y, groups=s.g)


@pytest.mark.usefixtures("routing")
def test_weights_have_to_be_asked_for():
    X, s = data()
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        PlugInClassifier(LogisticRegression(), GOAL).fit(X, s.y, sample_weight=s.weight)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("wanted", [True, False])
def test_weights_are_routed_to_the_model(wanted):
    X, s = data()
    inner = LogisticRegression().set_fit_request(sample_weight=wanted)
    model = PlugInClassifier(inner, GOAL, cv=3).fit(X, s.y, sample_weight=s.weight)
    plain = LogisticRegression().fit(X, s.y, sample_weight=s.weight if wanted else None)
    np.testing.assert_array_equal(model.estimator_.coef_, plain.coef_)
    assert model.goal_report_.objective.value != (
        PlugInClassifier(inner, GOAL, cv=3).fit(X, s.y).goal_report_.objective.value
    )


@pytest.mark.usefixtures("routing")
def test_a_fitted_model_is_not_asked():
    X, s = data()
    inner = FrozenEstimator(LogisticRegression().fit(X, s.y))
    model = PlugInClassifier(inner, GOAL).fit(X, s.y, sample_weight=s.weight)
    scores = inner.predict_proba(X)[:, 1]
    assert model.rule_ == solve(GOAL, scores, s.y, sample_weight=s.weight).rule


@pytest.mark.usefixtures("routing")
def test_groups_are_routed_to_the_splitter():
    X, s = data()
    groups = np.arange(len(s.y)) % 7
    model = PlugInClassifier(LogisticRegression(), GOAL, cv=GroupKFold(3))
    model.fit(X, s.y, groups=groups)
    folds = list(GroupKFold(3).split(X, s.y, groups))
    assert model.rule_ == PlugInClassifier(LogisticRegression(), GOAL, cv=folds).fit(X, s.y).rule_


@pytest.mark.usefixtures("routing")
def test_everything_is_routed_through_a_pipeline_and_cross_validation():
    X, s = data()
    goal = "maximize accuracy subject to recall.difference(g) <= 0.5 and churn <= 0.6"
    inner = LogisticRegression().set_fit_request(sample_weight=True)
    plug = PlugInClassifier(inner, goal, cv=2).set_fit_request(
        sample_weight=True, sensitive_features=True, baseline=True
    )
    plug.set_score_request(sample_weight=True)
    params = {"sample_weight": s.weight, "sensitive_features": s.g, "baseline": s.deployed}
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipe = make_pipeline(scaler, plug).fit(X, s.y, **params)
    assert pipe[-1].goal_report_.constraints[1].satisfied
    found = cross_validate(pipe, X, s.y, cv=2, params=params, error_score="raise")
    assert np.isfinite(found["test_score"]).all()
    looks = PlugInClassifier(inner, goal, cv=2, decide_on="g").set_fit_request(
        sample_weight=True, sensitive_features=True, baseline=True
    )
    looks.set_predict_request(sensitive_features=True)
    pipe = make_pipeline(scaler, looks).fit(X, s.y, **params)
    assert pipe.predict(X, sensitive_features=s.g).size == len(s.y)


@pytest.mark.usefixtures("routing")
def test_an_inner_pipeline_routes_on():
    X, s = data()
    last = LogisticRegression().set_fit_request(sample_weight=True)
    inner = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), last)
    model = PlugInClassifier(inner, GOAL, cv=2).fit(X, s.y, sample_weight=s.weight)
    scaled = StandardScaler().fit_transform(X)
    wanted = LogisticRegression().fit(scaled, s.y, sample_weight=s.weight)
    np.testing.assert_array_equal(model.estimator_[-1].coef_, wanted.coef_)
