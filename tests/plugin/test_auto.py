"""estimator="auto": which model is chosen, by which numbers, and what the fit then holds."""

import pickle
from collections import Counter
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from setpoint import PlugInClassifier, SearchLimits, StoppedWarning, load_model, save_model, solve
from setpoint.errors import InputError
from setpoint.judging import ModelChoice, candidates_of
from setpoint.report import GoalReport
from setpoint.solvers import HoldOut, ModelResponse

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
GOAL = "maximize recall subject to precision >= 0.6"
RNG = np.random.default_rng(0)
Y = (RNG.random(600) < 0.35).astype(int)
X = RNG.normal(size=(600, 4)) + 0.9 * Y[:, None]
FOLDS, HALVED = (StratifiedKFold(k, shuffle=True, random_state=0) for k in (4, 2))
FITS, BEFORE = [], {}


def noted(base):
    """A model that notes its fits, and may do something before them."""

    class Noted(base):
        def fit(self, X, y, sample_weight=None):
            FITS.append((base.__name__, len(X), np.size(sample_weight)))
            BEFORE.get(base.__name__, int)()
            return super().fit(X, y, sample_weight=sample_weight)

    return Noted


NOTED = {
    "bayes": noted(GaussianNB)(),
    "noise": noted(DummyClassifier)(strategy="stratified", random_state=0),
    "logistic": noted(LogisticRegression)(),
}
QUICK = {
    "bayes": GaussianNB(),
    "logistic": LogisticRegression(),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
}
HALVES = {
    name: make_pipeline(ColumnTransformer([("own", "passthrough", k)]), LogisticRegression())
    for name, k in {"left": [0, 1], "right": [2, 3]}.items()
}


@pytest.fixture(autouse=True)
def _nothing_noted():
    FITS.clear()
    BEFORE.clear()


def fits():
    """How often each model was fitted."""
    return sorted(Counter(name for name, _, _ in FITS).values())


def test_each_is_judged_by_the_rule_of_its_own_scores():
    clf = PlugInClassifier(NOTED, GOAL, cv=FOLDS).fit(X, Y)
    assert fits() == [4, 4, 5]  # one a fold, and the model that is chosen on all rows
    *singles, mean = clf.choice_.tried
    scores = {
        name: cross_val_predict(model, X, Y, cv=FOLDS, method="predict_proba")[:, 1]
        for name, model in NOTED.items()
    }
    _, _, first, _, second = mean.name.split()
    scores[mean.name] = (scores[first] + scores[second]) / 2
    for one in (*singles, mean):
        found = solve(GOAL, scores[one.name], Y, on_infeasible="nearest").report
        assert one.value == found.objective.value
    assert {first, second} == {"bayes", "logistic"}
    chosen = next(one for one in clf.choice_.tried if one.name == clf.choice_.chosen)
    assert clf.goal_report_.objective.value == chosen.value
    alone = PlugInClassifier(NOTED[chosen.name], GOAL, cv=FOLDS).fit(X, Y)
    assert clf.rule_ == alone.rule_
    assert clf.goal_report_.entries == alone.goal_report_.entries
    np.testing.assert_array_equal(clf.predict_proba(X), alone.predict_proba(X))


def test_of_many_rows_a_sample_says_which_models_go_on(monkeypatch):
    monkeypatch.setattr("setpoint.plugin.fit.fitting._MANY", 600)
    monkeypatch.setattr("setpoint.plugin.fit.fitting._SAMPLE", 0.2)
    monkeypatch.setattr("setpoint.plugin.fit.fitting._FEWEST", 10)
    clf = PlugInClassifier(NOTED, GOAL).fit(X, Y)
    *behind, chosen = sorted(clf.choice_.tried, key=lambda one: one.folds)
    assert chosen.name == clf.choice_.chosen != "noise"
    assert {one.folds for one in behind} == {0}
    assert sorted(n for _, n, _ in FITS) == [120] * 3 + [480] * 5 + [600]
    assert len({name for name, n, _ in FITS if n > 120}) == 1
    words = "noise: behind on a sample of the rows, and not fitted on all."
    assert words in clf.choice_.lines()
    alone = PlugInClassifier(NOTED[chosen.name], GOAL).fit(X, Y)
    assert clf.goal_report_.entries == alone.goal_report_.entries
    monkeypatch.setattr("setpoint.plugin.fit.fitting._FEWEST", 300)  # too few of a class
    assert all(one.folds == 5 for one in PlugInClassifier(NOTED, GOAL).fit(X, Y).choice_.tried)


