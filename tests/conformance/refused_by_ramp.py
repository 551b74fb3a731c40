"""What `RampClassifier` refuses beside what all refuse."""

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from conformance.cases import Refusal
from setpoint import Dataset, Deployed, GoalError, SearchLimits
from setpoint.errors import EmptyPopulationError, InputError, ShapeError

SCALED = {"preprocessor": "standardize"}
"""Where features have to be read first."""


def goal(message, text, error=ShapeError, given=lambda s: {}):
    columns = {"sensitive_features": ["a", "b"] * 50}
    return Refusal(message, {**SCALED, "goal": text}, lambda s: columns | given(s), error)


def hard(message, make, error=InputError):
    """A data set on which recall is asked for."""
    options = {**SCALED, "goal": "minimize error_rate subject to recall.on('hard') >= 0.5"}
    return Refusal(message, options, lambda s: {"datasets": {"hard": make(s)}}, error)


def framed(message, names, X_names="abcd"):
    """A data set with columns of these names beside X with others, or without names."""

    def given(s):
        X = pd.DataFrame(s.X, columns=list(X_names)) if X_names else s.X
        X_hard = pd.DataFrame(s.X, columns=list("abcd")).assign(e=1.0)[list(names)]
        return {"X": X, "datasets": {"hard": (X_hard if names else s.X, s.y)}}

    return Refusal(message, hard("", None).options, given)


def churn(message, baseline, error=InputError, **options):
    """A deployed model from which decisions are not to differ by much."""
    options = {**SCALED, "goal": "minimize error_rate subject to churn <= 0.2", **options}
    return Refusal(message, options, lambda s: {"baseline": baseline(s)}, error)


class Rule:
    """A deployed model without scores."""

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def one_of(name, allowed, value="other"):
    return Refusal(f"`{name}` is one of {allowed}, got {value!r}", {name: value})


REFUSED = {
    # options
    "C": Refusal("`C` is a number above 0, got 0", {"C": 0}),
    "more than there are": Refusal(
        "`min_positives` is 500, and the rows of X have a weight of 100",
        {**SCALED, "min_positives": 500},
    ),
    "tol": Refusal("`tol` is a number above 0, got 0.0", {"limits": SearchLimits(tol=0.0)}),
    "limits": Refusal(
        "`solver='augmented-lagrangian'` takes tol, seconds, got c",
        {"limits": SearchLimits(calls=5)},
    ),
    "solver": one_of("solver", ["augmented-lagrangian", "cutting-plane"]),
    "start": one_of("start", ["auto", "logistic", "zero", "baseline"]),
    "randomized": one_of("randomized", [False, True], 1),
    "score feature": one_of("baseline_score_feature", ["auto", False, True], 0),
    "start from nothing": Refusal(
        "`start='baseline'` begins with the deployed model, and there is no baseline",
        {"start": "baseline"},
    ),
    "score of nothing": Refusal(
        "`baseline_score_feature=True`, and there is no baseline",
        {**SCALED, "baseline_score_feature": True},
    ),
    "baseline twice": Refusal(
        "`baseline` is given twice, to the constructor and to fit", {"baseline": "old"},
        lambda s: {"baseline": s.old},
    ),
    "large features": Refusal("too large to be standardised", SCALED, lambda s: {"X": s.X * 1e200}),
    # goals
    "kinks": goal("objectives with a gradient everywhere", "maximize recall.min(g)"),
    "a bound of another kind": goal(
        "g_mean >= 0.5: `RampClassifier` takes bounds that linear rows of rates describe",
        "minimize error_rate subject to g_mean >= 0.5",
    ),
    "a bound from below": goal(
        "`PlugInClassifier` takes more", "minimize error_rate subject to recall.difference(g) >= .1"
    ),
    "a quotient": goal(  # of nothing it may be anything
        "(tp - fp) / fp: `RampClassifier` cannot tell what a quotient is worth",
        "maximize (tp - fp) / fp",
    ),
    "a quotient for cutting planes": Refusal(
        "`solver='augmented-lagrangian'` takes it",
        {**SCALED, "goal": "maximize f1", "solver": "cutting-plane"}, error=ShapeError,
    ),
    "constant": goal("prior: no decision changes it", "maximize prior"),
    "of the deployed model alone": goal(
        "recall.baseline()", "maximize recall.baseline()", (GoalError, ShapeError),
        lambda s: {"baseline": s.old},
    ),
    # data sets
    "of one class": hard("recall", lambda s: (s.X, s.y * 0), EmptyPopulationError),
    "of weight zero": hard(
        "hard", lambda s: Dataset(s.X, s.y, sample_weight=1.0 - s.y), EmptyPopulationError
    ),
    "without labels": hard("needs labels, and `y` is None", lambda s: s.X, GoalError),
    "without rows": hard("`datasets['hard']`", lambda s: (s.X[:0], s.y[:0])),
    "of fewer features": hard("`datasets['hard']`: X has 3 features", lambda s: (s.X[:, :3], s.y)),
    "of another name": Refusal(
        "did you mean 'haard'", hard("", None).options,
        lambda s: {"datasets": {"haard": (s.X, s.y)}}, GoalError,
    ),
    "names beside none": framed("the data set has column names and X has none", "abcd", ""),
    "none beside names": framed("X has column names and the data set has none", ""),
    "a column less": framed("`datasets['hard']` has no column 'd', which X has", "abc"),
    "a column more": framed(
        "`datasets['hard']` has the column 'e', which X has not", "abcde"
    ),
    # deployed models
    "not compared": Refusal(
        "`datasets['new']`: the goal refers to the deployed model",
        {"goal": "minimize error_rate subject to churn.on('new') <= 0.2"},
        lambda s: {"datasets": {"new": Dataset(s.X)}}, GoalError,
    ),
    "text": churn("old", lambda s: "old", (InputError, GoalError)),
    "of words": churn("baseline gives <U",
                      lambda s: Deployed(np.array(["a", "b"])[s.old], threshold=0.5)),
    "of NaN": churn("NaN or infinite scores",
                    lambda s: Deployed(np.where(s.old, 1.0, np.nan), threshold=0.5)),
    "a model of other labels": churn(
        "baseline", lambda s: LogisticRegression().fit(s.X, np.array(["no", "yes"])[s.y])
    ),
    "a model of three labels": churn(
        "baseline", lambda s: LogisticRegression().fit(s.X, np.arange(s.n) % 3)
    ),
    "a model that is not fitted": churn("not fitted", lambda s: SVC(), NotFittedError),
    "scores once only": churn("needs scores of the deployed model at prediction", lambda s: s.old,
                              baseline_score_feature=True),
    "without scores": churn("with decision_function or predict_proba", lambda s: Rule(),
                            baseline_score_feature=True),
}  # fmt: skip
