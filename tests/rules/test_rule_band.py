import numpy as np
import pytest

from setpoint.rules import Band, ClassNames, Mixture, PerSegment, Rule, Threshold

INF = float("inf")
NAMES = ClassNames(("no", "yes", "defer"))
SEX = ((("sex", "F"),), (("sex", "M"),))


def test_ties_belong_to_the_upper_part():
    low, high = 0.1 + 0.2, 0.8
    scores = [np.nextafter(low, 0), low, low, np.nextafter(high, 0), high]
    assert Band(low, high).decide(scores).tolist() == [0, 2, 2, 2, 1]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Band(-INF, INF), [2, 2, 2, 2, 2]),
        (Band(-INF, -INF), [1, 1, 1, 1, 1]),
        (Band(INF, INF), [0, 0, 0, 0, 0]),
        (Band(-INF, 0.5), [2, 2, 2, 1, 1]),
        (Band(0.5, INF), [0, 0, 0, 2, 2]),
        (Band(0.5, 0.5), [0, 0, 0, 1, 1]),
    ],
)
def test_infinite_cut_offs(rule, expected):
    scores = [-INF, -1e308, 0.0, 1e308, INF]
    assert rule.decide(scores).tolist() == expected
    assert rule.distribution(scores).argmax(axis=1).tolist() == expected
    assert Rule.from_json(rule.to_json()) == rule


def test_equal_cut_offs_are_a_threshold():
    scores = np.round(np.random.default_rng(0).random(200), 2)
    for t in (-INF, 0.0, 0.37, INF):
        assert Band(t, t).decide(scores).tolist() == Threshold(t).decide(scores).tolist()


def test_plain_data():
    rule = Band(np.float32(0.5), np.int64(1))
    assert rule == Band(0.5, 1.0)
    assert type(rule.low) is type(rule.high) is float
    assert str(Band(-0.0, 0.0).low) == "0.0"
    assert (rule.n_classes, rule.score_columns, rule.randomized) == (3, None, False)
    assert (rule.value_columns, rule.children) == ((), ())
    assert Band(-INF, 0.5).to_dict()["rule"] == {"type": "band", "low": "-inf", "high": 0.5}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0.6, 0.5), ValueError, r"`low` must be at most `high` \(0.5\), got 0.6"),
        ((INF, 0.5), ValueError, "`low` must be at most"),
        ((float("nan"), 0.5), ValueError, "`low` must not be NaN"),
        ((0.5, float("nan")), ValueError, "`high` must not be NaN"),
        ((True, 2), TypeError, "`low` must be a number"),
        ((0.5, "1"), TypeError, "`high` must be a number"),
    ],
)
def test_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Band(*arguments)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            Band(0.3, 0.8),
            "predict 'yes' when the score is at least 0.8, 'no' when it is below 0.3, "
            "and defer in between",
        ),
        (Band(0.5, 0.5), "predict 'yes' when the score is at least 0.5, else 'no', defer nobody"),
        (Band(-INF, INF), "defer everyone"),
        (Band(-INF, -INF), "predict 'yes' for everyone"),
        (Band(INF, INF), "predict 'no' for everyone"),
        (Band(-INF, 0.8), "predict 'yes' when the score is at least 0.8, else defer"),
        (Band(0.3, INF), "predict 'no' when the score is below 0.3, else defer"),
        (
            Band(0.300001, 0.300002),
            "predict 'yes' when the score is at least 0.300002, 'no' when it is below 0.300001, "
            "and defer in between",
        ),
    ],
)
def test_words(rule, words):
    assert rule.explain(NAMES) == words


def test_words_of_rules_made_of_bands():
    by_segment = PerSegment([Band(0.3, 0.8), Band(-INF, 0.5)], SEX)
    assert by_segment.explain(NAMES).split("\n") == [
        "sex = F: predict 'yes' when the score is at least 0.8, 'no' when it is below 0.3, "
        "and defer in between",
        "sex = M: predict 'yes' when the score is at least 0.5, else defer",
    ]
    mixed = Mixture([(0.25, Band(-INF, INF)), (0.75, Band(-INF, 0.5))])
    assert mixed.explain(NAMES) == (
        "with probability 0.25 defer everyone; "
        "otherwise predict 'yes' when the score is at least 0.5, else defer"
    )


def test_a_draw_picks_the_band():
    rule = Mixture([(0.25, Band(0.2, 0.9)), (0.75, Band(0.4, 0.6))])
    scores = np.full(3, 0.3)
    assert rule.decide(scores, u=[0.0, 0.24, 0.25]).tolist() == [2, 2, 0]
    np.testing.assert_array_equal(rule.distribution(scores[:1]), [[0.75, 0.0, 0.25]])


def test_a_band_fits_no_rule_of_two_answers():
    with pytest.raises(ValueError, match="same classes, got 3 and 2"):
        PerSegment([Band(0.3, 0.8), Threshold(0.5)], SEX)
