"""Goals over values of rows, or that defer, are refused where they are not taken."""

import numpy as np
import pytest

from setpoint import (
    AdaptiveSurrogateClassifier,
    ExactPenaltyClassifier,
    Goal,
    GoalError,
    RampClassifier,
)
from setpoint.classifiers import Monitor
from setpoint.counts import Codebook
from setpoint.guarantees import Promise
from setpoint.online.engine import StreamGoal
from setpoint.program import link

MONEY = "maximize recall.weighted(amount) subject to predicted_rate <= 0.3"
DEFERS = "minimize deferral_rate subject to accuracy.decided >= 0.9"


def rows(n=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] > 0.5).astype(int), {"amount": rng.exponential(size=n)}


@pytest.mark.parametrize(
    "family", [ExactPenaltyClassifier, RampClassifier, AdaptiveSurrogateClassifier]
)
@pytest.mark.parametrize(("text", "what"), [(MONEY, "numbers of rows"), (DEFERS, "deferred")])
def test_families_that_train_refuse_them(family, text, what):
    X, y, columns = rows()
    with pytest.raises(GoalError, match=what):
        family(text).fit(X, y, sensitive_features=columns)


@pytest.mark.parametrize(("text", "what"), [(MONEY, "numbers of rows"), (DEFERS, "deferred")])
def test_streams_and_monitors_refuse_them(text, what):
    with pytest.raises(GoalError, match=what):
        StreamGoal(Goal.parse(text), ("no", "yes"))
    with pytest.raises(GoalError, match=what):
        Monitor(lambda X: X, goal=text, classes=[0, 1])


@pytest.mark.parametrize(("text", "what"), [(MONEY, "numbers of rows"), (DEFERS, "deferred")])
def test_tables_elsewhere_refuse_them(text, what):
    from setpoint.sources import CountedRows

    with pytest.raises(GoalError, match=what):
        CountedRows.first_pass(Goal.parse(text), {})


def test_no_value_of_rows_is_promised():
    goal = Goal.parse("maximize recall subject to recall.weighted(amount) >= 0.5")
    book = Codebook.of((0, 1))
    linked = link(Goal.parse("maximize recall subject to precision >= 0.5"), book)
    assert Promise.of(linked, 0.9).confidence == 0.9
    from dataclasses import replace

    with pytest.raises(GoalError, match="cannot be promised"):
        Promise.of(replace(linked, goal=goal), 0.9)
