"""Values of rows, capacity and deferral in the language: texts, errors, words, requirements."""

import pytest

from setpoint import Goal, GoalError, maximize, minimize
from setpoint.errors import GoalSyntaxError
from setpoint.goals import LinearForm, as_goal, at_most
from setpoint.metrics import *
from thinning import over


@over("text, canonical", [
    ("profit(tp = amount - 5, fp = -5)", "profit(tp=amount - 5, fp=-5)"),
    ('PROFIT(fp=-5, tp="amount - 5")', "profit(tp=amount - 5, fp=-5)"),
    ("profit(tp=75% * line, label=a).on(g=1)", 'profit(tp=0.75 * line, label="a").on(g=1)'),
    ('profit(defer=-2, tp="credit line" * 2)', 'profit(tp=2 * "credit line", defer=-2)'),
    ('value({(a, b): "x - 5"})', 'value({("a", "b"): x - 5})'),
    ("cost({(a, b): 2 * x, (a, defer): 1})", 'cost({("a", "b"): 2 * x, ("a", "defer"): 1})'),
    ("recall.weighted(amount)", 'recall.weighted("amount")'),
    ("recall.decided.weighted(w).on(s=F)", 'recall.on(s="F").weighted("w").decided'),
    ("(recall - f1).decided", "recall.decided - f1.decided"),
    ("cost({(a, b): 1}).weighted(w)", 'cost({("a", "b"): 1}).weighted("w")'),
])  # fmt: skip
def test_what_is_read(text, canonical):
    goal = Goal.parse(f"minimize {text}")
    assert str(goal.objective) == canonical
    assert Goal.parse(str(goal)) == goal


def test_python_and_text_say_the_same():
    written = Goal.parse("maximize profit(tp=amount-5, fp=-5)").objective
    assert profit(fp=-5, tp="amount - 5") == written
    assert written.params == (
        ("tp", LinearForm((("amount", 1.0),), -5.0)), ("fp", LinearForm((), -5.0)),
    )  # fmt: skip
    ((name, pairs),) = value({("a", "b"): "x", ("a", "a"): "5"}).params
    assert name == "values"
    assert pairs == ((("a", "a"), 5.0), (("a", "b"), LinearForm((("x", 1.0),))))
    assert value({("a", "b"): LinearForm.of("x")}) == value({("a", "b"): "x"})
    assert cost({("a", "b"): "2 + 1"}) == cost({("a", "b"): 3})
    assert as_goal(profit(tp=1)) == maximize(profit(tp=1))
    with pytest.raises(GoalError, match="say which way"):
        as_goal(deferral_rate)


@over("build, words", [
    (profit, "takes any of `tp`, `fp`, `fn`, `tn`, `defer` by name"),
    (lambda: profit(5), "by name, .* got 5 without one"),
    (lambda: profit(tpp=5), "got the argument `tpp`"),
    (lambda: cost({("a", "b"): "1 / a"}), r"entry of `?costs`? for \('a', 'b'\)"),
    (lambda: value({}), "values is a dict"), (lambda: value(a=1), "write value"),
    (lambda: value({("defer", "a"): 1}), "never a true class"),
    (lambda: recall.weighted("a").weighted("b"), "already weighted by 'a'"),
    (lambda: profit(tp="a").weighted("b"), "cannot be weighted by 'b' too"),
    (lambda: value({("a", "b"): 1}).weighted("b"), "cannot be weighted"),
    (lambda: (recall + profit(tp=1)).weighted("b"), "cannot be weighted"),
    (lambda: deferral_rate.decided, "no row that is decided is deferred"),
    (lambda: profit(defer=-1).decided, "about rows that are not decided"),
    (lambda: cost({("a", "defer"): 1}).decided, "about rows that are not decided"),
    (lambda: at_most(3), "at_most needs `per`"),
    (lambda: at_most(0, per=3), "`n` of at_most must be above 0"),
    (lambda: at_most(2, per=float("inf")), "`per` of at_most must be above 0 and finite"),
    (lambda: at_most(4, per=3), "`n` of at_most must be at most `per`"),
])  # fmt: skip
def test_what_is_refused(build, words):
    with pytest.raises(GoalError, match=words):
        build()


@over("text, words", [
    ("recall.decided()", "'.decided' is not called"), ("recall.decide", "did you mean 'decided'"),
    ("recall.weighted()", "name of one column"), ("recall.weighted(a, b)", "name of one column"),
    ("recall.weighted(3)", "name of one column"),
    ("profit(tp=a * b)", "not linear, at|not linear: .* at character 20"),
    ("profit(tp=f(2))", "has no meaning here"), ("at_most(2, per=3)", "a constraint of its own"),
    ("recall s.t. at_most(2, per=3) <= 1", "a constraint of its own"),
    ("recall s.t. at_most(-2, per=3)", "must be above 0"),
    ("recall s.t. at_most(a, per=3)", "must be a number of rows"),
])  # fmt: skip
def test_texts_that_are_refused(text, words):
    with pytest.raises(GoalSyntaxError, match=words):
        Goal.parse(f"maximize {text}")


def test_a_capacity_is_a_bound_on_the_predicted_rate():
    text = (
        "maximize recall s.t. at_most(200, per=10_000) with confidence 0.9, AT_MOST(1, 4, label=a)"
    )
    canonical = (
        "maximize recall subject to predicted_rate <= 0.02 with confidence 0.9 "
        'and predicted_rate(label="a") <= 0.25'
    )
    assert str(Goal.parse(text)) == canonical
    assert at_most(200, per=10_000) == Goal.parse(canonical.split(" with")[0]).constraints[0]


@over("metric, defers", [
    (recall, False), (deferral_rate, True), (accuracy.decided, True), (f1.on(s=1).decided, True),
    (profit(tp=1), False), (profit(defer=0), True), (cost({("a", "defer"): "x"}), True),
    (confusion_rate("a", "defer"), True),
])  # fmt: skip
def test_goals_that_defer(metric, defers):
    assert minimize(metric).defers is defers
    assert maximize(recall).subject_to(0.5 * metric.max("g") <= 0.5).defers is defers


def test_measures_of_a_goal():
    goal = Goal.parse(
        "maximize profit(tp=a - fee, fn=fee) s.t. precision.weighted(a) >= 0.1, "
        "cost({(x, y): b}).on(audit).weighted(c) <= 3, recall >= 0.5"
    )
    assert goal.needs.measures == {
        None: {"a": True, "fee": False},
        "audit": {"b": False, "c": True},
    }
    assert goal.needs.measure_names == ("a", "b", "c", "fee")
    assert goal.needs.labels == {None, "audit"}
    assert goal.needs.names == ()
    assert maximize(recall).needs.measures == {}
    assert minimize(deferral_rate).needs.labels == frozenset()
