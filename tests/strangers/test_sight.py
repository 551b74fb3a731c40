"""What a rule looks at, and which rows belong together: reproductions of strangers' findings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import (
    GoalError,
    OnlineFClassifier,
    PlugInClassifier,
    RampClassifier,
    evaluate,
    explore,
    solve,
)
from thinning import over

FLOOR = "maximize recall subject to precision >= 0.5"


def drawn(n=300, seed=0):
    """Rows sorted by class, with scores that are probabilities."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(int)
    order = np.argsort(y, kind="stable")
    return p[order], y[order], rng.lognormal(3.0, 1.0, n)


def test_an_outcome_is_not_read_by_a_router():
    """Review of the session, item 3: outcome columns read, .944 reported where .769 was true."""
    rng = np.random.default_rng(1)
    posteriors = rng.dirichlet([1.0, 1.0, 1.0], 400)
    right = (rng.random((400, 3)) < posteriors).astype(float)
    y = np.array([rng.choice(3, p=p) for p in posteriors])
    outcomes = {f"right_{k}": right[:, k] for k in range(3)}
    pairs = {(i, k): f"right_{k}" for i in range(3) for k in range(3)}
    entries = ", ".join(f'({i}, {k}): "{name}"' for (i, k), name in pairs.items())
    found = solve(f"maximize value({{{entries}}})", posteriors, y, sensitive_features=outcomes)
    assert found.rule.value_columns == ()
    best, told = right.max(axis=1).mean(), found.report.objective.value
    chosen = right[np.arange(400), found.rule.decide(posteriors)].mean()
    assert told == pytest.approx(chosen)
    assert told < best - 0.05
    assert any("decide_on=['right_0'" in w for w in found.report.warnings)


@pytest.mark.parametrize(
    "goal",
    [
        "maximize profit(tp=amount - 5, fp=-5)",
        "maximize recall.weighted(amount) subject to predicted_rate <= 0.4",
    ],
)
def test_a_column_by_which_rows_count_is_read_where_it_is_named(goal):
    p, y, amount = drawn()
    side = {"amount": amount}
    blind = solve(goal, p, y, sensitive_features=side)
    assert blind.rule.value_columns == ()
    assert any("decide_on=['amount']" in w for w in blind.report.warnings)
    named = solve("maximize profit(tp=amount - 5, fp=-5)", p, y, sensitive_features=side,
                  decide_on="amount")  # fmt: skip
    assert named.rule.value_columns == ("amount",)
    assert not any("decide_on" in w for w in named.report.warnings)


@over("scores", [[[-1.0, 1.0]], [[0.7, 0.7]]])
def test_two_columns_that_are_not_posteriors(scores):
    """Item 3: the second of two raw columns was taken for the posterior."""
    with pytest.raises(ValueError, match=r"are not posteriors.*one score a row"):
        solve("f1", np.array(scores * 4), [0, 1, 1, 0])


@over("entry", [solve, explore])
def test_masked_scores(entry):
    """breaker.md D8b, peers.md 8."""
    p, y, _ = drawn()
    with pytest.raises(ValueError, match="`scores` is a masked array, and 1 of its values"):
        entry(FLOOR, np.ma.masked_array(p, np.arange(len(p)) == 3), y)


@pytest.mark.filterwarnings("ignore::setpoint.ConstantGoalWarning")
@over(
    "clf",
    [PlugInClassifier(LogisticRegression(), "f1"), RampClassifier(FLOOR), OnlineFClassifier()],
)
def test_masked_features(clf):
    """breaker.md D8b."""
    p, y, amount = drawn()
    X = np.ma.masked_greater(np.column_stack([p, amount]), np.median(amount))
    with pytest.raises(ValueError, match="`X` is a masked array"):
        clf.fit(X, y)
    with pytest.raises(ValueError, match="`X` is a masked array"):
        clf.fit(X.data, y).predict(X)


