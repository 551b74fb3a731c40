"""Expressions as values: operators, refusals, equality, limits."""

import copy
import pickle
import subprocess
import sys
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

from setpoint import Goal, GoalError, maximize, minimize
from setpoint.goals import Const, Sum, as_goal
from setpoint.goals.expressions import MAX_DEPTH
from setpoint.metrics import *

NUMBERS = [2, 0.5, np.float64(0.5), np.float32(0.5), np.int64(2), np.int8(2), Fraction(1, 2)]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_on_either_side(number):
    x = "2" if number == 2 else "0.5"
    assert str(recall + number) == f"recall + {x}"
    assert str(number + recall) == f"{x} + recall"
    assert str(recall - number) == f"recall - {x}"
    assert str(number - recall) == f"{x} - recall"
    assert str(recall * number) == f"recall * {x}"
    assert str(number * recall) == f"{x} * recall"
    assert str(recall / number) == f"recall / {x}"
    assert str(number / recall) == f"{x} / recall"
    assert str(recall >= number) == str(number <= recall) == f"recall >= {x}"
    assert str(recall <= number) == str(number >= recall) == f"recall <= {x}"
    assert type((recall + number).children[1].value) is float


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -np.inf, np.float64("nan")])
def test_numbers_are_finite(value):
    for build in (
        lambda: recall + value,
        lambda: value * recall,
        lambda: recall >= value,
        lambda: value <= recall,
        lambda: maximum(recall, value),
    ):
        with pytest.raises(GoalError, match="finite"):
            build()


@pytest.mark.parametrize("value", [True, np.bool_(False), "0.5", None, 1j, [0.5], np.ones(2)])
def test_what_is_not_a_number_is_refused(value):
    for build in (
        lambda: recall + value,
        lambda: recall / value,
        lambda: recall >= value,
        lambda: minimum(recall, value),
        lambda: maximize(recall).subject_to(precision >= value),
    ):
        with pytest.raises(TypeError, match="numbers and expressions"):
            build()


def test_numbers_that_grow_too_large_are_refused():
    for build in (
        lambda: recall + 10**400,
        lambda: (recall + 1e308) + 1e308,
        lambda: recall(label=2**2000),
        lambda: fbeta(2**2000),
    ):
        with pytest.raises((GoalError, OverflowError)):
            build()


def test_an_expression_is_not_a_bool():
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(recall)
    with pytest.raises(TypeError, match="two constraints"):
        bool(recall >= 0.5)
    with pytest.raises(TypeError, match="two constraints"):
        maximize(recall).subject_to(0.3 <= precision <= 0.5)
    with pytest.raises(TypeError, match="two constraints"):
        maximize(recall).subject_to(precision >= 0.3 and f1 >= 0.5)
    with pytest.raises(TypeError, match=r"maximum\(a, b\)"):
        max(recall, precision)
    with pytest.raises(TypeError, match=r"minimum\(a, b\)"):
        min(recall, precision, f1)
    with pytest.raises(TypeError, match="iterated"):
        list(recall)
    with pytest.raises(TypeError, match="iter"):
        assert 0.5 in recall
    with pytest.raises(TypeError, match=">="):
        assert recall > 0.5
    with pytest.raises(TypeError, match="<="):
        assert recall < 0.5
    with pytest.raises(TypeError, match="x \\* x"):
        recall**2


def test_equality_is_structural():
    assert recall + precision == recall + precision
    assert recall + precision != precision + recall
    assert recall != precision
    assert (recall == 0.5) is False
    assert hash(recall.on(a=1)) == hash(recall.on({"a": 1}))
    assert {recall, recall(label="x"), recall(label="x")} == {recall, recall(label="x")}
    assert recall.on(b=2, a=1) == recall.on({"a": 1}).on(b=2)
    assert maximize(recall).subject_to(f1 >= 0.5) == Goal.parse("maximize recall s.t. f1 >= 0.5")
    with pytest.raises(TypeError, match="abs"):
        maximize(recall).subject_to(precision == 0.5)
    with pytest.raises(TypeError, match="constraint is written"):
        maximize(recall).subject_to(precision)


