"""Solvers, search limits and other options are values, open to a search."""

import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

import setpoint
from setpoint import (
    AdaptiveSurrogateClassifier,
    BlackBox,
    GoalError,
    PlugInClassifier,
    SearchLimits,
    solve,
)
from setpoint.solvers import (
    FAMILIES,
    MEASURING,
    SOLVERS,
    WITHOUT_FORMULA,
    AdaptiveSurrogates,
    ColumnGeneration,
    EroAdam,
    FirstModel,
    HoldOut,
    ModelResponse,
    solver_of,
    takes,
)
from thinning import over

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
Y = (X[:, 0] + RNG.normal(size=80) > 0.3).astype(int)
EVERY_LIMIT = {"tol": 0.01, "calls": 50, "seconds": 60.0, "evaluations": 70}
F1 = BlackBox(f1_score)

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")


def classifier(name, goal="accuracy", **options):
    """A classifier of the solver's family that asks for it by name."""
    family = SOLVERS[name].family
    model = [LogisticRegression()] if family == "plugin" else []
    return getattr(setpoint, FAMILIES[family])(*model, goal, solver=name, **options)


@over("name", SOLVERS, every=7)
@pytest.mark.filterwarnings("ignore::setpoint.NotMonotoneWarning")
def test_every_solver_runs_and_is_named_in_the_report(name):
    few = {"limits": SearchLimits(evaluations=100), "cv": 2}
    clf = classifier(name, **few if SOLVERS[name].family == "surrogates" else {})
    search = clf.fit(X, Y).goal_report_.search
    assert search.solver == ("exact" if name == "auto" else name)
    assert search.family == SOLVERS[name].family


@over("name", SOLVERS)
def test_every_solver_is_a_value(name):
    solver = SOLVERS[name]()
    assert solver == solver_of(name, solver.family)
    assert solver_of(solver, solver.family) is solver
    assert clone(solver) is solver
    assert pickle.loads(pickle.dumps(solver)) == solver
    assert repr(solver) == f"{type(solver).__name__}()"
    assert f">>> {FAMILIES[solver.family]}(" in type(solver).__doc__
    assert solver.does
    assert takes(name) == f"'{name}' takes {solver.takes}"
    assert list(solver.get_params()) == [f.name for f in fields(solver)]
    with pytest.raises(ValueError, match=rf"{type(solver).__name__} takes .*, got 'strange'"):
        solver.with_params(strange=1)
    for other in set(FAMILIES) - {solver.family}:
        taken = f"got '{name}', which {FAMILIES[solver.family]} takes"
        with pytest.raises(ValueError, match=taken):  # no name is in two families
            solver_of(name, other)


@over("name", SOLVERS)
@over(("limit", "given"), EVERY_LIMIT.items())
def test_a_solver_takes_its_limits_and_no_others(name, limit, given):
    value, limits = SOLVERS[name](), SearchLimits(**{limit: given})
    assert value.limited(None) == SearchLimits()
    if limit in {"seconds", *value.limits}:
        assert value.limited(limits) is limits
        return
    said = rf"^`limits`: `solver='{name}'` takes {', '.join(value.limits)}, got {limit}="
    with pytest.raises(ValueError, match=said):
        value.limited(limits)


@over(
    ("name", "goal"),
    [
        ("post-shift", "maximize recall s.t. precision >= 0.1"),
        ("cutting-plane", "f1"),
        ("ero", "minimize recall"),
        *((name, F1) for name in SOLVERS if name not in MEASURING),
    ],
)
def test_messages_say_what_the_catalogue_says(name, goal):
    error = ValueError if goal is F1 else GoalError
    with pytest.raises(error) as caught:
        classifier(name, goal).fit(X, Y)
    said = {"ero": SOLVERS[name].takes}.get(name, takes(name, asked=True))
    assert (WITHOUT_FORMULA if goal is F1 else said) in str(caught.value)
    assert all(repr(other) in WITHOUT_FORMULA for other in MEASURING)


def test_values_do_not_change():
    with pytest.raises(FrozenInstanceError):
        EroAdam().reformulation = "equality"
    limits = SearchLimits(seconds=60, tol=0.1)
    assert repr(limits) == "SearchLimits(tol=0.1, seconds=60)"
    assert clone(limits) is limits


def plug_in(**options):
    return PlugInClassifier(LogisticRegression(), "accuracy", **options)


@over(
    ("name", "words", "value"),
    [
        ("tol", "a number >= 0", np.nan),
        ("calls", "a whole number >= 1", 2.5),
        ("seconds", "a number above 0", 0),
        ("evaluations", "a whole number >= 1", True),
    ],
)
def test_numbers_out_of_range(name, words, value):
    with pytest.raises(ValueError, match=f"^`{name}` is {words} or None, got {value!r}$"):
        SearchLimits(**{name: value})


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
        ({}, {"cv__cv": 0.3, "cv": HoldOut(0.2)}, "cv", HoldOut(0.3)),
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


@over(
    ("start", "given", "message"),
    [
        (
            {"limits": 5.0},
            {"limits__seconds": 5},
            r"^`limits` is SearchLimits\(\.\.\.\) or None, got ",
        ),
        ({}, {"limits__minutes": 5}, r"^SearchLimits takes tol, .*, got 'minutes'$"),
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
    trained = AdaptiveSurrogateClassifier("f1").set_params(training__C=0.1)
    assert trained.training == FirstModel(C=0.1)
    assert oracle.C == 3.0  # solvers are values, and copies of a classifier share them
    both = {"solver__oracle__C": 0.5, "solver__oracle": LogisticRegression(max_iter=7)}
    found = clf.set_params(**both).solver.oracle
    assert (found.C, found.max_iter) == (0.5, 7)
