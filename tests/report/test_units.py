"""Where units are drawn and not rows: a report says how many, how much they tell, how large."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from report.page_reading import checked, page_text, words_of
from setpoint import Confidence, GoalReport, certify, evaluate
from setpoint.rules import Threshold
from thinning import over

GOAL = "maximize precision subject to recall >= 0.7"
RULE = Threshold(0.5)


@cache
def drawn(n_units=100):
    """Scores, labels and customers, whose rows are like each other."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 15, n_units)
    unit = np.repeat(np.arange(n_units), sizes)
    own = rng.normal(size=n_units)[unit]
    y = (rng.random(len(unit)) < 1.0 / (1.0 + np.exp(-own))).astype(int)
    scores = 1.0 / (1.0 + np.exp(-2.0 * y - own - 0.8 * rng.normal(size=len(unit)) + 0.6))
    return scores, y, pd.Series(unit.astype(float), name="customer_id")


def measured(units, n_units=100):
    scores, y, _ = drawn(n_units)
    return evaluate(GOAL, y, (scores >= 0.5).astype(int), units=units)


@cache
def promised(**settings):
    scores, y, unit = drawn()
    how = Confidence(0.9, on_uncertified="nearest", **settings)
    return certify(RULE, GOAL, scores, y, units=unit, confidence=how).report


def test_every_face_says_how_many_units_and_how_much_their_rows_tell():
    report = measured(drawn()[2])
    counts = report.counts
    assert (counts.units, counts.units_called, counts.units_alone) == (100, "customers", 0)
    assert 1.2 < counts.design_effect < 14.0
    n, tell = counts.n_rows, counts.n_rows / counts.design_effect
    words = f"Design effect {counts.design_effect:.2g}: {n:,} rows tell as much as {tell:,.0f}."
    for face in (words_of(report), checked(page_text(report))):
        assert f"Measured on 100 customers, {n:,} rows; " in face
        assert words in face
    assert GoalReport.from_json(report.to_json()) == report
    assert "units" not in measured(None).to_dict()["counts"]


def test_effective_rows_are_those_of_a_share_that_varies_as_much():
    scores, y, unit = drawn()
    entry = measured(unit).constraints[0]
    hit = y * (scores >= 0.5)
    without = [hit[unit != u].sum() / y[unit != u].sum() for u in unit.unique()]
    share = entry.value
    variance = (1.0 - 1.0 / 100) * ((np.array(without) - share) ** 2).sum()
    assert entry.effective_rows == pytest.approx(share * (1.0 - share) / variance, rel=0.05)
    assert " independent ones tell as much): on new rows" in words_of(measured(drawn(12)[2], 12))
    # Nothing varies: each unit says as much as one row.
    known = evaluate(GOAL, y, y, units=unit)
    sums = np.bincount(unit.astype(int), y)
    assert known.constraints[0].effective_rows == pytest.approx(sums.sum() ** 2 / (sums**2).sum())


@over(
    ("change", "words"),
    [
        (lambda u: u.index, "The units have one row each: the same as without units."),
        (lambda u: u.where(u > 1.0), "rows the customers are not known: each counts as one."),
        (lambda u: u.where(u > 60.0, 0.0), "of the rows: another like it changes every value"),
        (lambda u: u // 10.0, "Few units: limits are rough ("),
    ],
)
def test_units_that_are_missing_small_large_or_few(change, words):
    assert words in words_of(measured(change(drawn()[2])))


def test_a_certificate_says_which_largest_unit_it_assumes_and_stands():
    report = promised()
    (shown,), guarantee = report.guarantee.constraints, report.guarantee
    assert (guarantee.units, guarantee.units_called, guarantee.largest_unit) == (
        100, "customers", None
    )  # fmt: skip
    _, y, unit = drawn()
    assert shown.largest == np.bincount(unit.astype(int), y).max() < shown.largest_allowed
    assert (
        "It is assumed that the customers that certify are drawn independently like those to "
        "come, and had no part in the choice of model, rule or order. None of them, nor of those "
        f"to come, has more rows than {shown.largest} that count in recall >= 0.7; it stands up "
        f"to {shown.largest_allowed}."
    ) in words_of(report)
    assert f"One rule was tested on 100 customers, {guarantee.rows:,} rows." in words_of(report)
    assert "Of all draws of these customers at most 10 % give" in words_of(report)
    # As if that had been stated.
    passed = [promised(largest_unit=shown.largest_allowed + k).is_certified for k in (0, 1)]
    assert passed == [True, False]


def test_units_that_count_for_less_are_counted_and_both_values_said():
    report, (given,) = promised(largest_unit=3), promised().guarantee.constraints
    (shown,), guarantee = report.guarantee.constraints, report.guarantee
    large = int((drawn()[2].value_counts() > 3).sum())
    assert (guarantee.largest_unit, guarantee.capped) == (3.0, large)
    assert shown.uncapped == pytest.approx(given.value)
    assert (
        f"Customers of more than 3 rows count as 3: {large} of 100; recall is then "
        f"{100 * shown.value:.1f} %, and {100 * given.value:.1f} % as given."
    ) in words_of(report)
    assert GoalReport.from_json(report.to_json()) == report


def test_rows_that_weigh_more_than_was_stated_are_counted():
    scores, y, _ = drawn()
    weight = np.where(np.arange(len(y)) % 10 == 0, 5.0, 1.0)
    how = Confidence(0.9, on_uncertified="nearest", largest_weight=2)
    report = certify(RULE, GOAL, scores, y, sample_weight=weight, confidence=how).report
    words = f"Rows that weigh more than 2 count as 2: {(weight > 2).sum()} of {len(y):,}"
    assert words in words_of(report)
    (shown,) = report.guarantee.constraints
    right = scores[y == 1] >= 0.5
    assert shown.uncapped == pytest.approx(np.average(right, weights=weight[y == 1]))
    assert report.counts.units == 0
