"""A goal is understood as people write it, and what is not in the language has an answer."""

import re
from decimal import Decimal

import pytest

from goals.samples import BINARY, plain, program_of
from setpoint.errors import GoalError, GoalSyntaxError
from setpoint.goals import SYNONYMS, TABLE, VOCABULARY, Goal, as_goal
from setpoint.goals.parse import ANSWERS, ELSEWHERE, metric_named
from thinning import over

PLAIN = "maximize recall subject to precision >= 0.9"


@pytest.mark.parametrize(
    "text",
    [
        "Maximize recall subject to precision >= 90%",
        "maximise Recall such that precision >= 90 %",
        "MAXIMISE sensitivity with PPV at least 90%",
        "maximize TPR where precision_score is at least .9",
        "maximize recall Subject To precision of at least 90.0%",
        "maximize recall with (precision >= 0.9)",
        "maximize recall S.T. precision AT LEAST 0.9",
    ],
)
def test_one_goal_in_many_words(text):
    assert Goal.parse(text) == Goal.parse(PLAIN)
    assert str(Goal.parse(text)) == PLAIN


def test_more_constraints_in_words():
    text = "minimise FPR with recall at least 80% AND accuracy at most 95% and 10% <= prior <= 20%"
    assert str(Goal.parse(text)) == (
        "minimize false_positive_rate subject to recall >= 0.8 and accuracy <= 0.95 "
        "and prior >= 0.1 and prior <= 0.2"
    )


@pytest.mark.parametrize("digits", ["29", "57", "58", "0.1", "99.9", ".7", "12.", "110"])
def test_per_cent_is_the_number_that_is_written(digits):
    bound = Goal.parse(f"maximize recall s.t. f1 >= {digits}%").constraints[0].rhs.value
    assert bound == float(Decimal(digits) / 100)
    assert Goal.parse(f"maximize recall - {digits} % * churn") == Goal.parse(
        f"maximize recall - {bound!r} * churn"
    )


@pytest.mark.parametrize(
    "text", ["5%3", "5%.3", "1_2.5%", "recall5%", "1e2.5%", "5% recall", "% 5"]
)
def test_digits_around_a_per_cent_are_not_joined(text):
    with pytest.raises(GoalSyntaxError):
        Goal.parse(f"maximize recall s.t. f1 >= {text}")


@pytest.mark.parametrize("word", ["where", "AND", "least", "at", "percent", "tpr", "F1", "profit"])
def test_words_in_brackets_are_names(word):
    text = (
        f"maximize recall(label={word}).on({word}={word}) s.t. precision.difference({word}) <= 5%"
    )
    assert str(Goal.parse(text)) == (
        f'maximize recall(label="{word}").on({word}="{word}") '
        f'subject to precision.difference("{word}") <= 0.05'
    )


@over("word", SYNONYMS)
def test_names_of_others_are_understood_in_any_case(word):
    ours = SYNONYMS[word]
    for spelled in (word, word.upper(), word.capitalize()):
        assert metric_named(spelled) is VOCABULARY[ours]
    if not TABLE[ours].params:
        assert str(Goal.parse(f"maximize {word.upper()}")) == f"maximize {ours}"


def test_a_bare_name_is_a_goal_where_more_is_better():
    assert as_goal("F1") == as_goal(" f1_score ") == as_goal("f1") == Goal.parse("maximize f1")
    assert as_goal("TPR") == Goal.parse("maximize recall")
    with pytest.raises(
        GoalError, match="say which way: 'maximize false_positive_rate' or 'minimize"
    ):
        as_goal("fpr")


def test_no_word_has_two_meanings():
    groups = [set(TABLE), set(SYNONYMS), set(ELSEWHERE), set(ANSWERS)]
    assert sum(map(len, groups)) == len(set.union(*groups))
    assert all(word == word.lower() for words in groups for word in words)
    for written in ELSEWHERE.values():
        Goal.parse("maximize " + written)


@over("word", [*ELSEWHERE, *ANSWERS])
def test_words_that_are_answered(word):
    answer = ELSEWHERE.get(word) or ANSWERS[word]
    for text in (f"maximize {word.upper()}", f"maximize recall s.t. {word} <= 5", word):
        with pytest.raises(GoalSyntaxError, match=re.escape(answer)):
            as_goal(text)


def test_goals_that_answers_show_are_goals():
    shown = {t for answer in ANSWERS.values() for t in re.findall("'(m[^']+)'", answer)}
    assert len(shown) == 9
    for text in shown:
        Goal.parse(text.replace("k/N", "20/1000"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("recall >= 0.9", "'maximize precision subject to recall >= 0.9'"),
        ("precision at least 90%", "'maximize recall subject to precision at least 90%'"),
        ("f1 subject to recall >= 0.9", "put 'maximize' or 'minimize' before 'f1'"),
        ("max recall", "a goal starts with 'maximize' or 'minimize', got 'max'"),
        (
            "maximize recall s.t. precision >= 0,9",
            "write 0.9 for 0,9: numbers have a decimal point",
        ),
        ("maximize recall s.t. precision >= 87,5% and f1 >= 0,3", "decimal point"),
        ("maximize 0,5 * recall", "decimal point"),
        ("maximize recall, precision >= 0.9", "constraints follow 'subject to'"),
        ("maximize recall with at least 90% precision", "the metric comes first"),
        ("maximize precision at k", "the best k of N rows"),
        ("maximize precision at top 100", "the best k of N rows"),
        ("maximize recall at 90% precision", "as in 'maximize recall subject to precision >= 0.9'"),
        ("maximize recall % 2", "as in 90%"),
        ("maximize recall with f1 >= .1 such that f1 <= .2", "'subject to' appears twice"),
        ("maximize sensitivty", "did you mean 'sensitivity'"),
    ],
)
def test_the_right_sentence(text, words):
    with pytest.raises(GoalSyntaxError, match=re.escape(words)):
        as_goal(text)


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("precision >= 90", "for 90 per cent write 0.9 or 90%"),
        ("recall.mean() >= 87.5", "for 87.5 per cent write 0.875 or 87.5%"),
        ("tp + fp <= 200", "[0, 2]; for 200 of N rows write 200/N, with a number for N"),
        ("fp <= 20", "for 20 per cent write 0.2 or 20%, for 20 of N rows write 20/N, with a"),
    ],
)
def test_a_bound_per_cent_or_in_rows_is_answered(bound, words):
    schema, _ = plain(BINARY)
    with pytest.raises(GoalError, match=re.escape(words)):
        program_of(Goal.parse(f"maximize recall s.t. {bound}"), schema)


@pytest.mark.parametrize("bound", ["mcc >= 2", "precision >= -1", "cost({(a, b): 2}) >= 5"])
def test_other_bounds_are_not_per_cent(bound):
    schema, _ = plain(("a", "b"))
    with pytest.raises(GoalError, match=r"outside the range of [^;]*$"):
        program_of(Goal.parse(f"maximize accuracy s.t. {bound}"), schema)
