"""Learners of your own: taught row by row, and untouched themselves."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from online import oracle
from online.samples import SOLVERS, Known, fingerprint, numbers, online, stream
from setpoint import evaluate
from thinning import thinned

X, Y = stream(300)
LOG = SGDClassifier(loss="log_loss", random_state=0)
HINGE = SGDClassifier(loss="hinge", random_state=0)

quiet = [
    pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:.learner.. GaussianNB scored:UserWarning"),
]


TAUGHT = [
    pytest.param(learner, solver, marks=quiet if isinstance(learner, GaussianNB) else [])
    for learner, solver in product([LOG, BernoulliNB(), GaussianNB()], SOLVERS)
]


@pytest.mark.parametrize(("learner", "solver"), thinned(TAUGHT, 2))
def test_each_row_is_scored_before_it_is_taught(learner, solver):
    clf = online(learner=learner, solver=solver)
    teacher = type(learner)(**learner.get_params())
    clf.partial_fit(X[:50], Y[:50])
    for i in range(50):
        teacher.partial_fit(X[i : i + 1], Y[i : i + 1], classes=[0, 1])
    for i in range(50, 90):
        one = X[i : i + 1]
        p = np.nan_to_num(teacher.predict_proba(one)[0, 1], nan=0.5)
        assert clf.predict_proba(one)[0, 1] == pytest.approx(p, abs=1e-12)
        said = clf.predict(one)[0]
        assert said == (clf.predict_proba(one)[0, 1] >= clf.threshold_)
        assert clf.predict_learn(one, Y[i : i + 1])[0] == said
        teacher.partial_fit(one, Y[i : i + 1])
    assert not hasattr(learner, "classes_")  # a copy is taught
    assert clf.learner_ is not learner
    assert clf.learner is learner


def test_scores_that_are_not_posteriors():
    clf = online(learner=HINGE).partial_fit(X, Y)
    assert not hasattr(clf, "predict_proba")
    margin = clf.learner_.decision_function(X)
    np.testing.assert_array_equal(clf.predict(X), margin >= clf.threshold_)
    summary = clf.goal_report_.section("stream")
    assert (summary.slope, summary.intercept, summary.calibration_error) == (None, None, None)
    assert clf.evaluate(X, Y).objective.value > 0.35
    half = online(learner=HINGE, solver="half").partial_fit(X, Y)
    assert half.threshold_ == 0.0
    np.testing.assert_array_equal(half.predict(X), half.learner_.predict(X))


@pytest.mark.parametrize("learner", [LOG, HINGE], ids=["posteriors", "scores"])
def test_the_positive_class_may_be_the_first(learner):
    word = np.where(Y == 1, "a", "b")
    clf = online(learner=learner, classes=["a", "b"], pos_label="a").partial_fit(X, word)
    scores = clf.learner_.decision_function(X)
    if learner is HINGE:
        np.testing.assert_array_equal(clf.predict(X) == "a", -scores >= clf.threshold_)
    else:
        p = clf.predict_proba(X)
        np.testing.assert_allclose(p, clf.learner_.predict_proba(X), atol=1e-12)
        np.testing.assert_array_equal(clf.predict(X) == "a", p[:, 0] >= clf.threshold_)
    assert clf.evaluate(X, word).objective.value > 0.35


def test_other_goals():
    goal = "maximize recall subject to precision >= 0.5"
    for learner in (LOG, HINGE):
        clf = online(learner=learner, goal=goal)
        report = evaluate(goal, Y, clf.predict_learn(X, Y))
        assert clf.goal_report_.objective.value == pytest.approx(report.objective.value)


def test_seeds():
    learner = SGDClassifier(loss="log_loss")
    one, two, three = (
        online(learner=learner, random_state=seed).partial_fit(X, Y) for seed in (1, 1, 2)
    )
    assert one.learner_.random_state == two.learner_.random_state != three.learner_.random_state
    assert isinstance(one.learner_.random_state, int)
    np.testing.assert_array_equal(one.learner_.coef_, two.learner_.coef_)
    assert learner.random_state is None
    assert online(learner=LOG).partial_fit(X, Y).learner_.random_state == 0
    generator = np.random.RandomState(5)
    assert online(learner=learner, random_state=generator).partial_fit(X, Y).n_rows_seen_ == 300
    with pytest.raises(ValueError, match="`random_state` is None"):
        online(learner=learner, random_state="x").partial_fit(X, Y)


class Perceived:
    """A logistic regression in a few lines: no get_params, no weights, no classes."""

    def __init__(self):
        self.w = np.zeros(5)

    def partial_fit(self, X, y):
        self.w += 0.1 * (y[0] - oracle.sigmoid(X[0] @ self.w)) * X[0]

    def predict_proba(self, X):
        p = 1.0 / (1.0 + np.exp(-(X @ self.w)))
        return np.column_stack([1.0 - p, p])


def test_a_few_lines_are_enough():
    mine = Perceived()
    clf = online(learner=mine, random_state=0).partial_fit(X, Y)
    w = np.zeros(5)
    for x, y in zip(X, Y, strict=True):
        w += 0.1 * (y - oracle.sigmoid(x @ w)) * x
    np.testing.assert_allclose(clf.learner_.w, w, atol=1e-12)
    assert (mine.w == 0).all()
    again = online(learner=mine).partial_fit(X[:99], Y[:99]).partial_fit(X[99:], Y[99:])
    assert numbers(again) == numbers(clf)


@pytest.mark.parametrize("learner", [LOG, Perceived()], ids=["sgd", "own"])
def test_fit_starts_with_a_fresh_copy(learner):
    one, two = online(learner=learner), online(learner=learner)
    one.partial_fit(X[:200], 1 - Y[:200]).fit(X, Y)
    assert numbers(one) == numbers(two.fit(X, Y))


def test_weights():
    weight = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    clf = online(learner=LOG).partial_fit(X, Y, sample_weight=weight)
    teacher = SGDClassifier(loss="log_loss", random_state=0)
    for i in np.flatnonzero(weight):
        row = slice(i, i + 1)
        teacher.partial_fit(X[row], Y[row], classes=[0, 1], sample_weight=weight[row])
    np.testing.assert_allclose(clf.learner_.coef_, teacher.coef_, rtol=1e-12)
    assert clf.n_rows_seen_ == (weight > 0).sum()
    mine = online(learner=Perceived()).partial_fit(X, Y)
    before = numbers(mine)
    with pytest.raises(
        ValueError, match=r"`sample_weight`: Perceived\.partial_fit takes no weights"
    ):
        mine.partial_fit(X, Y, sample_weight=weight)
    assert numbers(mine) == before


FORMS = {
    "dense": np.asarray,
    "lists": lambda X: X.tolist(),
    "sparse": sparse.csr_matrix,
    "coordinates": sparse.coo_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcde")),
    "polars": lambda X: pl.DataFrame({c: X[:, j] for j, c in enumerate("abcde")}),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_rows(form):
    rows, few = FORMS[form](X[:100]), FORMS[form](X[100:103])
    learner = BernoulliNB()
    clf = online(learner=learner).partial_fit(rows, Y[:100])
    wanted = online(learner=learner).partial_fit(X[:100], Y[:100])
    np.testing.assert_array_equal(clf.learner_.feature_count_, wanted.learner_.feature_count_)
    assert clf.predict(few).tolist() == wanted.predict(X[100:103]).tolist()
    clf.predict(few, ids=[1, 2, 3])
    wanted.predict(X[100:103], ids=[1, 2, 3])
    clf.learn([2, 1], [0, 1])
    wanted.learn([2, 1], [0, 1])
    np.testing.assert_array_equal(clf.learner_.feature_count_, wanted.learner_.feature_count_)


def test_late_labels_teach_the_row_of_then():
    clf = online(learner=LOG).partial_fit(X[:200], Y[:200])
    said = clf.predict(X[200:210], ids=range(10))
    tp = clf.goal_report_.section("stream").tp
    clf.partial_fit(X[210:], 1 - Y[210:])
    between = clf.goal_report_.section("stream").tp
    clf.learn(range(10), Y[200:210])
    assert (
        clf.goal_report_.section("stream").tp - between == ((said == 1) & (Y[200:210] == 1)).sum()
    )
    assert clf.n_rows_seen_ == 300
    assert tp <= between


def test_what_learners_see_is_not_judged_here():
    """Text and gaps are the learner's affair."""

    class Words:
        def partial_fit(self, X, y):
            self.seen = [*getattr(self, "seen", []), X.iloc[0, 0]]

        def predict_proba(self, X):
            p = X["word"].str.len().fillna(1).to_numpy() / 10
            return np.column_stack([1 - p, p])

    frame = pd.DataFrame({"word": ["a", "abcdef", None, "abc"] * 20})
    y = frame["word"].str.len().fillna(0).to_numpy() > 2
    clf = online(learner=Words(), classes=[False, True]).partial_fit(frame, y.astype(bool))
    assert len(clf.learner_.seen) == 80
    assert clf.predict(frame).tolist() == y.tolist()


