"""The adapter for river: dicts in, the same decisions as on arrays."""

import copy
import pickle
import random
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest

from setpoint import GoalError, OnlineFClassifier, maximize
from setpoint.metrics import precision, recall

pytest.importorskip("river", reason="of the extra river")

from river import checks, compose, datasets, evaluate, feature_extraction, metrics, preprocessing

from setpoint.online.river import OnlineF
from thinning import over

MODELS = {
    "nag": {},
    "sgd": {"learner": "sgd"},
    "adagrad": {"learner": "adagrad"},
    "constant": {"constant_step": True, "window": 300},
    "fofo": {"solver": "fofo"},
    "ofo-rb": {"solver": "ofo-rb", "goal": "maximize fbeta(2)"},
    "floor": {"goal": "maximize recall subject to precision >= 0.6"},
}
CHECKS = list(checks.yield_checks(OnlineF()))


def stream(n=600, d=5, seed=0):
    """Rows as dicts, as a matrix, and labels; about one in six is positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-1, 2, size=d)
    X[rng.random((n, d)) < 0.1] = 0.0
    y = (X / np.abs(X).max(axis=0)).sum(axis=1) + rng.normal(size=n) / 3 > 0.6
    names = [f"x{j}" for j in range(d)]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()], X, y.tolist()


def decide_and_learn(model, rows, y):
    decided = []
    for x, label in zip(rows, y, strict=True):
        decided.append(model.predict_one(x))
        model.learn_one(x, label)
    return decided


# ---------------------------------------------------------------------- river's own checks
@over("check", CHECKS)
def test_checks_of_river(check):
    random.seed(0)
    check(OnlineF())


def test_nothing_of_river_is_skipped():
    assert OnlineF()._unit_test_skips() == set()
    assert len(CHECKS) > 30
    checks.check_estimator(OnlineF("jaccard", solver="fofo", learner="sgd"))


@pytest.mark.parametrize("make", [lambda m: preprocessing.StandardScaler() | m, lambda m: m])
def test_labels_of_text_alone_and_in_a_pipeline(make):
    model = make(OnlineF(classes=("ham", "spam"), pos_label="spam"))
    for x, y in datasets.Phishing().take(300):
        proba = model.predict_proba_one(x)
        assert set(proba) == {"ham", "spam"}
        assert sum(proba.values()) == pytest.approx(1.0)
        assert model.predict_one(x) in proba
        model.learn_one(x, "spam" if y else "ham")


# ---------------------------------------------------------------------- the same as on arrays
@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_the_same_as_on_arrays(options):
    rows, X, y = stream()
    on_arrays = OnlineFClassifier(classes=[False, True], **options)
    decided = on_arrays.predict_learn(X, y)
    model = OnlineF(**options)
    assert decide_and_learn(model, rows, y) == decided.tolist()
    p = np.array([model.predict_proba_one(x)[True] for x in rows])
    assert np.abs(p - on_arrays.predict_proba(X)[:, 1]).max() <= 1e-12
    assert model.threshold_ == pytest.approx(on_arrays.threshold_, abs=1e-12)
    ours, theirs = model.goal_report_, on_arrays.goal_report_
    assert ours.objective == theirs.objective
    assert (ours.goal, ours.search.solver, ours.section("stream").tp) == (
        theirs.goal,
        theirs.search.solver,
        theirs.section("stream").tp,
    )


def test_absent_is_zero_and_order_does_not_matter():
    rows, X, y = stream()
    rng = random.Random(0)
    shuffled = []
    for x in rows:
        items = [(name, value) for name, value in x.items() if value != 0.0]
        rng.shuffle(items)
        shuffled.append(dict(items))
    decided = OnlineFClassifier(classes=[False, True]).predict_learn(X, y)
    assert decide_and_learn(OnlineF(), shuffled, y) == decided.tolist()


@pytest.mark.parametrize("learner", ["nag", "sgd", "adagrad"])
def test_names_appear_at_any_time(learner):
    # Block k of 50 rows has the names of blocks k and k + 1 only: 400 in all.
    _, X, y = stream(n=1_000, d=40, seed=1)
    wide = np.zeros((1_000, 420))
    rows = []
    for i, row in enumerate(X):
        at = 20 * (i // 50) + np.arange(40)
        wide[i, at] = row
        rows.append({("word", int(j)): v for j, v in zip(at, row.tolist(), strict=True)})
    model = OnlineF(learner=learner)
    decided = OnlineFClassifier(classes=[False, True], learner=learner).predict_learn(wide, y)
    assert decide_and_learn(model, rows, y) == decided.tolist()


def test_names_that_never_came_do_not_matter_and_are_not_kept():
    rows, _, y = stream()
    model = OnlineF()
    decide_and_learn(model, rows, y)
    model.predict_one({})
    before = pickle.dumps(model)
    for x in rows[:20]:
        strange = {"new": 1e9, **x, "newer": -3}
        assert model.predict_proba_one(strange) == model.predict_proba_one(x)
    assert model.predict_proba_one({"new": 1.0}) == model.predict_proba_one({})
    assert pickle.dumps(model) == before


def test_weights_are_those_of_arrays_and_zero_leaves_no_trace():
    rows, X, y = stream()
    w = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], size=len(y))
    on_arrays = OnlineFClassifier(classes=[False, True]).partial_fit(X, y, sample_weight=w)
    model = OnlineF()
    for x, label, weight in zip(rows, y, w.tolist(), strict=True):
        before = pickle.dumps(model)
        model.learn_one({**x, "absent": 1.0} if weight == 0.0 else x, label, w=weight)
        assert (pickle.dumps(model) == before) == (weight == 0.0)
    assert model.goal_report_.objective == on_arrays.goal_report_.objective
    assert model.n_rows_seen_ == np.count_nonzero(w)


# ---------------------------------------------------------------------- river around it
def test_progressive_validation_says_what_the_report_says():
    model, metric = OnlineF("f1"), metrics.F1()
    evaluate.progressive_val_score(datasets.Phishing(), model, metric)
    report = model.goal_report_
    assert metric.get() == pytest.approx(report.objective.value, abs=1e-12)
    assert model.n_rows_seen_ == len(list(datasets.Phishing()))
    assert metric.get() > 0.8


def test_progressive_validation_with_weights():
    weighted = [(x, y, {"w": 2.0}) for x, y in datasets.Phishing().take(100)]
    model = OnlineF()
    evaluate.progressive_val_score(weighted, model, metrics.F1())
    summary = model.goal_report_.section("stream")
    assert (summary.tp + summary.fp + summary.fn + summary.tn, model.n_rows_seen_) == (200, 100)


def test_pipelines():
    scaled = preprocessing.StandardScaler() | OnlineF(learner="sgd")
    f1 = evaluate.progressive_val_score(datasets.Phishing(), scaled, metrics.F1())
    assert f1.get() > 0.85
    rng = random.Random(0)
    words = ["the", "a", "of", "and", "to", "in", "is", "it", "cheap", "offer", "prize"]
    texts = []
    for _ in range(1_000):
        spam = rng.random() < 0.2
        said = rng.choices(words, weights=[4] * 8 + ([3] * 3 if spam else [0.3] * 3), k=12)
        texts.append((" ".join(said), spam))
    model, metric = feature_extraction.BagOfWords() | OnlineF(), metrics.F1()
    evaluate.progressive_val_score(texts, model, metric)
    assert metric.get() > 0.7
    report = model["OnlineF"].goal_report_
    assert metric.get() == pytest.approx(report.objective.value, abs=1e-12)
    words = compose.Select("a") + compose.Prefixer("b") | OnlineF()
    words.learn_one({"a": 1.0}, True)
    assert words.predict_proba_one({"a": 1.0})[True] > 0.5


def test_clone_and_pickle():
    rows, _, y = stream()
    goal = maximize(recall).subject_to(precision >= 0.5)
    model = OnlineF(goal, learner="adagrad", window=200, classes=np.array([False, True]))
    decide_and_learn(model, rows[:300], y[:300])
    fresh = model.clone()
    assert fresh.n_rows_seen_ == 0
    assert fresh.goal == goal
    assert model.clone({"learner": "sgd"}).settings == {"learner": "sgd", "window": 200}
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        model.clone(include_attributes=True),
    ):
        assert other.goal_report_.objective == model.goal_report_.objective
        went_on = decide_and_learn(other, rows[300:], y[300:])
        assert decide_and_learn(copy.deepcopy(model), rows[300:], y[300:]) == went_on
    assert model.n_rows_seen_ == 300


# ---------------------------------------------------------------------- labels and values
@pytest.mark.parametrize(
    ("labels", "options"),
    [
        ((False, True), {}),
        ((np.False_, np.True_), {}),
        ((0, 1), {}),
        ((0, 1), {"classes": (0, 1)}),
        ((-1, 1), {"classes": [1, -1]}),
        (("no", "yes"), {"classes": ("no", "yes")}),
        (("b", "a"), {"classes": ("a", "b"), "pos_label": "a"}),
    ],
)
def test_labels(labels, options):
    rows, _, y = stream()
    model, expected = OnlineF(**options), OnlineF()
    decided = decide_and_learn(model, rows, [labels[v] for v in y])
    assert decided == [labels[v] for v in decide_and_learn(expected, rows, y)]
    assert model.goal_report_.objective.value == expected.goal_report_.objective.value


def test_numbers_of_all_kinds():
    model = OnlineF()
    kinds = {"a": 1, "b": True, "c": np.float32(1.5), "d": Decimal("2.5"), 5: np.int8(100)}
    kinds |= {"e": np.uint8(200), "f": np.array(2.0), "g": 10**30}
    plain = {name: float(value) for name, value in kinds.items()}
    model.learn_one(kinds, True)
    other = OnlineF()
    other.learn_one(plain, True)
    assert model.predict_proba_one(plain) == other.predict_proba_one(kinds)
    model.learn_one({}, False)
    assert model.n_rows_seen_ == 2


def test_a_value_that_changes_in_place_is_read_anew():
    value = np.array(1.0)
    model, x = OnlineF(), {"a": value}
    for label in (True, False, True):
        model.learn_one({"a": 2.0 * label}, label)
    first = model.predict_proba_one(x)
    value[...] = -1.0
    assert model.predict_proba_one(x) == model.predict_proba_one({"a": -1.0}) != first


def test_large_values_whose_sum_overflows_are_numbers():
    model = OnlineF()
    model.learn_one({"a": 1e308, "b": 1e308}, True)
    assert model.predict_proba_one({"a": 1e308})[True] > 0.5


@over(
    "value",
    [np.nan, np.inf, -np.inf, None, "1.5", "Rome", b"1", 1j, [1.0], np.array([1.0, 2.0]), 10**400],
)
@over("before", [1.0, 2.0])
def test_values_that_are_not_finite_numbers_are_named(value, before):
    model = OnlineF()
    model.learn_one({"a": 1.0, "city": before}, True)
    state = pickle.dumps(model)
    bad = {"a": 1.0, "city": value, "new": 1.0}
    message = "feature 'city' is .*; features are finite numbers"
    for call in (model.predict_one, model.predict_proba_one, lambda x: model.learn_one(x, True)):
        with pytest.raises(ValueError, match=message):
            call(bad)
    with pytest.raises(ValueError, match=message):
        model.learn_one({"a": 1.0, "city": value}, True)
    assert pickle.dumps(model) == state


def test_wrong_labels_and_weights_change_nothing():
    model = OnlineF()
    model.learn_one({"a": 1.0}, True)
    state = pickle.dumps(model)
    for y in ("spam", 2, None, np.nan, [True]):
        with pytest.raises(ValueError, match=r"is not a class.*classes=\(one, other\)"):
            model.learn_one({"new": 1.0}, y)
    for w, why in ((-1.0, "negative"), (np.nan, "NaN"), (np.inf, "infinite"), (1e-300, "extreme")):
        with pytest.raises(ValueError, match=why):
            model.learn_one({"new": 1.0}, True, w=w)
    with pytest.raises(TypeError, match="`w` must hold numbers"):
        model.learn_one({"new": 1.0}, True, w="2")
    assert pickle.dumps(model) == state
    with pytest.raises(ValueError, match=r"'no', which is not a class .known: 'ham', 'spam'.$"):
        OnlineF(classes=("ham", "spam"), pos_label="spam").learn_one({}, "no")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"solver": "sketchy"}, ValueError, "`solver` is one of .'sketch', .*, got 'sketchy'"),
        ({"goal": "f2"}, GoalError, "f2"),
        ({"learner": object()}, TypeError, "OnlineFClassifier takes one of your own, got object"),
        ({"classes": (1, 2, 3)}, ValueError, "3 labels"),
        ({"classes": ("a",)}, ValueError, "one class only"),
        ({"pos_label": "spam"}, ValueError, "`pos_label` 'spam' is not a class"),
        ({"window": 0}, ValueError, "`window` is a whole number of at least 1, or None, got 0"),
        ({"goal": "recall.difference(sex)"}, GoalError, "sex"),
    ],
)
def test_arguments_are_checked_at_once(options, error, message):
    with pytest.raises(error, match=message):
        OnlineF(**options)


def test_no_report_before_the_first_row():
    model = OnlineF()
    assert not hasattr(model, "goal_report_")
    assert model.predict_proba_one({"a": 3.0}) == {False: 0.5, True: 0.5}
    assert model.predict_one({"a": 3.0}) in (False, True)
    assert model.n_rows_seen_ == 0


# ---------------------------------------------------------------------- river is optional
def in_fresh_python(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_river_is_imported_by_nothing_else():
    done = in_fresh_python(
        "import sys, setpoint\n"
        "setpoint.OnlineFClassifier(classes=[0, 1]).partial_fit([[1.0], [2.0]], [0, 1])\n"
        "assert 'river' not in sys.modules"
    )
    assert done.returncode == 0, done.stderr


def test_without_river_the_error_says_how_to_install_it():
    done = in_fresh_python(
        "import sys\nsys.modules['river'] = None\nimport setpoint.online, setpoint.online.river"
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: setpoint.online.river")
    assert done.stderr.rstrip().endswith("pip install 'setpoint[river]'")
