"""plot_objective, and the numbers behind it, against decisions counted one by one."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from setpoint import evaluate, solve
from setpoint.report import GoalReport, OperatingPoints, plain, plot_objective, read
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

COST = "minimize cost({(0, 1): 2, (1, 0): 9})"
GOALS = [
    COST,
    "maximize f1 subject to predicted_rate <= 0.3",
    "maximize recall - 2 * false_positive_rate subject to precision >= 0.4 and recall >= 0.2",
    "minimize prior_divergence",
    "maximize accuracy.min(g) subject to recall.difference(g) <= 0.3",
]


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    g = rng.choice(["a", "b"], n)
    return np.round(rng.normal(size=n) + 1.3 * y, 2), y, g


def points_of(report):
    return report.section("operating").points


def drawn(report, *given, **more):
    return plot_objective(report, *given, ax=Figure(), **more).ax_


def dots_of(ax):
    """Each labelled dot and its place."""
    found = {c.get_label(): c.get_offsets() for c in ax.collections}
    return {name: at[0].tolist() for name, at in found.items() if len(at) == 1}


@over("goal", GOALS)
def test_the_objective_at_every_threshold_and_what_is_drawn_of_it(goal):
    s, y, g = rows()
    groups = {"sensitive_features": {"g": g}} if "(g)" in goal else {}
    report = solve(goal, s, y, **groups, **({"decide_on": None} if groups else {})).report
    (curve,) = points_of(report).curves
    assert (curve.accepted[0], curve.accepted[-1]) == (0.0, 1.0)
    each = zip(curve.thresholds, curve.accepted, curve.objective, curve.feasible, strict=True)
    for t, share, value, met in each:
        one = evaluate(goal, y, (s >= t).astype(int), **groups)
        assert share == pytest.approx((s >= t).mean(), abs=1e-12)
        assert value == pytest.approx(one.objective.value, abs=1e-12)
        assert met == bool(one.satisfied)
    ax = drawn(report, deployed=(0.4, 0.3))
    line, known = ax.get_lines()[0], np.isfinite(curve.objective)
    np.testing.assert_array_equal(line.get_xdata(), curve.accepted)
    np.testing.assert_array_equal(line.get_ydata()[known], np.array(curve.objective)[known])
    assert np.isnan(line.get_ydata()[~known]).all()
    (chosen,) = curve.chosen
    share, value = dots_of(ax)["the rule"]
    assert value == pytest.approx(report.objective.value)
    assert share == curve.accepted[curve.thresholds.index(chosen[1])]
    assert dots_of(ax)["deployed model"] == [0.4, 0.3]
    words = " ".join(t.get_text() for t in ax.texts)
    assert ("nobody" in words) == known[0]
    assert ("everybody" in words) == known[-1]
    # Shaded from the first to the last of each stretch of thresholds that meet everything.
    at, met = np.array(curve.accepted), np.array(curve.feasible)
    spans = [(p.get_x(), p.get_x() + p.get_width()) for p in ax.patches]
    shaded = np.zeros(len(at), bool)
    for low, high in spans:
        shaded |= (at >= low - 1e-12) & (at <= high + 1e-12)
    assert bool(spans) == bool(report.constraints)
    assert shaded[met].all() or not spans
    narrow = np.diff(at).min() < 0.004  # then a shade may reach a neighbour
    assert narrow or not spans or (shaded == met).all()


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
    with pytest.raises(ValueError, match="one threshold for all rows"):
        drawn(report)


def test_weights_count_for_fewer_rows_and_numbers_go_through_json():
    s, y, _ = rows()
    w = np.random.default_rng(0).exponential(2.0, len(y))
    report = solve("minimize prior_divergence", s, y, sample_weight=w).report
    points = points_of(report)
    effective = points.rows_per_weight * (points.positives + points.negatives)
    assert effective == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert points_of(solve("f1", s, y).report).rows_per_weight == 1.0
    same = points_of(solve("f1", s, y, sample_weight=np.full(len(y), 4.0)).report)
    assert same.rows_per_weight == pytest.approx(0.25)
    assert np.isinf(points.curves[0].objective[0])
    back = GoalReport.from_json(report.to_json())
    assert read(OperatingPoints, plain(points_of(back))) == points


def test_ticks_say_the_score_as_well_and_money_for_10_000_rows():
    s, y, _ = rows()
    ax = drawn(solve(COST, s, y).report)
    ticks = [t.get_text().split("\n") for t in ax.get_xticklabels()]
    assert [t[0] for t in ticks] == ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]
    for share, (_, score) in zip((0.2, 0.4, 0.6, 0.8), ticks[1:-1], strict=True):
        assert share - 0.02 <= (s >= float(score)).mean() <= share + 0.02
    assert ax.get_ylabel() == "cost per 10,000 rows"
    said = ax.yaxis.get_major_formatter()
    assert [said(x, 0) for x in (3.5, 0.0)] == ["35,000", "0"]
    points = points_of(solve("f1", s, y).report)
    for metric, value, words in (
        ("recall", 0.8234, "82.3 %"),
        ("predicted_rate", 0.00123, "0.12 %"),
        ("mcc", -0.25, "-0.2500"),
        ("cost({(0, 1): 5})", 3.532, "35,320"),
    ):
        texts = [t.get_text() for t in drawn(points, f"maximize {metric}", value).texts]
        assert any(text.startswith(f"the rule: {words}\n") for text in texts)


def test_a_rule_that_draws_stands_beside_the_curve():
    s, y, _ = rows()
    goal = "maximize recall subject to precision >= 0.61"
    solution = solve(goal, s, y, randomized=True)
    points = points_of(solution.report)
    assert len(points.curves[0].chosen) == 2
    share, value = dots_of(drawn(solution.report))["the rule"]
    assert share == pytest.approx(solution.rule.distribution(s, None)[:, 1].mean())
    assert value == solution.report.objective.value
    # Points alone do not tell what the draws reach; of one threshold they do.
    assert "the rule" not in dots_of(drawn(points, goal))
    one = drawn(points_of(solve(COST, s, y).report), COST)
    best = min(evaluate(COST, y, (s >= t).astype(int)).objective.value for t in np.unique(s))
    assert dots_of(one)["the rule"][1] == pytest.approx(best)


def test_no_threshold_meets_the_goal():
    s, y, _ = rows()
    goal = "maximize accuracy subject to precision >= 0.99 and recall >= 0.99"
    ax = drawn(solve(goal, s, y, on_infeasible="nearest").report)
    assert ax.texts[-1].get_text() == "No threshold meets every constraint."
    assert not ax.patches
