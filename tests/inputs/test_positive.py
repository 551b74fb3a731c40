"""The positive class of two is settled, or asked for, and never guessed from the alphabet."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import (
    BlackBox,
    ExactPenaltyClassifier,
    Goal,
    PlugInClassifier,
    evaluate,
    goal_scorer,
    solve,
)
from setpoint.errors import InputError
from setpoint.inputs import classes_of, refers_to_positive, settled_positive
from thinning import over

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
DECIDED = np.where(SCORES > 1.0, *TEXT)


# ------------------------------------------------------------------------------ what is settled
@over(
    "negative, positive",
    [("no", "yes"), ("n", "y"), ("false", "true"), ("negative", "positive")],
)
def test_words_are_settled_in_any_case_and_order(negative, positive):
    for change in (str.lower, str.upper, str.capitalize, " {} ".format):
        pair = sorted([change(negative), change(positive)])
        assert settled_positive(pair) == change(positive)
        assert classes_of(pair).labels == (change(negative), change(positive))
    assert classes_of([negative.upper(), positive]).labels == (negative.upper(), positive)


@over(
    "labels, positive",
    [
        ([0, 1], 1), ([-1, 1], 1), ([False, True], True), ([1, 2], 2), ([7.0, 3.0], 7.0),
        ([-5, -9], -5),
    ],
)  # fmt: skip
def test_of_numbers_the_larger_is_positive(labels, positive):
    assert classes_of(["a", "b", "c"]).labels == ("a", "b", "c")  # of which none is
    for order in (labels, labels[::-1]):
        assert classes_of(order * 2).labels[1] == positive


@over("labels", [TEXT, ["bad", "good"], ["a", "b"], ["yes", "true"], ["1", "2"], ["no", "si, si"]])
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
    clf = ExactPenaltyClassifier(GOAL, solver="profiled")
    assert clf.fit(X, kinds[0], sample_weight=weight).positive_ == "fraud"


# ---------------------------------------------------------------------- where it does not matter
@over(
    "goal, refers",
    [
        *((goal, False) for goal in (
            "accuracy", "balanced_accuracy", "mcc", "g_mean", "macro_f1", "recall.min()",
            "f1(label='fraud')", "accuracy - cost({(fraud, legit): 2})", "micro_f1(legit)",
            "f1(label='fraud').min(sex)", "f1.mean().min(sex)",
        )),
        *((goal, True) for goal in (
            "f1", "recall.min(sex)", "accuracy - fp", "prior", "recall(label='fraud') + precision",
            "recall.baseline()", "blackbox('shop:revenue')", "accuracy subject to fp <= 0.1",
        )),
    ],
)  # fmt: skip
def test_goals_that_refer_to_the_positive_class(goal, refers):
    assert refers_to_positive(Goal.parse(f"maximize {goal}")) is refers


@over("goal", ["accuracy", "mcc", "g_mean", "f1(label='fraud')", "f1.mean()"])
def test_both_choices_give_the_same_value_where_it_is_not_asked_for(goal):
    text = f"maximize {goal}"
    values = {evaluate(text, Y, DECIDED, pos_label=p).objective.value for p in (*TEXT, None)}
    assert len(values) == 1
    assert 0.3 < values.pop() < 1.0


# ---------------------------------------------------------------------- where it is asked


def test_functions_ask_too():
    p = 1.0 / (1.0 + np.exp(2.0 - SCORES))
    both = np.column_stack([p, 1.0 - p])
    # A score has a direction, whatever the goal; of posteriors each has its class.
    for goal, scores in ((GOAL, SCORES), ("accuracy", SCORES), ("f1", both)):
        with pytest.raises(InputError, match=f"^`y` {ASKED}"):
            solve(goal, scores, Y)
    assert solve("accuracy", SCORES, Y, pos_label="fraud").report.objective.value > 0.8
    assert solve("accuracy", both, Y).report.objective.value > 0.8
    with pytest.raises(InputError, match=f"^`y_true` {ASKED}"):
        evaluate(GOAL, Y, DECIDED)
    for label in TEXT:
        found = evaluate(GOAL, Y, DECIDED, pos_label=label)
        assert found.counts.positive == label
        assert found.objective.value == np.mean(DECIDED[label == Y] == label)


def share(y_true, scores):
    return float(np.mean(scores[y_true == "fraud"] > 0))


def test_a_scorer_takes_it_from_the_estimator():
    clf = PlugInClassifier(LogisticRegression(), GOAL, pos_label="fraud").fit(X, Y)
    plain, scorer = LogisticRegression().fit(X, Y), goal_scorer(GOAL)
    want = evaluate(GOAL, Y, clf.predict(X), pos_label="fraud")
    assert want.satisfied
    assert scorer(clf, X, Y) == want.objective.value
    legit = evaluate(GOAL, Y, clf.predict(X), pos_label="legit").objective.value
    assert goal_scorer(GOAL, pos_label="legit")(clf, X, Y) == legit != want.objective.value
    assert goal_scorer("accuracy")(plain, X, Y) == plain.score(X, Y)
    of_scores = goal_scorer(BlackBox(share, takes="scores"))
    recall = np.mean(clf.predict(X)[Y == "fraud"] == "fraud")
    assert of_scores(clf, X, Y) == pytest.approx(recall)
    for asking in (scorer, of_scores):
        with pytest.raises(InputError, match=ASKED):
            asking(plain, X, Y)
