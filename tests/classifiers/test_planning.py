"""rows_needed: from a pilot or from stated rates."""

from functools import cache

import numpy as np
import pytest

from setpoint import GoalError, rows_needed
from thinning import over

PRECISION = "maximize recall subject to precision >= 0.9"
GAP = "maximize recall subject to recall.difference(sex) <= 0.1"
RATES = {"prior": 0.1, "recall": 0.7, "precision": 0.93}


@cache
def plainly():
    """The rows that the rates alone ask for."""
    return rows_needed(PRECISION, rates=RATES).rows


def pilot(tp=700, fn=300, fp=53, tn=8_947):
    true = np.repeat([1, 1, 0, 0], [tp, fn, fp, tn])
    return true, np.repeat([1, 0, 1, 0], [tp, fn, fp, tn])


def test_stated_rates_are_the_pilot_with_that_table():
    stated, found = rows_needed(PRECISION, rates=RATES), rows_needed(PRECISION, *pilot())
    assert stated.rows == pytest.approx(found.rows, rel=0.05)
    assert stated.constraints[0].exact
    assert stated.constraints[0].fewest == 290


def test_the_same_table_stated_and_counted_takes_the_same_rows():
    goal = f"{PRECISION} and recall >= 0.65 and fbeta(2) >= 0.6"
    pairs = pilot(tp=750, fn=250, fp=50, tn=8_950)
    rates = {"prior": 0.1, "recall": 0.75, "precision": 0.9375}
    stated, counted = rows_needed(goal, rates=rates), rows_needed(goal, *pairs)
    assert stated.rows == counted.rows
    for one, other in zip(stated.constraints, counted.constraints, strict=True):
        assert one.rows == other.rows
        assert one.trials == other.trials
        assert one.value == pytest.approx(other.value, abs=1e-8)


def test_groups_stated_and_counted_take_the_same_rows():
    true, decided = (np.concatenate(x) for x in zip(pilot(), pilot(tp=800, fn=200), strict=True))
    sex = np.repeat(["f", "m"], 10_000)
    counted = rows_needed(GAP, true, decided, sensitive_features={"sex": sex})
    one = {"share": 0.5, "prior": 0.1, "false_positive_rate": 53 / 9_000}
    two = rows_needed(
        GAP.replace("0.1", "0.15"),
        rates={"sex=f": {**one, "recall": 0.7}, "sex=m": {**one, "recall": 0.8}},
    )
    assert counted.rows is None  # the gap is at its bound
    counted = rows_needed(
        GAP.replace("0.1", "0.15"), true, decided, sensitive_features={"sex": sex}
    )
    assert two.rows == counted.rows > 0


def test_one_rate_will_do_where_the_constraint_has_no_other():
    goal = "maximize precision subject to recall >= 0.65"
    one = rows_needed(goal, rates={"prior": 0.1, "recall": 0.7})
    assert one.rows == rows_needed(goal, rates=RATES).rows
    cap = "maximize recall subject to false_positive_rate <= 0.01"
    assert rows_needed(cap, rates={"prior": 0.1, "specificity": 0.995}).rows > 0
    cap = "maximize recall subject to predicted_rate <= 0.1"
    assert rows_needed(cap, rates={"prior": 0.1, "predicted_rate": 0.08}).rows > 0
    with pytest.raises(ValueError, match=r"does not settle precision >= 0\.9; state a second"):
        rows_needed(PRECISION, rates={"prior": 0.1, "precision": 0.93})


