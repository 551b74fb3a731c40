"""What is written reads back equal; what is mangled is one kind of error."""

import random

import pytest

from goals.samples import LABELS, NAMES, Random
from setpoint.errors import GoalSyntaxError
from setpoint.goals import VOCABULARY, Goal
from thinning import over

recall, cost, precision = (VOCABULARY[name] for name in ("recall", "cost", "precision"))


@over("seed", range(10), every=10)
def test_random_goals_read_back_equal(seed):
    source = Random(seed)
    for _ in range(1_000):
        goal = source.goal()
        text = str(goal)
        again = Goal.parse(text)
        assert again == goal, text
        assert hash(again) == hash(goal)
        assert str(again) == text


@over("label", LABELS)
def test_every_label_and_name_reads_back(label):
    goal = Goal("maximize", recall(label=label), (precision.on(column=label) >= 0.5,))
    again = Goal.parse(str(goal))
    assert again == goal
    assert again.objective.label == label
    plain = type(label) is type(again.objective.label)
    assert plain or (isinstance(label, float) and label.is_integer())
    if label in NAMES:
        named = recall.on(label, {label: "v"}) >= 0.5
        goal = Goal("minimize", recall.difference(label), (named,))
        assert Goal.parse(str(goal)) == goal


def test_what_else_is_read():
    canonical = (
        'maximize recall subject to precision >= 0.9 and recall.difference("sex") <= 0.05 '
        'and recall.on(country="IN") >= 0.8'
    )
    goal = Goal.parse(canonical)
    assert str(goal) == canonical
    for text in (
        "maximize recall s.t. precision ≥ 0.9, recall.difference(sex) ≤ 0.05, "
        "recall.on(country=IN) >= 0.8",
        "  maximize\n recall\nsubject\tto precision>=0.9 and (recall.difference('sex') =< 0.05) "
        "and recall.on({country: 'IN'}) => 0.8",
        "maximize recall s. t. (precision >= .9 and recall.difference(sex) <= 5e-2), "
        "0.8 <= recall.on({'country': \"IN\"})",
    ):
        assert Goal.parse(text) == goal


@over("text", [
    "-2 * recall", "-(2 * recall) + precision", "-recall", "recall - (-2) * precision",
    "(-recall) * precision", "recall * (precision - 1)", "recall / (precision * f1)",
    "(-2 * recall).mean(\"sex\")", "-0.5 / recall", "recall - 1e-05", "recall + 1e+22",
    "2 * recall * precision", "2 * (recall * precision)", "-2 + recall",
    "recall * (-2)", "recall + -2 / precision", " + ".join(["recall"] * 440),
])  # fmt: skip
def test_signs_and_parentheses_read_back(text):
    goal = Goal.parse(f"maximize {text}")
    assert Goal.parse(str(goal)) == goal


def test_a_chain_is_two_constraints_and_parameters_are_sorted():
    goal = Goal.parse("maximize recall subject to 0.3 <= precision <= 0.5")
    assert [str(c) for c in goal.constraints] == ["precision >= 0.3", "precision <= 0.5"]
    one = cost({("a", "b"): 1, (1.0, 10): 2, (10, 1): 3})
    two = cost({(10, 1): 3, ("a", "b"): 1, (1.0, 10): 2})
    assert one == two
    assert str(one) == str(two) == 'cost({("a", "b"): 1, (1, 10): 2, (10, 1): 3})'


