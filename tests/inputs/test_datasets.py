"""Data sets, digests of their rows, the deployed model, and files written whole."""

import dataclasses
import datetime as dt
import os
import threading
from hashlib import sha256

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from setpoint import Deployed, PlugInClassifier, evaluate, solve
from setpoint.errors import InputError, InputTypeError
from setpoint.inputs import (
    Dataset,
    RowDigest,
    as_datasets,
    atomic_write,
    classes_of,
    text_digest,
    whole_file,
)
from setpoint.inputs.row_hash import rows_digest
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.NotMonotoneWarning"),
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(9_000, 3))
Y = (X[:, 0] + RNG.normal(size=9_000) > 0.8).astype(int)


# ---------------------------------------------------------------------- data sets by name
def test_arguments_are_stored_untouched_and_stay():
    given = {"sample_weight": np.ones(5), "sensitive_features": {"sex": ["f"] * 5}, "baseline": "b"}
    d = Dataset(X, Y, **given)
    shown = "X: (9000, 3), y: (9000,), sample_weight: (5,), sensitive_features: columns ['sex'], "
    assert repr(d) == f"Dataset({shown}baseline: 'b')"
    assert repr(Dataset([[1, 2], [3, 4]], baseline=Exception())) == (
        "Dataset(X: (2, 2), baseline: Exception)"
    )
    assert d.X is X
    assert d.y is Y
    assert all(getattr(d, name) is value for name, value in given.items())
    with pytest.raises(dataclasses.FrozenInstanceError):
        d.y = Y
    assert d != Dataset(X, Y, **given)
    assert {d, d} == {d}
    with pytest.raises(TypeError, match="positional"):
        Dataset(X, Y, np.ones(5))
    with pytest.raises(InputTypeError, match="Dataset: X is None; a data set needs rows"):
        Dataset(None)


@over(
    "given, error, message",
    [
        (X, InputTypeError, " must be a dict from names to Dataset, (X, y) or X, found ndarray"),
        ({1: X}, InputTypeError, ": names must be text, found 1"),
        ({"  ": X}, InputError, ": a name is empty"),
        ({"a": None}, InputTypeError, "['a'] is None; pass a Dataset, (X, y) or X"),
        ({"a": (X, Y, Y)}, InputError, "['a'] is a tuple of 3; pass (X, y), or a Dataset"),
        ({"a": (X,)}, InputError, "['a'] is a tuple of 1; pass (X, y), or a Dataset"),
    ],
)
def test_refusals_of_data_sets(given, error, message):
    with pytest.raises(error) as caught:
        as_datasets(given)
    assert str(caught.value).replace("`", "").startswith(f"datasets{message}")


# ---------------------------------------------------------------------- digests of rows
NUMBERS = np.array([[1.0, -0.0, np.nan], [2.5, 7.0, 1e300], [-3.0, 0.0, 4.0]])
MIXED = {
    "age": [31, 45, 20],
    "city": ["Oslo", "", None],
    "day": [dt.datetime(2026, 1, 1), dt.datetime(1969, 7, 20), dt.datetime(2000, 2, 29)],
    "fine": [True, False, True],
}


def test_the_bytes_are_those_that_the_page_says():
    many = np.random.default_rng(0).normal(size=(70_000, 3))  # in several blocks
    for rows, n in ((NUMBERS + 0.0, 3), (many, 70_000)):
        columns = [sha256(c.astype("<f8").tobytes()).digest() for c in rows.T]
        whole = sha256(b"setpoint rows 1 %d 3\n" % n + b"".join(columns)).hexdigest()
        assert rows_digest(rows) == rows_digest(pd.DataFrame(rows)) == f"sha256:{whole}"
    mixed = np.array([["a", 1.5], [None, "b"]], dtype=object)  # in every process
    assert (
        rows_digest(mixed)
        == "sha256:7b5986d592693e08705cf620bc57ef858309f4640f50fc30f57b7df95018a7bb"
    )
    assert text_digest("f1") == f"sha256:{sha256(b'f1').hexdigest()}"


@over(
    "same",
    [
        NUMBERS.tolist(),
        np.asfortranarray(NUMBERS),
        NUMBERS.astype(object),
        pd.DataFrame(NUMBERS, columns=list("abc")),
        pl.DataFrame(NUMBERS, schema=list("xyz")),
        np.where(NUMBERS == 0.0, 0.0, NUMBERS),
        {"a": NUMBERS[:, 0], "b": NUMBERS[:, 1].tolist(), "c": NUMBERS[:, 2]},
    ],
)
def test_the_container_makes_no_difference(same):
    assert rows_digest(same) == rows_digest(NUMBERS)


def test_nor_does_it_for_text_days_and_what_is_missing():
    frames = [pd.DataFrame(MIXED), pl.DataFrame(MIXED), pd.DataFrame(MIXED).convert_dtypes()]
    frames.append(frames[0].astype({"city": "category", "age": "float64"}))
    assert len({rows_digest(frame) for frame in frames}) == 1
    y = ["no", "yes", "no"]
    columns = [y, np.array(y), pd.Series(y), pd.Categorical(y), pl.Series(y), np.array(y, object)]
    assert len({rows_digest(column) for column in columns}) == 1
    assert rows_digest([0, 1, 0]) == rows_digest(np.array([0.0, 1.0, 0.0]))
    assert rows_digest(["0", "1", "0"]) != rows_digest([0, 1, 0])


