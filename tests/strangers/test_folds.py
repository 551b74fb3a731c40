"""Tables in the order of their files: folds, and what a report says of the order."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setpoint import PlugInClassifier
from thinning import over

LOADER = Path(__file__).parents[2].parent / "shared" / "data" / "load.py"
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


@pytest.mark.parametrize("sorted_by", ["label", "group"])
def test_a_sorted_table(sorted_by):
    """eyes-python D1, on tables that are sorted."""
    rng = np.random.default_rng(1)
    X, y = in_file_order()
    order = np.argsort(y if sorted_by == "label" else X[:, 2:] @ np.arange(10)[::-1], kind="stable")
    X, y = X[order], y[order]
    test = rng.choice(4000, 2000, replace=False)
    default, shuffled = (f1_of(cv, X, y, test)[0] for cv in (None, SHUFFLED))
    assert abs(default - shuffled) < 0.02


@pytest.fixture(scope="module")
def load():
    if not LOADER.is_file():
        pytest.skip("the data sets of the project lie in no folder beside it")
    spec = importlib.util.spec_from_file_location("shared_data", LOADER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load


@over("name, tells", [("wilt", True), ("compas", False), ("communities_crime", False)])
def test_real_tables_whose_order_tells_something_or_nothing(load, name, tells):
    """eyes-python D1: nothing was said of the order; and the other side, no false alarm."""
    assert bool(said_of(load, name)) is tells


def said_of(load, name):
    X, y, _, _ = load(name, numeric=True)
    model = PlugInClassifier(LINE, "accuracy", evidence="label").fit(X, y)
    return [note for note in model.goal_report_.warnings if "later in time" in note]
