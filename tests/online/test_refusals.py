"""What is refused in the middle of a stream, of which nothing is lost, and what is not refused."""

import pickle
import re
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from online.samples import LEARNERS, LOG, SOLVERS, fingerprint, online, stream
from setpoint import ModelFileError, PlugInClassifier, save_model
from setpoint.online import ExpiredWarning, OnlineFClassifier
from thinning import over

X, Y = stream(300)


def refused(clf, error, message, *calls):
    """Whether each call is refused, and leaves the stream as it was."""
    before = fingerprint(clf), pickle.dumps(clf.learner_)
    for call in calls:
        with pytest.raises(error, match=message):
            call()
        assert (fingerprint(clf), pickle.dumps(clf.learner_)) == before


# ---------------------------------------------------------------------- rows
def spoilt(value, n=5):
    out = X[:n].copy()
    out[n - 1, 2] = value
    return out


@over("value", [np.nan, np.inf, -np.inf])
@over(
    "form",
    [
        spoilt,
        lambda v: spoilt(v).astype(np.float32),
        lambda v: sparse.csr_matrix(spoilt(v)),
        lambda v: np.vstack([spoilt(v), -spoilt(v)]),
        lambda v: np.tile(spoilt(v), (9_000, 1)),  # too many to be looked at before they are learnt
        lambda v: sparse.csr_matrix(np.tile(spoilt(v), (15_000, 1))),
    ],
)
@pytest.mark.parametrize("learner", ["nag", "sgd"])
def test_values_that_are_not_finite(learner, value, form):
    rows, clf = form(value), online(learner=learner).partial_fit(X, Y)
    y = np.zeros(rows.shape[0], int)
    calls = (
        lambda: clf.partial_fit(rows, y),
        lambda: clf.predict_learn(rows, y),
        lambda: clf.predict(rows),
        lambda: clf.predict_proba(rows),
    )
    refused(clf, ValueError, r"X.* (NaN|infinit)", *calls)
    assert clf.partial_fit(X, Y).n_rows_seen_ == 600


def test_values_whose_sum_is_too_large_and_rows_of_zeros_are_fine():
    clf = online().partial_fit(X, Y)
    for rows in (np.full((2, 5), 1e308), np.full((2, 5), 3e38, np.float32)):
        assert np.isfinite(clf.predict_proba(rows)).all()
    assert clf.partial_fit(np.full((2, 5), 1e308), [0, 1]).n_rows_seen_ == 302
    for learner, form in product(LEARNERS, (np.asarray, sparse.csr_matrix)):
        zeros = form(np.zeros((20, 5)))
        clf = online(learner=learner).partial_fit(zeros, [0, 1] * 10)
        assert clf.predict_proba(zeros) == pytest.approx(0.5, abs=0.2)
        assert np.isfinite(clf.partial_fit(X, Y).predict_proba(X)).all()


@over("size", [1e150, 1e200, 1e300])
@over("learner", LEARNERS)
@over("constant", [False, True])
def test_large_features_are_learnt_or_refused(learner, size, constant):
    """Steps of plain gradients may leave the numbers; the stream must not end with them."""
    clf = online(learner=learner, constant_step=constant).partial_fit(X, Y)
    before = fingerprint(clf)
    try:
        clf.partial_fit(X * size, Y)
    except ValueError as error:
        assert learner in ("sgd", "adagrad")
        assert re.search("X.*too large", str(error))  # noqa: PT017
        assert fingerprint(clf) == before
    assert np.isfinite(clf.predict_proba(X)).all()
    assert np.isfinite(clf.partial_fit(X, Y).predict_proba(X)).all()


@pytest.mark.parametrize("learner", ["nag", LOG], ids=["nag", "own"])
def test_batches(learner):
    """Conformance has what else is refused."""
    frame, y = pd.DataFrame(X, columns=list("abcde"))[:50], Y[:50]
    clf, named = (online(learner=learner).partial_fit(rows, y) for rows in (X[:50], frame))
    clf.predict(X[:2], ids=["a", "b"])
    weight = [1.0, -1.0]
    for rows, labels, message in (
        (X[:3], np.array([0, 1, 5]), "`y` holds 5; the classes are 0, 1"),
        (X[:3], [0, 1], "`y` has 2 rows, 3 are expected"),
        (X[:2, :3], [0, 1], "X has 3 features, but OnlineFClassifier"),
        (sparse.csr_matrix(X[:2, :3]), [0, 1], "X has 3 features, but OnlineF"),
    ):
        calls = [partial(do, rows, labels) for do in (clf.partial_fit, clf.predict_learn)]
        refused(clf, ValueError, message, *calls)
    calls = (
        lambda: clf.partial_fit(X[:2], [0, 1], sample_weight=weight),
        lambda: clf.learn(["a", "b"], [0, 1], sample_weight=weight),
    )
    refused(clf, ValueError, "`sample_weight` has 1 negative value, the first at row 1", *calls)
    other = frame.iloc[:, ::-1]
    calls = (lambda: named.predict(other), lambda: named.partial_fit(other, y))
    refused(named, ValueError, "in the same order", *calls)
    # A fit that is refused leaves the names too.
    refused(named, ValueError, "`y` h", lambda: named.fit(X[:, :2], Y + 7))
    named.predict(frame)


