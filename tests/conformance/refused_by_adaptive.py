"""What AdaptiveSurrogateClassifier refuses, and no other classifier."""

import numpy as np

from conformance.cases import LATER, Refusal
from setpoint import BlackBox, Dataset, GoalError
from setpoint.errors import InputTypeError
from setpoint.solvers import AdaptiveSurrogates, SearchLimits


def paid(y_true, y_pred, amount):
    return float(amount @ y_pred)


def profit(y_true, y_pred):
    return float(np.mean(np.where(y_true == 1, 4.0, -1.0) * y_pred))


HERE = "the metric conformance.refused_by_adaptive"
ENTRY = "`surrogate_groups`: an entry is a column or a dict, got "
SHIFTS = {"solver": AdaptiveSurrogates(gradient="finite-difference")}
WITHOUT_POSITIVES = Dataset(LATER.X, LATER.y, sample_weight=1.0 - LATER.y)


def groups(message, given, error=InputTypeError):
    return Refusal(
        message, {"surrogate_groups": given}, lambda s: {"sensitive_features": {"g": s.g}}, error
    )


def sample(message, given, **options):
    """A validation sample."""
    return Refusal(message, {"cv": None, **options}, lambda s: {"validation": given})


REFUSED = {
    "column of a metric": Refusal(
        f"{HERE}:paid takes the column 'amount', which neither `sensitive_features` nor `X` holds",
        {"goal": BlackBox(paid)},
        error=GoalError,
    ),
    "weights of a metric": Refusal(
        f"`sample_weight`: {HERE}:profit has no such parameter",
        {"goal": BlackBox(profit)},
        lambda s: {"sample_weight": np.arange(s.n) + 1.0},
    ),
    "name of a metric": Refusal(
        "the goal 'maximize blackbox(\"shop:revenue\")' only names a metric; its function is want",
        {"goal": 'maximize blackbox("shop:revenue")'},
        error=GoalError,
    ),
    "surrogate": Refusal("`surrogates`: 'sigmod' is not one of", {"surrogates": "sigmod"}),
    "no surrogates": Refusal("`surrogates` is empty: name at least one", {"surrogates": []}),
    "kind of surrogates": Refusal(
        "or functions (scores, y, sample_weight) -> (value, gradient), got 3",
        {"surrogates": ["hinge", 3]},
        error=InputTypeError,
    ),
    "surrogates of shifted scores": Refusal(
        "which takes one of ['sigmoid', 'hinge', 'logistic']; 'interpolation' takes any",
        {"surrogates": ["sigmoid", "hinge"], **SHIFTS},
    ),
    "groups by a column": groups("`surrogate_groups` names the column 'sex'", "sex", GoalError),
    "groups by a value": groups("`surrogate_groups`: no row has g = 'z'", {"g": "z"}, ValueError),
    "kind of groups": groups("names of columns, or dicts from a column to a value, got 7", 7),
    "entry of groups": groups(ENTRY + "7", ["g", 7]),
    "column of groups": groups(ENTRY, {1: "b"}),
    "validation without labels": sample("`validation` holds no labels", (LATER.X, None)),
    "validation's length": sample(
        "`validation`: `y` has 100 rows, 50 are expected", (LATER.X[:50], LATER.y)
    ),
    "validation of one class": sample(
        "`validation` holds no row of the class 1 that counts", WITHOUT_POSITIVES
    ),
    "validation and folds": sample(
        "`cv` holds rows of X out for the metric, and `validation` gives it rows of its own",
        (LATER.X, LATER.y),
        cv=3,
    ),
    "validation of shifted scores": sample(
        "needs surrogates and metric on the same rows, and `validation` gives the metric rows",
        (LATER.X, LATER.y),
        **SHIFTS,
    ),
    "evaluations": Refusal("`evaluations=30` are too", {"limits": SearchLimits(evaluations=30)}),
    "penalty": Refusal("`penalty` is a number above 0, got 0", {"penalty": 0}),
    "training": Refusal("`training` is FirstModel", {"training": 3}),
}
