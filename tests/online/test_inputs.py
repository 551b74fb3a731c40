"""Forms of rows, labels and weights: what is the same to a reader is the same to a classifier."""

import uuid
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from online.samples import KINDS, fingerprint, numbers, online, stream
from thinning import over

X, Y = stream()
CSR = sparse.csr_matrix(X)


def run(rows, y=Y, weight=None, cuts=(0, 150, 400), **options):
    clf, decided = online(**options), []
    for low, high in pairwise(cuts):
        w = None if weight is None else weight[low:high]
        decided.extend(clf.predict_learn(rows[low:high], y[low:high], sample_weight=w))
    return clf, decided


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_rows(kind):
    dense, decided = run(X, **KINDS[kind])
    thin, same = run(CSR, **KINDS[kind])
    assert same == decided
    np.testing.assert_allclose(
        thin.engine_.state.weights, dense.engine_.state.weights, rtol=1e-12, atol=1e-12
    )
    assert thin.threshold_ == pytest.approx(dense.threshold_, abs=1e-12)
    new = X[:50] * 3
    np.testing.assert_allclose(
        thin.predict_proba(sparse.csr_matrix(new)), dense.predict_proba(new), atol=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision(kind):
    narrow = X.astype(np.float32)
    one, decided = run(narrow, **KINDS[kind])
    two, same = run(narrow.astype(float), **KINDS[kind])
    assert same == decided
    p = one.predict_proba(narrow)
    np.testing.assert_allclose(p, two.predict_proba(narrow.astype(float)), atol=1e-12)
    np.testing.assert_allclose(p, one.predict_proba(narrow.astype(float)), atol=1e-12)


def unsorted(rows):
    """The same rows with their columns the other way round."""
    out = rows.copy()
    for i in range(out.shape[0]):
        row = slice(out.indptr[i], out.indptr[i + 1])
        out.indices[row], out.data[row] = out.indices[row][::-1], out.data[row][::-1].copy()
    out.has_sorted_indices = False
    return out


def duplicated(rows):
    """Each value as the sum of two, in two places; halves are exact."""
    indptr = rows.indptr * 2
    parts = (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), indptr)
    return sparse.csr_matrix(parts, shape=rows.shape)


def with_long_indices(rows):
    out = rows.copy()
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


def with_zeros(rows):
    """Zeros that are stored."""
    coo = rows.tocoo()
    i, j = np.nonzero(rows.toarray() == 0)
    data = np.concatenate([coo.data, np.zeros(len(i))])
    places = np.concatenate([coo.row, i]), np.concatenate([coo.col, j])
    return sparse.csr_matrix((data, places), shape=rows.shape)


SPARSE = {
    "array": sparse.csr_array,
    "columns": sparse.csc_matrix,
    "coordinates": lambda rows: sparse.csr_matrix(sparse.coo_matrix(rows)),
    "int64 indices": with_long_indices,
    "unsorted": unsorted,
    "duplicates": duplicated,
    "stored zeros": with_zeros,
}


@pytest.mark.parametrize("kind", ["sketch nag", "sgd", "adagrad", "nag tracking"])
@over("form", SPARSE)
def test_kinds_of_sparse_rows(form, kind):
    options = KINDS[kind]
    wanted, decided = run(CSR, **options)
    given = SPARSE[form](CSR)
    before = given.copy()
    found, same = run(given, **options)
    assert same == decided
    assert numbers(found) == numbers(wanted)
    for name in ("data", "indices", "indptr"):  # what users pass stays as it was
        np.testing.assert_array_equal(getattr(given, name), getattr(before, name))


def read_only(rows):
    out = rows.copy()
    out.flags.writeable = False
    return out


DENSE = {
    "Fortran order": np.asfortranarray,
    "every second row": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "backwards": lambda rows: np.ascontiguousarray(rows[::-1])[::-1],
    "columns of more": lambda rows: np.hstack([rows, rows])[:, :5],
    "read only": read_only,
    "lists": lambda rows: rows.tolist(),
    "objects": lambda rows: rows.astype(object),
    "big endian": lambda rows: rows.astype(">f8"),
    "extended": lambda rows: rows.astype(np.longdouble),
}


@pytest.mark.parametrize("form", DENSE)
def test_kinds_of_dense_rows(form):
    wanted, decided = run(X)
    found, same = run(DENSE[form](X))
    assert same == decided
    assert fingerprint(found) == fingerprint(wanted)


@pytest.mark.parametrize("dtype", [int, np.int8, np.uint16, bool, np.float16])
def test_numbers_of_other_kinds(dtype):
    rows = np.clip(np.round(X), 0, 1 if dtype is bool else 100).astype(dtype)
    wanted, decided = run(rows.astype(float))
    found, same = run(rows)
    assert same == decided
    assert numbers(found) == numbers(wanted)


NAMES = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames(frame):
    wanted, decided = run(X)
    given = frame({name: X[:, j] for j, name in enumerate(NAMES)})
    clf, same = run(given)
    assert same == decided
    assert numbers(clf) == numbers(wanted)
    assert clf.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(clf.predict(given), wanted.predict(X))
    late = clf.predict(given[:5], ids=list("vwxyz"))
    clf.learn(["z", "v"], [0, 1])
    np.testing.assert_array_equal(late, wanted.predict(X[:5], ids=list("vwxyz")))
    wanted.learn(["z", "v"], [0, 1])
    assert numbers(clf) == numbers(wanted)


