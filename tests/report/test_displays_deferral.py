"""plot_deferral, and the numbers behind it, against decisions counted one by one."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from report.page_reading import checked, page_text
from setpoint import ConstantGoalWarning, PlugInClassifier, solve
from setpoint.report import DeferralPoints, GoalReport, plain, plot_deferral, read
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

GOAL = "minimize deferral_rate subject to error_rate.decided <= 0.1"


def rows(n=120):
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.4).astype(int)
    g = rng.choice(["a", "b"], n)
    return np.round(rng.normal(size=n) + 1.3 * y, 1), y, g


def points_of(report):
    return report.section("deferral").points


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
    s, y, _ = rows()
    w = np.random.default_rng(1).exponential(size=len(y)) if weighted else np.ones(len(y))
    solution = solve(GOAL, s, y, sample_weight=w if weighted else None)
    points = points_of(solution.report)
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
    # The goal asks for no more than a bound, so that the rule lies on the line.
    at = np.searchsorted(curve.decided, share - 1e-12)
    assert curve.error[at] == pytest.approx(error)


def test_more_classes_by_the_largest_posterior():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    X = rng.normal(size=(300, 3)) + 1.2 * np.eye(3)[y]
    clf = PlugInClassifier(LogisticRegression(), GOAL).fit(X, y)
    points = points_of(clf.evaluate(X, y))
    (curve,) = points.curves
    assert points.by == "posterior"
    p = clf.predict_proba(X)
    top, right = p.max(axis=1), p.argmax(axis=1) == y
    for share, error in zip(curve.decided, curve.error, strict=True):
        taken = top >= np.sort(top)[::-1][round(share * 300) - 1]
        assert taken.mean() == pytest.approx(share)
        assert error == pytest.approx(1 - right[taken].mean())
    assert points.decided == pytest.approx((clf.predict(X) != "defer").mean())


def test_long_curves_are_thinned_and_keep_the_rule():
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.1).astype(int)
    points = points_of(
        solve(GOAL.replace("0.1", "0.05"), rng.normal(size=3000) + 1.5 * y, y).report
    )
    (curve,) = points.curves
    assert 100 < len(curve.decided) <= 256
    at = np.searchsorted(curve.decided, points.decided - 1e-12)
    assert curve.error[at] == pytest.approx(points.error, abs=2e-3)


def test_what_is_drawn_on_the_page_and_after_json():
    s, y, _ = rows()
    report = solve(GOAL, s, y).report
    points = points_of(report)
    assert points_of(GoalReport.from_json(report.to_json())) == points
    assert read(DeferralPoints, plain(points)) == points
    page = checked(page_text(report))
    assert "Errors by share decided" in page
    assert "defers the others" in page
    ax = plot_deferral(report, ax=Figure()).ax_
    line = ax.get_lines()[0]
    np.testing.assert_array_equal(line.get_xdata()[1:], points.curves[0].decided)
    assert line.get_drawstyle() == "steps-pre"
    dots = {c.get_label(): c for c in ax.collections if len(c.get_offsets())}
    assert dots["the rule"].get_offsets()[0].tolist() == [points.decided, points.error]
    assert "asked: at most 10 % wrong" in " ".join(t.get_text() for t in ax.texts)


def test_groups_have_lines_and_points_of_their_own():
    s, y, g = rows(200)
    goal = (
        "minimize deferral_rate subject to accuracy.decided >= 0.85 and deferral_rate <= 0.9 "
        "and deferral_rate.difference(g) <= 0.2"
    )
    report = solve(goal, s, y, sensitive_features={"g": g}, decide_on=["g"]).report
    points = points_of(report)
    assert [c.name for c in points.curves] == ["g = a", "g = b"]
    shares = [c.chosen[0] for c in points.curves]
    assert np.dot(shares, [(g == v).mean() for v in "ab"]) == pytest.approx(points.decided)
    ax = plot_deferral(report, ax=Figure()).ax_
    wrong, share = (x.get_xydata() for x in ax.get_lines() if len(x.get_xydata()) == 2)
    assert (wrong[0, 1], share[0, 0]) == pytest.approx((0.15, 0.1))
    words = " ".join(t.get_text() for t in ax.texts)
    assert "small dots" in words
    assert "gap" in words


def test_nobody_is_decided():
    s, y, _ = rows()
    goal = "minimize cost({(0, 'defer'): -1, (1, 'defer'): -1})"
    with pytest.warns(ConstantGoalWarning):
        points = points_of(solve(goal, s, y).report)
    assert (points.decided, points.error, points.curves[0].chosen) == (0.0, None, None)
    texts = plot_deferral(points, goal, ax=Figure()).ax_.texts
    assert "decides no row" in " ".join(texts[-1].get_text().split())
