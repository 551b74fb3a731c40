"""Parts of the data, on whatever machine: one codebook, and answers that add up."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from setpoint.counts import Evidence, Rows
from setpoint.errors import EmptyPopulationError
from setpoint.goals import Requirements
from setpoint.rules import Argmax, Threshold, per_segment

CLASSES = ("no", "yes")
NEEDS = Requirements({None: {"g": None, "h": frozenset({"x"})}}, frozenset({None}))


def arrays(n=600, seed=0):
    rng = np.random.default_rng(seed)
    g = np.array(["a", "b", "rare"])[np.minimum(rng.integers(0, 20, n) // 9, 2)]
    return {
        "scores": np.round(rng.random(n), 2),
        "true": rng.integers(0, 3, n),
        "weight": rng.integers(1, 4, n) / 2.0,
        "g": g,
        "h": np.array(["x", "y", "z"])[rng.integers(0, 3, n)],
        "baseline": rng.integers(0, 2, n),
    }


def rows_of(a, part=slice(None), codebook=None):
    return Rows.from_arrays(
        CLASSES, a["true"][part], len(a["true"][part]), needs=NEEDS, weight=a["weight"][part],
        columns={"g": a["g"][part], "h": a["h"][part]}, baseline=a["baseline"][part],
        decide_on=("g",), codebook=codebook,
    )  # fmt: skip


def test_later_rows_are_encoded_as_the_first_were():
    a = arrays()
    everything = rows_of(a)
    assert len(everything.codebook.strata) == 12
    order = np.random.default_rng(1).permutation(600)
    for part in (order, order[:40], np.flatnonzero(a["g"] != "rare"), np.zeros(0, np.int64)):
        found = rows_of(a, part, everything.codebook)
        assert found.codebook is everything.codebook
        np.testing.assert_array_equal(found.stratum, everything.stratum[part])
        assert found.marginals.weights.shape == everything.marginals.weights.shape


def test_rows_of_an_unknown_stratum_are_named():
    a = arrays()
    codebook = rows_of(a, a["g"] != "rare").codebook
    with pytest.raises(EmptyPopulationError, match="g = rare, and there were none before"):
        rows_of(a, codebook=codebook)
    never = (a["g"] == "a") & (a["h"] == "x") & (a["baseline"] == 1)
    codebook = rows_of(a, ~never).codebook
    with pytest.raises(EmptyPopulationError, match=r"g = a, h = x, deployed 1, and there were"):
        rows_of(a, codebook=codebook)
    codebook = rows_of(a, a["h"] != "x").codebook  # knows x as what the others are not
    with pytest.raises(EmptyPopulationError, match=r"h = x, and there were none before"):
        rows_of(a, codebook=codebook)
    with pytest.raises(EmptyPopulationError, match="'audit'"):
        Rows.from_arrays(CLASSES, None, 3, dataset="audit", codebook=codebook)


@pytest.mark.parametrize("soft", [False, True])
def test_answers_of_parts_add_up(soft):
    a = arrays()
    everything = rows_of(a)
    eta = np.stack([1 - a["scores"], a["scores"]], axis=1)
    parts = [np.arange(250), np.arange(250, 251), np.arange(251, 600)]
    whole = Evidence(everything, eta)
    pieces = [Evidence(rows_of(a, p, everything.codebook), eta[p]) for p in parts]
    rule = per_segment([Argmax(np.eye(2)), Argmax.weighted([0.2, 0.8]), Argmax(np.eye(2))],
                       whole.segments)  # fmt: skip
    one, two, three = (p.confusion(rule) for p in pieces)
    np.testing.assert_allclose((one + two + three).counts, whole.confusion(rule).counts)
    if soft:
        whole, pieces = whole.with_posteriors(), [p.with_posteriors() for p in pieces]
    marginals = pieces[0].marginals + pieces[1].marginals + pieces[2].marginals
    np.testing.assert_allclose(marginals.weights, whole.marginals.weights)
    np.testing.assert_array_equal(marginals.smallest, whole.marginals.smallest)
    blocks = whole.blocks(np.array([0, 1]))
    G = np.random.default_rng(0).normal(size=(3, 2, 2))
    np.testing.assert_allclose(
        sum(p.tensor_counts(G, p.blocks(np.array([0, 1]))) for p in pieces),
        whole.tensor_counts(G, blocks),
    )
    W, B = np.random.default_rng(1).random((2, 3, 2))
    for k in (0, 1):
        np.testing.assert_allclose(
            sum(p.block_features(W, B, p.blocks())[k] for p in pieces),
            whole.block_features(W, B, whole.blocks())[k],
        )


def test_values_that_look_alike_are_named_in_one_order():
    named = (124, "124", 125, "125", 126, "126", 127, "127")  # hashes that sets put last
    needs = Requirements({None: {"g": frozenset(named)}})
    rows = Rows.from_arrays(CLASSES, None, 1, needs=needs, columns={"g": np.array(["other"])})
    assert dict(rows.codebook.strata[0].key)["g"].than == named


def test_parts_that_were_stored_can_be_joined():
    a = arrays()
    everything = rows_of(a)
    parts = [Evidence(everything.take(p), a["scores"][p]) for p in (slice(99), slice(99, 600))]
    joined = Evidence.concat(pickle.loads(pickle.dumps(parts)))
    np.testing.assert_array_equal(joined.rows.kind, everything.kind)
    np.testing.assert_array_equal(joined.scores, a["scores"])
    with pytest.raises(ValueError, match="before it is given posteriors"):
        Evidence.concat([joined.with_posteriors(np.ones((600, 2)) / 2)])


def test_a_rule_is_counted_as_its_decisions_are():
    a = arrays()
    whole = Evidence(rows_of(a), a["scores"])
    rule = per_segment([Threshold(0.2), Threshold(0.5), Threshold(0.8)], whole.segments)
    cut = np.array([0.2, 0.5, 0.8])[whole.rows.segment]
    expected = whole.rows.confusion((a["scores"] >= cut).astype(int))
    np.testing.assert_array_equal(whole.confusion(rule).counts, expected.counts)
    np.testing.assert_array_equal(whole.confusion(rule).products, expected.products)
    assert whole.undecided(rule) == 0.0
