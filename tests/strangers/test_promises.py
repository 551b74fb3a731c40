"""Promises that broke where they were given: reproductions of strangers' findings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from setpoint import GoalError, PlugInClassifier, UnknownGroupWarning, certify, solve
from setpoint.solvers import ModelResponse

FLOOR = "maximize recall subject to precision >= 0.7"


def heavy(n, seed=0):
    """One row in 200 weighs 400, and is a false alarm."""
    kind = np.random.default_rng(seed).choice(5, n, p=[0.4, 0.02, 0.005, 0.5, 0.075])
    s, y, w = [0.9, 0.9, 0.9, 0.1, 0.1], [1, 0, 0, 0, 1], [1.0, 1.0, 400.0, 1.0, 1.0]
    return tuple(np.array(x)[np.sort(kind)] for x in (s, y, w))


@pytest.mark.filterwarnings("ignore::setpoint.ConstantGoalWarning")
@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
@pytest.mark.parametrize(
    "goal", [FLOOR, "maximize precision subject to recall >= 0.7 with confidence 0.95"]
)
def test_weights_are_not_certified(goal):
    """breaker.md E1: .62 of the draws were certified and broken; now none is certified."""
    s, y, w = heavy(300, seed=4)
    assert w.max() == 1.0  # where no heavy row was drawn, as without any sign of them
    level = None if "confidence" in goal else 0.95
    with pytest.raises(GoalError, match="nothing can be promised for weighted rows"):
        solve(goal, s, y, sample_weight=w, confidence=level)
    assert solve(goal, s, y, confidence=level).report.guarantee.state == "certified"
    plain = PlugInClassifier(LogisticRegression(), FLOOR).fit(s[::2, None], y[::2])
    with pytest.raises(GoalError, match="nothing can be promised for weighted rows"):
        certify(plain, X=s[1::2, None], y=y[1::2], sample_weight=w[1::2])


def grouped(n, seed):
    """Groups a and b in the order of the file; c has half a percent of the rows, or none."""
    rng = np.random.default_rng(seed)
    g = np.sort(rng.choice(["a", "b", "c"], n, p=[0.6, 0.395, 0.005]))
    y = np.where(g == "c", 1, rng.random(n) < 0.5).astype(int)
    s = np.clip(0.7 * y + 0.3 * rng.random(n) - 0.5 * (g == "c"), 0.0, 1.0)
    return s[g != "c"], y[g != "c"], g[g != "c"]


BY_GROUP = "maximize precision subject to recall.min(g) >= 0.6"


def test_a_certificate_names_its_groups():
    """breaker.md E2: 'smallest recall over groups' said nothing of which groups."""
    s, y, g = grouped(300, 0)
    found = solve(BY_GROUP, s, y, sensitive_features={"g": g}, decide_on=None, confidence=0.95)
    assert found.report.guarantee.groups == ((("g",), (("a",), ("b",))),)
    assert "for the groups a and b of g alone" in str(found.report).replace("\n", " ")
    stored = type(found.report).from_dict(found.report.to_dict())
    assert stored.guarantee.groups == found.report.guarantee.groups
    plain = solve(FLOOR, s, y, confidence=0.95).report
    assert plain.guarantee.groups == ()
    assert "for the groups" not in str(plain)


@pytest.mark.parametrize("decide_on", [None, "g"])
def test_a_certified_rule_refuses_a_group_that_it_promises_nothing_of(decide_on):
    """breaker.md E2: the rule that does not look at the group decided such rows."""
    s, y, g = grouped(1_200, 1)
    X = pd.DataFrame({"s": s, "g": g})
    model = make_pipeline(make_column_transformer(("passthrough", ["s"])), LogisticRegression())
    clf = PlugInClassifier(
        model, BY_GROUP, sensitive_features="g", decide_on=decide_on, confidence=0.95
    ).fit(X, y)
    assert clf.goal_report_.guarantee.state == "certified"
    clf.predict(X)
    new = X.head(3).assign(g=["a", "c", "b"])
    with pytest.raises(GoalError, match="g = c"):
        clf.predict(new)
    clf.set_params(response=ModelResponse(unknown_group="largest"))
    with pytest.warns(UnknownGroupWarning):
        assert len(clf.predict(new)) == 3
    plain = PlugInClassifier(model, BY_GROUP, sensitive_features="g", decide_on=None).fit(X, y)
    assert len(plain.predict(new)) == 3  # nothing is promised
