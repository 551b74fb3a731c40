"""The report says where the order of the rows tells something, and is silent where it does not."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, RepeatedStratifiedKFold, TimeSeriesSplit

from setpoint import InfeasibleError, PlugInClassifier, RampClassifier
from setpoint.classifiers import order_in_words

FLOOR = "maximize recall subject to precision >= 0.5"


def drifting(n=3000, seed=0):
    """Rows by time: what one column says of the label moves through the file."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    time = np.arange(n) / n
    y = (X[:, 0] + 2.0 * np.sin(6.0 * time) + rng.logistic(size=n) > 1.0).astype(int)
    return X, y


def by_units(n_units=300, seed=0):
    """Ten rows of each unit one after the other, and what is not in X is theirs together."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(n_units), 10)
    X = rng.normal(size=(len(unit), 2))
    y = (X[:, 0] + rng.normal(size=n_units)[unit] + rng.logistic(size=len(unit)) > 0.5).astype(int)
    return X, y, unit


def notes(model, *rows):
    return [n for n in model.fit(*rows).goal_report_.warnings if "flatter:" in n or "folds" in n]


def plug(goal="f1", **options):
    return PlugInClassifier(options.pop("estimator", LogisticRegression()), goal, **options)


# ------------------------------------------------------------------------------ what is said
@pytest.mark.parametrize("cv", [None, 0.5, KFold(5)], ids=str)
def test_drift_through_the_file(cv):
    (text,) = notes(plug(cv=cv), *drifting())
    assert text.startswith("Rows that follow each other err together (correlation 0.")
    assert "parts of the file differ beyond chance" in text
    assert ("folds differ beyond chance" in text) == isinstance(cv, KFold)
    assert "if new rows come later in time" in text
    assert "`cv=TimeSeriesSplit()`" in text
    assert text in str(plug(cv=cv).fit(*drifting()).goal_report_).replace("\n    ", " ")


def test_rows_of_units():
    X, y, unit = by_units()
    (text,) = notes(plug(), X, y)
    assert "Rows that follow each other err together" in text
    assert "`cv=GroupKFold()`" in text
    assert "differ beyond chance" not in text
    mixed = np.random.default_rng(1).permutation(len(y))
    assert notes(plug(), X[mixed], y[mixed]) == []
    splits = list(GroupKFold(5).split(X, y, unit))
    assert notes(plug(cv=splits), X[mixed], y[mixed]) == []


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_table_sorted_by_class(n_classes):
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, n_classes, 800))
    X = np.eye(n_classes)[y] + rng.normal(size=(800, n_classes))
    (text,) = notes(plug("maximize recall.min()" if n_classes > 2 else "f1"), X, y)
    assert text.endswith("if the table is only sorted, as by class, shuffled folds are right.")
    mixed = rng.permutation(800)
    assert notes(plug("accuracy"), X[mixed], y[mixed]) == []


def test_a_goal_that_cannot_be_met_says_so():
    X, y = drifting()
    with pytest.raises(
        InfeasibleError, match=r"cannot hold together.*\. Rows that follow each other"
    ) as e:
        plug("maximize recall subject to precision >= 0.99 and recall >= 0.5").fit(X, y)
    assert "TimeSeriesSplit" in e.value.finding
    assert str(e.value).endswith(f"({e.value.remedy})")
    mixed = np.random.default_rng(0).permutation(len(y))
    with pytest.raises(InfeasibleError) as e:
        plug("maximize recall subject to precision >= 0.99 and recall >= 0.5").fit(
            X[mixed], y[mixed]
        )
    assert "TimeSeriesSplit" not in str(e.value)


def test_models_that_are_chosen_and_families_that_train():
    X, y = drifting(1500)
    auto = {"line": LogisticRegression()}
    (text,) = notes(plug(FLOOR, estimator=auto), X, y)
    assert "TimeSeriesSplit" in text
    (text,) = notes(RampClassifier(FLOOR, random_state=0), X, y)
    assert text.endswith("judge by later rows, or by other units; if the table is only sorted, as "
                         "by class, nothing is lost.")  # fmt: skip


def test_a_model_that_knows_the_month():
    rng = np.random.default_rng(0)
    month = np.arange(3000) // 300
    X = np.column_stack([rng.normal(size=3000), np.eye(10)[month]])
    level = np.array([-3.0, -2.5, -3.0, -2.0, -1.5, -3.0, -1.0, 0.0, 2.0, 2.0])
    y = (X[:, 0] + level[month] + rng.logistic(size=3000) > 0.0).astype(int)
    (text,) = notes(plug(), X, y)
    assert text.startswith("Labels go together in the order of the file: if new rows come later")
    assert "may flatter" in text
    mixed = rng.permutation(3000)
    assert notes(plug(), X[mixed], y[mixed]) == []


def test_rows_that_are_never_scored():
    X, y = drifting(600)
    (text,) = [n for n in plug(cv=TimeSeriesSplit(5)).fit(X, y).goal_report_.warnings if "cv" in n
               and "never" in n]  # fmt: skip
    assert text.startswith("cv never scores 100 of 600 rows")


# --------------------------------------------------------------------------------- silence
@pytest.mark.parametrize(("n", "rate"), [(60, 0.5), (400, 0.3), (2000, 0.02), (2000, 0.6)])
def test_silent_where_the_order_is_random(n, rate):
    rng = np.random.default_rng(n)
    said = 0
    for _ in range(200):
        posterior = rng.beta(2.0 * rate, 2.0 * (1.0 - rate), size=n)
        true = (rng.random(n) < posterior).astype(int)
        said += order_in_words(posterior, true, rng.integers(0, 5, n)) != ""
    assert said == 0


def test_silent_of_little_in_a_large_table():
    n = 300_000
    rng = np.random.default_rng(0)
    rate = 0.3 + 0.02 * np.linspace(-1.0, 1.0, n)
    true = (rng.random(n) < rate).astype(int)
    assert order_in_words(rng.random(n), true) == ""
    true = (rng.random(n) < rate + 0.1 * np.linspace(-1.0, 1.0, n)).astype(int)
    assert "Parts of the file" in order_in_words(rng.random(n), true)


def test_silent_with_a_model_of_group_and_class_together():
    X, y = drifting(1200)
    mixed = np.random.default_rng(0).permutation(1200)
    group = np.where(X[:, 1] + X[:, 2] > 0.0, "a", "b")
    model = plug(
        "maximize accuracy subject to predicted_rate.difference(g) <= 0.2", evidence="soft"
    )
    for rows, n in ((mixed, 0), (np.arange(1200), 1)):
        model.fit(X[rows], y[rows], sensitive_features={"g": group[rows]})
        assert model.scorer_ is not None
        assert sum("later in time" in note for note in model.goal_report_.warnings) == n


@pytest.mark.parametrize("estimator", [LogisticRegression(), HistGradientBoostingClassifier()])
def test_a_row_that_is_scored_again_is_not_its_own_neighbour(estimator):
    X, y = drifting(400)
    mixed = np.random.default_rng(0).permutation(400)
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=3, random_state=0)
    (text,) = notes(plug(cv=cv, estimator=estimator), X[mixed], y[mixed])[:1] or ("",)
    assert "together" not in text
