"""Stored anywhere in a stream, a classifier goes on as if it had never been stopped."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn.linear_model import LogisticRegression, SGDClassifier

from online.samples import KINDS, fingerprint, online, stream
from setpoint import OnlineFClassifier, PlugInClassifier, load_model, save_model
from setpoint.classifiers import ModelFileError
from setpoint.classifiers import persistence as files

X, Y = stream(500)


def through_a_file(clf, folder):
    path = folder / "m.skops"
    clf.save(path)
    return OnlineFClassifier.load(path)


WAYS = {
    "file": through_a_file,
    "pickle": lambda clf, _: pickle.loads(pickle.dumps(clf)),
    "copy": lambda clf, _: copy.deepcopy(clf),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_on_to_the_bit(kind, way, tmp_path):
    rng = np.random.default_rng(0)
    whole = online(**KINDS[kind])
    decided = whole.predict_learn(X, Y).tolist()
    parts, again = online(**KINDS[kind]), []
    cuts = np.sort(rng.choice(500, 5, replace=False))
    for low, high in zip([0, *cuts], [*cuts, 500], strict=True):
        if low < high:
            again.extend(parts.predict_learn(X[low:high], Y[low:high]))
            parts = WAYS[way](parts, tmp_path)
    assert again == decided
    assert fingerprint(parts) == fingerprint(whole)
    assert parts.goal_report_ == whole.goal_report_
    assert parts.n_rows_seen_ == 500


def late(clf, restart=None, form=np.asarray):
    """A stream whose labels come 7 rows late, some never, in a buffer that is too small."""
    rows = form(X)
    decided = []
    for i in range(300):
        decided.extend(clf.predict(rows[i : i + 1], ids=[f"row {i}"]))
        if i >= 7 and i % 5:
            clf.learn([f"row {i - 7}"], Y[i - 7 : i - 6])
        if restart is not None and i % 37 == 11:
            clf = restart(clf)
    return clf, decided


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("way", WAYS)
def test_rows_that_wait_are_stored(way, form, tmp_path):
    whole, decided = late(online(buffer_size=30), form=form)
    parts, again = late(online(buffer_size=30), lambda clf: WAYS[way](clf, tmp_path), form)
    assert again == decided
    assert fingerprint(parts) == fingerprint(whole)
    assert parts.n_waiting_ == whole.n_waiting_ > 20
    assert parts.n_expired_ == whole.n_expired_ > 10
    with pytest.raises(ValueError, match="were learnt already"):
        parts.learn(["row 285"], [1])


def test_rows_that_wait_before_anything_was_learnt(tmp_path):
    clf = online()
    clf.predict(X[:4], ids=list("abcd"))
    back = through_a_file(clf, tmp_path)
    assert back.n_rows_seen_ == 0
    assert fingerprint(back.learn(list("abcd"), Y[:4])) == fingerprint(
        clf.learn(list("abcd"), Y[:4])
    )


@pytest.mark.parametrize("way", WAYS)
def test_learners_of_your_own(way, tmp_path):
    def new():
        return online(learner=SGDClassifier(loss="log_loss", random_state=3), random_state=0)

    whole, parts = new().partial_fit(X[:200], Y[:200]), new().partial_fit(X[:90], Y[:90])
    parts = WAYS[way](parts, tmp_path).partial_fit(X[90:200], Y[90:200])
    assert fingerprint(parts) == fingerprint(whole)
    np.testing.assert_array_equal(parts.learner_.coef_, whole.learner_.coef_)


@pytest.mark.parametrize("way", WAYS)
def test_names_and_labels_are_stored(way, tmp_path):
    y = np.where(Y == 1, "yes", "no")
    frame = pd.DataFrame(X, columns=list("abcde"))
    clf = online(classes=["yes", "no"], pos_label="no", goal="maximize fbeta(2)")
    back = WAYS[way](clf.partial_fit(frame, y), tmp_path)
    assert back.classes_.tolist() == ["no", "yes"]
    assert back.positive_ == "no"
    np.testing.assert_array_equal(back.predict(frame), clf.predict(frame))
    assert fingerprint(back.partial_fit(frame, y)) == fingerprint(clf.partial_fit(frame, y))
    with pytest.raises(ValueError, match="feature names"):
        back.predict(frame[list("edcba")])


def test_a_copy_is_its_own(tmp_path):
    clf = online().partial_fit(X, Y)
    before = fingerprint(clf)
    for way in WAYS.values():
        other = way(clf, tmp_path)
        other.partial_fit(X, 1 - Y)
        other.predict(X[:1], ids=[1])
        assert fingerprint(clf) == before


def test_a_classifier_that_saw_nothing_may_be_stored(tmp_path):
    back = through_a_file(online(window=70), tmp_path)
    assert fingerprint(back.partial_fit(X, Y)) == fingerprint(online(window=70).partial_fit(X, Y))


def test_options_of_numpys_kinds_are_stored(tmp_path):
    clf = online(window=np.int64(50), step=np.float32(2.0), buffer_size=np.int32(9))
    clf.partial_fit(X, Y)
    assert fingerprint(through_a_file(clf, tmp_path)) == fingerprint(clf)


def test_load_model_reads_it_too(tmp_path):
    clf = online().partial_fit(X, Y)
    save_model(clf, tmp_path / "m.skops")
    assert fingerprint(load_model(tmp_path / "m.skops")) == fingerprint(clf)
    asked = skops.io.get_untrusted_types(data=skops.io.dumps(clf))
    assert set(asked) <= set(files.TRUSTED_TYPES)


# ---------------------------------------------------------------------- files that are none
def test_other_models_are_refused(tmp_path):
    plug = PlugInClassifier(LogisticRegression(), "f1", cv=2).fit(X, Y)
    save_model(plug, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=r"m\.skops holds a PlugInClassifier, no OnlineF"):
        OnlineFClassifier.load(tmp_path / "m.skops")
