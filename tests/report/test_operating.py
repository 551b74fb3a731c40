"""What every threshold reaches, counted one by one, and what is drawn of it."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import beta

from setpoint import Evidence, Goal, evaluate, solve
from setpoint.program import link
from setpoint.report import (
    OperatingPoints,
    operating_points,
    plain,
    plot_objective,
    plot_operating,
    read,
)
from setpoint.rules import Argmax, Mixture, PerSegment, Threshold
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")


def data(n=400, seed=0):
    """Labels, scores with ties, groups of which one is harder."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    g = rng.choice(["a", "b"], n)
    return y, np.round(rng.normal(size=n) + y + 0.5 * (g == "a"), 1 + seed % 2), {"g": g}


def points_of(report):
    return report.section("operating").points


@over("weighted", [False, True])
def test_every_point_is_what_its_threshold_reaches(weighted):
    y, s, _ = data(700 if weighted else 200, 3)
    w = np.random.default_rng(3).exponential(1, len(y)) if weighted else np.ones(len(y))
    goal = "maximize recall subject to precision >= 0.5"
    report = solve(goal, s, y, sample_weight=w if weighted else None).report
    (every,) = (
        x.get_xydata().round(9)
        for x in plot_operating(report, kind="roc", ax=Figure()).ax_.get_lines()
        if x.get_label() == "every threshold"
    )
    (curve,) = points_of(report).curves
    assert curve.n_points == len(np.unique(s)) + 1
    assert len(curve.recall) <= 400
    assert (curve.thresholds[0], curve.thresholds[-1]) == (np.inf, -np.inf)
    drawn = {*map(tuple, every)}
    for j, t in enumerate(curve.thresholds):
        tp, fp = (w[(s >= t) & (y == k)].sum() for k in (1, 0))
        precision = tp / (tp + fp) if tp + fp else 0.0
        found = curve.recall[j], curve.false_positive_rate[j], curve.precision[j]
        wanted = tp / w[y == 1].sum(), fp / w[y == 0].sum(), precision
        assert found == pytest.approx(wanted, abs=1e-12)
        assert curve.feasible[j] == (precision >= 0.5 - 1e-9)
        assert (round(found[1], 9), round(found[0], 9)) in drawn
    # The hull holds all points below it.
    at = list(curve.hull)
    fpr, recall = np.array(curve.false_positive_rate), np.array(curve.recall)
    assert (np.interp(fpr, fpr[at], recall[at]) >= recall - 1e-12).all()


@over("randomized", [True, False])
def test_the_rule_is_where_its_decisions_are(randomized):
    y, s, groups = data(500)
    goal = "maximize accuracy subject to predicted_rate.difference(g) <= 0.02"
    found = solve(goal, s, y, sensitive_features=groups, randomized=randomized)
    points = points_of(found.report)
    assert [c.name for c in points.curves] == ["g = a", "g = b"]
    segment = (groups["g"] == "b").astype(int)
    p = found.rule.distribution(s, segment)[:, 1]
    assert points.recall == pytest.approx(p[y == 1].mean())
    assert points.false_positive_rate == pytest.approx(p[y == 0].mean())
    assert points.precision == pytest.approx(p[y == 1].sum() / p.sum())
    for k, curve in enumerate(points.curves):
        assert sum(c[0] for c in curve.chosen) == pytest.approx(1.0)
        mean = sum(c[0] * c[2] for c in curve.chosen)
        assert mean == pytest.approx(p[(segment == k) & (y == 1)].mean())


