"""The deployed model as every family takes it: values, a column, scores or the model itself."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from setpoint import (
    AdaptiveSurrogateClassifier,
    Deployed,
    ExactPenaltyClassifier,
    PlugInClassifier,
    RampClassifier,
    SearchLimits,
    evaluate,
    solve,
)
from setpoint.errors import InputError, InputTypeError
from setpoint.inputs import classes_of
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.NotMonotoneWarning"),
]
RNG = np.random.default_rng(5)
X = RNG.normal(size=(240, 3))
Y = (X[:, 0] + RNG.normal(size=240) > 0.5).astype(int)
MODEL = LogisticRegression().fit(X[:, :2], Y)
SCORES = X[:, 1] + X[:, 0]
OLD = (SCORES >= 0.3).astype(int)
FRAME = pd.DataFrame(X, columns=list("abc")).assign(score=SCORES, old=OLD)
ROWS = FRAME[["a", "b", "c"]]
CHURN = "maximize accuracy subject to churn <= 0.3"
BY_SCORES = Deployed(SCORES, threshold=0.3)


@over("given", [BY_SCORES, Deployed("score", threshold=0.3), Deployed("old"), Deployed(OLD)])
def test_all_sources_say_the_same(given):
    assert given.codes(classes_of(Y), FRAME, 240).tolist() == OLD.tolist()


def test_scores_are_of_the_positive_class():
    flipped = classes_of(np.array(["yes", "no"])[Y], pos_label="no")
    assert BY_SCORES.codes(flipped, None, 240).tolist() == OLD.tolist()


def test_functions_take_scores_with_a_threshold():
    found, wanted = (
        (
            evaluate("minimize churn", Y, Y, baseline=given).objective,
            solve(CHURN, X[:, 0], Y, baseline=given, randomized=False).rule,
        )
        for given in (BY_SCORES, OLD)
    )
    assert found == wanted


def test_a_model_has_scores_and_decisions():
    model = Deployed(MODEL)
    assert (model.lasts, model.scores_last, model.column) == (True, True, None)
    assert not Deployed(SCORES, threshold=0.0).lasts
    assert Deployed("score").lasts
    assert not Deployed("score").scores_last
    np.testing.assert_allclose(model.scores(X[:, :2], 1), MODEL.decision_function(X[:, :2]))
    np.testing.assert_allclose(model.scores(X[:, :2], 0), -MODEL.decision_function(X[:, :2]))


@over(
    "given, X, error, message",
    [
        (lambda: Deployed(MODEL, threshold=0.5), X, InputError, "threshold is for scores"),
        (lambda: Deployed(MODEL), None, InputTypeError, "is a model, and there is no X"),
        (lambda: Deployed(SCORES), None, InputError, "got continuous numbers: .* Deployed.scores"),
        (lambda: Deployed(LogisticRegression()), X, NotFittedError, "FrozenEstimator"),
        (lambda: Deployed(LogisticRegression()), X, InputError, "FrozenEstimator"),
        (lambda: Deployed("scor", threshold=0.1), FRAME, InputError, "X has no column 'scor'"),
        *(
            (lambda t=t: Deployed(SCORES, threshold=t), X, InputError, "is a finite number or None")
            for t in (np.nan, np.inf, "0.5", True)
        ),
    ],
)
def test_what_does_not_fit_is_refused(given, X, error, message):
    with pytest.raises(error, match=message):
        given().codes(classes_of(Y), X, 240)


FAMILIES = {
    "plugin": lambda **b: PlugInClassifier(LogisticRegression(), CHURN, randomized=False, **b),
    "ramp": lambda **b: RampClassifier(CHURN, baseline_score_feature=False, **b),
    "surrogates": lambda **b: AdaptiveSurrogateClassifier(
        CHURN, limits=SearchLimits(evaluations=100), **b
    ),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_baseline_is_given_once(family):
    """It was mixed up in silence: churn was bounded against one and measured against the other."""
    make = FAMILIES[family]
    message = "`baseline` is given twice, to the constructor and to fit"
    with pytest.raises(InputError, match=message):
        make(baseline="old").fit(FRAME, Y, baseline=OLD)
    by_fit = make().fit(ROWS, Y, baseline=BY_SCORES)
    assert make().fit(ROWS, Y, baseline=OLD).rule_ == by_fit.rule_
    if family != "plugin":  # whose model would see the column
        by_column = make(baseline=Deployed("score", threshold=0.3))
        by_column.fit(ROWS.assign(score=SCORES), Y)
        assert np.array_equal(by_column.coef_, by_fit.coef_)
        assert by_column.goal_report_.constraints == by_fit.goal_report_.constraints


def test_every_trained_family_compares_with_the_deployed_model():
    clf = ExactPenaltyClassifier("f1", solver="ero").fit(X, Y, baseline=OLD)
    found = clf.goal_report_.deployed
    assert found == clf.evaluate(X, Y, baseline=OLD).deployed
    assert found.rows == 240
