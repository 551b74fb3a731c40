import math

import numpy as np
import pytest

from setpoint.rules import Argmax, ClassNames, Mixture, PerSegment, Threshold, mixture

SEX = ((("sex", "F"),), (("sex", "M"),))
YES = ClassNames(("no", "yes"))
EDGE = np.nextafter(1.0, 0.0)


def test_thresholds_are_sorted_and_one_draw_walks_through_them():
    rule = Mixture([(0.5, Threshold(0.9)), (0.25, Threshold(-math.inf)), (0.25, Threshold(0.4))])
    assert [r.threshold for _, r in rule.atoms] == [-math.inf, 0.4, 0.9]
    for u, atom in ((0.0, 0), (0.2499, 0), (0.25, 1), (0.4999, 1), (0.5, 2), (EDGE, 2)):
        scores = np.array([0.0, 0.4, 0.9])
        one = rule.atoms[atom][1].decide(scores)
        np.testing.assert_array_equal(rule.decide(scores, u=np.full(3, u)), one)


def test_dyadic_probabilities_are_met_exactly():
    p, t = [3 / 64, 17 / 64, 20 / 64, 24 / 64], [0.7, 0.1, 0.5, 0.3]
    rule = Mixture([(q, Threshold(c)) for q, c in zip(p, t, strict=True)])
    scores = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    grid = np.arange(4096) / 4096
    share = np.mean([rule.decide(scores, u=np.full(8, u)) for u in grid], axis=0)
    np.testing.assert_array_equal(share, rule.distribution(scores)[:, 1])


def test_over_more_classes_the_draw_picks_the_atom():
    atoms = [(0.25, Argmax.weighted([1, 1, 5])), (0.75, Argmax.weighted([5, 1, 1]))]
    rule = Mixture(atoms)
    scores = np.random.default_rng(0).random((20, 3))
    for u, k in ((0.0, 0), (0.24, 0), (0.25, 1), (EDGE, 1)):
        wanted = atoms[k][1].decide(scores)
        np.testing.assert_array_equal(rule.decide(scores, u=np.full(20, u)), wanted)
    distribution = sum(p * r.distribution(scores) for p, r in atoms)
    np.testing.assert_allclose(rule.distribution(scores), distribution)


def test_what_is_left_of_a_draw_decides_inside_an_atom():
    a, b, c = (Argmax(np.zeros((3, 3)), np.eye(3)[j]) for j in range(3))
    inner = PerSegment([Mixture([(0.5, b), (0.5, c)]), c], SEX)
    rule = Mixture([(0.5, a), (0.5, inner)])
    scores, segments = np.zeros((4, 3)), np.zeros(4, dtype=int)
    assert rule.decide(scores, segments, [0.49, 0.5, 0.74, 0.75]).tolist() == [0, 1, 1, 2]
    np.testing.assert_array_equal(rule.distribution(scores[:1], [0]), [[0.5, 0.25, 0.25]])


def test_flattened_and_merged():
    a, b = Threshold(0.2), Threshold(0.4)
    inner = Mixture([(0.5, a), (0.5, b)])
    rule = Mixture([(0.5, inner), (0.25, b), (0.25, a)])
    assert rule.atoms == ((0.5, a), (0.5, b))
    assert Mixture([(0.5, b), (0.5, a)]) == inner
    assert Mixture([(0.3, a), (0.7, a)]).atoms == ((1.0, a),)
    assert not Mixture([(1.0, a)]).randomized
    assert mixture([(0.3, a), (0.7, a), (0.0, b)]) == a
    assert mixture([(0.5, a), (0.5, b)]) == inner


def test_normalised_once_and_for_all():
    rng = np.random.default_rng(5)
    for k in (2, 3, 10, 40):
        p = rng.dirichlet(np.ones(k)) * (1 + 5e-10)
        rule = Mixture([(q, Threshold(i)) for i, q in enumerate(p.tolist())])
        assert abs(math.fsum(q for q, _ in rule.atoms) - 1) < 1e-15
        assert Mixture(rule.atoms) == rule
        # every atom agrees: certain, to the last bit
        assert rule.decide([99.0], u=[EDGE]).tolist() == [1]
        assert rule.distribution([99.0]).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("atoms", "error", "message"),
    [
        ([], ValueError, "at least one"),
        ([(0.5, Threshold(0.1)), (0.4, Threshold(0.2))], ValueError, "must sum to 1"),
        ([(1.0, Threshold(0.1)), (0.0, Threshold(0.2))], ValueError, "must be positive"),
        ([(1.5, Threshold(0.1)), (-0.5, Threshold(0.2))], ValueError, "must be positive"),
        ([(math.nan, Threshold(0.1))], ValueError, "NaN"),
        ([(math.inf, Threshold(0.1))], ValueError, "finite"),
        ([(True, Threshold(0.1))], TypeError, "a probability must be a number"),
        ([(1.0, 0.5)], TypeError, "expected a Rule"),
        ([(0.5, Threshold(0.1)), (0.5, Argmax(np.eye(2)))], ValueError, "score columns"),
        (
            [
                (0.5, PerSegment([Threshold(0.1)] * 2, SEX)),
                (0.5, PerSegment([Threshold(0.2)] * 2, SEX[::-1])),
            ],
            ValueError,
            "the same segments in the same order",
        ),
    ],
)
def test_refused(atoms, error, message):
    with pytest.raises(error, match=message):
        Mixture(atoms)


def test_words():
    two = Mixture([(0.37, Threshold(0.4)), (0.63, Threshold(math.inf))])
    assert two.explain(YES) == (
        "with probability 0.37 predict 'yes' when the score is at least 0.4, otherwise for nobody"
    )
    close = Mixture([(0.5, Threshold(0.43125)), (0.5, Threshold(0.43126))])
    assert "0.43125, otherwise when the score is at least 0.43126" in close.explain(YES)
    rare = Mixture([(0.999999, Threshold(0.1)), (0.000001, Threshold(0.2))])
    assert rare.explain(YES).startswith("with probability 0.999999 ")
    by_segment = PerSegment([Threshold(0.1), Threshold(0.2)], SEX)
    assert Mixture([(0.5, by_segment), (0.5, Threshold(0.3))]).explain(YES) == (
        "with probability 0.5:\n"
        "  predict 'yes' when the score is at least 0.3\n"
        "otherwise:\n"
        "  sex = F: predict 'yes' when the score is at least 0.1\n"
        "  sex = M: predict 'yes' when the score is at least 0.2"
    )
    classes = Mixture([(0.5, Argmax.weighted([1, 2, 3])), (0.5, Argmax(np.eye(3)))])
    assert classes.explain(ClassNames(("a", "b", "c"))).endswith(
        "; otherwise predict the class for which the score is largest"
    )
    assert Mixture([(1.0, Threshold(0.5))]).explain(YES) == Threshold(0.5).explain(YES)