def test_canonical_form():
    assert str(sum([recall, precision, f1])) == "recall + precision + f1"
    assert recall - 0 == recall
    assert 0 + recall == recall
    assert recall + 1 + 2 == recall + 3
    assert recall - (precision - f1) == recall - precision + f1
    assert 0 - (-recall) == recall
    assert (-recall).__neg__() == recall
    assert -(recall - 1) == -recall + 1
    assert recall - -2 * precision == recall + 2 * precision
    assert (recall + 1) - 1 == recall
    assert abs(Const(-2.0)) == Const(2.0)
    assert str(recall - 0.5) == "recall - 0.5"
    assert isinstance(-recall, Sum)
    assert +recall is recall
    assert str(-0.0 * recall) == "0 * recall"
    assert (recall.__le__(0.5)) == (0.5 >= recall)  # noqa: SIM300
    assert (precision * 1 >= recall).lhs == precision * 1


@pytest.mark.parametrize(
    "goal",
    [
        maximize(recall).subject_to(precision >= 0.9, recall.difference("sex") <= 0.05),
        maximize(recall).subject_to((precision >= 0.9).with_confidence(0.99)),
        minimize(cost({("a", "b"): 1, ("b", "a"): 2.5})),
        maximize(fbeta(2)(label="x").on("audit", {"a b": 1})).subject_to(
            recall >= recall.baseline() - 0.01
        ),
    ],
)
def test_goals_are_values(goal):
    for other in (
        copy.copy(goal), copy.deepcopy(goal), pickle.loads(pickle.dumps(goal)), eval_of(repr(goal)),
    ):  # fmt: skip
        assert other == goal
        assert hash(other) == hash(goal)
        assert str(other) == str(goal)
    with pytest.raises(AttributeError):
        goal.sense = "minimize"
    with pytest.raises(AttributeError):
        goal.objective.anything = 1


def eval_of(text):
    assert text.startswith("Goal.parse(")
    return Goal.parse(__import__("ast").literal_eval(text[len("Goal.parse(") : -1]))


