"""Tables in the order of their files: folds, and what a report says of the order."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setpoint import PlugInClassifier

SHUFFLED = StratifiedKFold(5, shuffle=True, random_state=7)
LINE = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))


def in_file_order(n=4000, seed=0):
    """Ten months, which X holds, and each with its own share of positives."""
    rng = np.random.default_rng(seed)
    month = np.arange(n) * 10 // n
    level = np.array([-3.0, -2.5, -3.0, -2.0, -1.5, -3.0, -1.0, 0.0, 2.0, 2.0])
    X = np.column_stack([rng.normal(size=(n, 2)), np.eye(10)[month]])
    y = (X[:, 0] + level[month] + rng.logistic(size=n) > 0.0).astype(int)
    return X, y


def f1_of(cv, X, y, rows):
    train = np.setdiff1d(np.arange(len(y)), rows)  # the order of the file is kept
    model = PlugInClassifier(LINE, "f1", cv=cv).fit(X[train], y[train])
    return f1_score(y[rows], model.predict(X[rows])), model.goal_report_


def test_the_default_rule_is_that_of_shuffled_folds():
    """eyes-python D1: folds in the order of the file ruined the rule in silence."""
    X, y = in_file_order()
    test = np.random.default_rng(0).choice(len(y), 2000, replace=False)
    (default, said), (shuffled, _) = (f1_of(cv, X, y, test) for cv in (None, SHUFFLED))
    in_order, report = f1_of(StratifiedKFold(5), X, y, test)
    assert abs(default - shuffled) < 0.02
    assert in_order < default - 0.1
    for found in (said, report):
        assert any("order of the file" in note or "err together" in note for note in found.warnings)
