"""Pictures of searches, of rules that defer, of frontiers and of groups; and what they refuse."""

import sys
from dataclasses import replace

import matplotlib as mpl

mpl.use("agg")

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from report.page_reading import checked, page_text
from report.pages import floor, line, sample
from setpoint import Frontier, PlugInClassifier, evaluate, solve
from setpoint.report import (
    DeferralPoints,
    Entry,
    GoalReport,
    GroupRow,
    plain,
    plot_convergence,
    plot_deferral,
    plot_frontier,
    plot_groups,
    plot_objective,
    plot_operating,
    read,
)
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

TRACE = [(1, 0.5, np.inf, 0.1), (2, 0.55, 0.8, 1e-4), (3, 0.6, 0.7, 0.0), (4, 0.65, 0.66, 0.0)]
DEFERS = "minimize deferral_rate subject to error_rate.decided <= 0.1"
GOAL = "maximize recall subject to precision >= 0.7 and recall.difference('$a_$') <= 0.1"


@pytest.fixture(autouse=True)
def closed():
    """Whoever makes a figure closes it, and nobody makes two."""
    plt.close("all")  # examples in docstrings leave theirs open
    yield
    assert len(plt.get_fignums()) <= 1
    plt.close("all")


@pytest.fixture(scope="module")
def pictures():
    """Each kind of picture, as a function of where to draw it."""
    s, y, g = sample(150)
    # Dollars are not mathematics.
    labels = np.array(["$^no$", "$_yes$"])
    groups = {"sensitive_features": {"$a_$": np.char.add("$_", g)}, "pos_label": "$_yes$"}
    fair = solve(GOAL, s, labels[y], **groups).report
    decided = evaluate(GOAL, labels[y], labels[(s > 0.5).astype(int)], **groups)
    plain = solve(GOAL.partition(" and ")[0], s, y).report
    return [
        lambda ax=None: plot_operating(fair, ax=ax),
        lambda ax=None: plot_operating(plain, kind="roc", ax=ax),
        lambda ax=None: plot_objective(plain, deployed=(0.3, 0.4), ax=ax),
        lambda ax=None: plot_frontier(floor(), ax=ax),
        lambda ax=None: plot_groups(decided, ax=ax),
        lambda ax=None: plot_convergence(TRACE, "f1", ax=ax),
        lambda ax=None: plot_deferral(solve(DEFERS, s, y).report, ax=ax),
    ]


def test_a_picture_is_drawn_where_it_is_wanted(pictures):
    for i, plot in enumerate(pictures):
        whole = Figure(layout="constrained")
        for given in (None, Figure(), whole.add_subplot()):
            display = plot(given)
            assert bool(plt.get_fignums()) == (given is None)
            if given is None:
                assert display.figure_ is plt.gcf()
            else:
                assert given in (display.figure_, display.ax_)
            assert display.ax_ in display.figure_.axes
            if given is None or i == 0:
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
    for trace, words in (([], "there is no trace"), ([(1, 2)], "records")):
        with pytest.raises(ValueError, match=words):
            plot_convergence(trace)
    for name in [*(m for m in sys.modules if m.startswith("matplotlib")), "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    for plot in pictures:
        with pytest.raises(ImportError, match=r"pip install 'setpoint\[report\]'"):
            plot()


def test_convergence_bounds():
    display = plot_convergence(TRACE, "maximize f1", ax=Figure())
    assert list(display.axes_) == display.figure_.axes
    drawn = display.ax_.get_lines()[1].get_ydata()
    np.testing.assert_array_equal(drawn, [np.nan, 0.8, 0.7, 0.66])
    met = plot_convergence([(*t[:3], 0.0) for t in TRACE], ax=Figure())
    assert len(met.axes_) == len(met.figure_.axes) == 1
    # What a rule within the constraints passes is not a bound.
    trace = [(1, 0.5, 0.3, 0.0), (2, 0.5, 0.8, 0.0), (3, 0.9, 0.8, 0.2)]
    drawn = plot_convergence(trace, "f1", ax=Figure().add_subplot()).ax_.get_lines()[1].get_ydata()
    np.testing.assert_array_equal(drawn, [np.nan, 0.8, 0.8])


def rows(n=120):
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.4).astype(int)
    g = rng.choice(["a", "b"], n)
    return np.round(rng.normal(size=n) + 1.3 * y, 1), y, g


