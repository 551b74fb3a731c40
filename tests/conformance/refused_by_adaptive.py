"""What AdaptiveSurrogateClassifier refuses, and no other classifier."""

import numpy as np

from conformance.cases import LATER, Refusal
from setpoint import BlackBox, Dataset, GoalError
from setpoint.errors import InputTypeError
from setpoint.solvers import AdaptiveSurrogates, SearchLimits
from setpoint.surrogates import PrecisionAtK


def paid(y_true, y_pred, amount):
    return float(amount @ y_pred)


def profit(y_true, y_pred):
    return float(np.mean(np.where(y_true == 1, 4.0, -1.0) * y_pred))


OWN_SAMPLE = {"cv": None}
SHIFTS = AdaptiveSurrogates(gradient="finite-difference")
WITHOUT_POSITIVES = Dataset(LATER.X, LATER.y, sample_weight=1.0 - LATER.y)


def grouped(s):
    return {"sensitive_features": {"g": s.g}}


def validated(X=LATER.X, y=LATER.y):
    return lambda s: {"validation": (X, y)}


REFUSED = {
    # the metric
    "column of the metric": Refusal(
        "the metric conformance.refused_by_adaptive:paid takes the column 'amount', which neither "
        "`sensitive_features` nor `X` holds",
        {"goal": BlackBox(paid)},
        error=GoalError,
    ),
    "weights of a metric": Refusal(
        "`sample_weight`: the metric conformance.refused_by_adaptive:profit has no such parameter",
        {"goal": BlackBox(profit)},
        lambda s: {"sample_weight": np.arange(s.n) + 1.0},
    ),
    "name of a metric": Refusal(
        "the goal 'maximize blackbox(\"shop:revenue\")' only names a metric; its function is want",
        {"goal": 'maximize blackbox("shop:revenue")'},
        error=GoalError,
    ),
    # surrogates
    "surrogate": Refusal("`surrogates`: 'sigmod' is not one of", {"surrogates": "sigmod"}),
    "no surrogates": Refusal("`surrogates` is empty: name at least one", {"surrogates": []}),
    "kind of surrogates": Refusal(
        "or functions (scores, y, sample_weight) -> (value, gradient), got 3",
        {"surrogates": ["hinge", 3]},
        error=InputTypeError,
    ),
    "surrogates of shifted scores": Refusal(
        "which takes one of ['sigmoid', 'hinge', 'logistic']; 'interpolation' takes any",
        {"surrogates": ["sigmoid", "hinge"], "solver": SHIFTS},
    ),
    "ranking of shifted scores": Refusal(
        "which takes one of ['sigmoid', 'hinge', 'logistic']; 'interpolation' takes any",
        {"surrogates": PrecisionAtK(3), "solver": SHIFTS},
    ),
    # groups
    "groups by a column": Refusal(
        "`surrogate_groups` names the column 'sex'", {"surrogate_groups": "sex"}, grouped, GoalError
    ),
    "groups by a value": Refusal(
        "`surrogate_groups`: no row has g = 'z'", {"surrogate_groups": {"g": "z"}}, grouped
    ),
    "kind of groups": Refusal(
        "`surrogate_groups` is None, names of columns, or dicts from a column to a value, got 7",
        {"surrogate_groups": 7},
        error=InputTypeError,
    ),
    "no groups": Refusal(
        "`surrogate_groups` is None, names of columns, or dicts from a column to a value, got []",
        {"surrogate_groups": []},
        error=InputTypeError,
    ),
    "entry of groups": Refusal(
        "`surrogate_groups`: an entry is a column or a dict, got 7",
        {"surrogate_groups": ["g", 7]},
        grouped,
        InputTypeError,
    ),
    "column of groups": Refusal(
        "`surrogate_groups`: an entry is a column or a dict, got",
        {"surrogate_groups": {1: "b"}},
        grouped,
        InputTypeError,
    ),
    # the validation sample
    "validation without labels": Refusal(
        "`validation` holds no labels, which the metric needs", OWN_SAMPLE, validated(y=None)
    ),
    "validation of rows alone": Refusal(
        "`validation` holds no labels, which the metric needs",
        OWN_SAMPLE,
        lambda s: {"validation": LATER.X},
    ),
    "validation's length": Refusal(
        "`validation`: `y` has 100 rows, 50 are expected", OWN_SAMPLE, validated(LATER.X[:50])
    ),
    "validation's labels": Refusal(
        "`validation`: `y` holds the label 2, which is not a class",
        OWN_SAMPLE,
        validated(y=LATER.y + 1),
    ),
    "validation of one class": Refusal(
        "`validation` holds no row of the class 1 that counts", OWN_SAMPLE, validated(y=LATER.y * 0)
    ),
    "validation of one class that weighs": Refusal(
        "`validation` holds no row of the class 1 that counts",
        OWN_SAMPLE,
        lambda s: {"validation": WITHOUT_POSITIVES},
    ),
    "validation and folds": Refusal(
        "`cv` holds rows of X out for the metric, and `validation` gives it rows of its own",
        {"cv": 3},
        validated(),
    ),
    "validation of shifted scores": Refusal(
        "needs surrogates and metric on the same rows, and `validation` gives the metric rows",
        OWN_SAMPLE | {"solver": SHIFTS},
        validated(),
    ),
    # other options
    "evaluations": Refusal(
        "`evaluations=30` are too few", {"limits": SearchLimits(evaluations=30)}
    ),
    "tol": Refusal("takes seconds, evaluations, got tol=0.1", {"limits": SearchLimits(tol=0.1)}),
    "penalty": Refusal("`penalty` is a number above 0, got 0", {"penalty": 0}),
    "training": Refusal("`training` is FirstModel", {"training": 3}),
}
