"""bound_path: a model for each bound, and the classifier that was given stays as it is."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from setpoint import BoundPath, Dataset, GoalError, PlugInClassifier, RampClassifier, bound_path
from setpoint.estimators import BoundPathDisplay

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

GOAL = "minimize error_rate subject to predicted_rate <= 0.3"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=900) > 0).astype(int)


def test_each_bound_is_a_fit_of_its_own(rows):
    X, y = rows
    path = bound_path(RampClassifier(GOAL), X, y, [0.4, 0.2])
    assert isinstance(path, BoundPath)
    assert path.bounds.tolist() == [0.2, 0.4]
    assert (path.objective, path.side, path.relation) == ("error_rate", "predicted_rate", "<=")
    assert (path.goal, path.vary) == (GOAL, "predicted_rate <= 0.3")
    assert path.held_values is None
    assert path.held_reached is None
    for level, value, reached, report in zip(
        path.bounds, path.values, path.reached, path.reports, strict=True
    ):
        alone = RampClassifier(GOAL.replace("0.3", f"{level:g}")).fit(X, y).goal_report_
        assert (value, reached) == (alone.objective.value, alone.constraints[0].value)
        assert report.goal == alone.goal
        assert reached <= level
    assert path.values[0] > path.values[1]


def test_nan_where_no_model_meets_the_goal(rows):
    X, y = rows
    clf = RampClassifier(f"{GOAL} and recall >= 0.8")
    path = bound_path(clf, X, y, [0.1, 0.6], vary="predicted_rate", held_out=(X, y))
    assert path.reports[0] is None
    assert path.reports[1].satisfied
    for values in (path.values, path.reached, path.held_values, path.held_reached):
        assert np.isnan(values).tolist() == [True, False]
    # With on_infeasible="nearest" there is a model, and what it reaches says how near.
    near = bound_path(clf.set_params(on_infeasible="nearest"), X, y, [0.1], vary="predicted_rate")
    assert near.reached[0] > 0.1
    assert near.reports[0].status == "nearest"


def test_no_model_for_any_bound(rows):
    clf = RampClassifier(f"{GOAL} and recall >= 0.9")
    with pytest.warns(
        UserWarning, match=r"no model was found for any of the bounds. Of 0.1: .*recall"
    ):
        path = bound_path(clf, *rows, [0.05, 0.1], vary="predicted_rate")
    assert path.reports == (None, None)
    assert repr(path) == "BoundPath('predicted_rate <= 0.3', bounds: 2, models found: 0)"


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (LogisticRegression(), "a LogisticRegression"),
        (make_pipeline(RampClassifier(GOAL)), "a Pipeline"),
        (RampClassifier, "the class RampClassifier"),
    ],
)
def test_what_cannot_be_trained_for_a_bound(rows, given, got):
    for name, trained in (
        ("classifier", bound_path), ("clf", BoundPathDisplay.from_estimator),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"`{name}` is a classifier of this library .*{got}$"):
            trained(given, *rows, [0.2])


def test_rows_held_out(rows):
    X, y = rows
    a, b = slice(0, 600), slice(600, None)
    path = bound_path(RampClassifier(GOAL), X[a], y[a], [0.3], held_out=(X[b], y[b]))
    judged = RampClassifier(GOAL).fit(X[a], y[a]).evaluate(X[b], y[b])
    assert path.held_values[0] == judged.objective.value
    assert path.held_reached[0] == judged.constraints[0].value
    assert path.values[0] != path.held_values[0]


def test_what_else_fit_and_evaluate_take(rows):
    X, y = rows
    said = (X[:, 0] > 0).astype(int)
    traffic = {"traffic": Dataset(X[:300], baseline=said[:300])}
    path = bound_path(
        RampClassifier("minimize error_rate subject to churn.on('traffic') <= 0.5"),
        X, y, [0.05, 0.1], baseline=said, datasets=traffic,
        held_out={"X": X, "y": y, "datasets": traffic},
    )  # fmt: skip
    assert (path.reached <= path.bounds).all()
    np.testing.assert_array_equal(path.reached, path.held_reached)
    np.testing.assert_array_equal(path.values, path.held_values)


def test_the_classifier_stays_as_it_is(rows):
    X, y = rows
    deployed = LogisticRegression().fit(X[:, :], X[:, 0] > 0)
    clf = RampClassifier("minimize error_rate s.t. predicted_rate <= 0.3", baseline=deployed)
    before = dict(vars(clf))
    bound_path(clf, X, y > 0, [0.2])
    assert vars(clf) == before
    assert clf.baseline is deployed
    assert deployed.predict(X).dtype == bool
    fitted = clone(RampClassifier(GOAL)).fit(X, y)
    report, coef = fitted.goal_report_, fitted.coef_.copy()
    bound_path(fitted, X, y, [0.2])
    assert fitted.goal == GOAL
    assert fitted.goal_report_ is report
    np.testing.assert_array_equal(fitted.coef_, coef)


def test_other_families(rows):
    X, y = rows
    clf = PlugInClassifier(LogisticRegression(), GOAL, randomized=False)
    path = bound_path(clf, X, y, [0.2, 0.3])
    assert (path.reached <= path.bounds).all()


@pytest.mark.parametrize(
    ("goal", "values", "more", "error", "words"),
    [
        (GOAL, None, {}, ValueError, "`values` is a list of bounds, got None"),
        (GOAL, [], {}, ValueError, "values"),
        (GOAL, ["a"], {}, TypeError, "`values` is a list of numbers"),
        (GOAL, [np.nan], {}, ValueError, "values"),
        (f"{GOAL} and recall >= 0.1", [0.2], {}, GoalError, "`vary` says which bound moves"),
        (GOAL, [0.2], {"vary": 3}, GoalError, "vary"),
        (
            "minimize error_rate s.t. recall >= recall.baseline()",
            [0.2],
            {},
            GoalError,
            "`vary` is a constraint with a number on its right side",
        ),
        (GOAL, [0.2], {"held_out": (1,)}, ValueError, r"`held_out` is \(X, y\), or a mapping"),
        (GOAL, [0.2], {"held_out": {"X": 1}}, ValueError, "'y' is missing, found: 'X'"),
        (
            GOAL,
            [0.2],
            {"held_out": {"X": 1, "y": 1, "sample_weights": 1}},
            ValueError,
            r"it takes no 'sample_weights' \(did you mean 'sample_weight'\?\)",
        ),
    ],
)
def test_errors(rows, goal, values, more, error, words):
    with pytest.raises(error, match=words):
        bound_path(RampClassifier(goal), *rows, values, **more)
