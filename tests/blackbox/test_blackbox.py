"""Metrics without a formula: what they take, what they return, and how a goal names them."""

import copy
import pickle
import sys
from decimal import Decimal
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, fbeta_score, roc_auc_score

from setpoint import BlackBox, Goal, GoalError, GoalSyntaxError, MetricError, maximize
from setpoint.counts import Confusion
from setpoint.errors import NoFormulaError
from setpoint.goals import BlackBoxMetric, as_goal
from setpoint.metrics import recall
from setpoint.program import link, range_of
from thinning import over


def revenue(y_true, y_pred, amount, *, region, rate=1.0, sample_weight=None):
    return float((amount * y_pred).sum())


class Counted:
    def __init__(self):
        self.calls = 0

    def __call__(self, y_true, y_pred):
        self.calls += 1
        return np.float32(0.5)


# -- the leaf ---------------------------------------------------------------------------
@given(st.text(min_size=1, max_size=60))
def test_every_name_survives_as_text(name):
    goal = Goal("minimize", BlackBoxMetric(name))
    assert Goal.parse(str(goal)) == goal


def test_text_of_a_goal_which_imports_nothing():
    goal = as_goal(BlackBox(revenue, name="shop:revenue"))
    assert range_of(goal.objective) == (-np.inf, np.inf)
    assert (goal.needs.names, goal.needs.datasets) == ((), ())
    found = Confusion.of_counts(("no", "yes"), [[9, 1], [1, 9], [0, 0]])
    with pytest.raises(NoFormulaError, match="has no formula"):
        link(goal, found.codebook).at(found.marginals)
    assert str(goal) == 'maximize blackbox("shop:revenue")'
    assert str(as_goal(BlackBox(revenue, False, name="a"))) == 'minimize blackbox("a")'
    assert as_goal(str(goal)) == goal
    assert goal.is_blackbox
    Goal.parse('maximize blackbox("antigravity:fly")')
    assert "antigravity" not in sys.modules


def test_a_black_box_stands_alone_and_is_spelled_one_way():
    alone = (
        "2 * {}", "{} + recall", "recall subject to {} >= 0.5", "{} subject to recall >= 0.5",
        '{}.min("sex")', "{}.baseline()", '{}(label="f")',
    )  # fmt: skip
    for text in alone:
        with pytest.raises(GoalSyntaxError, match=r"blackbox\(.a:b.\)"):
            Goal.parse("maximize " + text.format('blackbox("a:b")'))
    for text in ("", "(a)", '("a", "b")'):
        with pytest.raises(GoalSyntaxError, match=r'blackbox\("module:name"\)'):
            Goal.parse("maximize blackbox" + text)
    with pytest.raises(GoalError, match="name of a black box"):
        BlackBoxMetric("")
    leaf = BlackBoxMetric("a")
    for make in (lambda: maximize(leaf * 2), lambda: maximize(leaf).subject_to(recall >= 0.5)):
        with pytest.raises(GoalError, match="whole objective"):
            make()
    with pytest.raises(GoalError, match="say which way"):
        as_goal(leaf)


# -- what a function takes --------------------------------------------------------------
@over(
    ("function", "takes", "columns", "name"),
    [
        (revenue, "predictions", ("amount", "region"), f"{__name__}:revenue"),
        (f1_score, "predictions", (), "sklearn.metrics:f1_score"),
        (roc_auc_score, "scores", (), "sklearn.metrics:roc_auc_score"),
        (partial(fbeta_score, beta=2), "predictions", (), "sklearn.metrics:fbeta_score"),
        (Counted(), "predictions", (), f"{__name__}:Counted"),
        ("sklearn.metrics:f1_score", "predictions", (), "sklearn.metrics:f1_score"),
    ],
)
def test_what_is_read_from_a_signature(function, takes, columns, name):
    metric = BlackBox(function)
    assert (metric.takes, metric.columns, metric.name, metric.path) == (takes, columns, name, name)
    assert metric.takes_weight == (name != f"{__name__}:Counted")


def test_the_name_of_the_second_parameter_says_what_it_takes(tmp_path, monkeypatch):
    code = ["def a(y, decisions): 1", "def b(y, y_scores): 1", "def c(y, score): 1"]
    (tmp_path / "named_shop.py").write_text("\n".join(code))
    (tmp_path / "failing_shop.py").write_text("import no_such_dependency")
    monkeypatch.syspath_prepend(tmp_path)
    takes = [BlackBox(f"named_shop:{name}").takes for name in "abc"]
    assert takes == ["predictions", "scores", "scores"]
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        BlackBox("failing_shop:revenue")


@over(
    ("args", "kwargs", "error", "message"),
    [
        ((3,), {}, TypeError, "callable or its import path.*got an int"),
        (("shop",), {}, ValueError, "spelled 'module:name'.*got 'shop'"),
        (("no_such_shop:revenue",), {}, ImportError, "no module 'no_such_shop'"),
        (("math:sqroot",), {}, ImportError, "no name 'sqroot'.*'sqrt'"),
        (("math:pi",), {}, TypeError, "is a float, which cannot be called"),
        ((max,), {}, ValueError, "no signature: say `takes="),
        ((lambda a, b: 1,), {}, ValueError, "second parameter 'b': say `takes="),
        ((lambda *args: 1,), {}, ValueError, "no second parameter with a name: say `takes="),
        ((lambda y_true, prob: 1,), {}, ValueError, "wants probabilities by the name 'prob'"),
        ((lambda: 1,), {}, ValueError, "takes 0 arguments by position"),
        ((lambda y, y_pred, amount, /: 1,), {}, ValueError, r"takes \['amount'\] by position"),
        ((dict,), {}, ValueError, "builtins:dict is a class, which makes an object"),
        ((revenue,), {"takes": "labels"}, ValueError, "`takes` is 'auto'.*got 'labels'"),
        ((revenue, 1), {}, TypeError, "`greater_is_better` is True or False, got 1"),
        ((revenue,), {"columns": ["amount"]}, ValueError, r"needs \['region'\] too"),
        ((revenue,), {"columns": ["amont"]}, ValueError, "no parameter 'amont'.*'amount'"),
        ((revenue,), {"columns": ["amount", "amount"]}, ValueError, "different names"),
        ((revenue,), {"columns": [1]}, TypeError, "names of columns"),
        ((revenue,), {"limits": (1, 1)}, ValueError, "low < high"),
        ((revenue,), {"limits": 3}, TypeError, r"two numbers \(low, high\), got 3"),
        ((revenue,), {"name": ""}, GoalError, "name of a black box"),
    ],
)
def test_bad_arguments(args, kwargs, error, message):
    with pytest.raises(error, match=message):
        BlackBox(*args, **kwargs)


