"""A rule and the deployed model on the same rows: what changes, and which is better."""

from dataclasses import replace

import numpy as np
import pytest

from report.page_reading import page_text, said, words_of
from report.pages import PLAIN
from setpoint import BlackBox, GoalReport, evaluate
from setpoint.report import Comparison, compared
from thinning import over

TITLE = "Against the deployed model"
RNG = np.random.default_rng(0)
N = 4_000
Y = (RNG.random(N) < 0.2).astype(int)
SCORE = RNG.normal(size=N) + 1.2 * Y
NEW, OLD = (SCORE > 0.9).astype(int), (SCORE > 1.8).astype(int)
GROUP = RNG.choice(["a", "b"], N)
WEIGHT = RNG.integers(0, 3, N).astype(float)


def rows(classes=3, seed=0):
    rng = np.random.default_rng(seed)
    true, old, new = rng.integers(0, classes, (3, 200))
    return true, old, new, rng.integers(0, 3, 200).astype(float)


@over("classes", [2, 3])
def test_shares_by_hand(classes):
    true, old, new, weight = rows(classes)
    found = compared(true, old, new)
    assert found.rows == 200
    assert found.changed == np.mean(old != new)
    assert found.wins == np.mean((old != true) & (new == true))
    assert found.losses == np.mean((old == true) & (new != true))
    # A weight is a number of rows, and what draws counts in expectation.
    again = np.repeat(np.arange(200), weight.astype(int))
    weighted = compared(true, old, new, weight)
    plain = compared(true[again], old[again], new[again])
    assert weighted.rows == np.count_nonzero(weight)
    other, kinds = rows(classes, seed=1)[2], np.eye(classes)
    drawn = compared(true, old, 0.25 * kinds[new] + 0.75 * kinds[other], weight)
    assert compared(true, old, kinds[new], weight) == weighted
    two = compared(true, old, other, weight)
    for name in ("changed", "wins", "losses"):
        assert getattr(weighted, name) == pytest.approx(getattr(plain, name), abs=1e-15)
        mean = 0.25 * getattr(weighted, name) + 0.75 * getattr(two, name)
        assert getattr(drawn, name) == pytest.approx(mean, abs=1e-12)


def test_no_changes_no_labels_and_rows_that_are_deferred():
    true, old, *_ = rows()
    found = compared(true, old, old)
    assert found == Comparison(200, 0.0, 0.0, 0.0)
    assert found.fresh_labels is found.fresh_rows is None
    # What a mixture's weights leave behind is not a change.
    assert compared(true, old, np.eye(3)[old] * (1 - 1e-16)) == found
    unknown = compared(None, old, (old + 1) % 3)
    assert unknown == Comparison(200, 1.0)
    assert unknown.wins is unknown.losses is unknown.fresh_labels is None
    with pytest.raises(ValueError, match="weights sum to zero"):
        compared([0, 1], [0, 1], [0, 1], [0.0, 0.0])
    # A deferred row is neither changed nor won nor lost.
    deferred = [2, 2, 1, 0]
    found = compared([1, 1, 0, 0], [0, 1, 0, 0], deferred, defer=2)
    assert (found.changed, found.wins, found.losses) == (0.25, 0.0, 0.25)
    assert compared([1, 1, 0, 0], [0, 1, 0, 0], np.eye(3)[deferred], defer=2) == found


@over("goal", ["recall", "minimize cost({(1, 0): 5, (0, 1): 1})", "g_mean"])
def test_the_difference_is_of_the_goals_own_objective(goal):
    found = evaluate(goal, Y, NEW, baseline=OLD).deployed
    ours, todays = (evaluate(goal, Y, d).objective for d in (NEW, OLD))
    assert found.objective == pytest.approx(todays.value, abs=1e-12)
    difference = found.difference
    assert difference.value == pytest.approx(ours.value - todays.value, abs=1e-12)
    assert difference.low < difference.value < difference.high
    if goal == "recall":  # pairs tell more than two samples
        apart = np.hypot(*(e.high - e.low for e in (ours, todays)))
        assert difference.high - difference.low < 0.9 * apart


def test_the_deployed_models_constraints_and_counts():
    goal = (
        "maximize recall subject to precision >= 0.5 with confidence 0.99 and recall.min(g) >= 0.1"
    )
    report = evaluate(goal, Y, NEW, baseline=OLD, sensitive_features={"g": GROUP})
    alone = evaluate(goal, Y, OLD, sensitive_features={"g": GROUP})
    for found, wanted in zip(report.deployed.constraints, alone.constraints, strict=True):
        assert (found.text, found.level) == (wanted.text, wanted.level)
        numbers = (wanted.value, wanted.low, wanted.high)
        assert (found.value, found.low, found.high) == pytest.approx(numbers, abs=1e-12)
    assert report.deployed.confusion == alone.counts.confusion


