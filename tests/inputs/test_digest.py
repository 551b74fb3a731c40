"""Rows of a fit are known again among those judged."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import PlugInClassifier, load_model, save_model
from setpoint.inputs import RowDigest
from thinning import over

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9_000, 3))
Y = (X[:, 0] + RNG.normal(size=9_000) > 0.8).astype(int)


@over("n", [300, 9_000])
@over("share", [0.0, 0.5, 1.0])
def test_the_share_of_rows_seen(n, share):
    digest = RowDigest.of(X[:n], None)
    old = int(share * 2_000)
    again = np.concatenate([X[np.arange(old) % n], RNG.normal(size=(2_000 - old, 3))])
    assert digest.share_of(again) == pytest.approx(share, abs=0.05)


def test_a_sample_stays_small():
    digest = RowDigest.of(RNG.normal(size=(50_000, 2)), None)
    assert 3_500 < len(digest.hashes) < 4_700


def test_rows_that_repeat_by_nature_are_not_called_seen():
    few = RNG.integers(0, 3, (4_000, 2)).astype(float)
    assert RowDigest.of(few, None).share_of(RNG.integers(0, 3, (500, 2)).astype(float)) == 0.0


def test_few_rows_say_nothing_and_strange_ones_have_no_digest():
    assert RowDigest.of(X, None).share_of(X[:5]) == 0.0
    assert RowDigest.of(np.array([[[1]], [{}]], dtype=object).reshape(2, 1), None) is None


def test_a_report_says_that_rows_were_fitted_on(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    goal = "maximize recall subject to precision >= 0.5"
    clf = PlugInClassifier(LogisticRegression(), goal).fit(frame[:6_000], Y[:6_000])
    mixed = clf.evaluate(frame[3_000:], Y[3_000:])
    assert mixed.counts.seen == pytest.approx(0.5, abs=0.05)
    assert "of these rows are among those that the model was fitted on" in (
        " ".join(str(mixed).split())
    )
    fresh = clf.evaluate(frame[6_000:], Y[6_000:])
    assert fresh.counts.seen == 0.0
    assert "fitted on" not in str(fresh)
    save_model(clf, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops").evaluate(frame[:600], Y[:600])
    assert again.counts.seen == 1.0


def test_rows_of_weight_zero_were_not_there():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    held = np.arange(400) < 100
    digest = RowDigest.of(X, None, np.where(held, 0.0, 2.0))
    assert len(digest.hashes) == 300
    assert digest.share_of(X[held]) == 0.0
    assert digest.share_of(X) == 0.75
    assert digest.share_of(X, np.where(held, 1.0, 0.0)) == 0.0
    assert digest.share_of(X, np.where(held, 0.0, 1.0)) == 1.0


def test_a_weight_of_zero_holds_rows_out():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X, weight = rng.normal(size=(400, 2)) + y[:, None], np.repeat([0.0, 1.0], [100, 300])
    clf = PlugInClassifier(LogisticRegression(), "maximize f1").fit(X, y, sample_weight=weight)
    assert clf.evaluate(X, y, sample_weight=1.0 - weight).counts.seen == 0.0
    assert clf.evaluate(X, y, sample_weight=weight).counts.seen == 1.0


def test_copies_are_seen_and_rows_that_are_equal_by_nature_are_not():
    """A table in which rows are twice looks, by its rows alone, like one of few categories."""
    twice, labels = np.concatenate([X[:600]] * 2), np.concatenate([Y[:600]] * 2)
    assert RowDigest.of(twice, None).share_of(X[300:900]) == 0.0
    digest = RowDigest.of(twice, None, labels=labels)
    assert digest.share_of(X[300:900]) == 0.5
    by_chance = RowDigest.of(twice, None, labels=RNG.permutation(labels))
    assert by_chance.share_of(X[300:900]) == 0.0
    few = RNG.integers(0, 3, (4_000, 2)).astype(float)  # hundreds of each, whatever the labels
    assert RowDigest.of(few, None, labels=few[:, 0].astype(int)).share_of(few[:500]) == 0.0
