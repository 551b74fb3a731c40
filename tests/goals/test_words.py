"""A goal is understood in usual words, and what is not in the language has an answer."""

import re
from decimal import Decimal

import pytest

from goals.samples import plain, program_of
from setpoint.errors import GoalError, GoalSyntaxError
from setpoint.goals import SYNONYMS, TABLE, Goal, as_goal, why_unknown
from thinning import over

PLAIN = "maximize recall subject to precision >= 0.9"


@over("text, canonical", [
    ("Maximize recall subject to precision >= 90%", PLAIN),
    ("maximise Recall such that precision >= 90 %", PLAIN),
    ("MAXIMISE sensitivity with PPV at least 90%", PLAIN),
    ("maximize TPR where precision_score is at least .9", PLAIN),
    ("maximize recall Subject To precision of at least 90.0%", PLAIN),
    ("maximize recall with (precision >= 0.9)", PLAIN),
    ("maximize recall S.T. precision AT LEAST 0.9", PLAIN),
    ("  maximize\n recall\nsubject\tto (.9 =< precision)", PLAIN),
    ("maximize recall s. t. precision ≥ 9e-1", PLAIN),
    ("maximize recall s.t. 0.8 => f1.on({\"a\": \"x\"})",
     'maximize recall subject to f1.on(a="x") <= 0.8'),
    ("minimise FPR with recall at least 80% AND accuracy at most 95% and 10% <= prior <= 20%",
     "minimize false_positive_rate subject to recall >= 0.8 and accuracy <= 0.95 "
     "and prior >= 0.1 and prior <= 0.2"),
    *((f"maximize recall(label={x}).on({x}={x}) s.t. precision.difference({x}) <= 5%",
       f'maximize recall(label="{x}").on({x}="{x}") subject to precision.difference("{x}") <= 0.05')
      for x in ("where", "AND", "least", "at", "percent", "tpr", "F1", "profit")),
])  # fmt: skip
def test_one_goal_in_many_words(text, canonical):
    assert Goal.parse(text) == Goal.parse(canonical)
    assert str(Goal.parse(text)) == canonical


@over("digits", ["29", "57", "58", "0.1", "99.9", ".7", "12.", "110"])
def test_per_cent_is_the_number_that_is_written(digits):
    bound = Goal.parse(f"maximize recall s.t. f1 >= {digits}%").constraints[0].rhs.value
    assert bound == float(Decimal(digits) / 100)
    written = Goal.parse(f"maximize recall - {bound!r} * churn")
    assert Goal.parse(f"maximize recall - {digits} % * churn") == written


@over("word", SYNONYMS)
def test_names_of_others_are_understood_in_any_case(word):
    ours = SYNONYMS[word]
    for spelled in (word, word.upper(), word.capitalize()):
        if TABLE[ours].params:
            with pytest.raises(GoalSyntaxError, match=f"{ours}"):
                Goal.parse(f"maximize {spelled}")
        else:
            assert str(Goal.parse(f"maximize {spelled}")) == f"maximize {ours}"


@over("word", [
    "f2", "lift", "fdr", "statistical_parity", "demographic_parity_ratio", "equal_opportunity",
    "equalized_odds", "youden", "kappa", "selective_accuracy", "selective_risk", "auc", "top_k",
    "count", "costs", "budget", "defer", "decided", "amount", "brier", "certainty", "max_recall",
])  # fmt: skip
def test_words_that_are_answered_with_goals(word):
    answer = why_unknown(word)
    for text in (f"maximize {word.upper()}", f"maximize recall s.t. {word} <= 5", word):
        with pytest.raises(GoalSyntaxError, match=re.escape(answer)):
            as_goal(text)
    here, shown = answer.removeprefix("here: "), re.findall("'(m[^']+)'", answer)
    for goal in shown if here == answer else [f"maximize {here}"]:
        Goal.parse(goal.replace("k/N", "20/1000"))


@over("text, words", [
    ("precision at least 90%", "'maximize recall subject to precision at least 90%'"),
    ("f1 subject to recall >= 0.9", "put 'maximize' or 'minimize' before 'f1'"),
    ("max recall", "a goal starts with 'maximize' or 'minimize', got 'max'"),
    ("maximize recall s.t. precision >= 0,9", "write 0.9 for 0,9: numbers have a decimal point"),
    ("maximize recall s.t. precision >= 87,5% and f1 >= 0,3", "decimal point"),
    ("maximize recall with at least 90% precision", "the metric comes first"),
    ("maximize precision at k", "the best k of N rows"),
    ("maximize recall at 90% precision", "as in 'maximize recall subject to precision >= 0.9'"),
    ("maximize recall % 2", "as in 90%"),
    ("maximize sensitivty", "did you mean 'sensitivity'"),
    ("maximize ≥ recall", "at character 10"),
    ("maximize Lift", "unknown word 'Lift' (here: precision / prior)"),
    ("maximize recall.mean", "'.mean' is called: write .mean(...)"),
    ("maximize sqrt", "'sqrt' is a function: sqrt(...)"),
    ("maximize sqrt(x=recall)", "sqrt takes no named arguments"),
    ("maximize profit", "profit needs its parameters: profit(tp=..., fp=..., fn=..., tn=..., "
     "defer=...), any of these, as in profit(tp=\"amount - 5\", fp=-5)"),
])  # fmt: skip
def test_the_error_names_the_right_sentence_and_the_place(text, words):
    with pytest.raises(GoalSyntaxError, match=re.escape(words)):
        as_goal(text)


@over("bound, words", [
    ("precision >= 90", "for 90 per cent write 0.9 or 90%"),
    ("recall.mean() >= 87.5", "for 87.5 per cent write 0.875 or 87.5%"),
    ("tp + fp <= 200", "[0, 2]; for 200 of N rows write 200/N, with a number for N"),
    ("fp <= 20", "for 20 per cent write 0.2 or 20%, for 20 of N rows write 20/N, with a"),
    ("mcc >= 2", None), ("precision >= -1", None), ("cost({(a, b): 2}) >= 5", None),
])  # fmt: skip
def test_a_bound_per_cent_or_in_rows_is_answered(bound, words):
    schema, _ = plain(("a", "b"))
    pattern = r"outside the range of [^;]*$" if words is None else re.escape(words)
    with pytest.raises(GoalError, match=pattern):
        program_of(Goal.parse(f"maximize recall s.t. {bound}"), schema)
