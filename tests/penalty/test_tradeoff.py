"""Goals as functions of two counts: against the program, scikit-learn and differences."""

import re

import numpy as np
import pytest

from setpoint import Goal
from setpoint.counts import ratio_at
from setpoint.errors import GoalError, ShapeError
from setpoint.penalty import Tradeoff
from thinning import over

N, P = 70.0, 30.0
TAKEN = (
    "maximize recall subject to precision >= 0.8",
    "maximize precision subject to recall >= 0.8",
    "maximize fbeta(2) subject to precision >= 0.5",
    "minimize error_rate subject to false_positive_rate <= 0.2 and recall >= 0.5",
    "maximize balanced_accuracy",
    "maximize g_mean subject to specificity >= 0.7",
    "maximize h_mean",
    "maximize min_recall",
    "maximize mcc",
    "maximize jaccard subject to negative_predictive_value >= 0.85",
    "maximize negative_predictive_value subject to recall(label=0) >= 0.5",
    "minimize cost({(1, 0): 5, (0, 1): 1})",
    "maximize recall + precision subject to min_recall >= 0.2",
    "maximize tp subject to 0.5 <= precision",
)
taken = over("text", TAKEN)


def of(text, negatives=N, positives=P):
    return Tradeoff(Goal.parse(text), negatives, positives)


def form_at(goal, i, A, B):
    """The objective (0) or a constraint's side as the kernels see it."""
    r = goal.accepted.ratios
    return ratio_at(r.forms[i], r.zeros[i], r.offsets[i], A, B)


def grid_of(positives, negatives, n):
    return np.meshgrid(positives * np.linspace(0, 1, n), negatives * np.linspace(0, 1, n))


def inner():
    """Points at which nothing is at an edge."""
    rng = np.random.default_rng(0)
    return zip(rng.uniform(3, P - 3, 40), rng.uniform(3, N - 3, 40), strict=True)


# ---------------------------------------------------------------------- values
@taken
def test_score_and_violation_are_those_of_the_program(text):
    goal = of(text)
    for A, B in [(0, 0), (P, N), (P, 0), (0, N), (11, 5), (7.5, 33.25)]:
        v = goal.program.rates_of(np.array([[[N - B, B], [P - A, A], [0.0, 0.0]]]))
        np.testing.assert_allclose(goal.accepted.rates(np.array([A, B])), v, atol=1e-12)
        value, violation = goal.program.value(v), goal.program.violation(v)
        assert goal.score(A, B) == pytest.approx(goal.program.sense * value, abs=1e-12)
        assert goal.violation(A, B) == pytest.approx(violation, abs=1e-12)
        worst = max([0.0, *(-slack for slack in goal.slacks(A, B))])
        assert goal.violation(A, B) == pytest.approx(worst, abs=1e-12)


@over("text,share", [("negative_predictive_value", 0.0), ("macro_precision", 0.5), ("mcc", 0.0)])
def test_all_but_rounding_is_all(text, share):
    # Weights summed in another order leave 1e-15 of a class, and NPV was that over that.
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = rng.uniform(0.1, 3.0, 50)
        goal = of(f"maximize {text}", w[:30].sum(), w[30:].sum())
        A, B = np.cumsum(np.sort(w[30:]))[-1], np.cumsum(np.sort(w[:30]))[-1]
        assert goal.score(A, B) == pytest.approx(share * A / (A + B), abs=1e-7)
        if goal.accepted.ratios is not None:
            assert form_at(goal, 0, A, B) == pytest.approx(share * A / (A + B), abs=1e-9)


@over("totals", [(N, P), (70.1, 0.3), (0.1 + 0.2, 12345.678)])
@taken
def test_forms_are_the_same_functions(text, totals):
    goal = of(text, *totals)
    if goal.accepted.ratios is None:
        assert any(word in text for word in ("mean", "min_", "mcc", "macro", "+"))
        return
    A, B = grid_of(totals[1], totals[0], 21)
    points = list(zip(A.flat, B.flat, strict=True))
    objective = [form_at(goal, 0, a, b) for a, b in points]
    np.testing.assert_allclose(objective, goal.score(A, B).ravel(), atol=1e-9)
    v = goal.accepted.rates(np.stack([A, B], axis=-1))
    for i, c in enumerate(goal.program.constraints):
        values = [form_at(goal, i + 1, a, b) for a, b in points]
        np.testing.assert_allclose(values, c.function.value(v).ravel(), atol=1e-9)
        bounds = goal.accepted.ratios.lower[i], goal.accepted.ratios.upper[i]
        assert bounds == ((c.level, np.inf) if c.sign > 0 else (-np.inf, c.level))


def test_nothing_over_nothing_is_nothing():
    goal = of("maximize precision")
    assert form_at(goal, 0, 0.0, 0.0) == 0.0 == goal.score(0.0, 0.0)
    assert goal.score(np.zeros(3), np.array([0.0, 1.0, 2.0])).tolist() == [0.0, 0.0, 0.0]