def least_errors(s, y, w):
    """Share decided and error of every pair of cut-offs, by counting."""
    cuts = [-np.inf, *(np.unique(s) + 0.01), np.inf]
    out = []
    for k, low in enumerate(cuts):
        for high in cuts[k:]:
            decided = (s < low) | (s >= high)
            if decided.any():
                wrong = decided & ((s >= high) != (y == 1))
                out.append((w[decided].sum() / w.sum(), w[wrong].sum() / w[decided].sum()))
    return np.array(out)


@over("weighted", [False, True])
def test_the_least_error_of_all_pairs(weighted):
    s, y, _ = rows(80)
    w = np.random.default_rng(1).exponential(size=len(y)) if weighted else np.ones(len(y))
    solution = solve(DEFERS, s, y, sample_weight=w if weighted else None)
    points = solution.report.section("deferral").points
    (curve,) = points.curves
    assert points.by == "cut-offs"
    every = least_errors(s, y, w)
    for share, error in zip(curve.decided, curve.error, strict=True):
        best = every[every[:, 0] >= share - 1e-12, 1].min()
        assert error == pytest.approx(best, abs=1e-12)
    assert curve.decided[-1] == pytest.approx(1.0)
    assert (np.diff(curve.decided) > 0).all()
    assert (np.diff(curve.error) > 0).all()
    answers = np.asarray(solution.rule.distribution(s, None)).argmax(axis=1)
    decided = answers < 2
    share = w[decided].sum() / w.sum()
    error = w[decided & (answers != y)].sum() / w[decided].sum()
    assert (points.decided, points.error) == pytest.approx((share, error))
    assert curve.chosen == pytest.approx((share, error))


def test_more_classes_by_the_largest_posterior():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=100)
    X = rng.normal(size=(100, 3)) + 1.2 * np.eye(3)[y]
    clf = PlugInClassifier(LogisticRegression(), DEFERS, cv=2).fit(X, y)
    points = clf.evaluate(X, y).section("deferral").points
    (curve,) = points.curves
    assert points.by == "posterior"
    p = clf.predict_proba(X)
    top, right = p.max(axis=1), p.argmax(axis=1) == y
    for share, error in zip(curve.decided, curve.error, strict=True):
        taken = top >= np.sort(top)[::-1][round(share * 100) - 1]
        assert taken.mean() == pytest.approx(share)
        assert error == pytest.approx(1 - right[taken].mean())
    assert points.decided == pytest.approx((clf.predict(X) != "defer").mean())


def test_what_is_drawn_of_it_on_the_page_and_after_json():
    s, y, _ = rows()
    report = solve(DEFERS, s, y).report
    points = report.section("deferral").points
    assert read(DeferralPoints, plain(points)) == points
    assert "Errors by share decided" in checked(page_text(report))
    ax = plot_deferral(report, ax=Figure()).ax_
    np.testing.assert_array_equal(ax.get_lines()[0].get_xdata()[1:], points.curves[0].decided)
    (dot,) = labelled(ax, "the rule")
    assert dot.get_offsets()[0].tolist() == [points.decided, points.error]
    nobody = replace(points, decided=0.0, error=None)
    texts = plot_deferral(nobody, DEFERS, ax=Figure()).ax_.texts
    assert "decides no row" in " ".join(texts[-1].get_text().split())


