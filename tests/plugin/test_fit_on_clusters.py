"""Fitting with dask's workers: models that learn there, and folds that are fitted there."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import PlugInClassifier, solve
from setpoint.plugin.row_share import RowShare
from setpoint.solvers import HoldOut

pd = pytest.importorskip("pandas", reason="of the extra scale")
dd = pytest.importorskip("dask.dataframe", reason="of the extra scale")
dask = pytest.importorskip("dask", reason="of the extra scale")
distributed = pytest.importorskip("distributed", reason="of the extra scale")

# dask 2026.8 reads Parquet by what pandas 3.1 deprecates.
pytestmark = [
    pytest.mark.filterwarnings(
        r"ignore:The inplace keyword in DataFrame\.reset_index is deprecated"
    ),
    pytest.mark.filterwarnings("ignore:Parameter n_jobs will be ignored"),
]

F1 = "maximize f1"


def rows(n=2000):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, n))
    chance = 1 / (1 + np.exp(-(1.5 * a - b - 1.0)))
    return pd.DataFrame({"a": a, "b": b, "target": (rng.random(n) < chance).astype(int)})


@pytest.fixture(scope="module")
def client():
    settings = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with (
        distributed.LocalCluster(**settings, dashboard_address=None) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


def learner(name):
    if name == "xgboost":
        package = pytest.importorskip("xgboost.dask", reason="xgboost is not installed")
        return package.DaskXGBClassifier(n_estimators=5, max_depth=3, n_jobs=1)
    package = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    return package.DaskLGBMClassifier(n_estimators=5, num_leaves=4, verbose=-1)


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_models_that_learn_on_dask(client, name):
    model = learner(name)
    frame = rows()
    clf = PlugInClassifier(model, F1, solver="exact", cv=HoldOut(rows_for_fit=800))
    clf.fit(dd.from_pandas(frame, npartitions=2), "target")
    share = RowShare.of(0.4, 0, frame.columns)
    others = frame[~share(frame)]
    scores = clf.estimator_.predict_proba(others[["a", "b"]])[:, 1]
    solution = solve(F1, scores, others["target"].to_numpy())
    assert clf.rule_.to_json() == solution.rule.to_json()
    assert clf.goal_report_.counts.n_rows == len(others)
    text = " ".join(str(clf.goal_report_).split())
    assert f"fitted on {len(frame) - len(others):,} rows on dask" in text
    # The model is one of this machine.
    assert not type(clf.estimator_).__name__.startswith("Dask")
    again = pickle.loads(pickle.dumps(clf))
    X = frame[["a", "b"]]
    assert np.array_equal(again.predict(X), clf.predict(X))
    assert clf.goal_report_.objective.value > 0.5


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_they_do_not_take_files(name, tmp_path):
    rows().to_parquet(tmp_path / "rows.parquet")
    clf = PlugInClassifier(learner(name), F1, cv=HoldOut(rows_for_fit=800))
    with pytest.raises(TypeError, match="takes a dask DataFrame"):
        clf.fit(tmp_path / "rows.parquet", "target")


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_fitted_there_before(client, name):
    frame = rows()
    table = dd.from_pandas(frame, npartitions=2)
    model = learner(name).fit(table[["a", "b"]], table["target"])
    clf = PlugInClassifier(model, F1, cv="prefit").fit(table, "target")
    assert clf.goal_report_.counts.n_rows == len(frame)
    assert len(clf.predict(frame[["a", "b"]])) == len(frame)


def test_workers_score_the_pieces(client):
    frame = rows()
    clf = PlugInClassifier(LogisticRegression(), F1, cv=HoldOut(rows_for_fit=800))
    there = clf.fit(dd.from_pandas(frame, npartitions=3), "target").rule_
    with dask.config.set(scheduler="synchronous"):
        here = clf.fit(dd.from_pandas(frame, npartitions=5), "target").rule_
    assert there.to_json() == here.to_json()


def test_folds_fitted_on_a_cluster(client):
    frame = rows()
    X, y = frame[["a", "b"]], frame["target"]
    clf = PlugInClassifier(LogisticRegression(), F1)
    here = clf.fit(X, y).rule_
    with joblib.parallel_config("dask"):
        there = clf.fit(X, y).rule_
    assert there.to_json() == here.to_json()
