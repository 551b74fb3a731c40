"""What every threshold reaches: against scikit-learn, and decisions counted one by one."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import beta, binomtest
from sklearn import metrics as sk
from sklearn.linear_model import LogisticRegression

from setpoint import Evidence, Goal, GoalReport, PlugInClassifier, evaluate, solve
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


def draw(goal, y, s, kind="precision-recall", ax=None, **more):
    report = solve(goal, s, y, **more).report
    ax = plot_operating(report, kind=kind, ax=Figure() if ax is None else ax).ax_
    return SimpleNamespace(report=report, points=points_of(report), ax_=ax)


def caption(display):
    return display.ax_.texts[-1].get_text().replace("\n", " ")


def line(display, name):
    (found,) = (x for x in display.ax_.get_lines() if x.get_label() == name)
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())


# -- the numbers ------------------------------------------------------------------------
@over("seed", [0, 3])
def test_every_point_is_what_its_threshold_reaches(seed):
    y, s, _ = data(2000 if seed else 400, seed)
    w = np.random.default_rng(seed).exponential(1, len(y)) if seed % 2 else None
    display = draw("maximize recall subject to precision >= 0.5", y, s, "roc", sample_weight=w)
    drawn = set(zip(*(x.round(9) for x in line(display, "every threshold")), strict=True))
    (curve,) = display.points.curves
    assert curve.n_points == len(np.unique(s)) + 1
    assert len(curve.recall) <= 400
    assert (curve.thresholds[0], curve.thresholds[-1]) == (np.inf, -np.inf)
    more = {"sample_weight": w}
    for j, t in enumerate(curve.thresholds):
        taken = (s >= t).astype(int)
        precision = sk.precision_score(y, taken, zero_division=0.0, **more)
        fpr = 1.0 - sk.recall_score(y, taken, pos_label=0, **more)
        found = curve.recall[j], curve.false_positive_rate[j], curve.precision[j]
        wanted = sk.recall_score(y, taken, **more), fpr, precision
        assert found == pytest.approx(wanted, abs=1e-12)
        assert curve.feasible[j] == (precision >= 0.5 - 1e-9)
        assert (round(found[1], 9), round(found[0], 9)) in drawn
    # The hull holds all points below it.
    at = list(curve.hull)
    fpr, recall = np.array(curve.false_positive_rate), np.array(curve.recall)
    assert (np.interp(fpr, fpr[at], recall[at]) >= recall - 1e-12).all()


@over("randomized", [True, False])
def test_the_rule_is_where_its_decisions_are(randomized):
    y, s, groups = data(3000)
    goal = "maximize accuracy subject to predicted_rate.difference(g) <= 0.02"
    found = solve(goal, s, y, sensitive_features=groups, randomized=randomized)
    points = points_of(found.report)
    assert [c.name for c in points.curves] == ["g = a", "g = b"]
    segment = (groups["g"] == "b").astype(int)
    p = found.rule.distribution(s, segment)[:, 1]
    assert points.recall == pytest.approx(p[y == 1].mean())
    assert points.false_positive_rate == pytest.approx(p[y == 0].mean())
    assert points.precision == pytest.approx(p[y == 1].sum() / p.sum())
    display = SimpleNamespace(ax_=plot_operating(found.report, ax=Figure()).ax_)
    for k, curve in enumerate(points.curves):
        own = segment == k
        assert sum(c[0] for c in curve.chosen) == pytest.approx(1.0)
        mean = sum(c[0] * c[2] for c in curve.chosen)
        assert mean == pytest.approx(p[own & (y == 1)].mean())
        precision, recall, _ = sk.precision_recall_curve(y[own], s[own])
        drawn = set(zip(*(q.round(9) for q in line(display, curve.name)), strict=True))
        known = {(a, b) for a, b in zip(recall.round(9), precision.round(9), strict=True) if a > 0}
        assert known <= drawn


def test_weights_other_data_sets_json_and_new_rows():
    y, s, _ = data()
    w = np.random.default_rng(1).integers(1, 4, 400)
    goal = "maximize recall subject to precision >= 0.5 and predicted_rate.on('new') <= 0.9"
    new = {"datasets": {"new": (s[:50], None)}, "randomized": False}
    again = np.repeat(np.arange(400), w)
    report = solve(goal, s, y, sample_weight=w, **new).report
    one, other = points_of(report), points_of(solve(goal, s[again], y[again], **new).report)
    assert (one.recall, one.precision) == pytest.approx((other.recall, other.precision))
    assert one.positives == other.positives == w[y == 1].sum()
    assert read(OperatingPoints, plain(one)) == one
    (curve,) = other.curves  # rows without labels are not counted among those accepted
    shares = [(s[again] >= t).mean() for t in curve.thresholds]
    assert curve.accepted == pytest.approx(shares, abs=1e-12)
    X = s[:, None]
    clf = PlugInClassifier(LogisticRegression(), "f1", randomized=False).fit(X[:200], y[:200])
    on_new = points_of(clf.evaluate(X[200:], y[200:]))
    assert on_new.recall == pytest.approx(sk.recall_score(y[200:], clf.predict(X[200:])))
    assert on_new.positives == y[200:].sum()


def test_what_has_no_points():
    y, s, _ = data(60)
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
        draw("f1", y, s, kind="pr")


# -- the picture ------------------------------------------------------------------------
@over(
    "text",
    [
        "precision >= 0.6",
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
    for tp, fp in zip(rng.integers(1, 41, 40), rng.integers(0, 161, 40), strict=True):
        report = evaluate(goal, y, np.repeat([1, 0, 1, 0], [tp, 40 - tp, fp, 160 - fp]))
        if min(abs(e.slack) for e in report.constraints) < 0.01:
            continue  # on the edge of what is drawn
        for paths, at in ((roc, (fp / 160, tp / 40)), (pr, (tp / 40, tp / (tp + fp)))):
            assert any(p.contains_point(at) for p in paths) == report.satisfied, at
        seen.add(report.satisfied)
    assert seen == {True, False}
    # More false positives than there are.
    assert not any(p.contains_point((0.95, 0.05)) for p in pr)


def test_what_the_plane_cannot_show_is_said():
    y, s, groups = data()
    goal = "maximize recall subject to precision >= 0.4 and recall.difference(g) <= 0.15"
    display = draw(goal, y, s, sensitive_features=groups, decide_on=None)
    assert "gap in recall between groups by g at most 0.15" in caption(display)
    (curve,) = display.points.curves
    thick = [x for x in display.ax_.get_lines() if x.get_label() == "meets the whole goal"]
    assert len(thick) == 1
    shown = {
        tuple(np.round(p, 9)) for x in display.ax_.get_lines() if x.get_linewidth() == 3.6
        for p in x.get_xydata()
    }  # fmt: skip
    assert any(curve.feasible)
    for met, r, p in zip(curve.feasible[1:], curve.recall[1:], curve.precision[1:], strict=True):
        assert not met or tuple(np.round((r, p), 9)) in shown
    assert "Not shaded" not in caption(draw("maximize f1", y, s))
    points = OperatingPoints((), 40.0, 160.0, 0.5, 0.1, 0.5, (0, 1))
    words = caption(SimpleNamespace(ax_=plot_operating(
        points,
        "maximize recall subject to churn <= 0.1 and accuracy.on('b') >= 0.9 and "
        "recall >= recall.baseline() and recall.on(x='y') >= 0.5 and f1 >= 0.5",
        ax=Figure(),
    ).ax_))  # fmt: skip
    assert words.partition("does not show it: ")[2].count(";") == 3
    assert "F1" not in words


@over("weighted", [False, True])
def test_the_band_is_the_exact_interval_of_precision(weighted):
    y, s, _ = data(60)
    w = np.random.default_rng(0).exponential(1.0, 60) if weighted else np.ones(60)
    display = draw("maximize f1", y, s, sample_weight=w if weighted else None)
    (curve,) = display.points.curves
    (band,) = (c for c in display.ax_.collections if c.get_label() == "90 % interval")
    drawn = {tuple(np.round(v, 9)) for q in band.get_paths() for v in q.vertices}
    scale = w.sum() / (w**2).sum()
    assert len(curve.thresholds) > 20
    for t, recall in zip(curve.thresholds[1:], curve.recall[1:], strict=True):
        taken = s >= t
        n = scale * w[taken].sum()
        p = w[taken & (y == 1)].sum() / w[taken].sum()
        low = 0.0 if p == 0 else beta.ppf(0.05, n * p, n * (1 - p) + 1)
        high = 1.0 if p == 1 else beta.ppf(0.95, n * p + 1, n * (1 - p))
        if weighted:  # with less than a row the limits may lie on the other side of the share
            low, high = min(low, p), max(high, p)
        else:
            exact = binomtest(round(n * p), round(n)).proportion_ci(0.9, method="exact")
            assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-9)
        for limit in (low, high):
            near = [abs(height - limit) for x, height in drawn if abs(x - recall) < 1e-8]
            assert min(near) < 1e-8


@over("kind", ["roc", "precision-recall"])
def test_bounds_dots_and_mixtures_are_said(kind):
    y, s, _ = data()
    goal = "maximize f1 subject to precision >= 0.3 and specificity >= 0.75 and recall >= 0.4"
    ax = plot_operating(solve(goal, s, y).report, kind=kind, deployed=(0.4, 0.5), ax=Figure()).ax_
    other = "asked: at most 25 %" if kind == "roc" else "asked: at least 30 %"
    words = {"asked: at least 40 %", other, "deployed model"}
    assert words <= {t.get_text() for t in ax.texts}
    display = draw("maximize recall subject to precision >= 0.55", y, s, kind, randomized=True)
    assert "what draws among thresholds reach" in caption(display)
    points = display.points
    place = (points.false_positive_rate, points.recall)
    place = place if kind == "roc" else (points.recall, points.precision)
    assert tuple(display.ax_.collections[-1].get_offsets()[0]) == pytest.approx(place)


# -- the objective at every threshold -----------------------------------------------------
COST = "minimize cost({(0, 1): 2, (1, 0): 9})"
GOALS = [
    COST,
    "maximize f1 subject to predicted_rate <= 0.3",
    "maximize recall - 2 * false_positive_rate subject to precision >= 0.4 and recall >= 0.2",
    "minimize prior_divergence",
    "maximize accuracy.min(g) subject to recall.difference(g) <= 0.3",
]


def drawn(report, *given, **more):
    return plot_objective(report, *given, ax=Figure(), **more).ax_


def dots_of(ax):
    """Each labelled dot and its place."""
    found = {c.get_label(): c.get_offsets() for c in ax.collections}
    return {name: at[0].tolist() for name, at in found.items() if len(at) == 1}


@over("goal", GOALS)
def test_the_objective_at_every_threshold_and_what_is_drawn_of_it(goal):
    y, s, g = data(80, 1)
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
    shaded = [any(a - 1e-12 <= x <= b + 1e-12 for a, b in spans) for x in at]
    assert bool(spans) == bool(report.constraints)
    narrow = np.diff(at).min() < 0.004  # then a shade may reach a neighbour
    assert not spans or (narrow and np.all(np.array(shaded)[met])) or (shaded == met).all()


def test_weights_count_for_fewer_rows_and_numbers_go_through_json():
    y, s, _ = data(120, 1)
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
    y, s, _ = data(120, 1)
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
    y, s, _ = data(120, 1)
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


def test_what_has_no_objective_and_no_threshold():
    y, s, g = data(120, 1)
    goal = "maximize accuracy subject to predicted_rate.difference(g) <= 0.02"
    report = solve(goal, s, y, sensitive_features=g).report
    assert [c.objective for c in points_of(report).curves] == [(), ()]
    with pytest.raises(ValueError, match="one threshold for all rows"):
        drawn(report)
    goal = "maximize accuracy subject to precision >= 0.99 and recall >= 0.99"
    ax = drawn(solve(goal, s, y, on_infeasible="nearest").report)
    assert ax.texts[-1].get_text() == "No threshold meets every constraint."
    assert not ax.patches
