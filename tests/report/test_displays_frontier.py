"""plot_frontier and plot_groups: what is drawn is what is known."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from setpoint import Evidence, Frontier, GoalError, evaluate
from setpoint import frontier as frontier_of
from setpoint.report import Entry, Frontiers, GoalReport, GroupRow, plot_frontier, plot_groups
from thinning import over

GAPS = np.array([0.0, 0.0, 0.2])


def frontier(kind="steps", relation=">=", values=(0.9, 0.7, 0.4), asked=0.6, **more):
    goal = f"maximize recall subject to precision {relation} {asked}"
    bounds = np.array([0.2, 0.5, 0.8])
    return Frontier(
        goal, goal[27:], "recall", "precision", relation, asked, bounds,
        np.array(values, float), bounds, kind, **more,
    )  # fmt: skip


def drawn(*given, **more):
    return plot_frontier(frontier(*given, **more), ax=Figure())


def texts(display):
    return [t.get_text() for t in display.ax_.texts]


def labelled(display, label):
    return [c for c in display.ax_.collections if c.get_label() == label]


def rule_of(display):
    """Where the rule is marked."""
    return [dot for c in labelled(display, "the rule") for dot in c.get_offsets().tolist()]


def heights(line, at):
    """The height of a drawn line at some places."""
    x, y = (np.asarray(a, float) for a in line.get_data())
    way = line.get_drawstyle()
    if way == "default":
        return np.interp(at, x, y)
    i = np.searchsorted(x, at, side="left" if way == "steps-pre" else "right")
    return y[np.clip(i - (way == "steps-post"), 0, len(y) - 1)]


# -- frontiers --------------------------------------------------------------------------
@over("kind", ["steps", "lines"])
def test_the_line_is_the_frontier(kind):
    for relation, values in ((">=", (0.9, 0.7, 0.4)), ("<=", (0.4, 0.7, 0.9))):
        display = drawn(kind, relation, values)
        at = np.linspace(*display.ax_.get_xlim(), 400)
        want = frontier(kind, relation, values).at(at)
        known = ~np.isnan(want)
        line = display.ax_.get_lines()[0]
        np.testing.assert_allclose(heights(line, at[known]), want[known], atol=1e-9)
        strict = at > 0.8 + 1e-6 if relation == ">=" else at < 0.2 - 1e-6
        assert strict.any()
        assert not known[strict].any()
        assert "no rule meets it" in texts(display)


def test_the_bound_asked_and_the_axis():
    display = drawn(asked=0.6)
    assert rule_of(display) == [[0.6, 0.4]]
    assert "asked: 60 %\nbest: 40 %" in texts(display)
    missed = drawn(asked=0.9)
    assert rule_of(missed) == []
    assert "asked: 90 %" in texts(missed)
    # Bounds of a share have a margin, and no more than a share can be.
    low, high = drawn(asked=0.99).ax_.get_xlim()
    assert 0.0 <= low < 0.2
    assert high == 1.0


def test_points_say_only_what_is_known():
    some = drawn("points", values=(0.9, 0.7, np.nan), asked=0.3, gaps=np.array([0, 0, np.inf]))
    assert some.ax_.get_lines()[0].get_xydata().tolist() == [[0.2, 0.9], [0.5, 0.7]]
    assert rule_of(some) == []
    assert "no rule found" in texts(some)
    proved = drawn("points", values=(0.9, 0.7, np.nan), gaps=np.zeros(3))
    assert "no rule meets it" in texts(proved)
    whole = texts(drawn("points", gaps=np.full(3, np.inf)))
    assert not {"no rule found", "no rule meets it"} & set(whole)
    assert "Better rules may exist" in whole[-1]
    bounded = texts(drawn("points", gaps=np.full(3, 0.05)))[-1]
    assert "No rule is better by more than 5 %" in bounded
    assert "no rule meets it" in texts(drawn("points", values=(np.nan,) * 3))


def test_the_frontier_of_predictions_against_every_cut_off():
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.4).astype(int)
    s = np.round(rng.normal(size=200) + y, 1)
    rows = Evidence.from_arrays((0, 1), s, y)
    goal = "maximize recall subject to f1 >= 0.3"
    found = frontier_of(rows, goal, vary="precision >= 0.6", randomized=False)
    decided = [evaluate(f"{goal} and precision >= 0.6", y, (s >= t).astype(int)) for t in set(s)]
    best = max(r.objective.value for r in decided if r.satisfied)
    report = GoalReport("maximize recall", Entry("recall", 0.8), sections=(Frontiers((found,)),))
    for shown in (found, report):
        display = plot_frontier(shown, ax=Figure())
        assert rule_of(display)[0][1] == pytest.approx(best)
        assert "With F1 at least 0.3." in texts(display)[-1]
    with pytest.raises(GoalError, match="`vary` says which bound"):
        frontier_of(rows, "f1")


def band(display):
    """The outlines of what is shaded as not ruled out."""
    return [p.vertices for c in labelled(display, "not ruled out") for p in c.get_paths()]


@over(
    ("objective", "low", "high"),
    [
        ("maximize balanced_accuracy", 0.0, 1.0),
        ("maximize recall + precision", 0.0, 2.0),
        ("maximize mcc", -1.0, 1.0),
        ("minimize cost({(0, 1): 2, (1, 0): 7})", 0.0, 7.0),
    ],
)
def test_the_band_stays_within_the_range_of_the_objective(objective, low, high):
    rng = np.random.default_rng(0)
    y = (rng.random(50) < 0.4).astype(int)
    rows = Evidence.from_arrays((0, 1), np.round(rng.normal(size=50) + y, 1), y)
    for side in ("precision >= 0.5", "false_positive_rate <= 0.5"):
        found = frontier_of(rows, f"{objective} subject to {side}", values=np.linspace(0, 1, 30))
        for gaps in (np.full(30, 9.0), np.where(rng.random(30) < 0.5, np.inf, 0.5)):
            for kind in ("steps", "lines"):
                f = replace(found, gaps=gaps, kind=kind)
                at = np.concatenate(band(plot_frontier(f, ax=Figure())))[:, 1]
                assert low <= at.min() <= at.max() <= high


def test_the_band_is_drawn_where_it_is_wider_than_the_line():
    (path,) = band(drawn("steps", gaps=GAPS))
    assert path.min(axis=0) == pytest.approx([0.5, 0.4])
    assert path.max(axis=0) == pytest.approx([0.8, 0.6])
    (path,) = band(drawn("lines", gaps=GAPS))
    assert path[:, 0].min() == pytest.approx(0.5)
    assert not band(drawn("steps", gaps=np.full(3, 0.002)))
    assert not band(drawn("points", gaps=np.full(3, np.inf)))


# -- groups -----------------------------------------------------------------------------
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
        ("recall.min('g') >= 0.6", [0.6], "a"),
        ("recall.min('g') >= 0.5", [0.5], ""),
        ("recall.max('g') <= 0.7", [0.7], "bcd"),
        ("recall.difference('g') <= 0.1", [0.8, 0.9], "a"),
        ("recall.difference('g') <= 0.06", [0.84, 0.9], "ad"),
        ("recall.ratio('g') >= 0.9", [0.81, 0.9], "ad"),
        ("recall.ratio('g') >= 0.5", [0.45, 0.9], ""),
        ("recall.min().min('g') >= 0.6", [], ""),
        ("recall.deviation('g') <= 0.1", None, ""),
        ("recall.min('g') >= recall - 0.1", None, ""),
        ("recall.difference('h') <= 0.1", None, ""),
    ],
)
def test_what_the_goal_allows(constraint, edges, outside):
    found, missed, words = groups(ROWS, f"maximize accuracy subject to {constraint}")
    assert found == pytest.approx(edges or [])
    assert missed == outside
    assert "no rows" in words
    assert ("Not drawn: " in words) == (edges is None)


def test_the_worst_class_bounds_every_class():
    rows = [row("a", 0.5, metric="recall(label=1)"), row("b", 0.9, metric="recall(label=1)")]
    goal = "maximize accuracy subject to recall.difference('g').max() <= 0.1"
    assert groups(rows, goal)[0] == pytest.approx([0.8, 0.9])


def test_metrics_columns_and_names():
    goal = "maximize accuracy subject to recall.min('g') >= 0.6 and recall.difference('h') <= 0.1"
    rows = [*ROWS, row("x", 0.7, "h"), row("y", 0.75, "h"), row("a", 0.4, metric="precision")]
    display = plot_groups(rows, goal, ax=Figure())
    labels = [ax.get_xlabel().partition(",")[0] for ax in display.axes_]
    assert labels == ["recall", "precision"]
    names = [t.get_text() for t in display.ax_.get_yticklabels()]
    assert (names[0], names[4], names[-1]) == ("g = a  (20)", "g = e", "h = y  (20)")
    # Each bound goes with the groups of its own column.
    assert groups(rows[:-1], goal)[:2] == ([0.6, 0.65, 0.75], "a")
    only = plot_groups(rows, goal, metric="precision", ax=Figure().add_subplot())
    assert only.ax_.get_xlabel().startswith("precision")
    with pytest.raises(ValueError, match=r"`metric` is one of \['recall', 'precision'\], got 'f1'"):
        plot_groups(rows, goal, metric="f1", ax=Figure())
    many = [row(f"{i:02d}", i / 60) for i in range(50)]
    figure = plot_groups(many, "maximize recall.min('g')", ax=Figure()).figure_
    assert figure.get_figheight() > 12
    figure.canvas.draw()


def test_groups_of_a_report():
    rng = np.random.default_rng(0)
    y, pred = rng.choice(["no", "yes"], (2, 90))
    g = {"sensitive_features": {"g": rng.choice(["a", "b", "c"], 90)}}
    other = rng.choice(["no", "yes"], 30), rng.choice(["no", "yes"], 30)
    goal = "maximize accuracy subject to recall.difference('g') <= 0.1 and f1.on('more') >= 0.1"
    report = evaluate(goal, y, pred, datasets={"more": other}, **g)
    lines = plot_groups(report, ax=Figure()).ax_.get_lines()
    dots = [x.get_xdata()[0] for x in lines if len(x.get_xdata()) == 1]
    assert dots == [r.value for r in report.groups if r.compared]
    three = evaluate("maximize accuracy.min('g')", np.arange(90) % 3, np.arange(90) % 2, **g)
    assert len(plot_groups(three, ax=Figure()).ax_.get_yticks()) == 3
    with pytest.raises(ValueError, match="compares no groups"):
        plot_groups(evaluate("f1", y, pred))
