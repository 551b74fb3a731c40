import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.strategies import labels, slot_lists
from setpoint.goals import Other
from setpoint.rules import (
    Argmax,
    ClassNames,
    Mixture,
    PerSegment,
    Threshold,
    per_segment,
    segment_codes,
)

SEX = ((("sex", "F"),), (("sex", "M"),))


def fits(part, value):
    if isinstance(part, Other):
        return all(value != v for v in part.than)
    return value == part


@given(slot_lists(), st.data())
def test_codes_are_what_comparing_row_by_row_gives(segments, data):
    n = data.draw(st.integers(0, 6))
    columns = {}
    for position, (column, _) in enumerate(segments[0]):
        named = [v for s in segments for v in getattr(s[position][1], "than", (s[position][1],))]
        value = st.sampled_from(named) | labels | st.none()
        columns[column] = data.draw(st.lists(value, min_size=n, max_size=n))
    wanted = []
    for i in range(n):
        hits = [
            code
            for code, segment in enumerate(segments)
            if all(fits(part, columns[column][i]) for column, part in segment)
        ]
        assert len(hits) <= 1
        wanted.append(hits[0] if hits else -1)
    arrays = {
        column: np.array([*values, None], dtype=object)[:-1] for column, values in columns.items()
    }
    for given_columns in (columns, arrays):
        found = segment_codes(segments, given_columns)
        assert found.dtype == np.int64
        assert found.tolist() == wanted


def test_other_takes_whatever_is_not_named():
    segments = ((("x", "1"),), (("x", 2),), (("x", Other((2, "1"))),))
    mixed = np.array(["1", 1, 2, 2.0, True, None, np.nan, pd.NA, np.int64(2), "2"], dtype=object)
    assert segment_codes(segments, {"x": mixed}).tolist() == [0, 2, 1, 1, 2, 2, 2, 2, 1, 2]
    flags = ((("x", True),), (("x", Other((True,))),))
    assert segment_codes(flags, {"x": np.array([True, False])}).tolist() == [0, 1]
    assert segment_codes(flags, {"x": np.array([1, 0, 2])}).tolist() == [0, 1, 1]
    assert segment_codes(flags, {"x": np.array(["True", "1"])}).tolist() == [1, 1]


def test_columns_of_every_library():
    rule = PerSegment([Threshold(0.1)] * 2, SEX)
    values = ["M", "F", "x"]
    some = [
        values,
        tuple(values),
        np.array(values),
        np.array(values, dtype=object),
        pd.Series(values, index=[7, 8, 9]),
        pd.Series(values, dtype="category"),
        pd.Series(values, dtype="string"),
        pl.Series(values),
    ]
    for column in some:
        assert rule.segment_codes({"sex": column, "ignored": [1]}).tolist() == [1, 0, -1]


def test_two_columns_in_any_order():
    segments = [(("sex", s), ("age", a)) for s in ("F", "M") for a in (1, 2)]
    rule = PerSegment([Threshold(t) for t in (0.1, 0.2, 0.3, 0.4)], segments)
    assert rule.segments[1] == (("age", 2), ("sex", "F"))
    codes = rule.segment_codes({"sex": ["M", "F", "F", "x"], "age": np.array([1, 2, 3, 1])})
    assert codes.tolist() == [2, 1, -1, -1]


def test_codes_refuse():
    rule = PerSegment([Threshold(0.1)] * 2, SEX)
    many = {f"c{i}": ["F"] for i in range(100)}
    with pytest.raises(ValueError, match=r"got only \['c0', .*'c15'\] and 92 more$"):
        rule.segment_codes(many)
    with pytest.raises(ValueError, match=r"looks at \['sex'\], got only \['age'\]"):
        rule.segment_codes({"age": [1]})
    with pytest.raises(ValueError, match="one-dimensional"):
        rule.segment_codes({"sex": [["F"]]})
    with pytest.raises(TypeError, match="'sex' holds a value of a wrong kind"):
        rule.segment_codes({"sex": np.array([["F"], None], dtype=object)})
    with pytest.raises(ValueError, match="looks at no segment"):
        Threshold(0.5).segment_codes({"sex": ["F"]})
    two = PerSegment([Threshold(0.1)], [(("age", 1), ("sex", "F"))])
    with pytest.raises(ValueError, match="'sex' has 1 rows, 'age' 2"):
        two.segment_codes({"sex": ["F"], "age": [1, 2]})


