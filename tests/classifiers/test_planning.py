"""rows_needed: from a pilot or from stated rates."""

from functools import cache

import numpy as np
import pytest

from setpoint import GoalError, rows_needed
from setpoint.errors import InputError, InputTypeError
from thinning import over

PRECISION = "maximize recall subject to precision >= 0.96"
GAP = "maximize recall subject to recall.difference(sex) <= 0.1"
RATES = {"prior": 0.1, "recall": 0.7, "precision": 0.99}


@cache
def plainly():
    """The rows that the rates alone ask for."""
    return rows_needed(PRECISION, rates=RATES)


def pilot(tp=700, fn=300, fp=53, tn=8_947):
    true = np.repeat([1, 1, 0, 0], [tp, fn, fp, tn])
    return true, np.repeat([1, 0, 1, 0], [tp, fn, fp, tn])


def test_stated_rates_are_the_pilot_with_that_table():
    assert plainly().constraints[0].exact
    assert plainly().constraints[0].fewest == 740
    goal = f"{PRECISION} and recall >= 0.9 and fbeta(2) >= 0.9"
    rates = {"prior": 0.1, "recall": 0.96, "precision": 0.99}
    stated = rows_needed(goal, rates=rates)
    counted = rows_needed(goal, *pilot(tp=4_752, fn=198, fp=48, tn=44_502))
    assert stated.rows == counted.rows
    for one, other in zip(stated.constraints, counted.constraints, strict=True):
        assert one.rows == other.rows
        assert one.trials == other.trials
        assert one.value == pytest.approx(other.value, abs=1e-8)


def test_groups_stated_and_counted_take_the_same_rows():
    true, decided = (np.concatenate(x) for x in zip(pilot(), pilot(tp=800, fn=200), strict=True))
    columns, wider = {"sex": np.repeat(["f", "m"], 10_000)}, GAP.replace("0.1", "0.15")
    one = {"share": 0.5, "prior": 0.1, "false_positive_rate": 53 / 9_000}
    rates = {"sex=f": {**one, "recall": 0.7}, "sex=m": {**one, "recall": 0.8}}
    counted = rows_needed(wider, true, decided, sensitive_features=columns)
    assert rows_needed(wider, rates=rates).rows == counted.rows > 0
    at_its_bound = rows_needed(GAP, true, decided, sensitive_features=columns)
    assert at_its_bound.rows is at_its_bound.to_dict()["rows"] is None
    assert "no number of rows certifies it" in str(at_its_bound)
    assert f"{counted.rows:,} rows that take no part in the fit certify this goal" in str(counted)


def test_one_rate_will_do_where_the_constraint_has_no_other():
    goal = "maximize precision subject to recall >= 0.9"
    one = rows_needed(goal, rates={"prior": 0.1, "recall": 0.96})
    two = rows_needed(goal, rates={"prior": 0.1, "recall": 0.96, "specificity": 0.99414576})
    assert one.rows == two.rows
    assert two.constraints[0].value == pytest.approx(0.96, abs=1e-4)
    for cap, rate in (
        ("false_positive_rate <= 0.01", {"specificity": 0.995}),
        ("predicted_rate <= 0.1", {"predicted_rate": 0.08}),
    ):
        assert rows_needed(f"maximize recall s.t. {cap}", rates={"prior": 0.1, **rate}).rows > 0


def test_margins_of_a_cost_have_its_size_and_bounds_stay_in_range():
    costs = "minimize error_rate s.t. cost({(0, 1): 100, (1, 0): 500}) <= 20"
    found = rows_needed(costs, *pilot(tp=850, fn=150, fp=10))
    assert found.margins == (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
    cap = "maximize recall subject to false_positive_rate <= 0.05"
    found = rows_needed(cap, rates={"prior": 0.1, "false_positive_rate": 0.04})
    assert all(n is not None for row in found.table for n in row)
    floor = "maximize precision subject to recall >= 0.04"
    found = rows_needed(floor, rates={"prior": 0.1, "recall": 0.045})
    assert [n is None for n in found.table[0]] == [False] * 4 + [True] * 2


def test_more_confidence_power_and_smaller_margins_take_more_rows():
    rows, surer = plainly().rows, rows_needed(PRECISION, rates=RATES, confidence=0.99).rows
    assert surer > rows
    assert rows_needed(PRECISION, rates=RATES, power=0.95).rows > rows
    assert rows_needed(f"{PRECISION} with confidence 0.99", rates=RATES).rows == surer
    asked = rows_needed(PRECISION, rates=RATES, confidence=0.97)
    assert rows < asked.rows < surer
    table = np.array(asked.table, float)
    assert (np.diff(table, axis=0) > 0).all()
    assert (np.diff(table, axis=1) < 0).all()
    assert asked.confidences == (0.8, 0.9, 0.95, 0.97, 0.99)
    assert asked.table[3][asked.margins.index(0.03)] == pytest.approx(asked.rows, rel=0.01)


CHURN = "maximize recall s.t. churn <= 0.1"
SUMS = "maximize recall subject to recall.weighted(amount) >= 0.5 and precision >= 0.5"


@over(
    "given, error, message",
    [
        ({"rates": RATES, "confidence": 1.0}, InputError, "`confidence` is a number above 0"),
        ({"rates": RATES, "power": 0}, InputError, "`power` is a number above 0"),
        ({"rates": {**RATES, "predicted_rate": 0.1}}, InputError, "takes 'prior' and two of"),
        ({"rates": {"prior": 0.1, "precision": 0.99}}, InputError, "precision >= 0.96; state"),
        ({"rates": {**RATES, "recal": 0.1}}, InputError, "'recal' is not a rate .*'recall'"),
        ({"rates": {**RATES, "recall": 1.7}}, InputError, "recall is a share between 0 and 1"),
        ({"rates": {"prior": 0.1, "recall": 0.9, "predicted_rate": 0.05}}, InputError, "no table"),
        ({"rates": {"sex=f": RATES}}, InputError, "names no column"),
        ({"goal": GAP, "rates": RATES}, InputError, "names the column 'sex', so each group has"),
        ({"goal": GAP, "rates": {"sex=f": {**RATES, "share": 0.5}}}, InputError, "sum to 0.5"),
        ({"goal": GAP, "rates": {"sex=f": RATES}}, InputError, "'share' is missing"),
        ({"goal": GAP, "rates": {"age=f": RATES}}, InputError, "a group is written 'sex=value'"),
        ({"rates": [0.1]}, InputTypeError, "`rates` is a mapping"),
        ({"rates": RATES, "pos_label": 1}, InputTypeError, "`pos_label` belongs to the rows of a"),
        ({"goal": CHURN, "rates": RATES}, InputError, "of which stated rates say nothing"),
        ({"goal": "maximize f1", "rates": RATES}, GoalError, "has no constraint"),
        ({"goal": SUMS, "rates": RATES}, GoalError, "carry the sum"),
        ({}, InputTypeError, "takes `y_true` and `y_pred` of a pilot, or `rates`"),
    ],
)
def test_wrong_arguments_are_named(given, error, message):
    with pytest.raises(error, match=message):
        rows_needed(**{"goal": PRECISION, **given})