def test_columns_and_weights():
    seen = {}

    def f(y_true, y_pred, amount, **more):
        seen.update(more, amount=amount)
        return 0

    metric = BlackBox(f, columns=["amount", "region"])
    metric([0, 1], [0, 1], {"amount": [1, 2], "region": ["a", "b"], "unasked": [0, 0]})
    assert set(seen) == {"amount", "region"}
    with pytest.raises(ValueError, match="needs the column 'region'"):
        metric([0, 1], [0, 1], {"amount": [1, 2]})
    assert metric([0], [0], {"amount": [1], "region": ["a"]}, [1.0]) == 0.0
    with pytest.raises(ValueError, match="`sample_weight` is given"):
        metric([0], [0], {"amount": [1], "region": ["a"]}, [2.0])
    assert BlackBox(f1_score)([0, 1, 1], [1, 1, 0], {}, [0, 1, 0]) == 1.0
    metric = BlackBox(lambda *args, **named: len(named), takes="scores", columns="a")
    assert metric([0, 1], [0.5, 0.6], {"a": [1, 2]}) == 1.0

    def spoiling(y_true, y_pred, amount, sample_weight):
        for array in (y_true, y_pred, amount, sample_weight):
            array[:] = 7
        return 1

    given = [np.arange(3), np.arange(3), np.arange(3), np.arange(3.0)]
    BlackBox(spoiling)(given[0], given[1], {"amount": given[2]}, given[3])
    assert all((array == range(3)).all() for array in given)


# -- what a function returns ------------------------------------------------------------
@over(
    ("value", "message"),
    [
        (np.nan, "nan"),
        (10**400, "inf"),
        (np.array([1.0]), r"an array of shape \(1,\)"),
        (True, "a bool"),
        (None, "None"),
        (2 + 1e-6, "2, outside its limits 0 to 2"),
    ],
)
def test_what_is_not_a_value(value, message):
    metric = BlackBox(lambda y_true, y_pred: value, limits=(0, 2), name="mine")
    with pytest.raises(MetricError, match=f"the metric mine returned {message}") as caught:
        metric(["a", "b", "b"], ["b", "b", "a"])
    assert "3 rows, 2 decided 'b', 1 decided 'a'" in str(caught.value)


def test_numbers():
    for value in (1, True + 0, np.float32(1), np.int8(1), np.array(1.0), Decimal(1), 1 + 1e-12):
        limited = BlackBox(lambda y_true, y_pred: value, limits=(-np.inf, 1))  # noqa: B023
        assert limited([0, 1], [1, 1]) == value


def test_an_exception_is_the_cause_and_an_interrupt_passes():
    def failing(y_true, scores):
        raise KeyError("amount")

    def stopped(y_true, scores):
        raise KeyboardInterrupt

    words = r"raised KeyError.*2 rows, scores from -1 to 3"
    with pytest.raises(MetricError, match=words) as caught:
        BlackBox(failing)([0, 1], [-1.0, 3.0])
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(MetricError, match="0 rows"):
        BlackBox(failing)([], [])
    with pytest.raises(KeyboardInterrupt):
        BlackBox(stopped)([0, 1], [0.0, 1.0])


# -- a value like others ----------------------------------------------------------------
def test_equality_hash_copies_and_pickles():
    metric = BlackBox(f1_score, limits=[0, 1])
    assert metric == BlackBox(f1_score, limits=(0.0, 1.0))
    assert hash(metric) == hash(BlackBox(f1_score, limits=(0, 1)))
    assert metric != BlackBox(f1_score, False, limits=(0, 1))
    assert pickle.loads(pickle.dumps(metric)) == metric
    counted = BlackBox(Counted())
    for other in (copy.copy(counted), copy.deepcopy(counted)):
        assert other == counted
        other([0, 1], [0, 1])
    assert counted.function.calls == 2
    with pytest.raises(AttributeError):
        metric.name = "other"
    metric = BlackBox(lambda y_true, y_pred: 3)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(metric)
    cloudpickle = pytest.importorskip("cloudpickle")
    assert pickle.loads(cloudpickle.dumps(metric))([0], [0]) == 3.0
    # Without code: what a file holds.
    state, left = BlackBox(revenue).__getstate__(), BlackBox.__new__(BlackBox)
    assert "function" not in state
    left.__setstate__(state)
    assert (left.function, left.goal) == (None, BlackBox(revenue).goal)
    assert copy.deepcopy(left) == pickle.loads(pickle.dumps(left)) == left
    with pytest.raises(MetricError, match=r"holds no code: set_params\(goal=BlackBox\("):
        left([0, 1], [0, 1])
