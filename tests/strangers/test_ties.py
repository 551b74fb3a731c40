"""Of rules that are equally good, one that departs least from the plain decision."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import solve
from thinning import over

DEFERRAL = "minimize deferral_rate subject to error_rate.decided <= 0.2"
RECALL = "maximize recall(label=0) subject to accuracy >= 0.7"


def classes(k, features, n, spread, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(k, features)) * spread
    y = np.sort(rng.choice(k, n))  # the file is in the order of its classes
    return centres[y] + rng.normal(size=(n, features)), y


def posteriors(k, features, spread, seed=0, n=3000):
    X, y = classes(k, features, n, spread, seed)
    return LogisticRegression(max_iter=200).fit(X[::2], y[::2]).predict_proba(X[1::2]), y[1::2]


@pytest.fixture(scope="module")
def eight():
    return posteriors(8, 10, 1.6)


@over("evidence", ["auto", "soft", "label"])
def test_a_goal_that_defers_nobody_decides_as_the_argmax(eight, evidence):
    """eyes-python, D2: accuracy .877 with a class never predicted, where argmax has .995."""
    p, y = eight
    with pytest.warns(UserWarning, match="defers nobody"):
        solution = solve(DEFERRAL, p, y, evidence=evidence)
    assert (solution.rule.decide(p) == p.argmax(axis=1)).all()
    assert solution.report.objective.value == 0.0
    if evidence == "soft":
        assert solution.report.status == "optimal"
        assert solution.report.certificate.gap == 0.0


def test_the_rule_of_many_classes_is_printed_in_short():
    """eyes-python, D2: a rule of 326,791 characters in a report."""
    p, y = posteriors(30, 10, 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        defers = solve(DEFERRAL, p, y, evidence="soft")
    text = defers.report.rule.text.splitlines()
    assert len(text) == 21
    assert text[-1].startswith("... and ")
    assert len(defers.rule.to_json()) > len("\n".join(text))  # in full


def best_accuracy(p, y, least):
    """Of weights on class 0 the accuracy of the best whose recall is at least so much."""
    best = 0.0
    for weight in np.exp(np.linspace(0.0, 12.0, 300)):
        decided = (p * np.append(weight, np.ones(7))).argmax(axis=1)
        if (decided[y == 0] == 0).mean() >= least:
            best = max(best, (decided == y).mean())
    return best


@over("seed", [1, 2, 3])
def test_accuracy_is_not_spent_for_nothing_by_labels(seed):
    """eyes-python, D2: recall 1.0 at accuracy .838, and a weight of 100 reaches 1.0 at .947."""
    p, y = posteriors(8, 6, 2.2, seed, 6000)
    decided = solve(RECALL, p, y, evidence="label").rule.decide(p)
    recall, accuracy = (decided[y == 0] == 0).mean(), (decided == y).mean()
    assert recall == 1.0
    assert accuracy >= best_accuracy(p, y, recall) - 0.002


def test_a_column_that_is_the_same_in_all_rows_is_not_looked_at():
    """The two kinds of rule are the same then, and folds told them apart by the last bits."""
    rng = np.random.default_rng(0)
    for seed in range(3):
        s = rng.random(300)
        y = (rng.random(300) < s).astype(int)
        solution = solve(
            "maximize profit(tp=amount - 5, fp=-5) subject to predicted_rate <= 0.1",
            s + seed * 1e-17,
            y,
            sensitive_features={"amount": np.full(300, 20.0)},
            decide_on="amount",
        )
        assert "the same in all rows" in solution.report.search.why
