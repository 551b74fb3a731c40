"""What a first user stumbles over: missing groups, indexes, adapted thresholds, responses."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from setpoint import PlugInClassifier, RampClassifier, solve
from setpoint.classifiers import UnknownGroupWarning
from setpoint.plugin.fit.fitting import as_thresholds
from setpoint.rules import Argmax, Mixture, PerSegment, Threshold
from setpoint.solvers import ModelResponse
from thinning import over

FAIR = "maximize accuracy subject to predicted_rate.difference(g) <= 0.1"
pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")


def rows(n=400, values=("u", "v")):
    rng = np.random.default_rng(0)
    index = [f"row {i}" for i in range(n)]
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"], index=index)
    g = pd.Series(rng.choice(values, n), name="g", index=index)
    y = pd.Series((X.a + (g == values[0]) + rng.normal(size=n) > 0).astype(int), name="y")
    return X, y, g


def fair(**options):
    return PlugInClassifier(LogisticRegression(), FAIR, decide_on="g", **options)


@pytest.mark.parametrize(
    ("values", "missing"), [(("u", "v"), None), (("u", "v"), np.nan), ((1.0, 2.0), np.nan)]
)
def test_a_missing_group_is_an_unknown_one(values, missing):
    X, y, g = rows(values=values)
    some = g.astype(object) if isinstance(values[0], str) else g.copy()
    some.iloc[3] = missing
    clf = fair(response=ModelResponse(unknown_group="largest")).fit(X, y, sensitive_features=g)
    with pytest.warns(UnknownGroupWarning, match="1 rows are of a group"):
        found = clf.predict(X, sensitive_features=some)
    whole = clf.predict(X, sensitive_features=g)
    assert (found[np.arange(len(X)) != 3] == whole[np.arange(len(X)) != 3]).all()
    with pytest.raises(ValueError, match="missing"):
        fair().fit(X, y, sensitive_features=g).predict(X, sensitive_features=some)


def test_frames_go_by_the_index_of_X():
    X, y, g = rows()
    weight = pd.Series(np.random.default_rng(1).integers(1, 4, len(X)), index=X.index)
    order = np.random.default_rng(2).permutation(len(X))
    one = fair().fit(X, y, sample_weight=weight, sensitive_features=g)
    other = fair().fit(
        X, y.iloc[order], sample_weight=weight.iloc[order], sensitive_features=g.iloc[order]
    )
    assert one.goal_report_ == other.goal_report_
    assert (one.predict(X, sensitive_features=g.to_frame().iloc[order])
            == one.predict(X, sensitive_features=g)).all()  # fmt: skip
    assert one.evaluate(X, y.iloc[order], sensitive_features={"g": g.iloc[order]}) == one.evaluate(
        X, y, sensitive_features=g
    )
    ramp = RampClassifier("maximize recall subject to predicted_rate <= 0.3", random_state=0)
    assert (ramp.fit(X, y).predict(X) == ramp.fit(X, y.iloc[order]).predict(X)).all()


def test_another_index_is_refused():
    X, y, g = rows()
    with pytest.raises(ValueError, match=r"^`y` and X have different indexes.*to_numpy"):
        fair().fit(X, y.reset_index(drop=True), sensitive_features=g)
    with pytest.raises(ValueError, match=r"^`sensitive_features\['g'\]` and X have different"):
        fair().fit(X, y, sensitive_features={"g": g.reset_index(drop=True)})
    fair().fit(X, y.to_numpy(), sensitive_features=g.to_numpy())


def test_a_rule_by_the_largest_posterior_becomes_a_threshold_after_adapt():
    def month(seed, share):
        rng = np.random.default_rng(seed)
        y = (rng.random(10_000) < share).astype(int)
        return rng.normal(size=(10_000, 3)) + [1.5, 1.0, 0.5] * y[:, None], y

    goal = "maximize recall subject to predicted_rate <= 0.1"
    clf = PlugInClassifier(LogisticRegression(), goal).fit(*month(0, 0.3))
    X, _ = month(1, 0.05)
    assert 0.099 < clf.adapt(X).predict(X).mean() <= 0.1
    assert isinstance(clf.rule_, Threshold)


def test_two_classes_stay_thresholds_after_adapt():
    X, y, _ = rows()
    clf = PlugInClassifier(
        LogisticRegression(), "maximize accuracy subject to predicted_rate <= .2"
    )
    later = X + 0.3
    clf.fit(X, y).adapt(later)
    assert 0.0 < clf.rule_.threshold < 1.0
    assert clf.goal_report_.rule.text.startswith("predict 1 when the score is at least")
    accepted = clf.predict(later) == 1
    assert accepted.mean() <= 0.2
    assert (accepted == (clf.predict_proba(later)[:, 1] >= clf.rule_.threshold)).all()


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


def test_one_vs_rest_keeps_the_rule():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    Y = (X @ rng.normal(size=(3, 2)) + rng.normal(size=(600, 2)) > 1.2).astype(int)
    rule = PlugInClassifier(LogisticRegression(), "f1", response="rule")
    assert not hasattr(rule, "decision_function")
    found = OneVsRestClassifier(rule).fit(X, Y).predict(X)
    plain = OneVsRestClassifier(LogisticRegression()).fit(X, Y).predict(X)
    alone = [PlugInClassifier(LogisticRegression(), "f1").fit(X, Y[:, k]) for k in range(2)]
    assert (found == np.column_stack([one.predict(X) for one in alone])).all()
    assert (found != plain).any()
    one = rule.fit(X, Y[:, 0])
    assert (one.predict_proba(X) == one.decision_distribution(X)).all()
    with pytest.raises(
        ValueError, match=r"`response` is one of \['model', 'rule', ModelResponse.*got 'proba'"
    ):
        PlugInClassifier(LogisticRegression(), "f1", response="proba").fit(X, Y[:, 0])


def test_a_column_in_the_place_of_columns_is_named_shortly():
    X, y, g = rows()
    rule = solve(FAIR, X.a, y, sensitive_features={"g": g}).rule
    with pytest.raises(TypeError, match=r"a dict from \['g'\] to arrays, got a ndarray") as caught:
        rule.segment_codes(g.to_numpy())
    assert len(str(caught.value)) < 120
