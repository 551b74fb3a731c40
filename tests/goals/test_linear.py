"""Linear forms: read as written, worth what Python says they are, refused where not linear."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goals.samples import NAMES
from setpoint.errors import GoalError
from setpoint.goals import LinearForm
from thinning import over

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False)
COLUMNS = st.one_of(st.sampled_from(NAMES), st.text(min_size=1, max_size=8))
FORMS = st.builds(LinearForm.build, st.dictionaries(COLUMNS, NUMBERS, max_size=4), NUMBERS)


@given(FORMS)
def test_what_is_written_reads_back_equal(form):
    assert LinearForm.of(str(form)) == form
    assert str(LinearForm.of(str(form))) == str(form)


ROW = {"amount": 120.0, "fee": 7.0, "line": -3.5}


def texts(depth):
    """Linear expressions as Python's own text."""
    number = st.integers(-20, 20).map(str) | st.floats(0.5, 9).map(repr)
    if depth == 0:
        return number | st.sampled_from(sorted(ROW))
    below = texts(depth - 1)
    return st.one_of(
        below,
        st.tuples(below, st.sampled_from("+-"), below).map(lambda x: f"({x[0]} {x[1]} {x[2]})"),
        st.tuples(number, below).map(lambda x: f"{x[0]} * ({x[1]})"),
        st.tuples(below, st.floats(0.5, 9)).map(lambda x: f"({x[0]}) / {x[1]!r}"),
        below.map(lambda x: f"-({x})"),
    )


@given(texts(4))
def test_a_form_is_worth_what_python_says(text):
    form = LinearForm.of(text)
    wanted = eval(text, {}, dict(ROW))  # noqa: S307  # text from the strategy above
    got = form.constant + sum(x * ROW[c] for c, x in form.terms)
    assert got == pytest.approx(wanted, rel=1e-9, abs=1e-6)


@over("text, canonical", [
    (" -5 + amount ", "amount - 5"), ("-amount", "-amount"), ("amount - amount", "0"),
    ("fee * -2 + amount", "amount - 2 * fee"), ("+1e-05 * a", "1e-05 * a"), ("2 * (3 - 1)", "4"),
    ("0.75 * 'credit line' - 2 * fee + 5", '0.75 * "credit line" - 2 * fee + 5'),
    ("'credit line'", '1 * "credit line"'), ("-'credit line'", '-"credit line"'),
    ("(amount + fee) / 4 - (amount - fee) / 4", "0.5 * fee"),
])  # fmt: skip
def test_the_one_way_of_being_written(text, canonical):
    assert str(LinearForm.of(text)) == canonical


@over("text, words", [
    ("amount * fee", "a product of columns is not linear"),
    ("1 / amount", "a number over a column is not linear"),
    ("amount ** 2", "a power is not linear"), ("amount / 0", "division by the number 0"),
    ("amount // 2", "has no meaning here"), ("f(amount)", "has no meaning here"),
    ("amount > 3", "has no meaning here"), ("a.b", "has no meaning here"),
    ("True", "has no meaning here"), ("1j * a", "has no meaning here"),
    ("'' * 2", "cannot be empty"), ("credit line", "stands in quotes"), ("", "stands in quotes"),
    ("a\0", "stands in quotes"), ("1e999", "too large"), ("9" * 400 + " * a", "too large"),
    ("1e300 * (1e300 * a)", "too large"), ("a / 1e-300 / 1e-300", "too large"),
    ("(" * 3000, "cannot be read"), ("a" * 4001, "at most 4000 characters"),
    (float("nan"), "must hold finite numbers"), (10**400, "must hold finite numbers"),
])  # fmt: skip
def test_what_is_refused(text, words):
    with pytest.raises(GoalError, match=f"`tp` of profit.*{words}"):
        LinearForm.of(text, "`tp` of profit")
