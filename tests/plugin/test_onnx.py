"""A graph decides as ``predict`` does, to the last of 10,000 rows; what it cannot do is refused."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from setpoint import PlugInClassifier
from setpoint.goals.populations import Other
from setpoint.rules import Argmax, Mixture, PerSegment, Threshold, ValueAware
from setpoint.solvers import ModelResponse

pytest.importorskip("skl2onnx", reason="needs skl2onnx, of the extra onnx")
pytest.importorskip("onnxruntime", reason="needs onnxruntime, of the extra onnx")

from setpoint.plugin.onnx import (
    ExportError,
    different_rows,
    draws_for,
    register,
    to_onnx,
)

TRAIN, NEW = 3_000, 10_000
RECALL = "maximize recall subject to precision >= 0.7"
WORST = "maximize accuracy subject to recall.min() >= 0.4"
FAIR = "maximize accuracy subject to recall.difference(g) <= 0.02"


def rows(classes=2, labels=None, seed=0):
    X, y = make_classification(
        TRAIN + NEW, 8, n_informative=6, n_classes=classes, flip_y=0.2, random_state=seed
    )
    return X, y if labels is None else np.array(labels)[y]


def frame(groups=(0, 1, 2), seed=0):
    X, y = rows(seed=seed)
    out = pd.DataFrame(X, columns=[f"x{i}" for i in range(8)])
    out["g"] = np.array(groups)[np.random.default_rng(seed).integers(0, len(groups), len(X))]
    return out, y


def fitted(X, y, model, goal=RECALL, **options):
    return PlugInClassifier(model, goal, cv=3, **options).fit(X[:TRAIN], y[:TRAIN])


def agrees(model, X, **options):
    """Every decision of 10,000 rows that no fit saw."""
    assert len(X[TRAIN:]) == NEW
    found = different_rows(to_onnx(model, X[:TRAIN], **options), model, X[TRAIN:])
    assert found.tolist() == []


def run(graph, X, **more):
    import onnxruntime

    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": X, **more})


MODELS = {
    "logistic": LogisticRegression(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "bayes": GaussianNB(),
    "network": MLPClassifier((8,), max_iter=30, random_state=0),
    "calibrated": CalibratedClassifierCV(LogisticRegression(), cv=2),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "forest": RandomForestClassifier(30, random_state=0),
    "scaled forest": make_pipeline(StandardScaler(), RandomForestClassifier(30, random_state=0)),
    "extra trees": ExtraTreesClassifier(20, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=30, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=30, random_state=0),
    "nested": make_pipeline(
        make_pipeline(StandardScaler(), "passthrough"), make_pipeline(LogisticRegression())
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # 30 steps will do
@pytest.mark.parametrize("name", MODELS)
def test_two_classes(name):
    X, y = rows()
    agrees(fitted(X, y, MODELS[name]), X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_three_classes(name):
    X, y = rows(3)
    agrees(fitted(X, y, MODELS[name], WORST), X)


@pytest.mark.parametrize("positive", ["no", "yes"])
def test_text_labels_and_a_positive_class_that_is_first(positive):
    X, y = rows(labels=["no", "yes"])
    clf = fitted(X, y, LogisticRegression(), pos_label=positive)
    agrees(clf, X)
    label, probabilities = run(to_onnx(clf, X), X[:20])
    assert label.tolist() == clf.predict(X[:20]).tolist()
    assert probabilities == pytest.approx(clf.predict_proba(X[:20]), abs=1e-12)


def test_text_labels_of_three_classes():
    X, y = rows(3, labels=["a", "b", "c"])
    agrees(fitted(X, y, LogisticRegression(), WORST), X)


def test_boolean_and_whole_labels():
    X, y = rows()
    agrees(fitted(X, y.astype(bool), LogisticRegression()), X)
    agrees(fitted(X, y + 2.0, LogisticRegression()), X)


def test_in_a_pipeline():
    X, y = rows()
    model = make_pipeline(StandardScaler(), PlugInClassifier(LogisticRegression(), RECALL, cv=3))
    agrees(model.fit(X[:TRAIN], y[:TRAIN]), X)


def test_by_skl2onnx_alone():
    import skl2onnx

    register()
    register()
    X, y = rows()
    clf = fitted(X, y, LogisticRegression())
    graph = skl2onnx.to_onnx(clf, X[:1], options={"zipmap": False})
    assert different_rows(graph, clf, X[TRAIN:]).tolist() == []
    single = X.astype(np.float32)  # onnxruntime has no maps of float64
    label, maps = run(skl2onnx.to_onnx(clf, single[:1]), single[:5])
    assert label.tolist() == clf.predict(X[:5]).tolist()
    assert [set(row) for row in maps] == [{0, 1}] * 5


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        SGDClassifier(random_state=0),
        GradientBoostingClassifier(n_estimators=20, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_rules_over_a_decision_function(model, positive):
    X, y = rows()
    response = ModelResponse(method="decision_function")
    clf = fitted(X, y, model, "f1", pos_label=positive, response=response)
    agrees(clf, X)


@pytest.mark.parametrize("groups", [(0, 1, 2), ("a", "b", "c"), (0.5, 1.5), (False, True)], ids=str)
def test_a_threshold_for_each_group(groups):
    X, y = frame(groups)
    columns = make_column_transformer(
        (OneHotEncoder(), ["g"]), (StandardScaler(), [f"x{i}" for i in range(8)])
    )
    text = isinstance(groups[0], str)
    model = make_pipeline(columns, LogisticRegression()) if text else LogisticRegression()
    clf = fitted(X, y, model, FAIR, sensitive_features="g")
    assert len(clf.rule_.segments) == len(groups)
    agrees(clf, X)


def test_a_group_in_a_matrix_is_found_by_its_place():
    X, y = frame()
    clf = fitted(X, y, LogisticRegression(), FAIR, sensitive_features="g")
    matrix = X.to_numpy(float)
    graph = to_onnx(clf, matrix)
    assert run(graph, matrix[TRAIN:])[0].tolist() == clf.predict(X[TRAIN:]).tolist()


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")  # six groups of 3,000 rows
def test_groups_in_two_columns():
    X, y = frame()
    X["h"] = np.random.default_rng(1).integers(0, 2, len(X))
    goal = "maximize accuracy subject to recall.difference(g, h) <= 0.1"
    clf = fitted(X, y, LogisticRegression(), goal, sensitive_features=["g", "h"])
    assert len(clf.rule_.segments) == 6
    agrees(clf, X)
    segments = [(("g", g), ("h", h)) for g in (0, Other((0,))) for h in (0, 1)]
    clf.rule_ = PerSegment([Threshold(t) for t in (0.2, 0.4, 0.6, 0.8)], segments)
    agrees(clf, X)


def test_a_group_that_fit_did_not_see_fails_when_the_graph_runs():
    from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

    X, y = frame()
    clf = fitted(X, y, LogisticRegression(), FAIR, sensitive_features="g")
    graph, new = to_onnx(clf, X.to_numpy(float)), X[:50].to_numpy(float)
    for value in (7.0, np.nan):
        new[3, -1] = value
        with pytest.raises(InvalidArgument, match=r"out of (data )?bounds"):
            run(graph, new)


def test_a_group_that_fit_did_not_see_by_the_rule_of_the_largest():
    X, y = frame()
    response = ModelResponse(unknown_group="largest")
    clf = fitted(X, y, LogisticRegression(), FAIR, sensitive_features="g", response=response)
    X["g"] = 7
    with warnings.catch_warnings(action="ignore"):
        agrees(clf, X)


LOW, HIGH = Threshold(0.4), Threshold(0.6)
MIXED = Mixture([(0.3, LOW), (0.7, HIGH)])
SOFT = Threshold(0.5, width=0.3)
BY_G = [(("g", 0),), (("g", 1),), (("g", 2),)]
ARGMAX = [
    Argmax.weighted([1, 2, 1]),
    Argmax([[1, 0.2, 0], [0.3, 1, 0], [0, 0.1, 1]], [0.0, 0.1, -0.1]),
    Argmax.weighted([1, 1, 3], [0.1, 0, 0]),
]
BINARY = {
    "everyone": Threshold(-np.inf),
    "nobody": Threshold(np.inf),
    "soft": SOFT,
    "mixture": MIXED,
    "mixed groups": PerSegment([MIXED, SOFT, HIGH], BY_G),
    "mixture of groups": Mixture(
        [(0.25, PerSegment([LOW, HIGH, MIXED], BY_G)), (0.75, PerSegment([HIGH, SOFT, LOW], BY_G))]
    ),
}
MANY = {
    "matrix": ARGMAX[1],
    "by top": PerSegment(ARGMAX, by="top"),
    "groups": PerSegment(ARGMAX, BY_G),
    "mixture": Mixture([(0.2, ARGMAX[0]), (0.5, ARGMAX[1]), (0.3, ARGMAX[2])]),
    "groups by top": PerSegment([PerSegment(ARGMAX, by="top"), *ARGMAX[:2]], BY_G),
    "mixture of mixed groups": Mixture(
        [
            (0.4, PerSegment([Mixture([(0.5, ARGMAX[0]), (0.5, ARGMAX[2])]), *ARGMAX[:2]], BY_G)),
            (0.6, PerSegment(ARGMAX, BY_G)),
        ]
    ),
}


@pytest.fixture(scope="module")
def with_groups():
    """Classifiers of two and of three classes whose rule may look at a group."""
    out = {}
    for classes in (2, 3):
        X, y = frame()
        y = rows(classes)[1]
        goal = "maximize accuracy subject to predicted_rate(label=1).difference(g) <= 0.5"
        out[classes] = X, fitted(X, y, LogisticRegression(), goal, sensitive_features="g")
    return out


@pytest.mark.parametrize(
    ("classes", "rule"),
    [
        pytest.param(n, rule, id=f"{n} {name}")
        for n, rules in ((2, BINARY), (3, MANY))
        for name, rule in rules.items()
    ],
)
def test_every_kind_of_rule(with_groups, classes, rule):
    X, clf = with_groups[classes]
    before = clf.rule_
    try:
        clf.rule_ = rule
        agrees(clf, X, draws="u" if rule.randomized else None)
    finally:
        clf.rule_ = before


def test_a_rule_that_looks_at_values_has_no_form(with_groups):
    X, clf = with_groups[2]
    before = clf.rule_
    value = ValueAware(["amount"], Argmax(np.eye(4)[:, :2]))
    try:
        clf.rule_ = PerSegment([value, value, Mixture([(1.0, value)])], BY_G)
        with pytest.raises(ValueError, match=r"columns \['amount'\] beside the scores"):
            to_onnx(clf, X)
    finally:
        clf.rule_ = before


def test_draws_are_those_of_predict():
    X, y = rows()
    clf = fitted(X, y, LogisticRegression())
    clf.rule_ = MIXED
    label, probabilities = run(to_onnx(clf, X, draws="u"), X, u=draws_for(clf, X))
    assert label.tolist() == clf.predict(X).tolist()
    clf.response = "rule"
    probabilities = run(to_onnx(clf, X, draws="u"), X, u=draws_for(clf, X))[1]
    assert probabilities == pytest.approx(clf.predict_proba(X), abs=1e-15)
    clf.draw = "random"
    with pytest.raises(ValueError, match="'random' draws anew"):
        draws_for(clf, X)


def test_probabilities_by_the_rule():
    X, y = rows(labels=["no", "yes"])
    clf = fitted(X, y, LogisticRegression(), pos_label="no", response="rule")
    assert (run(to_onnx(clf, X), X)[1] == clf.predict_proba(X)).all()


def test_rows_in_float32():
    """All in float32: a score near the threshold, and no other, may fall on its other side."""
    X, y = rows()
    clf = fitted(X, y, LogisticRegression())
    single = X.astype(np.float32)
    found = different_rows(to_onnx(clf, single), clf, single.astype(float)[TRAIN:])
    scores = clf.predict_proba(single.astype(float)[TRAIN:])[:, 1]
    assert (np.abs(scores[found] - clf.rule_.threshold) < 1e-6).all()


def test_a_score_at_the_threshold_stays_positive_in_float32():
    """0.7 is larger than its float32: compared as it is, a leaf of 7 in 10 would be negative."""
    X = np.repeat([[0.0], [1.0]], [100, 100], axis=0)
    y = np.r_[np.arange(100) < 30, np.arange(100) < 70].astype(int)
    tree = FrozenEstimator(DecisionTreeClassifier().fit(X, y))
    clf = PlugInClassifier(tree, "f1").fit(X, y)
    for threshold in (0.3, 0.7):
        clf.rule_ = Threshold(threshold)
        assert different_rows(to_onnx(clf, X), clf, X).tolist() == []


@pytest.mark.parametrize("model", [DecisionTreeClassifier(), HistGradientBoostingClassifier()])
def test_trees_with_missing_values_and_trees_of_one_leaf(model):
    X, y = rows()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    clf = fitted(X, y, model, "f1")
    agrees(clf, X)
    clf.estimator_.set_params(min_samples_leaf=TRAIN).fit(X[:TRAIN], y[:TRAIN])
    for threshold in (0.3, 0.7):
        clf.rule_ = Threshold(threshold)
        agrees(clf, X)


# ------------------------------------------------------------------ refusals


def test_a_rule_that_draws_needs_an_input():
    X, y = rows()
    clf = fitted(X, y, LogisticRegression())
    clf.rule_ = MIXED
    with pytest.raises(ExportError, match=r"rule_: it draws.*draws='u'.*`randomized=False`"):
        to_onnx(clf, X)
    with pytest.raises(ValueError, match="'x0' is a column of X"):
        to_onnx(clf, pd.DataFrame(X, columns=[f"x{i}" for i in range(8)]), draws="x0")
    model = make_pipeline(StandardScaler().fit(X), clf)
    with pytest.raises(ExportError, match="put the other steps into its estimator"):
        to_onnx(model, X, draws="u")


def test_an_input_for_draws_that_is_not_there():
    import skl2onnx

    register()
    X, y = rows()
    clf = fitted(X, y, LogisticRegression())
    with pytest.raises(ExportError, match=r"'u' is not an input of the classifier.*\['X'\]"):
        skl2onnx.to_onnx(clf, X[:1], options={"zipmap": False, "draws": "u"})


def test_columns_that_are_not_in_X():
    X, y = frame()
    features = X.drop(columns="g")
    clf = PlugInClassifier(LogisticRegression(), FAIR, cv=3, decide_on="g")
    clf.fit(features[:TRAIN], y[:TRAIN], sensitive_features={"g": X["g"][:TRAIN]})
    with pytest.raises(ExportError, match="looks at 'g', which is not a column of X"):
        to_onnx(clf, features)


def test_models_that_skl2onnx_does_not_know():
    class Own(LogisticRegression):
        pass

    X, y = rows()
    with pytest.raises(ExportError, match="skl2onnx has no converter for Own"):
        to_onnx(fitted(X, y, Own()), X)


def test_models_that_skl2onnx_cannot_convert():
    X, y = rows()
    model = GradientBoostingClassifier(init=LogisticRegression(), n_estimators=2)
    with pytest.raises(ExportError, match=r"could not convert GradientBoosting.*init"):
        to_onnx(fitted(X, y, model), X)


def test_trees_over_categories():
    X, y = frame()
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features=["g"])
    y = np.where(X["g"] == 1, 1 - y, y)
    with pytest.raises(ExportError, match="splits categories; encode them"):
        to_onnx(fitted(X, y, model), X)


def test_models_that_compute_in_float32_alone():
    X, y = rows()
    clf = fitted(X, y, AdaBoostClassifier(n_estimators=5))
    with pytest.raises(ExportError, match=r"AdaBoostClassifier mixes float32 and float64; give X"):
        to_onnx(clf, X)
    single = X.astype(np.float32)
    assert different_rows(to_onnx(clf, single), clf, single).tolist() == []


def test_isotonic_calibration():
    X, y = rows()
    calibrated = ModelResponse(calibrate="isotonic")
    clf = fitted(X, y, LogisticRegression(), response=calibrated)
    with pytest.raises(ExportError, match="`calibrate='sigmoid'` is the same in both"):
        to_onnx(clf, X)


def test_a_decision_function_that_skl2onnx_has_not():
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    X, y = rows()
    response = ModelResponse(method="decision_function")
    clf = fitted(X, y, QuadraticDiscriminantAnalysis(reg_param=0.1), response=response)
    with pytest.raises(ExportError, match="no decision_function of QuadraticDiscriminant"):
        to_onnx(clf, X)


def test_rules_over_learners():
    from setpoint.solvers import ColumnGeneration

    X, y = rows(3)
    solver = ColumnGeneration(oracle=LogisticRegression())
    clf = PlugInClassifier(LogisticRegression(), "maximize recall.mean()", solver=solver, cv=0.3)
    clf.fit(X[:500], y[:500])
    with pytest.raises(ExportError, match="retrained learners"):
        to_onnx(clf, X)


def test_labels_that_are_not_whole():
    X, y = rows()
    clf = fitted(X, y, LogisticRegression())
    clf.classes_, clf.positive_ = np.array([0.5, 1.5]), 1.5
    clf.estimator_.classes_ = clf.classes_
    with pytest.raises(ExportError, match=r"whole numbers or text, found \[0.5, 1.5\]"):
        to_onnx(clf, X)


def test_other_models():
    X, y = rows()
    with pytest.raises(TypeError, match=r"a fitted PlugInClassifier, or a pipeline.*Logistic"):
        to_onnx(LogisticRegression().fit(X, y), X)


def test_without_the_package():
    code = """
import sys
sys.modules["skl2onnx"] = None
from setpoint.plugin.onnx import register
try:
    register()
except ImportError as error:
    assert "pip install 'setpoint[onnx]'" in str(error), error
else:
    raise AssertionError
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
