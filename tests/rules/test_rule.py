"""What holds for every rule."""

import itertools
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.strategies import rows_for, rules
from setpoint.rules import Argmax, ClassNames, Mixture, PerSegment, Rule, Threshold

SEX = ((("sex", "F"),), (("sex", "M"),))
EDGE = np.nextafter(1.0, 0.0)
seeds = st.integers(0, 2**32 - 1)


@given(rules())
def test_survives_json_dict_and_pickle(rule):
    text = rule.to_json()
    copies = [
        Rule.from_json(text),
        Rule.from_dict(rule.to_dict()),
        pickle.loads(pickle.dumps(rule)),
    ]
    for copy in copies:
        assert copy == rule
        assert hash(copy) == hash(rule)
        assert type(copy) is type(rule)
        assert copy.to_json() == text
    assert json.loads(text)["format"] == 2


@given(rules(), seeds)
def test_decisions_have_the_frequencies_of_the_distribution(rule, seed):
    n_rows, n_draws = 6, 2000
    scores, segments = rows_for(rule, n_rows, seed)
    wanted = rule.distribution(scores, segments)
    assert wanted.shape == (n_rows, rule.n_classes)
    assert wanted.dtype == np.float64
    assert (wanted >= 0).all()
    np.testing.assert_allclose(wanted.sum(axis=1), 1, atol=1e-12)
    rows = np.repeat(np.arange(n_rows), n_draws)
    u = np.tile((np.arange(n_draws) + 0.5) / n_draws, n_rows)
    taken = rule.decide(scores[rows], None if segments is None else segments[rows], u)
    found = np.zeros_like(wanted)
    np.add.at(found, (rows, taken), 1 / n_draws)
    # a decision changes with u at most once an atom (4 of 4 of 4), and is half a stratum off there
    np.testing.assert_allclose(found, wanted, atol=33 / n_draws)


@given(rules(), seeds)
def test_what_is_certain_is_always_decided_and_what_is_impossible_never(rule, seed):
    scores, segments = rows_for(rule, 8, seed)
    chance = rule.distribution(scores, segments)
    for u in (0.0, 0.3, EDGE):
        taken = chance[np.arange(8), rule.decide(scores, segments, np.full(8, u))]
        assert (taken > 0).all()
    if not rule.randomized:
        assert np.isin(chance, [0, 1]).all()


@given(rules(), seeds)
def test_batch_cuts_and_order_do_not_matter(rule, seed):
    scores, segments = rows_for(rule, 12, seed)
    u = np.random.default_rng(seed).random(12)

    def decide(rows):
        return rule.decide(scores[rows], None if segments is None else segments[rows], u[rows])

    whole = decide(slice(None))
    assert whole.dtype == np.int64
    assert whole.tolist() == [int(decide([i])[0]) for i in range(12)]
    assert whole[::-1].tolist() == decide(slice(None, None, -1)).tolist()
    assert decide(slice(0, 0)).shape == (0,)


@given(rules())
def test_explains_itself(rule):
    words = rule.explain(ClassNames(tuple("abcd"[: rule.n_classes])))
    assert "predict" in words or words.endswith("defer everyone")
    assert "nan" not in words


def test_a_binary_decision_is_monotone_in_draw_score_and_threshold():
    u = np.linspace(0, EDGE, 101)
    scores = np.round(np.linspace(-1, 2, 31), 2)
    soft = Mixture([(0.3, Threshold(0.2, 0.7)), (0.3, Threshold(0.6)), (0.4, Threshold(0.9, 0.1))])
    for rule in (Threshold(0.5), Threshold(0.5, 0.4), soft):
        table = np.array([rule.decide(scores, u=np.full(31, v)) for v in u])
        assert (np.diff(table, axis=0) <= 0).all()
        assert (np.diff(table, axis=1) >= 0).all()
    lower, higher = (
        Mixture([(0.3, Threshold(a)), (0.7, Threshold(b))]) for a, b in ((0.1, 0.4), (0.2, 0.6))
    )
    for v in u:
        draws = np.full(31, v)
        assert (lower.decide(scores, u=draws) >= higher.decide(scores, u=draws)).all()


