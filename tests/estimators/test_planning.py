"""rows_needed: from a pilot or from stated rates."""

import numpy as np
import pytest

from setpoint import GoalError, rows_needed

PRECISION = "maximize recall subject to precision >= 0.9"
RATES = {"prior": 0.1, "recall": 0.7, "precision": 0.93}


def pilot(tp=700, fn=300, fp=53, tn=8_947):
    true = np.repeat([1, 1, 0, 0], [tp, fn, fp, tn])
    return true, np.repeat([1, 0, 1, 0], [tp, fn, fp, tn])


def test_stated_rates_are_the_pilot_with_that_table():
    stated, found = rows_needed(PRECISION, rates=RATES), rows_needed(PRECISION, *pilot())
    assert stated.rows == pytest.approx(found.rows, rel=0.05)
    assert stated.constraints[0].exact
    assert stated.constraints[0].fewest == 290


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
    assert found.rows == pytest.approx(rows_needed(PRECISION, rates=RATES).rows, rel=0.02)


def test_more_confidence_power_and_smaller_margins_take_more_rows():
    rows = rows_needed(PRECISION, rates=RATES).rows
    assert rows_needed(PRECISION, rates=RATES, confidence=0.99).rows > rows
    assert rows_needed(PRECISION, rates=RATES, power=0.95).rows > rows
    own = rows_needed(f"{PRECISION} with confidence 0.99", rates=RATES)
    assert own.rows == rows_needed(PRECISION, rates=RATES, confidence=0.99).rows
    both = rows_needed(f"{PRECISION} and recall >= 0.6", rates=RATES)
    assert both.rows >= max(c.rows for c in both.constraints)
    assert both.constraints[0].rows == rows
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


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"rates": RATES, "confidence": 1.0}, ValueError, "confidence is a number above 0"),
        ({"rates": RATES, "power": 0}, ValueError, "power is a number above 0"),
        ({"rates": {"prior": 0.1, "recall": 0.7}}, ValueError, "takes 'prior' and two of"),
        ({"rates": {**RATES, "recal": 0.1}}, ValueError, "'recal' is not one of"),
        ({"rates": {**RATES, "recall": 1.7}}, ValueError, "recall is a share between 0 and 1"),
        ({"rates": {"prior": 0.1, "recall": 0.9, "predicted_rate": 0.05}}, ValueError, "no table"),
        ({}, TypeError, "takes y_true and y_pred of a pilot, or rates"),
        ({"y_true": [0, 1]}, TypeError, "takes y_true and y_pred of a pilot, or rates"),
        ({"goal": "maximize f1", "rates": RATES}, GoalError, "has no constraint"),
    ],
)
def test_wrong_arguments_are_named(given, error, message):
    with pytest.raises(error, match=message):
        rows_needed(**({"goal": PRECISION} | given))
