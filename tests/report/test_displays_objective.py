"""plot_objective, and the numbers behind it, against decisions counted one by one."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from setpoint import evaluate, solve
from setpoint.report import GoalReport, OperatingPoints, plain, plot_objective, read
from setpoint.report.displays.style import SHARE, Scale, scale_of

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

COST = "minimize cost({(0, 1): 2, (1, 0): 9})"
GOALS = [
    COST,
    "maximize f1 subject to predicted_rate <= 0.3",
    "maximize recall - 2 * false_positive_rate subject to precision >= 0.4 and recall >= 0.2",
    "minimize prior_divergence",
    "maximize accuracy.min(g) subject to recall.difference(g) <= 0.3",
]


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    g = rng.choice(["a", "b"], n)
    return np.round(rng.normal(size=n) + 1.3 * y, 2), y, g


def solved(goal, **options):
    s, y, g = rows()
    if "(g)" in goal:
        options |= {"sensitive_features": {"g": g}, "decide_on": None}
    return solve(goal, s, y, **options).report


def points_of(report):
    return report.section("operating").points


@pytest.mark.parametrize("goal", GOALS)
def test_the_objective_at_every_threshold(goal):
    s, y, g = rows()
    (curve,) = points_of(solved(goal)).curves
    assert (curve.accepted[0], curve.accepted[-1]) == (0.0, 1.0)
    groups = {"sensitive_features": {"g": g}} if "(g)" in goal else {}
    for t, share, value, met in zip(
        curve.thresholds, curve.accepted, curve.objective, curve.feasible, strict=True
    ):
        taken = (s >= t).astype(int)
        assert share == pytest.approx(taken.mean(), abs=1e-12)
        one = evaluate(goal, y, taken, **groups)
        assert value == pytest.approx(one.objective.value, abs=1e-12)
        assert met == bool(one.satisfied)


def test_rows_without_labels_are_accepted_too():
    s, y, _ = rows(60)
    new = rows(40, seed=1)[0]
    goal = "maximize recall subject to predicted_rate.on('new') <= 0.5"
    (curve,) = points_of(solve(goal, s, y, datasets={"new": (new, None)}).report).curves
    shares = [float((s >= t).mean()) for t in curve.thresholds]
    np.testing.assert_allclose(curve.accepted, shares, atol=1e-12)


def test_a_threshold_for_each_segment_has_no_objective():
    s, y, g = rows()
    goal = "maximize accuracy subject to predicted_rate.difference(g) <= 0.02"
    report = solve(goal, s, y, sensitive_features={"g": g}).report
    assert [c.objective for c in points_of(report).curves] == [(), ()]
    for given in (report, GoalReport("maximize recall", report.objective)):
        with pytest.raises(ValueError, match="one threshold for all rows"):
            plot_objective(given, ax=Figure())


def test_numbers_go_through_json():
    report = solved("minimize prior_divergence")
    (curve,) = points_of(report).curves
    assert np.isinf(curve.objective[0])
    again = read(OperatingPoints, plain(points_of(GoalReport.from_json(report.to_json()))))
    assert again == points_of(report)


def test_weights_count_for_fewer_rows():
    s, y, _ = rows()
    w = np.random.default_rng(0).exponential(2.0, 300)
    points = points_of(solve("f1", s, y, sample_weight=w).report)
    effective = points.rows_per_weight * (points.positives + points.negatives)
    assert effective == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert points_of(solve("f1", s, y).report).rows_per_weight == 1.0
    same = points_of(solve("f1", s, y, sample_weight=np.full(300, 4.0)).report)
    assert same.rows_per_weight == pytest.approx(0.25)


def rule_of(display):
    """Where the rule is drawn; None where it is not."""
    dots = {c.get_label(): c for c in display.ax_.collections}
    return dots["the rule"].get_offsets()[0].tolist() if "the rule" in dots else None


# -- the picture ------------------------------------------------------------------------
@pytest.mark.parametrize("goal", GOALS)
def test_what_is_drawn(goal):
    report = solved(goal)
    display = plot_objective(report, deployed=(0.4, 0.3), ax=Figure())
    ax = display.ax_
    (curve,) = points_of(report).curves
    line = ax.get_lines()[0]
    known = np.isfinite(curve.objective)
    np.testing.assert_array_equal(line.get_xdata(), curve.accepted)
    np.testing.assert_array_equal(line.get_ydata()[known], np.array(curve.objective)[known])
    assert np.isnan(line.get_ydata()[~known]).all()
    dots = {c.get_label(): c for c in ax.collections if len(c.get_offsets())}
    x, y = dots["the rule"].get_offsets()[0]
    assert y == pytest.approx(report.objective.value)
    (chosen,) = curve.chosen
    assert x == curve.accepted[curve.thresholds.index(chosen[1])]
    assert dots["deployed model"].get_offsets().tolist() == [[0.4, 0.3]]
    assert (dots["deployed model"].get_facecolor()[0][:3] == 1.0).all()
    words = " ".join(t.get_text() for t in ax.texts)
    assert ("nobody" in words) == known[0]
    assert ("everybody" in words) == known[-1]
    # Shaded from the first to the last of each stretch of thresholds that meet everything.
    spans = [(p.get_x(), p.get_x() + p.get_width()) for p in ax.patches]
    if not report.constraints:
        assert not spans
        return
    at = np.array(curve.accepted)
    shaded = np.zeros(len(at), bool)
    for low, high in spans:
        shaded |= (at >= low - 1e-12) & (at <= high + 1e-12)
    met = np.array(curve.feasible)
    assert shaded[met].all()
    narrow = np.diff(at).min() < 0.004  # then a shade may reach a neighbour
    assert narrow or (shaded == met).all()
    display.figure_.canvas.draw()


def test_ticks_say_the_score_as_well():
    s, _, _ = rows()
    display = plot_objective(solved(COST), ax=Figure())
    ticks = [t.get_text().split("\n") for t in display.ax_.get_xticklabels()]
    assert [t[0] for t in ticks] == ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]
    for share, (_, score) in zip((0.2, 0.4, 0.6, 0.8), ticks[1:-1], strict=True):
        accepted = float((s >= float(score)).mean())
        assert share - 0.02 <= accepted <= share + 0.02
    assert display.ax_.get_ylabel() == "cost per 10,000 rows"
    assert display.ax_.yaxis.get_major_formatter()(3.5, 0) == "35,000"


def test_a_rule_that_draws_stands_beside_the_curve():
    s, y, _ = rows()
    goal = "maximize recall subject to precision >= 0.61"
    solution = solve(goal, s, y, randomized=True)
    points = points_of(solution.report)
    assert len(points.curves[0].chosen) == 2
    share, value = rule_of(plot_objective(solution.report, ax=Figure()))
    assert share == pytest.approx(solution.rule.distribution(s, None)[:, 1].mean())
    assert value == solution.report.objective.value
    assert rule_of(plot_objective(points, goal, ax=Figure())) is None


def test_no_threshold_meets_the_goal():
    s, y, _ = rows()
    goal = "maximize accuracy subject to precision >= 0.99 and recall >= 0.99"
    report = solve(goal, s, y, on_infeasible="nearest").report
    display = plot_objective(report, ax=Figure())
    assert display.ax_.texts[-1].get_text() == "No threshold meets every constraint."
    assert not display.ax_.patches


def test_a_rule_of_another_kind_has_no_objective_of_its_own():
    s, y, _ = rows()
    points = points_of(solve(COST, s, y).report)
    one = plot_objective(points, COST, ax=Figure())
    best = min(evaluate(COST, y, (s >= t).astype(int)).objective.value for t in np.unique(s))
    assert rule_of(one)[1] == pytest.approx(best)


# -- how values are said ------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("recall", 0.8234, "82.3 %"),
        ("recall", 1.0, "100 %"),
        ("recall", 0.0, "0 %"),
        ("predicted_rate.difference('g')", 0.00123, "0.12 %"),
        ("f1", 0.5, "50 %"),
        ("mcc", -0.25, "-0.2500"),
        ("recall + precision", 1.5, "1.5000"),
        ("cost({(0, 1): 5})", 3.532, "35,320"),
        ("cost({(0, 1): 5})", 0.0, "0"),
        ("no metric", 0.5, "0.5000"),
    ],
)
def test_values_in_words(text, value, said):
    assert scale_of(text).text(value) == said


def test_ticks_do_not_lose_digits():
    assert [SHARE.tick(x) for x in (0.1 + 0.2, 0.995, 1.0, 0.0)] == [
        "30 %",
        "99.5 %",
        "100 %",
        "0 %",
    ]
    money = Scale("euros", "number")
    assert [money.tick(x) for x in (0.5, 1250.0, 25_000.0)] == ["0.5", "1,250", "25,000"]
    assert SHARE.text(np.inf) == "inf"
