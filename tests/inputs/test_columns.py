"""Side information: what is accepted, and what every refusal says."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.dummy import DummyClassifier

from setpoint import Goal, PlugInClassifier, evaluate, solve
from setpoint.errors import GoalError, InputError, InputTypeError
from setpoint.inputs import as_columns
from setpoint.metrics import recall
from thinning import over

SEX = ["f", "m", "f", "m"]
AGE = [30, 40, 50, 60]
BOTH = {"sex": SEX, "age": AGE}
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


def columns(given, wanted=(), n_rows=4, **kwargs):
    """The values of the columns, which agree with their levels and codes."""
    found = as_columns(given, n_rows=n_rows, wanted=wanted, **kwargs)
    for name in wanted:
        levels, codes = found[name].levels, found[name].codes
        assert [levels[c] for c in codes] == found[name].values.tolist()
    return {name: column.values for name, column in found.items()}


@over(
    "given",
    [
        *(SEX, tuple(SEX), np.array(SEX), np.array(SEX, dtype=object), np.array(SEX)[:, None]),
        *(pd.Series(SEX, name=0), pd.Series(SEX, name="sex"), pd.Series(SEX, dtype="category")),
        *(pd.Categorical(SEX), pl.Series("sex", SEX), pl.Series(SEX, dtype=pl.Categorical)),
        *(pa.array(SEX), pa.chunked_array([SEX]), pa.array(SEX).dictionary_encode()),
    ],
)
def test_a_lone_column_takes_the_name_the_goal_asks_for(given):
    found = columns(given, ["sex"])
    assert list(found) == ["sex"]
    assert found["sex"].dtype.kind in "OU"
    assert found["sex"].tolist() == SEX
    assert {type(v) for v in found["sex"].tolist()} == {str}


@over("frame", FRAMES)
def test_names_of_columns(frame):
    for found in (columns(BOTH, ["sex"]), columns(frame(BOTH), ["sex", "age"])):
        assert {name: values.tolist() for name, values in found.items()} == BOTH
        assert found["age"].dtype == np.int64
    X = frame({**BOTH, "income": [1.0, 2.0, 3.0, 4.0]})
    assert columns("sex", ["sex"], X=X)["sex"].tolist() == SEX
    assert list(columns(["age", "sex"], ["sex", "age"], X=X)) == ["age", "sex"]
    assert list(columns(("age",), X=X)) == ["age"]
    # A list of words as long as X is a column of values, unless each is a column of X.
    assert columns(SEX, ["sex"], X=frame({"f": AGE, "m": AGE}))["sex"].tolist() == SEX
    assert columns(["a", "a"], ["g"], X=X, n_rows=2)["g"].tolist() == ["a", "a"]
    square = frame({"a": [1, 2], "b": [3, 4]})
    assert list(columns(["a", "b"], X=square, n_rows=2)) == ["a", "b"]
    # Nobody asks for it.
    assert columns(None) == {}
    assert list(columns(SEX)) == ["sensitive_feature"]
    assert list(columns(pd.Series(SEX, name="sex"))) == ["sex"]


@over(
    "given, dtype, values",
    [
        ([True, False, True, True], bool, [True, False, True, True]),
        (np.array(AGE, dtype=np.uint8), np.int64, AGE),
        (np.array(AGE, dtype=np.float32), np.float64, AGE),
        (np.array([np.int64(1), np.int64(2)] * 2, dtype=object), np.int64, [1, 2, 1, 2]),
        (np.array([np.str_("a"), 1, np.float64(0.5), True], object), object, ["a", 1, 0.5, True]),
        (["a", 1, "b", 2], object, ["a", 1, "b", 2]),
        (pd.array([1, 2, 3, 4], dtype="Int64"), np.int64, [1, 2, 3, 4]),
        (pd.Series([True, False] * 2, dtype="boolean"), bool, [True, False] * 2),
        (pd.Series(AGE, dtype="int64[pyarrow]"), np.int64, AGE),
        (pd.Categorical(AGE), np.int64, AGE),
        (np.array(SEX, dtype=np.dtypes.StringDType()), object, SEX),
        ([2**70, 1, 1, 1], object, [2**70, 1, 1, 1]),
        (np.array([2**63] * 4, dtype=np.uint64), np.uint64, [2**63] * 4),
    ],
)
def test_values_are_plain(given, dtype, values):
    found = columns(given, ["g"])["g"]
    assert found.dtype == dtype
    assert found.tolist() == values
    assert not any(isinstance(v, np.generic) for v in found.tolist())


@over("frame", FRAMES)
def test_columns_that_are_not_wanted_may_have_gaps_and_many_values(frame):
    data = {"sex": SEX, "note": ["a", None, "b", None], "n": [1, None, 2**60 + 1, 4]}
    found = columns(frame(data), ["sex"])
    assert found["note"].tolist() == ["a", None, "b", None]
    if frame is not pd.DataFrame:  # pandas had made floats of the integers
        assert found["n"].tolist() == [1, None, 2**60 + 1, 4]


S = "sensitive_features"
WITH_SEX = pl.DataFrame(BOTH)
DAYS = np.array(["2020-01-01", "NaT"] * 2, "M8[D]")
REFUSED = [
    (np.zeros(3), ["g"], None, f"`{S}` has 3 rows, 4 are expected"),
    (np.zeros((4, 2)), ["sex"], None, f"`{S}` has the shape (4, 2) and no column names; pass a fr"),
    ([[0, 1]] * 4, [], None, "has the shape (4, 2) and no column names; pass a frame, or a dict"),
    ({"sex": np.zeros((4, 2))}, [], None, f"{S}['sex'] should be a 1d array, got an array of shap"),
    ({"sex": "f"}, [], None, f"{S}['sex'] should be a 1d array, got 'f'"),
    (3, [], None, f"{S} should be a 1d array, got 3"),
    (object(), [], None, "should be a 1d array, got a object"),
    ([[1], [1, 2]], [], None, "should be a 1d array, got a ragged list"),
    ({"g": [[1], [1, 2], [3], [4]]}, ["g"], None, f"{S}['g'] should be a 1d array, got a ragged"),
    (pd.DataFrame(np.zeros((4, 2)), columns=["a", "a"]), [], None, "has duplicate column names"),
    ({"age": [1.0, 2.0, np.nan, 3.0]}, ["age"], None, "has 1 missing value, the first at row 2;"),
    (pa.table({"g": pa.array(["a", None] * 2).dictionary_encode()}), ["g"], None,
     f"`{S}['g']` has 2 missing values, the first at row 1"),
    ({"g": DAYS}, ["g"], None, "has 2 missing values, the first at row 1"),
    ({"g": DAYS[[0] * 4]}, ["g"], None, "of type datetime64[D]; groups are text, numbers or bool"),
    ({"g": np.array([b"a"] * 4)}, ["g"], None, "of type bytes; groups are text, numbers or bool"),
    (None, ["sex"], None, f"the goal refers to the column 'sex', but `{S}` is not given"),
    (None, ["sex"], WITH_SEX, f"is not given; X has it: pass `{S}='sex'`"),
    ({"age": AGE}, ["sex"], None, "no column of that name (known: 'age')"),
    ({"age": AGE}, ["sex"], WITH_SEX, f"no column of that name; X has it: pass `{S}='sex'`"),
    ("sexx", [], WITH_SEX, f"`{S}`: X has no column 'sexx' (did you mean 'sex'?)"),
    (["sex", "rase"], [], WITH_SEX, f"`{S}`: X has no column 'rase' (known: 'sex', 'age')"),
    (["sex", "sex"], [], WITH_SEX, f"`{S}` names the column 'sex' of X twice"),
    (["sex"], [], None, "but X is None, which has no column names"),
    ("a", [], pa.table([AGE, AGE], names=["a", "a"]), "`X` has duplicate column names"),
]  # fmt: skip
REFUSED_TYPES = [
    ({0: SEX}, [], "column names must be text, found 0"),
    ({"": SEX}, [], "column names must be text, found ''"),
    (pd.DataFrame({7: SEX}), [], "column names must be text, found 7"),
    ({"g": [{"a": 1}] * 4}, ["g"], "of type dict; text, numbers or booleans are expected"),
    ({"g": pd.Series([[1], [2, 3], "a", 1])}, ["g"], "of type list; text, numbers or booleans"),
]


@over(
    "given, wanted, X, error, message",
    [(*case[:-1], ValueError, case[-1]) for case in REFUSED]
    + [(given, wanted, None, InputTypeError, message) for given, wanted, message in REFUSED_TYPES],
)
def test_refusals(given, wanted, X, error, message):
    with pytest.raises(error) as caught:
        columns(given, wanted, X=X)
    assert message in str(caught.value)


# ---------------------------------------------------------------------- groups in goals
Y = [1, 1, 0]


@over("values", [[1.0, np.inf, 2.0], np.array([1, -np.inf, "a"], dtype=object)])
def test_infinite_values_are_refused_wherever_a_goal_names_the_column(values):
    goal, side = "accuracy subject to recall.difference(g) <= 0.5", {"g": values}
    for call in (
        lambda: evaluate(f"maximize {goal}", Y, Y, sensitive_features=side),
        lambda: solve(f"maximize {goal}", [0.1, 0.2, 0.3], Y, sensitive_features=side),
    ):
        with pytest.raises(InputError, match=r"\['g'\]` has 1 infinite value, the first at row 1"):
            call()


def test_groups_that_are_written_another_way():
    message = r"g = 0.1, .*as float32 it is 0.10000000149011612, which rows have: write that"
    single = {"g": np.array([0.1, 0.1, 0.0], np.float32)}
    with pytest.raises(GoalError, match=message):
        solve("maximize recall.on(g=0.1)", [0.1, 0.2, 0.3], [1, 0, 1], sensitive_features=single)
    for call in (lambda: recall.on(g=None), lambda: Goal.parse("maximize recall.on(g=None)")):
        with pytest.raises((TypeError, ValueError), match=r"None.* marks a missing value: fill"):
            call()


def test_groups_that_fit_did_not_see():
    X = pd.DataFrame({"a": np.arange(28.0), "g": [f"v{i % 7}" for i in range(28)]})
    goal = "maximize accuracy subject to predicted_rate.min(g) >= 0"
    clf = PlugInClassifier(DummyClassifier(), goal, sensitive_features="g", cv=2)
    with warnings.catch_warnings(action="ignore"):
        clf.fit(X, X.index % 2)
    message = r"as g = z in row 0 \(it saw g = v0; g = v1; .*; g = v4 and 2 more\); `unknown_group"
    with pytest.raises(ValueError, match=message):
        clf.predict(X.assign(g="z"))
