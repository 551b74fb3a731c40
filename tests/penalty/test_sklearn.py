"""scikit-learn's own checks, and its tools: pipelines, searches, frames, copies."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler

from penalty.samples import FPOR, imbalanced, penalty
from setpoint import goal_scorer, load_model, save_model

X, Y = imbalanced()
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])


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
    with pytest.raises(AttributeError, match="module_ is not there for `module='linear'`"):
        _ = clf.module_


def test_what_cannot_be_found_again_is_not_saved(tmp_path):
    clf = penalty(FPOR).fit(X, Y).set_params(module=lambda d: None)
    with pytest.raises(TypeError, match=r"`module` is .*<lambda>"):
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
        penalty(FPOR, solver="sigmoid"), {"solver__temperature": [1.0, 5.0]}, cv=3,
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
