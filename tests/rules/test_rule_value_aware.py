import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.rules import Argmax, ClassNames, Mixture, PerSegment, Rule, ValueAware

NAMES = ClassNames(("no", "yes"))
SEX = ((("sex", "F"),), (("sex", "M"),))


def gains(a, b, c, d):
    """The rule that decides 1 where a + b p + c x + d p x > 0, written over p_0 and p_1."""
    return ValueAware(["x"], Argmax([[0.0, 0.0], [0.0, b], [0.0, c], [0.0, c + d]], [0.0, a]))


def test_expanded_scores():
    rule = ValueAware(["x", "y"], Argmax(np.ones((6, 2))))
    np.testing.assert_array_equal(
        rule.expand([[0.25, 0.75, 2.0, -4.0]]), [[0.25, 0.75, 0.5, 1.5, -1.0, -3.0]]
    )
    assert (rule.n_posteriors, rule.score_columns, rule.n_classes) == (2, 4, 2)
    assert rule.value_columns == rule.columns == ("x", "y")
    with pytest.raises(ValueError, match=r"`scores` must have shape \(N, 4\), got \(1, 3\)"):
        rule.expand([[0.25, 0.75, 2.0]])
    with pytest.raises(ValueError, match="1 of 1 rows are NaN or infinite"):
        rule.decide([[0.25, 0.75, 2.0, np.nan]])


def test_decides_by_the_largest_expected_gain():
    rng = np.random.default_rng(0)
    p, x = rng.dirichlet(np.ones(3), size=300), rng.normal(size=(300, 2))
    G = rng.normal(size=(9, 4))
    rule = ValueAware(["x", "y"], Argmax(G, [0.1, 0.2, 0.0, 0.3]))
    by_row = [np.argmax(np.kron([1.0, *x[i]], p[i]) @ G + [0.1, 0.2, 0.0, 0.3]) for i in range(300)]
    scores = np.hstack([p, x])
    assert rule.decide(scores).tolist() == by_row
    assert rule.distribution(scores).argmax(axis=1).tolist() == by_row


def test_long_batches_decide_as_single_rows_do():
    rng = np.random.default_rng(1)
    p = rng.random(70_000)
    scores = np.column_stack([1 - p, p, np.round(rng.exponential(50, size=len(p)), 2)])
    rule = gains(-5.0, 0.1, -0.2, 1.0)
    whole = rule.decide(scores)
    assert 0 < whole.mean() < 1
    for start, step in ((0, 1000), (1, 7777), (65_530, 3)):
        rows = slice(start, None, step)
        assert rule.decide(scores[rows]).tolist() == whole[rows].tolist()
    assert rule.decide(np.asfortranarray(scores)).tolist() == whole.tolist()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("x", Argmax(np.eye(4))), TypeError, "`columns` must be a list of names, got the text"),
        (([], Argmax(np.eye(4))), ValueError, "`columns` must be one or more different names"),
        ((["x", "x"], Argmax(np.eye(6))), ValueError, "`columns` must be one or more different"),
        ((["x", 3], Argmax(np.eye(6))), TypeError, "a column is named by text, got 3"),
        (([""], Argmax(np.eye(4))), TypeError, "a column is named by text, got ''"),
        ((["x"], Argmax(np.eye(3))), ValueError, "`rule`: with 1 columns .* 2 score columns for"),
        ((["x"], gains(1, 1, 1, 1)), TypeError, "`rule` must be an Argmax, got ValueAware"),
    ],
)
def test_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        ValueAware(*arguments)


def test_only_rules_over_the_same_columns_fit_together():
    G = np.eye(4)[:, :2]
    x, y, plain = ValueAware(["x"], Argmax(G)), ValueAware(["y"], Argmax(G)), Argmax(G[:3])
    for other, found in ((y, r"\['x'\] and \['y'\]"), (plain, r"\['x'\] and \[\]")):
        with pytest.raises(ValueError, match=f"same columns of values, got {found}"):
            PerSegment([x, other], SEX)
        with pytest.raises(ValueError, match="same columns of values"):
            Mixture([(0.5, x), (0.5, other)])
    with pytest.raises(ValueError, match=r"by top .* columns of values, got \['x'\]"):
        PerSegment([x, x, x], by="top")
    nested = PerSegment([Mixture([(0.5, x), (0.5, gains(1, 2, 3, 4))]), x], SEX)
    assert nested.value_columns == ("x",)
    assert Rule.from_json(nested.to_json()) == nested


