"""Expressions as values: operators, refusals, equality, limits."""

import copy
import pickle
from fractions import Fraction
from functools import reduce
from operator import add, mul, sub, truediv

import numpy as np
import pytest

from setpoint import Goal, GoalError, maximize, minimize
from setpoint.goals import Const, Sum, as_goal
from setpoint.metrics import *
from thinning import over


@over("number", [2, 0.5, np.float64(0.5), np.float32(0.5), np.int64(2), np.int8(2), Fraction(1, 2)])
def test_numbers_on_either_side(number):
    x = "2" if number == 2 else "0.5"
    for sign, of in {"+": add, "-": sub, "*": mul, "/": truediv}.items():
        assert str(of(recall, number)) == f"recall {sign} {x}"
        assert str(of(number, recall)) == f"{x} {sign} recall"
    assert str(recall >= number) == str(number <= recall) == f"recall >= {x}"
    assert str(recall <= number) == str(number >= recall) == f"recall <= {x}"
    assert type((recall + number).children[1].value) is float


@over("build", [
    lambda x: recall + x, lambda x: recall / x, lambda x: recall >= x,
    lambda x: minimum(recall, x), lambda x: maximize(recall).subject_to(precision >= x),
])  # fmt: skip
def test_what_is_not_a_finite_number_is_refused(build):
    for value in (float("nan"), float("inf"), -np.inf, np.float64("nan")):
        with pytest.raises(GoalError, match="finite"):
            build(value)
    for value in (True, np.bool_(False), "0.5", None, 1j, [0.5], np.ones(2)):
        with pytest.raises(TypeError, match="numbers and expressions"):
            build(value)


@over("use, words", [
    (lambda: bool(recall), "neither true nor false"), (lambda: bool(recall >= 0.5), "two constr"),
    (lambda: maximize(recall).subject_to(0.3 <= precision <= 0.5), "two constraints"),
    (lambda: maximize(recall).subject_to(precision >= 0.3 and f1 >= 0.5), "two constraints"),
    (lambda: max(recall, precision), r"maximum\(a, b\)"),
    (lambda: min(recall, precision, f1), r"minimum\(a, b\)"),
    (lambda: list(recall), "iterated"), (lambda: 0.5 in recall, "iter"),
    (lambda: recall > 0.5, ">="), (lambda: recall < 0.5, "<="), (lambda: recall**2, r"x \* x"),
    (lambda: maximize(recall).subject_to(precision == 0.5), "abs"),
    (lambda: maximize(recall).subject_to(precision), "constraint is written"),
    *((use, None) for use in (
        lambda: maximize("recall"), lambda: as_goal(3), lambda: recall.on(3),
        lambda: recall.on({1: 2}), lambda: recall.on(a=None), lambda: recall.on(a=[1]),
        lambda: recall.mean(1), lambda: recall.mean(""),
    )),
])  # fmt: skip
def test_what_python_would_take_otherwise_is_refused(use, words):
    with pytest.raises(TypeError, match=words):
        use()


def test_equality_is_structural():
    assert recall + precision == recall + precision
    assert recall + precision != precision + recall
    assert recall != precision
    assert (recall == 0.5) is False
    assert hash(recall.on(a=1)) == hash(recall.on({"a": 1}))
    assert {recall, recall(label="x"), recall(label="x")} == {recall, recall(label="x")}
    assert recall.on(b=2, a=1) == recall.on({"a": 1}).on(b=2)
    assert maximize(recall).subject_to(f1 >= 0.5) == Goal.parse("maximize recall s.t. f1 >= 0.5")
    listed = Goal("maximize", recall, [precision >= 0.5])
    assert hash(listed) == hash(maximize(recall).subject_to(precision >= 0.5))


def test_canonical_form():
    assert str(sum([recall, precision, f1])) == "recall + precision + f1"
    assert recall - 0 == 0 + recall == +recall == recall
    assert recall + 1 + 2 == recall + 3
    assert Const(0.5) - 0.5 == Const(0.0) == Const(0.0) + 0
    assert recall - (precision - f1) == recall - precision + f1
    assert 0 - (-recall) == (-recall).__neg__() == (recall + 1) - 1 == recall
    assert -(recall - 1) == -recall + 1
    assert recall - -2 * precision == recall + 2 * precision
    assert abs(Const(-2.0)) == Const(2.0)
    assert str(recall - 0.5) == "recall - 0.5"
    assert isinstance(-recall, Sum)
    assert str(-0.0 * recall) == "0 * recall"
    assert (recall.__le__(0.5)) == (0.5 >= recall)  # noqa: SIM300
    assert (precision * 1 >= recall).lhs == precision * 1


@over("goal", [
    maximize(recall).subject_to(precision >= 0.9, recall.difference("sex") <= 0.05),
    maximize(recall).subject_to((precision >= 0.9).with_confidence(0.99)),
    minimize(cost({("a", "b"): 1, ("b", "a"): 2.5})),
    maximize(fbeta(2)(label="x").on("audit", {"a b": 1})).subject_to(recall >= recall.baseline()),
])  # fmt: skip
def test_goals_are_values(goal):
    read = eval(repr(goal), {"Goal": Goal})  # noqa: S307
    for other in (copy.copy(goal), copy.deepcopy(goal), pickle.loads(pickle.dumps(goal)), read):
        assert other == goal
        assert hash(other) == hash(goal)
        assert str(other) == str(goal)
    with pytest.raises(AttributeError):
        goal.sense = "minimize"
    with pytest.raises(AttributeError):
        goal.objective.anything = 1


