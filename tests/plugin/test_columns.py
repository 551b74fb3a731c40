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
from setpoint.plugin.fit.fitting import as_thresholds
from setpoint.rules import Argmax, Mixture, PerSegment, Threshold
from setpoint.solvers import ModelResponse
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning"),
]
FAIR = "maximize accuracy subject to recall.difference(g) <= 0.05"
LARGEST = ModelResponse(unknown_group="largest")
X, Y = table()
Z, NEW_Y = table(300, seed=3)


def plug(goal=FAIR, **options):
    scaled = make_column_transformer((StandardScaler(), ["score"]))
    inner = make_pipeline(scaled, LogisticRegression())
    return PlugInClassifier(inner, goal, **{"cv": 3, **options})


def test_groups_by_name_or_given_to_fit():
    named = plug(sensitive_features="g").fit(X, Y)
    given = plug(decide_on=["g"]).fit(X, Y, sensitive_features=X["g"])
    blind = plug().fit(X, Y, sensitive_features=X["g"])
    assert named.rule_ == given.rule_
    assert named.goal_report_.rule.decides_on == ("g",)
    found = given.predict(X, sensitive_features={"g": X["g"]})
    np.testing.assert_array_equal(named.predict(X), found)
    assert not blind.rule_.needs_segments
    assert any("does not look at g" in text for text in blind.goal_report_.warnings)
    assert blind.predict(X).size == len(X)
    never = plug(sensitive_features="g", decide_on=None).fit(X, Y)
    assert never.rule_ == blind.rule_
    assert not any("does not look" in text for text in never.goal_report_.warnings)


def test_a_group_that_fit_did_not_see():
    new = X.head(6).assign(g=["a", "b", "z", "a", "zz", "b"])
    strict = plug(sensitive_features="g").fit(X, Y)
    with pytest.raises(ValueError, match="2 rows are of a group that fit did not see, as g = z in"):
        strict.predict(new)
    lenient = plug(sensitive_features="g", response=LARGEST).fit(X, Y)
    largest = X["g"].mode()[0]
    with pytest.warns(UnknownGroupWarning, match=f"decided by the rule for g = {largest}"):
        decided = lenient.predict(new)
    wanted = lenient.predict(new.assign(g=["a", "b", largest, "a", largest, "b"]))
    np.testing.assert_array_equal(decided, wanted)


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
    with pytest.raises(TypeError, match=r"a dict from \['g'\] to arrays, got a ndarray") as caught:
        model.rule_.segment_codes(X["g"].to_numpy())
    assert len(str(caught.value)) < 120


def test_columns_go_by_the_index_of_X():
    """Labels and weights too (tests/conformance/test_index.py)."""
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


@over("seed", range(20))
def test_thresholds_decide_as_the_rule_does(seed):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(200), 3)
    P = np.column_stack([1.0 - p, p])
    leaf = [Argmax(rng.normal(size=(2, 2)) + 2 * np.eye(2), rng.normal(size=2)) for _ in range(2)]
    for rule in (leaf[0], Mixture(((0.3, leaf[0]), (0.7, leaf[1])))):
        found = as_thresholds(rule, P)
        if found is None:
            slopes = [r.G[1, 1] - r.G[1, 0] - r.G[0, 1] + r.G[0, 0] for r in leaf]
            assert min(slopes) < 0
            continue
        assert (found.distribution(p) == rule.distribution(P)).all()
    keys = ((("g", "u"),), (("g", "v"),))
    each = as_thresholds(PerSegment(tuple(leaf), keys), P)
    if each is not None:
        code = rng.integers(0, 2, 200)
        assert (each.decide(p, code) == PerSegment(tuple(leaf), keys).decide(P, code)).all()