PIECES = [
    "(", ")", "[", "]", "{", "}", ",", ".", ":", "=", "==", ">=", "<=", "≥", "≤", "+", "-", "*",
    "/", "**", "//", "%", "@", "!", "~", "^", "|", "&", "->", ":=", "'", '"', '"""', "'''", "\\",
    "\\N{DIGIT ONE}", "\\x", "\\ud800", "#", ";", "\n", "\r", "\t", "\0", "\ud800", "😀", "ﬁ", "é",
    "\u202e", "\xa0", " ", "and", "or", "not", "if", "else", "for", "in", "lambda", "await",
    "yield", "f'", "b'", "rb'", "f'{x}'", "None", "True", "1e999", "1j", "...", "_", "__debug__",
    "subject to", "s.t.", "maximize", "max(", "abs(", "log(", "minimum(", ".on(", ".on({{}: 1})",
    ".min()", ".mean('g')", "(label=1)", "(label=-0)", "*a", "**a", "{**a}", "{a: 1, a: 2}",
    "cost({(a, b): 1})", "cost({[]: 1})", "prior_divergence({a: .5})", "fbeta(2)",
    "9" * 400, str(9**400), "0x" + "f" * 3000, "1_0", "0777", "1.5e308", "-" * 50, "(" * 50,
    "(" * 300, "[" * 300, "{" * 150, "-" * 3900, "not " * 500, "lambda:" * 400, "recall+" * 500,
    "recall*" * 400, ".mean('g')" * 60, "abs(" * 90, "a if a else " * 200, "a." * 900, "a[" * 99,
    "90%", " 5 %", ".5%", "%3", "1_2.5%", "at least", "of at most", "is at least ", "at k",
    "at 90%", " with confidence ", " with confidence .9", " with 99 % confidence", " not in .9",
    "confidence",
    " with ", " where ", " such that ", "(where=1)", "AND", "Maximise", "F1", "TPR", "0,9",
    "1" * 4290, "x" * 3900, "recall, " * 400, "f1 >= 0 and " * 300,
]  # fmt: skip


def mutate(text, r):
    """A few random edits of a text."""
    for _ in range(r.choice([1, 1, 1, 2, 3, 6])):
        i, j = sorted(r.randrange(len(text) + 1) for _ in range(2))
        edit = r.randrange(6)
        if edit == 0:
            text = text[:i] + text[min(j, i + r.randint(1, 4)) :]
        elif edit == 1:
            text = text[:i] + r.choice(PIECES) + text[i:]
        elif edit == 2:
            text = text[:i] + chr(r.choice([r.randrange(128), r.randrange(0x11000)])) + text[i:]
        elif edit == 3:
            text = text[:i] + text[j : j + 1] + text[i + 1 : j] + text[i : i + 1] + text[j + 1 :]
        elif edit == 4:
            text = text[:j] + text[i:j] * r.choice([1, 1, 2, 9]) + text[j:]
        else:
            text = text[:i] + r.choice(PIECES) + text[j:]
    return text


@over("seed, number", [(2, 1_500), *((seed, 10_000) for seed in range(3, 12))], every=10)
def test_mangled_texts_are_one_kind_of_error(seed, number):
    source, r = Random(seed), random.Random(seed)
    texts = [str(source.goal()) for _ in range(200)]
    read = 0
    for k in range(number):
        text = mutate(texts[k % len(texts)], r)
        try:
            goal = Goal.parse(text)
        except GoalSyntaxError:
            continue
        read += 1
        assert Goal.parse(str(goal)) == goal, ascii(text)
    assert 0 < read < number


@over("text", [
    "maximize " + "-" * 3900 + "recall", "maximize " + "(" * 1900 + "recall" + ")" * 1900,
    "maximize " + "recall*" * 560 + "recall", "maximize " + "not " * 900 + "recall",
    "maximize " + "lambda:" * 560 + "recall", "maximize recall" + ".mean('g')" * 300,
    "maximize " + "abs(" * 900 + "recall" + ")" * 90, "maximize recall(label=0x" + "f" * 3900 + ")",
    "maximize recall(label=" + "9" * 3900 + ")", "maximize " + "9" * 3900 + " * recall",
    "maximize recall.on({{}: 1})", "maximize recall.on({(a, {}): 1})",
    "maximize recall(label=1e999)", "maximize recall.on(**{'a': 1})",
    "maximize recall.on(a=1, a=2)", "maximize recall(label=[])", "maximize recall(label={})",
    "maximize (recall := 1)", "maximize recall if 1 else 2", "maximize f'{recall}'",
    "maximize recall.__class__", "maximize recall.__class__()", "maximize __import__('os')",
    "maximize recall(label='\ud800') + \ud800", "maximize recall\0", "maximize (2).min()", "",
    "maximize", "maximize recall subject to", "maximize recall subject to precision",
    "maximize recall subject to precision >= 0.1 or f1 >= 0.2",
    "maximize recall subject to f1 >= 0.2 subject to f1 <= 0.3", "maximize precision >= 0.2",
    "maximize recall subject to precision > 0.5", "maximize recall subject to precision == 0.5",
    "maximize recall subject to 0.2 >= 0.1", "maximize recall # the best",
    None, b"maximize recall", 3, "maximize fbeta", "maximize 3",
])  # fmt: skip
def test_refused_texts(text):
    with pytest.raises(GoalSyntaxError):
        Goal.parse(text)