@over("clf", [RampClassifier(FLOOR), OnlineFClassifier()])
def test_dates_and_duplicate_names(clf):
    """breaker.md D8a, D8c; peers.md 8."""
    p, y, _ = drawn()
    days = pd.DataFrame({"p": p, "day": pd.date_range("2024-01-01", periods=len(p))})
    with pytest.raises(ValueError, match="`X` holds dates or times \\('day'\\)"):
        clf.fit(days, y)
    with pytest.raises(ValueError, match="duplicate column names"):
        clf.fit(pd.DataFrame(np.column_stack([p, p]), columns=["p", "p"]), y)


def test_series_with_other_indexes():
    """eyes-python.md D9: counted by position."""
    p, y, _ = drawn()
    index = np.random.default_rng(0).permutation(len(y))
    scores, labels = pd.Series(p), pd.Series(y)
    said = (scores >= 0.5).astype(int)
    right = evaluate("f1", labels, said).objective.value
    assert evaluate("f1", labels.iloc[index], said).objective.value == right
    best = solve("f1", scores, labels).report.objective.value
    assert solve("f1", scores, labels.iloc[index]).report.objective.value == best
    with pytest.raises(ValueError, match="`y` and `y_pred` have different indexes"):
        evaluate("f1", labels.set_axis(labels.index + 7), said)
    with pytest.raises(ValueError, match="`y` and `scores` have different indexes"):
        solve("f1", scores, labels.set_axis(labels.index + 7))


def test_numbers_in_arrays_of_objects():
    """breaker.md E7: refused as scores, taken as weights."""
    p, y, _ = drawn()
    assert solve("f1", p.astype(object), y).rule == solve("f1", p, y).rule


@over("value", [1.7e308, 10**400])
def test_values_too_large_to_be_added(value):
    """breaker.md E6: sums overflowed to a wrong message."""
    p, y, _ = drawn()
    side = {"amount": np.array([value] * len(p), object)}
    with pytest.raises(ValueError, match=r"amount.*(huge|too large)"):
        solve("maximize profit(tp=amount)", p, y, sensitive_features=side)


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_columns_in_the_place_of_segments():
    """eyes-python.md D8: '`segments` must have shape (6,), got ()'."""
    p, y, _ = drawn()
    g = np.repeat(["a", "b"], len(p) // 2)[: len(p)]
    goal = "maximize recall subject to precision.min(g) >= 0.7"
    index = np.random.default_rng(2).permutation(len(p))
    rule = solve(goal, p[index], y[index], sensitive_features={"g": g}).rule
    with pytest.raises(ValueError, match=r"rule\.segment_codes"):
        rule.decide(p, {"g": g})
    assert len(rule.decide(p, rule.segment_codes({"g": g}))) == len(p)


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_a_bound_that_no_exact_search_knows():
    """peers.md 10: a ShapeError about mixtures where no draws were asked for."""
    rng = np.random.default_rng(1)
    posteriors = rng.dirichlet([1.0, 1.0, 1.0], 200)
    y = np.sort([rng.choice(3, p=p) for p in posteriors])
    with pytest.raises(GoalError, match=r"f1\.min\(\).*or make it the objective"):
        solve("maximize accuracy subject to macro_f1 >= 0.3", posteriors, y)
    found = solve("maximize macro_f1 subject to accuracy >= 0.3", posteriors, y).report
    assert found.constraints[0].satisfied


def test_series_are_aligned_where_scores_have_no_index():
    """A stranger at the end of issue 36: labels and weights in other orders, scores an array."""
    rng = np.random.default_rng(0)
    s = rng.random(300)
    y, w = (rng.random(300) < s).astype(int), rng.integers(1, 20, 300)
    order = rng.permutation(300)
    found = solve("maximize f1", s, pd.Series(y), sample_weight=pd.Series(w).iloc[order])
    assert found.rule == solve("maximize f1", s, y, sample_weight=w).rule