def test_each_slot_has_its_rule():
    mixed = Mixture([(0.5, Threshold(0.2)), (0.5, Threshold(0.8))])
    rule = PerSegment([Threshold(0.6), mixed], SEX)
    scores, segments = np.full(4, 0.5), np.array([0, 1, 1, 0])
    assert rule.decide(scores, segments, np.array([0.0, 0.4, 0.6, 0.9])).tolist() == [0, 1, 0, 0]
    assert rule.distribution(scores, segments)[:, 1].tolist() == [0, 0.5, 0.5, 0]


def test_by_top():
    prefer = [Argmax.weighted(w) for w in ([1, 1, 1], [3, 1, 1], [1, 1, 1])]
    rule = PerSegment(prefer, by="top")
    scores = [[0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7]]
    assert rule.decide(scores).tolist() == [0, 1, 0, 2]
    assert not rule.needs_segments
    both = PerSegment([rule, prefer[0]], SEX)
    assert both.decide(scores, segments=[0, 0, 1, 1]).tolist() == [0, 1, 0, 2]
    assert both.decide(scores, segments=[1, 1, 1, 1]).tolist() == [1, 1, 0, 2]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([Threshold(0.1)], SEX), ValueError, "2 segments need as many rules, got 1"),
        (([], ()), ValueError, "at least one is needed"),
        (([0.1, 0.2], SEX), TypeError, "expected a Rule"),
        (([Threshold(0.1)] * 2, SEX, "group"), ValueError, "`by` must be"),
        (([Threshold(0.1)] * 2, (SEX[0], SEX[0])), ValueError, "could be in both"),
        (
            ([Threshold(0.1)] * 2, (SEX[0], (("sex", Other(("M",))),))),
            ValueError,
            "could be in both 'sex = F' and 'sex other than M'",
        ),
        (
            ([Threshold(0.1)] * 2, ((("a", Other(("M",))),), (("a", Other(("F",))),))),
            ValueError,
            "could be in both",
        ),
        (([Threshold(0.1)] * 2, (SEX[0], (("age", 1),))), ValueError, "the same columns"),
        (([Threshold(0.1)], [()]), ValueError, "at least one column"),
        (([Threshold(0.1)], [(("a", 1), ("a", 2))]), ValueError, "named twice"),
        (([Threshold(0.1)], [(("a", None),)]), TypeError, "value of 'a'"),
        (([Threshold(0.1)], [((1, 1),)]), TypeError, "named by text"),
        (([Threshold(0.1)], [(("a", float("nan")),)]), ValueError, "must be finite"),
        (([Threshold(0.1), Argmax(np.eye(2))], SEX), ValueError, "score columns"),
        (([Argmax(np.eye(2)), Argmax(np.ones((2, 3)))], SEX), ValueError, "the same classes"),
        (
            ([PerSegment([Threshold(0.1)] * 2, SEX)] * 2, SEX),
            ValueError,
            "must not look at segments",
        ),
        (([Argmax(np.eye(2))] * 3, (), "top"), ValueError, r"score column \(2\), got 3"),
        (([Argmax(np.eye(2))] * 2, SEX, "top"), ValueError, "a rule by top has none"),
        (([Threshold(0.1)] * 2, (), "top"), ValueError, "score column"),
    ],
)
def test_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        PerSegment(*arguments)


def test_everyone_needs_no_slot():
    assert per_segment([Threshold(0.1)], [()]) == Threshold(0.1)
    assert per_segment([Threshold(0.1)] * 2, SEX) == PerSegment([Threshold(0.1)] * 2, SEX)
    with pytest.raises(TypeError, match="expected a Rule"):
        per_segment([0.1], [()])


def test_words():
    names = ClassNames(("no", "yes"))
    segments = [(("country", "IN"),), (("country", Other(("IN", "US"))),)]
    assert PerSegment([Threshold(0.123456), Threshold(0.123457)], segments).explain(names) == (
        "country = IN: predict 'yes' when the score is at least 0.123456\n"
        "country other than IN, US: predict 'yes' when the score is at least 0.123457"
    )
    top = PerSegment([Argmax(np.eye(2)), Argmax.weighted([1, 2])], by="top")
    assert PerSegment([top, Argmax(np.eye(2))], SEX).explain(names) == (
        "sex = F:\n"
        "  where the score of 'no' is largest: predict the class for which the score is largest\n"
        "  where the score of 'yes' is largest: predict the class for which the score times its "
        "weight is largest (weights: 'no' 1, 'yes' 2)\n"
        "sex = M: predict the class for which the score is largest"
    )
