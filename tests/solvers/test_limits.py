"""Search limits and other options as values: checked when made, open to a search."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from setpoint import AdaptiveSurrogateClassifier, BlackBox, PlugInClassifier, SearchLimits, solve
from setpoint.solvers import (
    AdaptiveSurrogates,
    ColumnGeneration,
    FirstModel,
    HoldOut,
    ModelResponse,
)
from thinning import over

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = (X[:, 0] + RNG.normal(size=200) > 0.3).astype(int)

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")


def plug_in(**options):
    return PlugInClassifier(LogisticRegression(), "accuracy", **options)


@over(
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


def test_limits_are_a_value():
    limits = SearchLimits(seconds=60, tol=0.1)
    assert repr(limits) == "SearchLimits(tol=0.1, seconds=60)"
    assert clone(limits) is limits
    with pytest.raises(FrozenInstanceError):
        limits.seconds = 5


def test_a_model_that_is_fitted_is_calibrated_on_folds_whatever_cv_is():
    given = FrozenEstimator(LogisticRegression().fit(X, Y))
    calibrated = ModelResponse(calibrate="sigmoid")
    rules = [
        PlugInClassifier(given, "accuracy", cv=cv, response=calibrated).fit(X, Y).rule_
        for cv in (None, HoldOut(0.3))
    ]
    assert rules[0] == rules[1]


@over("given", [5.0, {"seconds": 5}, "60", FirstModel()])
def test_what_is_not_a_limit(given):
    words = r"^`limits` is SearchLimits\(\.\.\.\) or None, got "
    with pytest.raises(ValueError, match=words):
        solve("f1", X[:, 0], Y, limits=given)
    with pytest.raises(ValueError, match=words):
        plug_in().set_params(limits=given).set_params(limits__seconds=5)


def test_limits_by_what_auto_means():
    evaluations, calls = SearchLimits(evaluations=50), SearchLimits(calls=50)
    with pytest.raises(ValueError, match=r"^`limits`: evaluations are .* accuracy has one; lea"):
        plug_in(limits=evaluations).fit(X, Y)
    with pytest.raises(ValueError, match=r"^`limits`: evaluations are .* f1 has one; leave o"):
        solve("f1", X[:, 0], Y, solver="post-shift", limits=evaluations)
    measured = PlugInClassifier(LogisticRegression(), BlackBox(f1_score), limits=calls)
    with pytest.raises(ValueError, match=r"`solver='post-shift'` takes seconds, evaluations, g"):
        measured.fit(X, Y)
    assert measured.set_params(limits=evaluations).fit(X, Y).n_oracle_calls_ == 50


@over(
    ("start", "given", "name", "value"),
    [
        ({}, {"limits__seconds": 5}, "limits", SearchLimits(seconds=5)),
        (
            {"limits": SearchLimits(seconds=5)},
            {"limits__tol": 0.1},
            "limits",
            SearchLimits(tol=0.1, seconds=5),
        ),
        ({}, {"cv__cv": 0.3, "cv": HoldOut(0.2)}, "cv", HoldOut(0.3)),
        ({}, {"response__calibrate": "sigmoid"}, "response", ModelResponse(calibrate="sigmoid")),
        (
            {"response": "rule"},
            {"response__calibrate": "sigmoid"},
            "response",
            ModelResponse(calibrate="sigmoid", predict_proba="rule"),
        ),
    ],
)
def test_set_params_reaches_into_values(start, given, name, value):
    clf = plug_in(**start).set_params(**given)
    assert getattr(clf, name) == value
    params = clf.get_params()
    for key in given:
        assert params[key] == (value if key == name else getattr(value, key.split("__")[1]))
    again = plug_in().set_params(**params).get_params()
    assert {k: str(v) for k, v in again.items()} == {k: str(v) for k, v in params.items()}


def test_set_params_reaches_into_every_family():
    trained = AdaptiveSurrogateClassifier("f1").set_params(training__C=0.1)
    assert trained.training == FirstModel(C=0.1)


@over(
    ("start", "given", "message"),
    [
        ({}, {"limits__minutes": 5}, r"^SearchLimits takes tol, .*, got 'minutes'$"),
        ({}, {"response__mehtod": "auto"}, r"^ModelResponse takes method, .*, got 'mehtod'$"),
        ({}, {"fork__x": 1}, "Invalid parameter 'fork'"),
        ({"cv": 3}, {"cv__cv": 0.5}, r"^`cv=3` takes no parameters, got 'cv'$"),
        (
            {"response": ModelResponse("decision_function")},
            {"response__calibrate": "sigmoid"},
            "^`calibrate='sigmoid'` makes probabilities, and `method='decision_function'` asks",
        ),
        ({}, {"solver": "column-generation", "solver__oracle__C": 1.0}, "'oracle__C'"),
    ],
)
def test_parameters_of_values_that_do_not_exist(start, given, message):
    with pytest.raises(ValueError, match=message):
        plug_in(**start).set_params(**given)


def test_values_are_checked_where_they_are_made():
    with pytest.raises(ValueError, match=r"^`unknown_group` is one of .*, got 'ignore'$"):
        ModelResponse(unknown_group="ignore")
    with pytest.raises(ValueError, match=r"^AdaptiveSurrogates takes .*, got 'step__x'$"):
        AdaptiveSurrogates().with_params(step__x=1)


def test_set_params_reaches_into_a_solvers_estimator():
    oracle = LogisticRegression(C=3.0)
    clf = plug_in(solver=ColumnGeneration(oracle=oracle))
    assert clf.get_params()["solver__oracle__C"] == 3.0
    assert clone(clf).set_params(solver__oracle__C=0.5).solver.oracle.C == 0.5
    assert oracle.C == 3.0  # solvers are values, and copies of a classifier share them
    both = {"solver__oracle__C": 0.5, "solver__oracle": LogisticRegression(max_iter=7)}
    found = clf.set_params(**both).solver.oracle
    assert (found.C, found.max_iter) == (0.5, 7)