def test_groups_have_lines_and_points_of_their_own():
    s, y, g = rows(200)
    goal = (
        "minimize deferral_rate subject to accuracy.decided >= 0.85 and deferral_rate <= 0.9 "
        "and deferral_rate.difference(g) <= 0.2"
    )
    report = solve(goal, s, y, sensitive_features={"g": g}, decide_on=["g"]).report
    points = report.section("deferral").points
    assert [c.name for c in points.curves] == ["g = a", "g = b"]
    shares = [c.chosen[0] for c in points.curves]
    assert np.dot(shares, [(g == v).mean() for v in "ab"]) == pytest.approx(points.decided)
    ax = plot_deferral(report, ax=Figure()).ax_
    wrong, share = (x.get_xydata() for x in ax.get_lines() if len(x.get_xydata()) == 2)
    assert (wrong[0, 1], share[0, 0]) == pytest.approx((0.15, 0.1))


def frontier(kind="steps", relation=">=", values=(0.9, 0.7, 0.4), asked=0.6, **more):
    goal = f"maximize recall subject to precision {relation} {asked}"
    bounds = np.array([0.2, 0.5, 0.8])
    return Frontier(
        goal, goal[27:], "recall", "precision", relation, asked, bounds,
        np.array(values, float), bounds, kind, **more,
    )  # fmt: skip


def drawn(*given, **more):
    return plot_frontier(frontier(*given, **more), ax=Figure())


def labelled(ax, label):
    return [c for c in ax.collections if c.get_label() == label]


def rule_of(display):
    """Where the rule is marked."""
    return [dot for c in labelled(display.ax_, "the rule") for dot in c.get_offsets().tolist()]


def heights(line, at):
    """The height of a drawn line at some places."""
    x, y = (np.asarray(a, float) for a in line.get_data())
    way = line.get_drawstyle()
    if way == "default":
        return np.interp(at, x, y)
    i = np.searchsorted(x, at, side="left" if way == "steps-pre" else "right")
    return y[np.clip(i - (way == "steps-post"), 0, len(y) - 1)]


@over("kind", ["steps", "lines"])
def test_the_line_is_the_frontier(kind):
    for relation, values in ((">=", (0.9, 0.7, 0.4)), ("<=", (0.4, 0.7, 0.9))):
        display = drawn(kind, relation, values)
        at = np.linspace(*display.ax_.get_xlim(), 400)
        want = frontier(kind, relation, values).at(at)
        known = ~np.isnan(want)
        assert not known[at > 0.8 + 1e-6 if relation == ">=" else at < 0.2 - 1e-6].any()
        line = display.ax_.get_lines()[0]
        np.testing.assert_allclose(heights(line, at[known]), want[known], atol=1e-9)
    assert rule_of(drawn(kind)) == [[0.6, 0.4 if kind == "steps" else pytest.approx(0.6)]]
    assert rule_of(drawn(kind, asked=0.9)) == []


@over(
    ("values", "gaps", "said"),
    [
        ((0.9, 0.7, np.nan), [0, 0, np.inf], "no rule found"),
        ((0.9, 0.7, np.nan), [0, 0, 0], "no rule meets it"),
        ((0.9, 0.7, 0.4), [np.inf] * 3, "Better rules may exist"),
        ((0.9, 0.7, 0.4), [0.05] * 3, "No rule is better by more than 5 %"),
    ],
)
def test_points_say_only_what_is_known(values, gaps, said):
    display = drawn("points", values=values, asked=0.3, gaps=np.array(gaps, float))
    assert rule_of(display) == []
    words = " ".join(t.get_text() for t in display.ax_.texts)
    assert said in words
    assert words.count("no rule ") == said.count("no rule ")
    known = [[b, v] for b, v in zip((0.2, 0.5, 0.8), values, strict=True) if v == v]
    assert display.ax_.get_lines()[0].get_xydata().tolist() == known


