"""Displays: what they hold, what they draw, and in which inks."""

import re
import sys
from io import StringIO

import matplotlib as mpl

mpl.use("agg")

from itertools import product

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from setpoint import Goal, PlugInClassifier, solve
from setpoint.report import (
    ConvergenceDisplay,
    DeferralDisplay,
    Entry,
    FrontierDisplay,
    GoalReport,
    GroupRatesDisplay,
    GroupRow,
    ObjectiveCurveDisplay,
    OperatingPointDisplay,
)
from setpoint.report.displays import style
from setpoint.search import Frontier
from thinning import thinned

INKS = {
    style.INK, style.PAPER, style.MUTED, style.GRID, style.BLUE, style.ORANGE, style.GREEN,
    style.RED,
}  # fmt: skip
GOAL = "maximize recall subject to precision >= 0.7 and recall.difference('sex') <= 0.1"
TRACE = [(1, 0.5, np.inf, 0.1), (2, 0.55, 0.8, 1e-4), (3, 0.6, 0.7, 0.0), (4, 0.65, 0.66, 0.0)]


@pytest.fixture(autouse=True)
def closed():
    """Whoever makes a figure closes it, and nobody makes two."""
    assert not plt.get_fignums()
    yield
    assert len(plt.get_fignums()) <= 1
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.35).astype(int)
    return y, np.round(rng.normal(size=300) + 1.3 * y, 2), np.where(rng.random(300) < 0.4, "f", "m")


def frontier(kind="steps", relation=">=", values=(0.9, 0.7, 0.4), asked=0.6, **more):
    goal = f"maximize recall subject to precision {relation} {asked}"
    bounds = np.array([0.2, 0.5, 0.8])
    return Frontier(
        goal, goal[27:], "recall", "precision", relation, asked, bounds,
        np.array(values, float), bounds, kind, **more,
    )  # fmt: skip


def pictures(rows):
    y, s, sex = rows
    sex = {"sex": sex}
    operating = OperatingPointDisplay.from_predictions
    one, two = GOAL.partition(" and ")[0], GOAL
    yield lambda ax: operating(one, y, s, ax=ax)
    yield lambda ax: operating(one, y, s, randomized=True, kind="roc", ax=ax)
    yield lambda ax: operating(two, y, s, sensitive_features=sex, ax=ax)
    yield lambda ax: operating(two, y, s, sensitive_features=sex, kind="roc", ax=ax)
    yield lambda ax: operating(two, y, s, sensitive_features=sex, decide_on=None, ax=ax)
    yield FrontierDisplay(frontier(asked=0.95)).plot
    yield FrontierDisplay(frontier("points", "<=", (np.nan, 0.7, 0.4), gaps=np.full(3, 0.05))).plot
    yield lambda ax: GroupRatesDisplay.from_predictions(
        two, y, (s > 0.5).astype(int), sensitive_features=sex, ax=ax
    )
    yield ConvergenceDisplay(TRACE, "f1").plot
    points = operating(one, y, s, ax=Figure()).points
    yield ObjectiveCurveDisplay(points, one, deployed=(0.3, 0.4)).plot
    asked = "minimize deferral_rate subject to error_rate.decided <= 0.1"
    report = solve(asked, s, y, sensitive_features=sex, decide_on=["sex"]).report
    yield lambda ax: DeferralDisplay.from_report(report, ax=ax)


PLACES = ["new", "figure", "axes", "roomy"]


@pytest.mark.parametrize(("i", "place"), thinned(list(product(range(11), PLACES)), 3))
def test_inks_and_places(rows, i, place):
    plot = list(pictures(rows))[i]
    given = {
        "new": lambda: None,
        "figure": Figure,
        "axes": lambda: Figure().add_subplot(),
        "roomy": lambda: Figure(layout="constrained").add_subplot(),
    }[place]()
    display = plot(given)
    assert (place == "new") == bool(plt.get_fignums())
    figure = given.figure if place in ("axes", "roomy") else given or plt.gcf()
    assert display.figure_ is figure
    assert display.ax_ in figure.axes
    if place in ("axes", "roomy"):
        assert display.ax_ is given
    out = StringIO()
    figure.savefig(out, format="svg", transparent=True)
    found = set(re.findall(r"#[0-9a-f]{6}\b(?=[;\"])", out.getvalue()))
    assert {style.INK, style.GRID} <= found <= INKS
    assert "stroke: black" not in out.getvalue()


def test_a_figure_that_is_not_empty_is_refused(rows):
    figure = Figure()
    figure.add_subplot()
    with pytest.raises(ValueError, match="has axes already"):
        next(iter(pictures(rows)))(figure)


def test_dollars_are_not_mathematics(rows):
    y, s, sex = rows
    labels = np.array(["$^no$", "$_yes$"])[y]
    goal = "maximize recall subject to recall.min('$a_$') >= 0.1 and precision >= 0.6"
    groups = {"$a_$": np.char.add("$_", np.char.add(sex, "$"))}
    more = {"sensitive_features": groups, "pos_label": "$_yes$"}
    display = OperatingPointDisplay.from_predictions(goal, labels, s, **more)
    display.figure_.canvas.draw()
    plt.close(display.figure_)
    display = GroupRatesDisplay.from_predictions(goal, labels, labels, **more)
    display.figure_.canvas.draw()