def test_a_weight_is_a_number_of_rows_and_other_data_sets_are_not_counted():
    y, s, _ = data()
    w = np.random.default_rng(1).integers(1, 4, 400)
    goal = "maximize recall subject to precision >= 0.5 and predicted_rate.on('new') <= 0.9"
    new = {"datasets": {"new": (s[:50], None)}, "randomized": False}
    again = np.repeat(np.arange(400), w)
    one = points_of(solve(goal, s, y, sample_weight=w, **new).report)
    other = points_of(solve(goal, s[again], y[again], **new).report)
    assert (one.recall, one.precision) == pytest.approx((other.recall, other.precision))
    assert one.positives == other.positives == w[y == 1].sum()
    (curve,) = other.curves  # rows without labels are not counted among those accepted
    shares = [(s[again] >= t).mean() for t in curve.thresholds]
    assert curve.accepted == pytest.approx(shares, abs=1e-12)
    effective = one.rows_per_weight * (one.positives + one.negatives)
    assert effective == pytest.approx(w.sum() ** 2 / (w**2).sum())


def test_what_has_no_points():
    y, s, g = data(60)
    goal = Goal.parse("maximize f1")

    def points(rule, labels=y):
        evidence = Evidence.from_arrays((0, 1), s, labels, needs=goal.needs)
        return operating_points(link(goal, evidence.codebook), evidence, rule)

    assert [c.name for c in points(Threshold(0.5))().curves] == [""]
    soft = Threshold(0.5, width=0.2)
    per_segment = PerSegment((Threshold(0.1), Threshold(0.2)), ((("g", "a"),), (("g", "b"),)))
    mixed = Mixture([(0.5, soft), (0.5, Threshold(1.0))])
    assert [points(rule) for rule in (soft, mixed, per_segment, Argmax(np.eye(2)))] == [None] * 4
    assert points(Threshold(0.5), np.ones(60, int)) is None
    with pytest.raises(ValueError, match="two classes are decided by thresholds on one score"):
        plot_operating(evaluate("f1", y, y))
    with pytest.raises(ValueError, match=r"`kind` is one of .*'roc'.*got 'pr'"):
        plot_operating(solve("f1", s, y).report, kind="pr", ax=Figure())
    goal = "maximize accuracy subject to predicted_rate.difference(g) <= 0.02"
    report = solve(goal, s, y, sensitive_features=g).report
    assert [c.objective for c in points_of(report).curves] == [(), ()]
    with pytest.raises(ValueError, match="one threshold for all rows"):
        plot_objective(report, ax=Figure())


@over(
    "text",
    [
        "f1 >= 0.5 and predicted_rate <= 0.4",
        "g_mean >= 0.6 and abs(predicted_rate - prior) <= 0.2",
        "recall.min() >= 0.4 and accuracy >= 0.3 + 0.5 * precision",
    ],
)
def test_the_shaded_region_is_where_the_constraints_hold(text):
    goal = f"maximize recall subject to {text}"
    points = OperatingPoints((), 40.0, 160.0, 0.5, 0.1, 0.5, (0, 1))
    pr, roc = (
        plot_operating(points, goal, kind=kind, ax=Figure()).ax_.collections[0].get_paths()
        for kind in ("precision-recall", "roc")
    )
    rng = np.random.default_rng(1)
    y, seen = np.repeat([1, 0], [40, 160]), set()
    for tp, fp in zip(rng.integers(1, 41, 25), rng.integers(0, 161, 25), strict=True):
        report = evaluate(goal, y, np.repeat([1, 0, 1, 0], [tp, 40 - tp, fp, 160 - fp]))
        if min(abs(e.slack) for e in report.constraints) < 0.01:
            continue  # on the edge of what is drawn
        for paths, at in ((roc, (fp / 160, tp / 40)), (pr, (tp / 40, tp / (tp + fp)))):
            assert any(p.contains_point(at) for p in paths) == report.satisfied, at
        seen.add(report.satisfied)
    assert seen == {True, False}
    # More false positives than there are.
    assert not any(p.contains_point((0.95, 0.05)) for p in pr)


