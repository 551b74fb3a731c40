"""Iterates of the ramp's training as the path that is tried on rows that certify."""

import numpy as np
import pytest
from sklearn.base import clone

from ramp.samples import ramp, sample
from setpoint import GoalError
from setpoint.classifiers import open_fit

S = sample(2_400)
CAP = "minimize error_rate subject to predicted_rate.difference(g) <= 0.2"
RECALL = "maximize precision subject to recall >= 0.6"


def test_a_model_of_cutting_planes_is_certified():
    columns = {"sensitive_features": {"g": S.g}}
    clf = ramp(CAP, solver="cutting-plane", confidence=0.9).fit(S.X, S.y, **columns)
    report = clf.goal_report_
    assert report.guarantee.state == "certified"
    assert report.guarantee.rows == report.counts.n_rows == 720
    new = sample(20_000, seed=1)
    assert clf.evaluate(new.X, new.y, sensitive_features={"g": new.g}).satisfied
    assert clf.multipliers_


@pytest.mark.parametrize("draw", ["row", "random"])
def test_a_rule_that_draws_is_certified_as_it_draws(draw):
    clf = ramp(RECALL, randomized=True, draw=draw, confidence=0.9).fit(S.X, S.y)
    found = clf.goal_report_.guarantee
    assert found.state == "certified"
    # By the row it is a function of the row: whole numbers are counted, and the test is exact.
    assert found.is_exact == (draw == "row")
    if draw == "row":
        rows = open_fit(clone(clf), S.X, S.y).certifying.given[None]
        decided = clf.predict(rows.X)
        assert found.constraints[0].value == np.mean(decided[np.asarray(rows.y) == 1])


def test_further_data_sets_certify_too():
    goal = "minimize error_rate subject to predicted_rate.on('more') <= 0.6"
    more = sample(600, seed=5)
    clf = ramp(goal, confidence=0.9).fit(S.X, S.y, datasets={"more": more.X})
    assert clf.goal_report_.guarantee.state == "certified"
    assert clf.evidence_.n_rows == 1_680 + 420
    certify_on = {"more": sample(300, seed=7).X}
    with pytest.raises((GoalError, ValueError), match="missing"):
        ramp(goal, confidence=0.9).fit(S.X, S.y, datasets={"more": more.X}, certify_on=certify_on)
