"""estimator="auto": which model is chosen, by which numbers, and what the fit then holds."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import setpoint
from setpoint import GoalSearchCV, PlugInClassifier, describe_model, load_model, save_model
from setpoint.errors import InputError, InputTypeError
from setpoint.goals.errors import GoalError
from setpoint.inputs.classes import classes_of
from setpoint.plugin.auto.calibrated import calibrated_in_parts, curves_of, mean_of
from setpoint.plugin.auto.candidates import candidates_of
from setpoint.plugin.auto.choice import ModelChoice
from setpoint.report import GoalReport
from setpoint.search import limits
from setpoint.search.limits import StoppedWarning
from setpoint.solvers import AutoModel, ColumnGeneration, HoldOut, ModelResponse

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


def quick(**more):
    """Candidates that are fitted in milliseconds."""
    return AutoModel(
        {
            "bayes": GaussianNB(),
            "logistic": LogisticRegression(),
            "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
        },
        **more,
    )


@pytest.fixture
def counted():
    FITS.clear()
    return AutoModel(
        {
            "bayes": Counted(GaussianNB(), "bayes"),
            "noise": Noise(),
            "logistic": Counted(LogisticRegression(), "logistic"),
        }
    )


def test_a_fit_a_fold_and_one_more(rows, counted):
    without = AutoModel(counted.candidates, calibrated=False)
    clf = PlugInClassifier(without, GOAL).fit(*rows)
    fits = [name for name, _, _ in FITS]
    assert fits.count("noise") == 2  # clearly worse by then
    assert sorted((fits.count("bayes"), fits.count("logistic"))) == [5, 6]
    assert fits.count(clf.choice_.chosen) == 6
    noise = next(one for one in clf.choice_.tried if one.name == "noise")
    assert (noise.folds, noise.value) == (2, None)
    assert "noise: clearly worse after 2 of 5 folds" in "\n".join(clf.choice_.lines())


def test_the_numbers_are_those_of_a_goal_search(rows):
    auto = PlugInClassifier(quick(calibrated=False), GOAL).fit(*rows)
    search = GoalSearchCV(dict(auto.estimator.candidates), goal=GOAL, refit=False).fit(*rows)
    found = {one.name: one for one in search.search_.candidates}
    assert [one.name for one in auto.choice_.tried] == list(found)
    for one in auto.choice_.tried:
        if one.value is not None:
            assert one.value == found[one.name].report.objective.value
            assert one.tied == (one.name in search.search_.ties)


def test_the_rule_is_that_of_the_model_alone(rows):
    auto = PlugInClassifier(quick(calibrated=False), GOAL).fit(*rows)
    alone = PlugInClassifier(auto.estimator.candidates[auto.choice_.chosen], GOAL).fit(*rows)
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


def test_the_parts_of_a_single_split_calibrate_each_other(rows):
    X, y = rows
    raw = cross_val_predict(GaussianNB(), X, y, cv=5, method="predict_proba")[:, 1]
    part = np.arange(len(y)) % 5
    found = calibrated_in_parts(raw, part, y, None)
    for k in range(5):
        own = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        own.fit(raw[part != k], y[part != k])
        np.testing.assert_array_equal(found[part == k], own.predict(raw[part == k]))


@pytest.mark.parametrize("positive", [0, 1])
def test_a_calibrated_model_says_what_its_curves_say(rows, positive):
    X, y = rows
    models = [GaussianNB().fit(X[k::2], y[k::2]) for k in (0, 1)]
    scores = [model.predict_proba(X)[:, positive] for model in models]
    order = classes_of(y, None, positive)
    curves = [curves_of(own, (y == positive).astype(int), None) for own in scores]
    made = mean_of(models, curves, order)
    P = made.predict_proba(X)
    mean = (curves[0][0].predict(scores[0]) + curves[1][0].predict(scores[1])) / 2
    np.testing.assert_allclose(P[:, positive], mean, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert made.predict(X).tolist() == P.argmax(axis=1).tolist()
    assert made.n_features_in_ == 4


class Squeezed(GaussianNB):
    """Probabilities that rank well and are far too low."""

    def predict_proba(self, X):
        high = super().predict_proba(X)[:, 1] ** 4
        return np.column_stack((1 - high, high))


SOFT = {"evidence": "soft", "solver": "column-generation"}
COST = "minimize cost({(0, 1): 1, (1, 0): 2})"


def test_a_calibrated_model_that_is_chosen(rows):
    X, y = rows
    clf = PlugInClassifier(AutoModel({"bayes": Squeezed()}), COST, **SOFT).fit(X, y)
    assert clf.choice_.chosen == "bayes, calibrated"
    plain, calibrated = clf.choice_.tried
    assert calibrated.value < plain.value
    assert clf.estimator_.n_features_in_ == 4
    theirs = CalibratedClassifierCV(Squeezed(), method="isotonic", cv=5).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-6)
    copy = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copy.predict(X), clf.predict(X))
    assert clf.choice_.lines()[0].startswith("Chosen: bayes, calibrated. Of 2 models it does best")


def test_more_classes(rows):
    X, y = rows
    y = y + (X[:, 0] > 1.2)
    clf = PlugInClassifier(quick(), "maximize recall.min()").fit(X, y)
    P = clf.predict_proba(X)
    assert P.shape == (600, 3)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert len(clf.choice_.tried) == 6


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
    assert {"logistic", "boosting at 0.1", "boosting at 0.03"} <= set(names)
    assert clf.predict(new).shape == (20,)
    assert clf.evaluate(frame, y).objective.value > 0.5
    again = clone(clf).fit(frame, y)
    assert again.choice_ == clf.choice_
    assert again.rule_ == clf.rule_


def test_each_model_of_the_table_takes_such_frames(rows):
    frame, y = frame_of(rows, 200)
    for one in candidates_of(AutoModel(), frame, 0)[0]:
        P = clone(one.model).fit(frame, y).predict_proba(frame)
        assert np.isfinite(P).all(), one.name
    gaps = np.where(rows[0] > 2, np.nan, rows[0])
    for one in candidates_of(AutoModel(), gaps, 0)[0]:
        assert np.isfinite(clone(one.model).fit(gaps, rows[1]).predict_proba(gaps)).all()


def test_a_sparse_matrix(rows):
    X = sparse.csr_matrix(rows[0] * (rows[0] > 0))
    clf = PlugInClassifier("auto", GOAL).fit(X, rows[1])
    assert clf.choice_.tried[0].name == "logistic"
    assert "boosting at 0.1 does not take a sparse matrix" in clf.choice_.left_out
    assert clf.predict(X).shape == (600,)


def test_weights_reach_every_model(rows, counted):
    X, y = rows
    weight = np.where(np.arange(len(y)) % 4, 1.0, 0.0)
    clf = PlugInClassifier(counted, GOAL, cv=3).fit(X, y, sample_weight=weight)
    assert {n for name, _, n in FITS if name != "noise"} <= {200, 400, 600}
    plain = PlugInClassifier(quick(), GOAL).fit(X, y)
    ones = PlugInClassifier(quick(), GOAL).fit(X, y, sample_weight=np.ones(len(y)))
    assert plain.choice_ == ones.choice_
    deaf = AutoModel({"deaf": make_pipeline(StandardScaler(), KNeighborsClassifier())})
    with pytest.raises(InputError, match="candidate 'deaf' takes none, and weights are never"):
        PlugInClassifier(deaf, GOAL).fit(X, y, sample_weight=weight)
    in_pipeline = AutoModel({"p": make_pipeline(StandardScaler(), Counted(GaussianNB(), "in"))})
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
    slow = AutoModel(
        {
            "slow": Counted(GaussianNB(), "slow", 0.02),
            "next": Counted(LogisticRegression(), "next"),
        },
        seconds=0.01,
    )
    with pytest.warns(StoppedWarning, match="simplest model alone was judged of 2 within 0.01"):
        clf = PlugInClassifier(slow, GOAL).fit(*rows)
    assert clf.choice_.chosen.startswith("slow")
    assert "within 0.01 seconds" in clf.goal_report_.search.why
    assert "within 0.01 seconds" in str(clf.goal_report_)
    slow = AutoModel(
        {"a": GaussianNB(), "b": Counted(GaussianNB(), "b", 0.2)}, seconds=0.3, calibrated=False
    )
    with pytest.warns(StoppedWarning, match="judged of 2 within 0.3 seconds"):
        clf = PlugInClassifier(slow, GOAL).fit(*rows)
    assert next((one.name, one.folds) for one in clf.choice_.tried) == ("a", 5)
    assert clf.choice_.tried[1].folds < 5
    assert "b: not judged: ended after" in "\n".join(clf.choice_.lines())
    assert clf.goal_report_.run.seconds > 0.2


def test_rows_that_are_too_few_to_compare():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = pd.DataFrame({"x": rng.normal(size=40) + y, "g": np.where(np.arange(40) < 3, "r", "s")})
    fold = np.where(np.arange(40) < 3, 0, np.arange(40) % 3)
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    goal = "maximize accuracy subject to recall.on(g='r') >= 0.1"
    with pytest.warns(UserWarning, match="the rows are too few to compare models") as caught:
        clf = PlugInClassifier("auto", goal, cv=splits, decide_on=None, sensitive_features="g").fit(
            X, y
        )
    assert any("the simplest is taken" in str(w.message) for w in caught)
    assert clf.choice_.chosen == "logistic"
    assert "too few to compare" in clf.goal_report_.search.why


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
    assert describe_model(path).chosen == clf.choice_.chosen
    if own:
        loaded = load_model(path)
        assert loaded.choice_ == clf.choice_
        np.testing.assert_array_equal(loaded.predict(rows[0]), clf.predict(rows[0]))
    report = GoalReport.from_dict(clf.goal_report_.to_dict())
    assert report.section("models") == clf.choice_
    assert isinstance(report.section("models"), ModelChoice)
    given = PlugInClassifier(AutoModel(seconds=5), GOAL).set_params(estimator__seconds=60)
    assert given.estimator.seconds == 60
    assert clone(given).get_params()["estimator__seconds"] == 60
    assert hasattr(given, "predict_proba")
    assert not hasattr(given, "decision_function")


def test_a_calibrated_model_in_a_file(rows, tmp_path):
    X, y = rows
    X = np.column_stack((X[:, :1], np.exp(X[:, 1:])))  # bayes is misled by what is not normal
    clf = PlugInClassifier(AutoModel({"bayes": GaussianNB()}), COST, **SOFT).fit(X, y)
    assert clf.choice_.chosen == "bayes, calibrated"
    save_model(clf, tmp_path / "m.skops")
    assert describe_model(tmp_path / "m.skops").chosen == "bayes, calibrated"
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))


@pytest.mark.parametrize(
    ("estimator", "options", "error", "message"),
    [
        ("automatic", {}, InputError, "`estimator` is a classifier, 'auto' or AutoModel"),
        ("auto", {"cv": "prefit"}, InputError, "`cv='prefit'`: the model is fitted already"),
        (
            "auto",
            {"response": ModelResponse(calibrate="isotonic")},
            InputError,
            "tries isotonic calibration by itself",
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
        (AutoModel({"svm": LinearSVC()}), {}, InputError, "'svm' has no predict_proba"),
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
    with pytest.raises(InputError, match="lies elsewhere: name a model"):
        PlugInClassifier("auto", GOAL).fit("rows.parquet", "y")
    for bad in (AutoModel, LogisticRegression):
        with pytest.raises(InputTypeError, match="is not a classifier"):
            AutoModel({"x": bad})
    with pytest.raises(InputTypeError, match="mapping of names"):
        AutoModel(["logistic"])