# ---------------------------------------------------------------------- learners that fail
class Said(Known):
    """Says the first feature, whatever it is, or stops."""

    def predict_proba(self, X):
        if (X[:, 0] == 99.0).any():
            raise RuntimeError("no answer")
        return np.column_stack([1.0 - X[:, 0], X[:, 0]])


def test_a_learner_that_stops_leaves_the_rows_before_it():
    """Its own state cannot be put back; the error names no row as learnt that was not."""
    p = np.array([[0.5], [0.5], [0.3], [99.0], [0.4]])
    y = np.array([0, 1, 0, 1, 0])
    clf = online(learner=Said())
    with pytest.raises(RuntimeError, match="no answer"):
        clf.partial_fit(p, y)
    assert clf.n_rows_seen_ in (0, 3)
    assert clf.partial_fit(p[4:], y[4:]).n_rows_seen_ in (1, 4)


@pytest.mark.parametrize("kind", ["posteriors", "scores"])
def test_scores_that_are_not_numbers(kind):
    """An error or a warning that names the learner; never a threshold that is NaN."""

    class Broken:
        def partial_fit(self, X, y):
            """Nothing."""

    def scores(self, X):
        return np.full(len(X), np.nan)

    def posteriors(self, X):
        return np.full((len(X), 2), np.nan)

    if kind == "scores":
        Broken.decision_function = scores
    else:
        Broken.predict_proba = posteriors
    clf = online(learner=Broken())
    try:
        with pytest.warns(UserWarning, match="Broken"):
            clf.partial_fit(X[:60], Y[:60])
    except ValueError as error:
        assert "Broken" in str(error)  # noqa: PT017
        return
    assert not np.isnan(clf.threshold_)
    assert clf.goal_report_.section("stream").window_rows == 60


