"""Columns beside X in a classifier: groups, deployed models, data sets, and rows by their index."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plugin.samples import table
from setpoint import PlugInClassifier
from setpoint.classifiers import UnknownGroupWarning
from setpoint.errors import EmptyPopulationError, GoalError
from setpoint.rules import Mixture, PerSegment, Threshold
from setpoint.solvers import ModelResponse
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning"),
]
FAIR = "maximize accuracy subject to recall.difference(g) <= 0.05"
LARGEST = ModelResponse(unknown_group="largest")
X, Y = table()


def plug(goal=FAIR, **options):
    scaled = make_column_transformer((StandardScaler(), ["score"]))
    inner = make_pipeline(scaled, LogisticRegression())
    return PlugInClassifier(inner, goal, **{"cv": 3, **options})


@over("values, missing", [(("u", "v"), None), (("u", "v"), np.nan), ((1.0, 2.0), np.nan)])
def test_a_missing_group_is_an_unknown_one(values, missing):
    g = pd.Series(np.array(values, dtype=object)[(X["g"] == "b").astype(int)], name="g")
    g = g if isinstance(values[0], str) else g.astype(float)
    some = g.copy()
    some.iloc[3] = missing
    model = plug(decide_on="g", response=LARGEST).fit(X, Y, sensitive_features=g)
    with pytest.warns(UnknownGroupWarning, match="1 rows are of a group"):
        found = model.predict(X, sensitive_features=some)
    whole = model.predict(X, sensitive_features=g)
    np.testing.assert_array_equal(np.delete(found, 3), np.delete(whole, 3))
    known = model.predict(X, sensitive_features=some.fillna(g.mode()[0]))
    assert found[3] == known[3]
    with pytest.raises(ValueError, match="missing"):
        model.set_params(response="model").predict(X, sensitive_features=some)


def test_a_group_that_the_folds_leave_out_is_known_but_not_decided():
    g = np.where(X["g"] == "b", "a", "b").astype(object)
    g[:30] = "aa"  # first in the order of the segments, and all of it in the training rows
    cv = [(np.arange(300), np.arange(300, 600))]

    def fitted(goal, **more):
        return plug(goal, cv=cv, decide_on="g", **more).fit(X, Y, sensitive_features={"g": g})

    with pytest.warns(UserWarning, match="there is no rule for g = aa: none of its rows"):
        model = fitted("maximize f1")
    assert any("no rule for g = aa" in note for note in model.goal_report_.warnings)
    assert [key[0][1] for key in model.evidence_.segments] == ["a", "aa", "b"]
    assert [key[0][1] for key in model.rule_.segment_keys] == ["a", "b"]
    with pytest.raises(GoalError, match="30 rows are of a group that fit did not see, as g = aa"):
        model.predict(X, sensitive_features={"g": g})
    model.set_params(response__unknown_group="largest")
    with pytest.warns(UserWarning, match="by the rule for g = b"):
        model.predict(X, sensitive_features={"g": g})
    assert not fitted("maximize f1", evidence="soft").rule_.needs_segments  # one for everybody
    with pytest.raises(EmptyPopulationError, match=r"`cv`: .* 300 of 600 rows, .* g = aa"):
        fitted(FAIR)


def test_predict_says_what_it_needs():
    model, rows = plug(decide_on="g"), X[["score"]]
    model.fit(rows, Y, sensitive_features=X["g"])
    for given, words in (
        (None, r"the rule looks at \['g'\]: pass `sensitive_features`"),
        ({"h": X["g"]}, "looks at the column 'g', but `sensitive_features`"),
        (X["g"][1:], "has 599 rows, 600 are expected"),
    ):
        with pytest.raises(ValueError, match=words):
            model.predict(rows, sensitive_features=given)


def test_columns_go_by_the_index_of_X():
    """Labels and weights too (tests/conformance/test_rows.py)."""
    at = [f"row {i}" for i in range(len(X))]
    rows, y, g = X[["score"]].set_axis(at), pd.Series(Y, at), X["g"].set_axis(at)
    order = np.random.default_rng(2).permutation(len(X))
    fair = PlugInClassifier(LogisticRegression(), FAIR, cv=3, decide_on="g")
    one = clone(fair).fit(rows, y, sensitive_features=g)
    other = clone(fair).fit(rows, y.iloc[order], sensitive_features=g.iloc[order])
    assert one.goal_report_ == other.goal_report_
    found = one.predict(rows, sensitive_features=g.to_frame().iloc[order])
    np.testing.assert_array_equal(found, one.predict(rows, sensitive_features=g))
    moved = one.evaluate(rows, y.iloc[order], sensitive_features={"g": g.iloc[order]})
    assert moved == one.evaluate(rows, y, sensitive_features={"g": g})
    with pytest.raises(ValueError, match=r"^`sensitive_features\['g'\]` and X have different"):
        plug().fit(rows, y, sensitive_features={"g": X["g"]})


def month(n, seed, share):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 3)) + [1.5, 1.0, 0.5] * y[:, None], y


@over("share, bound, n", [(0.05, 0.1, 2_000), (0.5, 0.2, 400)])
def test_two_classes_stay_thresholds_after_adapt(share, bound, n):
    goal = f"maximize recall subject to predicted_rate <= {bound}"
    model = PlugInClassifier(LogisticRegression(), goal).fit(*month(n, 0, 0.3))
    rows, _ = month(n, 1, share)
    accepted = model.adapt(rows).predict(rows) == 1
    assert bound - 2 / n < accepted.mean() <= bound
    assert isinstance(model.rule_, Threshold)
    assert 0.0 < model.rule_.threshold < 1.0
    assert model.goal_report_.rule.text.startswith("predict 1 when the score is at least")
    above = model.predict_proba(rows)[:, 1] >= model.rule_.threshold
    np.testing.assert_array_equal(accepted, above)


@over("options, kind", [({"decide_on": "g"}, PerSegment), ({"randomized": True}, Mixture)])
def test_thresholds_by_group_and_draws_of_them_decide_as_the_rule_did(options, kind):
    goal = (
        "maximize recall subject to predicted_rate.difference(g) <= 0.05, predicted_rate <= 0.201"
    )
    (rows, y), (new, _) = month(400, 0, 0.3), month(400, 1, 0.4)
    g = {"sensitive_features": {"g": np.where(np.arange(400) % 3, "a", "b")}}
    model = PlugInClassifier(LogisticRegression(), goal, **options).fit(rows, y, **g)
    rule = model.adapt(new, **g).rule_
    assert isinstance(rule, kind)
    leaves = rule.rules if kind is PerSegment else [part for _, part in rule.atoms]
    assert all(isinstance(one, Threshold) for one in leaves)
    p = model.predict_proba(new)[:, 1]
    accepted = model.decision_distribution(new, **g)[:, 1]
    assert model.goal_report_.objective.posteriors == pytest.approx(p @ accepted / p.sum())
