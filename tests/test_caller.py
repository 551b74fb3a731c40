"""Every warning points at the line of whoever called the library."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.parallel import delayed

from setpoint import (
    Dataset,
    ExactPenaltyClassifier,
    FewRowsWarning,
    PlugInClassifier,
    RampClassifier,
    evaluate,
    solve,
)
from setpoint.errors import without_races

GOAL = "maximize recall subject to precision >= 0.7"
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)


def caught_by(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return caught


@pytest.mark.parametrize(
    "call",
    [
        lambda: solve(GOAL, X[:, 0], y),
        lambda: PlugInClassifier(LogisticRegression(), GOAL).fit(X, y),
        lambda: PlugInClassifier(LogisticRegression(), GOAL, cv=2).fit(X, y),
        lambda: RampClassifier(GOAL, random_state=0).fit(X, y),
        lambda: ExactPenaltyClassifier(GOAL, solver="ero", random_state=0).fit(X, y),
    ],
    ids=["solve", "plugin", "folds", "ramp", "penalty"],
)
def test_few_rows(call):
    caught = [w for w in caught_by(call) if w.category is FewRowsWarning]
    assert caught
    assert {w.filename for w in caught} == {__file__}


def test_a_constant_rule_and_a_data_set_left_out():
    for call, match in [
        (lambda: solve("maximize recall", X[:, 0], y), "for everyone"),
        (lambda: evaluate("f1", y, y, datasets={"new": Dataset(y, y)}), "left out"),
        (lambda: solve("f1", X[:, 0], y, datasets={"new": (X[:, 0], y)}), "left out"),
    ]:
        caught = [w for w in caught_by(call) if match in str(w.message)]
        assert [w.filename for w in caught] == [__file__]


def test_what_scikit_learn_says_where_threads_share_filters_is_left_out():
    """As a thread that finds the filters of its process empty: it was given none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function, args, _ = delayed(abs)(-1)
        assert function(*args) == 1
        warnings.warn("few rows", stacklevel=1)
    assert len(caught) == 2
    assert [str(w.message) for w in without_races(caught)] == ["few rows"]