def test_objectives_with_and_without_an_interval():
    y = RNG.integers(0, 3, 600)
    new, old = (np.where(RNG.random(600) < share, y, k) for k, share in ((0, 0.8), (1, 0.6)))
    found = evaluate("macro_f1", y, new, baseline=old).deployed
    assert found.difference.verdict == "shown"
    metric = BlackBox(lambda y_true, y_pred: float(np.mean(y_true == y_pred)))
    found = evaluate(metric, Y, NEW, baseline=OLD).deployed
    assert found.difference.value == pytest.approx(np.mean(NEW == Y) - np.mean(OLD == Y))
    assert found.difference.low is None
    goal = "maximize accuracy.on('hard') subject to recall >= 0.1"
    report = evaluate(goal, Y, NEW, baseline=OLD, datasets={"hard": (Y[:50], NEW[:50])})
    assert report.deployed.difference is None


def test_prices_stand_beside_each_other():
    goal = "minimize cost({(1, 0): 5, (0, 1): 1})"
    prices = evaluate(goal, Y, NEW, baseline=OLD).section("prices")
    values = (prices.rule, prices.constants[0][1], prices.constants[1][1], prices.deployed)
    for value, decided in zip(values, (NEW, 0 * Y, 0 * Y + 1, OLD), strict=True):
        assert value == pytest.approx(evaluate(goal, Y, decided).objective.value, abs=1e-12)
    (line,) = prices.lines()
    assert "accepting nobody" in line
    assert "the deployed model" in line
    assert evaluate("recall", Y, NEW).section("prices") is None


@over(
    ("objective", "adds_up"),
    [
        ("{c}", True), ("2 * {c} + 0.1 * predicted_rate", True), ("{c} / 4 - 1", True),
        ("{c} / recall", False), ("{c} * precision", False), ("log({c})", False),
    ],
)  # fmt: skip
def test_money_is_for_what_adds_up_over_rows(objective, adds_up):
    goal = "minimize " + objective.format(c="cost({(0, 1): 5, (1, 0): 1})")
    assert (evaluate(goal, Y, NEW).section("prices") is not None) == adds_up


SENTENCES = [
    (Comparison(1000, 0.0, 0.0, 0.0), ["No decision on 1,000 rows changes."]),
    (Comparison(1, 0.3), [
        "30 % of the decisions on 1 row change (churn).",
        "Without labels it is unknown which of the changes are right."]),
    (Comparison(90, 0.5, 0.2, 0.1), [
        "50 % of the decisions on 90 rows change (churn): 20 % from wrong to right (wins), 10 % "
        "from right to wrong (losses), 20 % from one wrong class to another.",
        "To show with 95 % confidence that it is more often right, label fresh rows on which the "
        "two models differ until 58 of them are wins or losses; that takes about 97 labels and 194 "
        "rows on average. If the shares above hold for them too, the one-sided sign test then "
        "succeeds in 80 % of cases."]),
]  # fmt: skip


@over(("found", "sentences"), SENTENCES)
def test_every_face_says_it_and_json_brings_it_back(found, sentences):
    report = replace(PLAIN, deployed=found)
    assert said(report, "apart") == sentences
    assert f"{TITLE} - {' - '.join(sentences)}" in words_of(report)
    listed = "".join(f"<li>{one}</li>" for one in sentences)
    assert f"<strong>{TITLE}</strong></p><ul>{listed}</ul>" in report._repr_html_()
    page = page_text(report)
    assert page.count(f"<h2>{TITLE}</h2>") == 1
    assert " ".join(f"<p>{one}</p>" for one in sentences) in words_of(page)
    data = report.to_dict()
    assert data["deployed"]["fresh_labels"] == found.fresh_labels
    assert data["deployed"]["fresh_rows"] == found.fresh_rows
    # Another writer of JSON may turn 0.0 into 0.
    data["deployed"].update({k: int(v) for k, v in data["deployed"].items() if v == 0})
    for back in (GoalReport.from_json(report.to_json()), GoalReport.from_dict(data)):
        assert (back, back.deployed) == (report, found)
        assert isinstance(back.deployed.changed, float)
