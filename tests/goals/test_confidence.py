"""A constraint may say how sure it is to be kept on new rows."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

from setpoint import Goal, GoalError, GoalSyntaxError, maximize
from setpoint.goals import Const, goal_in_words
from setpoint.metrics import precision, recall
from setpoint.search import vary_of
from thinning import over

TEXT = "maximize recall subject to precision >= 0.9 with confidence 0.99"


@over("text", [
    TEXT,
    "maximize recall with precision >= 0.9 with confidence 0.99",
    "maximize recall s.t. precision >= 90% with 99% confidence",
    "maximize recall s.t. precision at least 0.9 with 99 % confidence",
    "maximize recall s.t. precision >= 0.9 with confidence 99 %",
    "maximize recall subject to (precision >= 0.9 with confidence .99)",
    "maximize recall subject to (precision >= 0.9) With Confidence 9.9e-1",
])  # fmt: skip
def test_ways_to_write_it(text):
    goal = Goal.parse(text)
    assert str(goal) == TEXT
    assert goal == maximize(recall).subject_to((precision >= 0.9).with_confidence(0.99))
    assert goal_in_words(goal).endswith("precision at least 0.9 (with 99 % confidence)")
    for vary in ("precision", "precision >= 0.9", str(goal.constraints[0]), precision >= 0.9):
        assert vary_of(goal, vary) == (goal, 0)


def test_a_confidence_belongs_to_what_it_follows():
    goal = Goal.parse(
        "maximize recall with 0.3 <= precision <= 0.5 with confidence 0.99, f1 >= 0.1 and "
        "(churn <= 0.2 and accuracy >= 0.6) with 95% confidence"
    )
    assert [c.confidence for c in goal.constraints] == [0.99, 0.99, None, 0.95, 0.95]
    assert str(goal) == (
        "maximize recall subject to precision >= 0.3 with confidence 0.99 and precision <= 0.5 "
        "with confidence 0.99 and f1 >= 0.1 and churn <= 0.2 with confidence 0.95 "
        "and accuracy >= 0.6 with confidence 0.95"
    )
    assert Goal.parse(str(goal)) == goal
    named = "recall.on(confidence='with confidence .9') s.t. f1.min(confidence) >= .1"
    assert Goal.parse(f"maximize {named}").needs.names == ("confidence",)


def test_it_is_part_of_the_value():
    plain, sure = precision >= 0.9, (precision >= 0.9).with_confidence(0.99)
    assert plain != sure
    assert sure.with_confidence(0.9) == plain.with_confidence(np.float32(0.9)).with_confidence(0.9)
    assert pickle.loads(pickle.dumps(sure)) == sure
    assert replace(sure, rhs=Const(0.8)).confidence == 0.99


@over("value", [0, 1, float("nan"), 10**400, "0.9", True, None])
def test_it_is_a_number_between_0_and_1(value):
    error = TypeError if value is True or isinstance(value, (str, type(None))) else GoalError
    with pytest.raises(error, match=r"^`confidence` is a number above 0 and below 1, such as"):
        (precision >= 0.9).with_confidence(value)


@over("text, words, place", [
    ("recall s.t. f1 >= .1 with confidence 0", "above 0 and below 1, such as 0.99, got 0,", 31),
    ("recall s.t. f1 >= .1 with confidence 100%", "below 1, such as 0.99, got 1.0,", 31),
    ("recall s.t. f1 >= .1 with confidence", "'with confidence': a confidence is a number", 31),
    ("recall s.t. f1 >= .1 with 99% and accuracy >= .1", "'with 99%': a confidence is a", 31),
    ("recall s.t. f1 >= .1 confidence 0.99", "'confidence 0.99': a confidence is a", 31),
    ("recall with confidence 0.99", "not after what is wanted", 17),
    ("recall s.t. f1 >= .1 with confidence .9 with confidence .9", "has one confidence", 50),
    ("recall s.t. (f1 >= .1 with confidence .9) with confidence .9", "one confidence", 52),
    ("recall s.t. f1 >= .1 with confidence .9 >= .2", "that ends a constraint", 31),
    ("recall s.t. f1 with confidence .9", "a constraint compares with >= or <=", 22),
    ("recall s.t. f1 >= (.1 with confidence .9)", "a comparison stands alone", 29),
    ("confidence", "unknown word 'confidence'", 10),
    ("recall s.t. confidence >= .9", "precision >= 0.9 with confidence 0.99", 22),
])  # fmt: skip
def test_a_confidence_in_the_wrong_place_says_so(text, words, place):
    with pytest.raises(GoalSyntaxError, match=re.escape(words)) as caught:
        Goal.parse(f"maximize {text}")
    assert f"at character {place}: " in str(caught.value)
