"""The points that a report carries: against decisions counted one by one."""

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score

from setpoint import Evidence, Goal, GoalReport, PlugInClassifier, solve
from setpoint.program import link
from setpoint.report import OperatingPoints, operating_points, plain, read
from setpoint.rules import Argmax, Mixture, PerSegment, Threshold

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")


def rows(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    g = rng.choice(["a", "b"], n)
    s = np.round(rng.normal(size=n) + 1.3 * y + 0.5 * (g == "a"), 3)
    return s, y, g


def rates(accepted, y):
    return (
        recall_score(y, accepted),
        float(accepted[y == 0].mean()),
        precision_score(y, accepted, zero_division=0.0),
    )


def test_every_point_is_what_its_threshold_reaches():
    s, y, _ = rows()
    points = (
        solve("maximize recall subject to precision >= 0.7", s, y)
        .report.section("operating")
        .points
    )
    (curve,) = points.curves
    assert curve.n_points == len(np.unique(s)) + 1
    assert len(curve.recall) <= 400
    assert (curve.thresholds[0], curve.thresholds[-1]) == (np.inf, -np.inf)
    each = zip(
        curve.thresholds,
        curve.recall,
        curve.false_positive_rate,
        curve.precision,
        curve.feasible,
        strict=True,
    )
    for t, *shown, feasible in each:
        counted = rates((s >= t).astype(int), y)
        assert shown == pytest.approx(counted, abs=1e-12)
        assert feasible == (counted[2] >= 0.7 - 1e-9)


def test_the_hull_holds_all_points_below_it():
    s, y, _ = rows()
    (curve,) = solve("f1", s, y).report.section("operating").points.curves
    at = list(curve.hull)
    fpr, recall = np.array(curve.false_positive_rate), np.array(curve.recall)
    assert (np.interp(fpr, fpr[at], recall[at]) >= recall - 1e-12).all()


@pytest.mark.parametrize("randomized", [True, False])
def test_the_rule_is_where_its_decisions_are(randomized):
    s, y, g = rows()
    goal = "maximize accuracy subject to predicted_rate.difference(g) <= 0.02"
    found = solve(goal, s, y, sensitive_features={"g": g}, randomized=randomized)
    points = found.report.section("operating").points
    assert [c.name for c in points.curves] == ["g = a", "g = b"]
    segment = (g == "b").astype(int)
    p = found.rule.distribution(s, segment)[:, 1]
    assert points.recall == pytest.approx(p[y == 1].mean())
    assert points.false_positive_rate == pytest.approx(p[y == 0].mean())
    assert points.precision == pytest.approx(p[y == 1].sum() / p.sum())
    for k, curve in enumerate(points.curves):
        own = segment == k
        assert sum(c[0] for c in curve.chosen) == pytest.approx(1.0)
        mean = sum(c[0] * c[2] for c in curve.chosen)
        assert mean == pytest.approx(p[own & (y == 1)].mean())


def test_weights_and_other_data_sets():
    s, y, _ = rows(400)
    w = np.random.default_rng(1).integers(1, 4, 400).astype(float)
    goal = "maximize recall subject to precision >= 0.6 and predicted_rate.on('new') <= 0.9"
    new = {"new": (s[:50], None)}
    weighted = solve(goal, s, y, sample_weight=w, datasets=new, randomized=False)
    again = np.repeat(np.arange(400), w.astype(int))
    twice = solve(goal, s[again], y[again], datasets=new, randomized=False)
    one, other = (
        weighted.report.section("operating").points,
        twice.report.section("operating").points,
    )
    assert (one.recall, one.precision) == pytest.approx((other.recall, other.precision))
    assert one.positives == other.positives == w[y == 1].sum()


def test_a_report_goes_to_json_and_back():
    s, y, _ = rows(500)
    report = solve("maximize recall subject to precision >= 0.7", s, y).report
    again = GoalReport.from_json(report.to_json())
    assert again == report
    assert (
        read(OperatingPoints, plain(report.section("operating").points))
        == report.section("operating").points
    )


def test_evaluate_shows_the_rows_it_is_given():
    s, y, _ = rows()
    from sklearn.linear_model import LogisticRegression

    X = s[:, None]
    clf = PlugInClassifier(LogisticRegression(), "f1", randomized=False).fit(X[:2000], y[:2000])
    on_new = clf.evaluate(X[2000:], y[2000:]).section("operating").points
    assert on_new.recall == pytest.approx(recall_score(y[2000:], clf.predict(X[2000:])))
    assert on_new.positives == y[2000:].sum()


def test_what_has_no_picture():
    s, y, _ = rows(60)
    goal = Goal.parse("maximize f1")
    evidence = Evidence.from_arrays((0, 1), s, y, needs=goal.needs)
    assert operating_points(link(goal, evidence.codebook), evidence, Threshold(0.5)) is not None
    soft = Threshold(0.5, width=0.2)
    per_segment = PerSegment((Threshold(0.1), Threshold(0.2)), ((("g", "a"),), (("g", "b"),)))
    posteriors = Argmax(np.eye(2))
    for rule in (soft, Mixture([(0.5, soft), (0.5, Threshold(1.0))]), per_segment, posteriors):
        assert operating_points(link(goal, evidence.codebook), evidence, rule) is None
    one_class = Evidence.from_arrays((0, 1), s, np.ones(60, int), needs=goal.needs)
    assert operating_points(link(goal, one_class.codebook), one_class, Threshold(0.5)) is None