def test_every_entry_every_column_and_the_order_count():
    found = {rows_digest(NUMBERS)}
    for i in range(3):
        for j in range(3):
            other = NUMBERS.copy()
            other[i, j] = 5.0
            found.add(rows_digest(other))
    found |= {rows_digest(x) for x in (NUMBERS[::-1], NUMBERS[:, ::-1], NUMBERS[:2], NUMBERS.T)}
    assert len(found) == 14
    large = np.array([2**53, 2**53 + 1])
    assert rows_digest(large) != rows_digest(large[::-1])


def test_sparse_rows_have_one_digest_in_every_form():
    dense = np.where(np.arange(12).reshape(3, 4) % 3 == 0, 2.0, 0.0)
    forms = [getattr(sparse, f"{name}_matrix")(dense) for name in ("csr", "csc", "coo", "lil")]
    messy = sparse.csr_matrix((np.append(forms[0].data, 0.0), np.append(forms[0].indices, 1),
                               np.append(forms[0].indptr[:-1], 5)), shape=(3, 4))  # fmt: skip
    assert len({rows_digest(form) for form in [*forms, messy]}) == 1
    assert rows_digest(forms[0]) != rows_digest(2 * forms[0])
    assert messy.nnz == 5  # the matrix given is not changed


def test_what_has_no_canonical_bytes_has_no_digest():
    assert rows_digest([[1, [2]], [3, {}]]) is None
    assert rows_digest(np.array([object()] * 3, dtype=object)) is None


# ---------------------------------------------------------------------- rows of the fit, seen again
@over("n", [300, 9_000])
@over("share", [0.0, 0.5, 1.0])
def test_the_share_of_rows_seen(n, share):
    digest = RowDigest.of(X[:n], None)
    old = int(share * 2_000)
    again = np.concatenate([X[np.arange(old) % n], RNG.normal(size=(2_000 - old, 3))])
    assert digest.share_of(again) == pytest.approx(share, abs=0.05)


def test_few_rows_say_nothing_and_strange_ones_have_no_digest():
    assert RowDigest.of(X, None).share_of(X[:5]) == 0.0
    assert RowDigest.of(np.array([[[1]], [{}]], dtype=object).reshape(2, 1), None) is None


def test_a_report_says_that_rows_were_fitted_on():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    goal = "maximize recall subject to precision >= 0.5"
    clf = PlugInClassifier(LogisticRegression(), goal).fit(frame[:6_000], Y[:6_000])
    mixed = clf.evaluate(frame[3_000:], Y[3_000:])
    assert mixed.counts.seen == pytest.approx(0.5, abs=0.05)
    assert "of these rows are among those that the model was" in " ".join(str(mixed).split())
    fresh = clf.evaluate(frame[6_000:], Y[6_000:])
    assert fresh.counts.seen == 0.0
    assert "fitted on" not in str(fresh)


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


# ---------------------------------------------------------------------- the deployed model
FEW, LABELS = X[:240], Y[:240]
MODEL = LogisticRegression().fit(FEW[:, :2], LABELS)
SCORES = FEW[:, 1] + FEW[:, 0]
SCORES[0] = 0.3  # at least the threshold
OLD = (SCORES >= 0.3).astype(int)
FRAME = pd.DataFrame(FEW, columns=list("abc")).assign(score=SCORES, old=OLD)
CHURN = "maximize accuracy subject to churn <= 0.3"
BY_SCORES = Deployed(SCORES, threshold=0.3)


@over("given", [BY_SCORES, Deployed("score", threshold=0.3), Deployed("old"), Deployed(OLD)])
def test_all_sources_say_the_same(given):
    assert given.codes(classes_of(LABELS), FRAME, 240).tolist() == OLD.tolist()


def test_scores_are_of_the_positive_class():
    flipped = classes_of(np.array(["yes", "no"])[LABELS], pos_label="no")
    assert BY_SCORES.codes(flipped, None, 240).tolist() == OLD.tolist()
    one, other = (evaluate("minimize churn", LABELS, LABELS, baseline=b) for b in (BY_SCORES, OLD))
    assert one.objective == other.objective
    one, other = (solve(CHURN, FEW[:, 0], LABELS, baseline=b).rule for b in (BY_SCORES, OLD))
    assert one == other


@over(
    "given, rows, error, message",
    [
        (lambda: Deployed(MODEL, threshold=0.5), FEW, InputError, "threshold is for scores"),
        (lambda: Deployed(MODEL), None, InputTypeError, "is a model, and there is no X"),
        (lambda: Deployed(SCORES), None, InputError, "got continuous numbers: .* Deployed.scores"),
        (lambda: Deployed(LogisticRegression()), FEW, NotFittedError, "FrozenEstimator"),
        (lambda: Deployed(LogisticRegression()), FEW, InputError, "FrozenEstimator"),
        (lambda: Deployed("scor", threshold=0.1), FRAME, InputError, "X has no column 'scor'"),
        *(
            (lambda t=t: Deployed(SCORES, threshold=t), FEW, InputError, "is a finite number or")
            for t in (np.nan, np.inf, "0.5", True)
        ),
    ],
)
def test_what_does_not_fit_is_refused(given, rows, error, message):
    with pytest.raises(error, match=message):
        given().codes(classes_of(LABELS), rows, 240)


# ---------------------------------------------------------------------- files
def test_an_old_file_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def broken():
        with whole_file(path) as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    atomic_write(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_pipes_and_devices_stay_what_they_are(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    atomic_write(pipe, b"through")
    reader.join(timeout=300)
    assert got == [b"through"]
    assert pipe.is_fifo()
    atomic_write(os.devnull, b"gone")
    assert not os.path.isfile(os.devnull)
