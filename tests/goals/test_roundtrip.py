"""What is written reads back equal; what is mangled is one kind of error."""

import random

import pytest

from goals.samples import LABELS, NAMES, Random
from setpoint.errors import GoalSyntaxError
from setpoint.goals import VOCABULARY, Goal
from thinning import over

recall, cost, precision = (VOCABULARY[name] for name in ("recall", "cost", "precision"))


@over("seed, number", [(0, 400), *((seed, 1_000) for seed in range(1, 10))], every=10)
def test_random_goals_read_back_equal(seed, number):
    source = Random(seed)
    for _ in range(number):
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


@over("seed, number", [(2, 700), *((seed, 4_000) for seed in range(3, 12))], every=10)
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
    "maximize recall.on(a=1, a=2)", "maximize cost({(a, b): 1, (a, b): 2})",
    "maximize recall(label=[])", "maximize recall(label={})",
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
