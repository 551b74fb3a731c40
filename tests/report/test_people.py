"""Counts in people: parts of 10,000 rows, for two classes and for many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint import evaluate
from setpoint.report import Counts
from setpoint.report.numbers import PER, in_ten_thousand, parts_of

TWO = ("no", "yes")


def counts(*table, classes=TWO):
    return Counts(0, classes, tuple(tuple(map(float, row)) for row in table))


def test_two_classes():
    found = counts((880, 20), (30, 70), (0, 0))
    assert [(p.words, p.rows, p.right) for p in parts_of(found)] == [
        ("accepted rightly", pytest.approx(700), True),
        ("accepted wrongly", pytest.approx(200), False),
        ("missed", pytest.approx(300), False),
        ("left out rightly", pytest.approx(8800), True),
    ]
    assert in_ten_thousand(found) == (
        "Of 10,000 rows like these 900 are accepted: 700 rightly, 200 wrongly; 300 of class 'yes' "
        "are missed."
    )


def test_many_classes_name_the_most_frequent_mistakes():
    table = np.diag([50, 60, 70, 0, 0]).astype(float)
    table[0, 1], table[1, 2], table[2, 0], table[3, 4] = 8, 4, 5, 3
    found = counts(*table, [9] * 5, classes=tuple("abcde"))
    assert [p.words for p in parts_of(found)] == ["decided rightly", "decided wrongly"]
    assert in_ten_thousand(found) == (
        "Of 10,000 rows like these 9,000 are decided rightly, 1,000 wrongly; most often 400 of "
        "class 'a' taken for 'b', 250 of class 'c' taken for 'a', 200 of class 'b' taken for 'c'."
    )


def test_no_mistake_is_named_where_there_is_none():
    text = in_ten_thousand(counts((5, 0, 0), (0, 5, 0), (0, 0, 5), (0, 0, 0), classes=(0, 1, 2)))
    assert text == "Of 10,000 rows like these 10,000 are decided rightly, 0 wrongly."


def test_weights_are_numbers_of_rows():
    y, decided, weight = [0, 0, 1, 1], [0, 1, 0, 1], [1.5, 0.5, 1, 1]
    found = evaluate("recall", y, decided, sample_weight=weight).counts
    assert [p.rows for p in parts_of(found)] == pytest.approx([2500, 1250, 2500, 3750])


def test_rows_without_labels_do_not_count():
    assert in_ten_thousand(counts((880, 20), (30, 70), (4000, 9000))) == in_ten_thousand(
        counts((880, 20), (30, 70), (0, 0))
    )
    assert parts_of(counts((0, 0), (0, 0), (4, 9))) == ()
    assert in_ten_thousand(counts((0, 0), (0, 0), (4, 9))) == in_ten_thousand(Counts()) == ""


def test_nobody_is_accepted():
    assert in_ten_thousand(counts((90, 0), (10, 0), (0, 0))) == (
        "Of 10,000 rows like these 0 are accepted; 1,000 of class 'yes' are missed."
    )


def test_nobody_is_of_the_class():
    assert in_ten_thousand(counts((90, 10), (0, 0), (0, 0))) == (
        "Of 10,000 rows like these 1,000 are accepted: 0 rightly, 1,000 wrongly; 0 of class 'yes' "
        "are missed."
    )


def test_a_few_among_many_are_not_none():
    text = in_ten_thousand(counts((1e9, 0), (3, 1000), (0, 0)))
    assert "fewer than one of class 'yes' are missed." in text
    assert "accepted: fewer than one rightly" not in in_ten_thousand(
        counts((1e9, 0), (0, 1), (0, 0))
    )
    assert "fewer than one are accepted;" in in_ten_thousand(counts((1e9, 0), (0, 1), (0, 0)))


def test_another_decision_on_the_same_rows():
    found = counts((880, 20), (30, 70), (0, 0))
    other = ((900.0, 0.0), (100.0, 0.0), (0.0, 0.0))
    assert in_ten_thousand(found, other) == in_ten_thousand(counts(*other))


weights = st.floats(0, 1e9, allow_subnormal=False)


@given(st.lists(weights, min_size=4, max_size=4))
def test_the_parts_add_up(cells):
    parts = parts_of(counts(cells[:2], cells[2:], (1, 2)))
    if not sum(cells) > 0:
        assert parts == ()
        return
    assert sum(round(p.rows) for p in parts) == PER
    exact = [PER * (x / sum(cells)) for x in (cells[3], cells[1], cells[2], cells[0])]
    for part, x in zip(parts, exact, strict=True):
        assert part.rows == round(part.rows) or 0 < part.rows < 0.5
        assert abs(part.rows - x) < 1 + 1e-9
        assert (part.rows == 0) == (x == 0)


@given(st.integers(3, 7), st.data())
def test_the_parts_of_many_classes_add_up(n, data):
    cells = data.draw(st.lists(weights, min_size=n * n, max_size=n * n))
    table = np.reshape(cells, (n, n))
    parts = parts_of(counts(*table, [1.0] * n, classes=tuple(range(n))))
    if table.sum() > 0:
        right, wrong = parts
        assert round(right.rows) + round(wrong.rows) == PER
        assert right.rows == pytest.approx(PER * np.trace(table) / table.sum(), abs=1)
        assert (
            in_ten_thousand(counts(*table, [0.0] * n, classes=tuple(range(n)))).count("taken for")
            <= 3
        )
