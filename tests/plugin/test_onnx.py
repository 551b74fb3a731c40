"""A graph decides as ``predict`` does, to the last of 10,000 rows; what it cannot do is refused."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from setpoint import PlugInClassifier
from setpoint.rules import Argmax, Mixture, PerSegment, Threshold
from setpoint.solvers import ModelResponse

pytest.importorskip("skl2onnx", reason="needs skl2onnx, of the extra onnx")
pytest.importorskip("onnxruntime", reason="needs onnxruntime, of the extra onnx")

from setpoint.plugin.onnx import ExportError, different_rows, register, to_onnx

TRAIN, NEW = 3_000, 10_000
RECALL = "maximize recall subject to precision >= 0.7"
MEAN = "maximize recall.mean()"


def rows(classes=2, labels=None, seed=0):
    X, y = make_classification(
        TRAIN + NEW, 8, n_informative=6, n_classes=classes, flip_y=0.2, random_state=seed
    )
    return X, y if labels is None else np.array(labels)[y]


def fitted(X, y, model, goal=RECALL, **options):
    return PlugInClassifier(model, goal, cv=3, **options).fit(X[:TRAIN], y[:TRAIN])


def agrees(model, X):
    """Every decision of 10,000 rows that no fit saw."""
    assert len(X[TRAIN:]) == NEW
    found = different_rows(to_onnx(model, X[:TRAIN]), model, X[TRAIN:])
    assert found.tolist() == []


def run(graph, X):
    import onnxruntime

    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": X})


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
    agrees(fitted(X, y, MODELS[name], MEAN), X)


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
    agrees(fitted(X, y, LogisticRegression(), MEAN), X)


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


# ------------------------------------------------------------------ refusals


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
    with pytest.raises(ExportError, match="to_sql, to_python or to_json"):
        to_onnx(clf, X)


def test_every_other_rule():
    X, y = rows()
    clf = fitted(X, y, LogisticRegression())
    groups = PerSegment([Threshold(0.4), Threshold(0.6)], [(("g", 0),), (("g", 1),)])
    mixed = Mixture([(0.3, Threshold(0.4)), (0.7, Threshold(0.6))])
    for rule in (mixed, Threshold(0.5, width=0.3), groups, Argmax([[1, 0.2], [0.3, 1]])):
        clf.rule_ = rule
        with pytest.raises(ExportError, match="to_sql, to_python or to_json"):
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
