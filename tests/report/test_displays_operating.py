"""plot_operating: points, curves and the region, against scikit-learn and brute force."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import beta, binomtest
from sklearn import metrics as sk

from setpoint import Evidence, Goal, evaluate, solve
from setpoint.goals import Metric
from setpoint.program import link
from setpoint.report import OperatingPoints, operating_points, plot_operating
from setpoint.report.operating import Plane, precision_band
from setpoint.rules import Threshold

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")


def draw(goal, y, s, *, kind="precision-recall", ax=None, **more):
    return drawn(solve(goal, s, y, **more).report, kind, ax)


def drawn(report, kind="precision-recall", ax=None):
    points = report.section("operating").points
    return SimpleNamespace(
        points=points,
        plane=Plane.of(Goal.parse(report.goal), points),
        ax_=plot_operating(report, kind=kind, ax=ax).ax_,
    )


def data(seed=0, n=400):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    weight = rng.exponential(1, n) if seed % 2 else None
    return y, np.round(rng.normal(size=n) + y, 1 + seed % 2), weight


def caption(display):
    return display.ax_.texts[-1].get_text().replace("\n", " ")


def line(display, name):
    (found,) = (x for x in display.ax_.get_lines() if x.get_label() == name)
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())


@pytest.mark.parametrize("seed", range(4))
def test_points_are_those_of_scikit_learn(seed):
    y, s, w = data(seed)
    display = draw("maximize f1", y, s, sample_weight=w, kind="roc", ax=Figure())
    (curve,) = display.points.curves
    fpr, recall, t = sk.roc_curve(y, s, sample_weight=w, drop_intermediate=False)
    at = dict(zip(t, zip(fpr, recall, strict=True), strict=True))
    p, r, t = sk.precision_recall_curve(y, s, sample_weight=w)
    precise = dict(zip(t, zip(p, r, strict=False), strict=False))
    drawn = set(zip(*(x.round(9) for x in line(display, "every threshold")), strict=True))
    for j, threshold in enumerate(curve.thresholds):
        here = curve.false_positive_rate[j], curve.recall[j]
        assert tuple(np.round(here, 9)) in drawn
        if np.isinf(threshold):
            assert here in ((0, 0), (1, 1)) or threshold < 0
            continue
        # Between two scores any threshold decides the same.
        same = min(x for x in at if x >= threshold)
        assert here == pytest.approx(at[same])
        assert (curve.precision[j], curve.recall[j]) == pytest.approx(precise[same])


def test_precision_is_drawn_as_mixtures_have_it():
    y, s, _ = data(n=40)
    goal = "maximize recall subject to precision >= 0.6"
    display = draw(goal, y, s, randomized=True, ax=Figure())
    assert len(display.points.curves[0].chosen) == 2
    plane, points = display.plane, display.points
    r, p = line(display, "with draws")
    f = plane.fpr(r[1:], p[1:])
    np.testing.assert_allclose(plane.precision(f, r[1:]), p[1:])
    (curve,) = points.curves
    at = list(curve.hull)
    over = np.interp(f, np.take(curve.false_positive_rate, at), np.take(curve.recall, at))
    rising = f > f[0]  # the first edge may be upright
    np.testing.assert_allclose(r[1:][rising], over[rising], atol=1e-9)
    assert (r[0], p[0]) == (0.0, p[1])


REGION = (
    "maximize recall subject to precision >= 0.6",
    "maximize recall subject to f1 >= 0.5 and predicted_rate <= 0.4",
    "maximize recall subject to g_mean >= 0.6 and abs(predicted_rate - prior) <= 0.2",
    "maximize recall subject to recall.min() >= 0.4 and accuracy >= 0.3 + 0.5 * precision",
)


@pytest.mark.parametrize("text", REGION)
def test_the_region_is_where_the_constraints_hold(text):
    rng = np.random.default_rng(1)
    points = OperatingPoints((), 40.0, 160.0, 0.5, 0.1, 0.5, (0, 1))
    plane = Plane.of(Goal.parse(text), points)
    assert len(plane.constraints) == len(Goal.parse(text).constraints)
    seen = set()
    for _ in range(150):
        tp, fp = int(rng.integers(0, 41)), int(rng.integers(0, 161))
        y = np.repeat([1, 0], [40, 160])
        pred = np.repeat([1, 0, 1, 0], [tp, 40 - tp, fp, 160 - fp])
        met = bool(evaluate(text, y, pred).satisfied)
        seen.add(met)
        assert bool(plane.slack(fp / 160, tp / 40) >= -1e-9) == met
        if tp and abs(plane.slack(fp / 160, tp / 40)) > 1e-9:  # off the edge of rounding
            shaded = plane.slack_by_precision(tp / 40, tp / (tp + fp)) >= -1e-9
            assert bool(shaded) == met
    assert seen == {True, False}
    # Where more false positives would be needed than there are, there is no point.
    assert plane.slack_by_precision(1.0, 0.05) < 0


@pytest.mark.parametrize("kind", ["precision-recall", "roc"])
def test_what_is_shaded(kind):
    y, s, _ = data()
    display = draw("maximize recall subject to precision >= 0.5 and false_positive_rate <= 0.2",
                   y, s, kind=kind, ax=Figure())  # fmt: skip
    region = display.ax_.collections[0].get_paths()[0]
    rng = np.random.default_rng(0)
    for x, y_ in rng.random((300, 2)):
        if kind == "roc":
            slack = display.plane.slack(x, y_)
        else:
            slack = display.plane.slack_by_precision(x, y_)
        if abs(slack) > 0.01:
            assert region.contains_point((x, y_)) == (slack > 0)
    upright = [x.get_xdata()[0] for x in display.ax_.get_lines() if len(set(x.get_xdata())) == 1]
    level = [x.get_ydata()[0] for x in display.ax_.get_lines() if len(set(x.get_ydata())) == 1]
    assert (0.2 in upright) == (kind == "roc")
    assert (0.5 in level) == (kind == "precision-recall")


def test_groups_are_not_shaded_but_said():
    y, s, _ = data()
    g = {"g": np.arange(len(y)) % 2}
    goal = "maximize recall subject to precision >= 0.5 and recall.difference('g') <= 0.05"
    display = draw(goal, y, s, sensitive_features=g, decide_on=None, ax=Figure())
    assert [str(c) for c in display.plane.left_out] == ['recall.difference("g") <= 0.05']
    assert "gap in recall between groups by g at most 0.05" in caption(display)
    (curve,) = display.points.curves
    drawn = [x for x in display.ax_.get_lines() if x.get_linewidth() == 3.6]
    shown = {tuple(np.round(p, 9)) for x in drawn for p in x.get_xydata()}
    for met, r, p in zip(curve.feasible[1:], curve.recall[1:], curve.precision[1:], strict=True):
        assert not met or tuple(np.round((r, p), 9)) in shown
    bare = draw("maximize f1", y, s, ax=Figure())
    assert "Not shaded" not in caption(bare)
    assert not [x for x in bare.ax_.get_lines() if x.get_linewidth() == 3.6]


def test_data_sets_and_deployed_models_are_left_out():
    points = OperatingPoints((), 40.0, 160.0, 0.5, 0.1, 0.5, (0, 1))
    goal = Goal.parse(
        "maximize recall subject to churn <= 0.1 and accuracy.on('b') >= 0.9 and "
        "recall >= recall.baseline() and recall.on(x='y') >= 0.5 and f1 >= 0.5"
    )
    plane = Plane.of(goal, points)
    assert [str(c) for c in plane.constraints] == ["f1 >= 0.5"]
    assert len(plane.left_out) == 4
    assert isinstance(plane.constraints[0].lhs, Metric)


def test_the_rule_and_what_it_draws_from():
    y, s, _ = data(n=4000)
    goal = "maximize recall subject to precision >= 0.53"
    solution = solve(goal, s, y, randomized=True)
    for kind in ("roc", "precision-recall"):
        display = drawn(solution.report, kind, Figure())
        points = display.points
        (curve,) = points.curves
        hollow, rule = display.ax_.collections[-2:]
        assert points.recall == pytest.approx(solution.report.objective.value)
        x, y_ = rule.get_offsets()[0]
        want = (points.false_positive_rate, points.recall)
        want = want if kind == "roc" else (points.recall, points.precision)
        assert (x, y_) == pytest.approx(want)
        assert len(hollow.get_offsets()) == len(curve.chosen) == 2
        sizes, shares = hollow.get_sizes(), [a[0] for a in curve.chosen]
        assert (np.argsort(sizes) == np.argsort(shares)).all()
        way = next(q for q in display.ax_.get_lines() if q.get_linewidth() == 1.2)
        near = np.hypot(way.get_xdata() - x, way.get_ydata() - y_)
        np.testing.assert_allclose(way.get_xydata()[[0, -1]][:, 0].min(),
                                   hollow.get_offsets()[:, 0].min())  # fmt: skip
        assert near.min() < 0.1


def test_one_curve_a_slot():
    y, s, _ = data()
    g = np.where(np.arange(len(y)) % 3, "a", "b")
    goal = "maximize accuracy subject to recall.difference('g') <= 0.05"
    display = draw(goal, y, s, sensitive_features={"g": g}, ax=Figure())
    assert [c.name for c in display.points.curves] == ["g = a", "g = b"]
    for name, here in (("g = a", g == "a"), ("g = b", g == "b")):
        p, r, _ = sk.precision_recall_curve(y[here], s[here])
        drawn = set(zip(*(q.round(9) for q in line(display, name)), strict=True))
        known = {(a, b) for a, b in zip(r.round(9), p.round(9), strict=True) if a > 0}
        assert known <= drawn
    linked = link(Goal.parse("maximize accuracy"), Evidence.from_arrays((0, 1), s, y).codebook)
    again = operating_points(linked, Evidence.from_arrays((0, 1), s, y), Threshold(0.3))()
    assert [c.name for c in again.curves] == [""]


def test_errors():
    y, s, _ = data(n=30)
    with pytest.raises(ValueError, match=r"`kind` is one of .*'roc'.*got 'pr'"):
        draw("f1", y, s, kind="pr")
    with pytest.raises(ValueError, match="two classes are decided by thresholds on one score"):
        plot_operating(evaluate("f1", y, y))


# -- what stands beside the curve -----------------------------------------------------------
@pytest.mark.parametrize("weighted", [False, True])
def test_the_band_is_the_exact_interval_of_precision(weighted):
    y, s, _ = data(n=60)
    w = np.random.default_rng(0).exponential(1.0, 60) if weighted else None
    display = draw("maximize f1", y, s, sample_weight=w, ax=Figure())
    (curve,) = display.points.curves
    low, high = precision_band(curve, display.points)
    shown = 0
    scale = 1.0 if w is None else w.sum() / (w**2).sum()
    for t, bottom, top in zip(curve.thresholds[1:], low, high, strict=True):
        taken = s >= t
        weight = np.ones(60) if w is None else w
        n = scale * weight[taken].sum()
        p = weight[taken & (y == 1)].sum() / weight[taken].sum()
        wanted = (
            0.0 if p == 0 else beta.ppf(0.05, n * p, n * (1 - p) + 1),
            1.0 if p == 1 else beta.ppf(0.95, n * p + 1, n * (1 - p)),
        )
        if weighted:  # with less than a row the limits may lie on the other side of the share
            wanted = min(wanted[0], p), max(wanted[1], p)
        else:
            exact = binomtest(round(n * p), round(n)).proportion_ci(0.9, method="exact")
            assert wanted == pytest.approx((exact.low, exact.high), abs=1e-9)
        assert (bottom, top) == pytest.approx(wanted, abs=1e-9)
        assert bottom <= p + 1e-12
        assert top >= p - 1e-12
        shown += 1
    assert shown > 20
    (band,) = (c for c in display.ax_.collections if c.get_label() == "90 % interval")
    heights = np.concatenate([q.vertices for q in band.get_paths()])[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((low.min(), high.max()))


def test_the_deployed_model_is_a_hollow_dot():
    y, s, _ = data()
    points = draw("maximize f1", y, s, ax=Figure()).points
    for kind in ("precision-recall", "roc"):
        marked = plot_operating(points, "f1", kind=kind, deployed=(0.4, 0.5), ax=Figure())
        (dot,) = (c for c in marked.ax_.collections if c.get_label() == "deployed model")
        fpr = 0.4 * y.sum() / (len(y) - y.sum())
        want = (0.4, 0.5) if kind == "precision-recall" else (fpr, 0.4)
        assert tuple(dot.get_offsets()[0]) == pytest.approx(want)
        assert "deployed model" in [t.get_text() for t in marked.ax_.texts]
    unknown = plot_operating(points, "f1", kind="roc", deployed=(0.0, 0.0), ax=Figure())
    assert "deployed model" not in [c.get_label() for c in unknown.ax_.collections]


@pytest.mark.parametrize("kind", ["precision-recall", "roc"])
def test_bounds_are_said_with_their_direction(kind):
    y, s, _ = data()
    goal = "maximize f1 subject to specificity >= 0.75 and false_negative_rate <= 0.6"
    texts = [t.get_text() for t in draw(goal, y, s, kind=kind, ax=Figure()).ax_.texts]
    assert "asked: at least 40 %" in texts
    assert ("asked: at most 25 %" in texts) == (kind == "roc")


@pytest.mark.parametrize("seed", range(6))
def test_words_stay_in_the_picture_and_off_the_dots(seed):
    y, s, _ = data(seed, n=200)
    goal = f"maximize recall subject to precision >= {0.35 + 0.05 * seed}"
    points = draw(goal, y, s, ax=Figure()).points
    figure = Figure(figsize=(4.8, 2.9), layout="constrained")
    display = plot_operating(points, goal, deployed=(0.5, 0.3), ax=figure.subplots())
    figure.canvas.draw()
    inside = display.ax_.get_window_extent()
    dots = [(points.recall, points.precision), (0.5, 0.3)]
    boxes = [t.get_window_extent() for t in display.ax_.texts[:-1]]
    assert len(boxes) >= 3
    for i, box in enumerate(boxes):
        assert box.x0 >= inside.x0 - 2
        assert box.x1 <= inside.x1 + 2
        for dot in dots:
            x, y_ = display.ax_.transData.transform(dot)
            assert not (box.x0 < x < box.x1 and box.y0 < y_ < box.y1)
        for other in boxes[:i]:
            width = min(box.x1, other.x1) - max(box.x0, other.x0)
            height = min(box.y1, other.y1) - max(box.y0, other.y0)
            assert width <= 3 or height <= 3


def test_a_long_name_of_a_class_leaves_room_for_the_picture():
    y, s, _ = data()
    names = np.array(["no", "y" * 200])
    display = draw("maximize f1", names[y], s, ax=Figure(), pos_label="y" * 200)
    assert len(caption(display)) < 200
    assert caption(display).startswith(f"The class: {'y' * 30}")
