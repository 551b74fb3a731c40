"""scikit-learn's own checks, and its tools: pipelines, searches, frames, copies."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, SplineTransformer, StandardScaler

from ramp.samples import COVERAGE, ramp, sample
from setpoint import ConstantGoalWarning, Deployed, goal_scorer, load_model, save_model

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

FREE = "minimize error_rate"
S, HARD = sample(), sample(500, seed=1)
FRAME = pd.DataFrame(S.X, columns=list("abcd"))
CHURN = "minimize error_rate subject to churn <= 0.05"


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_that_the_constructor_names(make):
    """Groups and deployed decisions as columns of X, of data sets too."""
    goal = "minimize error_rate subject to predicted_rate.difference(g) <= 0.05"
    goal += " and churn <= 0.2 and recall.on('hard', g='b') >= 0.6"
    coded = {"g": S.g, "old": S.old}
    frame = make({**dict(FRAME), **coded})
    hard = make({**dict(zip("abcd", HARD.X.T, strict=True)), "g": HARD.g, "old": HARD.old})
    columns = make_column_transformer((StandardScaler(), list("abcd")))
    clf = ramp(goal, sensitive_features="g", baseline="old", preprocessor=columns)
    clf.fit(frame, S.y, datasets={"hard": (hard, HARD.y)})
    twin = ramp(goal).fit(
        S.X, S.y, sensitive_features={"g": S.g}, baseline=S.old,
        datasets={"hard": _dataset(HARD)},
    )  # fmt: skip
    np.testing.assert_allclose(clf.coef_, twin.coef_, rtol=1e-4)
    assert clf.goal_report_.satisfied
    again = clf.evaluate(frame, S.y, datasets={"hard": (hard, HARD.y)})
    found = [c.value for c in again.constraints]
    assert found == pytest.approx([c.value for c in clf.goal_report_.constraints], abs=1e-12)


def _dataset(rows):
    from setpoint import Dataset

    return Dataset(rows.X, rows.y, sensitive_features={"g": rows.g}, baseline=rows.old)


def test_dense_and_sparse_rows_are_decided_alike():
    moved = np.where(np.abs(S.X) > 0.3, S.X + 5.0, 0.0)
    for form in (np.asarray, sparse.csr_matrix):
        clf = ramp().fit(form(moved), S.y)
        far = np.vstack([moved, 100.0 * moved[:5]])
        np.testing.assert_allclose(
            clf.decision_function(far), clf.decision_function(sparse.csr_matrix(far)), atol=1e-12
        )


def test_texts_by_a_transformer():
    texts = np.array(["rare event" if y else "usual thing" for y in S.y])
    texts = np.char.add(texts, np.where(S.X[:, 2] > 0, " now", " then"))
    clf = ramp(FREE, preprocessor=TfidfVectorizer(dtype=np.float64)).fit(texts, S.y)
    assert clf.goal_report_.objective.value == 0.0
    assert clf.predict(np.array(["rare event then", "usual thing now"])).tolist() == [1, 0]


def test_columns_of_text():
    mixed = FRAME.assign(e=np.where(S.X[:, 1] > 0, "u", "v"))
    columns = make_column_transformer((OneHotEncoder(), ["e"]), remainder="passthrough")
    clf = ramp(preprocessor=columns).fit(mixed, S.y, datasets=None)
    assert clf.goal_report_.satisfied
    assert clf.coef_.shape == (1, 6)
    goal = "minimize error_rate subject to recall.on('hard') >= 0.9"
    hard = pd.DataFrame(HARD.X, columns=list("abcd")).assign(e="u")
    clf = ramp(goal, preprocessor=columns).fit(mixed, S.y, datasets={"hard": (hard, HARD.y)})
    assert clf.predict(hard)[HARD.y == 1].mean() >= 0.9


@pytest.mark.parametrize(
    "step",
    [
        Nystroem(n_components=60, random_state=0),
        KBinsDiscretizer(n_bins=6, quantile_method="averaged_inverted_cdf"),
        SplineTransformer(n_knots=6),
    ],
    ids=["kernels", "bins", "splines"],
)
def test_steps_that_bend_the_boundary(step):
    """A ring cannot be cut by one line, before a transformer has bent it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(1500, 2))
    y = ((X**2).sum(axis=1) < 2.0).astype(int)
    goal = "minimize error_rate subject to predicted_rate <= 0.35"
    with pytest.warns(ConstantGoalWarning, match="predicts 0 for everyone"):
        straight = ramp(goal).fit(X, y).goal_report_
    inside = ramp(goal, preprocessor=step).fit(X, y)
    before = make_pipeline(step, ramp(goal, preprocessor=None)).fit(X, y)
    assert np.array_equal(inside.predict(X), before.predict(X))
    assert inside.goal_report_.satisfied
    assert inside.predict(X).mean() <= 0.35
    assert inside.goal_report_.objective.value < straight.objective.value - 0.15
    assert inside.score(X, y) == before.score(X, y)
    assert inside.score(X, y) == pytest.approx(1 - inside.goal_report_.objective.value)


