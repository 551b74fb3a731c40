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
from setpoint.errors import InputError
from setpoint.inputs import classes_of

RNG = np.random.default_rng(5)
X = RNG.normal(size=(240, 3))
Y = (X[:, 0] + RNG.normal(size=240) > 0.5).astype(int)
MODEL = LogisticRegression().fit(X[:, :2], Y)
SCORES = X[:, 1] + X[:, 0]
FRAME = pd.DataFrame(X, columns=list("abc")).assign(score=SCORES, old=(SCORES >= 0.3).astype(int))


@pytest.mark.parametrize(
    "given",
    [
        Deployed(SCORES, threshold=0.3),
        Deployed("score", threshold=0.3),
        Deployed("old"),
        Deployed((SCORES >= 0.3).astype(int)),
    ],
)
def test_all_sources_say_the_same(given):
    codes = given.codes(classes_of(Y), FRAME, 240)
    assert codes.tolist() == (SCORES >= 0.3).astype(int).tolist()


def test_codes_follow_the_positive_class():
    words = np.array(["yes", "no"])[Y]
    flipped = classes_of(words, pos_label="no")
    codes = Deployed(SCORES, threshold=0.3).codes(flipped, None, 240)
    assert codes.tolist() == (SCORES >= 0.3).astype(int).tolist()


def test_a_model_has_scores_and_decisions():
    model = Deployed(MODEL)
    assert model.lasts
    assert model.scores_last
    assert model.column is None
    assert not Deployed(SCORES, threshold=0.0).lasts
    assert Deployed("score").lasts
    assert not Deployed("score").scores_last
    np.testing.assert_allclose(model.scores(X[:, :2], 1), MODEL.decision_function(X[:, :2]))
    np.testing.assert_allclose(model.scores(X[:, :2], 0), -MODEL.decision_function(X[:, :2]))


@pytest.mark.parametrize("threshold", [np.nan, np.inf, "0.5", True])
def test_a_threshold_is_a_finite_number(threshold):
    with pytest.raises(ValueError, match="`threshold` is a finite number or None, got"):
        Deployed(SCORES, threshold=threshold)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="decides by itself; threshold is for scores"):
        Deployed(MODEL, threshold=0.5)
    classes = classes_of(Y)
    with pytest.raises(TypeError, match="`baseline` is a model, and there is no X"):
        Deployed(MODEL).codes(classes, None, 240)
    with pytest.raises(ValueError, match=r"got continuous numbers: .* Deployed\(scores"):
        Deployed(SCORES).codes(classes, None, 240)
    with pytest.raises(NotFittedError, match="FrozenEstimator") as caught:
        Deployed(LogisticRegression()).codes(classes, X, 240)
    assert isinstance(caught.value, InputError)  # which the shell puts into its own words
    with pytest.raises(ValueError, match="X has no column 'scor'"):
        Deployed("scor", threshold=0.1).codes(classes, FRAME, 240)


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_solve_and_evaluate_take_scores_with_a_threshold():
    today = Deployed(SCORES, threshold=0.3)
    goal = "maximize accuracy subject to churn <= 0.3"
    plain = solve(goal, X[:, 0], Y, baseline=FRAME["old"], randomized=False)
    scored = solve(goal, X[:, 0], Y, baseline=today, randomized=False)
    assert scored.rule == plain.rule
    assert evaluate("minimize churn", Y, Y, baseline=today).objective == (
        evaluate("minimize churn", Y, Y, baseline=FRAME["old"]).objective
    )


CHURN = "maximize accuracy subject to churn <= 0.3"
FAMILIES = {
    "plugin": lambda **b: PlugInClassifier(LogisticRegression(), CHURN, randomized=False, **b),
    "ramp": lambda **b: RampClassifier(CHURN, baseline_score_feature=False, **b),
    "surrogates": lambda **b: AdaptiveSurrogateClassifier(
        CHURN, limits=SearchLimits(evaluations=100), **b
    ),
}


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
@pytest.mark.filterwarnings("ignore::setpoint.NotMonotoneWarning")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_baseline_is_given_once(family):
    """It was mixed up in silence: churn was bounded against one and measured against the other."""
    make, rows = FAMILIES[family], FRAME[["a", "b", "c"]]
    with pytest.raises(
        ValueError, match="`baseline` is given twice, to the constructor and to fit"
    ):
        make(baseline="old").fit(FRAME, Y, baseline=FRAME["old"])
    by_fit = make().fit(rows, Y, baseline=Deployed(SCORES, threshold=0.3))
    by_column = make(baseline=Deployed("score", threshold=0.3))
    if family != "plugin":  # whose model would see the column
        by_column.fit(rows.assign(score=SCORES), Y)
        assert np.array_equal(by_column.coef_, by_fit.coef_)
        assert by_column.goal_report_.constraints == by_fit.goal_report_.constraints
    plain = make().fit(rows, Y, baseline=FRAME["old"])
    assert plain.rule_ == by_fit.rule_


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_every_trained_family_compares_with_the_deployed_model():
    clf = ExactPenaltyClassifier("f1", solver="ero").fit(X, Y, baseline=FRAME["old"])
    found = clf.goal_report_.deployed
    assert found == clf.evaluate(X, Y, baseline=FRAME["old"]).deployed
    assert found.rows == 240
