"""The report says where the order of the rows tells something, and is silent where it does not."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold

from setpoint import InfeasibleError, PlugInClassifier
from setpoint.classifiers import order_in_words
from thinning import over

FLOOR = "maximize recall subject to precision >= 0.5"
FAIR = "maximize accuracy subject to predicted_rate.difference(g) <= 0.2"
RNG = np.random.default_rng(0)


def drifting(n=3000):
    """Rows by time: what one column says of the label moves through the file."""
    X, time = np.random.default_rng(0).normal(size=(n, 3)), np.arange(n) / n
    noise = np.random.default_rng(1).logistic(size=n)
    return X, (X[:, 0] + 2.0 * np.sin(6.0 * time) + noise > 1.0).astype(int)


def mixed(*rows):
    order = np.random.default_rng(1).permutation(len(rows[0]))
    return [values[order] for values in rows]


def said(model, *rows, **columns):
    report = model.fit(*rows, **columns).goal_report_
    return [n for n in report.warnings if "flatter:" in n or "folds" in n or "later in time" in n]


def plug(goal="f1", estimator=None, **options):
    return PlugInClassifier(estimator or LogisticRegression(), goal, **options)


# ---------------------------------------------------------------------- what is said
@over("cv", [None, 0.5, KFold(5)])
def test_drift_through_the_file(cv):
    model = plug(cv=cv)
    (text,) = said(model, *drifting())
    assert text.startswith("Rows that follow each other err together (correlation 0.")
    assert "parts of the file differ beyond chance" in text
    assert ("folds differ beyond chance" in text) == isinstance(cv, KFold)
    assert "if new rows come later in time" in text
    assert "`cv=TimeSeriesSplit()`" in text
    assert text in str(model.goal_report_).replace("\n    ", " ")


def test_rows_of_units():
    """Ten rows of each unit one after the other, and what is not in X is theirs together."""
    unit, X = np.repeat(np.arange(300), 10), RNG.normal(size=(3000, 2))
    y = (X[:, 0] + RNG.normal(size=300)[unit] + RNG.logistic(size=3000) > 0.5).astype(int)
    (text,) = said(plug(), X, y)
    assert "Rows that follow each other err together" in text
    assert "`cv=GroupKFold()`" in text
    assert "differ beyond chance" not in text
    rows = mixed(X, y, unit)
    assert said(plug(), *rows[:2]) == []
    assert said(plug(cv=list(GroupKFold(5).split(*rows))), *rows[:2]) == []


@over("n_classes, goal", [(2, "f1"), (4, "maximize recall.min()")])
def test_a_table_sorted_by_class(n_classes, goal):
    y = np.sort(RNG.integers(0, n_classes, 800))
    X = np.eye(n_classes)[y] + RNG.normal(size=(800, n_classes))
    (text,) = said(plug(goal), X, y)
    assert text.endswith("if the table is only sorted, as by class, shuffled folds are right.")
    assert said(plug("accuracy"), *mixed(X, y)) == []


def test_a_goal_that_cannot_be_met_says_so():
    rows, goal = drifting(), "maximize recall subject to precision >= 0.99 and recall >= 0.5"
    words = r"cannot hold together.*\. Rows that follow each other"
    with pytest.raises(InfeasibleError, match=words) as error:
        plug(goal).fit(*rows)
    assert "TimeSeriesSplit" in error.value.finding
    assert str(error.value).endswith(f"({error.value.remedy})")
    with pytest.raises(InfeasibleError) as error:
        plug(goal).fit(*mixed(*rows))
    assert "TimeSeriesSplit" not in str(error.value)


# ---------------------------------------------------------------------- silence
@over("n, rate", [(60, 0.5), (400, 0.3), (2000, 0.02), (2000, 0.6)])
def test_silent_where_the_order_is_random(n, rate):
    rng = np.random.default_rng(n)
    for _ in range(200):
        posterior = rng.beta(2.0 * rate, 2.0 * (1.0 - rate), size=n)
        true = (rng.random(n) < posterior).astype(int)
        assert order_in_words(posterior, true, rng.integers(0, 5, n)) == ""


def test_silent_of_little_in_a_large_table():
    n, rng = 300_000, np.random.default_rng(0)
    slope, scores = np.linspace(-1.0, 1.0, n), rng.random(n)
    assert order_in_words(scores, (rng.random(n) < 0.3 + 0.02 * slope).astype(int)) == ""
    more = (rng.random(n) < 0.3 + 0.12 * slope).astype(int)
    assert "Parts of the file" in order_in_words(scores, more)
