"""scikit-learn's own checks, and its tools: pipelines, searches, frames, copies."""

import copy
import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from setpoint import (
    BlackBox,
    Dataset,
    MetricError,
    ModelFileError,
    goal_scorer,
    load_model,
    save_model,
)
from setpoint.solvers import FirstModel
from setpoint.surrogates import PRBEP, PrecisionAtRecall
from surrogates.samples import adaptive, island, profit, steps, two_groups

X, Y = island(300)
V, VY = island(200, seed=1)
NAMES = ["a", "b"]
FRAME = pd.DataFrame(X, columns=NAMES)


# ---------------------------------------------------------------------- kinds of X
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames(make):
    clf = adaptive(max_iter=2).fit(make(dict(FRAME)), Y)
    assert clf.feature_names_in_.tolist() == NAMES
    twin = adaptive(max_iter=2).fit(X, Y)
    # Frames hold columns and arrays rows, so sums are rounded another way.
    found = clf.decision_function(make(dict(FRAME)))
    np.testing.assert_allclose(found, twin.decision_function(X), rtol=1e-6)
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(FRAME[["b", "a"]])
    held = make(dict(zip(NAMES, V.T, strict=True)))
    both = adaptive(max_iter=2, cv=None).fit(make(dict(FRAME)), Y, validation=(held, VY))
    assert (
        both.best_value_ == adaptive(max_iter=2, cv=None).fit(X, Y, validation=(V, VY)).best_value_
    )


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows(form):
    S, T = np.where(np.abs(X) > 0.4, X, 0.0), np.where(np.abs(V) > 0.4, V, 0.0)
    for given in ({"cv": 3}, {"cv": None, "validation": (form(T), VY)}):
        cv, more = given["cv"], {k: v for k, v in given.items() if k == "validation"}
        clf = adaptive(cv=cv, preprocessor=None, max_iter=3).fit(form(S), Y, **more)
        dense = {"validation": (T, VY)} if more else {}
        twin = adaptive(cv=cv, preprocessor=None, max_iter=3).fit(S, Y, **dense)
        np.testing.assert_allclose(clf.coef_, twin.coef_, rtol=1e-6)
        assert np.array_equal(clf.predict(form(T)), twin.predict(T))
    adaptive(max_iter=1).fit(form(S), Y).predict(form(T))


def test_columns_of_text_and_of_holes():
    mixed = FRAME.assign(e=np.where(X[:, 1] > 0, "u", "v"))
    mixed.loc[::7, "a"] = np.nan
    columns = make_column_transformer(
        (OneHotEncoder(), ["e"]), (make_pipeline(SimpleImputer(), StandardScaler()), NAMES)
    )
    clf = adaptive(preprocessor=columns, max_iter=3).fit(mixed, Y)
    assert clf.coef_.shape == (1, 4)
    assert set(clf.predict(mixed)) <= {0, 1}
    assert clf.preprocessor_ is not columns


def test_numbers_that_are_missing_pass_to_an_imputer():
    holes = X.copy()
    holes[::5, 0] = np.nan
    clf = adaptive(preprocessor=SimpleImputer(), max_iter=2, cv=None)
    clf.fit(holes, Y, validation=(holes[:150], Y[:150]))
    assert np.isfinite(clf.decision_function(holes)).all()


# ---------------------------------------------------------------------- tools
def test_pipeline():
    inside = adaptive(max_iter=3).fit(X, Y)
    outside = make_pipeline(StandardScaler(), adaptive(max_iter=3, preprocessor=None)).fit(X, Y)
    np.testing.assert_allclose(outside.decision_function(V), inside.decision_function(V), rtol=1e-6)
    report = outside[-1].goal_report_
    assert report.objective.value == inside.goal_report_.objective.value


def test_searches_and_scores():
    scorer = goal_scorer(BlackBox(profit))
    search = GridSearchCV(
        adaptive(max_iter=2, cv=0.5), {"surrogates": ["sigmoid", "hinge"]}, cv=2, scoring=scorer
    ).fit(X, Y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert search.best_params_["surrogates"] == search.best_estimator_.surrogates
    assert scorer(search.best_estimator_, V, VY) == profit(VY, search.predict(V))
    assert len(cross_val_score(adaptive("f1", max_iter=1), X, Y, cv=2)) == 2


def squares(scores, y, sample_weight):
    w = sample_weight / sample_weight.sum()
    return w @ (scores - y) ** 2, 2.0 * w * (scores - y)


# ---------------------------------------------------------------------- copies
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"goal": "maximize f1 subject to recall >= 0.2"},
        {"solver": "surrogate-weights"},
        {"preprocessor": make_pipeline(StandardScaler())},
        {"surrogates": ["hinge", PRBEP(), PrecisionAtRecall(0.3)]},
        {"surrogate_groups": "g"},
        {"module": "mlp", "training": FirstModel(epochs=1)},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_copies_decide_alike(options, tmp_path):
    if "module" in options:
        pytest.importorskip("torch")
    Z, y, g = two_groups()
    own = steps(options.get("solver", "adaptive-surrogates"), 2)
    clf = adaptive(**own | options).fit(Z, y, sensitive_features={"g": g})
    save_model(clf, tmp_path / "a.skops")
    copies = pickle.loads(pickle.dumps(clf)), load_model(tmp_path / "a.skops"), copy.deepcopy(clf)
    for other in copies:
        assert np.array_equal(other.decision_function(Z), clf.decision_function(Z))
        assert np.array_equal(other.predict(Z), clf.predict(Z))
        assert other.goal_report_ == clf.goal_report_
        assert len(other.path_) == len(clf.path_)
        assert other.path_ == clf.path_
        assert other.surrogate_names_ == clf.surrogate_names_
        assert other.get_params().keys() == clone(other).get_params().keys()
    assert not hasattr(copies[0], "evidence_")


