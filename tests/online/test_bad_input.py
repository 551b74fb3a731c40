"""What is wrong is said with argument, finding and remedy; nothing that was learnt is lost."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from online.samples import SOLVERS, fingerprint, online, stream
from setpoint.online import ExpiredWarning
from thinning import over

X, Y = stream(300)
ONE = X[:1]


def spoilt(value, rows=5):
    out = X[:rows].copy()
    out[rows - 1, 2] = value
    return out


LIMITS = {"NaN": np.nan, "infinite": np.inf, "negative infinite": -np.inf}
FORMS = {
    "a row": lambda v: spoilt(v, 1),
    "a batch": spoilt,
    "float32": lambda v: spoilt(v).astype(np.float32),
    "Fortran order": lambda v: np.asfortranarray(spoilt(v)),
    "sparse": lambda v: sparse.csr_matrix(spoilt(v)),
    "lists": lambda v: spoilt(v).tolist(),
    "both signs": lambda v: np.vstack([spoilt(v), -spoilt(v)]),
}


@pytest.mark.parametrize("call", ["partial_fit", "predict_learn", "predict", "predict_proba"])
@over("form", FORMS)
@over("value", LIMITS)
def test_values_that_are_not_finite(value, form, call):
    rows = FORMS[form](LIMITS[value])
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    clf = online().partial_fit(X, Y)
    before = fingerprint(clf)
    with pytest.raises(ValueError, match=r"X.* (NaN|infinit)"):
        getattr(clf, call)(rows, *([np.zeros(n, int)] if "learn" in call or "fit" in call else []))
    assert fingerprint(clf) == before


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("learner", ["nag", "sgd"])
def test_large_batches_are_undone(learner, form):
    clf = online(learner=learner).partial_fit(X, Y)
    rows, y = np.tile(X, (1000, 1)), np.tile(Y, 1000)
    for value in (np.nan, np.inf):
        rows[200_000, 1] = value
        before = fingerprint(clf)
        for call in (clf.partial_fit, clf.predict_learn):
            with pytest.raises(ValueError, match=r"X.* (NaN|infinit)"):
                call(form(rows), y)
            assert fingerprint(clf) == before
    rows[200_000, 1] = 0.0
    assert clf.partial_fit(form(rows), y).n_rows_seen_ == 300_300


def test_values_whose_sum_is_too_large_are_fine():
    clf = online().partial_fit(X, Y)
    rows = np.full((2, 5), 1e308)
    p = clf.predict_proba(rows)
    assert np.isfinite(p).all()
    narrow = np.full((2, 5), 3e38, np.float32)
    assert np.isfinite(clf.predict_proba(narrow)).all()
    assert clf.partial_fit(rows, [0, 1]).n_rows_seen_ == 302
    assert np.isfinite(clf.predict_proba(X)).all()


@pytest.mark.parametrize("size", [1e150, 1e200, 1e300])
@pytest.mark.parametrize("learner", ["nag", "sgd", "adagrad"])
@pytest.mark.parametrize("constant", [False, True])
def test_large_features_are_learnt_or_refused(learner, size, constant):
    """Steps of plain gradients may leave the numbers; the stream must not end with them."""
    clf = online(learner=learner, constant_step=constant).partial_fit(X, Y)
    before = fingerprint(clf)
    refused = ""
    try:
        clf.partial_fit(X * size, Y)
    except ValueError as error:
        refused = str(error)
    if refused:
        assert learner in ("sgd", "adagrad")
        assert "X" in refused
        assert "too large" in refused
        assert fingerprint(clf) == before
    assert np.isfinite(clf.predict_proba(X)).all()
    assert np.isfinite(clf.partial_fit(X, Y).predict_proba(X)).all()


BATCHES = {
    "other labels": (ONE, [2], ValueError, "`y` holds 2; the classes are 0, 1"),
    "a third label": (X[:3], [0, 1, 2], ValueError, "`y` holds 2; the classes are 0, 1"),
    "a third label in an array": (
        X[:3],
        np.array([0, 1, 5]),
        ValueError,
        "`y` holds 5; the classes",
    ),
    "text": (X[:2], ["a", "b"], ValueError, "`y` holds 'a', 'b'; the classes are 0, 1"),
    "no labels": (ONE, None, ValueError, "y"),
    "missing labels": (
        X[:2],
        [0, np.nan],
        ValueError,
        "`y` has 1 missing value, the first at row 1",
    ),
    "too few labels": (X[:3], [0, 1], ValueError, "`y` has 2 rows, 3 are expected"),
    "labels in an array": (X[:3], np.array([0, 1]), ValueError, "`y` has 2 rows, 3 are expected"),
    "a table of labels": (X[:2], np.eye(2), ValueError, "y should be a 1d array"),
    "fewer features": (X[:2, :3], [0, 1], ValueError, "X has 3 features, but OnlineFClassifier"),
    "more features": (np.hstack([X, X])[:2], [0, 1], ValueError, "X has 10 features, but"),
    "fewer features, sparse": (sparse.csr_matrix(X[:2, :3]), [0, 1], ValueError, "X has 3 feat"),
    "no rows": (X[:0], [], ValueError, "0 sample(s)"),
    "no rows, an array": (X[:0], Y[:0], ValueError, "0 sample(s)"),
    "no features": (X[:2, :0], [0, 1], ValueError, "0 feature(s)"),
    "one dimension": (X[0], [0], ValueError, "Expected 2D array, got 1D array instead"),
    "a scalar": (3.0, [0], (ValueError, TypeError), "3.0"),
    "text in X": ([["a", "b", "c", "d", "e"]], [0], ValueError, "could not convert string"),
    "complex": (X[:2] * 1j, [0, 1], ValueError, "Complex data not supported"),
}


@pytest.mark.parametrize("case", BATCHES)
def test_batches(case):
    rows, y, error, message = BATCHES[case]
    clf = online().partial_fit(X, Y)
    before = fingerprint(clf)
    for call in (clf.partial_fit, clf.predict_learn):
        with pytest.raises(error, match=re.escape(message)):
            call(rows, y)
        assert fingerprint(clf) == before
    with pytest.raises(error, match=re.escape(message)):
        clf.fit(rows, y) if "features" not in case else clf.partial_fit(rows, y)
    assert fingerprint(clf) == before


WEIGHTS = {
    "NaN": ([1.0, np.nan], "`sample_weight` has 1 NaN value, the first at row 1"),
    "negative": ([1.0, -1.0], "`sample_weight` has 1 negative value"),
    "infinite": ([np.inf, 1.0], "`sample_weight` has 1 infinite value"),
    "too few": ([1.0], "`sample_weight` has 1 rows, 2 are expected"),
    "a number": (2.0, "sample_weight should be a 1d array"),
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_weights(case):
    weight, message = WEIGHTS[case]
    clf = online().partial_fit(X, Y)
    clf.predict(X[:2], ids=["a", "b"])
    before = fingerprint(clf)
    for call in (clf.partial_fit, clf.predict_learn, clf.fit):
        with pytest.raises(ValueError, match=re.escape(message)):
            call(X[:2], [0, 1], sample_weight=weight)
    with pytest.raises(ValueError, match=re.escape(message)):
        clf.learn(["a", "b"], [0, 1], sample_weight=weight)
    assert fingerprint(clf) == before


def test_a_fit_that_is_refused_leaves_the_old_stream():
    clf = online().partial_fit(pd.DataFrame(X, columns=list("abcde")), Y)
    before = fingerprint(clf)
    for rows, y in ((X[:, :2], Y + 7), (X[:, :3], Y[:5]), (pd.DataFrame(X[:, :2]), Y + 7)):
        with pytest.raises(ValueError, match="`y` h"):
            clf.fit(rows, y)
        assert fingerprint(clf) == before
    clf.predict(pd.DataFrame(X, columns=list("abcde")))


def test_columns_of_other_names():
    frame = pd.DataFrame(X, columns=list("abcde"))
    clf = online().partial_fit(frame, Y)
    before = fingerprint(clf)
    for names, message in (("abcdx", "unseen at fit time"), ("edcba", "in the same order")):
        other = pd.DataFrame(X, columns=list(names))
        for call in (clf.predict, lambda rows: clf.partial_fit(rows, Y)):
            with pytest.raises(ValueError, match=message):
                call(other)
    with pytest.raises(ValueError, match=r"duplicate|unique|feature names"):
        clf.predict(pd.DataFrame(X, columns=list("abcdd")))
    assert fingerprint(clf) == before


# ---------------------------------------------------------------------- classes
def test_the_first_batch_has_to_hold_both_classes():
    with pytest.raises(ValueError, match=r"`y` holds one class only, 0.*declare `classes`"):
        online(classes=None).partial_fit(X[:3], [0, 0, 0])
    with pytest.raises(ValueError, match=r"`y` holds 3 labels"):
        online(classes=None).partial_fit(X[:3], [0, 1, 2])
    clf = online().partial_fit(X[:3], [0, 0, 0])
    assert clf.n_rows_seen_ == 3


CLASSES = {
    "one": ([1], {}, "`classes` holds one class only, 1"),
    "three": ([0, 1, 2], {}, "`classes` holds 3 labels"),
    "missing": ([0, None], {}, "`classes` has 1 missing value"),
    "no such positive": ([0, 1], {"pos_label": 2}, "`pos_label` 2 is not a class"),
}


@pytest.mark.parametrize("case", CLASSES)
def test_classes(case):
    classes, options, message = CLASSES[case]
    clf = online(classes=classes, **options)
    with pytest.raises(ValueError, match=re.escape(message)):
        clf.partial_fit(X, Y)
    assert not hasattr(clf, "classes_")
    with pytest.raises(ValueError, match=re.escape(message)):
        online(classes=None, **options).partial_fit(X, Y, classes=classes)


def test_other_classes_later():
    clf = online().partial_fit(X, Y)
    before = fingerprint(clf)
    with pytest.raises(ValueError, match=r"`classes` are \[0, 2\], and were \[0, 1\] so far"):
        clf.partial_fit(X, Y, classes=[0, 2])
    assert fingerprint(clf) == before


# ---------------------------------------------------------------------- ids
@pytest.fixture
def waiting():
    clf = online(buffer_size=4).partial_fit(X, Y)
    clf.predict(X[:6], ids=list("abcdef"))  # a and b are pushed out
    return clf.learn(["c"], [1])


IDS = {
    "learnt twice": (["d", "c"], [0, 1], ValueError, "`ids`: 'c' were learnt already"),
    "never predicted": (["d", "x"], [0, 1], ValueError, "`ids`: 'x' were never predicted"),
    "twice in a call": (["d", "d"], [0, 1], ValueError, "`ids` holds 'd' more than once"),
    "too few labels": (["d", "e"], [0], ValueError, "`y` has 1 rows, 2 are expected"),
    "other labels": (["d", "e"], [0, 2], ValueError, "`y` holds 2; the classes are 0, 1"),
    "one id": ("d", [0], ValueError, "ids should be a 1d array, got 'd'"),
}


@pytest.mark.parametrize("case", IDS)
def test_ids_of_learn(waiting, case):
    ids, y, error, message = IDS[case]
    before = fingerprint(waiting)
    with pytest.raises(error, match=re.escape(message)):
        waiting.learn(ids, y)
    assert fingerprint(waiting) == before
    assert waiting.n_waiting_ == 3


def test_ids_that_expired(waiting):
    assert (waiting.n_waiting_, waiting.n_expired_, waiting.n_rows_seen_) == (3, 2, 301)
    summary = waiting.goal_report_.section("stream")
    assert (summary.waiting, summary.expired) == (3, 2)
    with pytest.warns(ExpiredWarning, match="labels came for 'a', which had left the buffer of 4"):
        waiting.learn(["a", "d"], [1, 0])
    assert (waiting.n_waiting_, waiting.n_expired_, waiting.n_rows_seen_) == (2, 2, 302)
    before = fingerprint(waiting)
    with pytest.raises(ExpiredWarning):  # where warnings are errors, as here
        waiting.learn(["b", "e"], [1, 0])
    assert fingerprint(waiting) == before


PREDICTED = {
    "wait already": (["x", "d"], "`ids`: 'd' were predicted already and wait for labels"),
    "twice": (["x", "x"], "`ids` holds 'x' more than once"),
    "too few": (["x"], "`ids` has 1 rows, 2 are expected"),
    "too many": (["x", "y", "z"], "`ids` has 3 rows, 2 are expected"),
}


@pytest.mark.parametrize("case", PREDICTED)
def test_ids_of_predict(waiting, case):
    ids, message = PREDICTED[case]
    before = fingerprint(waiting)
    with pytest.raises(ValueError, match=re.escape(message)):
        waiting.predict(X[:2], ids=ids)
    assert fingerprint(waiting) == before


def test_an_id_may_come_again_once_it_was_learnt(waiting):
    waiting.predict(ONE, ids=["c"])
    waiting.learn(["c"], [0])
    assert waiting.n_rows_seen_ == 302


def test_a_stream_that_begins_with_predictions():
    with pytest.raises(ValueError, match="needs `classes` in the constructor"):
        online(classes=None).predict(X, ids=range(300))
    clf = online()
    with pytest.raises(ValueError, match="`ids` has 2 rows"):
        clf.predict(X, ids=[1, 2])
    assert not hasattr(clf, "classes_")


def test_more_rows_at_once_than_the_buffer_holds():
    clf = online(buffer_size=4)
    assert len(clf.predict(X[:10], ids=range(10))) == 10
    assert (clf.n_waiting_, clf.n_expired_) == (4, 6)
    assert clf.learn(range(6, 10), [0, 1, 0, 1]).n_rows_seen_ == 4


# ---------------------------------------------------------------------- what is fine
def test_rows_of_zeros():
    zeros = np.zeros((20, 5))
    for rows in (zeros, sparse.csr_matrix(zeros)):
        for learner in ("nag", "sgd", "adagrad"):
            clf = online(learner=learner).partial_fit(rows, [0, 1] * 10)
            assert clf.predict_proba(rows) == pytest.approx(0.5, abs=0.2)
            assert np.isfinite(clf.partial_fit(X, Y).predict_proba(X)).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_hundred_thousand_negatives_first(solver):
    rng = np.random.default_rng(0)
    start = rng.normal(size=(100_000, 3))
    clf = online(solver=solver).partial_fit(start, np.zeros(100_000, np.int8))
    summary = clf.goal_report_.section("stream")
    assert summary.fp < 100  # positive decisions do not pile up
    assert summary.prior == 0.0
    assert clf.threshold_ >= 0.0
    assert np.isfinite(clf.predict_proba(start[:9])).all()
    rows = rng.normal(size=(400_000, 3))
    y = (rows[:, 0] + 0.5 * rng.normal(size=len(rows)) > 1.0).astype(int)
    decided, late = clf.predict_learn(rows, y), slice(350_000, None)
    f = 2 * (decided[late] & y[late]).sum() / (decided[late].sum() + y[late].sum())
    assert f > (0.6 if solver == "half" else 0.7)
