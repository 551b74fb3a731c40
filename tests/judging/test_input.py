"""What cannot be compared is refused before any work, and named."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setpoint import BlackBox, GoalError, InputError, InputTypeError, PlugInClassifier, compare
from thinning import over

X, Y = make_classification(300, weights=[0.7], random_state=0)
WORDS = np.where(Y == 1, "yes", "no")
A = LogisticRegression().fit(X, Y)
FRAME = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
OF_FRAME = LogisticRegression().fit(FRAME, Y)
OF_WORDS = PlugInClassifier(LogisticRegression(), "f1").fit(X, WORDS)
TURNED = PlugInClassifier(LogisticRegression(), "f1", pos_label="no").fit(X, WORDS)
THREE = LogisticRegression().fit(X, np.arange(300) % 3)
DEFERS = PlugInClassifier(
    LogisticRegression(), "maximize accuracy.decided subject to deferral_rate <= 0.3"
).fit(X, Y)


@over(
    ("models", "error", "message"),
    [
        ([A, A], InputTypeError, r"^`models` is a dict from two or more names .* got a list$"),
        ({"a": A}, InputError, "^`models` holds two or more, the first of which is in use, got 1"),
        ({1: A, "b": A}, InputTypeError, "^`models`: a name is text, got 1$"),
        ({" ": A, "b": A}, InputTypeError, "^`models`: a name is text, got ' '$"),
        ({"b": A, "c": None}, InputTypeError, r"^`models\['c'\]` is a fitted .* got None$"),
        ({"b": A, "c": LogisticRegression}, InputTypeError, "got the class LogisticRegression"),
        ({"b": A, "c": A.predict_proba(X)}, InputTypeError, r"got an array of shape \(300, 2\)"),
        ({"b": A, "c": A.predict_proba(X)[:, 1]}, InputError, r"`models\['c'\]`.*continuous"),
        ({"b": A, "c": LinearRegression().fit(X, Y)}, InputError, "got continuous numbers"),
        ({"b": A, "c": LogisticRegression()}, NotFittedError, r"^`models\['c'\]` .* not fitted"),
        ({"b": A, "c": make_pipeline(StandardScaler(), LogisticRegression())},
         NotFittedError, "Pipeline that is not fitted"),
        ({"b": A, "c": PlugInClassifier(A, "recall")}, NotFittedError, "not fitted; fit it first"),
        ({"b": A, "c": Y[1:]}, InputError, r"^`models\['c'\]` has 299 rows, 300 are expected$"),
        ({"b": A, "c": Y + 1}, InputError, r"^`models\['c'\]` holds the label 2"),
        ({"b": A, "c": np.full(300, np.nan)}, InputError, "300 missing values"),
        ({"b": A, "c": THREE}, InputError, r"classes of 'b' is \[0, 1\], and of 'c' \[0, 1, 2\]"),
        ({"b": A, "c": "old"}, InputError, r"`models\['c'\]` names columns of X \('old'\)"),
        ({"b": A, "c": DEFERS}, InputError, "'c' defers rows to a person"),
        ({"b": OF_FRAME, "c": LogisticRegression().fit(X[:, :2], Y)},
         InputError, r"^`models\['c'\]` cannot decide these rows: X has 20 features"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_models(models, error, message):
    with pytest.raises(error, match=message):
        compare("recall", models, X, Y)


LETTERS, SAME, ZEROS = np.where(Y == 1, "u", "v"), {"a": A, "b": A}, np.zeros(300, np.int64)
OWN = BlackBox(lambda y, d: 0.0, takes="predictions", name="own")


@over(
    ("more", "error", "message"),
    [
        ({"models": {"a": OF_WORDS, "b": A}, "y": WORDS}, InputError,
         r"classes of 'a' is \['no', 'yes'\], and of 'b' \[0, 1\]"),
        ({"models": {"a": OF_WORDS, "b": TURNED}, "y": WORDS}, InputError,
         "positive class of 'a' is 'yes', and of 'b' 'no'"),
        ({"models": {"a": OF_WORDS, "b": WORDS}, "y": WORDS, "pos_label": "no"}, InputError,
         "`pos_label` is 'no', and the positive class of 'a' is"),
        ({"models": {"a": LETTERS, "b": LETTERS}, "X": None, "y": LETTERS}, InputError,
         "which of them is the positive class is not known"),
        ({"X": X[1:]}, InputError, "`X` has 299 rows, `y` has 300"),
        ({"X": None}, InputTypeError, r"`models\['a'\]` is a model, and `X` is None"),
        ({"y": None}, InputTypeError, "`y` is the true labels of the rows, got None"),
        ({"sample_weight": -np.ones(300)}, InputError, "`sample_weight` has 300 negative values"),
        ({"models": {"a": OF_FRAME, "b": Y}, "X": FRAME.drop(columns="c3")}, InputError,
         r"(?s)`models\['a'\]` cannot decide these rows.*c3"),
        ({"goal": "recall", "frontier": "precision"}, GoalError,
         "`frontier='precision'` is the left side of no constraint"),
        ({"frontier": None}, InputTypeError, "`frontier` is True, False, or the constraint"),
        ({"goal": "maximize recall subject to churn.on('m') <= 0.1"}, GoalError,
         r"the goal refers to the data sets \['m'\]"),
        ({"goal": OWN}, GoalError, "models are compared by goals that are counted"),
        ({"goal": "maximize recall.min('sex')"}, GoalError, "the goal refers to the column 'sex'"),
        ({"y": ZEROS}, InputError,
         r"^`y`: all 300 rows are 0, and models are compared on"),
    ],
)  # fmt: skip
def test_rows_goals_and_classes(more, error, message):
    goal = "maximize recall subject to precision >= 0.5"
    with pytest.raises(error, match=message):
        compare(**({"goal": goal, "models": SAME, "X": X, "y": Y} | more))
    found = compare("recall", {"a": WORDS, "b": TURNED}, X, WORDS)
    assert found.reports["a"].counts.positive == "no"