# ---------------------------------------------------------------------- classes
def test_classes():
    for classes, message in (
        ([1], "`classes` holds one class only, 1"),
        ([0, 1, 2], "`classes` holds 3 labels"),
        ([0, None], "`classes` has 1 missing value"),
    ):
        for clf, given in ((online(classes=classes), None), (online(classes=None), classes)):
            with pytest.raises(ValueError, match=message):
                clf.partial_fit(X, Y, classes=given)
            assert not hasattr(clf, "classes_")
    assert online().partial_fit(X[:3], [0, 0, 0]).n_rows_seen_ == 3
    clf = online().partial_fit(X, Y)
    message = r"`classes` are \[0, 2\], and were \[0, 1\] so far"
    refused(clf, ValueError, message, lambda: clf.partial_fit(X, Y, classes=[0, 2]))


# ---------------------------------------------------------------------- ids
@pytest.fixture
def waiting():
    """Rows c to f wait or were learnt; a and b were pushed out."""
    clf = online(buffer_size=4).partial_fit(X, Y)
    clf.predict(X[:6], ids=list("abcdef"))
    return clf.learn(["c"], [1])


def test_ids(waiting):
    for ids, y, message in (
        (["d", "c"], [0, 1], "`ids`: 'c' were learnt already"),
        (["d", "x"], [0, 1], "`ids`: 'x' were never predicted"),
        (["d", "d"], [0, 1], "`ids` holds 'd' more than once"),
        (["d", "e"], [0], "`y` has 1 rows, 2 are expected"),
        (["d", "e"], [0, 2], "`y` holds 2; the classes are 0, 1"),
        ("d", [0], "ids should be a 1d array, got 'd'"),
    ):
        refused(waiting, ValueError, message, partial(waiting.learn, ids, y))
    for ids, error, message in (
        (["x", "d"], ValueError, "`ids`: 'd' were predicted already and wait for labels"),
        (["x", "x"], ValueError, "`ids` holds 'x' more than once"),
        (["x"], ValueError, "`ids` has 1 rows, 2 are expected"),
        (pd.date_range("2024-01-01", periods=2), TypeError, "`ids` are text or whole numbers, got"),
        ([0.5, 1.5], TypeError, "`ids` are text or whole numbers, got 0.5"),
        (["a", None], TypeError, "`ids` are text or whole numbers, got None"),
        ([True, False], TypeError, "`ids` are text or whole numbers, got True"),
    ):
        refused(waiting, error, message, partial(waiting.predict, X[:2], ids=ids))


def test_ids_that_expired(waiting):
    assert (waiting.n_waiting_, waiting.n_expired_, waiting.n_rows_seen_) == (3, 2, 301)
    summary = waiting.goal_report_.section("stream")
    assert (summary.waiting, summary.expired) == (3, 2)
    with pytest.warns(ExpiredWarning, match="labels came for 'a', which had left the buffer of 4"):
        waiting.learn(["a", "d"], [1, 0])
    assert (waiting.n_waiting_, waiting.n_expired_, waiting.n_rows_seen_) == (2, 2, 302)
    # Where warnings are errors, as here.
    refused(waiting, ExpiredWarning, "for 'b'", lambda: waiting.learn(["b", "e"], [1, 0]))
    waiting.predict(X[:1], ids=["c"])  # an id may come again once it was learnt
    assert waiting.learn(["c"], [0]).n_rows_seen_ == 303


def test_a_stream_that_begins_with_predictions(tmp_path):
    with pytest.raises(ValueError, match="needs `classes` in the constructor"):
        online(classes=None).predict(X, ids=range(300))
    clf = online(buffer_size=4)
    with pytest.raises(ValueError, match="`ids` has 2 rows"):
        clf.predict(X, ids=[1, 2])
    assert not hasattr(clf, "classes_")
    for ids in (np.arange(3), pd.Series(["a", "b", "c"]), [1, "1", "b", 2**60]):
        clf, n = online(buffer_size=3), len(ids)
        assert len(clf.predict(X[:n], ids=ids)) == n
        clf.save(tmp_path / "m.skops")
        back, last = OnlineFClassifier.load(tmp_path / "m.skops"), ids[n - 3 :]
        assert (back.n_waiting_, back.n_expired_, back.n_rows_seen_) == (3, n - 3, 0)
        assert fingerprint(back.learn(last, [0, 1, 0])) == fingerprint(clf.learn(last, [0, 1, 0]))


def test_files_of_other_models(tmp_path):
    plug = PlugInClassifier(LogisticRegression(), "f1", cv=2).fit(X, Y)
    save_model(plug, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=r"m\.skops holds a PlugInClassifier, no OnlineF"):
        OnlineFClassifier.load(tmp_path / "m.skops")


@over("solver", SOLVERS)
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
