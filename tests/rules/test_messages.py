"""What rules refuse, and how they explain themselves."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.strategies import rules
from setpoint.goals import Other
from setpoint.rules import (
    Argmax,
    Band,
    ClassNames,
    Mixture,
    PerSegment,
    Threshold,
    ValueAware,
    per_segment,
)
from thinning import over

INF, NAN = float("inf"), float("nan")
SEX = ((("sex", "F"),), (("sex", "M"),))
T, EYE, BAND = Threshold(0.1), Argmax(np.eye(2)), Band(0.3, 0.8)
BY_SEX, TWO_OF_X = PerSegment([T, T], SEX), ValueAware(["x", "y"], Argmax(np.ones((6, 2))))
YES, DEFERS = ClassNames(("no", "yes")), ClassNames(("no", "yes", "defer"))


@over("kind, arguments, error, message", [
    (Threshold, (NAN,), ValueError, "`threshold` must not be NaN"),
    (Threshold, (True,), TypeError, "`threshold` must be a number"),
    (Threshold, ("0.5",), TypeError, "`threshold` must be a number"),
    (Threshold, (10**400,), ValueError, "`threshold` is too large"),
    (Threshold, (0.5, -0.1), ValueError, "`width` must be at least 0"),
    (Threshold, (0.5, INF), ValueError, "`width` must be at least 0 and finite"),
    (Band, (0.6, 0.5), ValueError, r"`low` must be at most `high` \(0.5\), got 0.6"),
    (Band, (NAN, 0.5), ValueError, "`low` must not be NaN"),
    (Band, (0.5, "1"), TypeError, "`high` must be a number"),
    (Argmax, ([1.0, 2.0],), ValueError, "`G` must have 2 dim"),
    (Argmax, ([[1.0], [2.0]],), ValueError, "at least two columns"),
    (Argmax, (np.zeros((0, 2)),), ValueError, "a row for each score"),
    (Argmax, ([[1.0, NAN]],), ValueError, "`G` must be finite"),
    (Argmax, ([[1.0, 2.0], [3.0]],), ValueError, "rows differ in length"),
    (Argmax, ([[True, False]],), TypeError, "`G` must hold numbers"),
    (Argmax, ([[1.0, 2.0]], [1.0]), ValueError, r"one entry a class \(2\), got 1"),
    (Argmax, ([[1.0, 2.0]], [1.0, INF]), ValueError, "`offset` must be finite"),
    (Argmax.weighted, ([1],), ValueError, "two or more"),
    (ValueAware, ("x", EYE), TypeError, "`columns` must be a list of names, got the text"),
    (ValueAware, ([], EYE), ValueError, "`columns` must be one or more different names"),
    (ValueAware, (["x", 3], EYE), TypeError, "a column is named by text, got 3"),
    (ValueAware, (["x"], Argmax(np.eye(3))), ValueError, "`rule`: with 1 columns .* 2 score colu"),
    (ValueAware, (["x"], TWO_OF_X), TypeError, "`rule` must be an Argmax, got ValueAware"),
    (Mixture, ([],), ValueError, "at least one"),
    (Mixture, ([(0.5, T), (0.4, Threshold(0.2))],), ValueError, "must sum to 1"),
    (Mixture, ([(1.5, T), (-0.5, Threshold(0.2))],), ValueError, "must be positive"),
    (Mixture, ([(NAN, T)],), ValueError, "NaN"), (Mixture, ([(INF, T)],), ValueError, "finite"),
    (Mixture, ([(True, T)],), TypeError, "a probability must be a number"),
    (Mixture, ([(1.0, 0.5)],), TypeError, "expected a Rule"),
    (Mixture, ([(0.5, T), (0.5, EYE)],), ValueError, "score columns"),
    (Mixture, ([(0.5, BY_SEX), (0.5, PerSegment([T, T], SEX[::-1]))],), ValueError,
     "the same segments in the same order"),
    (PerSegment, ([T], SEX), ValueError, "2 segments need as many rules, got 1"),
    (PerSegment, ([], ()), ValueError, "at least one is needed"),
    (PerSegment, ([0.1, 0.2], SEX), TypeError, "expected a Rule"),
    (per_segment, ([0.1], [()]), TypeError, "expected a Rule"),
    (PerSegment, ([T, T], SEX, "group"), ValueError, "`by` must be"),
    (PerSegment, ([T, T], (SEX[0], SEX[0])), ValueError, "could be in both"),
    (PerSegment, ([T, T], (SEX[0], (("sex", Other(("M",))),))), ValueError,
     "could be in both 'sex = F' and 'sex other than M'"),
    (PerSegment, ([T, T], (SEX[0], (("age", 1),))), ValueError, "the same columns"),
    (PerSegment, ([T], [()]), ValueError, "at least one column"),
    (PerSegment, ([T], [(("a", 1), ("a", 2))]), ValueError, "named twice"),
    (PerSegment, ([T], [(("a", None),)]), TypeError, "value of 'a'"),
    (PerSegment, ([T], [((1, 1),)]), TypeError, "named by text"),
    (PerSegment, ([T, EYE], SEX), ValueError, "score columns"),
    (PerSegment, ([BAND, T], SEX), ValueError, "same classes, got 3 and 2"),
    (PerSegment, ([BY_SEX, BY_SEX], SEX), ValueError, "must not look at segments"),
    (PerSegment, ([EYE] * 3, (), "top"), ValueError, r"score column \(2\), got 3"),
    (PerSegment, ([EYE] * 2, SEX, "top"), ValueError, "a rule by top has none"),
    (ClassNames, (("a",),), ValueError, "at least two"),
    (T.explain, (ClassNames(("a", "b", "c")),), ValueError, "2 classes, got 3 names"),
    (T.decide, ([[0.1, 0.9]],), ValueError, r"`scores` must have shape \(N,\)"),
    (T.decide, ([0.1, NAN],), ValueError, "`scores`: 1 of 2 rows are NaN"),
    (EYE.decide, ([0.1, 0.9],), ValueError, r"`scores` must have shape \(N, 2\)"),
    (TWO_OF_X.expand, ([[1, 2, 0]],), ValueError, r"must have shape \(N, 4\), got \(1, 3\)"),
    (TWO_OF_X.decide, ([[1, 2, 0, NAN]],), ValueError, "1 of 1 rows are NaN or infinite"),
    (Threshold(0.5, 0.1).decide, ([0.1],), ValueError, "`u` is needed"),
    (Threshold(0.5, 0.1).decide, ([0.1], None, [1.0]), ValueError, "`u`: 1 of 1 draws"),
    (Threshold(0.5, 0.1).decide, ([0.1], None, 0.5), ValueError, "`u` must have shape"),
    (BY_SEX.decide, ([0.1],), ValueError, "`segments` is needed"),
    (BY_SEX.decide, ([0.1] * 4, [0, -1, 1, 2]), ValueError,
     r"`segments`: 2 of 4 rows have an unseen segment \(the first is row 1\).*codes 0 to 1"),
    (BY_SEX.decide, ([0.1], [0.0]), ValueError, "`segments` must be integer codes"),
    (BY_SEX.decide, ([0.1], [0, 1]), ValueError, r"`segments` must have shape \(1,\)"),
    (BY_SEX.segment_codes, ({f"c{i}": ["F"] for i in range(100)},), ValueError,
     r"got only \['c0', .*'c15'\] and 92 more$"),
    (BY_SEX.segment_codes, ({"age": [1]},), ValueError, r"looks at \['sex'\], got only \['age'\]"),
    (BY_SEX.segment_codes, ({"sex": [["F"]]},), ValueError, "one-dimensional"),
    (BY_SEX.segment_codes, ({"sex": np.array([["F"], None], dtype=object)},), TypeError,
     "'sex' holds a value of a wrong kind"),
    (T.segment_codes, ({"sex": ["F"]},), ValueError, "looks at no segment"),
    (BY_SEX.segment_codes, (["F"],), TypeError,
     r"`columns`: a dict from \['sex'\] to arrays, got a list; say which column it is"),
    (PerSegment([T], [(("age", 1), ("sex", "F"))]).segment_codes,
     ({"sex": ["F"], "age": [1, 2]},), ValueError, "'sex' has 1 rows, 'age' 2"),
])  # fmt: skip
def test_refused(kind, arguments, error, message):
    with pytest.raises(error, match=message):
        kind(*arguments)


LARGEST = "predict the class for which the score is largest"
BETWEEN = "and defer in between"


@over("rule, names, words", [
    (Threshold(0.431249), YES, "predict 'yes' when the score is at least 0.4312"),
    (Threshold(-INF), YES, "predict 'yes' for everyone"),
    (Threshold(INF), YES, "predict 'yes' for nobody"),
    (Threshold(0.5, 0.2), YES,
     "predict 'yes' with a probability that rises from 0 to 1 as the score goes from 0.4 to 0.6"),
    (Threshold(0.5), ClassNames((0, 1), score="the risk"),
     "predict 1 when the risk is at least 0.5"),
    (BAND, DEFERS, "predict 'yes' when the score is at least 0.8, 'no' when it is below 0.3, "
     + BETWEEN),
    (Band(0.300001, 0.300002), DEFERS, "predict 'yes' when the score is at least 0.300002, "
     "'no' when it is below 0.300001, " + BETWEEN),
    (Band(0.5, 0.5), DEFERS,
     "predict 'yes' when the score is at least 0.5, else 'no', defer nobody"),
    (Band(-INF, INF), DEFERS, "defer everyone"),
    (Band(-INF, -INF), DEFERS, "predict 'yes' for everyone"),
    (Band(INF, INF), DEFERS, "predict 'no' for everyone"),
    (Band(-INF, 0.8), DEFERS, "predict 'yes' when the score is at least 0.8, else defer"),
    (Band(0.3, INF), DEFERS, "predict 'no' when the score is below 0.3, else defer"),
    (Mixture([(0.25, Band(-INF, INF)), (0.75, Band(-INF, 0.5))]), DEFERS,
     "with probability 0.25 defer everyone; "
     "otherwise predict 'yes' when the score is at least 0.5, else defer"),
    (EYE, YES, LARGEST),
    (Argmax.weighted([1, 2.5], [0, -1]), YES,
     "predict the class for which the score times its weight plus its offset is largest "
     "(weights: 'no' 1, 'yes' 2.5; offsets: 'no' 0, 'yes' -1)"),
    (Argmax([[1, -0.5], [0, 2]], [0, -3]), YES,
     "predict the class with the largest total, where\n"
     "  the total of 'no' is 1 x the score of 'no'\n"
     "  the total of 'yes' is -0.5 x the score of 'no' + 2 x the score of 'yes' - 3"),
    (Argmax([[1, 0], [0, 1], [0, 2]]), YES, "2 x the score in column 3"),
    (Argmax([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.0, 0.0, 0.8]), DEFERS,
     "predict the class with the largest total, or defer where that of deferring is largest, "
     "where\n  the total of 'no' is 1 x the score of 'no'\n"
     "  the total of 'yes' is 1 x the score of 'yes'\n  the total of deferring is 0.8"),
    (Mixture([(0.37, Threshold(0.4)), (0.63, Threshold(INF))]), YES,
     "with probability 0.37 predict 'yes' when the score is at least 0.4, otherwise for nobody"),
    (Mixture([(0.5, Threshold(0.43125)), (0.5, Threshold(0.43126))]), YES,
     "0.43125, otherwise when the score is at least 0.43126"),
    (Mixture([(0.999999, T), (0.000001, Threshold(0.2))]), YES, "with probability 0.999999 "),
    (Mixture([(0.5, PerSegment([T, Threshold(0.2)], SEX)), (0.5, Threshold(0.3))]), YES,
     "with probability 0.5:\n  predict 'yes' when the score is at least 0.3\n"
     "otherwise:\n  sex = F: predict 'yes' when the score is at least 0.1\n"
     "  sex = M: predict 'yes' when the score is at least 0.2"),
    (Mixture([(0.5, Argmax.weighted([1, 2])), (0.5, EYE)]), YES, f"; otherwise {LARGEST}"),
    (Mixture([(1.0, T)]), YES, "predict 'yes' when the score is at least 0.1"),
    (PerSegment([Threshold(0.123456), Threshold(0.123457)],
                [(("country", "IN"),), (("country", Other(("IN", "US"))),)]), YES,
     "country = IN: predict 'yes' when the score is at least 0.123456\n"
     "country other than IN, US: predict 'yes' when the score is at least 0.123457"),
    (PerSegment([PerSegment([EYE, Argmax.weighted([1, 2])], by="top"), EYE], SEX), YES,
     f"sex = F:\n  where the score of 'no' is largest: {LARGEST}\n"
     "  where the score of 'yes' is largest: predict the class for which the score times its "
     f"weight is largest (weights: 'no' 1, 'yes' 2)\nsex = M: {LARGEST}"),
])  # fmt: skip
def test_words(rule, names, words):
    said = rule.explain(names)
    whole = words.startswith(("predict", "defer", "sex", "country")) or "\n" in words
    assert said == words if whole else words in said


@given(rules())
def test_every_rule_explains_itself(rule):
    words = rule.explain(ClassNames(tuple("abcd"[: rule.n_classes])))
    assert "predict" in words or words.endswith("defer everyone")
    assert "nan" not in words


# ---------------------------------------------------------------------- columns of values
def gains(a, b, c, d, column="x"):
    """The rule that decides 1 where a + b p + c x + d p x > 0, written over p_0 and p_1."""
    return ValueAware([column], Argmax([[0.0, 0.0], [0.0, b], [0.0, c], [0.0, c + d]], [0.0, a]))


@over("coefficients, words", [
    ((-5.2, 0, 0, 1), "when the probability times x exceeds 5.2"),
    ((-5.2, 0, 0, 4), "when the probability times x exceeds 1.3"),
    ((5.2, 0, 0, -1), "when the probability times x is below 5.2"),
    ((-0.25, 0.5, 0, 0), "when the probability exceeds 0.5"),
    ((0.25, -0.5, 0, 0), "when the probability is below 0.5"),
    ((-100, 0, 2, 0), "when x exceeds 50"), ((0, 0, -2, 0), "when x is below 0"),
    ((1, 0, 0, 0), "for everyone"), ((0, 0, 0, 0), "for nobody"), ((-1, 0, 0, 0), "for nobody"),
    ((-5, 0, 0, 3.1), "when the probability times x exceeds 1.613"),
    ((-5, 0, -0.5, 3.5), "when 3.5 times the probability times x minus 0.5 times x exceeds 5"),
    ((-5, 2, 1, -3),
     "when 2 times the probability plus x minus 3 times the probability times x exceeds 5"),
    ((5, -2, -1, 0), "when 2 times the probability plus x is below 5"),
])  # fmt: skip
def test_words_for_two_classes(coefficients, words):
    assert gains(*coefficients).explain(YES) == f"predict 'yes' {words}"
    of_risk = gains(*coefficients, "credit line").explain(ClassNames((0, 1), score="the risk"))
    named = re.sub(r"\bx\b", '"credit line"', words).replace("the probability", "the risk")
    assert of_risk == f"predict 1 {named}"


quarters = st.sampled_from(np.arange(-8, 9) / 4)


@given(st.lists(quarters, min_size=12, max_size=12), st.none() | st.tuples(quarters, quarters))
def test_words_say_what_is_decided(entries, offset):
    rule = ValueAware(["x", "y"], Argmax(np.reshape(entries, (6, 2)), offset))
    grid = [(p, x, y) for p in (0.0, 0.3, 0.55, 1.0) for x in (-7.5, 0.2, 3) for y in (-2, 0, 9)]
    p, x, y = np.array(grid).T
    scores = np.column_stack([1 - p, p, x, y])
    totals = rule.rule.totals(rule.expand(scores))
    words = rule.explain(YES).removeprefix("predict 'yes' ")
    if words in ("for everyone", "for nobody"):
        said = np.full(len(p), words == "for everyone")
    else:
        source = words.removeprefix("when ").replace("the probability", "p")
        for word, sign in {"times": "*", "plus": "+", "minus": "-", "exceeds": ">"}.items():
            source = re.sub(rf"\b{word}\b", sign, source)
        source = source.replace("is below", "<")
        said = eval(source, {"p": p, "x": x, "y": y})  # noqa: S307  (our own words)
    clear = np.abs(totals[:, 1] - totals[:, 0]) > 0.02  # the words are rounded
    assert said[clear].tolist() == (rule.decide(scores) == 1)[clear].tolist()


def test_words_of_values_for_more_answers():
    rule = ValueAware(["x"], Argmax([[1, 0, 0.5], [0, 1, 0], [0, 0, 0], [0, 2, -1]], [0, 0, 3]))
    assert rule.explain(DEFERS).split("\n")[1:] == [
        "  the total of 'no' is 1 x the probability of 'no'",
        "  the total of 'yes' is 1 x the probability of 'yes' + 2 x the probability of 'yes' x x",
        "  the total of deferring is 0.5 x the probability of 'no' "
        "- 1 x the probability of 'yes' x x + 3",
    ]
    words = rule.explain(ClassNames(("a", "b", "c"))).split("\n")
    assert words[1] == "  the total of 'a' is 1 x the probability in column 1"
    assert not ClassNames(("no", "defer")).defers
    # What classes share is a constant, and columns whose sizes are one size have size 1.
    plain = ValueAware(["x"], Argmax([[0, 0, 0.5], [0, 0, 0.5], [2, 0, 0], [0, 2, 0]], [0, 0, 1]))
    assert plain.explain(DEFERS).split("\n")[1:] == [
        "  the total of 'no' is 1 x the probability of 'no' x x",
        "  the total of 'yes' is 1 x the probability of 'yes' x x",
        "  the total of deferring is 0.75",
    ]