def test_own_surrogates_in_a_file(tmp_path):
    clf = adaptive("f1", surrogates=squares, max_iter=1).fit(X, Y)
    save_model(clf, tmp_path / "a.skops")
    with pytest.raises(ModelFileError, match="squares"):
        load_model(tmp_path / "a.skops")
    name = f"{squares.__module__}.squares"
    other = load_model(tmp_path / "a.skops", trusted=[name])
    assert np.array_equal(other.predict(X), clf.predict(X))
    with pytest.raises(TypeError, match="no reader of a file can find"):
        save_model(clf.set_params(surrogates=lambda f, y, w: (0.0, f)), tmp_path / "b.skops")


SHOP = "def revenue(y_true, y_pred):\n    return float((4 * y_true * y_pred - y_pred).mean())\n"


def test_the_metric_is_not_imported_on_loading(tmp_path, monkeypatch):
    """A file names it, by import path, and holds no code."""
    (tmp_path / "surrogates_shop.py").write_text(SHOP)
    monkeypatch.syspath_prepend(tmp_path)
    clf = adaptive(BlackBox("surrogates_shop:revenue"), max_iter=2).fit(X, Y)
    save_model(clf, tmp_path / "a.skops")
    sys.modules.pop("surrogates_shop")
    other = load_model(tmp_path / "a.skops")
    assert np.array_equal(other.predict(X), clf.predict(X))
    assert other.goal_report_.goal == 'maximize blackbox("surrogates_shop:revenue")'
    assert "surrogates_shop" not in sys.modules
    with pytest.raises(MetricError, match="names the metric surrogates_shop:revenue and holds no"):
        other.evaluate(X, Y)
    with pytest.raises(MetricError, match="holds no code"):
        other.fit(X, Y)
    other.set_params(goal=BlackBox("surrogates_shop:revenue"))
    assert other.evaluate(X, Y).objective == clf.evaluate(X, Y).objective
    sys.modules.pop("surrogates_shop")


def test_a_metric_that_no_reader_could_find(tmp_path):
    def local(y_true, y_pred):
        return profit(y_true, y_pred)

    clf = adaptive(BlackBox(local), max_iter=1).fit(X, Y)
    with pytest.raises(TypeError, match="no reader of a file can find"):
        save_model(clf, tmp_path / "a.skops")


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_a_deployed_model_in_the_constructor():
    model = LogisticRegression().fit(X, Y)
    clf = adaptive("maximize f1 subject to churn <= 0.4", baseline=model, max_iter=2).fit(X, Y)
    assert clf.goal_report_.constraints[0].value is not None
    held = adaptive("f1", baseline=model, max_iter=2, cv=None).fit(X, Y, validation=(V, VY))
    comparison = held.goal_report_.deployed
    changed = np.mean(held.predict(V) != model.predict(V))
    assert comparison.wins + comparison.losses == pytest.approx(changed)


def test_notebooks_look_at_everything():
    clf = adaptive(max_iter=1).fit(X, Y)
    assert {"coef_", "intercept_", "threshold_", "path_"} <= set(dir(clf))
    assert "AdaptiveSurrogateClassifier" in clf._repr_html_()
    assert "AdaptiveSurrogateClassifier" in repr(clf)


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_a_column_of_the_deployed_model_is_not_a_feature_with_a_validation_sample_either():
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(old=Y)
    held = Dataset(pd.DataFrame(V, columns=["a", "b"]).assign(old=VY), VY)
    clf = adaptive("f1", max_iter=2, cv=None).fit(frame, Y, validation=held, baseline="old")
    plain = adaptive("f1", max_iter=2, cv=None).fit(
        frame[["a", "b"]], Y, validation=(held.X[["a", "b"]], VY)
    )
    assert np.array_equal(clf.coef_, plain.coef_)
    assert np.array_equal(clf.predict(held.X), plain.predict(held.X[["a", "b"]]))