def test_flags():
    two = [Threshold(0.2), Threshold(0.4)]
    by_segment, mixed = PerSegment(two, SEX), Mixture([(0.5, two[0]), (0.5, two[1])])
    assert not by_segment.randomized
    assert by_segment.needs_segments
    assert mixed.randomized
    assert not mixed.needs_segments
    assert PerSegment([two[0], mixed], SEX).randomized
    assert Mixture([(0.5, by_segment), (0.5, two[0])]).segment_keys == SEX
    assert Threshold(0.2, 0.1).randomized
    assert not Threshold(np.inf, 0.1).randomized
    assert by_segment.children == tuple(two)


@pytest.mark.parametrize(
    ("rule", "arguments", "message"),
    [
        (Threshold(0.5), {"scores": [[0.1, 0.9]]}, r"`scores` must have shape \(N,\)"),
        (Threshold(0.5), {"scores": [0.1, np.nan]}, "`scores`: 1 of 2 rows are NaN"),
        (Argmax(np.eye(3)), {"scores": [0.1, 0.9]}, r"`scores` must have shape \(N, 3\)"),
        (Argmax(np.eye(2)), {"scores": [[0.1, np.inf]]}, "`scores`: 1 of 1 rows are NaN or inf"),
        (Threshold(0.5, 0.1), {"scores": [0.1]}, "`u` is needed"),
        (Threshold(0.5, 0.1), {"scores": [0.1], "u": [1.0]}, "`u`: 1 of 1 draws"),
        (Threshold(0.5, 0.1), {"scores": [0.1], "u": [np.nan]}, "`u`: 1 of 1 draws"),
        (Threshold(0.5, 0.1), {"scores": [0.1], "u": 0.5}, "`u` must have shape"),
        (PerSegment([Threshold(0.1)] * 2, SEX), {"scores": [0.1]}, "`segments` is needed"),
        (
            PerSegment([Threshold(0.1)] * 2, SEX),
            {"scores": [0.1] * 4, "segments": [0, -1, 1, 2]},
            r"`segments`: 2 of 4 rows have an unseen segment \(the first is row 1\).*codes 0 to 1",
        ),
        (
            PerSegment([Threshold(0.1)] * 2, SEX),
            {"scores": [0.1], "segments": [0.0]},
            "`segments` must be integer codes",
        ),
        (
            PerSegment([Threshold(0.1)] * 2, SEX),
            {"scores": [0.1], "segments": [0, 1]},
            r"`segments` must have shape \(1,\)",
        ),
    ],
)
def test_a_wrong_argument_is_named(rule, arguments, message):
    with pytest.raises(ValueError, match=message):
        rule.decide(**arguments)


def test_what_is_not_needed_is_ignored():
    assert Threshold(0.5).decide([0.7], segments=["?"], u=[7.0]).tolist() == [1]


def test_names_must_fit():
    with pytest.raises(ValueError, match="2 classes, got 3 names"):
        Threshold(0.5).explain(ClassNames(("a", "b", "c")))
    with pytest.raises(ValueError, match="at least two"):
        ClassNames(("a",))


def test_rules_cannot_be_changed():
    for rule in (Threshold(0.5), Argmax(np.eye(2)), Mixture([(1.0, Threshold(0.5))])):
        with pytest.raises(AttributeError):
            rule.atoms = ()


def test_a_kind_reads_only_itself():
    text = Threshold(0.5).to_json()
    assert Threshold.from_json(text) == Threshold(0.5)
    with pytest.raises(ValueError, match="found a Threshold, expected a Argmax"):
        Argmax.from_json(text)


def test_inequality_of_kinds():
    some = [Threshold(0.5), Threshold(0.5, 0.1), Argmax(np.eye(2)), Argmax(np.eye(2), [0, 0])]
    assert all(a != b for a, b in itertools.combinations(some, 2))
