"""What belongs to the rows of a pandas frame goes by its index, in every classifier."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from conformance.cases import SMALLEST
from setpoint import AdaptiveSurrogateClassifier, SearchLimits
from setpoint.solvers import AdaptiveSurrogates

RNG = np.random.default_rng(2)
N = 120
ROWS = [f"row {i}" for i in range(N)]
X = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"], index=ROWS)
Y = pd.Series((X["a"] + 0.5 * RNG.normal(size=N) > 0.2).astype(int), index=ROWS)
WEIGHT = pd.Series(RNG.integers(1, 3, N).astype(float), index=ROWS)
OTHER = RNG.permutation(N)

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::setpoint.{name}")
    for name in ("ConstantGoalWarning", "FewRowsWarning", "NotMonotoneWarning")
]
WITH_FRAMES = [
    name for name, clf in SMALLEST.items() if isinstance(getattr(clf, "learner", ""), str)
]


@pytest.mark.parametrize("name", WITH_FRAMES)
def test_labels_and_weights_in_another_order_are_put_in_that_of_X(name):
    one = clone(SMALLEST[name]).fit(X, Y, sample_weight=WEIGHT)
    other = clone(SMALLEST[name]).fit(X, Y.iloc[OTHER], sample_weight=WEIGHT.iloc[OTHER])
    assert np.array_equal(one.predict(X), other.predict(X))
    assert one.rule_ == other.rule_
    with pytest.raises(ValueError, match=r"^`y` and X have different indexes"):
        clone(SMALLEST[name]).fit(X, Y.reset_index(drop=True))


def test_so_are_the_groups_of_surrogates():
    group = pd.Series(np.where(X["b"] > 0, "high", "low"), index=ROWS, name="g")
    clf = AdaptiveSurrogateClassifier(
        "f1",
        surrogate_groups="g",
        cv=2,
        limits=SearchLimits(evaluations=300),
        solver=AdaptiveSurrogates(max_iter=2),
    )
    one = clone(clf).fit(X, Y, sensitive_features=group)
    other = clone(clf).fit(X, Y, sensitive_features=group.iloc[OTHER])
    assert np.array_equal(one.coef_, other.coef_)
