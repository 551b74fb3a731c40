"""Rows that count by columns, and parts of the data: one codebook, and answers that add up."""

from __future__ import annotations

import numpy as np
import pytest

from setpoint import Goal
from setpoint.counts import DEFERRED, Evidence, Measure, Rows
from setpoint.errors import EmptyPopulationError, InputError
from setpoint.goals import Requirements
from setpoint.rules import Argmax, per_segment
from thinning import over

# ---------------------------------------------------------------------- columns of numbers
GOAL = Goal.parse(
    "maximize profit(tp=x - z, fp=-1) subject to recall.weighted(x).difference(g) <= 1"
)


def sample(n=50, seed=0, **columns):
    """True classes, decisions, columns and weights."""
    rng = np.random.default_rng(seed)
    known = {
        "x": rng.exponential(2.0, n).round(2), "z": rng.normal(size=n).round(2),
        "g": np.array(["a", "b"])[rng.integers(0, 2, n)],
    } | columns  # fmt: skip
    return rng.integers(0, 2, n), rng.integers(0, 2, n), known, rng.integers(1, 4, n) * 1.0


def measured(true, known, weight=None, **more):
    how = {"needs": GOAL.needs, "columns": known, "weight": weight}
    return Rows.from_arrays((0, 1), true, len(true), **how, **more)


def by_hand(true, decided, known, weight):
    """Counts of the strata a and b, then by x, by z above 0 and below; and all products."""
    m = [np.ones(len(true)), known["x"], np.maximum(known["z"], 0), np.maximum(-known["z"], 0)]
    counts, products = np.zeros((4, 2, 3, 2)), np.zeros((4, 4, 2, 3, 2))
    for i in range(len(true)):
        at = "ab".index(known["g"][i]), true[i], decided[i]
        for k in range(4):
            counts[(k, *at)] += weight[i] * m[k][i]
            for j in range(4):
                products[(j, k, *at)] += weight[i] ** 2 * m[j][i] * m[k][i]
    return counts.reshape(8, 3, 2), products


@over("weighted", [False, True])
def test_a_table_for_each_measure(weighted):
    true, decided, known, weight = sample()
    weight = weight if weighted else np.ones(len(true))
    rows = measured(true, known, weight if weighted else None)
    assert rows.codebook.measures == (Measure("x"), Measure("z"), Measure("z", -1))
    counts, products = by_hand(true, decided, known, weight)
    found = rows.confusion(decided)
    assert np.allclose(found.counts, counts)
    assert np.allclose(found.products, products)
    assert np.allclose(rows.marginals.weights, counts.sum(axis=2))
    assert np.allclose(rows.confusion(np.eye(2)[decided]).products, products)
    # Prefix sums end at the marginals.
    evidence = Evidence(rows, np.random.default_rng(1).normal(size=50).round(1))
    curve = evidence.curve(0)
    ends = dict(zip(curve.kinds, curve.counts[:, -1], strict=True))
    assert len(ends) == 16
    for (stratum, true_class), total in ends.items():
        assert total == pytest.approx(rows.marginals.weights[stratum, true_class])
    assert (np.diff(curve.counts, axis=1) >= 0).all()
    # Soft counts credit posteriors.
    p = np.random.default_rng(2).random(50)
    soft = Evidence(rows, np.column_stack([1 - p, p])).with_posteriors()
    for g in (0, 1):
        own = (known["g"] == "ab"[g]) & (decided == 1)
        wanted = (weight * known["x"] * p)[own].sum()
        assert soft.block_counts(decided)[0][2 + g, 1, 1] == pytest.approx(wanted)


def test_one_part_never_goes_below_0():
    true, decided, known, _ = sample()
    above = known | {"z": np.abs(known["z"])}
    one, two = (measured(true, k).confusion(decided) for k in (known, above))
    assert len(two.codebook.measures) == 2
    both = two + one
    assert both.codebook.measures == one.codebook.measures
    assert np.allclose(both.products[0, 3], one.products[0, 3])
    assert np.allclose(both.counts.sum(), one.counts.sum() + two.counts.sum())
    with pytest.raises(InputError, match="'z' goes below 0"):
        measured(true, known, codebook=measured(true, above).codebook)


def test_a_data_set_without_the_column_counts_nothing_by_it():
    goal = Goal.parse("maximize profit(tp=x) subject to predicted_rate.on('more') <= 0.5")
    true, decided, known, _ = sample()
    one = Rows.from_arrays((0, 1), true, 50, needs=goal.needs, columns={"x": known["x"]})
    two = Rows.from_arrays((0, 1), None, 50, needs=goal.needs, dataset="more")
    found = Rows.concat([one, two]).confusion(np.concatenate([decided, decided]))
    assert [str(s) for s in found.codebook.strata] == ["all rows", "more", "by x", "more, by x"]
    assert found.counts[3].sum() == 0.0
    assert found.counts[2].sum() == pytest.approx(known["x"].sum())


