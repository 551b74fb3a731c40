"""Class labels and row weights: codes, orders, and what every refusal says."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from setpoint.errors import InputError
from setpoint.inputs import check_labels
from thinning import over


@over(
    ("y", "classes", "kind"),
    [
        ([-5, 3, -5], [-5, 3], "i"),
        (np.array([-128, 127, -128], dtype=np.int8), [-128, 127], "i"),
        (np.array([200, 3], dtype=np.uint8), [3, 200], "u"),
        (np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64), [2**64 - 2, 2**64 - 1], "u"),
        ([-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1], "i"),
        ([1.0, -0.0, 1.0, 0.0], [0.0, 1.0], "f"),
        ([1e300, -(2.0**63), 1e300], [-(2.0**63), 1e300], "f"),
        ([True, True], [True], "b"),
        (["b", "a", "b"], ["a", "b"], "U"),
        (np.array(["b", "a"], dtype=object), ["a", "b"], "O"),
        (np.array(["b", "a"], dtype=np.dtypes.StringDType()), ["a", "b"], "T"),
        (np.array([2, 1], dtype=object), [1, 2], "i"),
        (np.array([True, False], dtype=object), [False, True], "b"),
        (pd.Series(["b", "a"], dtype="category"), ["a", "b"], "O"),
        (pd.Series([2, 1], dtype="Int64"), [1, 2], "i"),
        (pl.Series(["b", "a"]), ["a", "b"], "O"),
        (pa.chunked_array([["b"], ["a"]]), ["a", "b"], "O"),
    ],
)
def test_classes_are_sorted_and_codes_lead_back(y, classes, kind):
    found, codes = check_labels(y)
    assert found.tolist() == classes
    assert found.dtype.kind == kind
    assert codes.dtype == np.int64
    values = y.to_pylist() if isinstance(y, pa.ChunkedArray) else list(y)
    assert found[codes].tolist() == values


TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"))


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), min_size=1)
    | st.lists(TEXT, min_size=1)
)
def test_as_numpy_unique(values):
    expected, codes = np.unique(values, return_inverse=True)
    found = check_labels(np.array(values))
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], codes)


MISSING = "`y` has 1 missing value, the first at row 1; drop"
LABELS = "labels are text, integers or booleans"


@over(
    "y, error, message",
    [
        ("yes", ValueError, "y should be a 1d array, got 'yes' instead."),
        (sparse.eye_array(3), ValueError, "y should be a 1d array, got a dia_array"),
        ([[1], [1, 2]], ValueError, "y should be a 1d array, got a ragged list"),
        ([], ValueError, "`y` is empty"),
        (["a", np.nan], ValueError, MISSING),
        (pl.Series([1, None]), ValueError, MISSING),
        (pd.Series([True, None], dtype="boolean"), ValueError, MISSING),
        ([0, np.inf], ValueError, "`y` has 1 infinite value, the first at row 1"),
        (["a", 1], TypeError, "`y` mixes number (1) and text ('a'); labels are of"),
        (np.array([True, 2], object), TypeError, "`y` mixes boolean (True) and number (2)"),
        (pd.Series([(1, 2), (3, 4)]), TypeError, f"`y` holds labels of type tuple; {LABELS}"),
        ([{}, {}], TypeError, "`y` holds values of type dict; text, numbers or booleans are"),
        (np.array(["2020-01-01"], "M8[D]"), TypeError, f"`y` holds datetime64[D]; {LABELS}"),
        (np.array([b"a"]), TypeError, f"`y` holds |S1; {LABELS}"),
        ([1j], ValueError, "Complex data not supported: `y` holds complex128"),
        ([2**70, 1], ValueError, "`y` holds integers beyond 64 bits; use text labels"),
    ],
)
def test_label_refusals(y, error, message):
    with pytest.raises(error) as caught:
        check_labels(y)
    assert message in str(caught.value)
    with pytest.raises(error) as caught:
        check_labels(y, "baseline")
    assert "baseline" in str(caught.value)


@over(
    "y, classes, message",
    [
        (["a", "x", "z"], ["a", "b"], "`y` holds 'x', 'z'; the classes are 'a', 'b'"),
        (["1"], [0, 1], "`y` holds '1'; the classes are 0, 1"),
        (range(30), [0], "`y` holds 1, 2, 3, 4, 5, 6, 7, 8 and 21 more; the classes are 0"),
        (["a"], ["a", "b", "a"], "`classes` holds 'a' more than once"),
    ],
)
def test_refusals_of_classes(y, classes, message):
    with pytest.raises(InputError, match=re.escape(message)):
        check_labels(y, classes=classes)


# ---------------------------------------------------------------------------------- weights
