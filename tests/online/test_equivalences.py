"""What must not matter: batches, forms of rows, weight zero, files, predictions, scales."""

import copy
import pickle
from itertools import pairwise, product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from online.samples import KINDS, OWN, fingerprint, numbers, online, stream
from setpoint import OnlineFClassifier
from thinning import over

N = 300
X, Y = stream(N)
CSR = sparse.csr_matrix(X)
FORMS = {
    "dense": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "sparse": sparse.csr_matrix,
    "sparse float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}
WHOLE = (0, N)


def through_a_file(clf, folder):
    clf.save(folder / "m.skops")
    return OnlineFClassifier.load(folder / "m.skops")


COPIES = {
    "file": through_a_file,
    "pickle": lambda clf, _: pickle.loads(pickle.dumps(clf)),
    "copy": lambda clf, _: copy.deepcopy(clf),
}


def taken(rows, y=Y, weight=None, cuts=WHOLE, between=lambda clf: clf, **options):
    """A stream in batches: the classifier, and what was decided before labels were used."""
    clf, decided = online(**options), []
    for low, high in pairwise(cuts):
        w = None if weight is None else weight[low:high]
        decided.extend(clf.predict_learn(rows[low:high], y[low:high], sample_weight=w))
        clf = between(clf)
    return clf, decided


def row_by_row(rows, y, weight, **options):
    """Each later row is predicted under an id, and its label comes at once."""
    begun = len(y) - 40
    clf, decided = taken(rows, y, weight, (0, begun), **options)
    for i in range(begun, len(y)):
        w = None if weight is None else weight[i : i + 1]
        decided.extend(clf.predict(rows[i : i + 1], ids=[i]))
        clf.learn([i], y[i : i + 1], sample_weight=w)
    return clf, decided


def looked_at(clf):
    larger = X[:50] * 1e3  # larger than any that was learnt
    clf.predict(larger)
    clf.decision_distribution(larger)
    clf.evaluate(larger, Y[:50])
    assert clf.goal_report_ == clf.goal_report_
    return clf


STREAMS = [
    ("own, scores", "sparse", False),
    *product(KINDS, FORMS, [False, True]),
    ("own", "dense", True),
    ("own, fofo", "dense", False),
]


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.learner.. GaussianNB scored:UserWarning")
@over(("kind", "form", "weighted"), STREAMS, every=17)
def test_a_stream_is_the_same_however_it_comes(kind, form, weighted, tmp_path):
    options, n = (KINDS | OWN)[kind], 160 if kind in KINDS else 50
    rows, y, rng = FORMS[form](X[:n]), Y[:n], np.random.default_rng(0)
    weight = rng.random(n) + 0.05 if weighted else None
    whole, decided = taken(rows, y, weight, (0, n), **options)
    assert 0 < sum(decided) < n
    cuts = [0, 1, 2, *np.sort(rng.choice(np.arange(3, n), 4, replace=False)), n]

    def restarted(clf):
        return COPIES[str(rng.choice(list(COPIES)))](clf, tmp_path)

    # Rows of weight zero leave no trace, not even of their scale.
    places, ones = np.sort(rng.choice(n, 30)), np.ones(n) if weight is None else weight
    more = FORMS[form](np.insert(X[:n], places, X[:30] * 1e6, axis=0))
    there, labels = np.insert(ones, places, 0.0), np.insert(y, places, 1)
    absent, said = taken(more, labels, there, (0, 7, n + 30), **options)
    absent.predict_learn(more[:3], labels[:3], sample_weight=np.zeros(3))  # which may come alone
    ways = {
        "in batches": taken(rows, y, weight, cuts, **options),
        "one at a time": taken(rows, y, weight, [0, *range(n - 40, n + 1)], **options),
        "weight zero": (absent, [d for d, w in zip(said, there, strict=True) if w]),
        "restarts": taken(rows, y, weight, cuts, restarted, **options),
        "looked at": taken(rows, y, weight, cuts, looked_at, **options),
        "ids": row_by_row(rows, y, weight, **options),
    }
    for way, (clf, same) in ways.items():
        assert same == decided, way
        assert numbers(clf) == numbers(whole), way
        assert clf.goal_report_ == whole.goal_report_, way


@over("kind", KINDS)
def test_sparse_and_narrow_rows_are_the_same_to_rounding(kind):
    narrow, new = X.astype(np.float32), X[:50] * 3
    for one, two in ((CSR, X), (narrow, narrow.astype(float))):
        (found, same), (wanted, decided) = (taken(rows, **KINDS[kind]) for rows in (one, two))
        assert same == decided
        assert found.threshold_ == pytest.approx(wanted.threshold_, abs=1e-12)
        p = found.predict_proba(type(one)(new) if one is CSR else new)
        np.testing.assert_allclose(p, wanted.predict_proba(new), atol=1e-12)


# ---------------------------------------------------------------------- forms of rows
def of_parts(data, indices, indptr):
    return sparse.csr_matrix((data, indices, indptr), shape=X.shape)


BACKWARDS = np.lexsort((-CSR.indices, CSR.tocoo().row))
LONG, NAMES = CSR.copy(), list("abcde")
LONG.indices, LONG.indptr = CSR.indices.astype(np.int64), CSR.indptr.astype(np.int64)
ROWS = {
    "columns": sparse.csc_matrix(X),
    "int64 indices": LONG,
    "unsorted": of_parts(CSR.data[BACKWARDS], CSR.indices[BACKWARDS], CSR.indptr),
    "duplicates": of_parts(np.repeat(CSR.data / 2, 2), np.repeat(CSR.indices, 2), CSR.indptr * 2),
    "stored zeros": of_parts(X.ravel(), np.tile(np.arange(5), N), np.arange(0, 5 * N + 1, 5)),
    "backwards": np.asfortranarray(X[::-1])[::-1],
    "object": X.astype(object),
    "lists": X.tolist(),
    "pandas": pd.DataFrame(X, columns=NAMES),
    "polars": pl.DataFrame(X, schema=NAMES),
}
"""What users pass; other dtypes are among scikit-learn's checks."""


def ways(rows, kind):
    """A stream of which three rows wait, and the labels of two come."""
    n = 140 if kind != "own" else 30
    clf, decided = taken(rows[:n], Y[:n], cuts=(0, n), **(KINDS | OWN)[kind])
    late = clf.predict(rows[:3], ids=["x", "y", "z"]).tolist()
    return decided, late, numbers(clf.learn(["z", "x"], [0, 1]))


@pytest.mark.parametrize("kind", ["sketch nag", "sgd", "adagrad", "nag tracking", "own"])
def test_forms_of_rows(kind):
    wanted, before = {True: ways(CSR, kind), False: ways(X, kind)}, ROWS["unsorted"].copy()
    for form, rows in ROWS.items():
        assert ways(rows, kind) == wanted[sparse.issparse(rows)], form
    for name in ("data", "indices"):  # what users pass stays as it was
        after = getattr(ROWS["unsorted"], name)
        np.testing.assert_array_equal(after, getattr(before, name))


def test_where_a_stream_begins():
    """Classes are declared in the first call or come with it; fit begins anew."""
    one = online(classes=None).partial_fit(X[:20], Y[:20] * 0, classes=[1, 0])
    two = online().partial_fit(X[:20], Y[:20] * 0)
    assert numbers(one) == numbers(two)
    assert numbers(one.partial_fit(X, Y, classes=[0, 1])) == numbers(two.partial_fit(X, Y))
    whole = taken(X)[0]
    assert numbers(taken(X, 2 * Y - 1, classes=None)[0]) == numbers(whole)
    one.predict(X[:1], ids=["a"])
    assert fingerprint(one.fit(X, Y)) == fingerprint(whole)


# ---------------------------------------------------------------------- late labels
@over("form", [np.asarray, sparse.csr_matrix])
@over("way", COPIES)
def test_rows_that_wait_are_stored(way, form, tmp_path):
    """Labels come 7 rows late, some never, in a buffer that is too small."""

    def late(restart):
        clf, rows, decided = online(buffer_size=30), form(X), []
        for i in range(200):
            decided.extend(clf.predict(rows[i : i + 1], ids=[f"row {i}"]))
            if i >= 7 and i % 5:
                clf.learn([f"row {i - 7}"], Y[i - 7 : i - 6])
            if restart and i % 37 == 11:
                clf = COPIES[way](clf, tmp_path)
        return clf, decided

    (whole, decided), (parts, again) = late(False), late(True)
    assert again == decided
    assert fingerprint(parts) == fingerprint(whole)
    assert parts.n_waiting_ == whole.n_waiting_ > 20
    assert parts.n_expired_ == whole.n_expired_ > 5
    with pytest.raises(ValueError, match="were learnt already"):
        parts.learn(["row 191"], [1])
    before = fingerprint(whole)
    parts.partial_fit(form(X), 1 - Y)
    assert fingerprint(whole) == before  # a copy is its own


def test_late_rows_count_with_the_score_and_the_decision_of_then():
    rows, y = stream(900)
    clf = online().partial_fit(rows[:300], y[:300])
    late, labels, buffer = rows[300:600], y[300:600], rows[300:600].copy()
    said = clf.predict(buffer, ids=range(300))
    buffer[:] = 77.0  # the caller's buffer takes the next rows
    clf.partial_fit(rows[600:], 1 - y[600:])  # another world
    between = clf.goal_report_.section("stream")
    assert (clf.predict(late) != said).any()
    clf.learn(range(299, -1, -1), labels[::-1])
    after = clf.goal_report_.section("stream")
    for name, true, decided in (("tn", 0, 0), ("fp", 0, 1), ("fn", 1, 0), ("tp", 1, 1)):
        counted = getattr(after, name) - getattr(between, name)
        assert counted == ((labels == true) & (said == decided)).sum()
    again = online().partial_fit(rows[:300], y[:300])
    again.predict(late, ids=range(300))
    again.partial_fit(rows[600:], 1 - y[600:]).learn(range(299, -1, -1), labels[::-1])
    assert numbers(clf) == numbers(again)


@over("form", FORMS)
@over("constant", [False, True])
def test_scales_of_features_do_not_matter_to_nag(constant, form):
    scale = 2.0 ** np.array([-20, 11, 0, 7, -3])
    one, decided = taken(FORMS[form](X), constant_step=constant)
    two, same = taken(FORMS[form](X * scale), constant_step=constant)
    assert same == decided
    assert one.threshold_ == two.threshold_
    assert one.goal_report_ == two.goal_report_
