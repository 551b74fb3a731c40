"""Iterates of the ramp's training as the path that is tried on rows that certify."""

import numpy as np
import pytest
from sklearn.base import clone

from ramp.samples import ramp, sample
from setpoint import GoalError
from setpoint.classifiers import open_fit
from thinning import over

S = sample(2_400)
CAP = "minimize error_rate subject to predicted_rate.difference(g) <= 0.2"
LINEAR = "minimize false_positive_rate subject to recall >= 0.6"
RECALL = "maximize precision subject to recall >= 0.6"


@over("goal,solver", [(CAP, "cutting-plane"), (LINEAR, "augmented-lagrangian")])
def test_a_model_of_the_training_is_certified(goal, solver):
    more = {"sensitive_features": {"g": S.g}} if goal == CAP else {}
    clf = ramp(goal, solver=solver, confidence=0.9).fit(S.X, S.y, **more)
    report = clf.goal_report_
    assert report.guarantee.state == "certified"
    assert report.guarantee.rows == report.counts.n_rows == 720
    new = sample(20_000, seed=1)
    more = {"sensitive_features": {"g": new.g}} if goal == CAP else {}
    assert clf.evaluate(new.X, new.y, **more).satisfied
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


def test_min_positives_holds_where_the_rules_were_found():
    goal = "maximize recall subject to precision >= 0.6"
    clf = ramp(goal, min_positives=300, confidence=0.9).fit(S.X, S.y)
    assert clf.evidence_.confusion(clf.rule_).counts[:, :, 1].sum() >= 300
    # The model that is kept is the one whose scores the rule was found on.
    data = open_fit(clone(clf), S.X, S.y)
    above = clf.decision_function(data.X) + clf.threshold_
    np.testing.assert_allclose(above, clf.evidence_.scores)


def test_further_data_sets_certify_too():
    goal = "minimize error_rate subject to predicted_rate.on('more') <= 0.6"
    more = sample(600, seed=5)
    clf = ramp(goal, confidence=0.9).fit(S.X, S.y, datasets={"more": more.X})
    assert clf.goal_report_.guarantee.state == "certified"
    assert clf.evidence_.n_rows == 1_680 + 420
    new = sample(400, seed=6)
    given = {None: (new.X, new.y), "more": sample(300, seed=7).X}
    with pytest.raises((GoalError, ValueError), match="missing"):
        ramp(goal, confidence=0.9).fit(
            S.X, S.y, datasets={"more": more.X}, certify_on={"more": given["more"]}
        )
