"""What holds for every rule."""

import itertools
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.strategies import rows_for, rules
from setpoint.rules import Argmax, Mixture, PerSegment, Rule, Threshold

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
    compile(rule.to_python(), "exported", "exec")  # columns of several kinds of values too


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


def test_what_is_not_needed_is_ignored_and_rules_cannot_be_changed():
    assert Threshold(0.5).decide([0.7], segments=["?"], u=[7.0]).tolist() == [1]
    for rule in (Threshold(0.5), Argmax(np.eye(2)), Mixture([(1.0, Threshold(0.5))])):
        with pytest.raises(AttributeError):
            rule.atoms = ()


def test_kinds_differ_and_a_kind_reads_only_itself():
    some = [Threshold(0.5), Threshold(0.5, 0.1), Argmax(np.eye(2)), Argmax(np.eye(2), [0, 0])]
    assert all(a != b for a, b in itertools.combinations(some, 2))
    text = Threshold(0.5).to_json()
    assert Threshold.from_json(text) == Threshold(0.5)
    with pytest.raises(ValueError, match="found a Threshold, expected a Argmax"):
        Argmax.from_json(text)
