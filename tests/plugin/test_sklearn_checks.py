"""scikit-learn's own checks of an estimator."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from setpoint import PlugInClassifier

CASES = [
    PlugInClassifier(LogisticRegression(), "f1", cv=3),
    PlugInClassifier(
        LogisticRegression(), "maximize accuracy subject to recall >= 0.5", cv=3, randomized=False
    ),
    PlugInClassifier(LogisticRegression(), "accuracy", cv=3),
    PlugInClassifier(
        LogisticRegression(),
        "maximize g_mean subject to predicted_rate.max() <= 0.7",
        cv=3,
        randomized=False,
    ),
]


def expected(estimator):
    """What scikit-learn expects to fail for its own TunedThresholdClassifierCV too."""
    if estimator.goal == "f1":
        return {}
    return {"check_classifiers_train": "the rule need not agree with the largest posterior"}


@pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning")
@pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")
@parametrize_with_checks(CASES, expected_failed_checks=expected)
def test_checks(estimator, check):
    check(estimator)