def test_deferral_is_a_class_more_that_no_row_has():
    goal = Goal.parse("minimize deferral_rate subject to accuracy.decided >= 0.5")
    rows = Rows.from_arrays((0, 1, DEFERRED), np.array([0, 1, 1]), 3, needs=goal.needs)
    book = rows.codebook
    assert (book.defers, book.labels, book.positive) == (True, (0, 1), 1)
    found = rows.confusion(np.array([0, 2, 1]))
    assert found.counts[0].tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert (found + found).codebook.defers


# ---------------------------------------------------------------------- parts
NEEDS = Requirements({None: {"g": None, "h": frozenset({"x"})}}, frozenset({None}))
RNG = np.random.default_rng(0)
N = 600
TRUE, WEIGHT, DEPLOYED = RNG.integers(0, 3, N), RNG.integers(1, 4, N) / 2.0, RNG.integers(0, 2, N)
G = np.array(["a", "b", "rare"])[np.minimum(RNG.integers(0, 20, N) // 9, 2)]
H, SCORES = np.array(["x", "y", "z"])[RNG.integers(0, 3, N)], np.round(RNG.random(N), 2)


def rows_of(part=slice(None), codebook=None):
    return Rows.from_arrays(
        ("no", "yes"), TRUE[part], len(TRUE[part]), needs=NEEDS, weight=WEIGHT[part],
        columns={"g": G[part], "h": H[part]}, baseline=DEPLOYED[part], decide_on=("g",),
        codebook=codebook,
    )  # fmt: skip


def test_later_rows_are_encoded_as_the_first_were():
    whole = rows_of()
    assert len(whole.codebook.strata) == 12
    order = np.random.default_rng(1).permutation(N)
    for part in (order, order[:40], np.flatnonzero(G != "rare"), np.zeros(0, np.int64)):
        found = rows_of(part, whole.codebook)
        assert found.codebook is whole.codebook
        np.testing.assert_array_equal(found.stratum, whole.stratum[part])
        assert found.marginals.weights.shape == whole.marginals.weights.shape


@over("known, message", [
    (G != "rare", "g = rare, and there were none before"),
    (~((G == "a") & (H == "x") & (DEPLOYED == 1)), r"g = a, h = x, deployed 1, and there were"),
    (H != "x", r"h = x, and there were none before"),  # knows x as what the others are not
])  # fmt: skip
def test_rows_of_an_unknown_stratum_are_named(known, message):
    codebook = rows_of(known).codebook
    with pytest.raises(EmptyPopulationError, match=message):
        rows_of(codebook=codebook)
    with pytest.raises(EmptyPopulationError, match="'audit'"):
        Rows.from_arrays(("no", "yes"), None, 3, dataset="audit", codebook=codebook)


@over("soft", [False, True])
def test_answers_of_parts_add_up(soft):
    eta = np.stack([1 - SCORES, SCORES], axis=1)
    parts = [np.arange(250), np.arange(250, 251), np.arange(251, N)]
    whole = Evidence(rows_of(), eta)
    pieces = [Evidence(rows_of(p, whole.codebook), eta[p]) for p in parts]
    rules = [Argmax(np.eye(2)), Argmax.weighted([0.2, 0.8]), Argmax(np.eye(2))]
    rule = per_segment(rules, whole.segments)
    one, two, three = (p.confusion(rule) for p in pieces)
    np.testing.assert_allclose((one + two + three).counts, whole.confusion(rule).counts)
    if soft:
        whole, pieces = whole.with_posteriors(), [p.with_posteriors() for p in pieces]
    marginals = pieces[0].marginals + pieces[1].marginals + pieces[2].marginals
    np.testing.assert_allclose(marginals.weights, whole.marginals.weights)
    np.testing.assert_array_equal(marginals.smallest, whole.marginals.smallest)
    tensor = np.random.default_rng(0).normal(size=(3, 2, 2))
    W, B = np.random.default_rng(1).random((2, 3, 2))
    for answer in (
        lambda p: p.tensor_counts(tensor, p.blocks(np.array([0, 1]))),
        lambda p: p.block_features(W, B, p.blocks())[0],
        lambda p: p.block_features(W, B, p.blocks())[1],
    ):
        np.testing.assert_allclose(sum(map(answer, pieces)), answer(whole))


def test_values_that_look_equal_are_named_in_one_order():
    named = (124, "124", 125, "125", 126, "126", 127, "127")  # hashes that sets put last
    needs = Requirements({None: {"g": frozenset(named)}})
    rows = Rows.from_arrays((0, 1), None, 1, needs=needs, columns={"g": np.array(["other"])})
    assert dict(rows.codebook.strata[0].key)["g"].than == named
