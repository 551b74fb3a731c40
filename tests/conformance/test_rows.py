"""What must not matter to any classifier: how rows, labels and weights are written down.

Lists, orders in memory, dtypes and read-only rows are among scikit-learn's checks.
Trained models that end within the tolerance of their solver are compared by what they are worth
and by how few rows they decide otherwise.
"""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from conformance.cases import ALL, LATER, STREAMS, TRAINED, fitted, fitted_whole, new, rows_of
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
NAMES = ["a", "b", "c", "d"]


def alike(one, other, X=LATER.X, share=0.02, value=0.01):
    """Whether two models decide alike, and say so."""
    assert np.mean(one.predict(X) != other.predict(X)) <= share
    values = [model.goal_report_.objective.value for model in (one, other)]
    assert values[0] == pytest.approx(values[1], abs=value)


def same(one, other, X=LATER.X):
    """Whether two models decide alike to the last bit."""
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.decision_distribution(X), other.decision_distribution(X))
    assert one.goal_report_ == other.goal_report_


# ---------------------------------------------------------------------- weights and order
@pytest.mark.parametrize("name", TRAINED)
def test_weight_two_is_the_row_twice(name):
    s = rows_of(name)
    weight = np.where(np.arange(s.n) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(s.n), weight.astype(int))
    one = fitted_whole(name, s.X, s.y, sample_weight=weight)
    alike(one, fitted_whole(name, s.X[twice], s.y[twice]))


@pytest.mark.parametrize("name", ALL)
def test_zero_weight_is_absent(name):
    """Not even the scale of such rows is seen."""
    s = rows_of(name)
    n = s.n // 5
    weight = np.arange(s.n) % 3 + 1.0
    weight[:n] = 0.0
    spoilt = s.X.copy()
    spoilt[:n] *= 1e3
    one = fitted_whole(name, spoilt, s.y, sample_weight=weight)
    other = fitted_whole(name, s.X[n:], s.y[n:], sample_weight=weight[n:])
    alike(one, other, share=0.0, value=1e-9)
    assert one.goal_report_.counts.n_rows == other.goal_report_.counts.n_rows


@cache
def weighted(name):
    s = rows_of(name)
    return new(name).fit(s.X, s.y, sample_weight=(np.arange(s.n) % 4 + 1) / 2)


@pytest.mark.parametrize("name", ALL)
@over("form", [pl.Series, lambda w: w.astype(object)[:, None]])
def test_kinds_of_weights(name, form):
    s = rows_of(name)
    weight = form((np.arange(s.n) % 4 + 1) / 2)
    same(new(name).fit(s.X, s.y, sample_weight=weight), weighted(name))


@pytest.mark.parametrize("name", TRAINED)
def test_the_order_of_rows_does_not_matter(name):
    s = rows_of(name)
    order = np.random.default_rng(0).permutation(s.n)
    alike(fitted_whole(name, s.X[order], s.y[order]), fitted_whole(name, s.X, s.y))


@pytest.mark.parametrize("name", ALL)
def test_the_same_model_every_time(name):
    """And nobody's generator is drawn from."""
    s = rows_of(name)
    before = pickle.dumps(np.random.get_state())  # noqa: NPY002
    model = new(name, random_state=3).fit(s.X, s.y)
    first = pickle.loads(pickle.dumps(model))
    model.fit(LATER.X[:, :2], LATER.y)
    same(model.fit(s.X, s.y), first)
    assert pickle.dumps(np.random.get_state()) == before  # noqa: NPY002


@pytest.mark.parametrize("name", ALL)
def test_what_is_passed_stays_as_it_is(name):
    s = rows_of(name)
    X, y, weight = sparse.csr_matrix(s.X), s.y.copy(), np.arange(s.n) % 3 + 1.0
    before = X.copy()
    new(name).fit(X, y, sample_weight=weight).predict(X)
    assert (before != X).nnz == 0
    np.testing.assert_array_equal(y, s.y)
    np.testing.assert_array_equal(weight, np.arange(s.n) % 3 + 1.0)


# ---------------------------------------------------------------------- predictions
@pytest.mark.parametrize("name", ALL)
def test_neither_batches_nor_order_matter_to_predictions(name):
    model, X = fitted(name), LATER.X
    order = np.random.default_rng(0).permutation(LATER.n)
    cuts = np.split(np.arange(LATER.n), [1, 2, 50])
    singly = [[i] for i in range(LATER.n)]
    for method in ("predict", "decision_distribution"):
        call = getattr(model, method)
        whole = call(X)
        np.testing.assert_array_equal(call(X[order]), whole[order])
        for parts in (cuts, singly):
            np.testing.assert_array_equal(np.concatenate([call(X[i]) for i in parts]), whole)


@pytest.mark.parametrize("name", ALL)
def test_decisions_and_their_distribution_agree(name):
    model = fitted(name)
    shares = model.decision_distribution(LATER.X)
    assert shares.shape == (LATER.n, 2)
    assert set(np.unique(shares)) == {0.0, 1.0}  # no rule of these draws
    np.testing.assert_array_equal(shares.sum(axis=1), 1.0)
    decided = model.predict(LATER.X)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], decided)
    assert model.score(LATER.X, LATER.y) == np.mean(decided == LATER.y)