def test_without_matplotlib(rows, monkeypatch):
    for name in [*(m for m in sys.modules if m.startswith("matplotlib")), "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    y, s, _ = rows
    for draw in (
        FrontierDisplay(frontier()).plot,
        ConvergenceDisplay(TRACE).plot,
        lambda: OperatingPointDisplay.from_predictions("f1", y, s),
        lambda: GroupRatesDisplay([GroupRow((("g", 1),), "recall", 1.0, 0, 1, 9)], "f1").plot(),
    ):
        with pytest.raises(ImportError, match=r"pip install 'setpoint\[report\]'"):
            draw()


def test_axes_are_axes():
    with pytest.raises(TypeError, match="`ax` is matplotlib axes or a figure, got int"):
        FrontierDisplay(frontier()).plot(3)


# -- estimators and reports -------------------------------------------------------------
@pytest.fixture(scope="module")
def fitted():
    X, y = load_breast_cancer(return_X_y=True)
    X, group = X[:, :3], np.where(X[:, 9] > np.median(X[:, 9]), "a", "b")
    model = LogisticRegression(max_iter=5000).fit(X[::2], y[::2])
    goal = "maximize recall subject to precision >= 0.9 and recall.difference('g') <= 0.2"
    clf = PlugInClassifier(model, goal, cv="prefit")
    return clf.fit(X, y, sensitive_features={"g": group}), X, y, {"g": group}


def test_from_estimator_and_from_report(fitted):
    clf, X, y, group = fitted
    report = clf.evaluate(X, y, sensitive_features=group)
    here = Figure().add_subplot()
    a = OperatingPointDisplay.from_estimator(clf, X, y, sensitive_features=group, ax=here)
    b = OperatingPointDisplay.from_report(report, ax=Figure())
    assert a.points == b.points == report.section("operating").points
    assert a.goal == b.goal == Goal.parse(report.goal)
    a = GroupRatesDisplay.from_estimator(clf, X, y, sensitive_features=group, ax=Figure())
    b = GroupRatesDisplay.from_report(report, ax=Figure())
    assert a.rows == b.rows == tuple(g for g in report.groups if g.compared)
    assert a.level == report.level


def test_frontier_from_estimator():
    class Fitted:
        def _frontier(self, **given):
            self.given = given
            return frontier()

    clf = Fitted()
    display = FrontierDisplay.from_estimator(clf, [1], [0], vary="precision", ax=Figure())
    assert display.frontier == frontier()
    assert clf.given == {"vary": "precision", "values": None, "X": [1], "y": [0]}


def test_reports_without_numbers():
    report = GoalReport("maximize recall", Entry("recall", 0.8))
    for display, words in (
        (OperatingPointDisplay, "no operating points"),
        (FrontierDisplay, "no frontier"),
        (GroupRatesDisplay, r"recall.difference\('sex'\)"),
        (ConvergenceDisplay, "exact solvers of two classes have none"),
    ):
        with pytest.raises(ValueError, match=words):
            display.from_report(report)


# -- convergence ------------------------------------------------------------------------
def test_convergence_holds_the_trace():
    i = np.arange(3000)
    P = np.full((3000, 3), 0.2)
    P[i, np.where(i % 7, i % 3, 0)] = 0.6
    goal = "maximize g_mean subject to predicted_rate(label=0) <= 0.3"
    solution = solve(goal, P, i % 3, evidence="soft")
    display = ConvergenceDisplay.from_report(solution.report, ax=Figure())
    same = ConvergenceDisplay(solution.trace, solution.report.goal)
    assert display.calls.tolist() == [t.call for t in solution.trace]
    for name in ("calls", "objective", "bound", "violation"):
        np.testing.assert_array_equal(getattr(display, name), getattr(same, name))
    assert display.ax_.get_ylabel() == "G-mean"


def test_convergence_panels():
    display = ConvergenceDisplay(TRACE, "maximize f1").plot(Figure())
    assert np.isnan(display.bound[0])
    assert display.violation_ax_ is display.figure_.axes[1]
    assert display.violation_ax_.get_shared_x_axes().joined(*display.figure_.axes)
    drawn = display.ax_.get_lines()[1].get_ydata()
    np.testing.assert_array_equal(drawn, display.bound)
    met = ConvergenceDisplay([(*t[:3], 0.0) for t in TRACE]).plot(Figure())
    assert met.violation_ax_ is None
    assert len(met.figure_.axes) == 1
    inside = ConvergenceDisplay(TRACE).plot(Figure().add_subplot())
    assert inside.violation_ax_.yaxis.get_label_position() == "right"


def test_what_is_passed_is_not_a_bound():
    trace = [(1, 0.5, 0.3, 0.0), (2, 0.5, 0.8, 0.0), (3, 0.9, 0.8, 0.2)]
    display = ConvergenceDisplay(trace, "f1").plot(Figure())
    drawn = display.ax_.get_lines()[1].get_ydata()
    np.testing.assert_array_equal(drawn, [np.nan, 0.8, 0.8])


def test_convergence_errors():
    with pytest.raises(ValueError, match="there is no trace"):
        ConvergenceDisplay([])
    with pytest.raises(ValueError, match="records"):
        ConvergenceDisplay([(1, 2)])
    with pytest.raises(NotFittedError):
        ConvergenceDisplay.from_estimator(PlugInClassifier(LogisticRegression(), "f1"))


def test_convergence_of_an_exact_solver(fitted):
    with pytest.raises(ValueError, match="exact solvers"):
        ConvergenceDisplay.from_estimator(fitted[0])


@pytest.mark.parametrize("display", [FrontierDisplay, OperatingPointDisplay])
@pytest.mark.parametrize(
    ("clf", "error", "message"),
    [
        (LogisticRegression(), TypeError, "got a LogisticRegression; from_predictions takes"),
        (PlugInClassifier, TypeError, "got the class PlugInClassifier"),
        (PlugInClassifier(LogisticRegression(), "f1"), NotFittedError, "is not fitted yet"),
    ],
)
def test_pictures_of_what_is_not_a_fitted_classifier(display, clf, error, message):
    with pytest.raises(error, match=message):
        display.from_estimator(clf, [[0.0], [1.0]], [0, 1])
