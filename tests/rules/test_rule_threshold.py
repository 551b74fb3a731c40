import numpy as np
import pytest

from setpoint.rules import ClassNames, Threshold

YES = ClassNames(("no", "yes"))
INF = float("inf")


def test_a_tie_is_positive_and_never_split():
    t = 0.1 + 0.2
    below = np.nextafter(t, 0)
    assert Threshold(t).decide([below, t, t, np.nextafter(t, 1)]).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("width", [0.0, 1.0])
def test_infinite_thresholds(width):
    scores = [-INF, -1e308, 0.0, 1e308, INF]
    assert Threshold(-INF, width).decide(scores).tolist() == [1] * 5
    assert Threshold(INF, width).decide(scores).tolist() == [0] * 5
    assert Threshold(INF, width).distribution(scores)[:, 0].tolist() == [1] * 5


def test_soft_edge():
    scores = np.linspace(-1, 2, 301)
    soft = Threshold(0.5, 0.4).distribution(scores)[:, 1]
    np.testing.assert_array_equal(soft, np.clip((scores - 0.5) / 0.4 + 0.5, 0, 1))
    assert Threshold(1e308, 1e-300).distribution([-1e308, INF])[:, 1].tolist() == [0, 1]


def test_a_narrow_edge_becomes_the_hard_one():
    scores = np.array([0.3, 0.4999, 0.5001, 0.8])
    hard = Threshold(0.5).distribution(scores)
    np.testing.assert_array_equal(Threshold(0.5, 1e-9).distribution(scores), hard)


def test_plain_floats():
    rule = Threshold(np.float32(0.5), np.int64(1))
    assert rule == Threshold(0.5, 1.0)
    assert type(rule.threshold) is type(rule.width) is float
    assert str(Threshold(-0.0).threshold) == "0.0"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((float("nan"),), ValueError, "`threshold` must not be NaN"),
        ((True,), TypeError, "`threshold` must be a number"),
        ((np.True_,), TypeError, "`threshold` must be a number"),
        (("0.5",), TypeError, "`threshold` must be a number"),
        ((None,), TypeError, "`threshold` must be a number"),
        ((10**400,), ValueError, "`threshold` is too large"),
        ((0.5, -0.1), ValueError, "`width` must be at least 0"),
        ((0.5, INF), ValueError, "`width` must be at least 0 and finite"),
        ((0.5, float("nan")), ValueError, "`width` must not be NaN"),
    ],
)
def test_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Threshold(*arguments)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Threshold(0.431249), "predict 'yes' when the score is at least 0.4312"),
        (Threshold(-INF), "predict 'yes' for everyone"),
        (Threshold(INF), "predict 'yes' for nobody"),
        (
            Threshold(0.5, 0.2),
            "predict 'yes' with a probability that rises from 0 to 1 "
            "as the score goes from 0.4 to 0.6",
        ),
    ],
)
def test_words(rule, words):
    assert rule.explain(YES) == words


def test_words_with_own_names():
    words = Threshold(0.5).explain(ClassNames((0, 1), score="the risk"))
    assert words == "predict 1 when the risk is at least 0.5"
