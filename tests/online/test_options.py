"""Options that cannot be are refused before the first row, by name, finding and remedy."""

import re

import numpy as np
import pytest
from sklearn.linear_model import Perceptron, SGDClassifier

from online.samples import numbers, online, stream
from setpoint import GoalError, OnlineFClassifier
from thinning import over

X, Y = stream(300)
ONE = X[:1]


class NoScores:
    def partial_fit(self, X, y):
        """Never reached."""


OPTIONS = {
    "solver": ({"solver": "scetch"}, ValueError, "`solver` is one of ['sketch', 'fofo', 'ofo', "),
    "no solver": ({"solver": None}, ValueError, "`solver` is one of"),
    "solvers": ({"solver": ["sketch"]}, ValueError, "`solver` is one of"),
    "learner": (
        {"learner": "nog"},
        ValueError,
        "`learner` is one of ['nag', 'sgd', 'adagrad'], got 'nog'",
    ),
    "no learner": ({"learner": None}, TypeError, "an object with partial_fit, got a NoneType"),
    "a class": ({"learner": SGDClassifier}, TypeError, "an object with partial_fit, got a class"),
    "no partial_fit": ({"learner": {}}, TypeError, "an object with partial_fit, got a dict"),
    "no scores": ({"learner": NoScores()}, TypeError, "NoScores has neither predict_proba nor"),
    "no posteriors": (
        {"learner": Perceptron(), "solver": "fofo"},
        ValueError,
        "`solver='fofo'` needs posteriors, and Perceptron has no predict_proba",
    ),
    "step": ({"step": "large"}, ValueError, "`step` is 'auto' or a number above 0, got 'large'"),
    "step of 0": ({"step": 0}, ValueError, "`step` is 'auto' or a number above 0, got 0"),
    "step of NaN": ({"step": np.nan}, ValueError, "`step` is 'auto' or a number above 0, got nan"),
    "step is true": ({"step": True}, ValueError, "`step` is 'auto' or a number above 0, got True"),
    "window": (
        {"window": 0},
        ValueError,
        "`window` is a whole number of at least 1, or None, got 0",
    ),
    "window is true": (
        {"window": True},
        ValueError,
        "`window` is a whole number of at least 1, or None, got True",
    ),
    "half a window": (
        {"window": 1.5},
        ValueError,
        "`window` is a whole number of at least 1, or None, got 1.5",
    ),
    "window of fofo": (
        {"window": 9, "solver": "fofo"},
        ValueError,
        "`window` is for `solver='sketch'`, got `solver='fofo'`",
    ),
    "n": (
        {"n": 43, "solver": "fofo"},
        ValueError,
        "`n` is a whole number of at least 44, or None, got 43",
    ),
    "n is true": (
        {"n": True, "solver": "fofo"},
        ValueError,
        "`n` is a whole number of at least 44, or None, got Tr",
    ),
    "n of sketch": (
        {"n": 500},
        ValueError,
        "`n` is for `solver='fofo'`, got `solver='sketch'`",
    ),
    "constant step": (
        {"constant_step": 1},
        ValueError,
        "`constant_step` is one of [False, True], got 1",
    ),
    "buffer": (
        {"buffer_size": 0},
        ValueError,
        "`buffer_size` is a whole number of at least 1, got 0",
    ),
    "no buffer": ({"buffer_size": None}, ValueError, "`buffer_size` is a whole number"),
    "goal": ({"goal": "maximize recal"}, ValueError, "did you mean 'recall'"),
    "no goal": (
        {"goal": 3},
        TypeError,
        "`goal` is a Goal, its text, a metric, or a function",
    ),
    "groups": (
        {"goal": "maximize f1 subject to recall.difference(sex) <= 0.1"},
        GoalError,
        "the goal refers to 'sex', and a stream is counted by true and predicted class alone",
    ),
    "data sets": (
        {"goal": "maximize f1 subject to recall.on('checked') >= 0.5"},
        GoalError,
        "the goal refers to 'checked', and a stream",
    ),
    "baseline": (
        {"goal": "maximize f1 subject to churn <= 0.1"},
        GoalError,
        "the goal refers to the deployed model, and a stream",
    ),
    "other classes": ({"goal": "maximize recall(label=2)"}, GoalError, "unknown label 2"),
    **{
        f"{solver}, {goal}": (
            {"goal": goal, "solver": solver, "pos_label": 1},
            ValueError,
            f"`solver='{solver}'` maximises fbeta or jaccard of the positive class",
        )
        for solver in ("fofo", "ofo", "ofo-rb")
        for goal in (
            "accuracy",
            "maximize f1 subject to recall >= 0.5",
            "maximize f1(label=0)",
            "minimize f1",
        )
    },
}


@over("case", OPTIONS)
def test_options(case):
    options, error, message = OPTIONS[case]
    clf = online(**options)
    for call in (
        lambda: clf.partial_fit(X, Y),
        lambda: clf.predict_learn(X, Y),
        lambda: clf.fit(X, Y),
        lambda: clf.predict(ONE, ids=[1]),
    ):
        with pytest.raises(error, match=re.escape(message)):
            call()
        assert not hasattr(clf, "classes_")
        assert not hasattr(clf, "goal_report_")
    known = OnlineFClassifier(classes=[0, 1]).fit(X, Y).set_params(**options)
    before = numbers(known)
    with pytest.raises(error, match=re.escape(message)):
        known.fit(X, Y)
    assert numbers(known) == before
