"""Statements, p-values and plans at the edges of what they take."""

import math

import numpy as np
import pytest

from guarantees.test_p_values import built, confusion, p_of
from setpoint import Confidence, GoalError, Monitor, NotCertifiable, solve
from setpoint.guarantees import Pilot, fewest_rows
from setpoint.guarantees.p_values import PValues, betting_p
from thinning import over

# ---------------------------------------------------------------------- p-values
TWO = [[[40, 2], [6, 30]], [[30, 3], [2, 20]]]
PARTS = [[[40, 2], [6, 30.5]], [[30, 3], [2, 20]]]


@over("text, tables, kind", [
    ("recall.on(g=a) - recall.on(g=b) >= -0.2", TWO, "melding"),
    ("recall.on(g=a) - recall.on(g=b) >= -0.2", PARTS, "drawn"),  # parts of rows
    ("recall.on(g=a) - recall >= -0.2", TWO, "drawn"),  # the same rows
    ("recall.on(g=a) - fbeta(2).on(g=b) >= -0.2", TWO, "drawn"),  # three sorts of rows
    ("tp.on(g=a) / fp.on(g=a) - recall.on(g=b) >= 9", TWO, "drawn"),  # one sort is infinite
    ("recall.on(g=a) * recall.on(g=b) + recall.on(g=a) >= 1.5", TWO, "drawn"),
    ("recall.on(g=a) - recall.on(g=b) + log(prior) * 0 >= -0.2", TWO, "melding"),
])  # fmt: skip
def test_only_shares_of_whole_and_different_rows_are_melded(text, tables, kind):
    found = p_of(text, tables)
    assert found.kind == kind
    assert 1e-4 < found.p < 0.5


def test_a_bound_that_every_row_meets_needs_one_row():
    for counts, p in (([3.0, 0.0], 0.0), ([0.0, 0.0], 1.0)):
        assert betting_p(np.array([1.0, 0.5]), np.ones(2), np.array(counts), 0.5, 1.0) == p


def test_a_rate_without_an_end_shows_nothing_by_bets_and_has_no_limit():
    table = [[80, 12], [9, 99]]
    text = "tp / fp + recall >= 1"
    assert p_of(text, table, strict=True).p < 1e-9
    assert p_of(text, table, strict=True, fractional=True).p == 1.0
    c, counted = built(text, np.array([table], float))
    assert PValues(counted).limit(c, 0.05) is None


# ---------------------------------------------------------------------- rows needed, and plans
@over("n_positive", [20, 28])
def test_rows_needed_are_those_of_a_perfect_record(n_positive):
    y = (np.arange(400) < n_positive).astype(int)
    scores = np.random.default_rng(0).normal(1.5 * y)
    how = Confidence(0.95, on_uncertified="nearest")
    with pytest.warns(UserWarning, match="takes 29 rows"):
        found = solve("maximize precision s.t. recall >= 0.9", scores, y, confidence=how)
    assert found.report.guarantee.state == "not certified"
    assert found.report.guarantee.rows_needed == math.ceil(400 * 29 / n_positive)


def test_where_a_bound_that_is_not_promised_leaves_no_certified_cutoff():
    y = (np.arange(400) < 100).astype(int)
    scores = np.random.default_rng(0).normal(1.5 * y)
    rate = np.mean(scores >= np.sort(scores[:100])[10])  # a recall of 0.9
    goal = (
        "maximize precision subject to recall >= 0.9 with confidence 0.95 and predicted_rate <= {}"
    )
    assert solve(goal.format(2 * rate), scores, y).report.guarantee.state == "certified"
    with pytest.raises(NotCertifiable):
        solve(goal.format(rate), scores, y)


def test_one_of_several_takes_the_fewest_rows_and_all_the_most():
    def rows(text, level):
        pilot = Pilot.of(f"maximize accuracy s.t. {text} >= 0.8", confusion(np.array(TWO, float)))
        least = fewest_rows(pilot.parts[0], pilot.counted, level).rows
        return least, pilot.plan(0, level).rows(0.8)

    each = [rows(f"recall.on(g={g})", 0.025) for g in "ab"]
    assert rows("recall.max(g)", 0.05) == tuple(map(min, zip(*each, strict=True)))
    least, planned = zip(*(rows(f"recall.on(g={g})", 0.05) for g in "ab"), strict=True)
    found = rows("recall.min(g)", 0.05)
    assert found[0] == max(least)
    assert found[1] >= max(planned)


# ---------------------------------------------------------------------- watching row by row
@over("text", [
    "recall + precision >= 1", "recall - predicted_rate >= 0", "g_mean >= 0.5",
    "f1.on(sex=f) - f1.on(sex=m) >= -0.1", "recall - recall.on(sex=f) >= -0.1",
    "tp.on(sex=f) / fp.on(sex=f) - recall.on(sex=m) >= 0",
])  # fmt: skip
def test_what_is_not_a_sum_over_rows_is_not_watched(text):
    with pytest.raises(GoalError, match="cannot be watched row by row"):
        Monitor(goal=f"maximize f1 s.t. {text}", classes=[0, 1]).update_decisions([1, 0], [1, 0])
