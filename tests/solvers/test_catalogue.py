"""The catalogue: every solver of it runs, is copied and refused alike, and says what it takes."""

import pickle
import re
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.utils import get_tags

import setpoint
from setpoint import BlackBox, load_model, save_model
from setpoint.parameters import allowed_of
from setpoint.solvers import (
    FAMILIES,
    MEASURING,
    SOLVERS,
    WITHOUT_FORMULA,
    EroAdam,
    Portfolio,
    SurrogateWeights,
    solver_of,
    solvers_of,
    takes,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = (X[:, 0] + RNG.normal(size=200) > 0.3).astype(int)

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")


def classifier(name):
    """A classifier of the solver's family that asks for it by name."""
    family = SOLVERS[name].family
    made = getattr(setpoint, FAMILIES[family])
    if family == "plugin":
        return made(LogisticRegression(), "accuracy", solver=name)
    return made("accuracy", solver=name)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.filterwarnings("ignore::setpoint.NotMonotoneWarning")
def test_every_solver_runs_and_is_named_in_the_report(name):
    clf = classifier(name)
    if SOLVERS[name].family == "surrogates":
        clf.set_params(limits__evaluations=100, cv=2)
    report = clf.fit(X, Y).goal_report_
    assert report.search.solver == ("exact" if name == "auto" else name)
    assert report.search.family == SOLVERS[name].family


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_is_a_value(name):
    solver = SOLVERS[name]()
    assert solver == solver_of(name, solver.family)
    assert solver_of(solver, solver.family) is solver
    assert clone(solver) is solver
    assert pickle.loads(pickle.dumps(solver)) == solver
    assert repr(solver) == f"{type(solver).__name__}()"
    assert solver.does
    assert f">>> {FAMILIES[solver.family]}(" in type(solver).__doc__
    assert solver.takes
    assert set(allowed_of(type(solver))) <= {f.name for f in fields(solver)}
    assert list(solver.get_params()) == [f.name for f in fields(solver)]
    for other in set(FAMILIES) - {solver.family}:
        with pytest.raises(
            ValueError, match=f"got '{name}', which {FAMILIES[solver.family]} takes"
        ):
            solver_of(name, other)
    with pytest.raises(ValueError, match=rf"{type(solver).__name__} takes .*, got 'strange'"):
        solver.with_params(strange=1)


def test_no_name_is_in_two_families():
    names = [name for family in FAMILIES for name in solvers_of(family)]
    assert sorted(names) == sorted(SOLVERS)


def test_a_name_and_a_value_are_the_same_to_scikit_learn():
    for solver in ("post-shift", SOLVERS["post-shift"](smooth=7)):
        tags = get_tags(classifier("post-shift").set_params(solver=solver))
        assert not tags.classifier_tags.multi_class
    assert get_tags(classifier("auto")).classifier_tags.multi_class


@pytest.mark.parametrize("classifier", [*FAMILIES.values(), "OnlineFClassifier"])
def test_a_constructor_has_at_most_18_parameters(classifier):
    assert len(getattr(setpoint, classifier)._get_param_names()) <= 18


def test_messages_say_what_the_catalogue_says():
    assert takes("gda") == f"'gda' takes {SOLVERS['gda'].takes}"
    with pytest.raises(setpoint.GoalError, match=re.escape(takes("post-shift", asked=True))):
        classifier("post-shift").set_params(goal="maximize recall s.t. precision >= 0.1").fit(X, Y)
    with pytest.raises(setpoint.GoalError, match=re.escape(takes("cutting-plane", asked=True))):
        classifier("cutting-plane").set_params(goal="f1").fit(X, Y)
    with pytest.raises(setpoint.GoalError, match=re.escape(SOLVERS["ero"].takes)):
        classifier("ero").set_params(goal="minimize recall").fit(X, Y)
    metric = BlackBox(f1_score)
    for name in SOLVERS:
        other = classifier(name).set_params(goal=metric)
        if name not in MEASURING:
            with pytest.raises(ValueError, match=re.escape(WITHOUT_FORMULA)):
                other.fit(X, Y)
    for name in MEASURING:
        assert repr(name) in WITHOUT_FORMULA


@pytest.mark.parametrize("given", ["ero-adm", 3, None, EroAdam])
def test_what_is_not_a_solver_is_refused(given):
    with pytest.raises(ValueError, match=r"`solver` is one of .*'portfolio', 'ero', .* got"):
        solver_of(given, "penalty")


def test_a_solver_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        EroAdam().reformulation = "equality"
    with pytest.raises(TypeError, match="unexpected keyword argument 'gradient'"):
        SurrogateWeights(gradient="two-step")


def test_model_files_hold_solvers(tmp_path):
    solver = Portfolio(members=(EroAdam(reformulation="equality"),), polish=False)
    clf = setpoint.ExactPenaltyClassifier("accuracy", solver=solver).fit(X, Y)
    save_model(clf, tmp_path / "a.skops")
    assert load_model(tmp_path / "a.skops").solver == solver
