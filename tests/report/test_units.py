"""Units: shares in per cent, money as amounts, what may be negative as numbers."""

import math

import pytest

from setpoint import Goal
from setpoint.goals import expression_of
from setpoint.program import range_of
from setpoint.report import percent, shown, unit_of
from setpoint.report.numbers import asked


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [
        ("recall", "share", "12.3 %"),
        ("f1", "share", "12.3 %"),
        ("macro_f1", "share", "12.3 %"),
        ("recall.difference(g)", "share", "12.3 %"),
        ("recall.min(g)", "share", "12.3 %"),
        ("recall - recall.baseline()", "share", "12.3 %"),
        ("recall + 0.5", "share", "12.3 %"),
        ("precision - 0.1 - recall", "share", "12.3 %"),
        ("recall + precision", "number", "0.1234"),
        ("recall - precision - specificity", "number", "0.1234"),
        ("cost({(0, 1): 5})", "amount", "0.12"),
        ("cost({(0, 1): 5}).difference(g)", "amount", "0.12"),
        ("recall - 0.1 * cost({(0, 1): 5})", "amount", "0.12"),
        ("mcc", "number", "0.1234"),
        ("mcc.difference(g)", "number", "0.1234"),
        ("2 * recall", "number", "0.1234"),
        ("abs(recall - precision)", "number", "0.1234"),
        ("recall / precision", "number", "0.1234"),
        ("win_loss_ratio", "number", "0.1234"),
        ('blackbox("shop:revenue")', "number", "0.1234"),
    ],
)
def test_unit_of_an_expression(text, unit, said):
    assert unit_of(expression_of(text)) == unit
    assert shown(0.1234, unit) == said
    assert shown(None, unit) == "-"
    assert (shown(math.inf, unit), shown(-math.inf, unit)) == ("inf", "-inf")
    assert shown(math.nan, unit) == "nan"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("recall", (0, 1)),
        ("mcc", (-1, 1)),
        ("mcc.difference(g)", (0, 2)),
        ("mcc.min(g)", (-1, 1)),
        ("recall.baseline()", (0, 1)),
        ("recall.ratio(g)", (0, 1)),
        ("recall + precision", (0, 2)),
    ],
)
def test_ranges(text, found):
    assert range_of(expression_of(text)) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("precision >= 0.5", "at least 50 %"),
        ("precision >= 0.985", "at least 98.5 %"),
        ("predicted_rate <= 0.0015", "at most 0.15 %"),
        ("cost({(0, 1): 5}) <= 3.5", "at most 3.5"),
        ("mcc >= 0.25", "at least 0.25"),
        ("precision >= 1", "at least 100 %"),
    ],
)
def test_bounds_are_as_short_as_they_were_written(text, words):
    (constraint,) = Goal.parse(f"maximize recall subject to {text}").constraints
    assert asked(constraint, constraint.rhs.value) == words


@pytest.mark.parametrize("x", [0.0, 1.0, 1e-9, 4.96e-4, 0.4992, 0.99951, 1 - 1e-9, -0.25])
def test_a_share_reads_as_nothing_or_all_only_where_it_is(x):
    said = percent(x)
    assert (said in ("0 %", "0.0 %")) is (x == 0)
    assert (said in ("100 %", "100.0 %")) is (x == 1)
    assert float(said.removesuffix(" %")) == pytest.approx(100 * x, abs=0.0501)