def test_the_format_stays_as_it_is():
    assert gains(-5, 0, 0, 1).to_dict()["rule"] == {
        "type": "value_aware",
        "columns": ["x"],
        "rule": {
            "type": "argmax",
            "G": [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]],
            "offset": [0.0, -5.0],
        },
    }


@pytest.mark.parametrize(
    ("coefficients", "words"),
    [
        ((-5.2, 0, 0, 1), "when the probability times x exceeds 5.2"),
        ((-5.2, 0, 0, 4), "when the probability times x exceeds 1.3"),
        ((5.2, 0, 0, -1), "when the probability times x is below 5.2"),
        ((-0.25, 0.5, 0, 0), "when the probability exceeds 0.5"),
        ((0.25, -0.5, 0, 0), "when the probability is below 0.5"),
        ((-100, 0, 2, 0), "when x exceeds 50"),
        ((0, 0, -2, 0), "when x is below 0"),
        ((1, 0, 0, 0), "for everyone"),
        ((0, 0, 0, 0), "for nobody"),
        ((-1, 0, 0, 0), "for nobody"),
        ((-5, 0, 0, 3.1), "when the probability times x exceeds 1.613"),
        (
            (-5, 0, -0.5, 3.5),
            "when 3.5 times the probability times x minus 0.5 times x exceeds 5",
        ),
        (
            (-5, 2, 1, -3),
            "when 2 times the probability plus x minus 3 times the probability times x exceeds 5",
        ),
        ((5, -2, -1, 0), "when 2 times the probability plus x is below 5"),
    ],
)
def test_words_for_two_classes(coefficients, words):
    assert gains(*coefficients).explain(NAMES) == f"predict 'yes' {words}"


quarters = st.sampled_from(np.arange(-8, 9) / 4)


@given(st.lists(quarters, min_size=12, max_size=12), st.none() | st.tuples(quarters, quarters))
def test_words_say_what_is_decided(entries, offset):
    rule = ValueAware(["x", "y"], Argmax(np.reshape(entries, (6, 2)), offset))
    grid = [(p, x, y) for p in (0.0, 0.3, 0.55, 1.0) for x in (-7.5, 0.2, 3) for y in (-2, 0, 9)]
    p, x, y = np.array(grid).T
    scores = np.column_stack([1 - p, p, x, y])
    totals = rule.rule.totals(rule.expand(scores))
    words = rule.explain(NAMES).removeprefix("predict 'yes' ")
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


def test_what_cancels_is_not_said():
    G = np.array([[0.3, 0.1], [0.1, 0.1 + 0.2 - 0.4], [0.0, 0.0], [0.0, 1.0]])
    assert ValueAware(["x"], Argmax(G)).explain(NAMES) == (
        "predict 'yes' when the probability times x exceeds 0.2"
    )


def test_names_in_words():
    rule = ValueAware(["credit line"], gains(-5, 0, 0, 1).rule)
    words = rule.explain(ClassNames((0, 1), score="the risk"))
    assert words == 'predict 1 when the risk times "credit line" exceeds 5'


def test_words_for_more_answers():
    rule = ValueAware(["x"], Argmax([[1, 0, 0.5], [0, 1, 0], [0, 0, 0], [0, 2, -1]], [0, 0, 3]))
    assert rule.explain(ClassNames(("no", "yes", "defer"))).split("\n") == [
        "predict the class with the largest total, or defer where that of deferring is largest, "
        "where",
        "  the total of 'no' is 1 x the probability of 'no'",
        "  the total of 'yes' is 1 x the probability of 'yes' + 2 x the probability of 'yes' x x",
        "  the total of deferring is 0.5 x the probability of 'no' "
        "- 1 x the probability of 'yes' x x + 3",
    ]
    words = rule.explain(ClassNames(("a", "b", "c"))).split("\n")
    assert words[1] == "  the total of 'a' is 1 x the probability in column 1"


def test_answers_more_than_scores():
    rule = Argmax([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.0, 0.0, 0.8])
    assert rule.decide([[0.9, 0.1], [0.4, 0.6], [0.1, 0.9]]).tolist() == [0, 2, 1]
    assert rule.explain(ClassNames(("a", "b", "defer"))).split("\n") == [
        "predict the class with the largest total, or defer where that of deferring is largest, "
        "where",
        "  the total of 'a' is 1 x the score of 'a'",
        "  the total of 'b' is 1 x the score of 'b'",
        "  the total of deferring is 0.8",
    ]
    assert not ClassNames(("no", "defer")).defers
