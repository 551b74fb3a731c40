"""Side information: what is accepted, and what every refusal says."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.dummy import DummyClassifier

from setpoint import Goal, PlugInClassifier, evaluate, solve
from setpoint.inputs import as_columns
from setpoint.metrics import recall
from thinning import over

SEX = ["f", "m", "f", "m"]
AGE = [30, 40, 50, 60]
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.fixture(params=FRAMES)
def frame(request):
    return FRAMES[request.param]


def columns(given, wanted=(), n_rows=4, **kwargs):
    """The values of the columns, which agree with their levels and codes."""
    found = as_columns(given, n_rows=n_rows, wanted=wanted, **kwargs)
    for name in wanted:
        levels, codes = found[name].levels, found[name].codes
        assert [levels[c] for c in codes] == found[name].values.tolist()
    return {name: column.values for name, column in found.items()}


def test_none_is_not_a_column():
    assert columns(None) == {}


@pytest.mark.parametrize(
    "given",
    [
        SEX,
        tuple(SEX),
        np.array(SEX),
        np.array(SEX, dtype=object),
        np.array(SEX)[:, None],
        pd.Series(SEX),
        pd.Series(SEX, name=0),
        pd.Series(SEX, dtype="category"),
        pd.Categorical(SEX),
        pl.Series(SEX),
        pl.Series(SEX, dtype=pl.Categorical),
        pa.array(SEX),
        pa.chunked_array([SEX]),
        pa.array(SEX).dictionary_encode(),
    ],
    ids=lambda given: f"{type(given).__module__}.{type(given).__name__}",
)
def test_a_lone_column_takes_the_name_the_goal_asks_for(given):
    found = columns(given, ["sex"])
    assert list(found) == ["sex"]
    assert found["sex"].dtype.kind in "OU"
    assert found["sex"].tolist() == SEX
    assert {type(v) for v in found["sex"].tolist()} == {str}


@pytest.mark.parametrize("series", [pd.Series(SEX, name="sex"), pl.Series("sex", SEX)])
def test_a_series_brings_its_own_name(series):
    assert columns(series, ["sex"])["sex"].tolist() == SEX
    assert list(columns(series)) == ["sex"]


def test_a_lone_column_nobody_asks_for():
    assert list(columns(SEX)) == ["sensitive_feature"]


def test_dict_and_frame(frame):
    data = {"sex": SEX, "age": AGE}
    for found in (columns(data, ["sex"]), columns(frame(data), ["sex", "age"])):
        assert list(found) == ["sex", "age"]
        assert found["sex"].tolist() == SEX
        assert found["age"].dtype == np.int64
        assert found["age"].tolist() == AGE


def test_names_of_columns_of_X(frame):
    X = frame({"sex": SEX, "age": AGE, "income": [1.0, 2.0, 3.0, 4.0]})
    assert columns("sex", ["sex"], X=X)["sex"].tolist() == SEX
    assert list(columns(["age", "sex"], ["sex", "age"], X=X)) == ["age", "sex"]
    assert list(columns(("age",), X=X)) == ["age"]


def test_a_list_of_words_as_long_as_X_is_a_column_of_values(frame):
    X = frame({"f": AGE, "m": AGE})
    assert columns(SEX, ["sex"], X=X)["sex"].tolist() == SEX


def test_as_many_names_as_rows_are_names():
    X = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert list(columns(["a", "b"], X=X, n_rows=2)) == ["a", "b"]
    assert columns(["a", "a"], ["g"], X=X, n_rows=2)["g"].tolist() == ["a", "a"]


@pytest.mark.parametrize(
    ("given", "dtype", "values"),
    [
        ([True, False, True, True], bool, None),
        (np.array(AGE, dtype=np.uint8), np.int64, AGE),
        (np.array(AGE, dtype=np.float32), np.float64, AGE),
        (np.array([np.int64(1), np.int64(2)] * 2, dtype=object), np.int64, [1, 2, 1, 2]),
        (np.array([np.str_("a"), 1, np.float64(0.5), True], dtype=object), object, None),
        (["a", 1, "b", 2], object, None),
        (pd.array([1, 2, 3, 4], dtype="Int64"), np.int64, [1, 2, 3, 4]),
        (pd.Series([True, False] * 2, dtype="boolean"), bool, None),
        (pd.Series(AGE, dtype="int64[pyarrow]"), np.int64, AGE),
        (pd.Categorical(AGE), np.int64, AGE),
        (np.array(SEX, dtype=np.dtypes.StringDType()), object, SEX),
    ],
)
def test_values_are_plain(given, dtype, values):
    found = columns(given, ["g"])["g"]
    assert found.dtype == dtype
    assert found.tolist() == (list(given) if values is None else values)
    assert not any(isinstance(v, np.generic) for v in found.tolist())


def test_columns_not_wanted_may_have_gaps_and_many_values(frame):
    data = {"sex": SEX, "note": ["a", None, "b", None], "n": [1, None, 2**60 + 1, 4]}
    found = columns(frame(data), ["sex"])
    assert found["note"].tolist() == ["a", None, "b", None]
    if frame is not pd.DataFrame:  # pandas had made floats of the integers
        assert found["n"].tolist() == [1, None, 2**60 + 1, 4]


def test_max_levels():
    given = {"id": range(60), "g": [0, 1] * 30}
    assert list(as_columns(given, n_rows=60, wanted="g")) == ["id", "g"]
    assert list(as_columns(given, n_rows=60, wanted=["id"], free=["id"])) == ["id", "g"]
    assert list(as_columns({"g": range(50)}, n_rows=50, wanted=["g"])) == ["g"]
    with pytest.raises(
        ValueError,
        match=r"`sensitive_features\['id'\]` has 60 distinct values, at most 50 .*join them",
    ):
        as_columns(given, n_rows=60, wanted=["id"])
    words = [f"w{i}" for i in range(60)]
    with pytest.raises(ValueError, match="has 60 distinct values"):
        as_columns({"word": words}, n_rows=60, wanted=["word"])


REFUSED = {
    "length": (SEX[:3], {}, ValueError, "`sensitive_features` has 3 rows, 4 are expected"),
    "length of an array": (
        np.zeros(3),
        {"wanted": ["g"]},
        ValueError,
        "`sensitive_features` has 3 rows, 4 are expected",
    ),
    "length in a dict": (
        {"sex": SEX[:3]},
        {},
        ValueError,
        "`sensitive_features['sex']` has 3 rows, 4 are expected",
    ),
    "unnamed for several": (
        SEX,
        {"wanted": ["sex", "race"]},
        ValueError,
        "one column without a name, but the goal refers to 'sex', 'race'; pass a frame, or a dict",
    ),
    "2-D": (
        np.zeros((4, 2)),
        {"wanted": ["sex", "race"]},
        ValueError,
        "`sensitive_features` has the shape (4, 2) and no column names; pass a frame, or a dict",
    ),
    "nested lists": ([[0, 1]] * 4, {}, ValueError, "has the shape (4, 2) and no column names"),
    "2-D in a dict": (
        {"sex": np.zeros((4, 2))},
        {},
        ValueError,
        "sensitive_features['sex'] should be a 1d array, got an array of shape (4, 2)",
    ),
    "scalar in a dict": (
        {"sex": "f"},
        {},
        ValueError,
        "sensitive_features['sex'] should be a 1d array, got 'f'",
    ),
    "scalar": (3, {}, ValueError, "sensitive_features should be a 1d array, got 3"),
    "object": (object(), {}, ValueError, "should be a 1d array, got a object"),
    "ragged": ([[1], [1, 2]], {}, ValueError, "should be a 1d array, got a ragged list"),
    "name not text": ({0: SEX}, {}, TypeError, "column names must be text, found 0"),
    "name empty": ({"": SEX}, {}, TypeError, "column names must be text, found ''"),
    "frame of numbered columns": (
        pd.DataFrame({7: SEX}),
        {},
        TypeError,
        "column names must be text, found 7",
    ),
    "duplicates": (
        pd.DataFrame(np.zeros((4, 2)), columns=["a", "a"]),
        {},
        ValueError,
        "`sensitive_features` has duplicate column names",
    ),
    "missing": (
        {"sex": ["f", None, "m", np.nan]},
        {"wanted": ["sex"]},
        ValueError,
        "`sensitive_features['sex']` has 2 missing values, the first at row 1; fill them in",
    ),
    "missing number": (
        {"age": [1.0, 2.0, np.nan, 3.0]},
        {"wanted": ["age"]},
        ValueError,
        "`sensitive_features['age']` has 1 missing value, the first at row 2; fill them in",
    ),
    "missing, pandas": (
        pd.DataFrame({"g": pd.array([1, None, 1, 1], dtype="Int64")}),
        {"wanted": ["g"]},
        ValueError,
        "`sensitive_features['g']` has 1 missing value, the first at row 1",
    ),
    "missing category, pyarrow": (
        pa.table({"g": pa.array(["a", None, "b", "a"]).dictionary_encode()}),
        {"wanted": ["g"]},
        ValueError,
        "`sensitive_features['g']` has 1 missing value, the first at row 1",
    ),
    "missing date": (
        {"day": np.array(["2020-01-01", "NaT"] * 2, dtype="M8[D]")},
        {"wanted": ["day"]},
        ValueError,
        "`sensitive_features['day']` has 2 missing values, the first at row 1",
    ),
    "dates": (
        {"day": np.array(["2020-01-01"] * 4, dtype="M8[D]")},
        {"wanted": ["day"]},
        ValueError,
        "`sensitive_features['day']` holds values of type datetime64[D]; groups are "
        "text, numbers or booleans",
    ),
    "bytes": (
        {"g": np.array([b"a"] * 4)},
        {"wanted": ["g"]},
        ValueError,
        "`sensitive_features['g']` holds values of type bytes; groups are text, "
        "numbers or booleans",
    ),
    "lists": (
        {"g": [[1], [1, 2], [3], [4]]},
        {"wanted": ["g"]},
        ValueError,
        "sensitive_features['g'] should be a 1d array, got a ragged list",
    ),
    "dicts": (
        {"g": [{"a": 1}] * 4},
        {"wanted": ["g"]},
        TypeError,
        "`sensitive_features['g']` holds values of type dict; text, numbers or "
        "booleans are expected",
    ),
    "not given": (
        None,
        {"wanted": ["sex"]},
        ValueError,
        "the goal refers to the column 'sex', but `sensitive_features` is not given",
    ),
    "not given, X has it": (
        None,
        {"wanted": ["sex"], "X": pd.DataFrame({"sex": SEX})},
        ValueError,
        "`sensitive_features` is not given; X has it: pass `sensitive_features='sex'`",
    ),
    "misspelt": (
        {"Sex": SEX, "age": AGE},
        {"wanted": ["sex"]},
        ValueError,
        "`sensitive_features` has no column of that name (did you mean 'Sex'?)",
    ),
    "another": (
        {"age": AGE},
        {"wanted": ["sex"]},
        ValueError,
        "`sensitive_features` has no column of that name (known: 'age')",
    ),
    "another, X has it": (
        {"age": AGE},
        {"wanted": ["sex"], "X": pl.DataFrame({"sex": SEX})},
        ValueError,
        "`sensitive_features` has no column of that name; X has it: pass "
        "`sensitive_features='sex'`",
    ),
    "no such column of X": (
        "sexx",
        {"X": pd.DataFrame({"sex": SEX, "age": AGE})},
        ValueError,
        "`sensitive_features`: X has no column 'sexx' (did you mean 'sex'?)",
    ),
    "one of two no column of X": (
        ["sex", "rase"],
        {"X": pl.DataFrame({"sex": SEX, "age": AGE})},
        ValueError,
        "`sensitive_features`: X has no column 'rase' (known: 'sex', 'age')",
    ),
    "twice": (
        ["sex", "sex"],
        {"X": pd.DataFrame({"sex": SEX})},
        ValueError,
        "`sensitive_features` names the column 'sex' of X twice",
    ),
    "X is not a frame": (
        "sex",
        {"X": np.zeros((4, 2))},
        ValueError,
        "names columns of X ('sex'), but X is a ndarray, which has no column names; pass a frame",
    ),
    "X is not there": (["sex"], {}, ValueError, "but X is None, which has no column names"),
    "X has duplicates": (
        "a",
        {"X": pa.table([AGE, AGE], names=["a", "a"])},
        ValueError,
        "`X` has duplicate column names",
    ),
}


@over("case", REFUSED)
def test_refusals(case):
    given, options, error, message = REFUSED[case]
    with pytest.raises(error, match=re.escape(message)):
        columns(given, **options)


def test_integers_beyond_64_bits_stay_python_integers():
    assert columns([2**70, 1, 1, 1], ["g"])["g"].tolist() == [2**70, 1, 1, 1]
    assert columns(np.array([2**63] * 4, dtype=np.uint64), ["g"])["g"].tolist() == [2**63] * 4


@pytest.mark.parametrize("values", [[1.0, np.inf, 2.0], np.array([1, -np.inf, "a"], dtype=object)])
def test_infinite_values_are_refused_wherever_a_goal_names_the_column(values):
    goal, y = "maximize accuracy subject to recall.difference(g) <= 0.5", [1, 1, 0]
    message = r"`sensitive_features\['g'\]` has 1 infinite value, the first at row 1"
    columns = {"g": values}
    for call in (
        lambda: solve(goal, [0.1, 0.2, 0.3], y, sensitive_features=columns),
        lambda: solve(goal, [0.1, 0.2, 0.3], y, sensitive_features=columns, decide_on=None),
        lambda: evaluate(goal, y, y, sensitive_features=columns),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_number_that_single_precision_rounds():
    message = r"g = 0.1, .*as float32 it is 0.10000000149011612, which rows have: write that"
    columns = {"g": np.array([0.1, 0.1, 0.0], np.float32)}
    with pytest.raises(ValueError, match=message):
        solve("maximize recall.on(g=0.1)", [0.1, 0.2, 0.3], [1, 0, 1], sensitive_features=columns)


def test_lists_are_not_groups():
    with pytest.raises(TypeError, match="of type list; text, numbers or booleans are expected"):
        as_columns({"g": pd.Series([[1], [2, 3], "a"])}, n_rows=3, wanted=["g"])


def test_groups_of_text_that_could_be_misread_are_quoted():
    groups = ["1", " y", "", "a"] * 4
    goal = "maximize accuracy subject to predicted_rate.min(g) >= 0"
    scores, y = np.linspace(0, 1, 16), [0] * 8 + [1] * 8
    with warnings.catch_warnings(action="ignore"):
        found = solve(goal, scores, y, sensitive_features={"g": groups})
    for words in ("g = '1':", "g = ' y':", "g = '':", "g = a:"):
        assert words in found.report.rule.text
    assert "g = '1'" in str(found.report)


def test_none_is_not_a_group():
    for call in (lambda: recall.on(g=None), lambda: Goal.parse("maximize recall.on(g=None)")):
        with pytest.raises((TypeError, ValueError), match=r"None.* marks a missing value: fill"):
            call()


def test_groups_that_fit_did_not_see():
    X = pd.DataFrame({"a": np.arange(28.0), "g": [f"v{i % 7}" for i in range(28)]})
    clf = PlugInClassifier(
        DummyClassifier(), "maximize accuracy subject to predicted_rate.min(g) >= 0",
        sensitive_features="g", cv=2,
    )  # fmt: skip
    with warnings.catch_warnings(action="ignore"):
        clf.fit(X, X.index % 2)
    message = r"as g = z in row 0 \(it saw g = v0; g = v1; .*; g = v4 and 2 more\); `unknown_group"
    with pytest.raises(ValueError, match=message):
        clf.predict(X.assign(g="z"))
