"""Search limits as one value: checked when made, refused where not taken, open to a search."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV

import setpoint
from setpoint import (
    BlackBox,
    PlugInClassifier,
    RampClassifier,
    SearchLimits,
    load_model,
    save_model,
    solve,
)
from setpoint.solvers import (
    SOLVERS,
    AdaptiveSurrogates,
    ColumnGeneration,
    FirstModel,
    HoldOut,
    ModelResponse,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = (X[:, 0] + RNG.normal(size=200) > 0.3).astype(int)
EVERY = {"tol": 0.01, "calls": 50, "seconds": 60.0, "evaluations": 70}

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")


def plug_in(**options):
    return PlugInClassifier(LogisticRegression(), "accuracy", **options)


@pytest.mark.parametrize(
    ("name", "words", "values"),
    [
        ("tol", "a number >= 0 or None", [-1, float("nan"), float("inf"), "1", True]),
        ("calls", "a whole number >= 1 or None", [0, 2.5, "1", True]),
        ("seconds", "a number above 0 or None", [0, -1.0, float("nan"), "1", True]),
        ("evaluations", "a whole number >= 1 or None", [0, 2.5, "1", True]),
    ],
)
def test_numbers_out_of_range(name, words, values):
    for value in values:
        with pytest.raises(ValueError, match=f"^`{name}` is {words}, got {value!r}$"):
            SearchLimits(**{name: value})


def test_limits_are_a_value(tmp_path):
    limits = SearchLimits(seconds=60, tol=0.1)
    assert repr(limits) == "SearchLimits(tol=0.1, seconds=60)"
    assert clone(limits) is limits
    assert pickle.loads(pickle.dumps(limits)) == limits
    with pytest.raises(FrozenInstanceError):
        limits.seconds = 5
    response = ModelResponse(predict_proba="rule")
    save_model(plug_in(limits=limits, response=response).fit(X, Y), tmp_path / "a.skops")
    again = load_model(tmp_path / "a.skops")
    assert (again.limits, again.response) == (limits, response)


def test_calibrated_models_have_no_decision_function():
    words = r"^`calibrate='sigmoid'` makes probabilities, and `method='decision_function'` asks"
    with pytest.raises(ValueError, match=words):
        ModelResponse("decision_function", "sigmoid")
    with pytest.raises(ValueError, match=r"^`unknown_group` is one of .*, got 'ignore'$"):
        ModelResponse(unknown_group="ignore")
    clf = plug_in(response=ModelResponse("decision_function"))
    with pytest.raises(ValueError, match=words):
        clf.set_params(response__calibrate="sigmoid")


def test_a_model_that_is_fitted_is_calibrated_on_folds_whatever_cv_is():
    given = FrozenEstimator(LogisticRegression().fit(X, Y))
    calibrated = ModelResponse(calibrate="sigmoid")
    reports = [
        PlugInClassifier(given, "accuracy", cv=cv, response=calibrated).fit(X, Y).goal_report_
        for cv in (None, HoldOut(0.3))
    ]
    assert reports[0].rule == reports[1].rule


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_takes_its_limits_and_no_others(solver):
    value = SOLVERS[solver]()
    for name, given in EVERY.items():
        limits = SearchLimits(**{name: given})
        if name in value.limits:
            assert value.limited(limits) is limits
        else:
            words = rf"^`limits`: `solver='{solver}'` takes {', '.join(value.limits)}, got {name}="
            with pytest.raises(ValueError, match=words):
                value.limited(limits)
    assert value.limited(None) == SearchLimits()
    assert "seconds" in value.limits


@pytest.mark.parametrize("given", [5.0, {"seconds": 5}, "60", FirstModel()])
def test_what_is_not_a_limit(given):
    words = r"^`limits` is SearchLimits\(\.\.\.\) or None, got "
    with pytest.raises(ValueError, match=words):
        solve("f1", X[:, 0], Y, limits=given)
    with pytest.raises(ValueError, match=words):
        plug_in().set_params(limits=given).set_params(limits__seconds=5)


def test_limits_by_what_auto_means():
    evaluations, calls = SearchLimits(evaluations=50), SearchLimits(calls=50)
    with pytest.raises(
        ValueError, match=r"^`limits`: evaluations are .* accuracy has one; leave o"
    ):
        plug_in(limits=evaluations).fit(X, Y)
    with pytest.raises(ValueError, match=r"^`limits`: evaluations are .* f1 has one; leave o"):
        solve("f1", X[:, 0], Y, solver="post-shift", limits=evaluations)
    measured = PlugInClassifier(LogisticRegression(), BlackBox(f1_score), limits=calls)
    with pytest.raises(
        ValueError, match=r"`solver='post-shift'` takes seconds, evaluations, got c"
    ):
        measured.fit(X, Y)
    assert measured.set_params(limits=evaluations).fit(X, Y).n_oracle_calls_ == 50


def test_set_params_reaches_into_values():
    clf = plug_in().set_params(limits__seconds=5)
    assert clf.limits == SearchLimits(seconds=5)
    assert clf.set_params(limits__tol=0.1).limits == SearchLimits(tol=0.1, seconds=5)
    assert clf.get_params()["limits__seconds"] == 5
    with pytest.raises(ValueError, match=r"^SearchLimits takes tol, .*, got 'minutes'$"):
        clf.set_params(limits__minutes=5)
    split = clf.set_params(cv__cv=0.3, cv=HoldOut(0.2), estimator__C=3.0)
    assert (split.cv, split.estimator.C) == (HoldOut(0.3), 3.0)
    assert clf.set_params(response__calibrate="sigmoid").response == ModelResponse(
        calibrate="sigmoid"
    )
    assert plug_in(response="rule").set_params(
        response__calibrate="sigmoid"
    ).response == ModelResponse(calibrate="sigmoid", predict_proba="rule")
    same = clone(clf).set_params(**clf.get_params()).get_params()
    assert {k: str(v) for k, v in same.items()} == {k: str(v) for k, v in clf.get_params().items()}
    trained = setpoint.AdaptiveSurrogateClassifier("f1").set_params(training__C=0.1)
    assert trained.training == FirstModel(C=0.1)


def test_set_params_reaches_into_every_value():
    clf = plug_in(response="rule").set_params(response__calibrate="sigmoid")
    assert clf.response == ModelResponse(calibrate="sigmoid", predict_proba="rule")
    clf.set_params(cv=HoldOut(0.3), cv__cv=0.4)
    assert clf.cv == HoldOut(0.4)
    again = plug_in().set_params(**clf.get_params())
    assert (again.response, again.cv) == (clf.response, clf.cv)
    with pytest.raises(ValueError, match=r"^ModelResponse takes method, .*, got 'mehtod'$"):
        clf.set_params(response__mehtod="auto")
    with pytest.raises(ValueError, match="Invalid parameter 'fork'"):
        clf.set_params(fork__x=1)
    with pytest.raises(ValueError, match=r"^`cv=3` takes no parameters, got 'cv'$"):
        plug_in(cv=3).set_params(cv__cv=0.5)
    grid = GridSearchCV(plug_in(), {"response__calibrate": [None, "sigmoid"]}, cv=2).fit(X, Y)
    assert grid.best_estimator_.response.calibrate in (None, "sigmoid")


def test_set_params_reaches_into_a_solvers_estimator():
    oracle = LogisticRegression(C=3.0)
    clf = plug_in(solver=ColumnGeneration(oracle=oracle))
    assert clf.get_params()["solver__oracle__C"] == 3.0
    other = clone(clf).set_params(solver__oracle__C=0.5)
    assert other.solver.oracle.C == 0.5
    assert oracle.C == 3.0  # solvers are values, and copies of a classifier share them
    both = {"solver__oracle__C": 0.5, "solver__oracle": LogisticRegression(max_iter=7)}
    found = clf.set_params(**both).solver.oracle
    assert (found.C, found.max_iter) == (0.5, 7)
    with pytest.raises(ValueError, match="'oracle__C'"):
        plug_in().set_params(solver="column-generation", solver__oracle__C=1.0)
    with pytest.raises(ValueError, match=r"^AdaptiveSurrogates takes .*, got 'step__x'$"):
        AdaptiveSurrogates().with_params(step__x=1)


def test_grid_search_over_limits():
    grid = GridSearchCV(RampClassifier("accuracy"), {"limits__tol": [1e-3, 1e-2]}, cv=2).fit(X, Y)
    assert grid.best_estimator_.limits.tol in (1e-3, 1e-2)