def test_margins_of_a_cost_have_its_size_and_bounds_stay_in_range():
    costs = "minimize error_rate s.t. cost({(0, 1): 100, (1, 0): 500}) <= 20"
    true, decided = pilot(tp=850, fn=150, fp=10)
    assert rows_needed(costs, true, decided).margins == (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
    cap = "maximize recall subject to false_positive_rate <= 0.05"
    found = rows_needed(cap, rates={"prior": 0.1, "false_positive_rate": 0.04})
    assert all(n is not None for row in found.table for n in row)
    floor = "maximize precision subject to recall >= 0.04"
    found = rows_needed(floor, rates={"prior": 0.1, "recall": 0.045})
    assert [n is None for n in found.table[0]] == [False] * 4 + [True] * 2


def test_the_confidence_asked_for_is_in_the_table():
    found = rows_needed(PRECISION, rates=RATES, confidence=0.97)
    assert found.confidences == (0.8, 0.9, 0.95, 0.97, 0.99)
    assert found.table[3][found.margins.index(0.03)] == pytest.approx(found.rows, rel=0.01)


@pytest.mark.parametrize(
    "more",
    [
        {"recall": 0.7, "false_positive_rate": 0.00585424},
        {"recall": 0.7, "specificity": 0.99414576},
        {"recall": 0.7, "predicted_rate": 0.07526882},
        {"precision": 0.93, "predicted_rate": 0.07526882},
        {"precision": 0.93, "false_positive_rate": 0.00585424},
        {"predicted_rate": 0.07526882, "false_positive_rate": 0.00585424},
    ],
)
def test_any_two_rates_settle_the_table(more):
    found = rows_needed(PRECISION, rates={"prior": 0.1, **more})
    assert found.constraints[0].value == pytest.approx(0.93, abs=1e-4)
    assert found.rows == pytest.approx(plainly(), rel=0.02)


def test_more_confidence_power_and_smaller_margins_take_more_rows():
    rows, surer = plainly(), rows_needed(PRECISION, rates=RATES, confidence=0.99).rows
    assert surer > rows
    assert rows_needed(PRECISION, rates=RATES, power=0.95).rows > rows
    own = rows_needed(f"{PRECISION} with confidence 0.99", rates=RATES)
    assert own.rows == surer
    both = rows_needed(f"{PRECISION} and recall >= 0.6", rates=RATES)
    assert both.rows >= rows
    table = np.array(both.table, float)
    assert (np.diff(table, axis=0) > 0).all()
    assert (np.diff(table, axis=1) < 0).all()


def test_what_the_pilot_does_not_meet():
    found = rows_needed("maximize recall subject to precision >= 0.95", *pilot())
    assert found.rows is None
    assert "no number of rows certifies it" in str(found)
    assert found.to_dict()["rows"] is None


def test_in_words():
    text = str(rows_needed(PRECISION, rates=RATES))
    assert "rows that take no part in the fit certify this goal with a chance of 80" in text
    assert "confidence" in text
    assert max(map(len, text.splitlines())) < 160


@over(
    ("given", "error", "message"),
    [
        ({"rates": RATES, "confidence": 1.0}, ValueError, "`confidence` is a number above 0"),
        ({"rates": RATES, "power": 0}, ValueError, "`power` is a number above 0"),
        ({"rates": {"prior": 0.1}}, ValueError, "takes 'prior' and two of"),
        ({"rates": {"prior": 0.1, "recall": 0.7}}, ValueError, "does not settle precision >= 0.9"),
        ({"rates": {**RATES, "predicted_rate": 0.1}}, ValueError, "takes 'prior' and two of"),
        ({"rates": {**RATES, "recal": 0.1}}, ValueError, "'recal' is not a rate .*'recall'"),
        ({"rates": {"sex=f": RATES}}, ValueError, "names no column"),
        ({"rates": [0.1]}, TypeError, "`rates` is a mapping"),
        ({"rates": RATES, "pos_label": 1}, TypeError, "`pos_label` belongs to the rows of a pilot"),
        (
            {"rates": {"prior": 0.1, "recall": 0.9, "precision": 0.01}},
            ValueError,
            "no table of two classes has",
        ),
        ({"goal": GAP, "rates": RATES}, ValueError, "names the column 'sex', so each group has"),
        (
            {"goal": GAP, "rates": {"sex=f": {**RATES, "share": 0.5}}},
            ValueError,
            "the shares of the groups sum to 0.5",
        ),
        ({"goal": GAP, "rates": {"sex=f": RATES}}, ValueError, "'share' is missing"),
        ({"goal": GAP, "rates": {"age=f": RATES}}, ValueError, "a group is written 'sex=value'"),
        (
            {"goal": "maximize recall s.t. churn <= 0.1", "rates": RATES},
            ValueError,
            "deployed model, of which stated rates say nothing",
        ),
        ({"rates": {**RATES, "recall": 1.7}}, ValueError, "recall is a share between 0 and 1"),
        ({"rates": {"prior": 0.1, "recall": 0.9, "predicted_rate": 0.05}}, ValueError, "no table"),
        ({}, TypeError, "takes `y_true` and `y_pred` of a pilot, or `rates`"),
        ({"y_true": [0, 1]}, TypeError, "takes `y_true` and `y_pred` of a pilot, or `rates`"),
        ({"goal": "maximize f1", "rates": RATES}, GoalError, "has no constraint"),
    ],
)
def test_wrong_arguments_are_named(given, error, message):
    with pytest.raises(error, match=message):
        rows_needed(**({"goal": PRECISION} | given))


def test_sums_of_a_column_are_not_planned():
    goal = "maximize recall subject to recall.weighted(amount) >= 0.5 and precision >= 0.5"
    with pytest.raises(GoalError, match="carry the sum"):
        rows_needed(goal, rates={"prior": 0.1, "recall": 0.7})
