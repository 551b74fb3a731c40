"""The adapter for river: dicts in, the same decisions as on arrays."""

import pickle
import random
import sys
from decimal import Decimal
from importlib import import_module

import numpy as np
import pytest

from setpoint import GoalError, OnlineFClassifier

pytest.importorskip("river", reason="of the extra river")

from river import checks

from setpoint.online.river import OnlineF
from thinning import over

CHECKS = list(checks.yield_checks(OnlineF()))


def stream(n=600, d=5, seed=0):
    """Rows as dicts, as a matrix, and labels; about one in six is positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-1, 2, size=d)
    X[rng.random((n, d)) < 0.1] = 0.0
    y = (X / np.abs(X).max(axis=0)).sum(axis=1) + rng.normal(size=n) / 3 > 0.6
    names = [f"x{j}" for j in range(d)]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()], X, y.tolist()


ROWS, X, Y = stream()


def decide_and_learn(model, rows=ROWS, y=Y):
    decided = []
    for x, label in zip(rows, y, strict=True):
        decided.append(model.predict_one(x))
        model.learn_one(x, label)
    return decided


def on_arrays(**options):
    return OnlineFClassifier(classes=[False, True], **options)


# ---------------------------------------------------------------------- river's own checks
@over("check", CHECKS)
def test_checks_of_river(check):
    random.seed(0)
    check(OnlineF())
    assert len(CHECKS) > 30
    assert OnlineF()._unit_test_skips() == set()


# ---------------------------------------------------------------------- the same as on arrays
@over(
    "options",
    [
        {},
        {"learner": "sgd"},
        {"learner": "adagrad"},
        {"constant_step": True, "window": 300},
        {"solver": "fofo"},
        {"solver": "ofo-rb", "goal": "maximize fbeta(2)"},
        {"goal": "maximize recall subject to precision >= 0.6"},
    ],
)
def test_the_same_as_on_arrays(options):
    arrays, model = on_arrays(**options), OnlineF(**options)
    decided = arrays.predict_learn(X, Y)
    assert decide_and_learn(model) == decided.tolist()
    p = np.array([model.predict_proba_one(x)[True] for x in ROWS])
    assert np.abs(p - arrays.predict_proba(X)[:, 1]).max() <= 1e-12
    assert model.threshold_ == pytest.approx(arrays.threshold_, abs=1e-12)
    ours, theirs = model.goal_report_, arrays.goal_report_
    assert (ours.goal, ours.objective) == (theirs.goal, theirs.objective)
    assert ours.search.solver == theirs.search.solver
    assert ours.section("stream").tp == theirs.section("stream").tp


@over("learner", ["nag", "sgd", "adagrad"])
def test_names_appear_at_any_time_and_absent_is_zero(learner):
    # Block k of 50 rows has the names of blocks k and k + 1 only: 400 in all.
    _, dense, y = stream(n=1_000, d=40, seed=1)
    wide, rows, rng = np.zeros((1_000, 420)), [], random.Random(0)
    for i, row in enumerate(dense):
        at = 20 * (i // 50) + np.arange(40)
        wide[i, at] = row
        names = [("word", int(j)) for j in at]
        values = [item for item in zip(names, row.tolist(), strict=True) if item[1] != 0.0]
        rows.append(dict(rng.sample(values, len(values))))  # in any order, without zeros
    decided = on_arrays(learner=learner).predict_learn(wide, y)
    assert decide_and_learn(OnlineF(learner=learner), rows, y) == decided.tolist()


def test_predictions_keep_neither_names_nor_values():
    model, value = OnlineF(), np.array(1.0)
    decide_and_learn(model, ROWS[:100], Y[:100])
    before, absent = pickle.dumps(model), model.predict_proba_one({})
    assert model.predict_proba_one({"new": 1e9}) == absent
    for x in ROWS[:20]:
        assert model.predict_proba_one({"new": 1e9, **x, "x": -3}) == model.predict_proba_one(x)
    first = model.predict_proba_one({"x0": value})
    value[...] = -1.0  # read anew
    assert model.predict_proba_one({"x0": value}) == model.predict_proba_one({"x0": -1.0}) != first
    assert pickle.dumps(model) == before


def test_weights_are_those_of_arrays_and_zero_leaves_no_trace():
    w = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], size=len(Y))
    arrays, model = on_arrays().partial_fit(X, Y, sample_weight=w), OnlineF()
    for x, label, weight in zip(ROWS, Y, w.tolist(), strict=True):
        before = pickle.dumps(model)
        model.learn_one({**x, "absent": 1.0} if weight == 0.0 else x, label, w=weight)
        assert (pickle.dumps(model) == before) == (weight == 0.0)
    assert model.goal_report_.objective == arrays.goal_report_.objective
    assert model.n_rows_seen_ == np.count_nonzero(w)


# ---------------------------------------------------------------------- river around it


# ---------------------------------------------------------------------- labels and values
def test_labels():
    expected = decide_and_learn(OnlineF(), ROWS[:200], Y[:200])
    for labels, options in (
        ((np.False_, np.True_), {}),
        ((0, 1), {}),
        ((-1, 1), {"classes": [1, -1]}),
        (("no", "yes"), {"classes": ("no", "yes")}),
        (("b", "a"), {"classes": ("a", "b"), "pos_label": "a"}),
    ):
        model = OnlineF(**options)
        decided = decide_and_learn(model, ROWS[:200], [labels[v] for v in Y[:200]])
        assert decided == [labels[v] for v in expected]
        proba = model.predict_proba_one(ROWS[0])
        assert set(proba) == set(labels)
        assert sum(proba.values()) == pytest.approx(1.0)


def test_before_the_first_row_and_numbers_of_all_kinds():
    model, other, x = OnlineF(), OnlineF(), {"a": 3.0}
    assert (model.n_rows_seen_, hasattr(model, "goal_report_")) == (0, False)
    assert model.predict_proba_one(x) == {False: 0.5, True: 0.5}
    assert model.predict_one(x) in (False, True)
    kinds = {"a": 1, "b": True, "c": np.float32(1.5), "d": Decimal("2.5"), 5: np.int8(100)}
    kinds |= {"e": np.uint8(200), "f": np.array(2.0), "g": 10**30}
    plain = {name: float(value) for name, value in kinds.items()}
    model.learn_one(kinds, True)
    other.learn_one(plain, True)
    assert model.predict_proba_one(plain) == other.predict_proba_one(kinds)
    model.learn_one({}, False)
    assert model.n_rows_seen_ == 2
    large = OnlineF()  # whose sum overflows
    large.learn_one({"a": 1e308, "b": 1e308}, True)
    assert large.predict_proba_one({"a": 1e308})[True] > 0.5


def test_values_that_are_not_finite_numbers_are_named():
    model = OnlineF()
    model.learn_one({"a": 1.0, "city": 1.0}, True)
    state, words = pickle.dumps(model), r"feature 'city' is .*; features are finite num"
    for value in (np.nan, np.inf, -np.inf, None, "1.5", b"1", 1j, [1.0], np.ones(2), 10**400):
        for bad in ({"a": 1.0, "city": value, "new": 1.0}, {"a": 1.0, "city": value}):
            with pytest.raises(ValueError, match=words):
                model.predict_one(bad)
            with pytest.raises(ValueError, match=words):
                model.learn_one(bad, True)
    assert pickle.dumps(model) == state


def test_wrong_arguments_labels_and_weights_change_nothing():
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
    for options, error, message in (
        ({"goal": "f2"}, GoalError, "f2"),
        ({"learner": object()}, TypeError, "OnlineFClassifier takes one of your own, got object"),
        ({"classes": ("a",)}, ValueError, "one class only"),
        ({"window": 0}, ValueError, "`window` is a whole number of at least 1, or None, got 0"),
    ):
        with pytest.raises(error, match=message):
            OnlineF(**options)
    with pytest.raises(ValueError, match=r"'no', which is not a class .known: 'ham', 'spam'.$"):
        OnlineF(classes=("ham", "spam"), pos_label="spam").learn_one({}, "no")


# ---------------------------------------------------------------------- river is optional
def test_without_river_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "setpoint.online.river")
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(
        ImportError, match=r"^setpoint\.online\.river.*pip install 'setpoint.river.'$"
    ):
        import_module("setpoint.online.river")
