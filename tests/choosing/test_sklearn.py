"""scikit-learn's own checks."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from setpoint import GoalSearchCV

# The data of these checks are few, without any signal, or of one class.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::setpoint.{name}")
    for name in ("ConstantGoalWarning", "FewRowsWarning")
]
POSITIVE = "of the labels 'one' and 'two' nobody says which is positive, and the goal refers to it"
OTHER = "the rule of a goal need not agree with the largest posterior"


def expected(estimator):
    """The checks that fail by design, and why."""
    return {"check_classifiers_train": OTHER, "check_classifiers_classes": POSITIVE}


@parametrize_with_checks(
    [GoalSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, "f1", cv=2)],
    expected_failed_checks=expected,
)
def test_one(estimator, check):
    check(estimator)
