"""Data sets by name."""

import copy
import dataclasses
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from setpoint.inputs import Dataset, as_datasets

X = np.zeros((5, 2))
Y = np.array([0, 1, 0, 1, 1])


def test_arguments_are_stored_untouched():
    weight, side, baseline = np.ones(5), {"sex": ["f"] * 5}, LogisticRegression()
    d = Dataset(X, Y, sample_weight=weight, sensitive_features=side, baseline=baseline)
    assert d.X is X
    assert d.y is Y
    assert d.sample_weight is weight
    assert d.sensitive_features is side
    assert d.baseline is baseline


def test_only_X_and_y_are_positional():
    with pytest.raises(TypeError, match="positional"):
        Dataset(X, Y, np.ones(5))


def test_frozen_hashable_copyable():
    d = Dataset(X)
    with pytest.raises(dataclasses.FrozenInstanceError):
        d.y = Y
    assert d == d
    assert d != Dataset(X)
    assert len({d, d}) == 1
    assert copy.copy(d).X is X
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(d)).X, X)


@pytest.mark.parametrize(
    ("dataset", "text"),
    [
        (Dataset(X), "Dataset(X: (5, 2))"),
        (Dataset([[1, 2], [3, 4]], [0, 1]), "Dataset(X: (2, 2), y: (2,))"),
        (Dataset(["a", "b"]), "Dataset(X: (2,))"),
        (Dataset(sparse.eye_array(3)), "Dataset(X: (3, 3))"),
        (
            Dataset(pl.DataFrame({"a": [1]}), sensitive_features="a"),
            "Dataset(X: (1, 1), sensitive_features: 'a')",
        ),
        (
            Dataset(X, sensitive_features={"sex": Y, "age": Y}),
            "Dataset(X: (5, 2), sensitive_features: columns ['sex', 'age'])",
        ),
        (
            Dataset(X, Y, sample_weight=pd.Series(Y), baseline=LogisticRegression()),
            "Dataset(X: (5, 2), y: (5,), sample_weight: (5,), baseline: LogisticRegression)",
        ),
    ],
    ids=str,
)
def test_repr_tells_shapes_only(dataset, text):
    assert repr(dataset) == text


def test_X_is_needed():
    with pytest.raises(TypeError, match="Dataset: X is None; a data set needs rows"):
        Dataset(None)


def test_as_datasets():
    d = Dataset(X, Y)
    found = as_datasets({"a": d, "b c": (X, Y), "d": X, "e": (X, None), "f": [[1], [2]]})
    assert list(found) == ["a", "b c", "d", "e", "f"]
    assert found["a"] is d
    assert found["b c"].X is X
    assert found["b c"].y is Y
    assert found["d"].y is None
    assert found["e"].y is None
    assert found["f"].X == [[1], [2]]
    assert as_datasets(None) == {}
    assert as_datasets({}) == {}


def test_a_tuple_of_two_is_X_and_y():
    found = as_datasets({"a": ([0, 1], [1, 0])})["a"]
    assert found.X == [0, 1]
    assert found.y == [1, 0]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            [X],
            TypeError,
            "`datasets` must be a dict from names to Dataset, (X, y) or X, found list",
        ),
        (
            X,
            TypeError,
            "`datasets` must be a dict from names to Dataset, (X, y) or X, found ndarray",
        ),
        ({1: X}, TypeError, "`datasets`: names must be text, found 1"),
        ({"": X}, ValueError, "`datasets`: a name is empty"),
        ({"  ": X}, ValueError, "`datasets`: a name is empty"),
        ({"a": None}, TypeError, "`datasets['a']` is None; pass a Dataset, (X, y) or X"),
        (
            {"a": (X, Y, Y)},
            ValueError,
            "`datasets['a']` is a tuple of 3; pass (X, y), or a Dataset",
        ),
        ({"a": (X,)}, ValueError, "`datasets['a']` is a tuple of 1; pass (X, y), or a Dataset"),
    ],
)
def test_refusals(given, error, message):
    with pytest.raises(error, match=re.escape(message)):
        as_datasets(given)
