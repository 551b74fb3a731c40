"""The catalogue: every solver runs, is a value, and says what it takes."""

import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.utils import get_tags

import setpoint
from setpoint import BlackBox, GoalError, SearchLimits
from setpoint.solvers import (
    FAMILIES,
    MEASURING,
    SOLVERS,
    WITHOUT_FORMULA,
    EroAdam,
    SurrogateWeights,
    solver_of,
    solvers_of,
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


@pytest.mark.parametrize("name", SOLVERS)
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
        with pytest.raises(ValueError, match=taken):
            solver_of(name, other)


@over("name", SOLVERS)
def test_a_solver_takes_its_limits_and_no_others(name):
    value = SOLVERS[name]()
    assert value.limited(None) == SearchLimits()
    assert "seconds" in value.limits
    for limit, given in EVERY_LIMIT.items():
        limits = SearchLimits(**{limit: given})
        if limit in value.limits:
            assert value.limited(limits) is limits
            continue
        said = rf"^`limits`: `solver='{name}'` takes {', '.join(value.limits)}, got {limit}="
        with pytest.raises(ValueError, match=said):
            value.limited(limits)


def test_no_name_is_in_two_families():
    assert sorted(name for family in FAMILIES for name in solvers_of(family)) == sorted(SOLVERS)


def test_a_name_and_a_value_are_the_same_to_scikit_learn():
    for solver in ("post-shift", SOLVERS["post-shift"](smooth=7)):
        tags = get_tags(classifier("post-shift").set_params(solver=solver))
        assert not tags.classifier_tags.multi_class
    assert get_tags(classifier("auto")).classifier_tags.multi_class


@over("name", [*FAMILIES.values(), "OnlineFClassifier"])
def test_a_constructor_has_at_most_18_parameters(name):
    assert len(getattr(setpoint, name)._get_param_names()) <= 18


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


@over("given", ["ero-adm", 3, None, EroAdam])
def test_what_is_not_a_solver_is_refused(given):
    with pytest.raises(ValueError, match=r"`solver` is one of .*'portfolio', 'ero', .* got"):
        solver_of(given, "penalty")


def test_a_solver_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        EroAdam().reformulation = "equality"
    with pytest.raises(TypeError, match="unexpected keyword argument 'gradient'"):
        SurrogateWeights(gradient="two-step")
