"""Folds do not follow the order of the rows."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from setpoint import PlugInClassifier
from setpoint.classifiers import folds_of
from setpoint.solvers import ModelResponse
from thinning import over

SORTED = np.repeat([0, 1], [900, 100])
X = np.random.default_rng(0).normal(size=(1000, 2))


@over("cv", [None, 5, np.int64(5)])
def test_numbers_draw_stratified_folds_from_the_whole_file(cv):
    found, again, other = (folds_of(cv, X, SORTED, seed=seed) for seed in (3, 3, 4))
    assert [len(test) for _, test in found] == [200] * 5
    for _, test in found:
        assert SORTED[test].sum() == 20
        assert len(np.unique(test // 100)) == 10  # each tenth of the file is met
    assert sorted(np.concatenate([test for _, test in found])) == list(range(1000))
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(found, again, strict=True))
    assert not any(np.array_equal(a, b) for (_, a), (_, b) in zip(found, other, strict=True))


def test_a_splitter_is_used_as_it_is():
    found = folds_of(KFold(4), X, SORTED, seed=0)
    assert [test.tolist() for _, test in found] == np.arange(1000).reshape(4, 250).tolist()


@over("cv", [None, 3, 0.3])
@pytest.mark.parametrize("response", ["model", ModelResponse(calibrate="isotonic")])
def test_two_fits_are_equal_without_a_random_state(cv, response):
    rng = np.random.default_rng(5)
    y = (X[:, 0] + rng.normal(size=1000) > 0.8).astype(int)
    first, again = (
        PlugInClassifier(LogisticRegression(), "f1", cv=cv, response=response).fit(X, y)
        for _ in range(2)
    )
    assert first.rule_.threshold == again.rule_.threshold
    assert str(first.goal_report_.constraints) == str(again.goal_report_.constraints)
    assert np.array_equal(first.evidence_.scores, again.evidence_.scores)
