"""Learners of the user's own: taught row by row, and untouched themselves."""

from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from online.samples import HINGE, LOG, SOLVERS, Known, numbers, online, stream
from oracles.online import sigmoid
from thinning import over

X, Y = stream(300)


def perceived(w, x, y):
    """The weights of a logistic regression after one more row."""
    return w + 0.1 * (y - sigmoid(x @ w)) * x


class Perceived:
    """A logistic regression in a few lines: no get_params, no weights, no classes."""

    def __init__(self):
        self.w = np.zeros(5)

    def partial_fit(self, X, y):
        self.w = perceived(self.w, X[0], y[0])

    def predict_proba(self, X):
        p = 1.0 / (1.0 + np.exp(-(X @ self.w)))
        return np.column_stack([1.0 - p, p])


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.learner.. GaussianNB scored:UserWarning")
@over(("learner", "solver"), list(product([LOG, BernoulliNB(), GaussianNB()], SOLVERS)), every=2)
def test_each_row_is_scored_before_it_is_taught_with_its_weight(learner, solver):
    clf = online(learner=learner, solver=solver)
    teacher = type(learner)(**learner.get_params())
    weight = np.random.default_rng(0).integers(0, 3, 50).astype(float)
    clf.partial_fit(X[:36], Y[:36], sample_weight=weight[:36])
    for i in range(50):
        row = slice(i, i + 1)
        if i >= 36:
            p = np.nan_to_num(teacher.predict_proba(X[row])[0, 1], nan=0.5)
            assert clf.predict_proba(X[row])[0, 1] == pytest.approx(p, abs=1e-12)
            said = clf.predict(X[row])[0]
            assert said == (p >= clf.threshold_)
            assert clf.predict_learn(X[row], Y[row], sample_weight=weight[row])[0] == said
        if weight[i]:
            teacher.partial_fit(X[row], Y[row], classes=[0, 1], sample_weight=weight[row])
    assert clf.n_rows_seen_ == (weight > 0).sum()
    assert not hasattr(learner, "classes_")  # a copy is taught
    assert clf.learner_ is not learner
    assert clf.learner is learner


def test_a_few_lines_are_enough():
    mine = Perceived()
    clf, w = online(learner=mine, random_state=0).partial_fit(X, Y), np.zeros(5)
    for x, y in zip(X, Y, strict=True):
        w = perceived(w, x, y)
    np.testing.assert_allclose(clf.learner_.w, w, atol=1e-12)
    assert (mine.w == 0).all()
    again = online(learner=mine).partial_fit(X[:200], 1 - Y[:200]).fit(X, Y)  # a fresh copy
    assert numbers(again) == numbers(clf)
    before = numbers(clf)
    with pytest.raises(ValueError, match=r"`sample_weight`: Perceived\.partial_fit takes no weigh"):
        clf.partial_fit(X, Y, sample_weight=np.ones(300))
    assert numbers(clf) == before


def test_scores_that_are_not_posteriors():
    clf = online(learner=HINGE).partial_fit(X, Y)
    assert not hasattr(clf, "predict_proba")
    margin = clf.learner_.decision_function(X)
    np.testing.assert_array_equal(clf.predict(X), margin >= clf.threshold_)
    summary = clf.goal_report_.section("stream")
    assert (summary.slope, summary.intercept, summary.calibration_error) == (None, None, None)
    half = online(learner=HINGE, solver="half").partial_fit(X, Y)
    assert half.threshold_ == 0.0
    np.testing.assert_array_equal(half.predict(X), half.learner_.predict(X))


def test_seeds():
    learner = SGDClassifier(loss="log_loss")
    one, two, three = (
        online(learner=learner, random_state=seed).partial_fit(X[:50], Y[:50]) for seed in (1, 1, 2)
    )
    assert one.learner_.random_state == two.learner_.random_state != three.learner_.random_state
    assert learner.random_state is None
    assert online(learner=LOG).partial_fit(X[:50], Y[:50]).learner_.random_state == 0
    drawn = online(learner=learner, random_state=np.random.RandomState(5))
    assert isinstance(drawn.partial_fit(X[:50], Y[:50]).learner_.random_state, int)
    for own in ({"learner": learner}, {}):  # checked with every learner
        with pytest.raises(ValueError, match="`random_state` is None, an int or a generator, got"):
            online(random_state="x", **own).partial_fit(X, Y)


# ---------------------------------------------------------------------- learners that fail
class Said(Known):
    """Says the first feature, whatever it is, or stops."""

    def predict_proba(self, X):
        if (X[:, 0] == 99.0).any():
            raise RuntimeError("no answer")
        return super().predict_proba(X)


def test_a_learner_that_stops_leaves_the_rows_before_it():
    """Its own state cannot be put back; the error names no row as learnt that was not."""
    p, y = np.array([[0.5], [0.5], [0.3], [99.0], [0.4]]), np.array([0, 1, 0, 1, 0])
    clf = online(learner=Said()).partial_fit(p[:2], y[:2])
    with pytest.raises(RuntimeError, match="no answer"):
        clf.partial_fit(p[2:], y[2:])
    assert clf.n_rows_seen_ == 3
    assert clf.partial_fit(p[4:], y[4:]).n_rows_seen_ == 4
    known = clf.predict_proba(p[:3])
    with pytest.raises(RuntimeError, match="no answer"):
        clf.fit(p, y)  # the old stream stays
    assert clf.n_rows_seen_ == 4
    np.testing.assert_array_equal(clf.predict_proba(p[:3]), known)


class Answers(Known):
    """Its answer to rows is always of one kind."""

    def __init__(self, answer):
        self.answer = answer

    def predict_proba(self, X):
        return self.answer(X)


class Scores(Answers):
    predict_proba = property()

    def decision_function(self, X):
        return self.answer(X)


@over(
    ("learner", "counted"),
    [
        (Answers(lambda X: np.full((len(X), 2), np.nan)), 0.5),
        (Scores(lambda X: np.full(len(X), np.nan)), 0.0),
    ],
)
def test_scores_that_are_not_numbers(learner, counted):
    """A warning that names the learner; never a threshold that is NaN."""
    clf, name = online(learner=learner), type(learner).__name__
    with pytest.warns(UserWarning, match=f"{name} scored 1 rows as NaN; they count as {counted}"):
        clf.partial_fit(X[:60], Y[:60])
    assert not np.isnan(clf.threshold_)
    assert clf.goal_report_.section("stream").window_rows == 60


def test_scores_of_another_shape_and_without_end():
    with pytest.raises(ValueError, match=r"Answers\.predict_proba gave an array of shape \(1, 3\)"):
        online(learner=Answers(lambda X: np.ones((len(X), 3)))).partial_fit(X[:60], Y[:60])
    rows = np.random.default_rng(0).normal(size=(300, 1))
    y = (rows[:, 0] > 0).astype(int)
    sure = Scores(lambda X: np.where(X[:, 0] > 0, np.inf, -np.inf))
    np.testing.assert_array_equal(online(learner=sure).partial_fit(rows, y).predict(rows), y)
