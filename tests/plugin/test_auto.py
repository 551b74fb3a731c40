"""estimator="auto": which model is chosen, by which numbers, and what the fit then holds."""

import pickle
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import setpoint
from setpoint import PlugInClassifier, load_model, save_model, solve
from setpoint.errors import GoalError, InputError, InputTypeError
from setpoint.judging import BOOSTING, ModelChoice, candidates_of
from setpoint.judging.candidates import LIGHTGBM
from setpoint.report import GoalReport
from setpoint.search import StoppedWarning, limits
from setpoint.solvers import ColumnGeneration, HoldOut, ModelResponse, SearchLimits

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
GOAL = "maximize recall subject to precision >= 0.6"
FITS = []


class Counted(ClassifierMixin, BaseEstimator):
    """A model that counts its fits and may sleep in them, by the clock of limits."""

    def __init__(self, model=None, name="", seconds=0.0):
        self.model = model
        self.name = name
        self.seconds = seconds

    def fit(self, X, y, sample_weight=None):
        FITS.append((self.name, len(X), None if sample_weight is None else len(sample_weight)))
        limits.time.sleep(self.seconds)
        self.model_ = clone(self.model).fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class Noise(ClassifierMixin, BaseEstimator):
    """A model that knows nothing."""

    def fit(self, X, y, sample_weight=None):
        FITS.append(("noise", len(X), None))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = np.random.default_rng(len(X)).random(len(X))
        return np.column_stack((1 - p, p))


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.35).astype(int)
    return rng.normal(size=(600, 4)) + 0.9 * y[:, None], y


def quick():
    """Candidates that are fitted in milliseconds."""
    return {
        "bayes": GaussianNB(),
        "logistic": LogisticRegression(),
        "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    }


@pytest.fixture
def counted():
    FITS.clear()
    return {
        "bayes": Counted(GaussianNB(), "bayes"),
        "noise": Noise(),
        "logistic": Counted(LogisticRegression(), "logistic"),
    }


FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)


def test_a_fit_a_fold_and_one_more(rows, counted):
    clf = PlugInClassifier(counted, GOAL).fit(*rows)
    fits = [name for name, _, _ in FITS]
    assert sorted(map(fits.count, ("bayes", "noise", "logistic"))) == [5, 5, 6]
    assert fits.count(clf.choice_.chosen) == 6


def test_of_many_rows_a_sample_says_which_models_go_on(rows, counted, monkeypatch):
    monkeypatch.setattr("setpoint.plugin.fit.fitting._MANY", 600)
    monkeypatch.setattr("setpoint.plugin.fit.fitting._SAMPLE", 0.2)
    monkeypatch.setattr("setpoint.plugin.fit.fitting._FEWEST", 10)
    clf = PlugInClassifier(counted, GOAL).fit(*rows)
    *behind, chosen = sorted(clf.choice_.tried, key=lambda one: one.folds)
    assert chosen.name == clf.choice_.chosen != "noise"
    assert {one.folds for one in behind} == {0}
    assert sorted(n for name, n, _ in FITS) == [120] * 3 + [480] * 5 + [600]
    assert all(name == chosen.name for name, n, _ in FITS if n > 120)
    words = "noise: behind on a sample of the rows, and not fitted on all."
    assert words in clf.choice_.lines()
    alone = PlugInClassifier(counted[chosen.name], GOAL).fit(*rows)
    assert clf.goal_report_.entries == alone.goal_report_.entries
    FITS.clear()
    monkeypatch.setattr("setpoint.plugin.fit.fitting._FEWEST", 300)  # too few of a class
    assert all(one.folds == 5 for one in PlugInClassifier(counted, GOAL).fit(*rows).choice_.tried)
    fits = [name for name, _, _ in FITS]
    assert sorted(map(fits.count, ("bayes", "noise", "logistic"))) == [5, 5, 6]


def test_each_is_judged_by_the_rule_of_its_own_scores(rows):
    X, y = rows
    clf = PlugInClassifier(quick(), GOAL, cv=FOLDS).fit(X, y)
    scores = {
        name: cross_val_predict(model, X, y, cv=FOLDS, method="predict_proba")[:, 1]
        for name, model in clf.estimator.items()
    }
    *singles, mean = clf.choice_.tried
    _, _, first, _, second = mean.name.split()
    scores[mean.name] = (scores[first] + scores[second]) / 2
    for one in (*singles, mean):
        assert one.value == solve(GOAL, scores[one.name], y).report.objective.value
    values = {one.name: one.value for one in singles}
    assert {first, second} == set(sorted(values, key=values.get)[1:])
    chosen = next(one for one in clf.choice_.tried if one.name == clf.choice_.chosen)
    assert clf.goal_report_.objective.value == chosen.value