def test_populations_labels_and_parameters():
    assert str(recall.on("audit", country="IN")) == 'recall.on("audit", country="IN")'
    assert str(recall.on({"native-country": "IN"})) == 'recall.on({"native-country": "IN"})'
    assert str(recall.on(self="x", population=1)) == 'recall.on(population=1, self="x")'
    assert (recall + precision).on(a=1) == recall.on(a=1) + precision.on(a=1)
    assert recall.min("sex").on(a=1) == recall.on(a=1).min("sex")
    assert recall.baseline().on(a=1) == recall.on(a=1).baseline()
    assert recall.baseline().baseline() == recall.baseline()
    assert recall.on(a=np.int64(1)) == recall.on(a=1)
    assert (recall - precision)(label="x") == recall(label="x") - precision(label="x")
    assert (recall(label="y") - precision)(label="x") == recall(label="y") - precision(label="x")
    assert fbeta(2) == fbeta(beta=2.0)
    assert fbeta(2, label="x") == fbeta(2)(label="x")
    assert str(confusion_rate("a", "b")) == 'confusion_rate("a", "b")'
    assert prior_divergence({"a": 0.5, "b": 0.5}) == prior_divergence(priors={"b": 0.5, "a": 0.5})
    assert as_goal("f1") == as_goal(f1) == as_goal(maximize(f1)) == maximize(f1)


@over("build, words", [
    (recall.on, "needs a data set or a column"), (lambda: recall.on("a", "b"), "one data set"),
    (lambda: recall.on("a").on("b"), "already the data set"),
    (lambda: recall.on(a=1).on(a=1), "a column is fixed once"), (lambda: recall.on(""), "empty"),
    (lambda: recall.on({"a": 1}, a=2), "twice"), (lambda: recall.on({"a": 1}, {"a": 2}), "twice"),
    (lambda: recall.on(a=float("nan")), "finite"), (recall.deviation, "needs a column"),
    (lambda: recall.mean("a", "a"), "twice"), (lambda: Const(2.0).mean("a"), "number is the same"),
    (lambda: accuracy(label="x"), "takes no label"), (recall, "label="),
    (lambda: recall(label="x")(label="y"), "already has the label"),
    (lambda: (recall(label="x") + 1)(label="y"), "without label"),
    (lambda: (accuracy + 1)(label="y"), "without label"),
    (lambda: recall("x"), "takes no parameters.* for one class write recall\\(label='x'\\)"),
    (lambda: precision(k=2), "for one class write precision\\(label='yes'\\)"),
    (lambda: fbeta(0), "above 0"), (lambda: fbeta("2"), "above 0"),
    (lambda: fbeta(True), "above 0"), (lambda: fbeta(1, 2), "takes 1 parameter"),
    (lambda: fbeta(1, beta=2), "repeated"), (lambda: fbeta(gamma=2), "unexpected"),
    (fbeta, "needs beta"), (lambda: cost({}), "costs is a dict"),
    (lambda: cost({"a": 1}), "costs is a dict"), (lambda: cost({tuple("abc"): 1}), "costs is a d"),
    (lambda: cost({("a", "b"): "a b"}), "entry of costs for .* cannot be read"),
    (lambda: cost(fn=5, fp=1), r'cost\({\("no", "yes"\): 1, \("yes", "no"\): 5}\)'),
    (lambda: prior_divergence({"a": 0.4, "b": 0.4}), "sum to 1"),
    (lambda: prior_divergence({"a": 1.0, "b": 0.0}), "above 0"),
    (lambda: recall + fbeta, "needs its parameters: fbeta"),
    (lambda: maximize(fbeta), "needs its parameters"), (lambda: maximum(recall), "at least 2"),
    (lambda: recall / 0, "division by the number 0"), (lambda: log(0 * Const(1.0)), "undefined"),
    (lambda: sqrt(-1), "undefined"), (lambda: Const(1.0) >= Const(0.0), "between two numbers"),
    (lambda: maximize(Const(3.0)), "no metric"), (lambda: Goal("max", recall), "sense"),
    *((lambda x=x: as_goal(x), "say which way") for x in (error_rate, predicted_rate, recall + f1)),
    # Goals are bounded; doubling would give 2 ** 46 nodes at a legal depth.
    (lambda: maximize(recall(label="x" * 2000)).subject_to(recall(label="y" * 2000) >= 0.5),
     "4000 characters"),
    (lambda: maximize(sum([recall] * 600)), "4000 characters"),
    (lambda: reduce(lambda x, _: abs(x), range(100), recall), "levels deep"),
    (lambda: reduce(lambda x, _: x * x, range(40), recall), "parts"),
    (lambda: recall + 10**400, None), (lambda: (recall + 1e308) + 1e308, None),
    (lambda: recall(label=2**2000), None), (lambda: fbeta(2**2000), None),
])  # fmt: skip
def test_what_is_not_a_goal_is_refused(build, words):
    with pytest.raises((GoalError, OverflowError), match=words):
        build()