def test_a_mean_that_is_chosen(tmp_path):
    y, rows = np.where(Y == 1, "bad", "good"), pd.DataFrame(X, columns=list("abcd"))
    clf = PlugInClassifier(HALVES, "maximize f1", pos_label="bad").fit(rows, y)
    assert clf.choice_.chosen == "mean of left and right"
    assert clf.choice_.lines()[0].startswith("Chosen: mean of left and right. Of 3 models it does")
    parts = sum(clone(m).fit(rows, y).predict_proba(rows) for m in HALVES.values())
    np.testing.assert_allclose(clf.predict_proba(rows), parts / 2, rtol=1e-12)
    plain = np.array(["bad", "good"])[parts.argmax(axis=1)]
    np.testing.assert_array_equal(clf.estimator_.predict(rows), plain)
    save_model(clf, tmp_path / "m.skops")
    for copy in (load_model(tmp_path / "m.skops"), pickle.loads(pickle.dumps(clf))):
        np.testing.assert_array_equal(copy.predict(rows), clf.predict(rows))
        assert copy.choice_ == clf.choice_
    assert list(clf.feature_names_in_) == list("abcd")
    report = GoalReport.from_dict(clf.goal_report_.to_dict())
    assert report.section("models") == clf.choice_
    assert isinstance(report.section("models"), ModelChoice)


def test_time_that_is_too_short(clock):
    two = {name: NOTED[name] for name in ("bayes", "logistic")}
    BEFORE["GaussianNB"] = lambda: clock.sleep(0.02)
    with pytest.warns(StoppedWarning, match="simplest model alone was judged of 2 within 0.01"):
        clf = PlugInClassifier(two, GOAL, limits=SearchLimits(seconds=0.01)).fit(X, Y)
    assert clf.choice_.chosen == "bayes"
    assert "within 0.01 seconds" in clf.goal_report_.search.why
    assert "within 0.01 seconds" in str(clf.goal_report_)
    BEFORE.update(GaussianNB=int, LogisticRegression=lambda: clock.sleep(0.2))
    with pytest.warns(StoppedWarning, match="judged of 2 within 0.3 seconds"):
        clf = PlugInClassifier(two, GOAL, limits=SearchLimits(seconds=0.3)).fit(X, Y)
    assert [(one.name, one.folds) for one in clf.choice_.tried] == [("bayes", 5), ("logistic", 2)]
    assert "logistic: not judged: ended after" in "\n".join(clf.choice_.lines())
    assert clf.goal_report_.run.seconds > 0.2


def test_weights_reach_every_model():
    weight = np.where(np.arange(600) % 4, 1.0, 0.0)
    clf = PlugInClassifier(NOTED, GOAL, cv=3).fit(X, Y, sample_weight=weight)
    assert {n for _, _, n in FITS} == {400, 600}
    assert clf.goal_report_.counts.n_rows == 450
    in_pipeline = {"p": make_pipeline(StandardScaler(), NOTED["bayes"])}
    PlugInClassifier(in_pipeline, GOAL).fit(X, Y, sample_weight=weight)
    assert FITS[-1] == ("GaussianNB", 600, 600)


@pytest.mark.usefixtures("routing")
def test_splitters_by_groups_and_one_split_whose_model_stays():
    clf = PlugInClassifier(QUICK, GOAL, cv=GroupKFold(3))
    groups = np.arange(600) % 9
    clf.fit(X, Y, groups=groups, sample_weight=np.ones(600))
    assert clf.choice_.folds == 3
    with pytest.raises(TypeError, match="height"):
        clf.fit(X, Y, groups=groups, height=Y)
    clf = PlugInClassifier(NOTED, GOAL, cv=HoldOut(0.4), random_state=0).fit(X, Y)
    assert fits() == [1, 1, 1]
    assert (clf.goal_report_.counts.n_rows, clf.choice_.folds) == (240, 1)


