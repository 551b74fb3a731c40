"""Data sets by name."""

import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from setpoint.errors import InputError, InputTypeError
from setpoint.inputs import Dataset, as_datasets
from thinning import over

X = np.zeros((5, 2))
Y = np.array([0, 1, 0, 1, 1])


def test_arguments_are_stored_untouched_and_stay():
    given = {"sample_weight": np.ones(5), "sensitive_features": {"sex": ["f"] * 5}, "baseline": "b"}
    d = Dataset(X, Y, **given)
    assert d.X is X
    assert d.y is Y
    assert all(getattr(d, name) is value for name, value in given.items())
    with pytest.raises(dataclasses.FrozenInstanceError):
        d.y = Y
    assert d == d
    assert d != Dataset(X, Y, **given)
    assert len({d, d}) == 1
    assert copy.copy(d).X is X
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(d)).X, X)
    with pytest.raises(TypeError, match="positional"):
        Dataset(X, Y, np.ones(5))
    with pytest.raises(InputTypeError, match="Dataset: X is None; a data set needs rows"):
        Dataset(None)


FRAME = pl.DataFrame({"a": [1]})


@over(
    "dataset, text",
    [
        (Dataset(["a", "b"]), "X: (2,)"),
        (Dataset([[1, 2], [3, 4]], [0, 1]), "X: (2, 2), y: (2,)"),
        (Dataset(sparse.eye_array(3)), "X: (3, 3)"),
        (Dataset(FRAME, sensitive_features="a"), "X: (1, 1), sensitive_features: 'a'"),
        (
            Dataset(X, sensitive_features={"sex": Y, "age": Y}),
            "X: (5, 2), sensitive_features: columns ['sex', 'age']",
        ),
        (
            Dataset(X, Y, sample_weight=pd.Series(Y), baseline=LogisticRegression()),
            "X: (5, 2), y: (5,), sample_weight: (5,), baseline: LogisticRegression",
        ),
    ],
)
def test_repr_tells_shapes_only(dataset, text):
    assert repr(dataset) == f"Dataset({text})"


def test_as_datasets():
    d = Dataset(X, Y)
    found = as_datasets({"a": d, "b c": (X, Y), "d": X, "e": (X, None), "f": [[1], [2]]})
    assert list(found) == ["a", "b c", "d", "e", "f"]
    assert found["a"] is d
    assert found["b c"].X is X
    assert found["b c"].y is Y
    assert found["d"].y is found["e"].y is None
    assert found["f"].X == [[1], [2]]
    pair = as_datasets({"a": ([0, 1], [1, 0])})["a"]
    assert (pair.X, pair.y) == ([0, 1], [1, 0])
    assert as_datasets(None) == as_datasets({}) == {}


@over(
    "given, error, message",
    [
        (X, InputTypeError, " must be a dict from names to Dataset, (X, y) or X, found ndarray"),
        ({1: X}, InputTypeError, ": names must be text, found 1"),
        ({"": X}, InputError, ": a name is empty"),
        ({"  ": X}, InputError, ": a name is empty"),
        ({"a": None}, InputTypeError, "['a'] is None; pass a Dataset, (X, y) or X"),
        ({"a": (X, Y, Y)}, InputError, "['a'] is a tuple of 3; pass (X, y), or a Dataset"),
        ({"a": (X,)}, InputError, "['a'] is a tuple of 1; pass (X, y), or a Dataset"),
    ],
)
def test_refusals(given, error, message):
    with pytest.raises(error) as caught:
        as_datasets(given)
    assert str(caught.value).replace("`", "").startswith(f"datasets{message}")
