"""A graph decides as ``predict`` does, to the last row; what it cannot do is refused."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
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
from setpoint.plugin.onnx import ExportError, different_rows, register, to_onnx
from setpoint.rules import Argmax, Mixture, PerSegment, Threshold
from setpoint.solvers import ColumnGeneration, ModelResponse
from thinning import over

skl2onnx = pytest.importorskip("skl2onnx", reason="needs skl2onnx, of the extra onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime, of the extra onnx")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
TRAIN, NEW = 900, 4_000
RECALL, MEAN = "maximize recall subject to precision >= 0.7", "maximize recall.mean()"
SHAPE = {"n_samples": TRAIN + NEW, "n_features": 8, "n_informative": 6, "flip_y": 0.2}
X2, X3 = (make_classification(n_classes=n, random_state=0, **SHAPE) for n in (2, 3))
X, Y = X2
BY_FUNCTION = ModelResponse(method="decision_function")
BOOSTING = GradientBoostingClassifier(n_estimators=5, random_state=0)
MODELS = {
    "logistic": LogisticRegression(),
    "bayes": GaussianNB(),
    "network": MLPClassifier((8,), max_iter=30, random_state=0),
    "calibrated": CalibratedClassifierCV(LogisticRegression(), cv=2),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "scaled forest": make_pipeline(StandardScaler(), RandomForestClassifier(10, random_state=0)),
    "extra trees": ExtraTreesClassifier(10, random_state=0),
    "boosting": BOOSTING,
    "nested": make_pipeline(
        make_pipeline(StandardScaler(), "passthrough"), make_pipeline(LogisticRegression())
    ),
}


def fitted(model=MODELS["logistic"], goal=RECALL, rows=X2, labels=None, **options):
    own, y = rows[0][:TRAIN], rows[1][:TRAIN]
    y = y if labels is None else np.array(labels)[y]
    return PlugInClassifier(model, goal, cv=3, **options).fit(own, y)


def agrees(model, rows=X):
    """Every decision of rows that no fit saw."""
    assert len(rows[TRAIN:]) == NEW
    assert different_rows(to_onnx(model, rows[:TRAIN]), model, rows[TRAIN:]).tolist() == []


def run(graph, rows):
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": rows})


@over("name", MODELS, every=2)
def test_two_classes(name):
    agrees(fitted(MODELS[name]))


@over("name", MODELS, every=4)
def test_three_classes(name):
    agrees(fitted(MODELS[name], MEAN, X3), X3[0])


@over(
    "goal, rows, labels, positive",
    [
        (RECALL, X2, ["no", "yes"], "no"),
        (RECALL, X2, ["no", "yes"], "yes"),
        (RECALL, X2, [False, True], None),
        (RECALL, X2, [2.0, 3.0], None),
        (MEAN, X3, ["a", "b", "c"], None),
    ],
)
def test_labels_and_probabilities(goal, rows, labels, positive):
    own = {"goal": goal, "rows": rows, "labels": labels, "pos_label": positive}
    clf = fitted(**own)
    agrees(clf, rows[0])
    few = rows[0][:20]
    label, probabilities = run(to_onnx(clf, few), few)
    assert label.tolist() == clf.predict(few).tolist()
    assert probabilities == pytest.approx(clf.predict_proba(few), abs=1e-12)
    if positive is not None:
        by_rule = fitted(**own, response="rule")
        assert (run(to_onnx(by_rule, few), few)[1] == by_rule.predict_proba(few)).all()


@over("positive", [0, 1])
@over("model", [LinearSVC(), SGDClassifier(random_state=0), BOOSTING])
def test_rules_over_a_decision_function(model, positive):
    agrees(fitted(model, "f1", pos_label=positive, response=BY_FUNCTION))


def test_in_a_pipeline_and_by_skl2onnx_alone():
    last = PlugInClassifier(LogisticRegression(), RECALL, cv=3)
    agrees(make_pipeline(StandardScaler(), last).fit(X[:TRAIN], Y[:TRAIN]))
    register()
    register()
    clf = fitted()
    graph = skl2onnx.to_onnx(clf, X[:1], options={"zipmap": False})
    assert different_rows(graph, clf, X[TRAIN:]).tolist() == []
    single = X.astype(np.float32)  # onnxruntime has no maps of float64
    label, maps = run(skl2onnx.to_onnx(clf, single[:1]), single[:5])
    assert label.tolist() == clf.predict(X[:5]).tolist()
    assert [set(row) for row in maps] == [{0, 1}] * 5


def test_a_score_at_the_threshold_stays_positive_in_float32():
    """0.7 is larger than its float32: compared as it is, a leaf of 7 in 10 would be negative."""
    rows = np.repeat([[0.0], [1.0]], [100, 100], axis=0)
    y = np.r_[np.arange(100) < 30, np.arange(100) < 70].astype(int)
    tree = FrozenEstimator(DecisionTreeClassifier().fit(rows, y))
    clf = PlugInClassifier(tree, "f1").fit(rows, y)
    for threshold in (0.3, 0.7):
        clf.rule_ = Threshold(threshold)
        assert different_rows(to_onnx(clf, rows), clf, rows).tolist() == []


class Own(LogisticRegression):
    """A model that skl2onnx does not know."""


@over(
    "model, options, words",
    [
        (Own(), {}, "skl2onnx has no converter for Own"),
        (AdaBoostClassifier(n_estimators=5), {},
         "AdaBoostClassifier mixes float32 and float64; give X"),
        (LogisticRegression(), {"response": ModelResponse(calibrate="isotonic")},
         "`calibrate='sigmoid'` is the same in both"),
        (QuadraticDiscriminantAnalysis(reg_param=0.1), {"response": BY_FUNCTION},
         "no decision_function of QuadraticDiscriminant"),
    ],
)  # fmt: skip
def test_models_that_are_refused(model, options, words):
    clf = fitted(model, **options)
    with pytest.raises(ExportError, match=words):
        to_onnx(clf, X)
    if isinstance(model, AdaBoostClassifier):  # as the message says
        single = X.astype(np.float32)
        assert different_rows(to_onnx(clf, single), clf, single).tolist() == []


def test_rules_and_labels_that_are_refused():
    clf = fitted()
    groups = PerSegment([Threshold(0.4), Threshold(0.6)], [(("g", 0),), (("g", 1),)])
    mixed = Mixture([(0.3, Threshold(0.4)), (0.7, Threshold(0.6))])
    for rule in (mixed, Threshold(0.5, width=0.3), groups, Argmax([[1, 0.2], [0.3, 1]])):
        clf.rule_ = rule
        with pytest.raises(ExportError, match="to_sql, to_python or to_json"):
            to_onnx(clf, X)
    trained = ColumnGeneration(oracle=LogisticRegression())
    clf = PlugInClassifier(LogisticRegression(), MEAN, solver=trained, cv=0.3)
    with pytest.raises(ExportError, match="to_sql, to_python or to_json"):
        to_onnx(clf.fit(X3[0][:500], X3[1][:500]), X)
    clf = fitted()
    clf.classes_, clf.positive_ = np.array([0.5, 1.5]), 1.5
    clf.estimator_.classes_ = clf.classes_
    with pytest.raises(ExportError, match=r"whole numbers or text, found \[0.5, 1.5\]"):
        to_onnx(clf, X)
    with pytest.raises(TypeError, match=r"a fitted PlugInClassifier, or a pipeline.*Logistic"):
        to_onnx(LogisticRegression(), X)