def test_more_classes_hidden_groups_and_further_data_sets():
    y = Y + (X[:, 0] > 1.2)
    clf = PlugInClassifier(QUICK, "maximize recall.min()", cv=2, evidence="label").fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X) @ np.ones(3), 1.0)
    assert len(clf.choice_.tried) == 4
    plain = clone(clf).set_params(evidence="auto").fit(X, y)  # compared by labels all the same
    assert plain.choice_ == clf.choice_
    group = np.where(np.arange(600) % 3, "r", "s")
    goal = "maximize accuracy subject to recall.difference(g) <= 0.2"
    clf = PlugInClassifier(QUICK, goal, evidence="soft", decide_on=None, cv=2)
    clf.fit(X, Y, sensitive_features={"g": group})
    assert clf.scorer_ is not None
    assert clf.choice_.chosen in QUICK  # of group and class no mean is taken
    goal = "maximize recall subject to precision >= 0.6 and accuracy.on('easy') >= 0.5"
    sets = {"easy": (X[:50] + 2 * (2 * Y[:50, None] - 1), Y[:50])}
    clf = PlugInClassifier(QUICK, goal, cv=2).fit(X, Y, datasets=sets)
    assert clf.goal_report_.satisfied
    assert all(one.value is not None for one in clf.choice_.tried)


def test_candidates_are_named_and_have_probabilities():
    by_function = ModelResponse(method="decision_function")
    assert not hasattr(PlugInClassifier(QUICK, GOAL), "decision_function")
    with pytest.raises(InputError, match="`estimator` is a classifier, 'auto' or a dict"):
        PlugInClassifier("automatic", GOAL).fit(X, Y)
    with pytest.raises(InputError, match="compared by their probabilities"):
        PlugInClassifier("auto", GOAL, response=by_function).fit(X, Y)


def frame_of(n):
    r = np.random.default_rng(1)
    frame = pd.DataFrame(X[:n, :2], columns=["a", "b"])
    frame.loc[::7, "a"] = np.nan
    frame["whole"] = pd.array(np.where(np.arange(n) % 5, X[:n, 2].round(), np.nan), dtype="Int64")
    frame["flag"] = X[:n, 3] > 0
    frame["city"] = np.where(r.random(n) < 0.1, None, r.choice(["Bonn", "Kiel"], n))
    frame["kind"] = pd.Categorical(np.where(Y[:n] == r.integers(0, 2, n), "u", "v"))
    return frame, Y[:n]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_with_text_categories_and_gaps(package, tmp_path):
    frame, y = frame_of(200)
    new = frame.head(20).assign(city="Ulm")
    if package == "polars":
        polars = pytest.importorskip("polars")
        frame, new = polars.from_pandas(frame), polars.from_pandas(new)
    clf = PlugInClassifier("auto", GOAL, random_state=0, cv=2).fit(frame, y)
    names = [one.name for one in clf.choice_.tried]
    assert names[:3] == [one.name for one in candidates_of("auto", frame, 0)[0]]
    assert names[0] == "logistic"
    assert clf.predict(new).shape == (20,)
    assert clf.evaluate(frame, y).objective.value > 0.5
    if "lightgbm" not in clf.choice_.chosen:
        save_model(clf, tmp_path / "auto.skops")
        loaded = load_model(tmp_path / "auto.skops")
        np.testing.assert_array_equal(loaded.predict(new), clf.predict(new))


@pytest.mark.parametrize("package", [None, "lightgbm"])
def test_few_rounds_are_the_first_of_many(package, monkeypatch):
    if package:
        pytest.importorskip(package)
    monkeypatch.setattr("setpoint.judging.candidates.find_spec", lambda _: package)
    frame, y = frame_of(150)
    clf = PlugInClassifier("auto", "maximize f1", cv=HALVED, random_state=0)
    found = {one.name: one.value for one in clf.fit(frame, y).choice_.tried}
    for one in candidates_of("auto", frame, 0)[0]:
        P = cross_val_predict(one.model, frame, y, cv=HALVED, method="predict_proba")
        assert found[one.name] == solve("maximize f1", P[:, 1], y).report.objective.value


def test_arrays_with_gaps_and_sparse_matrices():
    gaps = np.where(X > 2, np.nan, X)
    for one in candidates_of("auto", gaps, 0)[0]:
        assert np.isfinite(clone(one.model).fit(gaps, Y).predict_proba(gaps)).all()
    thin = sparse.csr_matrix(X * (X > 0))
    clf = PlugInClassifier("auto", GOAL).fit(thin, Y)
    assert clf.choice_.tried[0].name == "logistic"
    if not find_spec("lightgbm"):
        assert "boosting of 30 rounds does not take a sparse" in clf.choice_.left_out[0]
    assert clf.predict(thin).shape == (600,)