# ---------------------------------------------------------------------- forms of X
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames(name, make):
    """A frame holds columns and an array rows, so sums may be rounded another way."""
    s = rows_of(name)
    frame, later = (make(dict(zip(NAMES, X.T, strict=True))) for X in (s.X, LATER.X))
    model = new(name).fit(frame, s.y)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.predict(later), fitted(name).predict(LATER.X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(later[NAMES[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(later[NAMES[:3]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(LATER.X)
    assert not hasattr(model.fit(s.X, s.y), "feature_names_in_")


@cache
def dense(name):
    s = rows_of(name)
    return unscaled(name).fit(s.X, s.y)


def unscaled(name):
    """Of sparse rows scalers keep the zeros, and so learn another model."""
    model = new(name)
    return model.set_params(preprocessor=None) if "preprocessor" in model.get_params() else model


@pytest.mark.parametrize("name", ALL)
@over("form", [sparse.csr_matrix, sparse.coo_array])
def test_sparse_rows(name, form):
    s = rows_of(name)
    model = unscaled(name).fit(form(s.X), s.y)
    np.testing.assert_array_equal(model.predict(form(LATER.X)), model.predict(LATER.X))
    if name != "online own":  # scikit-learn's SGD takes shorter steps of the intercept there
        alike(model, dense(name), share=0.01, value=0.005)


@pytest.mark.parametrize("name", ALL)
def test_sparse_and_dense_rows_are_scaled_alike(name):
    s = rows_of(name)
    model = new(name).fit(sparse.csr_array(s.X), s.y)
    np.testing.assert_array_equal(model.predict(sparse.csr_array(LATER.X)), model.predict(LATER.X))


@pytest.mark.parametrize("name", [name for name in ALL if name != "online own"])
def test_labels_and_weights_go_by_the_index_of_X(name):
    s = rows_of(name)
    index = [f"row {i}" for i in range(s.n)]
    X = pd.DataFrame(s.X, columns=NAMES, index=index)
    y, weight = pd.Series(s.y, index), pd.Series((np.arange(s.n) % 4 + 1) / 2, index)
    order = np.random.default_rng(2).permutation(s.n)
    other = new(name).fit(X, y.iloc[order], sample_weight=weight.iloc[order])
    same(other, new(name).fit(X, y, sample_weight=weight), X)
    with pytest.raises(ValueError, match=r"^`y` and X have different indexes"):
        new(name).fit(X, y.reset_index(drop=True))


# ---------------------------------------------------------------------- labels
LABELS = [
    (["no", "yes"], None, 0),
    (["no", "yes"], object, 1),
    ([False, True], None, 0),
    ([-1, 1], None, 1),
    ([2.0, 7.0], None, 0),
    ([0, 1], np.uint8, 1),
]


@pytest.mark.parametrize("name", ALL)
@over(("values", "dtype", "positive"), LABELS)
def test_kinds_of_labels(name, values, dtype, positive):
    s = rows_of(name)
    labels = np.array(values, dtype=dtype)
    y = labels[s.y if positive else 1 - s.y]
    model = new(name, pos_label=labels.tolist()[positive]).fit(s.X, y)
    assert model.classes_.tolist() == labels.tolist()
    assert model.positive_ == labels[positive]
    twin, decided = fitted(name), model.predict(LATER.X)
    assert decided.dtype == model.classes_.dtype
    np.testing.assert_array_equal(decided == labels[positive], twin.predict(LATER.X) == 1)
    shares = model.decision_distribution(LATER.X)
    np.testing.assert_array_equal(shares[:, positive] == 1.0, decided == labels[positive])
    assert model.goal_report_.objective.value == twin.goal_report_.objective.value
    if name in TRAINED and name != "plug-in":  # whose scores are those of its model
        above = model.decision_function(LATER.X)
        upper = above >= 0 if positive else above > 0
        np.testing.assert_array_equal(decided == labels[1], upper)
    if name not in STREAMS:  # whose report is of decisions as rows came
        later = model.evaluate(s.X, y).objective.value
        assert later == twin.evaluate(s.X, s.y).objective.value


@pytest.mark.parametrize("name", ALL)
@over("form", [np.ndarray.tolist, lambda y: pd.Series(y, dtype="category"), pl.Series])
def test_columns_of_labels(name, form):
    s = rows_of(name)
    y = np.array(["no", "yes"])[s.y]
    model = new(name).fit(s.X, form(y))
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.positive_ == "yes"
    np.testing.assert_array_equal(model.predict(LATER.X) == "yes", fitted(name).predict(LATER.X))


@pytest.mark.parametrize("name", ALL)
def test_a_column_of_labels_in_a_table_is_taken_with_a_warning(name):
    s = rows_of(name)
    with pytest.warns(UserWarning, match="column-vector y was passed"):
        model = new(name).fit(s.X, s.y[:, None])
    same(model, fitted(name))
