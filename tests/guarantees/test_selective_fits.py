"""Rules that may defer, certified: what they decide alone is right as often as was promised."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from setpoint import Confidence, GoalError, NotCertifiable, PlugInClassifier, certify, solve
from setpoint.rules import Band, Threshold

GOAL = "minimize deferral_rate subject to accuracy.decided >= 0.94"
FAIR = f"{GOAL} and deferral_rate.difference(sex) <= 0.1"
LEVEL, PRIOR, SHIFT = 0.05, 0.4, 2.0

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")


def drawn(n, rng):
    y = (rng.random(n) < PRIOR).astype(int)
    return rng.normal(SHIFT * y, 1.0), y


def on_population(rule):
    """The share of right decisions among those that are taken, and the share that is."""
    yes = np.array([norm.cdf(rule.low - SHIFT), norm.sf(rule.high - SHIFT)])
    no = np.array([norm.cdf(rule.low), norm.sf(rule.high)])
    decided = PRIOR * yes.sum() + (1 - PRIOR) * no.sum()
    return (PRIOR * yes[1] + (1 - PRIOR) * no[0]) / decided, decided


def simulated(n, draws, bound, seed):
    """Shares of draws that broke, certified and not, that were refused, and the share decided."""
    rng = np.random.default_rng(seed)
    goal = f"minimize deferral_rate subject to accuracy.decided >= {bound}"
    kept, plain = [], []
    for number in range(draws):
        scores, y = drawn(n, rng)
        if number % 4 == 0:
            plain.append(on_population(solve(goal, scores, y).rule))
        try:
            kept.append(on_population(solve(goal, scores, y, confidence=1 - LEVEL).rule))
        except NotCertifiable:
            continue
    kept, plain = np.array(kept), np.array(plain)
    return {
        "broken": float((kept[:, 0] < bound).sum() / draws),
        "refused": 1.0 - len(kept) / draws,
        "decided": float(kept[:, 1].mean()),
        "broken without": float((plain[:, 0] < bound).mean()),
        "decided without": float(plain[:, 1].mean()),
    }


def most(draws):
    """So many of the draws break by chance, where a share of .05 does, in one run of 100."""
    return LEVEL + 2.33 * math.sqrt(LEVEL * (1 - LEVEL) / draws)


def test_the_promise_is_kept_on_the_population():
    found = simulated(1_500, 200, 0.94, seed=0)
    assert found["broken"] <= most(200)
    assert found["broken without"] >= 0.4
    assert found["refused"] <= 0.1
    assert 0.6 * found["decided without"] <= found["decided"] <= found["decided without"]


@pytest.mark.long
@pytest.mark.parametrize(("n", "bound"), [(800, 0.92), (3_000, 0.95), (10_000, 0.97)])
def test_the_promise_is_kept_whatever_the_size(n, bound):
    found = simulated(n, 1_000, bound, seed=1)
    assert found["broken"] <= most(1_000)
    assert found["broken without"] >= 0.4
    assert found["refused"] <= 0.4


@pytest.mark.parametrize("strict", [False, True])
def test_a_band_is_certified_by_a_path_of_bands(strict):
    scores, y = drawn(4_000, np.random.default_rng(2))
    found = solve(GOAL, scores, y, confidence=Confidence(0.95, strict=strict))
    assert isinstance(found.rule, Band)
    g = found.report.guarantee
    assert (g.state, g.method, g.rows) == ("certified", "path of rules", 2_800)
    assert g.constraints[0].kind == "binomial"
    assert g.constraints[0].p_value <= 0.05
    assert 1 < g.passed < g.tried
    assert g.reached >= g.without - 0.01
    assert [m for m, _ in g.path] == sorted((m for m, _ in g.path), reverse=True)


def test_a_cap_on_the_rows_deferred_is_certified():
    scores, y = drawn(3_000, np.random.default_rng(3))
    goal = "maximize accuracy.decided subject to deferral_rate <= 0.3"
    found = solve(goal, scores, y, confidence=0.95)
    assert found.report.guarantee.state == "certified"
    assert on_population(found.rule)[1] >= 0.7


@pytest.mark.parametrize("decide_on", ["auto", None])
def test_groups_are_promised_too(decide_on):
    rng = np.random.default_rng(4)
    scores, y = drawn(6_000, rng)
    sex = rng.choice(["f", "m"], 6_000)
    found = solve(
        FAIR, scores, y, sensitive_features={"sex": sex}, decide_on=decide_on, confidence=0.95
    )
    g = found.report.guarantee
    assert g.state == "certified"
    assert [c.kind for c in g.constraints] == ["binomial", "melding"]
    assert found.rule.needs_segments == (decide_on == "auto")


def test_what_two_groups_decide_alone_is_right_in_both():
    """Intersection-union: each group at the full level."""
    rng, goal = (
        np.random.default_rng(5),
        "minimize deferral_rate s.t. accuracy.decided.min(g) >= 0.9",
    )
    broken, answered = 0, 0
    for _ in range(40):
        scores, y = drawn(1_500, rng)
        g = rng.integers(0, 2, 1_500)
        try:
            rule = solve(
                goal, scores, y, sensitive_features={"g": g}, decide_on=None, confidence=0.95
            ).rule
        except NotCertifiable:
            continue
        answered += 1
        broken += on_population(rule)[0] < 0.9
    assert answered >= 30
    assert broken <= most(40) * 40


def test_weighted_rows_are_not_certified():
    rng = np.random.default_rng(6)
    scores, y = drawn(4_000, rng)
    weight = rng.choice([1.0, 2.0], 4_000)
    with pytest.raises(GoalError, match="nothing can be promised for weighted rows"):
        solve(GOAL, scores, y, sample_weight=weight, confidence=0.95)


def test_a_bound_that_is_out_of_reach_is_refused_with_what_is_not():
    scores, y = drawn(1_000, np.random.default_rng(7))
    goal = "minimize deferral_rate subject to accuracy.decided >= 0.99"
    with pytest.raises(NotCertifiable, match=r"do not show accuracy\.decided >= 0\.99"):
        solve(goal, scores, y, confidence=0.95)
    near = solve(goal, scores, y, confidence=Confidence(0.95, on_uncertified="nearest"))
    assert near.report.guarantee.state == "not certified"
    with pytest.raises(NotCertifiable, match="takes 299 rows that speak for it"):
        solve(goal, scores[:250], y[:250], confidence=0.95)


# ---------------------------------------------------------------------- classifiers
def table(n, seed):
    rng = np.random.default_rng(seed)
    scores, y = drawn(n, rng)
    return pd.DataFrame({"a": scores, "b": rng.normal(size=n)}), y


def test_a_classifier_is_certified_and_defers():
    X, y = table(5_000, 8)
    clf = PlugInClassifier(LogisticRegression(), GOAL, confidence=0.95).fit(X, y)
    g = clf.goal_report_.guarantee
    assert (g.state, g.rows) == ("certified", 1_500)
    new, true = table(20_000, 9)
    answers = clf.predict(new)
    decided = answers != "defer"
    assert (answers[decided] == true[decided]).mean() >= 0.935
    assert decided.mean() == pytest.approx(1 - g.reached, abs=0.05)


def test_more_classes_are_certified_by_posteriors():
    rng = np.random.default_rng(10)
    y = rng.integers(0, 3, 3_000)
    posterior = np.exp(rng.normal(size=(3_000, 3)) + 2.5 * np.eye(3)[y])
    posterior /= posterior.sum(axis=1, keepdims=True)
    found = solve(
        "minimize deferral_rate subject to accuracy.decided >= 0.95",
        posterior,
        y,
        evidence="soft",
        confidence=0.95,
    )
    g = found.report.guarantee
    assert (g.state, g.method) == ("certified", "path of rules")
    assert g.constraints[0].kind == "binomial"
    assert g.passed >= 2


@pytest.mark.parametrize("drawn_anew", [False, True])
def test_a_classifier_that_defers_is_certified_as_it_is(drawn_anew):
    X, y = table(3_000, 11)
    goal = "minimize deferral_rate subject to accuracy.decided >= 0.97"
    how = {"randomized": True, "draw": "random"} if drawn_anew else {}
    clf = PlugInClassifier(LogisticRegression(), goal, **how).fit(X, y)
    new, true = table(3_000, 12)
    assert certify(clf, GOAL, new, true, new_rule=False).guarantee.state == "certified"
    with pytest.raises(GoalError, match="the rule defers rows"):
        certify(clf, "maximize recall s.t. precision >= 0.5", new, true, new_rule=False)


def test_rules_that_defer_and_rules_that_do_not_are_certified():
    scores, y = drawn(3_000, np.random.default_rng(13))
    found = certify([Band(-0.7, 2.7), Band(-0.3, 2.3), Threshold(1.0)], GOAL, scores, y)
    assert found.guarantee.state == "certified"
    assert found.index == 1