@over("weighted", [False, True])
def test_the_band_is_the_exact_interval_of_precision(weighted):
    y, s, _ = data(60)
    w = np.random.default_rng(0).exponential(1.0, 60) if weighted else np.ones(60)
    report = solve("maximize f1", s, y, sample_weight=w if weighted else None).report
    (curve,) = points_of(report).curves
    shown = plot_operating(report, ax=Figure()).ax_.collections
    (band,) = (c for c in shown if c.get_label() == "90 % interval")
    drawn = {tuple(np.round(v, 9)) for q in band.get_paths() for v in q.vertices}
    scale = w.sum() / (w**2).sum()
    assert len(curve.thresholds) > 20
    for t, recall in zip(curve.thresholds[1:], curve.recall[1:], strict=True):
        taken = s >= t
        n = scale * w[taken].sum()
        p = w[taken & (y == 1)].sum() / w[taken].sum()
        low = 0.0 if p == 0 else beta.ppf(0.05, n * p, n * (1 - p) + 1)
        high = 1.0 if p == 1 else beta.ppf(0.95, n * p + 1, n * (1 - p))
        # With less than a row the limits may lie on the other side of the share.
        for limit in (min(low, p), max(high, p)):
            near = [abs(height - limit) for x, height in drawn if abs(x - recall) < 1e-8]
            assert min(near) < 1e-8


@over("kind", ["roc", "precision-recall"])
def test_the_rule_that_draws_and_the_bounds_are_drawn(kind):
    y, s, _ = data(120, 1)
    goal = "maximize recall subject to precision >= 0.61 and specificity >= 0.75"
    solution = solve(goal, s, y, randomized=True)
    report = solution.report
    points, ax = points_of(report), plot_operating(report, kind=kind, ax=Figure()).ax_
    asked = "asked: at most 25 %" if kind == "roc" else "asked: at least 61 %"
    assert asked in {t.get_text() for t in ax.texts}
    place = (points.false_positive_rate, points.recall)
    place = place if kind == "roc" else (points.recall, points.precision)
    assert tuple(ax.collections[-1].get_offsets()[0]) == pytest.approx(place)
    assert len(points.curves[0].chosen) == 2
    share, value = dots_of(plot_objective(report, ax=Figure()).ax_)["the rule"]
    assert share == pytest.approx(solution.rule.distribution(s, None)[:, 1].mean())
    assert value == report.objective.value
    # Points alone do not tell what the draws reach.
    assert "the rule" not in dots_of(plot_objective(points, goal, ax=Figure()).ax_)


GOALS = [
    "minimize cost({(0, 1): 2, (1, 0): 9})",
    "maximize recall - 2 * false_positive_rate subject to precision >= 0.4 and recall >= 0.2",
    "minimize prior_divergence",
    "maximize accuracy.min(g) subject to recall.difference(g) <= 0.3",
]


def dots_of(ax):
    """Each labelled dot and its place."""
    found = {c.get_label(): c.get_offsets() for c in ax.collections}
    return {name: at[0].tolist() for name, at in found.items() if len(at) == 1}


@over("goal", GOALS)
def test_the_objective_at_every_threshold_and_what_is_drawn_of_it(goal):
    y, s, g = data(50, 1)
    groups = {"sensitive_features": g} if "(g)" in goal else {}
    report = solve(goal, s, y, **groups, **({"decide_on": None} if groups else {})).report
    (curve,) = points_of(report).curves
    assert (curve.accepted[0], curve.accepted[-1]) == (0.0, 1.0)
    each = zip(curve.thresholds, curve.accepted, curve.objective, curve.feasible, strict=True)
    for t, share, value, met in each:
        one = evaluate(goal, y, (s >= t).astype(int), **groups)
        assert share == pytest.approx((s >= t).mean(), abs=1e-12)
        assert value == pytest.approx(one.objective.value, abs=1e-12)
        assert met == bool(one.satisfied)
    points = points_of(report)
    assert read(OperatingPoints, plain(points)) == points
    ax = plot_objective(report, deployed=(0.4, 0.3), ax=Figure()).ax_
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
    shaded = [any(a - 1e-12 <= x <= b + 1e-12 for a, b in spans) for x in at]
    assert bool(spans) == bool(report.constraints)
    narrow = np.diff(at).min() < 0.004  # then a shade may reach a neighbour
    assert not spans or (narrow and np.all(np.array(shaded)[met])) or (shaded == met).all()
