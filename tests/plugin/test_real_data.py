"""Real tables: a credit card register and a census, with groups, data sets and churn."""

import numpy as np
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from plugin.samples import shared_table
from setpoint import PlugInClassifier

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")


@pytest.fixture(scope="module")
def credit():
    """Numbers as a frame, the label, and a logistic regression on scaled columns."""
    X, y, groups, _ = shared_table("default_credit")
    scale = make_column_transformer((StandardScaler(), list(X.columns)))
    base = make_pipeline(scale, LogisticRegression(max_iter=300))
    return X.assign(sex=groups["sex"]), y, base


def test_a_gap_between_groups(credit):
    X, y, base = credit
    goal = "maximize balanced_accuracy subject to recall.difference(sex) <= 0.01"
    train, test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    model = PlugInClassifier(base, goal, cv=3, sensitive_features="sex").fit(train, y_train)
    assert model.goal_report_.constraints[0].value <= 0.01 + 1e-9
    assert model.goal_report_.rule.decides_on == ("sex",)
    report = model.evaluate(test, y_test)
    assert report.objective.value > 0.65
    assert report.constraints[0].value < 0.06
    blind = PlugInClassifier(base, goal, cv=3, sensitive_features="sex", decide_on=None)
    reached = blind.fit(train, y_train).goal_report_.objective.value
    assert reached <= model.goal_report_.objective.value + 1e-9


def test_words_and_gaps_reach_the_model():
    X, y, groups, split = shared_table("adult")
    X = X.drop(columns=["fnlwgt"], errors="ignore").assign(sex=groups["sex"])
    for c in X.select_dtypes(exclude="number"):
        X[c] = X[c].astype(object).where(X[c].notna(), np.nan)
    assert X.isna().any().any()
    words = make_column_selector(dtype_exclude="number")
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=12)
    base = make_pipeline(
        make_column_transformer((encode, words), remainder="passthrough"),
        HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=8),
    )
    label, train, test = max(set(y)), split == "train", split != "train"
    goal = f"maximize f1(label={label!r}) subject to predicted_rate.ratio(sex) >= 0.6"
    own = {"random_state": 0, "sensitive_features": "sex", "pos_label": label}
    model = PlugInClassifier(base, goal, cv=0.3, **own)
    with threadpool_limits(1):  # threads of several tests get in each other's way
        model.fit(X[train], y[train])
    assert model.positive_ == label
    assert model.goal_report_.constraints[0].value >= 0.6 - 1e-9
    new = X[test]
    report = model.evaluate(new, y[test])
    assert report.objective.value > 0.6
    assert report.constraints[0].value > 0.5
    parts = np.concatenate([model.predict(new[:99]), model.predict(new[99:500])])
    np.testing.assert_array_equal(parts, model.predict(new[:500]))