# ---------------------------------------------------------------------- labels
def word(y):
    return np.where(y == 1, "yes", "no")


LABELS = {
    "text": (word, ["no", "yes"]),
    "text in a list": (lambda y: word(y).tolist(), ["yes", "no"]),
    "objects": (lambda y: word(y).astype(object), ["no", "yes"]),
    "booleans": (lambda y: y == 1, [False, True]),
    "floats": (lambda y: y.astype(float), [0.0, 1.0]),
    "uint8": (lambda y: y.astype(np.uint8), [1, 0]),
    "signs": (lambda y: 2 * y - 1, [-1, 1]),
    "large": (lambda y: 10**12 + y, [10**12, 10**12 + 1]),
    "pandas": (lambda y: pd.Series(word(y), dtype="category"), ["no", "yes"]),
    "polars": (lambda y: pl.Series(word(y)), ["no", "yes"]),
    "one column": (lambda y: pd.DataFrame({"y": y})["y"], [0, 1]),
}


@pytest.mark.parametrize("declared", [True, False])
@over("form", LABELS)
def test_labels(form, declared):
    make, classes = LABELS[form]
    wanted, decided = run(X)
    y = make(Y)
    found, same = run(X, y, classes=classes if declared else None)
    assert numbers(found) == numbers(wanted)
    labels = sorted(classes)
    assert found.classes_.tolist() == labels
    assert found.positive_ == labels[1]
    assert [labels.index(v) for v in same] == decided
    assert set(found.predict(X).tolist()) == set(labels)
    assert type(found.predict(X).tolist()[0]) is type(labels[0])
    np.testing.assert_array_equal(found.predict_proba(X), wanted.predict_proba(X))


@pytest.mark.parametrize("classes", [["a", "b"], ["b", "a"], np.array(["b", "a"])])
def test_the_positive_class(classes):
    wanted, decided = run(X)
    y = np.where(Y == 1, "a", "b")
    found, same = run(X, y, classes=classes, pos_label="a")
    assert numbers(found) == numbers(wanted)
    assert found.positive_ == "a"
    assert found.classes_.tolist() == ["a", "b"]
    assert [int(v == "a") for v in same] == decided
    np.testing.assert_array_equal(found.predict_proba(X), wanted.predict_proba(X)[:, ::-1])
    p = found.predict_proba(X)[:, 0]
    np.testing.assert_array_equal(found.predict(X) == "a", p >= found.threshold_)
    np.testing.assert_array_equal(found.decision_distribution(X)[:, 0], found.predict(X) == "a")
    assert found.goal_report_.counts.positive == "a"


def test_classes_may_be_declared_in_the_first_call():
    one = online(classes=None).partial_fit(X[:20], Y[:20] * 0, classes=[1, 0])
    two = online().partial_fit(X[:20], Y[:20] * 0)
    assert numbers(one) == numbers(two)
    one.partial_fit(X, Y, classes=[0, 1])
    assert numbers(one) == numbers(two.partial_fit(X, Y))


def test_rows_that_are_passed_stay_as_they_are():
    for rows in (X.copy(), CSR.copy(), X.astype(np.float32)):
        before, y, weight = rows.copy(), Y.copy(), np.ones(400)
        clf = online().partial_fit(rows, y, sample_weight=weight)
        clf.predict(rows, ids=range(400))
        clf.learn(range(400), y)
        assert (rows != before).sum() == 0
        np.testing.assert_array_equal(y, Y)


def test_waiting_rows_are_copies():
    one, two = online().partial_fit(X, Y), online().partial_fit(X, Y)
    rows = X[:3].copy()
    one.predict(rows, ids=[1, 2, 3])
    rows[:] = 77.0  # the caller's buffer takes the next rows
    two.predict(X[:3], ids=[1, 2, 3])
    assert numbers(one.learn([3, 1], [1, 0])) == numbers(two.learn([3, 1], [1, 0]))


IDS = {
    "whole numbers": np.arange(3),
    "text": ["a", "b", "c"],
    "text of NumPy": np.array(["a", "b", "c"]),
    "pandas": pd.Series(["a", "b", "c"]),
    "polars": pl.Series([7, 8, 9]),
    "mixed": [1, "1", "b"],
}


@pytest.mark.parametrize("form", IDS)
def test_ids(form, tmp_path):
    clf, ids = online().partial_fit(X, Y), IDS[form]
    clf.predict(X[:3], ids=ids)
    assert clf.n_waiting_ == 3
    clf.save(tmp_path / "m.skops")
    back = type(clf).load(tmp_path / "m.skops")
    assert numbers(back.learn(ids, [0, 1, 0])) == numbers(clf.learn(ids, [0, 1, 0]))
    assert back.n_waiting_ == clf.n_waiting_ == 0


OTHER_IDS = {
    "days": np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]"),
    "moments": pd.date_range("2024-01-01", periods=2),
    "UUIDs": [uuid.UUID(int=i) for i in range(2)],
    "fractions": [0.5, 1.5],
    "missing": ["a", None],
}


@pytest.mark.parametrize("form", OTHER_IDS)
def test_ids_that_files_do_not_hold_are_refused(form):
    clf = online().partial_fit(X, Y)
    before = fingerprint(clf)
    with pytest.raises(TypeError, match="`ids` are text or whole numbers, got"):
        clf.predict(X[:2], ids=OTHER_IDS[form])
    assert fingerprint(clf) == before
