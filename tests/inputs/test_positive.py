"""The positive class of two is settled, or asked for, and never guessed from the alphabet."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import (
    AdaptiveSurrogateClassifier,
    BlackBox,
    ExactPenaltyClassifier,
    Goal,
    OnlineFClassifier,
    PlugInClassifier,
    RampClassifier,
    SearchLimits,
    evaluate,
    goal_scorer,
    solve,
)
from setpoint.inputs import classes_of, refers_to_positive, settled_positive
from setpoint.inputs.classes import WORDS

TEXT = np.array(["fraud", "legit"])
GOAL = "maximize recall subject to precision >= 0.2"
ASKED = re.escape(
    "holds the text labels 'fraud' and 'legit', and which of them is the positive class is not "
    "known: pass `pos_label='fraud'` or `pos_label='legit'`"
)
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::setpoint.{name}")
    for name in ("FewRowsWarning", "ConstantGoalWarning")
]


def rows(n=300, seed=0):
    """Labels of which a fifth are fraud, and scores that are higher for these."""
    r = np.random.default_rng(seed)
    fraud = r.random(n) < 0.2
    return r.normal(size=(n, 2)) + 2.0 * fraud[:, None], TEXT[np.where(fraud, 0, 1)]


X, Y = rows()
SCORES = X.sum(axis=1)
FIVE = {
    "plug-in": PlugInClassifier(LogisticRegression(), GOAL),
    "penalty": ExactPenaltyClassifier(GOAL, solver="profiled"),
    "ramp": RampClassifier(GOAL),
    "adaptive": AdaptiveSurrogateClassifier(GOAL, limits=SearchLimits(evaluations=100)),
    "online": OnlineFClassifier(GOAL),
}


# ------------------------------------------------------------------------------ what is settled
@pytest.mark.parametrize(("negative", "positive"), WORDS)
def test_words_are_settled_in_any_case_and_order(negative, positive):
    for change in (str.lower, str.upper, str.capitalize, " {} ".format):
        pair = sorted([change(negative), change(positive)])
        assert settled_positive(pair) == change(positive)
        assert classes_of(pair).labels == (change(negative), change(positive))
    assert classes_of([negative.upper(), positive]).labels == (negative.upper(), positive)


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        ([0, 1], 1), ([-1, 1], 1), ([False, True], True), ([1, 2], 2), ([7.0, 3.0], 7.0),
        ([-5, -9], -5),
    ],
)  # fmt: skip
def test_of_numbers_the_larger_is_positive(labels, positive):
    for order in (labels, labels[::-1]):
        assert classes_of(order * 2).labels[1] == positive


@pytest.mark.parametrize(
    "labels", [TEXT, ["bad", "good"], ["a", "b"], ["yes", "true"], ["1", "2"], ["no", "si, si"]]
)
def test_other_text_is_asked_for(labels):
    assert settled_positive(sorted(labels)) is None
    with pytest.raises(ValueError, match="pass `pos_label="):
        classes_of(labels)
    for positive in labels:
        assert classes_of(labels, pos_label=positive).labels[1] == positive


def test_an_ordered_category_settles_it():
    order = ["legit", "fraud"]
    kinds = [
        pd.Series(pd.Categorical(Y, order, ordered=True)),
        pd.Categorical(Y, ["doubtful", *order], ordered=True),
        pl.Series(Y.tolist(), dtype=pl.Enum(order)),
    ]
    for y in kinds:
        assert classes_of(y).labels == ("legit", "fraud")
    with pytest.raises(ValueError, match=ASKED):
        classes_of(pd.Series(pd.Categorical(Y, order)))
    found = evaluate(GOAL, kinds[0], Y)
    assert found.counts.positive == "fraud"
    weight = np.arange(len(Y)) % 3  # rows of weight zero are left out
    for name in ("plug-in", "penalty", "ramp"):
        clf = FIVE[name]
        assert clf.fit(X, kinds[0], sample_weight=weight).positive_ == "fraud"


def test_more_than_two_classes_have_none():
    assert classes_of(["a", "b", "c"]).labels == ("a", "b", "c")


# --------------------------------------------------------------------- where it does not matter
@pytest.mark.parametrize(
    ("goal", "refers"),
    [
        ("accuracy", False), ("balanced_accuracy", False), ("mcc", False), ("g_mean", False),
        ("macro_f1", False), ("recall.min()", False), ("f1(label='fraud')", False),
        ("accuracy - cost({(fraud, legit): 2})", False), ("micro_f1(legit)", False),
        ("f1(label='fraud').min(sex)", False), ("f1.mean().min(sex)", False),
        ("f1", True), ("recall.min(sex)", True), ("accuracy - fp", True), ("prior", True),
        ("recall(label='fraud') + precision", True), ("recall.baseline()", True),
        ("blackbox('shop:revenue')", True),
    ],
)  # fmt: skip
def test_goals_that_refer_to_the_positive_class(goal, refers):
    assert refers_to_positive(Goal.parse(f"maximize {goal}")) is refers


def test_a_constraint_may_refer_to_it():
    assert refers_to_positive(Goal.parse("maximize accuracy subject to fp <= 0.1"))


@pytest.mark.parametrize("goal", ["accuracy", "mcc", "g_mean", "f1(label='fraud')", "f1.mean()"])
def test_both_choices_give_the_same_value_where_it_is_not_asked_for(goal):
    decided = np.where(SCORES > 1.0, *TEXT)
    text = f"maximize {goal}"
    values = {evaluate(text, Y, decided, pos_label=p).objective.value for p in (*TEXT, None)}
    assert len(values) == 1
    assert 0.3 < values.pop() < 1.0


# ---------------------------------------------------------------------------- where it is asked
@pytest.mark.parametrize("name", FIVE)
def test_every_family_asks(name):
    clf = FIVE[name]
    with pytest.raises(ValueError, match=f"^`y` {ASKED}"):
        clf.fit(X, Y)
    for positive in TEXT:
        fitted = type(clf)(**{**clf.get_params(deep=False), "pos_label": positive}).fit(X, Y)
        assert fitted.positive_ == fitted.goal_report_.counts.positive == positive


@pytest.mark.parametrize("name", FIVE)
def test_no_family_asks_where_the_goal_names_the_class(name):
    clf = FIVE[name]
    goal = "maximize recall(label='fraud') subject to precision(label='fraud') >= 0.2"
    fitted = type(clf)(**{**clf.get_params(deep=False), "goal": goal}).fit(X, Y)
    found = evaluate("recall", Y, fitted.predict(X), pos_label="fraud").objective.value
    assert found > 0.5


def test_a_stream_that_declares_its_classes_is_asked_too():
    with pytest.raises(ValueError, match=f"^`y` {ASKED}"):
        OnlineFClassifier("f1", classes=TEXT).partial_fit(X, Y)
    clf = OnlineFClassifier("maximize f1(label='fraud')", solver="fofo").fit(X, Y)
    assert clf.positive_ == "fraud"


def test_a_stream_of_river_that_declares_its_classes_is_asked_too():
    pytest.importorskip("river", reason="of the extra river")
    from setpoint.online.river import OnlineF

    with pytest.raises(ValueError, match=ASKED):
        OnlineF("f1", classes=TEXT.tolist())
    assert OnlineF("maximize f1(label='fraud')", classes=TEXT.tolist())._labels[1] == "fraud"


def test_solve_asks_for_the_class_that_scores_are_higher_for():
    with pytest.raises(ValueError, match=f"^`y` {ASKED}"):
        solve(GOAL, SCORES, Y)
    with pytest.raises(ValueError, match=f"^`y` {ASKED}"):
        solve("accuracy", SCORES, Y)  # a score has a direction, whatever the goal
    assert solve("accuracy", SCORES, Y, pos_label="fraud").report.objective.value > 0.8
    p = 1.0 / (1.0 + np.exp(2.0 - SCORES))
    both = solve("accuracy", np.column_stack([p, 1.0 - p]), Y)
    assert both.report.objective.value > 0.8
    with pytest.raises(ValueError, match=f"^`y` {ASKED}"):
        solve("f1", np.column_stack([p, 1.0 - p]), Y)


def test_evaluate_and_displays_ask():
    decided = np.where(SCORES > 1.0, *TEXT)
    with pytest.raises(ValueError, match=f"^`y_true` {ASKED}"):
        evaluate(GOAL, Y, decided)
    of_fraud, of_legit = (evaluate(GOAL, Y, decided, pos_label=p) for p in TEXT)
    assert (of_fraud.counts.positive, of_legit.counts.positive) == ("fraud", "legit")
    assert of_fraud.objective.value == np.mean(decided[Y == "fraud"] == "fraud")
    assert of_legit.objective.value == np.mean(decided[Y == "legit"] == "legit")


def test_a_scorer_takes_it_from_the_estimator():
    clf = PlugInClassifier(LogisticRegression(), GOAL, pos_label="fraud").fit(X, Y)
    scorer = goal_scorer(GOAL)
    want = evaluate(GOAL, Y, clf.predict(X), pos_label="fraud")
    assert want.satisfied
    assert scorer(clf, X, Y) == want.objective.value
    legit = evaluate(GOAL, Y, clf.predict(X), pos_label="legit").objective.value
    assert goal_scorer(GOAL, pos_label="legit")(clf, X, Y) == legit != want.objective.value
    plain = LogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match=ASKED):
        scorer(plain, X, Y)
    assert goal_scorer("accuracy")(plain, X, Y) == plain.score(X, Y)

    def share(y_true, scores):
        return float(np.mean(scores[y_true == "fraud"] > 0))

    assert goal_scorer(BlackBox(share, takes="scores"))(clf, X, Y) == pytest.approx(
        np.mean(clf.predict(X)[Y == "fraud"] == "fraud")
    )
    with pytest.raises(ValueError, match=ASKED):
        goal_scorer(BlackBox(share, takes="scores"))(plain, X, Y)
