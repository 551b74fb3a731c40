"""Frontiers of classifiers and of posteriors."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from setpoint import Evidence, Goal, PlugInClassifier, frontier, solve
from setpoint.errors import GoalError
from setpoint.solvers import ColumnGeneration
from thinning import over

GOAL = "maximize recall subject to precision >= 0.8"


@pytest.fixture(scope="module")
def data():
    return make_classification(4000, weights=[0.8], class_sep=1.5, flip_y=0.02, random_state=0)


@pytest.fixture(scope="module")
def fitted(data):
    return PlugInClassifier(LogisticRegression(), GOAL, randomized="auto").fit(*data)


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_each_value_is_that_of_a_fit(fitted, data):
    found = frontier(fitted)
    assert found.goal == GOAL
    assert float(found.at(0.8)) == pytest.approx(fitted.goal_report_.objective.value, abs=1e-9)
    some = frontier(fitted, values=[0.7, 0.9])
    for bound, value in zip(some.bounds, some.values, strict=True):
        goal = f"maximize recall subject to precision >= {bound}"
        other = clone(fitted).set_params(goal=goal, randomized=True).fit(*data)
        assert value == pytest.approx(other.goal_report_.objective.value, abs=1e-9)


def test_groups_of_a_constraint_that_is_added(data):
    X, y = data
    g = np.where(X[:, 0] > 0, "a", "b")
    clf = PlugInClassifier(LogisticRegression(), GOAL, decide_on=None)
    clf.fit(X, y, sensitive_features={"g": g})
    vary = "recall.difference(g) <= 0.2"
    found = frontier(clf, vary=vary, X=X, y=y, sensitive_features={"g": g}, values=[0.05, 0.3])
    assert found.side == 'recall.difference("g")'
    assert found.values[0] <= found.values[1]
    with pytest.raises(GoalError, match="g"):
        frontier(clf, vary=vary)


@over(
    ("of", "options", "error", "message"),
    [
        ("clf", lambda X, y: {"X": X}, ValueError, "`X` and `y` go together"),
        ("clf", lambda X, y: {"sample_weight": y}, ValueError, "`sample_weight` belongs to rows"),
        ("list", lambda X, y: {}, TypeError, "takes a fitted classifier or Evidence, got list"),
        ("rows", lambda X, y: {}, TypeError, "needs a goal"),
        ("rows", lambda X, y: {"goal": GOAL, "X": X, "y": y}, TypeError, "evidence has its rows"),
    ],
)
def test_arguments_that_do_not_go_together(fitted, data, of, options, error, message):
    given = {"clf": fitted, "list": [1, 2], "rows": fitted.evidence_}[of]
    with pytest.raises(error, match=message):
        frontier(given, **options(*data))


@pytest.fixture(scope="module")
def wines():
    X, y = load_wine(return_X_y=True)
    posteriors = GaussianNB().fit(X[:, :3], y).predict_proba(X[:, :3])
    return posteriors, y


@over("goal", ["maximize accuracy", "maximize h_mean", "maximize min_recall"])
@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_posteriors_against_a_solve_for_each_bound(wines, goal):
    posteriors, y = wines
    text = goal + " subject to predicted_rate(label=1) <= 0.3"
    evidence = Evidence.from_arrays((0, 1, 2), posteriors, y, needs=Goal.parse(text).needs)
    found = frontier(evidence, text, values=[0.1, 0.2, 0.3, 0.6])
    assert found.kind == "points"
    assert found.gap <= 1e-4
    for bound, value in zip(found.bounds, found.values, strict=True):
        goal_there = f"{goal} subject to predicted_rate(label=1) <= {bound}"
        one = solve(goal_there, posteriors, y, evidence="soft", randomized=True).report
        assert value == pytest.approx(one.objective.posteriors, abs=1e-4)


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_by_labels_nothing_is_proved(wines):
    goal = "maximize accuracy subject to recall(label=1) >= 0.9"
    clf = PlugInClassifier(GaussianNB(), goal, evidence="label").fit(*wines)
    found = frontier(clf, values=[0.5, 0.9, 0.95])
    assert found.gap == np.inf
    assert (np.diff(found.values) <= 1e-12).all()


@pytest.mark.filterwarnings("ignore")
def test_retrained_learners_have_none(data):
    X, y = data[0][:500], data[1][:500]
    solver = ColumnGeneration(oracle=LogisticRegression())
    goal = "maximize g_mean subject to predicted_rate <= 0.3"
    clf = PlugInClassifier(LogisticRegression(), goal, solver=solver, evidence="label", cv=0.5)
    with pytest.raises(GoalError, match="joint posteriors or retrained learners"):
        frontier(clf.fit(X, y), X=X, y=y)
