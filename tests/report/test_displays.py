"""Pictures: where they are drawn, what they refuse, and a search as it went."""

import sys

import matplotlib as mpl

mpl.use("agg")

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from report.pages import line, sample
from setpoint import evaluate, solve
from setpoint.report import (
    Entry,
    GoalReport,
    plot_convergence,
    plot_deferral,
    plot_frontier,
    plot_groups,
    plot_objective,
    plot_operating,
)
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

TRACE = [(1, 0.5, np.inf, 0.1), (2, 0.55, 0.8, 1e-4), (3, 0.6, 0.7, 0.0), (4, 0.65, 0.66, 0.0)]
GOAL = "maximize recall subject to precision >= 0.7 and recall.difference('$a_$') <= 0.1"


@pytest.fixture(autouse=True)
def closed():
    """Whoever makes a figure closes it, and nobody makes two."""
    assert not plt.get_fignums()
    yield
    assert len(plt.get_fignums()) <= 1
    plt.close("all")


@pytest.fixture(scope="module")
def pictures():
    """Each kind of picture, as a function of where to draw it."""
    s, y, g = sample(300)
    # Dollars are not mathematics.
    labels = np.array(["$^no$", "$_yes$"])
    groups = {"sensitive_features": {"$a_$": np.char.add("$_", g)}, "pos_label": "$_yes$"}
    fair = solve(GOAL, s, labels[y], **groups).report
    decided = evaluate(GOAL, labels[y], labels[(s > 0.5).astype(int)], **groups)
    plain = solve(GOAL.partition(" and ")[0], s, y).report
    defers = "minimize deferral_rate subject to error_rate.decided <= 0.2"
    return [
        lambda ax=None: plot_operating(fair, ax=ax),
        lambda ax=None: plot_operating(plain, kind="roc", ax=ax),
        lambda ax=None: plot_objective(plain, deployed=(0.3, 0.4), ax=ax),
        lambda ax=None: plot_frontier(line(), ax=ax),
        lambda ax=None: plot_groups(decided, ax=ax),
        lambda ax=None: plot_convergence(TRACE, "f1", ax=ax),
        lambda ax=None: plot_deferral(solve(defers, s, y).report, ax=ax),
    ]


@over(
    "place",
    [
        lambda: None,
        Figure,
        lambda: Figure().add_subplot(),
        lambda: Figure(layout="constrained").add_subplot(),
    ],
)
def test_a_picture_is_drawn_where_it_is_wanted(pictures, place):
    for plot in pictures:
        given = place()
        display = plot(given)
        assert bool(plt.get_fignums()) == (given is None)
        if given is None:
            assert display.figure_ is plt.gcf()
        elif isinstance(given, Figure):
            assert display.figure_ is given
        else:
            assert display.ax_ is given
        assert display.ax_ in display.figure_.axes
        display.figure_.canvas.draw()
        plt.close("all")


def test_what_is_not_drawn(pictures, monkeypatch):
    full = Figure()
    full.add_subplot()
    with pytest.raises(ValueError, match="has axes already"):
        pictures[0](full)
    with pytest.raises(TypeError, match="`ax` is matplotlib axes or a figure, got int"):
        plot_frontier(line(), ax=3)
    report = GoalReport("maximize recall", Entry("recall", 0.8))
    for plot, words in (
        (plot_operating, "no operating points"),
        (plot_objective, "one threshold for all rows"),
        (plot_deferral, "where the goal defers"),
        (plot_frontier, "no frontier"),
        (plot_groups, r"recall.difference\('sex'\)"),
        (plot_convergence, "exact solvers of two classes have none"),
    ):
        with pytest.raises(ValueError, match=words):
            plot(report)
        with pytest.raises(TypeError, match=r"evaluate\(X, y\) returns.*got LogisticRegression"):
            plot(LogisticRegression())
    with pytest.raises(ValueError, match="exact solvers"):
        plot_convergence(solve("f1", *sample(50)[:2]).report)
    with pytest.raises(ValueError, match="there is no trace"):
        plot_convergence([])
    with pytest.raises(ValueError, match="records"):
        plot_convergence([(1, 2)])
    for name in [*(m for m in sys.modules if m.startswith("matplotlib")), "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    for plot in pictures:
        with pytest.raises(ImportError, match=r"pip install 'setpoint\[report\]'"):
            plot()


# -- the search as it went --------------------------------------------------------------
def test_convergence_holds_the_trace():
    i = np.arange(3000)
    P = np.full((3000, 3), 0.2)
    P[i, np.where(i % 7, i % 3, 0)] = 0.6
    goal = "maximize g_mean subject to predicted_rate(label=0) <= 0.3"
    solution = solve(goal, P, i % 3, evidence="soft")
    for display in (
        plot_convergence(solution.report, ax=Figure()),
        plot_convergence(solution.trace, goal, ax=Figure()),
    ):
        first = display.ax_.get_lines()[0]
        assert first.get_xdata().tolist() == [t.call for t in solution.trace]
        assert first.get_ydata().tolist() == [t.objective for t in solution.trace]
        assert display.ax_.get_ylabel() == "G-mean"


def test_convergence_panels_and_bounds():
    display = plot_convergence(TRACE, "maximize f1", ax=Figure())
    assert list(display.axes_) == display.figure_.axes
    assert display.axes_[1].get_shared_x_axes().joined(*display.figure_.axes)
    drawn = display.ax_.get_lines()[1].get_ydata()
    np.testing.assert_array_equal(drawn, [np.nan, 0.8, 0.7, 0.66])
    met = plot_convergence([(*t[:3], 0.0) for t in TRACE], ax=Figure())
    assert len(met.axes_) == len(met.figure_.axes) == 1
    inside = plot_convergence(TRACE, ax=Figure().add_subplot())
    assert inside.axes_[1].yaxis.get_label_position() == "right"
    # What a rule within the constraints passes is no bound.
    trace = [(1, 0.5, 0.3, 0.0), (2, 0.5, 0.8, 0.0), (3, 0.9, 0.8, 0.2)]
    drawn = plot_convergence(trace, "f1", ax=Figure()).ax_.get_lines()[1].get_ydata()
    np.testing.assert_array_equal(drawn, [np.nan, 0.8, 0.8])
