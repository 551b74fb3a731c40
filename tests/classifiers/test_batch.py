"""Room for so many rows: brute force, and ``decide_batch`` by group, of classes, with ties."""

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from setpoint import GoalError, InputError, PlugInClassifier
from setpoint.errors import InputTypeError
from setpoint.inputs import column_draws, row_draws
from setpoint.rules import PerSegment
from thinning import over

NAMES = ["x", "z", "male"]
FAIR = "maximize accuracy subject to predicted_rate.difference(sex) <= 0.02"


def drawn(n, seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 2, n)])
    return X, (X @ [1.0, 0.5, 0.8] + rng.normal(size=n) > 0.8).astype(int)


X, Y = drawn(1_500, 0)
NEW, _ = drawn(600, 1)
SEX, NEW_SEX = np.where(X[:, 2], "m", "f"), np.where(NEW[:, 2], "m", "f")
FRAME = pd.DataFrame(NEW, columns=NAMES)


class Rounded(LogisticRegression):
    """Posteriors in steps of a tenth."""

    def predict_proba(self, X):
        p = np.round(super().predict_proba(X)[:, 1], 1)
        return np.column_stack([1.0 - p, p])


@cache
def by_group(randomized=False):
    """A threshold for each group, or draws."""
    clf = PlugInClassifier(LogisticRegression(), FAIR, randomized=randomized, decide_on=["sex"])
    return clf.fit(X, Y, sensitive_features={"sex": SEX})


@cache
def named():
    return PlugInClassifier(LogisticRegression(), "f1").fit(pd.DataFrame(X, columns=NAMES), Y)


@cache
def coarse(**options):
    """A model of few values: most rows are as good as others."""
    return PlugInClassifier(FrozenEstimator(Rounded().fit(X, Y)), "f1", **options).fit(X, Y)


# ---------------------------------------------------------------------- against brute force
@given(st.integers(0, 2**32 - 1), st.integers(2, 9))
def test_no_other_choice_of_so_many_rows_of_each_group_is_better(seed, n):
    rng, clf = np.random.default_rng(seed), coarse()
    rows = NEW[rng.choice(len(NEW), n)]
    score, hashed = clf.predict_proba(rows)[:, 1], row_draws(rows, key=clf.draw_key_)
    branch = rng.choice(["a", "b"] if seed % 2 else ["a"], n)
    most = {name: int(rng.integers(1, n + 1)) for name in "abc"}
    kept = clf.decide_batch(rows, most, by=branch) == 1
    worth = list(zip(score, -hashed, strict=True))
    for name in np.unique(branch):
        here = np.flatnonzero((clf.predict(rows) == 1) & (branch == name))
        best = max(
            combinations(here, min(most[name], len(here))),
            key=lambda chosen: sorted((worth[i] for i in chosen), reverse=True),
        )
        assert sorted(best) == np.flatnonzero(kept & (branch == name)).tolist()


@over(
    "at_most, by, error, message",
    [
        ({"a": 5}, ["a"] * 4, InputError, r"`at_most\['a'\]` is 5, and the batch has 4 rows"),
        ({"a": 2.0}, ["a"] * 4, InputError, r"`at_most\['a'\]` is a whole number of rows, 1 or"),
        ({"a": 1}, None, InputError, "a number for each group, and `by` is not given"),
        ({}, [*"abab"], InputError, "`at_most` is empty"),
        ({"a": 1, "B": 1}, [*"abcb"], InputError, r"no number for 'b'; 'c', of .* 3 rows \("),
        (1, np.array(["2026-01-01"] * 4, "M8[D]"), InputTypeError, "`by` holds values of type"),
        (1, pd.Series([["a"], ["b"]] * 2), InputTypeError, "`by` holds values of type list"),
        (1, ["a", None, "b", "b"], InputError, "`by` has 1 missing value, the first at row 1;"),
    ],
)
def test_room_that_is_refused(at_most, by, error, message):
    with pytest.raises(error, match=message):
        coarse().decide_batch(NEW[:4], at_most, by=by)


# ---------------------------------------------------------------------- groups
def test_thresholds_of_groups_move_up_together():
    clf, side = by_group(), {"sex": NEW_SEX}
    assert isinstance(clf.rule_, PerSegment)
    free = clf.predict(NEW, sensitive_features=side) == 1
    kept = clf.decide_batch(NEW, 50, sensitive_features=side) == 1
    assert kept.sum() == 50 < 100 < free.sum()
    edges = {key[0][1]: rule.threshold for key, rule in
             zip(clf.rule_.segments, clf.rule_.rules, strict=True)}  # fmt: skip
    assert len(set(edges.values())) == 2
    above = clf._scores(NEW) - np.array([edges[sex] for sex in NEW_SEX])
    assert not (kept & ~free).any()
    assert above[kept].min() >= above[free & ~kept].max()