def test_search_and_scores():
    search = GridSearchCV(ramp(), {"C": [0.01, 0.3]}, cv=3, scoring=goal_scorer(COVERAGE))
    search.fit(S.X, S.y)
    assert search.best_estimator_.goal_report_.satisfied
    assert search.best_params_["C"] == search.best_estimator_.C
    assert cross_val_score(ramp(FREE), S.X, S.y, cv=3).min() > 0.7


def test_searches_copy_a_deployed_model_that_is_frozen():
    model = LogisticRegression().fit(S.X[:, :], S.old)
    clf = ramp(CHURN, baseline=FrozenEstimator(model))
    found = GridSearchCV(clf, {"C": [0.05, 0.2]}, cv=3).fit(S.X, S.y).best_estimator_
    assert found.coef_.shape == (1, 5)
    assert np.mean(found.predict(S.X) != model.predict(S.X)) <= 0.05
    assert clone(clf).fit(S.X, S.y).goal_report_.satisfied


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"preprocessor": make_pipeline(StandardScaler())},
        {"randomized": True},
        {"solver": "cutting-plane"},
        {"baseline": LogisticRegression().fit(S.X, S.old)},
        {"baseline": FrozenEstimator(LogisticRegression().fit(S.X, S.old))},
        {"baseline": make_pipeline(StandardScaler(), LogisticRegression()).fit(S.X, S.old)},
    ],
    ids=["plain", "pipeline", "drawn", "cuts", "deployed", "frozen", "deployed pipeline"],
)
def test_copies_decide_alike(options, tmp_path):
    given = {"baseline": options["baseline"]} if "baseline" in options else {}
    goal = CHURN if given else COVERAGE
    X = S.X if given else FRAME
    clf = ramp(goal, **options).fit(X, S.y)
    save_model(clf, tmp_path / "a.skops")
    for copy in (pickle.loads(pickle.dumps(clf)), load_model(tmp_path / "a.skops")):
        assert np.array_equal(copy.decision_function(X), clf.decision_function(X))
        assert np.array_equal(copy.predict(X), clf.predict(X))
        assert copy.goal_report_ == clf.goal_report_
        assert copy.multipliers_ == clf.multipliers_
        assert copy.trace_ == clf.trace_
        assert not hasattr(copy, "evidence_")
        report = copy.evaluate(X, S.y, **given)
        value = clf.goal_report_.objective.value
        assert report.objective.value == pytest.approx(value, abs=1e-12)
        assert clone(copy).get_params()["goal"] == goal


def test_a_column_of_scores_is_copied_by_its_name(tmp_path):
    frame = FRAME.assign(score=LogisticRegression().fit(S.X, S.old).decision_function(S.X))
    clf = ramp(CHURN, baseline=Deployed("score", threshold=0.0)).fit(frame, S.y)
    save_model(clf, tmp_path / "a.skops")
    copy = load_model(tmp_path / "a.skops")
    assert np.array_equal(copy.decision_function(frame), clf.decision_function(frame))
    assert copy.evaluate(frame, S.y).constraints[0].value == clf.goal_report_.constraints[0].value


def test_draws_by_a_column():
    frame = FRAME.assign(id=np.arange(len(S.y)) // 2)
    columns = make_column_transformer((StandardScaler(), list("abcd")))
    clf = ramp(randomized=True, draw="id", preprocessor=columns).fit(frame, S.y)
    p = clf.decision_distribution(frame)[:, 1]
    near = frame.iloc[[np.abs(p - 0.5).argmin()] * len(frame)].assign(id=frame["id"].to_numpy())
    assert 0 < clf.decision_distribution(near)[0, 1] < 1
    decided = clf.predict(near)
    assert np.array_equal(decided[::2], decided[1::2])
    assert 0.4 < decided.mean() < 0.6
