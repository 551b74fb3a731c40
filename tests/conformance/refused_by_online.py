"""What OnlineFClassifier refuses, and no other classifier."""

import numpy as np
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB

from conformance.cases import Refusal
from setpoint import GoalError
from setpoint.errors import InputTypeError


class NoScores:
    def partial_fit(self, X, y):
        """Never reached."""


def learner(message, given, error=InputTypeError):
    return Refusal(f"`learner`{message}", {"learner": given}, error=error)


OTHERS = [
    ("fofo", "accuracy"),
    ("ofo", "maximize f1 subject to recall >= 0.5"),
    ("ofo-rb", "maximize f1(label=0)"),
    ("fofo", "minimize f1"),
]
STEP = "`step` is 'auto' or a number above 0, got "
WINDOW = "`window` is a whole number of at least 1, or None, got "
LENGTH = "`n` is a whole number of at least 44, or None, got "
OF_THIS_LIBRARY = " is for the learners of this library; your own has its own step"
KINDS = " is one of ['nag', 'sgd', 'adagrad'] or an object with partial_fit, got "
REFUSED = {
    "no solver": Refusal("`solver` is one of", {"solver": None}),
    "name of a learner": learner(
        " is one of ['nag', 'sgd', 'adagrad'], got 'nog'", "nog", ValueError
    ),
    "class as a learner": learner(f"{KINDS}a class", SGDClassifier),
    "learner without partial_fit": learner(f"{KINDS}a dict", {}),
    "learner without scores": learner(": NoScores has neither predict_proba nor", NoScores()),
    "learner without posteriors": Refusal(
        "`solver='fofo'` needs posteriors, and Perceptron has no predict_proba",
        {"learner": Perceptron(), "solver": "fofo"},
    ),
    "step": Refusal(f"{STEP}'large'", {"step": "large"}),
    "step of NaN": Refusal(f"{STEP}nan", {"step": np.nan}),
    "constant step": Refusal("`constant_step` is one of [False, True]", {"constant_step": 1}),
    **{
        f"{name} of another": Refusal(
            f"`{name}`{OF_THIS_LIBRARY}", {name: value, "learner": GaussianNB()}
        )
        for name, value in (("step", 1.0), ("constant_step", True))
    },
    "window": Refusal(f"{WINDOW}0", {"window": 0}),
    "window of fofo": Refusal(
        "`window` is for `solver='sketch'`, got `solver='fofo'`", {"window": 9, "solver": "fofo"}
    ),
    "length": Refusal(f"{LENGTH}43", {"n": 43, "solver": "fofo"}),
    "length of another": Refusal("`n` is for `solver='fofo'`, got", {"n": 500, "solver": "ofo"}),
    "buffer": Refusal("`buffer_size` is a whole number of at least 1, got 0", {"buffer_size": 0}),
    "goal of a deployed model": Refusal(
        "the goal refers to the deployed model, and a stream is counted by true and predicted",
        {"goal": "maximize f1 subject to churn <= 0.1"},
        error=GoalError,
    ),
    **{
        f"{solver}, {goal}": Refusal(
            f"`solver='{solver}'` maximises fbeta or jaccard of the positive class, without const",
            {"goal": goal, "solver": solver, "pos_label": 1},
        )
        for solver, goal in OTHERS
    },
    **{
        name: Refusal(
            f"{name}: a stream counts its own rows as a whole",
            given=lambda s, name=name: {name: s.y},
        )
        for name in ("sensitive_features", "baseline", "datasets")
    },
}