def halves():
    """Two models that see two columns each."""
    left, right = (
        make_pipeline(ColumnTransformer([("own", "passthrough", k)]), LogisticRegression())
        for k in ([0, 1], [2, 3])
    )
    return {"left": left, "right": right}


@pytest.mark.parametrize("named", [False, True])
def test_a_mean_that_is_chosen(rows, tmp_path, named):
    X, y = rows
    y = np.where(y == 1, "bad", "good")
    X = pd.DataFrame(X, columns=list("abcd")) if named else X
    clf = PlugInClassifier(halves(), "maximize f1", pos_label="bad").fit(X, y)
    assert clf.choice_.chosen == "mean of left and right"
    assert clf.choice_.lines()[0].startswith("Chosen: mean of left and right. Of 3 models it does")
    parts = [clone(m).fit(X, y).predict_proba(X) for m in halves().values()]
    np.testing.assert_allclose(clf.predict_proba(X), sum(parts) / 2, rtol=1e-12)
    plain = np.array(["bad", "good"])[sum(parts).argmax(axis=1)]
    np.testing.assert_array_equal(clf.estimator_.predict(X), plain)
    save_model(clf, tmp_path / "m.skops")
    for copy in (load_model(tmp_path / "m.skops"), pickle.loads(pickle.dumps(clf))):
        np.testing.assert_array_equal(copy.predict(X), clf.predict(X))
    assert list(getattr(clf, "feature_names_in_", [])) == (list("abcd") if named else [])


def test_the_rule_is_that_of_the_model_alone(rows):
    auto = PlugInClassifier(quick(), GOAL).fit(*rows)
    alone = PlugInClassifier(auto.estimator[auto.choice_.chosen], GOAL).fit(*rows)
    assert auto.rule_ == alone.rule_
    assert auto.goal_report_.entries == alone.goal_report_.entries
    np.testing.assert_array_equal(auto.predict_proba(rows[0]), alone.predict_proba(rows[0]))


def test_order_and_processes_do_not_matter(rows):
    X, y = rows
    fold = np.arange(len(y)) % 5
    order = np.random.default_rng(1).permutation(len(y))

    def splits(fold):
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(5)]

    first = PlugInClassifier(quick(), GOAL, cv=splits(fold)).fit(X, y)
    other = PlugInClassifier(quick(), GOAL, cv=splits(fold[order])).fit(X[order], y[order])
    both = PlugInClassifier(quick(), GOAL, cv=splits(fold), n_jobs=2).fit(X, y)
    assert first.choice_ == both.choice_
    assert first.choice_.chosen == other.choice_.chosen
    values = [[one.value for one in c.choice_.tried] for c in (first, other)]
    np.testing.assert_allclose(*values, rtol=0, atol=1e-12)


def test_more_classes(rows):
    X, y = rows
    y = y + (X[:, 0] > 1.2)
    clf = PlugInClassifier(quick(), "maximize recall.min()").fit(X, y)
    P = clf.predict_proba(X)
    assert P.shape == (600, 3)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert len(clf.choice_.tried) == 4


def frame_of(rows, n=300):
    X, y = rows[0][:n], rows[1][:n]
    r = np.random.default_rng(1)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame.loc[::7, "a"] = np.nan
    frame["whole"] = pd.array(np.where(np.arange(n) % 5, X[:, 2].round(), np.nan), dtype="Int64")
    frame["flag"] = X[:, 3] > 0
    frame["city"] = np.where(r.random(n) < 0.1, None, r.choice(["Bonn", "Kiel"], n))
    frame["kind"] = pd.Categorical(np.where(y == r.integers(0, 2, n), "u", "v"))
    return frame, y


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_with_text_categories_and_gaps(rows, package):
    frame, y = frame_of(rows)
    new = frame.head(20).assign(city="Ulm")
    if package == "polars":
        polars = pytest.importorskip("polars")
        frame, new = polars.from_pandas(frame), polars.from_pandas(new)
    clf = PlugInClassifier("auto", GOAL, random_state=0, cv=3).fit(frame, y)
    names = [one.name for one in clf.choice_.tried]
    kinds = LIGHTGBM if find_spec("lightgbm") else BOOSTING
    assert names[:3] == ["logistic", *(kind.name for kind in kinds)]
    assert clf.predict(new).shape == (20,)
    assert clf.evaluate(frame, y).objective.value > 0.5
    again = clone(clf).fit(frame, y)
    assert again.choice_ == clf.choice_
    assert again.rule_ == clf.rule_