def test_populations():
    assert str(recall.on("audit", country="IN")) == 'recall.on("audit", country="IN")'
    assert str(recall.on({"native-country": "IN"})) == 'recall.on({"native-country": "IN"})'
    assert str(recall.on(self="x", population=1)) == 'recall.on(population=1, self="x")'
    assert (recall + precision).on(a=1) == recall.on(a=1) + precision.on(a=1)
    assert recall.min("sex").on(a=1) == recall.on(a=1).min("sex")
    assert recall.baseline().on(a=1) == recall.on(a=1).baseline()
    assert recall.baseline().baseline() == recall.baseline()
    assert recall.on(a=np.int64(1)) == recall.on(a=1)
    for build, message in [
        (recall.on, "needs a data set or a column"),
        (lambda: recall.on("a", "b"), "one data set"),
        (lambda: recall.on("a").on("b"), "already the data set"),
        (lambda: recall.on(a=1).on(a=1), "a column is fixed once"),
        (lambda: recall.on({"a": 1}, a=2), "twice"),
        (lambda: recall.on({"a": 1}, {"a": 2}), "twice"),
        (lambda: recall.on(""), "empty"),
        (lambda: recall.on(a=float("nan")), "finite"),
    ]:
        with pytest.raises(GoalError, match=message):
            build()
    for build in (
        lambda: recall.on(3), lambda: recall.on({1: 2}), lambda: recall.on(a=None),
        lambda: recall.on(a=[1]), lambda: recall.mean(1), lambda: recall.mean(""),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            build()


def test_labels_and_parameters():
    assert (recall - precision)(label="x") == recall(label="x") - precision(label="x")
    assert (recall(label="y") - precision)(label="x") == recall(label="y") - precision(label="x")
    assert fbeta(2) == fbeta(beta=2.0)
    assert fbeta(2, label="x") == fbeta(2)(label="x")
    assert str(confusion_rate("a", "b")) == 'confusion_rate("a", "b")'
    assert prior_divergence({"a": 0.5, "b": 0.5}) == prior_divergence(priors={"b": 0.5, "a": 0.5})
    for build, message in [
        (lambda: accuracy(label="x"), "takes no label"),
        (lambda: recall(label="x")(label="y"), "already has the label"),
        (recall, "label="),
        (lambda: recall("x"), "takes no parameters"),
        (lambda: (recall(label="x") + 1)(label="y"), "without label"),
        (lambda: (accuracy + 1)(label="y"), "without label"),
        (lambda: fbeta(0), "above 0"),
        (lambda: fbeta(-1), "above 0"),
        (lambda: fbeta("2"), "above 0"),
        (lambda: fbeta(True), "above 0"),
        (lambda: fbeta(1, 2), "takes 1 parameter"),
        (lambda: fbeta(1, beta=2), "repeated"),
        (lambda: fbeta(gamma=2), "unexpected"),
        (fbeta, "needs beta"),
        (lambda: cost({}), "costs is a dict"),
        (lambda: cost({"a": 1}), "costs is a dict"),
        (lambda: cost({("a", "b", "c"): 1}), "costs is a dict"),
        (lambda: cost({("a", "b"): "a b"}), "entry of costs for .* cannot be read"),
        (lambda: prior_divergence({"a": 0.4, "b": 0.4}), "sum to 1"),
        (lambda: prior_divergence({"a": 1.0, "b": 0.0}), "above 0"),
        (lambda: recall + fbeta, "needs its parameters: fbeta"),
        (lambda: maximize(fbeta), "needs its parameters"),
        (recall.deviation, "needs a column"),
        (lambda: recall.mean("a", "a"), "twice"),
        (lambda: Const(2.0).mean("a"), "a number is the same"),
        (lambda: recall / 0, "division by the number 0"),
        (lambda: log(0 * Const(1.0)), "undefined"),
        (lambda: sqrt(-1), "undefined"),
        (lambda: maximum(recall), "at least 2"),
        (lambda: Const(1.0) >= Const(0.0), "between two numbers"),
    ]:
        with pytest.raises(GoalError, match=message):
            build()


def test_goals_are_bounded():
    long = maximize(recall(label="x" * 2000))
    with pytest.raises(GoalError, match="4000 characters"):
        long.subject_to(recall(label="y" * 2000) >= 0.5)
    with pytest.raises(GoalError, match="4000 characters"):
        maximize(sum([recall] * 600))
    with pytest.raises(GoalError, match=f"{MAX_DEPTH} levels"):
        reduce(lambda x, _: abs(x), range(MAX_DEPTH), recall)
    # Doubling would give 2 ** 46 nodes at a legal depth.
    with pytest.raises(GoalError, match="parts"):
        reduce(lambda x, _: x * x, range(MAX_DEPTH - 2), recall)


def test_goals_hold_metrics_and_constraints():
    with pytest.raises(GoalError, match="no metric"):
        maximize(Const(3.0))
    with pytest.raises(GoalError, match="sense"):
        Goal("max", recall)
    with pytest.raises(TypeError):
        maximize("recall")
    listed = Goal("maximize", recall, [precision >= 0.5])
    assert hash(listed) == hash(maximize(recall).subject_to(precision >= 0.5))


def test_as_goal():
    assert as_goal("f1") == as_goal(f1) == as_goal("maximize f1") == maximize(f1)
    assert as_goal(maximize(f1)) == maximize(f1)
    for bare in (error_rate, predicted_rate, recall + f1):
        with pytest.raises(GoalError, match="say which way"):
            as_goal(bare)
    with pytest.raises(TypeError):
        as_goal(3)


def test_the_language_is_light():
    code = "import sys, setpoint.goals, setpoint.metrics; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"scipy", "sklearn", "torch", "numba", "pandas", "narwhals"}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("recall('high')", "for one class write recall(label='high')"),
        ("precision(k=2)", "for one class write precision(label='yes')"),
        ("cost(fn=5, fp=1)", "each pair the true and the predicted class"),
    ],
)
def test_what_a_metric_does_not_take_says_how_to_write_it(text, hint):
    with pytest.raises(GoalError) as error:
        Goal.parse(f"minimize {text}")
    assert hint in str(error.value)
    written = 'cost({("no", "yes"): 1, ("yes", "no"): 5})'
    if "cost" in text:
        assert written in str(error.value)
        assert str(Goal.parse(f"minimize {written}").objective) == written
