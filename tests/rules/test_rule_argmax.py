import pickle

import numpy as np
import pytest

from setpoint.rules import Argmax, ClassNames


def test_ties_go_to_the_lowest_class():
    assert Argmax(np.eye(3)).decide([[0.2, 0.4, 0.4], [1, 1, 1], [0, 0, 1]]).tolist() == [1, 0, 2]
    assert Argmax(np.zeros((2, 3))).decide([[0.5, 0.5]]).tolist() == [0]


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("with_offset", [True, False])
def test_is_the_argmax_of_the_product(diagonal, with_offset):
    rng = np.random.default_rng(1)
    scores, G = rng.random((500, 4)), rng.normal(size=(4, 4))
    G = np.diag(np.diag(G)) if diagonal else G
    offset = rng.normal(size=4) if with_offset else None
    totals = scores @ G + (0 if offset is None else offset)
    rule = Argmax(G, offset)
    np.testing.assert_array_equal(rule.decide(scores), totals.argmax(axis=1))
    np.testing.assert_allclose(rule.totals(scores), totals, atol=1e-14)
    np.testing.assert_array_equal(rule.distribution(scores), np.eye(4)[totals.argmax(axis=1)])


def test_more_scores_than_classes_and_fewer():
    scores = np.random.default_rng(2).random((50, 3))
    for n in (2, 5):
        G = np.random.default_rng(n).normal(size=(3, n))
        rule = Argmax(G)
        assert (rule.score_columns, rule.n_classes) == (3, n)
        np.testing.assert_array_equal(rule.decide(scores), (scores @ G).argmax(axis=1))


def test_totals_are_the_same_to_the_last_bit_in_any_batch_and_by_either_road():
    rng = np.random.default_rng(3)
    scores, G = rng.random((70_000, 3)), rng.normal(size=(3, 3))
    for rule in (Argmax(G), Argmax(np.diag(np.diag(G)))):
        totals = rule.totals(scores)
        rows = rng.integers(len(scores), size=200)
        for i in rows:
            np.testing.assert_array_equal(totals[i], rule.totals(scores[i : i + 1])[0])
            by_hand = [
                scores[i, 0] * g[0] + scores[i, 1] * g[1] + scores[i, 2] * g[2] for g in rule.G.T
            ]
            assert totals[i].tolist() == by_hand


def test_weighted_is_the_diagonal():
    assert Argmax.weighted([1, 2.5]) == Argmax([[1, 0], [0, 2.5]])
    assert Argmax.weighted([1, 2], [0, 1]).offset == (0.0, 1.0)
    assert hash(Argmax.weighted([1, -0.0])) == hash(Argmax([[1, 0], [-0.0, 0]]))
    assert Argmax.weighted([1, 2]) != Argmax([[1, 2], [0, 2]])
    assert repr(Argmax.weighted([1, 2], [0, 1])) == "Argmax.weighted((1.0, 2.0), (0.0, 1.0))"
    assert repr(Argmax([[1, 2]])) == "Argmax(((1.0, 2.0),))"
    with pytest.raises(ValueError, match="two or more"):
        Argmax.weighted([1])


def test_a_thousand_class_weights_are_a_thousand_numbers():
    rng = np.random.default_rng(4)
    weights, scores = rng.random(1000), rng.random((20, 1000))
    rule = Argmax.weighted(weights)
    assert (rule.matrix, rule.n_classes, rule.score_columns) == (None, 1000, 1000)
    np.testing.assert_array_equal(rule.decide(scores), (weights * scores).argmax(axis=1))
    assert len(pickle.dumps(rule)) < 20_000
    assert len(rule.to_json()) < 30_000
    assert Argmax.from_json(rule.to_json()) == rule == Argmax(rule.G)


@pytest.mark.parametrize("n", [2, 7, 1000])
def test_decisions_do_not_depend_on_the_batch(n):
    rng = np.random.default_rng(n)
    scores, G = rng.random((203, 6)), rng.normal(size=(6, n))
    rule = Argmax(G, rng.normal(size=n))
    whole = rule.totals(scores)
    for start in (0, 1, 2, 3, 100, 202):
        np.testing.assert_array_equal(rule.totals(scores[start:]), whole[start:])
        np.testing.assert_array_equal(rule.totals(np.asfortranarray(scores))[start:], whole[start:])
    np.testing.assert_array_equal(rule.decide(scores), whole.argmax(axis=1))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1.0, 2.0],), ValueError, "`G` must have 2 dim"),
        (([[1.0], [2.0]],), ValueError, "at least two columns"),
        ((np.zeros((0, 2)),), ValueError, "a row for each score"),
        (([[1.0, np.nan]],), ValueError, "`G` must be finite"),
        (([[1.0, 2.0], [3.0]],), ValueError, "rows differ in length"),
        (([[True, False]],), TypeError, "`G` must hold numbers"),
        (([["1", "2"]],), TypeError, "`G` must hold numbers"),
        (([[1.0, 2.0]], [1.0]), ValueError, r"one entry a class \(2\), got 1"),
        (([[1.0, 2.0]], [1.0, np.inf]), ValueError, "`offset` must be finite"),
    ],
)
def test_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Argmax(*arguments)


def test_words():
    names = ClassNames(("a", "b"))
    assert Argmax(np.eye(2)).explain(names) == "predict the class for which the score is largest"
    assert Argmax.weighted([1, 2.5], [0, -1]).explain(names) == (
        "predict the class for which the score times its weight plus its offset is largest "
        "(weights: 'a' 1, 'b' 2.5; offsets: 'a' 0, 'b' -1)"
    )
    assert Argmax([[1, -0.5], [0, 2]], [0, -3]).explain(names) == (
        "predict the class with the largest total, where\n"
        "  the total of 'a' is 1 x the score of 'a'\n"
        "  the total of 'b' is -0.5 x the score of 'a' + 2 x the score of 'b' - 3"
    )
    assert "2 x the score in column 3" in Argmax([[1, 0], [0, 1], [0, 2]]).explain(names)