def test_scores_without_end_are_the_largest_and_the_smallest():
    class Sure:
        def partial_fit(self, X, y):
            """Nothing."""

        def decision_function(self, X):
            return np.where(X[:, 0] > 0, np.inf, -np.inf)

    rows = np.random.default_rng(0).normal(size=(300, 1))
    y = (rows[:, 0] > 0).astype(int)
    clf = online(learner=Sure()).partial_fit(rows, y)
    np.testing.assert_array_equal(clf.predict(rows), y)


@pytest.mark.parametrize("rows", [X[:0], X[0], np.ones((2, 3))], ids=["none", "flat", "narrow"])
def test_rows_of_another_shape(rows):
    clf = online(learner=LOG).partial_fit(X, Y)
    before = fingerprint(clf)
    with pytest.raises(ValueError, match=r"sample|2D array|feature"):
        clf.partial_fit(rows, np.zeros(len(rows), int))
    assert fingerprint(clf) == before


def test_nothing_of_a_batch_is_learnt_if_its_labels_are_wrong():
    clf = online(learner=LOG).partial_fit(X, Y)
    before, coef = fingerprint(clf), clf.learner_.coef_.copy()
    for y in ([0, 1, 2], [0, 1], None):
        with pytest.raises((ValueError, TypeError), match="y"):
            clf.partial_fit(X[:3], y)
    assert fingerprint(clf) == before
    np.testing.assert_array_equal(clf.learner_.coef_, coef)


def test_perceptrons_go_with_the_sketch():
    clf = online(learner=Perceptron(random_state=0)).partial_fit(X, Y)
    assert clf.evaluate(X, Y).objective.value > 0.35


class Failing(SGDClassifier):
    """A learner that raises at its fiftieth row from the second fit on."""

    fits = 0

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.seen = getattr(self, "seen", 0) + 1
        if self.seen == 1:
            type(self).fits += 1
        if type(self).fits > 1 and self.seen == 50:
            raise RuntimeError("no more")
        return super().partial_fit(X, y, classes=classes, sample_weight=sample_weight)


def test_the_old_stream_stays_where_fit_fails():
    Failing.fits = 0
    clf = online(learner=Failing(loss="log_loss", random_state=0)).fit(X, Y)
    before = clf.predict_proba(X)
    with pytest.raises(RuntimeError, match="no more"):
        clf.fit(X, 1 - Y)
    assert clf.n_rows_seen_ == len(X)
    assert np.array_equal(clf.predict_proba(X), before)


@pytest.mark.parametrize("state", ["x", 1.5, [1]])
def test_a_random_state_is_checked_with_every_learner(state):
    with pytest.raises(ValueError, match="`random_state` is None, an int or a generator, got"):
        online(random_state=state).fit(X, Y)


@pytest.mark.parametrize("name", ["sensitive_features", "baseline", "datasets"])
def test_a_stream_counts_its_own_rows(name):
    with pytest.raises(ValueError, match=f"{name}: a stream counts its own rows"):
        online().fit(X, Y, **{name: Y})