# ---------------------------------------------------------------------- slopes
@taken
def test_slopes_are_derivatives(text):
    goal, h = of(text), 1e-5
    for A, B in inner():
        if "min" in text and abs(A / P - (1 - B / N)) < 1e-3:
            continue  # a kink
        for i in [None, *range(len(goal.program.constraints))]:

            def value(A, B, i=i):
                return float(goal.score(A, B)) if i is None else goal.slacks(A, B)[i]

            by_A = (value(A + h, B) - value(A - h, B)) / (2 * h)
            by_B = (value(A, B + h) - value(A, B - h)) / (2 * h)
            assert goal.slopes(A, B, i) == pytest.approx([by_A, by_B], abs=1e-7)
    for A in (0.0, 1e-12, 1.0, P):
        for B in (0.0, 1e-12, 1.0, N):
            for i in [None, *range(len(goal.program.constraints))]:
                assert np.isfinite(goal.slopes(A, B, i)).all()


@taken
def test_constraints_multiplied_out(text):
    goal = of(text)
    for A, B in inner():
        for i, (slack, slopes) in enumerate(goal.rows(A, B)):
            own = goal.slacks(A, B)[i]
            assert np.sign(slack) == np.sign(own) or abs(own) < 1e-9
            if goal.accepted.ratios is not None:  # affine: its own tangent anywhere
                there = goal.rows(A + 1.0, B + 2.0)[i][0]
                assert there == pytest.approx(slack + slopes[0] + 2 * slopes[1])


def test_precision_multiplied_out():
    slack, slopes = of("maximize recall subject to precision >= 0.8").rows(10.0, 5.0)[0]
    # (3.28) up to a factor: (1 - c) A - c B >= 0.
    assert slopes[0] / slopes[1] == pytest.approx(-0.2 / 0.8)
    assert slack == pytest.approx(slopes[0] * 10.0 + slopes[1] * 5.0)


# ---------------------------------------------------------------------- what is taken
@taken
def test_taken_goals_gain_by_positives_and_lose_by_negatives(text):
    A, B = np.meshgrid(np.arange(P + 1), np.arange(N + 1), indexing="ij")
    score = of(text).score(A, B)
    assert (np.diff(score, axis=0) >= -1e-9).all()
    assert (np.diff(score, axis=1) <= 1e-9).all()


FALLS, RISES = "falls with accepted positives", "rises with accepted negatives"
REFUSED = {
    "maximize predicted_rate": RISES,
    "maximize precision subject to predicted_rate >= 0.2": RISES,
    "maximize recall subject to abs(predicted_rate - prior) <= 0.05": FALLS,
    "maximize recall subject to precision <= 0.8": FALLS,
    "maximize cost({(1, 0): 5, (0, 1): 1})": FALLS,
}


@over("text", REFUSED)
def test_other_goals_are_refused_with_the_way_out(text):
    objective, *bound = text.split(" subject to ")
    what = bound[0] if bound else objective.split("{")[0]
    with pytest.raises(ShapeError, match=f"{re.escape(what)}.*{REFUSED[text]}.*PlugInClassifier"):
        of(text)


@over("text,named", [("maximize f1.min(sex)", "'sex'"), ("maximize recall.on('new')", "'new'")])
def test_groups_and_data_sets_are_refused(text, named):
    with pytest.raises(GoalError, match=f"{named}.*PlugInClassifier"):
        of(text)


def test_what_no_decision_changes_is_taken():
    # Idle, but neither falls nor rises.
    assert of("maximize recall subject to prior >= 0.1").violation(0.0, 0.0) == 0.0


# ---------------------------------------------------------------------- other totals
@taken
def test_other_totals_are_another_goal(text):
    anywhere = Tradeoff(Goal.parse(text), 1000.0, 1000.0, any_totals=True)
    for totals in ((N, P), (12.5, 700.0)):
        one, other = anywhere.with_totals(*totals), of(text, *totals)
        assert one.totals.tolist() == other.totals.tolist() == list(totals)
        A, B = grid_of(totals[1], totals[0], 9)
        np.testing.assert_allclose(one.score(A, B), other.score(A, B), atol=1e-11)
        np.testing.assert_allclose(one.violation(A, B), other.violation(A, B), atol=1e-11)
        for i in [None, *range(len(one.program.constraints))]:
            mine, theirs = one.slopes(2.5, 7.5, i), other.slopes(2.5, 7.5, i)
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    assert anywhere.totals.tolist() == [1000.0, 1000.0]


def test_whether_a_goal_is_monotone_may_depend_on_the_totals():
    goal = Goal.parse("maximize recall - 2 * predicted_rate")
    anywhere = Tradeoff(goal, 1000.0, 1000.0, any_totals=True)
    anywhere.with_totals(90.0, 10.0).require_monotone()
    with pytest.raises(ShapeError, match=FALLS):
        anywhere.with_totals(10.0, 90.0).require_monotone()