def test_each_model_of_the_table_takes_such_frames(rows):
    frame, y = frame_of(rows, 200)
    for one in candidates_of("auto", frame, 0)[0]:
        P = clone(one.model).fit(frame, y).predict_proba(frame)
        assert np.isfinite(P).all(), one.name
    gaps = np.where(rows[0] > 2, np.nan, rows[0])
    for one in candidates_of("auto", gaps, 0)[0]:
        assert np.isfinite(clone(one.model).fit(gaps, rows[1]).predict_proba(gaps)).all()


@pytest.mark.parametrize("kinds", [BOOSTING, LIGHTGBM])
def test_few_rounds_are_the_first_of_many(rows, kinds, monkeypatch):
    if kinds is LIGHTGBM:
        pytest.importorskip("lightgbm")
    monkeypatch.setattr("setpoint.judging.candidates.LIGHTGBM", kinds)
    monkeypatch.setattr("setpoint.judging.candidates.find_spec", lambda _: True)
    frame, y = frame_of(rows)
    clf = PlugInClassifier("auto", "maximize f1", cv=FOLDS, random_state=0)
    found = {one.name: one.value for one in clf.fit(frame, y).choice_.tried}
    for one in candidates_of("auto", frame, 0)[0]:
        P = cross_val_predict(one.model, frame, y, cv=FOLDS, method="predict_proba")
        assert found[one.name] == solve("maximize f1", P[:, 1], y).report.objective.value


def test_a_sparse_matrix(rows):
    X = sparse.csr_matrix(rows[0] * (rows[0] > 0))
    clf = PlugInClassifier("auto", GOAL).fit(X, rows[1])
    assert clf.choice_.tried[0].name == "logistic"
    if not find_spec("lightgbm"):
        assert "boosting of 30 rounds does not take a sparse" in clf.choice_.left_out[0]
    assert clf.predict(X).shape == (600,)


def test_weights_reach_every_model(rows, counted):
    X, y = rows
    weight = np.where(np.arange(len(y)) % 4, 1.0, 0.0)
    clf = PlugInClassifier(counted, GOAL, cv=3).fit(X, y, sample_weight=weight)
    assert {n for name, _, n in FITS if name != "noise"} <= {200, 400, 600}
    plain = PlugInClassifier(quick(), GOAL).fit(X, y)
    ones = PlugInClassifier(quick(), GOAL).fit(X, y, sample_weight=np.ones(len(y)))
    assert plain.choice_ == ones.choice_
    deaf = {"deaf": make_pipeline(StandardScaler(), KNeighborsClassifier())}
    with pytest.raises(InputError, match="candidate 'deaf' takes none, and weights are never"):
        PlugInClassifier(deaf, GOAL).fit(X, y, sample_weight=weight)
    in_pipeline = {"p": make_pipeline(StandardScaler(), Counted(GaussianNB(), "in"))}
    PlugInClassifier(in_pipeline, GOAL).fit(X, y, sample_weight=weight)
    assert FITS[-1] == ("in", 600, 600)
    assert clf.goal_report_.counts.n_rows == 450


@pytest.mark.usefixtures("routing")
def test_groups_go_to_the_splitter(rows):
    X, y = rows
    clf = PlugInClassifier(quick(), GOAL, cv=GroupKFold(3))
    clf.fit(X, y, groups=np.arange(len(y)) % 9, sample_weight=np.ones(len(y)))
    assert clf.choice_.folds == 3
    with pytest.raises(TypeError, match="height"):
        clf.fit(X, y, groups=np.arange(len(y)) % 9, height=y)


def test_one_split_whose_model_stays(rows, counted):
    clf = PlugInClassifier(counted, GOAL, cv=HoldOut(0.4), random_state=0).fit(*rows)
    assert sorted(name for name, _, _ in FITS) == ["bayes", "logistic", "noise"]
    assert clf.goal_report_.counts.n_rows == 240
    assert clf.choice_.folds == 1


def test_time_that_is_too_short(rows, clock):
    slow = {
        "slow": Counted(GaussianNB(), "slow", 0.02),
        "next": Counted(LogisticRegression(), "next"),
    }
    with pytest.warns(StoppedWarning, match="simplest model alone was judged of 2 within 0.01"):
        clf = PlugInClassifier(slow, GOAL, limits=SearchLimits(seconds=0.01)).fit(*rows)
    assert clf.choice_.chosen.startswith("slow")
    assert "within 0.01 seconds" in clf.goal_report_.search.why
    assert "within 0.01 seconds" in str(clf.goal_report_)
    slow = {"a": GaussianNB(), "b": Counted(GaussianNB(), "b", 0.2)}
    with pytest.warns(StoppedWarning, match="judged of 2 within 0.3 seconds"):
        clf = PlugInClassifier(slow, GOAL, limits=SearchLimits(seconds=0.3)).fit(*rows)
    assert next((one.name, one.folds) for one in clf.choice_.tried) == ("a", 5)
    assert clf.choice_.tried[1].folds < 5
    assert "b: not judged: ended after" in "\n".join(clf.choice_.lines())
    assert clf.goal_report_.run.seconds > 0.2