def test_what_is_not_ruled_out_is_shaded():
    found = frontier("steps", gaps=np.array([0.0, 0.0, 0.2]))
    for goal, low, high in ((found.goal, 0.4, 0.6), ("minimize error_rate", 0.2, 0.4)):
        ax = plot_frontier(replace(found, goal=goal), ax=Figure()).ax_
        (band,) = (p.vertices for c in labelled(ax, "not ruled out") for p in c.get_paths())
        assert band.min(axis=0) == pytest.approx([0.5, low])
        assert band.max(axis=0) == pytest.approx([0.8, high])


def row(name, value, column="g", metric="recall", n=20):
    low, high = (None, None) if value is None else (max(value - 0.1, 0), min(value + 0.1, 1))
    return GroupRow(((column, name),), metric, value, low, high, 0 if value is None else n)


ROWS = [row("a", 0.5), row("b", 0.9), row("c", 0.85), row("d", 0.8), row("e", None)]


def groups(rows, goal):
    """Where bounds are drawn, whose mark says that it is outside, and the caption."""
    ax = plot_groups(rows, goal, ax=Figure()).ax_
    bounds = [c for c in ax.collections if isinstance(c, LineCollection)]
    edges = [segment[0, 0] for c in bounds for segment in c.get_segments()]
    marks = [x for x in ax.get_lines() if len(x.get_xdata()) == 1]
    names = [t.get_text()[4] for t in ax.get_yticklabels()]
    outside = {names[int(x.get_ydata()[0])] for x in marks if x.get_marker() == "D"}
    return edges, "".join(sorted(outside)), " ".join(t.get_text() for t in ax.texts)


@over(
    ("constraint", "edges", "outside"),
    [
        ("recall.min('g') >= 0.5", [0.5], ""),
        ("recall.max('g') <= 0.7", [0.7], "bcd"),
        ("recall.difference('g') <= 0.06", [0.84, 0.9], "ad"),
        ("recall.ratio('g') >= 0.9", [0.81, 0.9], "ad"),
        ("recall.min().min('g') >= 0.6", [], ""),
        ("recall.deviation('g') <= 0.1", None, ""),
        ("recall.min('g') >= recall - 0.1", None, ""),
        ("recall.difference('h') <= 0.1", None, ""),
        # Each bound goes with the groups of its own column.
        ("recall.min('g') >= 0.6 and recall.difference('h') <= 0.1", [0.6, 0.65, 0.75], "a"),
    ],
)
def test_what_the_goal_allows(constraint, edges, outside):
    rows = [*ROWS, row("x", 0.7, "h"), row("y", 0.75, "h")] if " and " in constraint else ROWS
    found, missed, words = groups(rows, f"maximize accuracy subject to {constraint}")
    assert found == pytest.approx(edges or [])
    assert missed == outside
    assert "no rows" in words
    assert ("Not drawn: " in words) == (edges is None)


def test_the_worst_class_bounds_every_class():
    rows = [row("a", 0.5, metric="recall(label=1)"), row("b", 0.9, metric="recall(label=1)")]
    goal = "maximize accuracy subject to recall.difference('g').max() <= 0.1"
    assert groups(rows, goal)[0] == pytest.approx([0.8, 0.9])


def test_a_metric_of_groups_is_chosen():
    rows = [*ROWS, row("a", 0.4, metric="precision")]
    goal = "maximize accuracy subject to recall.min('g') >= 0.6"
    axes = plot_groups(rows, goal, ax=Figure()).axes_
    assert [ax.get_xlabel().partition(",")[0] for ax in axes] == ["recall", "precision"]
    only = plot_groups(rows, goal, metric="precision", ax=Figure().add_subplot())
    assert only.ax_.get_xlabel().startswith("precision")
    with pytest.raises(ValueError, match=r"`metric` is one of \['recall', 'precision'\], got 'f1'"):
        plot_groups(rows, goal, metric="f1", ax=Figure())
