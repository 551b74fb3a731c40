"""Monitor: a deployed rule, watched; and its picture."""

import copy
import json
import pickle

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import Confidence, GoalError, GoalReport, Monitor, PlugInClassifier
from setpoint.errors import InputError, InputTypeError
from thinning import over

mpl.use("agg")
GOAL = "maximize recall subject to precision >= 0.6 and recall.difference(sex) <= 0.4"


def drawn(n, seed=0, shift=1.5):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    X = pd.DataFrame(rng.normal(0, 1, (n, 2)) + shift * y[:, None], columns=["a", "b"])
    return X.assign(sex=rng.choice([0, 1], n)), y


@pytest.fixture(scope="module")
def clf():
    return PlugInClassifier(LogisticRegression(), GOAL, sensitive_features="sex").fit(*drawn(3_000))


def test_a_classifier_of_this_library_brings_all_that_is_needed(clf):
    monitor = Monitor(clf)
    assert monitor.names() == [
        "precision >= 0.6",
        'recall.difference("sex") <= 0.4 (sex = 0 against sex = 1)',
        'recall.difference("sex") <= 0.4 (sex = 1 against sex = 0)',
    ]
    # Each may be wrong with a third of alpha, so that together they keep to it.
    assert monitor.limit == pytest.approx(len(monitor.names()) / 0.001)
    X, y = drawn(2_000, 1)
    monitor.update(X, y)
    assert (monitor.n_rows_, monitor.alarms_) == (2_000, [])
    report = monitor.on(clf.evaluate(X, y))
    assert "No alarm after 2,000 rows." in str(report)
    assert GoalReport.from_dict(report.to_dict()) == report
    monitor.update(*drawn(2_000, 2, shift=-0.5))
    assert monitor.alarms_[0].constraint == "precision >= 0.6"
    assert 1_900 < monitor.alarms_[0].since <= monitor.alarms_[0].row < 2_400
    assert monitor.alarms_[0].value < 0.6
    named = copy.deepcopy(clf).set_params(baseline="old")  # on which the goal is silent
    assert Monitor(named).update(*drawn(100, 8)).n_rows_ == 100


def test_a_model_of_another_library():
    X, y = drawn(2_000)
    model = LogisticRegression().fit(X, y)
    monitor = Monitor(model, "maximize recall subject to predicted_rate <= 0.5")
    assert (monitor.update(X).n_rows_, monitor.alarms_) == (2_000, [])
    assert monitor.update(X.assign(a=5.0)).alarms_
    goal = "maximize recall subject to precision >= 0.6 and predicted_rate <= 0.5"
    assert Monitor(goal=goal, classes=[0, 1]).needs_labels == (True, False)


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_units_of_a_classifier_of_this_library():
    X, y = drawn(900)
    X["customer"] = np.arange(900) // 3
    goal = "maximize recall subject to precision >= 0.6"
    clf = PlugInClassifier(LogisticRegression(), goal, cv=0.5, units="customer").fit(X, y)
    monitor = Monitor(clf, goal.replace("0.6", "0.5"), largest_unit=3)
    monitor.update(X, y).update(X[:6], y[:6])
    assert (monitor.n_rows_, monitor.n_left_out_) == (300, 6)
    assert monitor.plot().ax_.get_xlabel() == "units"
    bad = monitor.update(X.assign(customer=-X["customer"] - 1), 1 - y).alarms_[0]
    assert 300 < bad.row <= 600  # where the bad ones are
    assert f"seen at unit {bad.row}; since about unit " in str(bad)
    with pytest.raises(InputTypeError, match="`units` go with the Monitor's `largest_unit`"):
        Monitor(clf).update(X, y)
    clf.set_params(confidence=Confidence(largest_unit=4))
    assert Monitor(clf).largest_unit == 4
    assert Monitor(clf).resume(json.loads(json.dumps(Monitor(clf).to_dict()))).n_rows_ == 0


def test_the_state_goes_on_in_another_process(clf):
    one, two = Monitor(clf), Monitor(clf)
    first, second = drawn(700, 3), drawn(700, 4)
    one.update(*first).update(*second)
    two.update(*first)
    stored = json.loads(json.dumps(two.to_dict()))
    again = Monitor(pickle.loads(pickle.dumps(clf))).resume(stored).update(*second)
    assert again.to_dict() == one.to_dict()
    for copied in (copy.deepcopy(two), pickle.loads(pickle.dumps(two))):
        assert copied.update(*second).to_dict() == one.to_dict()


def test_a_state_of_something_else_is_refused(clf):
    stored = Monitor(clf).to_dict()
    other = PlugInClassifier(LogisticRegression(C=0.01), GOAL, sensitive_features="sex")
    for monitor, state, message in (
        (Monitor(other.fit(*drawn(3_000, 9))), stored, "of another model"),
        (Monitor(clf, "maximize f1 subject to precision >= 0.5"), stored, "of another goal"),
        (Monitor(clf, alpha=0.01), stored, "of another alpha"),
        (Monitor(clf), {"format": 2}, "of format 1 is read here"),
    ):
        with pytest.raises(InputError, match=message):
            monitor.resume(state)


def watching(constraint, **more):
    return {"goal": f"maximize f1 s.t. {constraint}", "classes": [0, 1], **more}


@over(
    "given, error, message",
    [
        ({"goal": "maximize f1", "classes": [0, 1]}, GoalError, "has no constraint to watch"),
        ({"goal": "maximize f1 s.t. recall >= 0.5"}, InputTypeError, "`classes` is missing"),
        ({}, InputTypeError, "`goal` is missing"),
        (watching("recall >= 0.5", alpha=1), InputError, "is a number above 0 and below 1, got 1"),
        (watching("g_mean >= 0.5"), GoalError, "cannot be watched row by row"),
        (watching("recall.max() >= 0.5"), GoalError, "holds where one of several statements does"),
        (watching("recall.min(sex) >= 0.5"), InputError, "`groups`: the goal compares the values"),
        (watching("recall.on('audit') >= 0.5"), GoalError, "watches the rows of X"),
    ],
)
def test_wrong_arguments_are_named(given, error, message):
    with pytest.raises(error, match=message):
        Monitor(**given)


def test_wrong_rows_leave_the_state_as_it_was(clf):
    monitor = Monitor(clf).update(*drawn(300, 6))
    before, sex = monitor.to_dict(), {"sex": [0, 1]}
    X, y = drawn(10, 7)
    for bad in (
        lambda: monitor.update(X, y[:4]),
        lambda: monitor.update(X, np.full(10, 7)),
        lambda: monitor.update(X.assign(sex=3), y),
        lambda: monitor.update(X, late=True),
        lambda: monitor.update_decisions([0, 1], [0, 2], sensitive_features=sex),
        lambda: monitor.update_decisions([0, np.nan], [0, 1], sensitive_features=sex),
    ):
        with pytest.raises(InputError):
            bad()
    assert monitor.to_dict() == before
    with pytest.raises(InputTypeError, match="update_decisions takes decisions"):
        Monitor(goal="maximize f1 s.t. recall >= 0.5", classes=[0, 1]).update(X, y)


# ---------------------------------------------------------------------- its picture