def test_the_groups_of_the_room():
    clf, side, most = by_group(), pd.DataFrame({"sex": NEW_SEX}), {"f": 9, "m": 4}
    kept = clf.decide_batch(NEW, most, by="sex", sensitive_features=side) == 1  # of the rule
    assert [kept[sex == NEW_SEX].sum() for sex in "fm"] == [9, 4]
    kept = named().decide_batch(pl.from_pandas(FRAME), {0: 3, 1: 5}, by="male") == 1
    assert [kept[NEW[:, 2] == male].sum() for male in (0, 1)] == [3, 5]
    by, order = pd.Series(NEW_SEX), np.random.default_rng(0).permutation(len(NEW))
    one, other = (named().decide_batch(FRAME, most, by=groups) for groups in (by, by.iloc[order]))
    np.testing.assert_array_equal(one, other)  # they go by their index
    with pytest.raises(InputError, match=r"`by`: X has no column 'mal' \(did you mean 'male'"):
        named().decide_batch(FRAME, 5, by="mal")
    with pytest.raises(GoalError, match="the rule looks at"):
        clf.decide_batch(NEW, 5)


# ---------------------------------------------------------------------- rows as good as others
def test_rows_as_good_as_others_are_kept_by_their_hash():
    clf = coarse()
    free, score = clf.predict(NEW) == 1, clf._scores(NEW)
    kept = clf.decide_batch(NEW, 60) == 1
    assert kept.sum() == 60
    tied = score == score[kept].min()
    assert (kept & tied).any()
    assert (free & ~kept & tied).any()
    assert kept[score > score[kept].min()].all()
    hashed = row_draws(NEW, key=clf.draw_key_)
    assert hashed[kept & tied].max() < hashed[~kept & tied].min()
    order = np.random.default_rng(1).permutation(len(NEW))
    for form in (np.asarray, sparse.csr_array, lambda rows: rows.tolist()):
        np.testing.assert_array_equal(clf.decide_batch(form(NEW[order]), 60) == 1, kept[order])
    for part in np.array_split(np.arange(len(NEW)), 4):  # what stays in all stays in a part
        assert not (kept[part] & (clf.decide_batch(NEW[part], 60) == 0)).any()
    other = coarse(random_state=7).decide_batch(NEW, 60)
    assert other.sum() == 60
    assert (other != kept).any()
    np.testing.assert_array_equal(coarse(draw="random").decide_batch(NEW, 60), kept)


def test_a_column_of_identifiers_may_decide():
    frame, later = (
        pd.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "id": np.arange(len(rows)) + 0.0})
        for rows in (X, NEW)
    )
    model = FrozenEstimator(Rounded().fit(frame, Y))
    clf = PlugInClassifier(model, "f1", draw="id").fit(frame, Y)
    score, kept = clf._scores(later), clf.decide_batch(later, 60) == 1
    tied = score == score[kept].min()
    hashed = column_draws(later["id"], key=clf.draw_key_)
    assert hashed[kept & tied].max() < hashed[~kept & tied & (clf.predict(later) == 1)].min()


class OfObjects(LogisticRegression):
    """All rows are equally good."""

    def predict_proba(self, X):
        return np.tile([0.1, 0.9], (len(X), 1))


@pytest.mark.filterwarnings("ignore::setpoint.ConstantGoalWarning")
def test_rows_without_a_hash_are_said_where_it_would_decide():
    clf = PlugInClassifier(FrozenEstimator(OfObjects().fit(X, Y)), "recall").fit(X, Y)
    rows = np.array([[object(), 1.0, 0.0]] * 4, dtype=object)
    assert clf.decide_batch(rows, 4).tolist() == [1] * 4
    with pytest.raises(InputTypeError, match="rows at the border of `at_most` are equally good"):
        clf.decide_batch(rows, 2)


# ---------------------------------------------------------------------- several classes
def test_room_for_one_class_of_several():
    y = Y + (X[:, 0] > 1.0)
    clf = PlugInClassifier(LogisticRegression(), "macro_f1", cv=2).fit(X, y)
    free, kept, scores = clf.predict(NEW), clf.decide_batch(NEW, 20, label=2), clf._scores(NEW)
    labels = clf._classes.labels
    code = labels.index(2)
    parts = np.stack([rule.totals(scores) for rule in clf.rule_.rules])
    totals = parts[scores.argmax(axis=1), np.arange(len(scores))]
    lead = totals[:, code] - np.delete(totals, code, axis=1).max(axis=1)
    dropped = (free == 2) & (kept != 2)
    assert (kept == 2).sum() == 20 < (free == 2).sum()
    assert lead[kept == 2].min() >= lead[dropped].max()
    np.testing.assert_array_equal(kept[free != 2], free[free != 2])
    totals[:, code] = -np.inf
    next_best = np.array(labels)[totals.argmax(axis=1)]
    np.testing.assert_array_equal(kept[dropped], next_best[dropped])
    with pytest.raises(InputError, match=r"decides among 3: `label` says for which \(known: 0, 1"):
        clf.decide_batch(NEW, 20)
    with pytest.raises(InputError, match="`label`: 3 is not a class"):
        clf.decide_batch(NEW, 20, label=3)


# ---------------------------------------------------------------------- what is refused
def test_what_is_refused():
    drawing = by_group(randomized=True)
    assert drawing.rule_.randomized
    with pytest.raises(InputError, match="`at_most` is for rules that decide without draws"):
        drawing.decide_batch(NEW, 5, sensitive_features={"sex": NEW_SEX})
    with pytest.raises(InputTypeError, match="`X` is a LazyFrame: pass its rows as a frame"):
        coarse().decide_batch(pl.from_pandas(FRAME).lazy(), 5)
