"""The catalogue: every solver of it runs, is copied and refused alike, and says what it takes."""

import pickle
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import setpoint
from setpoint import load_model, save_model
from setpoint.solvers import (
    FAMILIES,
    SOLVERS,
    EroAdam,
    Portfolio,
    SurrogateWeights,
    solver_of,
    solvers_of,
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
    assert report.solver == ("exact" if name == "auto" else name)
    assert report.family == SOLVERS[name].family


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_is_a_value(name):
    solver = SOLVERS[name]()
    assert solver == solver_of(name, solver.family)
    assert solver_of(solver, solver.family) is solver
    assert clone(solver) is solver
    assert pickle.loads(pickle.dumps(solver)) == solver
    assert repr(solver) == f"{type(solver).__name__}()"
    assert solver.does
    assert solver.takes
    assert set(solver.allowed) <= {f.name for f in fields(solver)}
    assert list(solver.get_params()) == [f.name for f in fields(solver)]
    for other in set(FAMILIES) - {solver.family}:
        with pytest.raises(
            ValueError, match=f"got '{name}', which {FAMILIES[solver.family]} takes"
        ):
            solver_of(name, other)
    with pytest.raises(ValueError, match=rf"{type(solver).__name__} takes .*, got 'strange'"):
        solver.with_params(strange=1)


def test_the_page_of_families_has_the_catalogue():
    page = Path(__file__).parents[2] / "docs" / "families.md"
    for name, solver in SOLVERS.items():
        own, limits = solver().get_params(), solver.limits
        parameters, limits = (", ".join(f"`{x}`" for x in given) for given in (own, limits))
        line = (
            f'| `"{name}"` | `{FAMILIES[solver.family]}` | {solver.does} | {solver.takes} | '
            f"{parameters or 'none'} | {limits} |"
        )
        assert line in page.read_text(encoding="utf-8").splitlines()


def test_no_name_is_in_two_families():
    names = [name for family in FAMILIES for name in solvers_of(family)]
    assert sorted(names) == sorted(SOLVERS)


@pytest.mark.parametrize("given", ["ero-adm", 3, None, EroAdam])
def test_what_is_not_a_solver_is_refused(given):
    with pytest.raises(ValueError, match=r"solver is one of .*'portfolio', 'ero', .* got"):
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
