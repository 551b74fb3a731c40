"""Rows that err together, by the keys of a column."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from setpoint import PlugInClassifier, solve
from setpoint.counts import Column
from setpoint.inference import together


def rows(keys, each, seed=0, effect=2.0):
    """Keys in no order, scores, and outcomes that rows of a key share beyond their scores."""
    rng = np.random.default_rng(seed)
    key = rng.permutation(np.repeat(np.arange(keys), each))
    x = rng.normal(size=len(key))
    right = rng.random(len(key)) < expit(x + effect * rng.normal(size=keys)[key])
    return key, expit(x), right


def found_by_pairs(scores, right, key):
    """The test as it is written: over pairs of rows with one key."""
    bins = np.searchsorted(np.quantile(scores, np.arange(1, 20) / 20), scores)
    e = right.astype(float)
    for b in np.unique(bins):
        e[bins == b] -= right[bins == b].mean()
    total = variance = pairs = 0.0
    for k in np.unique(key):
        products = np.outer(e[key == k], e[key == k])
        np.fill_diagonal(products, 0.0)
        total, pairs = total + products.sum(), pairs + np.count_nonzero(products)
        variance += 2.0 * (products**2).sum()
    effect = 1.0 + pairs / len(e) * total / (pairs * (e**2).mean())
    return total / np.sqrt(variance) > 4.0 and effect > 1.3


@pytest.mark.parametrize("effect", [0.0, 0.4, 0.6, 0.8, 2.0])
def test_keys_are_found_where_pairs_of_their_rows_say_so(effect):
    said = []
    for seed in range(4):
        key, scores, right = rows(60, 6, seed, effect)
        named = np.array([f"k{k}" for k in key])
        found = together(scores, right, {"key": Column(named), "other": Column(named[::-1])})
        assert found in ("key", None)
        assert (found == "key") == found_by_pairs(scores, right, key)
        said.append(found == "key")
    if effect in (0.0, 2.0):
        assert said == [effect > 0.0] * 4


def test_a_column_that_is_not_one_of_keys_is_not_named():
    key, scores, right = rows(200, 10)
    amount = np.where(np.arange(2_000) % 10 < 3, 0, key)  # 0 in .3 of the rows
    few, own = key % 20, np.arange(2_000)
    columns = {name: Column(x) for name, x in (("0", amount), ("few", few), ("own", own))}
    assert together(scores, right, columns) is None
    assert together(scores, right, {**columns, "key": Column(key)}) == "key"


def test_a_quantity_that_the_score_misses_is_not_a_key():
    rng = np.random.default_rng(0)
    height = rng.integers(1_000, 1_200, 4_000)
    right = rng.random(4_000) < expit((height - 1_100) / 20)
    assert together(rng.random(4_000), right, {"height": Column(height)}) is None


# ---------------------------------------------------------------------- where it is said
def table(seed=0, **how):
    key, scores, right = rows(200, 10, seed, **how)
    return pd.DataFrame({"s": scores, "customer": [f"c{k}" for k in key]}), right.astype(int)


GOAL = "maximize recall subject to predicted_rate <= 0.6"


def calls(X, y):
    """Whatever promises or measures on rows with labels and scores, and what promises nothing."""
    model = make_pipeline(make_column_transformer(("passthrough", ["s"])), LogisticRegression())
    clf = PlugInClassifier(model, GOAL, cv=2).fit(X, y)
    customer = {"customer": X["customer"]}
    loud = [
        lambda: clf.evaluate(X, y),
        lambda: clf.set_params(confidence=0.9).fit(X, y),
        lambda: solve(GOAL, X.assign(y=y), y="y", scores="s", confidence=0.9),
        lambda: solve(GOAL, X["s"], y, sensitive_features=customer, confidence=0.9),
    ]
    return loud, [lambda: solve(GOAL, X.assign(y=y), y="y", scores="s")]


def heard(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in caught if "err together" in str(w.message)]


def test_it_is_said_once_where_something_is_promised_or_measured():
    loud, silent = calls(*table())
    for call in loud:
        (text,) = heard(call)
        assert text == (
            "rows with one 'customer' err together: if new rows will have new ones, write "
            "`units='customer'`"
        )
    assert [heard(call) for call in silent] == [[]]
    loud, silent = calls(*table(effect=0.0))
    assert [heard(call) for call in (*loud, *silent)] == [[]] * 5
