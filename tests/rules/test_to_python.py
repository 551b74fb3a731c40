import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.exporting import PLACES, RULES, TWO, decided, rows_at_edges, rules
from rules.strategies import rules as any_rules
from setpoint.rules import Argmax, PerSegment, Threshold
from thinning import over


def function_of(source, name="decide"):
    """The function, in a world that has nothing but float."""
    names = {"__builtins__": {"float": float}}
    exec(compile(source, "exported", "exec"), names)  # noqa: S102  (our own source)
    assert set(names) == {"__builtins__", name}
    return names[name]


def check(rule, n_rows, seed=0, classes=None):
    scores, columns, u = rows_at_edges(rule, n_rows, seed)
    decide = function_of(rule.to_python(classes=classes))
    given_rows = list(zip(*scores, strict=True))
    if rule.score_columns is None:
        given_rows = scores[0]
    elif rule.value_columns:
        n = rule.score_columns - len(rule.value_columns)
        given_rows = [row[:n] for row in given_rows]
        columns = columns | dict(zip(rule.value_columns, scores[n:], strict=True))
    found = [
        decide(row, columns={name: v[i] for name, v in columns.items()}, u=u[i])
        for i, row in enumerate(given_rows)
    ]
    wanted = decided(rule, scores, columns, u)
    assert found == [None if j is None else (classes or range(99))[j] for j in wanted]


@over("name", RULES)
def test_every_kind_decides_as_in_python(name):
    check(RULES[name], 2000)


@given(rules(), st.integers(0, 5))
def test_any_rule_decides_as_in_python(rule, seed):
    check(rule, 40, seed)


@given(any_rules())
def test_columns_may_hold_values_of_several_kinds(rule):
    function_of(rule.to_python())


@pytest.mark.parametrize("classes", [("it's", '""" + "\\'), (2, 0.5), (False, True)])
def test_labels(classes):
    check(RULES["by two columns"], 300, classes=classes)


def test_hundreds_of_classes_make_a_short_text():
    weights = np.random.default_rng(0).random(500)
    source = Argmax.weighted(weights).to_python()
    assert len(source) < 300 * 500
    scores = np.random.default_rng(1).random(500)
    assert function_of(source)(scores) == int((weights * scores).argmax())


def test_numbers_of_other_libraries():
    t = float(np.float32(0.1))
    for threshold in (0.1, t):
        decide = function_of(Threshold(threshold).to_python())
        narrow = np.float32(0.1)
        assert decide(narrow) == Threshold(threshold).decide(np.array([narrow]))[0]
        assert decide(1) == 1
        assert decide(math.nan) is decide(None) is None
    decide = function_of(PerSegment([Threshold(0.1)] * 3, PLACES).to_python())
    row = pd.Series({"age": np.int64(1), "place": "it's"})
    assert decide(0.5, columns=row) == 1


def test_what_a_rule_needs_has_to_be_given():
    with pytest.raises(TypeError, match="'u'"):
        function_of(TWO.to_python())(0.5)
    with pytest.raises(TypeError, match="'columns'"):
        function_of(RULES["by segment"].to_python())(0.5)
    with pytest.raises(ValueError, match="unpack"):
        function_of(RULES["argmax"].to_python())([0.5, 0.5])


def test_its_name():
    assert function_of(Threshold(0.5).to_python("is_fraud"), "is_fraud")(0.5) == 1
    for name in ("a b", "def", "float", "", "x(): pass\ndef y"):
        with pytest.raises(ValueError, match="a function of Python cannot be called"):
            Threshold(0.5).to_python(name)


def test_classes_are_counted():
    with pytest.raises(ValueError, match="2 classes, got"):
        Threshold(0.5).to_python(classes=("a", "b", "c"))
