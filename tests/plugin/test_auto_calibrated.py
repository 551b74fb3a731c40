"""The calibrated models of estimator="auto": means over folds, and scores that none of them saw."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from setpoint import PlugInClassifier
from setpoint.inputs.classes import classes_of
from setpoint.plugin.auto.calibrated import curves_of, mean_of
from setpoint.plugin.auto.choice import ModelChoice, TriedModel
from setpoint.plugin.auto.fold_pairs import calibrated_by_pairs, pairs_of, why_no_pairs
from setpoint.search import limits
from setpoint.search.limits import StoppedWarning
from setpoint.solvers import AutoModel, HoldOut

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
GOAL = "maximize recall subject to precision >= 0.6"
FITS = []


class Counted(GaussianNB):
    """A model that counts its fits, and sleeps, by the clock of limits, in those on few rows."""

    def __init__(self, seconds=0.0):
        super().__init__()
        self.seconds = seconds

    def fit(self, X, y, sample_weight=None):
        FITS.append(len(X))
        if len(X) < 200:
            limits.time.sleep(self.seconds)
        return super().fit(X, y, sample_weight=sample_weight)


class Parrot(ClassifierMixin, BaseEstimator):
    """It knows the rows that it saw by heart, by their only column, and nothing of others."""

    def fit(self, X, y, sample_weight=None):
        self.known_ = dict(zip(X[:, 0].tolist(), y.tolist(), strict=True))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = np.array([self.known_.get(x, 0.5) for x in X[:, 0].tolist()])
        return np.column_stack((1 - p, p))


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.4).astype(int)
    return rng.normal(size=(300, 3)) + 0.8 * y[:, None], y


def scored(model, X, y, splits, weight=None):
    """Honest scores by the pieces of the library."""
    pairs, found = pairs_of(splits), []
    for _, _, (train, test) in pairs:
        own = None if weight is None else weight[train]
        fitted = clone(model).fit(X[train], y[train], sample_weight=own)
        P = fitted.predict_proba(X[test])
        found.append(P[:, 1] if P.shape[1] == 2 else P)
    return calibrated_by_pairs(pairs, found, splits, y, weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_all_pairs_by_hand(rows, weighted, n_classes):
    X, y = rows
    y = y + (X[:, 0] > 1.2) if n_classes == 3 else y
    weight = np.random.default_rng(1).random(300) if weighted else np.ones(300)
    splits = list(StratifiedKFold(4).split(X, y))
    expected = np.zeros((300, n_classes))
    for k, (_, rows_k) in enumerate(splits):
        for j, (_, rows_j) in enumerate(splits):
            if j == k:
                continue
            rest = np.setdiff1d(np.arange(300), np.concatenate((rows_j, rows_k)))
            model = GaussianNB().fit(X[rest], y[rest], sample_weight=weight[rest])
            P = np.zeros((len(rows_k), n_classes))
            for c in range(n_classes):
                curve = IsotonicRegression(out_of_bounds="clip")
                curve.fit(model.predict_proba(X[rows_j])[:, c], y[rows_j] == c, weight[rows_j])
                P[:, c] = curve.predict(model.predict_proba(X[rows_k])[:, c])
            expected[rows_k] += P / P.sum(axis=1, keepdims=True) / 3 if n_classes > 2 else P / 3
    found = scored(GaussianNB(), X, y, splits, weight if weighted else None)
    np.testing.assert_allclose(
        found, expected if n_classes > 2 else expected[:, 1], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_final_model_is_that_of_scikit_learn(rows, n_classes):
    X, y = rows
    y = y + (X[:, 0] > 1.2) if n_classes == 3 else y
    splits = list(StratifiedKFold(5).split(X, y))
    models = [GaussianNB().fit(X[train], y[train]) for train, _ in splits]
    curves = [
        curves_of(model.predict_proba(X[test]), y[test], None)
        for model, (_, test) in zip(models, splits, strict=True)
    ]
    order = classes_of(y, None, 1 if n_classes == 2 else None)
    theirs = CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=splits).fit(X, y)
    found = mean_of(models, curves, order).predict_proba(X)
    np.testing.assert_allclose(found, theirs.predict_proba(X), rtol=1e-6, atol=1e-6)


def test_no_row_is_scored_by_what_saw_it():
    y = np.random.default_rng(0).integers(0, 2, 200)
    X = np.arange(200.0)[:, None]
    splits = list(StratifiedKFold(5).split(X, y))
    found = scored(Parrot(), X, y, splits)
    for _, test in splits:  # one number a fold: the mean of the other folds' shares
        others = [y[rows].mean() for _, rows in splits if rows is not test]
        np.testing.assert_allclose(found[test], np.mean(others), rtol=1e-12)
    # What a fold's own labels are has no say in the scores of the fold.
    changed = y.copy()
    changed[splits[0][1]] = 1 - y[splits[0][1]]
    again = scored(Parrot(), X, changed, splits)
    np.testing.assert_array_equal(again[splits[0][1]], found[splits[0][1]])


def test_fits(rows):
    FITS.clear()
    clf = PlugInClassifier(AutoModel({"bayes": Counted()}), GOAL).fit(*rows)
    calibrated = clf.choice_.chosen == "bayes, calibrated"
    assert sorted(FITS) == [180] * 10 + [240] * 5 + [300] * (not calibrated)
    FITS.clear()
    PlugInClassifier(AutoModel({"bayes": Counted()}), GOAL, cv=HoldOut(0.4)).fit(*rows)
    assert FITS == [180]


def test_pairs_that_leave_a_class_out(rows):
    X, y = rows
    few = np.zeros(300, int)
    few[np.flatnonzero(y)[::5]] = 1
    fold = np.arange(300) % 3
    fold[few == 1] = np.arange(few.sum()) % 2  # the third fold trains on them, a pair does not
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    clf = PlugInClassifier(AutoModel({"bayes": GaussianNB()}), "maximize f1", cv=splits)
    clf.fit(X, few)
    assert clf.choice_.chosen == "bayes"
    [reason] = clf.choice_.left_out
    assert reason == (
        "bayes, calibrated (without folds 1 and 2, which calibration leaves out together, there "
        "is no row of 1)"
    )
    assert f"Not tried: {reason}." in str(clf.goal_report_).replace("\n    ", " ")
    weight = np.ones(300)
    weight[fold == 1] = 0.0
    assert why_no_pairs(pairs_of(splits), splits, y, weight) == "no row of fold 2 weighs anything"
    assert why_no_pairs(pairs_of(splits), splits, y, None) == ""


def test_two_folds_have_no_third_to_learn_from(rows):
    clf = PlugInClassifier(AutoModel({"bayes": GaussianNB()}), GOAL, cv=2).fit(*rows)
    assert "there is no row to fit on" in clf.choice_.left_out[0]


def test_time_that_ends_while_calibrated_models_are_fitted(rows, clock):
    three = {"a": GaussianNB(), "b": Counted(2.0), "c": Counted(2.0)}
    clf = PlugInClassifier(AutoModel(three, seconds=2.0), GOAL)
    said = "not all were judged with calibration within 2 seconds"
    with pytest.warns(StoppedWarning, match=f"{said}; more time"):
        clf.fit(*rows)
    choice = clf.choice_
    assert [one.name for one in choice.tried] == ["a", "a, calibrated", "b", "c"]
    assert all(one.folds == 5 and one.value is not None for one in choice.tried)
    left = [f"{name}, calibrated (no time was left)" for name in "bc"]
    assert choice.left_out == tuple(left)
    assert f"Not tried: {'; '.join(left)}." in choice.lines()
    assert said in clf.goal_report_.search.why


def test_a_model_that_was_dropped_last_is_not_said_to_be_cut():
    tried = (TriedModel("a", 5, 0.8, tied=True), TriedModel("b", 2), TriedModel("c", 2, cut=True))
    lines = ModelChoice("a", "a", "recall", 5, tried, (), "2 models were judged").lines()
    assert lines[2].startswith("b: clearly worse after 2 of 5 folds")
    assert lines[3] == "c: not judged: ended after 2 of 5 folds."
