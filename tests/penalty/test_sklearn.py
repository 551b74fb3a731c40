"""scikit-learn's own checks, and its tools: pipelines, searches, frames, copies."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from penalty.samples import FPOR, imbalanced, penalty
from setpoint import (
    ExactPenaltyClassifier,
    goal_scorer,
    load_model,
    save_model,
)

CASES = [
    penalty(solver="sigmoid"),
    penalty("accuracy", balanced=True, solver="cross-entropy"),
    penalty(preprocessor=None, min_positives=0),
]


@pytest.mark.filterwarnings("ignore::setpoint.ConstantGoalWarning")  # their data are hopeless
@parametrize_with_checks(CASES)
def test_checks(estimator, check):
    check(estimator)


X, Y = imbalanced()
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_parameters_are_stored_untouched():
    values = {
        "goal": FPOR,
        "module": "linear",
        "solver": "sigmoid",
        "preprocessor": None,
        "min_positives": 7,
        "temperature": 3,
        "validation_fraction": 0.25,
        "random_state": 3,
    }
    clf = ExactPenaltyClassifier(**values)
    before = clf.get_params()
    assert values.items() <= before.items()
    assert clf.fit(X, Y).get_params() == before == clone(clf).get_params()


@pytest.mark.parametrize(
    "name", ["predict", "decision_function", "decision_distribution", "evaluate"]
)
def test_before_fit(name):
    given = (X, Y) if name == "evaluate" else (X,)
    with pytest.raises(NotFittedError):
        getattr(penalty(), name)(*given)
    for attribute in ("threshold_", "coef_", "intercept_", "module_"):
        assert not hasattr(penalty(), attribute)


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (-1, 1), (2.0, 7.0)])
@pytest.mark.parametrize("pos", [0, 1])
def test_labels_and_decisions(labels, pos):
    y = np.array(labels)[Y if pos else 1 - Y]
    clf = penalty(FPOR, pos_label=labels[pos]).fit(X, y)
    assert clf.classes_.tolist() == sorted(labels)
    assert clf.positive_ == labels[pos]
    decided = clf.predict(X)
    above = clf.decision_function(X)
    assert np.array_equal(decided == clf.classes_[1], above >= 0) or pos == 0
    assert np.array_equal(decided == clf.classes_[0], above <= 0) or pos == 1
    twin = penalty(FPOR).fit(X, Y)
    assert np.array_equal(decided == labels[pos], twin.predict(X) == 1)
    assert clf.goal_report_.objective.value == twin.goal_report_.objective.value
    assert clf.evaluate(X, y).objective.value == clf.goal_report_.objective.value
    assert np.array_equal(clf.decision_distribution(X)[:, 1] == 1.0, decided == clf.classes_[1])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames(make):
    frame = make(dict(FRAME))
    clf = penalty(FPOR).fit(frame, Y)
    assert clf.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert np.array_equal(clf.predict(frame), penalty(FPOR).fit(X, Y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(FRAME[["b", "a", "c", "d"]])


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
def test_sparse_rows_are_dense_ones(form):
    S = np.where(np.abs(X) > 0.7, X, 0.0)
    dense = penalty(FPOR, preprocessor=None).fit(S, Y)
    found = penalty(FPOR, preprocessor=None).fit(form(S), Y)
    assert np.allclose(found.decision_function(form(S)), dense.decision_function(S), atol=1e-6)
    scaled = penalty(FPOR).fit(form(S), Y)
    assert np.allclose(scaled.decision_function(S), scaled.decision_function(form(S)))


@pytest.mark.parametrize("fitted", [np.asarray, sparse.csr_matrix])
def test_dense_and_sparse_rows_are_decided_alike(fitted):
    moved = np.where(np.abs(X) > 0.3, X + 5.0, 0.0)
    clf = penalty(FPOR, min_positives=5).fit(fitted(moved), Y)
    far = np.vstack([moved, 100.0 * moved[:5]])
    assert np.allclose(clf.decision_function(far), clf.decision_function(sparse.csr_matrix(far)))


def test_notebooks_look_at_everything():
    clf = penalty(FPOR).fit(X, Y)
    assert "coef_" in dir(clf)
    assert "module_" not in dir(clf)
    assert "ExactPenaltyClassifier" in clf._repr_html_()
    with pytest.raises(AttributeError, match="module_ is not there for module='linear'"):
        _ = clf.module_


def test_what_cannot_be_found_again_is_not_saved(tmp_path):
    clf = penalty(FPOR).fit(X, Y).set_params(module=lambda d: None)
    with pytest.raises(TypeError, match=r"module is .*<lambda>"):
        save_model(clf, tmp_path / "a.skops")
    assert not list(tmp_path.iterdir())


def test_texts_by_a_transformer():
    texts = np.array(["rare event" if y else "usual thing" for y in Y])
    texts = np.char.add(texts, np.where(X[:, 2] > 0, " now", " then"))
    clf = penalty(preprocessor=TfidfVectorizer(dtype=np.float64)).fit(texts, Y)
    assert clf.goal_report_.objective.value == 1.0
    assert clf.predict(np.array(["rare event then", "usual thing now"])).tolist() == [1, 0]


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_pipeline_and_search():
    mixed = FRAME.assign(e=np.where(X[:, 3] > 0, "u", "v"))
    columns = make_column_transformer((OneHotEncoder(), ["e"]), remainder="passthrough")
    assert penalty(FPOR, preprocessor=columns).fit(mixed, Y).goal_report_.satisfied
    pipeline = make_pipeline(QuantileTransformer(n_quantiles=50), penalty(FPOR, preprocessor=None))
    assert pipeline.fit(X, Y).score(X, Y) > 0.8
    search = GridSearchCV(
        penalty(FPOR), {"temperature": [1.0, 5.0], "solver": ["sigmoid"]}, cv=3,
        scoring=goal_scorer(FPOR),
    )  # fmt: skip
    assert search.fit(X, Y).best_estimator_.goal_report_.satisfied
    assert cross_val_score(penalty("f1"), X, Y, cv=3).min() > 0.7


def test_copies_decide_alike(tmp_path):
    clf = penalty(FPOR, preprocessor=make_pipeline(StandardScaler())).fit(FRAME, Y)
    save_model(clf, tmp_path / "a.skops")
    for copy in (pickle.loads(pickle.dumps(clf)), load_model(tmp_path / "a.skops")):
        assert np.array_equal(copy.decision_function(FRAME), clf.decision_function(FRAME))
        assert copy.goal_report_ == clf.goal_report_
        assert copy.candidates_ == clf.candidates_
        assert not hasattr(copy, "evidence_")
        assert copy.evaluate(FRAME, Y).objective.value == clf.goal_report_.objective.value


def test_the_frontier_of_a_trained_model():
    from setpoint import frontier

    clf = penalty(FPOR).fit(X, Y)
    found = frontier(clf)
    assert found.kind == "steps"
    assert found.at(0.7) == clf.goal_report_.objective.value
