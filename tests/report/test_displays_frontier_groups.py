"""plot_frontier and plot_groups: what is drawn is what is known."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from report.test_displays import frontier
from setpoint import Evidence, Goal, GoalError, evaluate
from setpoint import frontier as frontier_of
from setpoint.report import Entry, Frontiers, GoalReport, GroupRow, plot_frontier, plot_groups
from setpoint.report.displays import style
from setpoint.report.displays.frontier import known_line, not_excluded, out_of_reach, shown_bounds
from setpoint.report.displays.groups import allowed_of, not_drawn


def stepped(line, at):
    """The height of a drawn line at some places."""
    x, y = (np.asarray(a, float) for a in line.get_data())
    way = line.get_drawstyle()
    if way == "default":
        return np.interp(at, x, y)
    i = np.searchsorted(x, at, side="left" if way == "steps-pre" else "right")
    return y[np.clip(i - (way == "steps-post"), 0, len(y) - 1)]


# -- frontiers --------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["steps", "lines"])
@pytest.mark.parametrize("relation", [">=", "<="])
def test_the_line_is_the_frontier(kind, relation):
    values = (0.9, 0.7, 0.4) if relation == ">=" else (0.4, 0.7, 0.9)
    f = frontier(kind, relation, values)
    display = plot_frontier(f, ax=Figure())
    line = display.ax_.get_lines()[0]
    low, high = display.ax_.get_xlim()
    at = np.linspace(low, high, 400)
    want = f.at(at)
    known = ~np.isnan(want)
    np.testing.assert_allclose(stepped(line, at[known]), want[known], atol=1e-9)
    start, end = out_of_reach(f, low, high)
    beyond = (at > start + 1e-6) & (at < end - 1e-6)
    assert np.isnan(want[beyond]).all()
    assert (
        not known[at > 0.8 + 1e-6].any() if relation == ">=" else not known[at < 0.2 - 1e-6].any()
    )
    assert any(t.get_text() == "no rule meets it" for t in display.ax_.texts)


def test_the_bound_asked():
    display = plot_frontier(frontier(asked=0.6), ax=Figure())
    (marker,) = (q for q in display.ax_.collections if q.get_label() == "the rule")
    assert marker.get_offsets().tolist() == [[0.6, 0.4]]
    assert display.ax_.texts[-2].get_text() == "asked: 60 %\nbest: 40 %"
    missed = plot_frontier(frontier(asked=0.9), ax=Figure())
    assert not [q for q in missed.ax_.collections if q.get_label() == "the rule"]
    assert "asked: 90 %" in [t.get_text() for t in missed.ax_.texts]


def test_points_say_only_what_is_known():
    f = frontier("points", values=(0.9, 0.7, np.nan), asked=0.3)
    assert [q.tolist() for q in known_line(f, 0.0, 1.0)] == [[0.2, 0.5], [0.9, 0.7]]
    assert out_of_reach(f, 0.0, 1.0) == (0.8, 1.0)
    assert out_of_reach(frontier("points"), 0.0, 1.0) is None
    nothing = frontier("points", values=(np.nan,) * 3)
    assert out_of_reach(nothing, 0.0, 1.0) == (0.0, 1.0)
    plot_frontier(nothing, ax=Figure()).figure_.canvas.draw()
    unproved = plot_frontier(frontier("points", gaps=np.full(3, np.inf)), ax=Figure())
    assert "Better rules may exist" in unproved.ax_.texts[-1].get_text()


def test_the_axis_stays_in_the_range_of_the_side():
    low, high = shown_bounds(frontier(asked=0.99))
    assert 0.0 <= low < 0.2
    assert high == 1.0


def test_frontier_of_predictions():
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.4).astype(int)
    s = np.round(rng.normal(size=200) + y, 1)
    rows = Evidence.from_arrays((0, 1), s, y)
    goal = "maximize recall subject to f1 >= 0.3"
    found = frontier_of(rows, goal, vary="precision >= 0.6", randomized=False)
    display = plot_frontier(found, ax=Figure())
    best = max(
        r.objective.value for t in np.unique(s)
         if (r := evaluate("maximize recall subject to f1 >= 0.3 and precision >= 0.6", y,
                           (s >= t).astype(int))).satisfied
    )  # fmt: skip
    (marker,) = (q for q in display.ax_.collections if q.get_label() == "the rule")
    assert marker.get_offsets()[0, 1] == pytest.approx(best)
    assert "With F1 at least 0.3." in display.ax_.texts[-1].get_text()
    with pytest.raises(GoalError, match="`vary` says which bound"):
        frontier_of(rows, "f1")
    report = GoalReport("maximize recall", Entry("recall", 0.8), sections=(Frontiers((found,)),))
    again = plot_frontier(report, ax=Figure())
    np.testing.assert_array_equal(
        again.ax_.get_lines()[0].get_xydata(), display.ax_.get_lines()[0].get_xydata()
    )


def band(display):
    """The outlines of what is shaded as not ruled out."""
    found = [c for c in display.ax_.collections if c.get_label() == "not ruled out"]
    return [p for c in found for p in c.get_paths()]


@pytest.mark.parametrize("seed", range(12))
def test_the_band_stays_within_the_range_of_the_objective(seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(50) < 0.4).astype(int)
    s = np.round(rng.normal(size=50) + y, 1)
    objective, low, high = [
        ("maximize recall", 0.0, 1.0), ("maximize balanced_accuracy", 0.0, 1.0),
        ("maximize recall + precision", 0.0, 2.0), ("maximize mcc", -1.0, 1.0),
        ("minimize error_rate", 0.0, 1.0), ("minimize cost({(0, 1): 2, (1, 0): 7})", 0.0, 7.0),
    ][seed % 6]  # fmt: skip
    side, relation = [("precision", ">="), ("false_positive_rate", "<=")][seed // 6]
    goal = f"{objective} subject to {side} {relation} 0.5"
    found = frontier_of(Evidence.from_arrays((0, 1), s, y), goal, values=np.linspace(0, 1, 30))
    for f in (
        replace(found, gaps=rng.random(30) * rng.choice([0.001, 0.3, 3.0], 30)),
        replace(found, gaps=np.full(30, 9.0), kind="lines"),
        replace(found, gaps=np.where(rng.random(30) < 0.5, np.inf, 0.5)),
    ):
        display = plot_frontier(f, ax=Figure())
        _, line, past = not_excluded(f, *display.ax_.get_xlim())
        drawn = ~np.isnan(past)
        assert (past[drawn] >= low).all()
        assert (past[drawn] <= high).all()
        best = 1 if goal.startswith("max") else -1
        assert (best * (past - line)[drawn] >= 0).all()
        at = np.concatenate([p.vertices for p in band(display)])[:, 1]
        assert low <= at.min() <= at.max() <= high


def test_the_band_is_drawn_where_it_is_wider_than_the_line():
    gaps = np.array([0.0, 0.0, 0.2])
    display = plot_frontier(frontier("steps", gaps=gaps), ax=Figure())
    (path,) = band(display)
    assert (path.vertices.min(axis=0), path.vertices.max(axis=0)) == (
        pytest.approx([0.5, 0.4]), pytest.approx([0.8, 0.6]),
    )  # fmt: skip
    lines = plot_frontier(frontier("lines", gaps=gaps), ax=Figure())
    (path,) = band(lines)
    assert path.vertices[:, 0].min() == pytest.approx(0.5)
    assert not band(plot_frontier(frontier("steps", gaps=np.full(3, 0.002)), ax=Figure()))
    assert not band(plot_frontier(frontier("points", gaps=np.full(3, np.inf)), ax=Figure()))


def test_whether_it_is_proved_that_no_rule_meets_a_bound():
    values = (0.9, 0.7, np.nan)
    for last, words in ((0.0, "no rule meets it"), (np.inf, "no rule found")):
        f = frontier("points", values=values, gaps=np.array([0.0, 0.0, last]))
        texts = [t.get_text() for t in plot_frontier(f, ax=Figure()).ax_.texts]
        assert words in texts


# -- groups -----------------------------------------------------------------------------
def row(name, value, column="g", metric="recall", n=20):
    low, high = (None, None) if value is None else (max(value - 0.1, 0), min(value + 0.1, 1))
    return GroupRow(((column, name),), metric, value, low, high, 0 if value is None else n)


ROWS = [row("a", 0.5), row("b", 0.9), row("c", 0.85), row("d", 0.8), row("e", None)]


@pytest.mark.parametrize(
    ("constraint", "low", "high"),
    [
        ("recall.min('g') >= 0.6", 0.6, None),
        ("recall.max('g') <= 0.7", None, 0.7),
        ("recall.difference('g') <= 0.1", 0.8, 0.9),
        ("recall.difference('g') <= 0.06", 0.84, 0.9),
        ("recall.ratio('g') >= 0.9", 0.81, 0.9),
        ("recall.ratio('g') >= 0.5", 0.45, 0.9),
        ("recall.min().min('g') >= 0.6", None, None),
        ("recall.deviation('g') <= 0.1", None, None),
        ("recall.min('g') >= recall - 0.1", None, None),
        ("recall.difference('h') <= 0.1", None, None),
    ],
)
def test_what_the_goal_allows(constraint, low, high):
    goal = Goal.parse(f"maximize accuracy subject to {constraint}")
    found = allowed_of(goal, "recall", ROWS)
    if low is None and high is None:
        assert not found
        shown = "min().min" not in constraint
        assert bool(not_drawn(goal, "recall", ROWS)) == shown
        return
    (a,) = found
    assert (a.low, a.high) == (pytest.approx(low) if low else None, pytest.approx(high))
    assert a.is_band == (low is not None and high is not None)
    assert a.holds(ROWS[4])
    assert a.holds(row("x", 0.0, column="h"))
    assert a.holds(ROWS[0]) == (not low or low <= 0.5)


def test_the_worst_class_bounds_every_class():
    goal = Goal.parse("maximize accuracy subject to recall.difference('g').max() <= 0.1")
    rows = [row("a", 0.5, metric="recall(label=1)"), row("b", 0.9, metric="recall(label=1)")]
    (a,) = allowed_of(goal, "recall(label=1)", rows)
    assert (a.low, a.high) == (pytest.approx(0.8), 0.9)


def test_rows_bounds_and_names():
    goal = "maximize accuracy subject to recall.min('g') >= 0.6 and recall.difference('h') <= 0.1"
    rows = [*ROWS, row("x", 0.7, "h"), row("y", 0.75, "h"), row("a", 0.4, metric="precision")]
    display = plot_groups(rows, goal, ax=Figure())
    labels = [ax.get_xlabel().partition(",")[0] for ax in display.axes_]
    assert labels == ["recall", "precision"]
    assert len(display.axes_) == 2
    ax = display.ax_
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert names[0] == "g = a  (20)"
    assert names[4] == "g = e"
    assert [t.get_text() for t in ax.texts] == ["no rows"]
    points = {q.get_ydata()[0]: q for q in ax.get_lines() if len(q.get_xdata()) == 1}
    assert points[0].get_xdata()[0] == 0.5
    assert to_hex(points[0].get_color()) == style.RED
    assert to_hex(points[1].get_color()) == style.BLUE
    edges, band = ax.collections[0], ax.collections[1]
    assert edges.get_segments()[0].tolist() == [[0.6, -0.5], [0.6, 4.5]]
    (box,) = (p.get_extents() for p in band.get_paths())
    assert box.extents == pytest.approx([0.65, 4.5, 0.75, 6.5])
    only = plot_groups(rows, goal, metric="precision", ax=Figure().add_subplot())
    assert only.ax_.get_xlabel().startswith("precision")
    with pytest.raises(ValueError, match=r"`metric` is one of \['recall', 'precision'\], got 'f1'"):
        plot_groups(rows, goal, metric="f1", ax=Figure())


def test_many_groups_grow_the_figure():
    rows = [row(f"{i:02d}", i / 60) for i in range(50)]
    display = plot_groups(rows, "maximize recall.min('g')", ax=Figure())
    assert display.figure_.get_figheight() > 12
    display.figure_.canvas.draw()


def test_groups_of_a_report():
    rng = np.random.default_rng(0)
    y, pred = rng.choice(["no", "yes"], (2, 90))
    g = rng.choice(["a", "b", "c"], 90)
    other = rng.choice(["no", "yes"], 30), rng.choice(["no", "yes"], 30)
    goal = "maximize accuracy subject to recall.difference('g') <= 0.1 and f1.on('more') >= 0.1"
    report = evaluate(goal, y, pred, sensitive_features={"g": g}, datasets={"more": other})
    display = plot_groups(report, ax=Figure())
    drawn = [q.get_xdata()[0] for q in display.ax_.get_lines() if len(q.get_xdata()) == 1]
    assert drawn == [r.value for r in report.groups if r.compared]
    three = evaluate(
        "maximize accuracy.min('g')", np.arange(90) % 3, np.arange(90) % 2,
        sensitive_features={"g": g},
    )  # fmt: skip
    assert len(plot_groups(three, ax=Figure()).ax_.get_yticks()) == 3
    with pytest.raises(ValueError, match="compares no groups"):
        plot_groups(evaluate("f1", y, pred))