def test_groups_that_the_rule_may_not_see(rows):
    X, y = rows
    group = np.where(np.arange(len(y)) % 3, "r", "s")
    goal = "maximize accuracy subject to recall.difference(g) <= 0.2"
    clf = PlugInClassifier(quick(), goal, evidence="soft", decide_on=None)
    clf.fit(X, y, sensitive_features={"g": group})
    assert clf.scorer_ is not None
    assert clf.choice_.chosen in ("bayes", "logistic", "tree")


def test_a_goal_over_further_data_sets(rows):
    X, y = rows
    goal = "maximize recall subject to precision >= 0.6 and accuracy.on('easy') >= 0.5"
    sets = {"easy": (X[:50] + 2 * (2 * y[:50, None] - 1), y[:50])}
    clf = PlugInClassifier(quick(), goal).fit(X, y, datasets=sets)
    assert clf.goal_report_.satisfied
    assert all(one.value is not None for one in clf.choice_.tried)


def test_files_and_copies(rows, tmp_path):
    goal = "maximize recall subject to precision >= 0.85"
    clf = PlugInClassifier("auto", goal, random_state=0, cv=3, pos_label=0).fit(*rows)
    path = tmp_path / "auto.skops"
    own = "lightgbm" not in clf.choice_.chosen
    save_model(clf, path)
    if own:
        loaded = load_model(path)
        assert loaded.choice_ == clf.choice_
        np.testing.assert_array_equal(loaded.predict(rows[0]), clf.predict(rows[0]))
    report = GoalReport.from_dict(clf.goal_report_.to_dict())
    assert report.section("models") == clf.choice_
    assert isinstance(report.section("models"), ModelChoice)
    models = quick()
    given = PlugInClassifier(models, GOAL)
    assert given.get_params()["estimator"] is given.estimator is models
    copy = clone(given).set_params(estimator=halves())
    assert list(clone(copy).estimator) == ["left", "right"]
    assert hasattr(given, "predict_proba")
    assert not hasattr(given, "decision_function")


@pytest.mark.parametrize(
    ("estimator", "options", "error", "message"),
    [
        ("automatic", {}, InputError, "`estimator` is a classifier, 'auto' or a dict"),
        ("auto", {"cv": "prefit"}, InputError, "`cv='prefit'`: the model is fitted already"),
        (
            "auto",
            {"response": ModelResponse(calibrate="isotonic")},
            InputError,
            "calibrate a candidate",
        ),
        (
            "auto",
            {"response": ModelResponse(method="decision_function")},
            InputError,
            "compared by their probabilities",
        ),
        ("auto", {"goal": "f1", "solver": "post-shift"}, GoalError, "this is post-shift: name"),
        (
            "auto",
            {"solver": ColumnGeneration(oracle=LogisticRegression())},
            GoalError,
            "name a model",
        ),
        ({"svm": LinearSVC()}, {}, InputError, "'svm' has no predict_proba"),
    ],
)
def test_what_does_not_go_together(rows, estimator, options, error, message):
    goal = options.pop("goal", GOAL) if "goal" in options else GOAL
    with pytest.raises(error, match=message):
        PlugInClassifier(estimator, goal, **options).fit(*rows)


def test_other_bad_input(rows):
    X, y = rows
    metric = setpoint.BlackBox(lambda true, scores: 1.0, takes="scores")
    with pytest.raises(GoalError, match="name a model"):
        PlugInClassifier("auto", metric).fit(X, y)
    dates = pd.DataFrame({"x": X[:, 0], "day": pd.Timestamp("2024-01-01")})
    with pytest.raises(InputError, match="columns 'day' hold something else, such as Datetime"):
        PlugInClassifier("auto", GOAL).fit(dates, y)
    overlapping = [(np.arange(300), np.arange(300, 600)), (np.arange(300), np.arange(250, 600))]
    with pytest.raises(InputError, match="two splits leave out row 300"):
        PlugInClassifier("auto", GOAL, cv=overlapping).fit(X, y)
    for bad in (7, LogisticRegression):
        with pytest.raises(InputTypeError, match="is not a classifier"):
            PlugInClassifier({"x": bad}, GOAL).fit(X, y)
    with pytest.raises(InputError, match="holds at least one model"):
        PlugInClassifier({}, GOAL).fit(X, y)
