"""Pictures: what they hold, what they draw, and in which inks."""

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
from sklearn.linear_model import LogisticRegression

from setpoint import PlugInClassifier, evaluate, solve
from setpoint.report import (
    Entry,
    GoalReport,
    GroupRow,
    plot_convergence,
    plot_deferral,
    plot_frontier,
    plot_groups,
    plot_objective,
    plot_operating,
)
from setpoint.report.displays import style
from setpoint.search import Frontier
from thinning import thinned

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

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
    one, two = GOAL.partition(" and ")[0], GOAL
    plain, draws = solve(one, s, y).report, solve(one, s, y, randomized=True).report
    yield lambda ax: plot_operating(plain, ax=ax)
    yield lambda ax: plot_operating(draws, kind="roc", ax=ax)
    groups = solve(two, s, y, sensitive_features=sex).report
    yield lambda ax: plot_operating(groups, ax=ax)
    yield lambda ax: plot_operating(groups, kind="roc", ax=ax)
    alone = solve(two, s, y, sensitive_features=sex, decide_on=None).report
    yield lambda ax: plot_operating(alone, ax=ax)
    yield lambda ax: plot_frontier(frontier(asked=0.95), ax=ax)
    some = frontier("points", "<=", (np.nan, 0.7, 0.4), gaps=np.full(3, 0.05))
    yield lambda ax: plot_frontier(some, ax=ax)
    decided = evaluate(two, y, (s > 0.5).astype(int), sensitive_features=sex)
    yield lambda ax: plot_groups(decided, ax=ax)
    yield lambda ax: plot_convergence(TRACE, "f1", ax=ax)
    yield lambda ax: plot_objective(plain, deployed=(0.3, 0.4), ax=ax)
    asked = "minimize deferral_rate subject to error_rate.decided <= 0.1"
    report = solve(asked, s, y, sensitive_features=sex, decide_on=["sex"]).report
    yield lambda ax: plot_deferral(report, ax=ax)


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
    display = plot_operating(solve(goal, s, labels, **more).report)
    display.figure_.canvas.draw()
    plt.close(display.figure_)
    display = plot_groups(evaluate(goal, labels, labels, **more))
    display.figure_.canvas.draw()


def test_without_matplotlib(rows, monkeypatch):
    for name in [*(m for m in sys.modules if m.startswith("matplotlib")), "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    y, s, _ = rows
    report = solve("f1", s, y).report
    for draw in (
        lambda: plot_frontier(frontier()),
        lambda: plot_convergence(TRACE),
        lambda: plot_operating(report),
        lambda: plot_groups([GroupRow((("g", 1),), "recall", 1.0, 0, 1, 9)], "f1"),
    ):
        with pytest.raises(ImportError, match=r"pip install 'setpoint\[report\]'"):
            draw()


def test_axes_are_axes():
    with pytest.raises(TypeError, match="`ax` is matplotlib axes or a figure, got int"):
        plot_frontier(frontier(), ax=3)


# -- reports -------------------------------------------------------------
@pytest.fixture(scope="module")
def fitted():
    X, y = load_breast_cancer(return_X_y=True)
    X, group = X[:, :3], np.where(X[:, 9] > np.median(X[:, 9]), "a", "b")
    model = LogisticRegression(max_iter=5000).fit(X[::2], y[::2])
    goal = "maximize recall subject to precision >= 0.9 and recall.difference('g') <= 0.2"
    clf = PlugInClassifier(model, goal, cv="prefit")
    return clf.fit(X, y, sensitive_features={"g": group}), X, y, {"g": group}


def svg(figure):
    out = StringIO()
    with mpl.rc_context({"svg.hashsalt": "x"}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def test_a_report_is_its_numbers_and_its_goal(fitted):
    clf, X, y, group = fitted
    report = clf.evaluate(X, y, sensitive_features=group)
    points = report.section("operating").points
    a, b = plot_operating(report, ax=Figure()), plot_operating(points, report.goal, ax=Figure())
    assert svg(a.figure_) == svg(b.figure_)
    rows = [g for g in report.groups if g.compared]
    a = plot_groups(report, ax=Figure())
    b = plot_groups(rows, report.goal, report.level, ax=Figure())
    assert svg(a.figure_) == svg(b.figure_)


def test_reports_without_numbers():
    report = GoalReport("maximize recall", Entry("recall", 0.8))
    for plot, words in (
        (plot_operating, "no operating points"),
        (plot_frontier, "no frontier"),
        (plot_groups, r"recall.difference\('sex'\)"),
        (plot_convergence, "exact solvers of two classes have none"),
    ):
        with pytest.raises(ValueError, match=words):
            plot(report)


# -- convergence ------------------------------------------------------------------------
def test_convergence_holds_the_trace():
    i = np.arange(3000)
    P = np.full((3000, 3), 0.2)
    P[i, np.where(i % 7, i % 3, 0)] = 0.6
    goal = "maximize g_mean subject to predicted_rate(label=0) <= 0.3"
    solution = solve(goal, P, i % 3, evidence="soft")
    display = plot_convergence(solution.report, ax=Figure())
    same = plot_convergence(solution.trace, solution.report.goal, ax=Figure())
    assert display.ax_.get_lines()[0].get_xdata().tolist() == [t.call for t in solution.trace]
    assert svg(display.figure_) == svg(same.figure_)
    assert display.ax_.get_ylabel() == "G-mean"


def test_convergence_panels():
    display = plot_convergence(TRACE, "maximize f1", ax=Figure())
    assert list(display.axes_) == display.figure_.axes
    assert display.axes_[1].get_shared_x_axes().joined(*display.figure_.axes)
    drawn = display.ax_.get_lines()[1].get_ydata()
    np.testing.assert_array_equal(drawn, [np.nan, 0.8, 0.7, 0.66])
    met = plot_convergence([(*t[:3], 0.0) for t in TRACE], ax=Figure())
    assert len(met.axes_) == len(met.figure_.axes) == 1
    inside = plot_convergence(TRACE, ax=Figure().add_subplot())
    assert inside.axes_[1].yaxis.get_label_position() == "right"


def test_what_is_passed_is_not_a_bound():
    trace = [(1, 0.5, 0.3, 0.0), (2, 0.5, 0.8, 0.0), (3, 0.9, 0.8, 0.2)]
    display = plot_convergence(trace, "f1", ax=Figure())
    drawn = display.ax_.get_lines()[1].get_ydata()
    np.testing.assert_array_equal(drawn, [np.nan, 0.8, 0.8])


def test_convergence_errors():
    with pytest.raises(ValueError, match="there is no trace"):
        plot_convergence([])
    with pytest.raises(ValueError, match="records"):
        plot_convergence([(1, 2)])


def test_convergence_of_an_exact_solver(fitted):
    with pytest.raises(ValueError, match="exact solvers"):
        plot_convergence(fitted[0].goal_report_)


@pytest.mark.parametrize(
    "plot",
    [plot_operating, plot_objective, plot_deferral, plot_frontier, plot_groups, plot_convergence],
)
def test_a_classifier_is_not_a_report(plot):
    with pytest.raises(TypeError, match=r"clf.evaluate\(X, y\) returns.*got LogisticRegression"):
        plot(LogisticRegression())
